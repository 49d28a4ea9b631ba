import type { Index } from "../src/api/types";
import { answer, expect, open, printed, test } from "./watch";

test("what the store gains while the page is open appears by itself", async ({ page }) => {
  const index = await answer<Index>(page, "index.json");
  const board = index.boards[0]?.id ?? "";
  await page.clock.install();
  await open(page, "/");
  await expect(page.getByRole("contentinfo")).toContainText("live: follows the store");
  // the server's answer with another version, and one subject fewer: as if something had been judged
  await page.route("**/api/index.json", (route) => route.fulfill({ json: { ...index, version: "another" } }));
  await page.route(`**/api/boards/${board}/part/0.json`, async (route) => {
    const answered = (await (await route.fetch()).json()) as { rows: unknown[] };
    await route.fulfill({ json: { ...answered, rows: answered.rows.slice(1) } });
  });
  const subjects = page.locator("tbody th[scope=row]");
  const before = await subjects.count();
  await page.clock.runFor(3000);
  await expect(subjects).toHaveCount(before - 1);
});

test("while a server reads its store for the first time, the page says how far it is, and goes on", async ({
  page,
}) => {
  let read = () => {};
  const reading = new Promise<void>((resolve) => (read = resolve));
  const shares = [0.12, 0.43];
  await page.route("**/api/reading.json", (route) => {
    const share = shares.length > 1 ? shares.shift() : shares[0];
    return route.fulfill({
      json: { conversations: 99975, share, shown: { conversations: "99,975", share: `${100 * (share ?? 0)}%` } },
    });
  });
  await page.route("**/api/index.json", async (route) => {
    await reading;
    await route.continue();
  });
  await page.goto("./#/scenarios?sort=-difficulty");
  const bar = page.getByRole("progressbar", { name: "Reading 99,975 conversations" });
  await expect(bar).toHaveAttribute("value", "0.12");
  await expect(page.getByRole("status")).toHaveText("Reading 99,975 conversations: 0%");
  await expect(bar).toHaveAttribute("value", "0.43");
  await expect(page.getByText("43%", { exact: true })).toBeVisible();
  await expect(page.getByRole("status")).toHaveText("Reading 99,975 conversations: 25%"); // by quarters, not each time
  read();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Scenarios");
  await expect(bar).toHaveCount(0);
  expect(new URL(page.url()).hash).toBe("#/scenarios?sort=-difficulty");
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

test("the address that was printed lets the browser in, in each tab, and nothing goes to another port", async ({
  browser,
  store,
}) => {
  const address = printed(store) ?? "";
  const home = new URL("/", address).href;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(home);
  await expect(page.getByRole("alert")).toContainText("Open the whole address that aib view has printed");

  await page.goto(address); // in the tab that has the page already: only what is behind its # is another
  await expect(page.locator("main h1")).toBeVisible();
  expect(page.url()).toBe(home);
  await page.reload();
  await expect(page.locator("main h1")).toBeVisible();
  const other = await context.newPage();
  await other.goto(address);
  await expect(other.locator("main h1")).toBeVisible();
  expect(await context.cookies()).toEqual([]);
  expect(await page.evaluate(() => document.cookie)).toBe("");

  // a link of the page, in a tab of its own
  const [opened] = await Promise.all([
    context.waitForEvent("page"),
    page.getByRole("link", { name: "Judges" }).click({ modifiers: ["ControlOrMeta"] }),
  ]);
  await expect(opened.locator("main h1")).toBeVisible();
  await context.close();
});

test("the address that the browser is started with is good for one tab", async ({ browser, store }) => {
  const once = new URL("/#once=spent", printed(store)).href;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(once);
  await expect(page.getByRole("alert")).toContainText("Open the whole address that aib view has printed");
  expect(page.url()).not.toContain("once");
  await page.route("**/api/token", async (route) => {
    expect(route.request().headers()["authorization"]).toBe("Bearer fresh");
    await route.fulfill({ json: { token: printed(store)?.split("=")[1] } });
  });
  await page.goto("about:blank");
  await page.goto(once.replace("spent", "fresh"));
  await expect(page.locator("main h1")).toBeVisible();
  await context.close();
});
