import { pathToFileURL } from "node:url";
import type { Index } from "../src/api/types";
import { answer, expect, open, test } from "./watch";

test("the frozen site says that it is one, asks for nothing twice, and has its own policy", async ({ page }) => {
  const index = await answer<Index>(page, "index.json");
  expect(index.offer.frozen).toBe(true);
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().endsWith("api/index.json")) asked += 1;
  });
  await page.clock.install();
  await open(page, "/");
  await expect(page.getByRole("contentinfo")).toContainText("a frozen copy");
  await page.clock.runFor(60_000);
  expect(asked).toBe(1);
  const policy = await page.locator("meta[http-equiv='Content-Security-Policy']").getAttribute("content");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  // it offers no search, and says so where an address asks for it
  await expect(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Search" })).toHaveCount(0);
  await open(page, "/search?find=stay");
  await expect(page.getByText("There is no such page.")).toBeVisible();
});

test("opened as a file, it says what to do; served, it does not", async ({ page, browser }) => {
  await open(page, "/");
  await expect(page.getByText("Run this command in its folder:")).toBeHidden();
  const context = await browser.newContext();
  const file = await context.newPage();
  await file.goto(pathToFileURL("e2e/.store/site-static/some/sub path/index.html").href);
  await expect(file.getByRole("heading")).toHaveText("AI Independence Bench");
  await expect(file.getByText("python3 -m http.server --bind 127.0.0.1 8000")).toBeVisible();
  await context.close();
});

for (const [what, answered] of [
  ["is damaged", { body: Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]) }],
  ["is missing", { status: 404 }],
] as const)
  test(`a pack that ${what} is told in words, and nothing of it is shown`, async ({ page, expected }) => {
    expected.errors.push(/404/);
    await page.route("**/api/packs/*.gz", (route) => route.fulfill(answered));
    await page.goto("./");
    await expect(page.getByRole("alert")).toContainText("A part of this site is missing or damaged.");
    await expect(page.getByRole("alert")).toContainText("make it again with aib site");
    await expect(page.locator("tbody tr")).toHaveCount(0);
  });
