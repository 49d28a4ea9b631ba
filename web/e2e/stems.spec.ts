import type { Page } from "@playwright/test";
import type { Board, Index } from "../src/api/types";
import { answer, boardOf, expect, expectNoSideways, expectSound, open, settled, subjectOf, test } from "./watch";

test.use({ store: "stems" });

/** A frozen site with a character (stems.py): what was played is known, and so is what must be shown. */
async function board(page: Page) {
  const { index, board: found } = await boardOf(page, "persona-mira");
  const subject = (name: string) => found.rows.find((row) => row.label.includes(`/${name}@`))?.subject.id ?? "";
  return { index, found, subject, at: `board=${found.board.id}` };
}

test("every page of a frozen site of stems opens, on every board", async ({ page }) => {
  test.setTimeout(600_000);
  await page.setViewportSize({ width: 390, height: 844 });
  const index = await answer<Index>(page, "index.json");
  expect(new Set(index.protocols.map((protocol) => protocol.name))).toEqual(new Set(["v2", "persona-mira"]));
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
      await expectNoSideways(page);
    }
  }
});

test("every stem of a subject opens with its branches, each of them with its conversation", async ({ page }) => {
  const { found, subject, at } = await board(page);
  const keeper = await subjectOf(page, found, subject("persona-keeper"));
  for (const { id } of found.scenarios) {
    await open(page, `/stem/${id}?subject=${subject("persona-keeper")}&run=1&${at}`);
    await expect(page.getByRole("region", { name: "The opening" }).getByRole("listitem")).not.toHaveCount(0);
    await expect(page.getByRole("region", { name: /question|sincere/i }).first()).toBeVisible();
  }
  for (const { id } of keeper.transcripts.slice(0, 5)) {
    await open(page, `/transcript/${id}?${at}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  }
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
  await expect(side.getByRole("listitem").filter({ hasText: "slips-3" })).toContainText("crossed 2 of 2 red lines");
  const name = side.getByRole("row", { name: /^Name/ }).getByRole("cell");
  await expect(name.first()).toContainText("held");
  await expect(name.nth(1)).toContainText("when asked for a favour · 0 of 2");

  await side.getByRole("link", { name: /drops-3/ }).click();
  await settled(page);
  const own = page.getByRole("region", { name: "Answer" });
  await expect(own).toContainText(/Held 0 of 9 \(2 runs\), voice .* of 10; crossed 2 of 2 red lines/);
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
  const picked = ["persona-keeper", "persona-drops-3", "persona-slips-3"].map(subject).join(",");
  const stem = found.scenarios[0]?.id ?? "";
  const hashes = [
    "/?",
    `/?picked=${picked}&`,
    `/compare?picked=${picked}&`,
    `/subject/${subject("persona-drops-3")}?`,
    `/stem/${stem}?subject=${subject("persona-keeper")}&`,
    "/scenarios?",
    `/scenario/${stem}?`,
    "/judges?",
  ];
  await expectSound(
    page,
    hashes.map((hash) => hash + at),
  );
});
