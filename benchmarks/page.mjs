// How soon a person sees something: `node page.mjs ADDRESS TABLES ID...`, asked by viewer.py.
//
// A table is opened so many times in a browser that has never been there; conversations one after the other inside the
// page, as a click does it. What is timed ends with the frame after the one in which it was drawn, by the page's own
// clock: from the beginning of the navigation, or from the change of address. Prints JSON: milliseconds of each.

import { launchOptions } from "../web/e2e/browser.mjs";
import { chromium } from "../web/node_modules/playwright-core/index.mjs";

const [address, tables, ...ids] = process.argv.slice(2);
const browser = await chromium.launch(launchOptions);

// runs in the page: when something that *selector* finds has been drawn
function drawn(selector) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(selector)) requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
      else requestAnimationFrame(look);
    };
    look();
  });
}

async function newPage() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(`window.drawn = ${drawn}`);
  return page;
}

const found = { table: [], transcript: [] };
let page;
for (let left = Number(tables); left > 0; left -= 1) {
  await page?.context().close();
  page = await newPage();
  await page.goto(address, { waitUntil: "commit" });
  found.table.push(await page.evaluate(() => window.drawn("main tbody tr th[scope=row]")));
}
for (const id of ids) {
  const taken = await page.evaluate(async (id) => {
    const before = performance.now();
    window.location.hash = `#/transcript/${id}`;
    return (await window.drawn(`main:has(a[download][href*="${id}"]) [aria-label=Conversation] article`)) - before;
  }, id);
  found.transcript.push(taken);
}
await browser.close();
console.log(JSON.stringify(found));
