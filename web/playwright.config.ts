import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";
import { launchOptions } from "./e2e/browser.mjs";
import { PORTS, type Looked } from "./e2e/served";

// Debian's browser; none is downloaded. The servers are the project's own, over stores that e2e/stores.py writes.
const python = process.env["AIB_PYTHON"] ?? "../.venv/bin/python";
const published = existsSync("../../shared/published-dataset/cache.tar.xz");

const BEGUN = 8610; // open once all servers have begun

/** A browser starts for each worker of each project, so there are two: one that is served live, one of files alone. */
const LIVE = ["demo", "label", "hostile", "published"] as const;
const FROZEN = ["static", "stems"] as const;
const FILES = /(frozen|stems)\.spec/;

// only the servers of the project that is asked for, what is there first before the others
const asked = process.argv[process.argv.indexOf("--project") + 1];
const stores = { live: LIVE, frozen: FROZEN }[asked ?? ""] ?? [...LIVE, ...FROZEN];
const served = stores
  .filter((store) => store !== "published" || published)
  .map((store) => `${store}=${String(PORTS[store])}`);

export default defineConfig<Looked>({
  testDir: "e2e",
  fullyParallel: true,
  workers: 2, // each begins with a browser of its own
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
    { name: "live", testIgnore: published ? FILES : [FILES, /published/], use: { store: "demo" } },
    {
      name: "frozen",
      testMatch: [FILES, /(reading|settings)\.spec/],
      grepInvert: /@page-only/,
      use: { store: "static" },
    },
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
