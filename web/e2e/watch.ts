import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect, test as plain, type BrowserContext, type Locator, type Page } from "@playwright/test";
import axe from "axe-core";
import { lineIn, packOf } from "../src/api/packs";
import type { Board, Index, Subject } from "../src/api/types";
import { AT, type Looked, type Store } from "./served";

/** What must not happen on any page, however it was reached. */
export interface Watched {
  dialogs: string[];
  requests: string[]; // to anywhere else than where the page came from
  violations: string[]; // of the content security policy
  errors: string[]; // in the console, and uncaught
}

/** Every test watches its page, and fails for a dialog, a request that leaves, a violation or an error. */
export const test = plain.extend<Looked & { watched: Watched; expected: { errors: RegExp[] } }>({
  store: ["demo", { option: true }],
  baseURL: async ({ store }, use) => {
    await serving(AT[store]);
    await use(AT[store]);
  },
  expected: async ({}, use) => {
    await use({ errors: [] });
  },
  watched: [
    async ({ page, context, store, expected }, use) => {
      await letIn(context, store);
      const watched: Watched = { dialogs: [], requests: [], violations: [], errors: [] };
      const home = new URL(AT[store]).origin;
      page.on("dialog", (dialog) => {
        watched.dialogs.push(dialog.message());
        void dialog.dismiss();
      });
      context.on("page", (other) => {
        if (other !== page) watched.requests.push(`another page: ${other.url()}`);
      });
      context.on("request", (request) => {
        const url = request.url();
        if (new URL(url).origin !== home && !url.startsWith("data:image/svg+xml")) watched.requests.push(url);
      });
      page.on("console", (message) => {
        const where = message.location().url.replace(home, "");
        if (message.type() === "error" || message.type() === "warning")
          watched.errors.push([message.text(), where].filter(Boolean).join(" "));
      });
      page.on("pageerror", (error) => watched.errors.push(error.message));
      await page.exposeFunction("tellViolation", (what: string) => watched.violations.push(what));
      await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) => {
          const tell = (window as unknown as { tellViolation: (what: string) => void }).tellViolation;
          tell(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
        });
      });
      await use(watched);
      const errors = watched.errors.filter((error) => !expected.errors.some((known) => known.test(error)));
      expect({ ...watched, errors }).toEqual({ dialogs: [], requests: [], violations: [], errors: [] });
    },
    { auto: true },
  ],
});

export { expect };

/** Until something answers there; refused is an answer, too. */
async function serving(home: string): Promise<void> {
  const answers = () =>
    fetch(home).then(
      () => true,
      () => false,
    );
  while (!(await answers())) {
    if (existsSync("e2e/.store/ended")) throw new Error("a server has ended: e2e/.store/*.log says why");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Marks what the page does by itself, whoever serves it: tested against the live server, not again on the static site. */
export const PAGE_ONLY = { tag: "@page-only" };

/** The address that `aib view` has printed, with its token; undefined where a static site is served. */
export function printed(store: Store): string | undefined {
  return /http:\S+#token=\S+/.exec(readFileSync(`e2e/.store/${store}.log`, "utf8"))?.[0];
}

let token = ""; // of the server that is tested

/** Its tabs have what they keep of that address once it was opened. */
async function letIn(context: BrowserContext, store: Store): Promise<void> {
  token = printed(store)?.split("#token=")[1] ?? "";
  if (!token) return;
  await context.addInitScript((kept) => {
    if (location.protocol.startsWith("http")) sessionStorage.setItem("aib.token", kept);
  }, token);
}

/** Go to a page of the viewer, and wait until it has what it shows. */
export async function open(page: Page, hash: string): Promise<void> {
  await page.goto(`./#${hash}`);
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await expect(page.locator("main")).toBeVisible();
  await expect(page.getByText(/^(Reading|Preparing) .* …$/)).toHaveCount(0);
}

/** Leave the page, and open its address as whoever is sent the link does. */
export async function reopen(page: Page): Promise<void> {
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
}

/** Open everything that is folded, so that it is drawn. */
export async function unfold(page: Page): Promise<void> {
  for (let round = 0; round < 4; round++) {
    const opened = await page.evaluate(() => {
      const closed = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
      for (const folded of closed) folded.open = true;
      return closed.length;
    });
    if (!opened) return;
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  }
}

/** Open the first row of a list that is folded, if there is one. */
export async function openRow(page: Page): Promise<void> {
  const row = page.locator("main").getByRole("button", { expanded: false }).filter({ hasText: "›" }).first();
  if (await row.isVisible()) await row.click();
  await settled(page);
}

/** Nothing of the page is wider than the window. */
export async function expectNoSideways(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(wide, `wider than the window at ${page.url()}`).toBeLessThanOrEqual(window ?? 0);
}

/** What axe-core finds on the page as it is. Its code is put in once, and stays while the page is not loaded again. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const result = await (window as unknown as { axe: typeof axe }).axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      resultTypes: ["violations"],
    });
    return result.violations.map(({ impact, id, nodes }) => {
      const where = nodes.slice(0, 4).map((node) => node.target.join(" "));
      return `${impact ?? ""} ${id}: ${where.join("; ")}`;
    });
  });
}

/** Colours decide one half of axe's rules, width the other, so each of both once. */
const WINDOWS = [
  ["light", 390],
  ["dark", 1280],
] as const;

/** Give the page, open or not, one window after the other, and do *check* in each. */
export async function inEachWindow(page: Page, check: (window: string) => Promise<void>): Promise<void> {
  for (const [colorScheme, width] of WINDOWS) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 900 });
    await check(`${colorScheme}, ${String(width)} pixels`);
    await expect(page.locator("html")).toHaveAttribute("data-theme", colorScheme);
  }
}

