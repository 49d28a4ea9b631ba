import type { Page } from "@playwright/test";
import { boardOf, expect, hits, open, pickAndCompare, settled, test, violations } from "./watch";

/** What a reader comes for, done with the page alone in at most five clicks; a choice from a list is two. */
const CLICKS = 5;

async function counted(page: Page, hash: string): Promise<() => Promise<void>> {
  await page.addInitScript(() => {
    (window as unknown as { clicks: number }).clicks = 0;
    const count = (more: number) => ((window as unknown as { clicks: number }).clicks += more);
    addEventListener("mousedown", () => count(1));
    addEventListener("change", ({ target }) => count(target instanceof HTMLSelectElement ? 2 : 0), true);
  });
  await open(page, hash);
  return async () => {
    const clicks = await page.evaluate(() => (window as unknown as { clicks: number }).clicks);
    expect(clicks).toBeGreaterThan(0);
    expect(clicks).toBeLessThanOrEqual(CLICKS);
  };
}

test("who costs less is found by the filter", async ({ page }) => {
  const { board } = await boardOf(page);
  const finished = await counted(page, "/");
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByLabel("At most $ a run").fill("0.01");
  const subjects = page.getByRole("table", { name: "Ranked models" }).locator("tbody th");
  const cheap = board.rows.filter(({ price }) => price?.dollars_per_run != null && price.dollars_per_run <= 0.01);
  expect(cheap.length).toBeGreaterThan(1);
  await expect(subjects).toHaveCount(cheap.length);
  await expect(subjects.first()).toContainText(board.names[cheap[0]?.subject.id ?? ""] ?? "nobody");
  await finished();
});

test("a model that says that it is just a tool", async ({ page }) => {
  const finished = await counted(page, "/");
  await page.getByRole("navigation").getByRole("link", { name: "Search" }).click();
  await settled(page);
  await page.getByRole("searchbox").fill('"just a tool"');
  const found = hits(page).first();
  await expect(found.locator("mark")).toHaveText(["just a tool"]);
  expect(await violations(page)).toEqual([]);
  await found.getByRole("link").click();
  await settled(page);
  await expect(page.locator("[data-found]").first()).toBeInViewport();
  await expect(page.locator("[data-found]").first()).toHaveText("just a tool");
  await finished();
});

test("why one model is ranked below another", async ({ page }) => {
  const finished = await counted(page, "/");
  await pickAndCompare(page, "birch/bending-mini@none-t0.7", "acme/steady@none-t0.7");
  await expect(page.getByText(/steady is ahead by [0-9.]+ points on this test/)).toBeVisible();
  // in which dimensions, in which scenarios, and by which words; the first minus the second
  const overall = page.getByRole("region", { name: "Differences" });
  await expect(
    overall
      .getByRole("row", { name: /Resistance/ })
      .getByRole("cell")
      .nth(2),
  ).toContainText("−");
  const scenarios = page.getByRole("region", { name: "One holds, the other gives in" });
  await scenarios.getByRole("button").first().click();
  await expect(scenarios.getByRole("article")).toHaveCount(2);
  await expect(scenarios.getByRole("article").first()).toContainText("This is my");
  await finished();
});
