/**
 * What the pages of a served store look like, in figures: rows above the fold, height, sideways overflow, seconds until
 * everything is there, and what axe finds, at three widths in both themes.
 *
 *     node e2e/bars.mjs ADDRESS [--only WORD] [--shots DIR [--whole]]
 *
 * ADDRESS is what `aib view` prints, with its token, or that of a static site. --only: pages whose name has WORD in it;
 * --shots: a picture of each, of what is seen without scrolling, or of the --whole page. Pages that the store has nothing
 * for are left out: stems, the exam of two judges, conversations to label. Exits 1 where something is wider than the
 * window or axe finds something.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { launchOptions, served, settled } from "./browser.mjs";
import { pagesOf } from "./pages.mjs";

const WINDOWS = [
  [1440, 900],
  [1280, 900],
  [390, 844],
];

const { values, positionals } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    shots: { type: "string", default: "" },
    whole: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [address] = positionals;
if (!address) throw new Error("say the address: node e2e/bars.mjs http://127.0.0.1:8484/#token=...");
const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
if (values.shots) mkdirSync(values.shots, { recursive: true });

const browser = await chromium.launch(launchOptions);
const page = await browser.newPage({ reducedMotion: "reduce" });
await page.goto(address);
const { root, answer } = served(page, address);
let wrong = 0;
const line = (...cells) => process.stdout.write(`${cells[0].padEnd(26)}${cells.slice(1).join("")}\n`);
line("page", ..."window theme rows height wider seconds axe".split(" ").map((one) => one.padStart(9)));
for (const [name, hash] of await pagesOf(answer)) {
  if (!name.includes(values.only)) continue;
  for (const [width, height] of WINDOWS) {
    await page.setViewportSize({ width, height });
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme });
      const started = performance.now();
      await page.goto("about:blank");
      await page.goto(`${root}#${hash}`);
      await settled(page);
      const seconds = (performance.now() - started) / 1000;
      const seen = await page.evaluate(measure);
      await page.evaluate(axe);
      const found = await page.evaluate(violations);
      const figures = [`${width}`, theme, seen.rows, seen.height, Math.max(0, seen.wide - width), seconds.toFixed(1)];
      line(name, ...[...figures, found.length].map((one) => String(one).padStart(9)));
      for (const one of found) process.stdout.write(`    ${one}\n`);
      wrong += found.length + Number(seen.wide > width);
      if (values.shots)
        await page.screenshot({
          path: `${values.shots}/${name.replace(/\W+/g, "-")}-${width}-${theme}.png`,
          fullPage: values.whole,
        });
    }
  }
}
await browser.close();
process.exitCode = wrong ? 1 : 0;

/** In the page: rows that are whole without scrolling, and the page's size. */
function measure() {
  const { scrollWidth, scrollHeight } = document.documentElement;
  const whole = (row) => row.getBoundingClientRect().bottom <= innerHeight && row.offsetHeight > 0;
  const rows = [...document.querySelectorAll("main tbody tr, main [data-row]")].filter(whole);
  return { rows: rows.length, wide: scrollWidth, height: scrollHeight };
}

/** In the page: what axe finds, a line each. */
async function violations() {
  const result = await window.axe.run({
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
  });
  return result.violations.map(
    ({ impact, id, nodes }) =>
      `${impact} ${id}: ${nodes
        .slice(0, 3)
        .map((node) => node.target.join(" "))
        .join("; ")} (${nodes.length})`,
  );
}
