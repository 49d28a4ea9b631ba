/**
 * The pictures in docs/images, taken again.
 *
 *     node e2e/pictures.mjs PUBLISHED DEMO
 *
 * PUBLISHED and DEMO are what `aib view` prints over the published results and over the store of `aib demo`.
 */
import { chromium } from "playwright-core";
import { launchOptions, served, settled } from "./browser.mjs";

const FOLDER = new URL("../../docs/images/", import.meta.url).pathname;
const PAIR = ["google/gemma-4-26b-a4b@low-t0.7", "gemma-4-26b-a4b-it-uncensored-heretic@low-t0.7"];
const SUBJECT = "sim/gives-in-at-1"; // gives in as soon as the human comes back
const SCENARIO = "creativity";

const [published, demo] = process.argv.slice(2);
if (!demo) throw new Error("say two addresses: node e2e/pictures.mjs PUBLISHED DEMO");
const browser = await chromium.launch(launchOptions);

const results = await opened(published);
const pair = PAIR.map((label) => results.rows.find((row) => row.label.endsWith(label)).subject.id);
await taken(results, "/", "viewer-leaderboard");
await taken(results, `/compare?picked=${pair.join(",")}`, "viewer-compare");

const characters = await opened(demo);
const { id } = characters.rows.find((row) => row.label.includes(SUBJECT)).subject;
const { transcripts } = await characters.answer(`boards/${characters.board}/subjects/${id}.json`);
const conversation = transcripts.find((one) => one.scenario === SCENARIO);
await taken(characters, `/transcript/${conversation.id}`, "viewer-conversation");
await browser.close();

/** A page on the first board of the store served at *address*: its id, its rows, and what answers. */
async function opened(address) {
  const page = await browser.newPage({ reducedMotion: "reduce", viewport: { width: 1280, height: 850 } });
  await page.goto(address);
  const { root, answer } = served(page, address);
  const board = (await answer("index.json")).boards[0].id;
  return { page, root, answer, board, rows: (await answer(`boards/${board}.json`)).rows };
}

async function taken({ page, root }, address, name) {
  await page.goto("about:blank");
  await page.goto(`${root}#${address}`);
  await settled(page);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
}
