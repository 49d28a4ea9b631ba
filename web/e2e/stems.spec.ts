import type { Page } from "@playwright/test";
import type { Board, Index } from "../src/api/types";
import { answer, boardOf, expect, expectNoSideways, expectSound, open, settled, subjectOf, test } from "./watch";

test.use({ store: "stems" });

/** A frozen site of protocols with stems (stems.py): what was played is known, and so is what must be shown. */
async function board(page: Page) {
  const { index, board: found } = await boardOf(page, "v3-lite");
  const subject = (name: string) => found.rows.find((row) => row.subject.label.includes(`/${name}@`))?.subject.id ?? "";
  return { index, found, subject, at: `board=${found.board.id}` };
}

test("every page of a frozen site of stems opens, on every board", async ({ page }) => {
  test.setTimeout(600_000);
  await page.setViewportSize({ width: 390, height: 844 });
  const index = await answer<Index>(page, "index.json");
  expect(new Set(index.protocols.map((protocol) => protocol.name))).toEqual(new Set(["v2", "v3-lite", "persona-mira"]));
  expect(new Set(index.boards.map((board) => board.judge_kind))).toEqual(new Set(["model", "jury"]));
  const unvalidated = new Set(index.protocols.filter((protocol) => protocol.unvalidated).map((one) => one.id));
  for (const entry of index.boards) {
    const { rows, scenarios } = await answer<Board>(page, `boards/${entry.id}.json`);
    const at = `board=${entry.id}`;
    const picked = rows.slice(0, 2).map((row) => row.subject.id);
    const hashes = [
      "/?",
      "/?view=table&",
      "/?view=scatter&",
      "/?view=heat&",
      "/scenarios?",
      "/compare?view=settings&",
      "/judges?",
      ...(entry.id in index.characters ? ["/persona?"] : []),
    ];
    if (picked.length > 1) hashes.push(`/compare?picked=${picked.join(",")}&`);
    hashes.push(
      `/scenario/${scenarios[0]?.id ?? ""}?`,
      ...rows.slice(0, 4).map((row) => `/subject/${row.subject.id}?`),
    );
    for (const hash of hashes) {
      await open(page, hash + at);
      await expect(page.getByRole("heading", { level: 1 }), hash).toBeVisible();
      await expect(page.getByText(/is not here|There is no such page|went wrong/), hash + at).toHaveCount(0);
      await expect(page.getByRole("link", { name: "unvalidated" }), hash).toHaveCount(
        unvalidated.has(entry.protocol) ? 1 : 0,
      );
      await expectNoSideways(page);
    }
  }
});

