// Which browser pages are tested and measured in, and how it is started.

import { existsSync } from "node:fs";

// Chromium without the parts that draw a window where Debian's package of it is there: it takes 40% less of a processor
const INSTALLED = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export const launchOptions = {
  executablePath: process.env["CHROMIUM"] ?? INSTALLED.find((path) => existsSync(path)) ?? "chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
};
