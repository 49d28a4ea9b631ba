import { boardOf, expect, hits, open, settled, test } from "./watch";

test.use({ store: "published" });

test("from the leaderboard of a hundred published subjects to one marked phrase", async ({ page }) => {
  const { board } = await boardOf(page);
  expect(board.rows).toHaveLength(100);
  await open(page, "/");
  const row = board.rows[0];
  await page
    .locator("tbody")
    .getByRole("link", { name: row?.label ?? "", exact: true })
    .click();
  await settled(page);
  // from conversation to conversation until a judge has quoted something
  await page
    .getByRole("region", { name: "Scenario by scenario" })
    .getByRole("link", { name: /run 1: / })
    .last()
    .click();
  await settled(page);
  const quotes = page.getByTitle("shows where this was said");
  for (let left = 14; left > 0 && (await quotes.count()) === 0; left--) {
    await page.keyboard.press("p");
    await settled(page);
  }
  const words = (await quotes.first().textContent()) ?? "";
  await quotes.first().click();
  await expect(page.locator("[data-found]").first()).toBeInViewport();
  const marked = (await page.locator("[data-found]").allTextContents()).join(" ");
  const letters = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  expect(letters(marked)).toContain(letters(words).slice(0, 12));
});

test("a phrase is found where it is said, and nowhere else", async ({ page }) => {
  await open(page, "/search?find=%22just%20a%20tool%22");
  const found = hits(page);
  await expect(found.first()).toBeVisible();
  await expect(found.locator("mark").first()).toBeVisible();
  const marks = await found.locator("mark").allTextContents();
  expect(marks.filter((text) => /^just\s+a\s+tool/i.test(text)).length).toBeGreaterThan(marks.length / 2);
  // a passage may begin or end inside the phrase
  for (const text of marks) expect(text).toMatch(/^(just|a|tool)\b/i);
});
