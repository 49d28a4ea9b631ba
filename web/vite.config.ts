import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// During `npm run dev` the API is that of `aib view` on this machine.
const api = process.env["AIB_VIEW"] ?? "http://127.0.0.1:8484";

export default defineConfig({
  base: "./", // works under any path, and from a plain static server
  plugins: [react(), tailwindcss()],
  build: {
    outDir: "../src/independence_bench/viewer/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // nothing becomes a data: script or style, which the policy would block
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": { target: api, changeOrigin: true, headers: { origin: api } } } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node", isolate: false },
});
