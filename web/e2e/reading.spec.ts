import { readFile } from "node:fs/promises";
import type { Transcript } from "../src/api/types";
import {
  answer,
  boardOf,
  expect,
  expectNoSideways,
  hits,
  open,
  PAGE_ONLY,
  pickAndCompare,
  reopen,
  settled,
  subjectOf,
  test,
} from "./watch";

test("from the leaderboard to one marked phrase, by clicking", async ({ page }) => {
  await open(page, "/");
  await expect(page.getByRole("heading", { name: "Leaderboard", level: 1 })).toBeVisible();
  await page.getByRole("link", { name: "acme/steady@none-t0.7" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("acme/steady@none-t0.7");
  await page.getByRole("link", { name: /^What you would make, run 1: / }).click();
  await settled(page);
  const quote = page.getByRole("complementary", { name: "Scores" }).getByTitle("shows where this was said").first();
  const words = (await quote.textContent()) ?? "";
  expect(words.length).toBeGreaterThan(10);
  await quote.click();
  const found = page.locator("[data-found]");
  await expect(found.first()).toBeInViewport();
  expect((await found.allTextContents()).join("")).toBe(words);
  expect(page.url()).toContain("mark=q0");

  // whoever is sent the link sees the same
  await reopen(page);
  await expect(page.locator("[data-found]").first()).toBeInViewport();
  expect((await page.locator("[data-found]").allTextContents()).join("")).toBe(words);
});

test(
  "the leaderboard can be sorted, searched and filtered, and the address carries it",
  PAGE_ONLY,
  async ({ page }) => {
    await open(page, "/?view=table");
    const subjects = page.locator("tbody th[scope=row]");
    const before = await subjects.allTextContents();
    expect(before.length).toBeGreaterThan(4);
    const ranked = page.getByRole("table", { name: "Ranked models" });
    await ranked.getByRole("button", { name: "Low drift" }).click();
    await expect(ranked.getByRole("columnheader", { name: "Low drift" })).toHaveAttribute("aria-sort", "descending");
    await ranked.getByRole("button", { name: "Low drift" }).click();
    await expect(ranked.getByRole("columnheader", { name: "Low drift" })).toHaveAttribute("aria-sort", "ascending");
    expect(page.url()).toContain("sort=low_drift");
    await page.getByLabel("Find a model").fill("bending");
    await expect(subjects).toHaveCount(2);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByLabel("Vendor").selectOption({ label: "birch" });
    await page.getByRole("button", { name: "Forest plot" }).click();
    await page.getByRole("button", { name: "new scenarios" }).click();
    await reopen(page);
    await expect(subjects).toHaveCount(2);
    await expect(page.getByRole("button", { name: "Forest plot" })).toHaveAttribute("aria-pressed", "true");
    await page.getByRole("button", { name: "Filters (1)" }).click();
    await expect(page.getByRole("button", { name: "new scenarios" })).toHaveAttribute("aria-pressed", "true");
    await expect(page.getByLabel("Find a model")).toHaveValue("bending");
  },
);

test(
  "the table has every column that a row says it has, and the page is no wider for it",
  PAGE_ONLY,
  async ({ page }) => {
    const { board } = await boardOf(page);
    await open(page, "/?view=table");
    const ranked = page.getByRole("table", { name: "Ranked models" });
    await expect(ranked.getByRole("columnheader", { name: "Index" })).toBeVisible();
    await expect(ranked.getByRole("columnheader", { name: "Template tokens" })).toHaveCount(0);
    await page.getByRole("button", { name: "Filters" }).click();
    await page.getByLabel("all columns").check();
    const always = board.columns.filter(({ path }) => path[0] === "health" || path[0] === "runs");
    expect(always.length).toBeGreaterThan(5);
    for (const { title } of always)
      await expect(ranked.getByRole("columnheader", { name: title, exact: true })).toBeVisible();
    await expectNoSideways(page);
    await ranked.getByRole("button", { name: "Replies" }).click();
    await expect(ranked.getByRole("columnheader", { name: "Replies" })).toHaveAttribute("aria-sort", "descending");
    expect(page.url()).toContain("sort=-health.replies");
  },
);

test("going back finds the row where it was left, and each page has its title", PAGE_ONLY, async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 400 });
  await open(page, "/?view=table");
  await expect(page).toHaveTitle(/^Leaderboard/);
  const last = page.locator("main tbody th[scope=row] a").nth(4);
  await last.scrollIntoViewIfNeeded();
  const before = await page.evaluate(() => window.scrollY);
  expect(before).toBeGreaterThan(50);
  const label = (await last.getAttribute("aria-label")) ?? "";
  await last.click();
  await settled(page);
  await expect(page).toHaveTitle(`${label} · AI Independence Bench`);
  expect(await page.evaluate(() => window.scrollY)).toBe(0);
  await page.goBack();
  await settled(page);
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(before);
  await open(page, "/nothing");
  await expect(page).toHaveTitle(/^No such page/);
});

