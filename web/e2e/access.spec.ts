import { pagesOf } from "./pages.mjs";
import { answer, expect, expectSound, open, test, violations } from "./watch";

test.use({ store: "label" });

for (const half of [0, 1])
  test(`on every page axe finds nothing, and nothing is wider than the window, half ${String(half)}`, async ({
    page,
  }) => {
    const pages = await pagesOf((path: string) => answer(page, path));
    await expectSound(
      page,
      pages.map(([, hash]) => hash).filter((_, place) => place % 2 === half),
    );
    // the check itself finds what it looks for
    await page.locator("main").evaluate((main) => main.append(document.createElement("button")));
    expect(await violations(page)).toHaveLength(1);
  });

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