/** In each window axe finds nothing on a page with everything unfolded, and nothing is wider than the window. */
export async function expectSound(page: Page, hashes: readonly string[]): Promise<void> {
  test.setTimeout(600_000); // axe takes a second a page where nothing else is at work
  for (const hash of hashes) {
    let loaded = false;
    await inEachWindow(page, async (window) => {
      if (!loaded) await open(page, hash);
      await unfold(page);
      if (!loaded) await openRow(page);
      loaded = true;
      expect.soft(await violations(page), `${hash}, ${window}`).toEqual([]);
      await expectNoSideways(page);
    });
  }
}

/** The first board of the store, or the main one of *protocol*. */
export async function boardOf(page: Page, protocol?: string): Promise<{ index: Index; board: Board }> {
  const index = await answer<Index>(page, "index.json");
  const id = index.protocols.find(({ name }) => name === protocol)?.id;
  const entry = index.boards.find(
    (board) => !protocol || (board.protocol === id && board.main && board.rules === "own"),
  );
  return { index, board: await answer<Board>(page, `boards/${entry?.id ?? ""}.json`) };
}

export function subjectOf(page: Page, { board }: Board, id: string | undefined): Promise<Subject> {
  return answer<Subject>(page, `boards/${board.id}/subjects/${id ?? ""}.json`);
}

/** The first two subjects of *board*, as an address has those that are picked. */
export function firstTwo({ rows }: Board): string {
  return rows
    .slice(0, 2)
    .map(({ subject }) => subject.id)
    .join(",");
}

/** What a search has found. */
export function hits(page: Page): Locator {
  return page.getByRole("list", { name: "Conversations found" }).getByRole("listitem");
}

/** Pick the subjects with *labels* on the leaderboard, and compare them. */
export async function pickAndCompare(page: Page, ...labels: readonly string[]): Promise<void> {
  for (const label of labels) await page.getByRole("checkbox", { name: `Pick ${label} for comparison` }).click();
  const picked = page.getByRole("complementary", { name: "Picked for comparison" });
  await picked.getByRole("link", { name: "Compare" }).click();
  await settled(page);
}

/** An answer of the API, as the page would read it. */
export async function answer<T>(page: Page, path: string): Promise<T> {
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  const read = (file: string) => page.request.get(`./api/${file}`, { headers });
  const response = await read(path);
  if (response.ok()) return (await response.json()) as T;
  const unpacked = async (pack: string) => gunzipSync(await (await read(`packs/${pack}.gz`)).body()).toString();
  const firsts = JSON.parse(await unpacked("list")) as string[];
  const line = lineIn(await unpacked(String(packOf(path, firsts))), path);
  expect(line, path).not.toBeNull();
  return JSON.parse(line ?? "") as T;
}