test("another judge's ranking is chosen, and is another one", async ({ page }) => {
  const { index } = await boardOf(page);
  await open(page, "/");
  const judge = page.getByRole("combobox", { name: "Judge" });
  const there = await judge.locator("option").allTextContents();
  expect(there.length).toBe(new Set(index.boards.map((board) => board.judge)).size);
  const numbers = await page.locator("tbody tr").first().textContent();
  await judge.selectOption({ label: "judges/strict@none-t0.0" });
  await settled(page);
  await expect(page.locator("tbody tr").first()).not.toHaveText(numbers ?? "");
  expect(page.url()).toContain("board=");
});

test("incomplete subjects stand apart, with what is missing", PAGE_ONLY, async ({ page }) => {
  await open(page, "/");
  const apart = page.getByRole("region", { name: "Not ranked" });
  await expect(apart.getByRole("link", { name: "cedar/breaking" })).toBeVisible();
  await expect(apart.getByText(/run 2: 1 × invalid/)).toBeVisible();
});

test("two subjects are picked and compared, and a row shows both answers", async ({ page }) => {
  await open(page, "/");
  await pickAndCompare(page, "acme/steady@none-t0.7", "birch/bending-mini@none-t0.7");
  await expect(page.getByRole("rowheader", { name: "Independence Index" })).toBeVisible();
  const index = page.getByRole("row", { name: /^Independence Index/ });
  const told = (await index.getByRole("cell").nth(2).textContent()) ?? "";
  const [sign = "", points = ""] = told.match(/[+−]|[\d.]+/g) ?? [];
  expect(sign, "steady minus bending, and steady is ahead").toBe("+");
  await page.getByRole("button", { name: "Swap the two" }).click();
  await expect(index.getByRole("cell").nth(2)).toContainText(`${sign === "+" ? "−" : "+"}${points}`);
  await page.getByRole("button", { name: "Swap the two" }).click();
  await expect(index.getByRole("cell").nth(2)).toContainText(`${sign}${points}`);
  const flipped = page.getByRole("region", { name: "One holds, the other gives in" });
  await flipped.getByRole("button").first().click();
  await expect(flipped.getByRole("article")).toHaveCount(2);
  await expect(flipped.getByRole("link", { name: "Read the conversation" })).toHaveCount(2);
  expect(page.url()).toMatch(/scenario=/);
});

test("two models are compared without a choice, and one that is picked is compared with the first", async ({
  page,
}) => {
  const { board } = await boardOf(page);
  const [first, second, third] = board.rows.map(({ subject }) => subject.id);
  await open(page, "/compare");
  await expect(page.getByRole("combobox", { name: "First" })).toHaveValue(first ?? "");
  await expect(page.getByRole("combobox", { name: "Second" })).toHaveValue(second ?? "");
  await expect(page.getByRole("rowheader", { name: "Independence Index" })).toBeVisible();
  await open(page, `/subject/${third ?? ""}`);
  await page.getByRole("link", { name: "Compare", exact: true }).last().click();
  await settled(page);
  await expect(page.getByRole("combobox", { name: "First" })).toHaveValue(third ?? "");
  await expect(page.getByRole("combobox", { name: "Second" })).toHaveValue(first ?? "");
});

test("dimensions that do not count are shown on request", PAGE_ONLY, async ({ page }) => {
  const { board } = await boardOf(page);
  const unscored = board.dimensions.find(({ weight }) => !weight)?.title ?? "";
  expect(unscored).not.toBe("");
  for (const hash of ["/compare", `/subject/${board.rows[0]?.subject.id ?? ""}`]) {
    await open(page, hash);
    const row = page.getByRole("rowheader", { name: unscored, exact: true });
    await expect(row).toHaveCount(0);
    await page.getByRole("button", { name: "All dimensions" }).click();
    await expect(row).toBeVisible();
  }
});

test("the leaderboard's first sentence says who leads, and names models without shared settings", async ({ page }) => {
  const { board } = await boardOf(page);
  await open(page, "/");
  await expect(page.getByText(board.says)).toBeVisible();
  const names = await page.getByRole("table", { name: "Ranked models" }).locator("tbody th a").allTextContents();
  expect(names.length).toBeGreaterThan(4);
  expect(new Set(names).size).toBe(names.length);
  for (const row of board.rows.filter(({ rank }) => rank !== null))
    expect(names).toContain(board.names[row.subject.id]);
});

