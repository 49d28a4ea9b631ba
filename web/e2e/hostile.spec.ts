import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import type { Board, Subject, Transcript } from "../src/api/types";
import { answer, boardOf, expect, firstTwo, open, openRow, subjectOf, test, unfold } from "./watch";

test.use({ store: "hostile" });

const LINES = readFileSync(new URL("payloads.txt", import.meta.url), "utf-8").split("\n");
const PAYLOADS = LINES.filter((line) => line && !line.startsWith("# ")).length;
const OURS = new Set(["script", "link", "meta"]); // in <head> only
const FORBIDDEN =
  "script, iframe, object, embed, applet, img, image, video, audio, base, form, style, link, meta, frame, frameset, marquee, template, portal, math, animate, foreignObject, use";

/** Nothing that somebody else wrote has become an element, an attribute that acts, or a link that is none. */
async function expectInert(page: Page): Promise<void> {
  const found = await page.evaluate(
    ([forbidden, ours]) => {
      const bad: string[] = [];
      for (const element of document.querySelectorAll(forbidden as string)) {
        const inHead = element.closest("head") && (ours as string[]).includes(element.localName);
        if (!inHead) bad.push(element.outerHTML.slice(0, 120));
      }
      for (const element of document.querySelectorAll("*")) {
        for (const { name, value } of element.attributes) {
          if (name.startsWith("on") || name === "srcdoc" || name === "ping" || name === "autofocus")
            bad.push(`${element.localName} ${name}`);
          if ((name === "href" || name === "src" || name === "action") && !/^(#|https?:|\.\/|data:image)/i.test(value))
            bad.push(`${name}=${value.slice(0, 80)}`);
        }
      }
      for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^=http]")) {
        const download = link.hasAttribute("download") && new URL(link.href).origin === location.origin;
        if (
          !download &&
          !(
            link.target === "_blank" &&
            /noopener/.test(link.rel) &&
            /noreferrer/.test(link.rel) &&
            /nofollow/.test(link.rel)
          )
        ) {
          bad.push(`unmarked link ${link.href}`);
        }
      }
      if ("polluted" in {}) bad.push("the prototype is polluted");
      return bad;
    },
    [FORBIDDEN, [...OURS]] as const,
  );
  expect(found, page.url()).toEqual([]);
}

/** The subject whose payload is a script, on the first board. */
async function worst(page: Page): Promise<{ board: Board; subject: Subject }> {
  const { board } = await boardOf(page);
  const script = board.rows.find((row) => row.subject.model === "<script>alert(1)</script>");
  return { board, subject: await subjectOf(page, board, script?.subject.id) };
}

test("there are a hundred payloads and more, and each is a subject, letter for letter", async ({ page }) => {
  expect(PAYLOADS).toBeGreaterThan(100);
  expect((await boardOf(page)).board.rows.length).toBe(PAYLOADS);
});

test("the check itself finds what it looks for", async ({ page, watched, expected }) => {
  await open(page, "/scenarios");
  await expectInert(page);
  const bad: [string, Record<string, string>][] = [
    ["img", { alt: "x" }],
    ["iframe", { title: "x" }],
    ["math", { class: "x" }],
    ["b", { onclick: "1" }],
    ["a", { href: "javascript:void 0" }],
    ["a", { href: "https://evil.invalid" }],
  ];
  for (const [name, attributes] of bad) {
    await page.evaluate(
      ([tag, all]) => {
        const element = document.createElement(tag);
        for (const [key, value] of Object.entries(all)) element.setAttribute(key, value);
        element.id = "planted";
        document.body.append(element);
      },
      [name, attributes] as const,
    );
    await expect(expectInert(page)).rejects.toThrow();
    await page.evaluate(() => {
      document.getElementById("planted")?.remove();
    });
  }
  // the browser refuses the handler that was planted here, and says so
  expected.errors.push(/^Executing inline event handler violates/);
  expect(watched.violations.splice(0).filter((one) => one !== "script-src-attr inline ")).toEqual([]);
});

for (const view of ["table", "forest", "heat"]) {
  test(`names, providers and endpoints on the leaderboard (${view})`, async ({ page }) => {
    await open(page, `/?view=${view}`);
    const high = await page.evaluate(() => document.documentElement.scrollHeight);
    for (let at = 0; at < high; at += 700) {
      await page.evaluate((y) => {
        scrollTo(0, y);
      }, at);
      await expectInert(page);
    }
  });
}

test("what was said, noted, thought, judged, sent and refused: every conversation of the worst subject", async ({
  page,
}) => {
  const { subject } = await worst(page);
  for (const [place, entry] of subject.transcripts.entries()) {
    const told = await answer<Transcript>(page, `transcripts/${entry.id}.json`);
    await open(page, `/transcript/${entry.id}?tools=yes&phrases=drift`);
    await unfold(page);
    await expectInert(page);
    if (place > 3) continue;
    await open(page, `/transcript/${entry.id}?plain=yes&find=alert`);
    await unfold(page);
    await expectInert(page);
    const shown = await page
      .getByRole("region", { name: "Conversation" })
      .locator("article .prose-text .plain")
      .allTextContents();
    expect(shown, "letter for letter").toEqual(told.lines.map((line) => line.text));
    if (told.turns) {
      await open(page, `/transcript/${entry.id}?side=yes`);
      await expectInert(page);
    }
  }
});

test("one payload in eight as a subject of its own: its page", async ({ page }) => {
  const { board } = await boardOf(page);
  for (const row of board.rows.filter((_, place) => place % 8 === 0)) {
    await open(page, `/subject/${row.subject.id}`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(row.label.replace(/\s+/g, " ").trim());
    await expectInert(page);
  }
});

test("all other pages", async ({ page }) => {
  const { board } = await boardOf(page);
  const picked = firstTwo(board);
  for (const hash of [
    "/scenarios",
    "/scenario/creativity",
    `/compare?picked=${picked}`,
    "/compare?view=settings",
    "/judges",
    "/search?find=script%20alert",
    "/search?find=__proto__",
  ]) {
    await open(page, hash);
    await unfold(page);
    await expectInert(page);
  }
  await open(page, `/compare?picked=${picked}`);
  await openRow(page);
  await expect(page.getByRole("button", { expanded: true }).filter({ hasText: "›" })).toHaveCount(1);
  await expectInert(page);
});

test("an address is somebody else's text too", async ({ page, expected }) => {
  expected.errors.push(/404/);
  const odd = [
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    "../../x",
    '"><img src=x onerror=alert(1)>',
    "%00",
    "__proto__",
  ];
  for (const text of odd) {
    const said = encodeURIComponent(text);
    for (const hash of [
      `/${said}`,
      `/subject/${said}`,
      `/transcript/${said}`,
      `/scenario/${said}`,
      `/?board=${said}&sort=${said}&find=${said}&only=${said}`,
      `/search?find=${said}`,
    ]) {
      await open(page, hash);
      await expectInert(page);
    }
  }
});
