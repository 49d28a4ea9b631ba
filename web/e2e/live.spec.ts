import type { Index } from "../src/api/types";
import { answer, expect, open, printed, settled, test } from "./watch";

test("what the store gains while the page is open appears by itself", async ({ page }) => {
  const index = await answer<Index>(page, "index.json");
  const board = index.boards[0]?.id ?? "";
  await page.clock.install();
  await open(page, "/");
  await expect(page.getByRole("contentinfo")).toContainText("live: follows the store");
  // the server's answer with another version, and one subject fewer: as if something had been judged
  await page.route("**/api/index.json", (route) => route.fulfill({ json: { ...index, version: "another" } }));
  await page.route(`**/api/boards/${board}.json`, async (route) => {
    const answered = (await (await route.fetch()).json()) as { rows: unknown[] };
    await route.fulfill({ json: { ...answered, rows: answered.rows.slice(1) } });
  });
  const subjects = page.locator("tbody th[scope=row]");
  const before = await subjects.count();
  await page.clock.runFor(3000);
  await expect(subjects).toHaveCount(before - 1);
});

test("a search index that is being prepared says how far it is, and answers when it is there", async ({ page }) => {
  let asked = 0;
  await page.route("**/api/search/index.json", async (route) => {
    asked += 1;
    if (asked > 2) await route.continue();
    else await route.fulfill({ json: { index: null, preparing: 0.4 } });
  });
  await page.goto("./#/search?find=pretentious");
  await expect(page.getByText("Preparing the search index …")).toBeVisible();
  await expect(page.getByRole("progressbar", { name: "of the index is made" })).toHaveAttribute("value", "0.4");
  const found = page.getByRole("list", { name: "Conversations found" });
  await expect(found.getByRole("listitem").first()).toContainText("pretentious");
  expect(asked).toBe(3);
});

test("a server that ends is no blank page: what was read stays, what is new says what to do", async ({
  page,
  expected,
}) => {
  expected.errors.push(/Failed to load resource/);
  await open(page, "/");
  await page.route("**/api/**", (route) => route.abort());
  await page.getByRole("link", { name: "Judges" }).click();
  await expect(page.getByRole("alert")).toContainText("The server does not answer.");
  await page.unroute("**/api/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("region", { name: "The judges" })).toBeVisible();
});

test("a request is cancelled when its page is left", async ({ page, expected }) => {
  expected.errors.push(/Failed to load resource/);
  await open(page, "/");
  let cancelled = 0;
  page.on("requestfailed", (request) => {
    if (request.url().includes("/judges/")) cancelled += 1;
  });
  await page.route("**/api/judges/**", () => undefined); // never answered
  await page.getByRole("link", { name: "Judges" }).click();
  await expect(page.getByText(/Reading the judges/)).toBeVisible();
  await page.getByRole("link", { name: "Scenarios" }).click();
  await expect.poll(() => cancelled).toBe(1);
});

test("the address that was printed lets the browser in, and no other does", async ({ page, browser }, { project }) => {
  const address = printed(project.name) ?? "";
  const stranger = await browser.newContext();
  const other = await stranger.newPage();
  const refused = await other.goto(new URL("/", address).href);
  expect(refused?.status()).toBe(403);
  await expect(other.locator("body")).toContainText("open the address that `aib view` has printed");

  await other.goto(address);
  await settled(other);
  await expect(other.getByRole("heading", { level: 1 })).toBeVisible();
  expect(other.url()).not.toContain("token");
  expect(await other.evaluate(() => document.cookie)).toBe("");
  expect(await stranger.cookies()).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);
  await stranger.close();
  await open(page, "/");
});
