// Which browser pages are tested and measured in, how it is started, and when a page is there.

import { existsSync } from "node:fs";

// Chromium without the parts that draw a window where Debian's package of it is there: it takes 40% less of a processor
const INSTALLED = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export const launchOptions = {
  executablePath: process.env["CHROMIUM"] ?? INSTALLED.find((path) => existsSync(path)) ?? "chromium",
  args: [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu", // there is none
    "--js-flags=--no-opt", // a page is gone before it pays
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", // nothing leaves this machine
  ],
};

/** The root of what is served at *address*, and its answers: *page* asks, with the token that the address has. */
export function served(page, address) {
  const [, root, token] = /^([^?#]*)[^#]*(?:#token=(.*))?$/.exec(address);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return { root, answer: async (path) => (await page.request.get(`${root}api/${path}`, { headers })).json() };
}

/** Waits until *page* shows what it is about, and no longer that it is being read. */
export async function settled(page) {
  await page.locator("main h1").first().waitFor({ timeout: 60_000 });
  await page.waitForFunction(() => !/(Reading|Preparing) .* …/.test(document.body.innerText), null, {
    timeout: 60_000,
  });
}