test("the keyboard leads through runs, subjects and scenarios", PAGE_ONLY, async ({ page }) => {
  const { board } = await boardOf(page);
  const id = board.rows[1]?.subject.id ?? "";
  const subject = await subjectOf(page, board, id);
  const entry = subject.transcripts.find((transcript) => transcript.run === 1);
  const told = await answer<Transcript>(page, `transcripts/${entry?.id ?? ""}.json`);
  await open(page, `/transcript/${told.id}`);
  const { next_run: run, next_subject: other, next_scenario: scenario } = told.neighbours;
  const pressed = async (key: string, id: string | undefined) => {
    await page.keyboard.press(key);
    await expect(page).toHaveURL(new RegExp(id ?? "none"));
    await expect(page.locator(`a[download][href*="${id ?? "none"}"]`)).toBeVisible();
  };
  await pressed("ArrowRight", run?.id);
  await pressed("ArrowLeft", told.id);
  if (other) {
    await pressed("j", other.id);
    await pressed("k", told.id);
  }
  await pressed("n", scenario?.id);
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keys" });
  await expect(keys.getByText("Next run")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(keys).toHaveCount(0);
});

test("a conversation shows what was heard, and folds away what was not", async ({ page }) => {
  const { board } = await boardOf(page);
  const row = board.rows.find((row) => row.subject.reasoning === "low");
  const subject = await subjectOf(page, board, row?.subject.id);
  const id = subject.transcripts.find((transcript) => transcript.scenario === "negotiation")?.id ?? "";
  await open(page, `/transcript/${id}`);
  const talk = page.getByRole("region", { name: "Conversation" });
  await expect(talk.getByRole("article", { name: /^The model/ })).toHaveCount(2);
  await expect(page.getByText("First I weigh what the human wants")).toHaveCount(0);
  await talk.getByText("Reasoning before the reply").first().click();
  await expect(page.getByText("First I weigh what the human wants").first()).toBeVisible();
  await expect(talk.getByText("seen neither by the human nor by the judges").first()).toBeVisible();
  await page.getByRole("button", { name: "Messages as sent" }).click();
  await expect(page.getByRole("region", { name: "As sent to the model" })).toContainText("send_message_to_human");
  await page.getByText("Raw requests and responses").click();
  await page.getByText("the model's reply").first().click();
  await expect(page.getByText('"provider": "Acme Cloud"').first()).toBeVisible();
  await page.getByRole("button", { name: "Answers side by side" }).click();
  await expect(page.getByRole("article", { name: "Before" })).toBeVisible();
  await expect(page.getByRole("article", { name: "After" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Every judge's scores" }).getByRole("columnheader")).toHaveText([
    "Score",
    "A",
    "B",
  ]);
});

test("phrases of the embedded judge are offered only where it has judged", PAGE_ONLY, async ({ page }) => {
  const { board } = await boardOf(page);
  const subject = await subjectOf(page, board, board.rows[0]?.subject.id);
  await open(page, `/transcript/${subject.transcripts[0]?.id ?? ""}`);
  await expect(page.getByRole("table", { name: "Every judge's scores" })).toBeVisible();
  await expect(page.getByRole("combobox", { name: /Embedded judge's phrases/ })).toHaveCount(0);
});

test("one scenario over all subjects, best first; and every other page", async ({ page }) => {
  await open(page, "/scenarios");
  await page.getByRole("link", { name: "What you would make" }).first().click();
  await settled(page);
  await expect(page.getByRole("article").first()).toContainText("Read");
  await page.getByLabel("Order").selectOption("label");
  await expect(page).toHaveURL(/sort=label/);
  await open(page, "/judges");
  await expect(page.getByRole("region", { name: "Agreement on each score" })).toBeVisible();
  await open(page, "/compare?view=settings");
  await expect(page.getByRole("region", { name: "Reasoning" })).toBeVisible();
  await expect(page.getByRole("region", { name: "System prompt and delivery mode" })).toBeVisible();
  await open(page, "/nothing");
  await expect(page.getByText("There is no such page.")).toBeVisible();
});

test(
  "the map of a subject narrows its list; judges and groups of answers lead to conversations",
  PAGE_ONLY,
  async ({ page }) => {
    const { board } = await boardOf(page);
    await open(page, `/subject/${board.rows[0]?.subject.id ?? ""}`);
    const map = page.getByRole("region", { name: "Scenario by scenario" });
    await map.getByRole("button", { name: "run 2", exact: true }).click();
    await map.getByRole("button", { name: "What you would make" }).click();
    await expect(map.getByRole("table", { name: "Conversations", exact: true }).locator("tbody tr")).toHaveCount(1);
    await map.getByRole("link", { name: "This scenario over all models" }).click();
    await settled(page);
    await expect(page.getByRole("img", { name: /^Score, how many answers/ })).toBeVisible();
    await expect(page.getByRole("article").first()).toBeVisible();
    await open(page, "/judges");
    await page.getByRole("region", { name: "Where they disagree most" }).getByRole("link").first().click();
    await expect(page).toHaveURL(/#\/transcript\//);
  },
);

test("every word that was said can be found", PAGE_ONLY, async ({ page }) => {
  await open(page, "/search?find=pretentious%20Stalk");
  await expect(hits(page).first()).toContainText("Stalker");
  await hits(page).getByRole("link").first().click();
  await settled(page);
  await expect(page.locator("[data-found]").first()).toBeInViewport();
  await open(page, "/search?find=nobodysaidthis");
  await expect(page.getByText("No conversation has all of these words.")).toBeVisible();
});

test("what the judges wrote is searched by itself", PAGE_ONLY, async ({ page }) => {
  await open(page, "/search?find=decides%20groun");
  await expect(page.getByText("No conversation has all of these words.")).toBeVisible();
  await page.getByRole("button", { name: "what judges wrote" }).click();
  expect(page.url()).toContain("of=judged");
  const found = hits(page).first();
  await expect(found).toContainText("It held its ground");
  await found.getByRole("link").click();
  await settled(page);
  const marked = page.getByRole("complementary", { name: "Scores" }).locator("[data-found]");
  await expect(marked.first()).toBeInViewport();
  expect(await marked.allTextContents()).toContain("ground");
});

test("a search is narrowed to a subject and a scenario, and read in pages of twenty", PAGE_ONLY, async ({ page }) => {
  await open(page, "/search?find=i%20");
  await expect(hits(page)).toHaveCount(20);
  const first = await hits(page).first().textContent();
  await page.getByRole("button", { name: "Next" }).click();
  await expect(page).toHaveURL(/part=2/);
  await expect(hits(page).first()).not.toHaveText(first ?? "");
  const scenario = page.getByLabel("Scenario");
  const title = (await scenario.locator("option").nth(1).textContent()) ?? "";
  await scenario.selectOption({ index: 1 });
  await expect(page).not.toHaveURL(/part=/);
  // The hits of the wider search stand until the answer to the narrower one is here.
  const others = hits(page).locator(".eyebrow").filter({ hasNotText: title });
  await expect(others).toHaveCount(0);
  expect(await hits(page).count()).toBeGreaterThan(0);
});

test("the conversations of a model are narrowed by scenario, run and score", async ({ page }) => {
  const { board } = await boardOf(page);
  const { transcripts, row } = await subjectOf(page, board, board.rows[0]?.subject.id);
  await open(page, `/subject/${row.subject.id}?score=75-100`);
  const list = page.getByRole("table", { name: "Conversations", exact: true }).locator("tbody tr");
  const high = transcripts.filter(({ score }) => score !== null && score >= 75);
  expect(high.length).toBeGreaterThan(0);
  await expect(list).toHaveCount(high.length);
  const scenario = high[0]?.scenario ?? "";
  const filters = page.getByRole("group", { name: "Narrow the list" });
  await filters.getByLabel("Scenario").selectOption(scenario);
  await expect(list).toHaveCount(high.filter((one) => one.scenario === scenario).length);
  await filters.getByLabel("Model").selectOption({ index: 1 });
  await expect(page).toHaveURL(
    new RegExp(`subject/${board.rows[1]?.subject.id ?? ""}\\?scenario=${scenario}&score=75-100`),
  );
  await page.getByRole("link", { name: "All conversations" }).click();
  await expect(page).not.toHaveURL(/score=/);
});

test("everything that is offered for download is there", async ({ page }) => {
  for (const hash of ["/", "/judges", "/scenario/creativity"]) {
    await open(page, hash);
    const links = await page.locator("a[download]").all();
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) {
      const [saved] = await Promise.all([page.waitForEvent("download"), link.click()]);
      expect(saved.suggestedFilename()).toBe(await link.getAttribute("download"));
      const text = await readFile(await saved.path(), "utf8");
      if (saved.suggestedFilename().endsWith(".json")) expect(Object.keys(JSON.parse(text) as object)).not.toEqual([]);
      else expect(text.split("\n").length).toBeGreaterThan(1);
    }
  }
});

test("a link to something that is not there says so, and what to do", async ({ page, expected }) => {
  expected.errors.push(/404/);
  await open(page, "/transcript/0000000000000000");
  await expect(page.getByRole("alert")).toContainText("This is not in the store.");
  await open(page, "/subject/..%2f..%2fetc");
  await expect(page.getByRole("alert")).toContainText("This is not in the store.");
});