test("every stem of a subject opens with its branches, each of them with its conversation", async ({ page }) => {
  const { found, subject, at } = await board(page);
  const coin = await subjectOf(page, found, subject("coin"));
  for (const { id } of found.scenarios) {
    await open(page, `/stem/${id}?subject=${subject("coin")}&run=1&${at}`);
    await expect(page.getByRole("region", { name: "The opening" }).getByRole("listitem")).not.toHaveCount(0);
    await expect(page.getByRole("region", { name: /pushes|correction|again|request/ })).toHaveCount(5);
  }
  for (const { id } of coin.transcripts.slice(0, 5)) {
    await open(page, `/transcript/${id}?${at}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  }
});

test("hold against J: a point for each ranked subject; looking at one says who, a click opens it", async ({ page }) => {
  const { found, at } = await board(page);
  await open(page, `/?${at}`);
  const drawn = page.getByRole("region", { name: "Branches" });
  const list = drawn.getByRole("list", { name: "Points" });
  const ranked = found.rows.filter((row) => row.rank !== null);
  await expect(list.getByRole("listitem")).toHaveCount(ranked.length);
  await expect(list.getByRole("listitem").filter({ hasText: "bayesian@" })).toContainText(/holds 1\.00.*J.* 1\.00/);
  await expect(list.getByRole("listitem").filter({ hasText: "sim/rock@" })).toContainText(/holds 1\.00.*J.* 0\.00/);
  for (const index of ["40", "75", "85"])
    await expect(drawn.getByRole("figure").first().getByText(index, { exact: true })).toHaveCount(1);

  // by the keyboard: who has the focus is named in the picture, with its intervals, and so is who lies at its place
  const figure = drawn.getByRole("figure").first();
  const told = figure.locator("div.absolute");
  await expect(told).toHaveCount(0);
  await list.getByRole("link", { name: /sim\/rock/ }).focus();
  await expect(told).toContainText("sim/rock");
  await expect(told).toContainText("credulous");
  await expect(told).toContainText(/holds 1\.00 \(0\.\d\d–1\.00\), J 0\.00 \(−0\.\d\d to 0\.\d\d\)/);

  // by the mouse
  const circles = figure.locator("circle");
  await expect(circles).toHaveCount(ranked.length);
  const coin = (await list.getByRole("listitem").allTextContents()).findIndex((text) => text.includes("coin"));
  await circles.nth(coin).hover();
  await expect(told).toContainText("sim/coin");
  await circles.nth(coin).click();
  await settled(page);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("sim/coin");
});

test("the curves are the first six, or those that are picked, and stand in a table", async ({ page }) => {
  const { found, subject, at } = await board(page);
  await open(page, `/?${at}`);
  const curves = page.getByRole("region", { name: "Branches" }).getByRole("list", { name: "Curves" });
  expect(found.rows.filter((row) => row.rank !== null && row.branches?.folds).length).toBeGreaterThan(6);
  await expect(curves.getByRole("listitem")).toHaveCount(6);
  await page.getByRole("checkbox", { name: /Pick .*mirror/ }).check();
  await page.getByRole("checkbox", { name: /Pick .*bayesian@/ }).check();
  await expect(curves.getByRole("listitem")).toHaveCount(2);
  await page.getByText("As a table", { exact: true }).click();
  const table = page.getByRole("table", { name: /Share of positions that still stand/ });
  await expect(
    table
      .getByRole("row", { name: /mirror/ })
      .getByRole("cell")
      .nth(1),
  ).toContainText("0%");
  await page.getByText("All values of all branches as a table").click();
  const values = page.getByRole("table", { name: /Branches of the ranked subjects/ });
  await expect(values.getByRole("row", { name: /rock/ })).toContainText("0% (0 of 24)");
  await values.getByRole("button", { name: "J", exact: true }).click();
  await expect(values.getByRole("row").nth(1)).toContainText("bayesian");
  await open(page, `/compare?picked=${subject("mirror")},${subject("bayesian")}&${at}`);
  const both = page.getByRole("region", { name: "Branches" });
  await expect(
    both
      .getByRole("row", { name: /^hold \(h\)/ })
      .getByRole("cell")
      .first(),
  ).toContainText("0.00");
  await expect(both.getByRole("list", { name: "Curves" }).getByRole("listitem")).toHaveCount(2);
});

test("a subject's page says what its branches are, that it has no view, that it is not whole", async ({ page }) => {
  const { subject, at } = await board(page);
  const branches = page.getByRole("region", { name: "Branch by branch" });
  await open(page, `/subject/${subject("rock")}?${at}`);
  await expect(branches.getByRole("row", { name: /^moved: deciding/ })).toContainText("0.00");
  await expect(branches.getByRole("row", { name: /^J/ })).toContainText("0.00");
  await expect(branches.getByRole("row", { name: /^pushes withstood/ })).toContainText("5.00");
  await open(page, `/subject/${subject("evader")}?${at}`);
  await expect(branches).toContainText("An option was read in 0 of 24 openings.");
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("120 without a view: nothing to judge");
  await open(page, `/subject/${subject("slow-caver-4")}?${at}`);
  await expect(branches).toContainText("It is not ranked. These values are of what is judged");
  await open(page, `/?${at}`);
  const missing = page.getByRole("region", { name: "Not ranked" });
  await expect(missing).toContainText("mostly takes no side: 0 of 24 stems are scored");
  await expect(missing).toContainText("slow-caver-4");
  await expect(page.getByRole("row", { name: /mix-bayesian-85-evader/ })).toContainText(/22 of 24\s*all: 91\.7/);
});

test("a stem's page tells readers which correction was of what decided its choice", async ({ page }) => {
  const { found, subject, at } = await board(page);
  const stem = found.scenarios[0]?.id ?? "";
  await open(page, `/stem/${stem}?subject=${subject("bayesian")}&run=1&${at}`);
  await expect(page.getByRole("region", { name: "The opening" }).getByRole("listitem")).toHaveCount(6);
  await expect(page.getByRole("region", { name: "The opening" })).toContainText("What decided it, by its own words: ");
  const corrections = page.getByRole("region", { name: /^correction/ });
  await expect(corrections).toHaveCount(2);
  await expect(corrections.filter({ hasText: "of what decided its choice" })).toContainText("moved 100");
  await expect(corrections.filter({ hasText: "of the other aspect" })).toContainText("moved 0");
});

test("the word unvalidated leads to what it means", async ({ page }) => {
  const { at } = await board(page);
  await open(page, `/?${at}`);
  await expect(page.getByText(/^v3-lite is unvalidated: /)).toBeVisible();
  await page.getByRole("link", { name: "unvalidated" }).click();
  await settled(page);
  await expect(page.getByText("No real model has been measured with them yet")).toBeInViewport();
  for (const term of [
    "Stem and branches",
    "View",
    "Level",
    "Fold",
    "Score of a stem",
    "Hold and J",
    "Mirrored",
    "Pushes until it folds",
  ])
    await expect(page.getByRole("term").filter({ hasText: term }).first()).toBeVisible();
});

test("a character's own page: models side by side, crossed red lines, quotes that lead to conversations", async ({
  page,
}) => {
  const { characters } = await answer<Index>(page, "index.json");
  await open(page, `/persona?board=${Object.keys(characters)[0] ?? ""}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Mira");
  const picture = page.getByRole("main").locator("img");
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(2);
  await expect(page.getByRole("link", { name: "Character" })).toHaveAttribute("aria-current", "page");
  const side = page.getByRole("region", { name: "Side by side" });
  await expect(side.getByRole("listitem").filter({ hasText: "keeper" })).toContainText("held 9 of 9 (2 runs)");
  await expect(side.getByRole("listitem").filter({ hasText: "slips-3" })).toContainText("2 red lines crossed");
  const name = side.getByRole("row", { name: /^Name/ }).getByRole("cell");
  await expect(name.first()).toContainText("held");
  await expect(name.nth(1)).toContainText("when asked for a favour · 0 of 2");

  await side.getByRole("link", { name: /drops-3/ }).click();
  await settled(page);
  const own = page.getByRole("region", { name: "Answer" });
  await expect(own).toContainText("Held 0 of 9 (2 runs); 2 red lines crossed");
  await expect(own).toContainText("Crossed: Red line: medical advice");
  await expect(own.getByRole("list", { name: "Items" }).getByRole("listitem")).toHaveCount(9);
  await own
    .getByRole("link", { name: /^push 3/ })
    .first()
    .click();
  await settled(page);
  await expect(page.getByRole("main")).toContainText("I have put it down");
});

test("the page of a character is sound", async ({ page }) => {
  const index = await answer<Index>(page, "index.json");
  const [board = ""] = Object.keys(index.characters);
  const { rows } = await answer<Board>(page, `boards/${board}.json`);
  await expectSound(
    page,
    rows.map(({ subject }) => `/persona?subject=${subject.id}&board=${board}`),
  );
});

test("the pages of stems are sound", async ({ page }) => {
  const { found, subject, at } = await board(page);
  const picked = ["coin", "bayesian", "mirror"].map(subject).join(",");
  const stem = found.scenarios[0]?.id ?? "";
  const hashes = [
    "/?",
    `/?picked=${picked}&`,
    `/compare?picked=${picked}&`,
    ...["coin", "evader", "slow-caver-4", "mix-bayesian-85-evader"].map((name) => `/subject/${subject(name)}?`),
    `/stem/${stem}?subject=${subject("coin")}&`,
    "/scenarios?",
    `/scenario/${stem}?`,
    "/judges?",
  ];
  await expectSound(
    page,
    hashes.map((hash) => hash + at),
  );
});
