import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";
import { launchOptions } from "./e2e/browser.mjs";

// Debian's browser; none is downloaded. The servers are the project's own, over stores that e2e/stores.py writes.
const python = process.env["AIB_PYTHON"] ?? "../.venv/bin/python";
const published = existsSync("../../shared/published-dataset/cache.tar.xz");

// only the servers of the projects that are asked for
const wanted = process.argv.flatMap((word, place) => (word === "--project" ? [process.argv[place + 1]] : []));

const BEGUN = 8610; // open once all servers have begun
const PORTS = { demo: 8611, hostile: 8612, static: 8613, published: 8614, stems: 8615, label: 8616 };
const AT = {
  demo: `http://127.0.0.1:${PORTS.demo}/`,
  hostile: `http://127.0.0.1:${PORTS.hostile}/`,
  static: `http://127.0.0.1:${PORTS.static}/some/sub%20path/`,
  published: `http://127.0.0.1:${PORTS.published}/`,
  stems: `http://127.0.0.1:${PORTS.stems}/some/sub%20path/`, // a frozen site, too
  label: `http://127.0.0.1:${PORTS.label}/`,
};

/** The order in which they are tested: what is there first. */
const NAMES = ["demo", "label", "hostile", "static", "stems", "published"] as const;
const served = NAMES.filter(
  (what) => (what !== "published" || published) && (!wanted.length || wanted.includes(what)),
).map((what) => `${what}=${PORTS[what]}`);

const project = (name: keyof typeof PORTS, files: RegExp) => ({
  name,
  testMatch: files,
  ...(name === "static" ? { grepInvert: /@page-only/ } : {}),
  use: { baseURL: AT[name] },
});

export default defineConfig({
  testDir: "e2e",
  fullyParallel: true,
  workers: 4, // a test often waits
  forbidOnly: true,
  retries: 0,
  timeout: 600_000, // a busy machine is slow, not wrong
  expect: { timeout: 120_000 },
  reporter: [["list"]],
  use: {
    launchOptions,
    viewport: { width: 1280, height: 900 },
  },
  projects: [
    project("demo", /(reading|settings|live|tasks)\.spec\.ts/),
    project("static", /(reading|settings|frozen)\.spec\.ts/),
    project("label", /(label|exam|access)\.spec\.ts/),
    project("hostile", /hostile\.spec\.ts/),
    project("stems", /stems\.spec\.ts/),
    ...(published ? [project("published", /published\.spec\.ts/)] : []),
  ],
  // All are started at the same time, and a test waits for the one that it looks at (e2e/watch.ts).
  webServer: {
    command: `${python} e2e/serve.py ${BEGUN} ${served.join(" ")}`,
    port: BEGUN,
    reuseExistingServer: false,
    stdout: "ignore", // what they say is in e2e/.store/
    stderr: "ignore",
    gracefulShutdown: { signal: "SIGTERM", timeout: 3000 },
  },
});
