import type { Board, Index, Subject } from "../src/api/types";
import { answer, expect, open, test, violations } from "./watch";

// colours decide one half of the rules, width the other: each of both once
for (const [scheme, width] of [
  ["light", 390],
  ["dark", 1280],
] as const) {
  test(`axe finds nothing serious, ${scheme}, ${width} pixels`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 900 });
    const index = await answer<Index>(page, "index.json");
    const board = await answer<Board>(page, `boards/${index.boards[0]?.id ?? ""}.json`);
    const id = board.rows[0]?.subject.id ?? "";
    const subject = await answer<Subject>(page, `boards/${board.board.id}/subjects/${id}.json`);
    const talk = subject.transcripts.find((one) => one.scenario === "negotiation")?.id ?? "";
    const picked = board.rows
      .slice(0, 2)
      .map((row) => row.subject.id)
      .join(",");
    const hashes = [
      "/",
      "/?view=table",
      "/?view=scatter",
      "/?view=heat",
      `/subject/${id}`,
      `/transcript/${talk}?phrases=drift&tools=yes`,
    ];
    hashes.push(`/transcript/${talk}?side=yes`, "/scenarios", "/scenario/creativity", `/compare?picked=${picked}`);
    hashes.push(
      "/compare?view=settings",
      "/judges",
      "/names",
      "/search?find=silence",
      "/search?find=ground&of=judged",
      "/methods",
    );
    for (const hash of hashes) {
      await open(page, hash);
      expect.soft(await violations(page), hash).toEqual([]);
    }
    // the check itself finds what it looks for
    await page.locator("main").evaluate((main) => main.append(document.createElement("button")));
    expect(await violations(page)).toHaveLength(1);
  });
}

test("the keyboard alone reaches everything: skip link, visible focus, folds, dialogs", async ({ page }) => {
  await open(page, "/");
  await page.keyboard.press("Tab");
  const skip = page.getByRole("button", { name: "Skip to the content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
  await page.keyboard.press("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
  expect(outline).toBe("solid");
});

test("single keys can be switched off, and typing is never taken for one", async ({ page }) => {
  await open(page, "/search");
  await page.getByRole("searchbox").pressSequentially("l?/j");
  await expect(page.getByRole("searchbox")).toHaveValue("l?/j");
  await page.getByRole("button", { name: "Keys" }).click();
  await page.getByLabel(/Single keys work/).uncheck();
  await page.keyboard.press("Escape");
  await page.locator("main").focus();
  await page.keyboard.press("l");
  await expect(page).toHaveURL(/search/);
});

test("colours follow the system until one is chosen, and the choice stays", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, "/");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: /^Colours/ }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});
