import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// Debian's browser; none is downloaded. The servers are the project's own, over stores that e2e/stores.py writes.
const python = process.env["AIB_PYTHON"] ?? "../.venv/bin/python";
const published = existsSync("../../shared/published-dataset/cache.tar.xz");

// only the servers of the projects that are asked for
const wanted = process.argv.flatMap((word, place) => (word === "--project" ? [process.argv[place + 1]] : []));

const PORTS = { demo: 8651, hostile: 8652, static: 8653, published: 8654 };
const AT = {
  demo: `http://127.0.0.1:${String(PORTS.demo)}/`,
  hostile: `http://127.0.0.1:${String(PORTS.hostile)}/`,
  static: `http://127.0.0.1:${String(PORTS.static)}/some/sub%20path/`,
  published: `http://127.0.0.1:${String(PORTS.published)}/`,
};

const server = (what: keyof typeof PORTS) => ({
  command: `${python} e2e/serve.py ${what} ${String(PORTS[what])}`,
  url: `${AT[what]}api/index.json`,
  reuseExistingServer: false,
  stdout: "ignore" as const, // what they say is in e2e/.store/
  stderr: "ignore" as const,
  timeout: 180_000,
  gracefulShutdown: { signal: "SIGTERM" as const, timeout: 3000 },
});

const project = (name: keyof typeof PORTS, files: RegExp) => ({
  name,
  testMatch: files,
  use: { baseURL: AT[name] },
});

export default defineConfig({
  testDir: "e2e",
  fullyParallel: true,
  workers: 2,
  forbidOnly: true,
  retries: 0,
  timeout: 60_000,
  reporter: [["list"]],
  use: {
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    },
    viewport: { width: 1280, height: 900 },
  },
  projects: [
    project("demo", /(reading|settings|access|live)\.spec\.ts/),
    project("static", /(reading|settings|frozen)\.spec\.ts/),
    project("hostile", /hostile\.spec\.ts/),
    ...(published ? [project("published", /published\.spec\.ts/)] : []),
  ],
  webServer: (["demo", "hostile", "static", "published"] as const)
    .filter((what) => (what !== "published" || published) && (!wanted.length || wanted.includes(what)))
    .map(server),
});
