import { describe, expect, it } from "vitest";
import { isFormatted } from "./markdownLimits";

const N = 4000;

describe("a text is set as Markdown", () => {
  it("where it has some, as people and models write it", () => {
    for (const text of [
      "I **keep** my name.",
      "# Who I am\n\n> > as I said\n\n1. Iris\n   - still Iris\n   - [a link](https://example.com)",
      "Title\n=====\n\n----------------------------------------\n\n****************************************",
      "```\nif (a[0] < b) return `x`;\n```",
      Array.from({ length: 300 }, (_, n) => `- point *${n}*\n`).join("\n"),
      `${"> ".repeat(19)}deep enough`,
    ])
      expect(isFormatted(text), text.slice(0, 40)).toBe(true);
  });

  it("not where there is none", () => {
    expect(isFormatted("I keep my name, as I said.")).toBe(false);
  });

  it("not where it is deeper, longer or denser than anybody writes: the parser is square in that, or runs out of stack", () => {
    for (const text of [
      ">".repeat(N),
      "> ".repeat(N) + "x",
      "- ".repeat(N) + "x",
      "1. ".repeat(N) + "x",
      "> - ".repeat(N) + "x",
      "\t- ".repeat(N) + "x",
      "[".repeat(N) + "x" + "]".repeat(N),
      "![".repeat(N) + "x" + "](u)".repeat(N),
      "*a **a ".repeat(N) + "a** a*".repeat(N),
      "*_".repeat(N) + "x" + "_*".repeat(N),
      "x <!--".repeat(N),
      "x <?".repeat(N),
      Array.from({ length: 250 }, (_, n) => "`".repeat(n + 1)).join("a"),
      "a\n=\n".repeat(N),
      "- a\n".repeat(N),
      "*a* ".repeat(20_000),
    ])
      expect(isFormatted(text), text.slice(0, 40)).toBe(false);
  });
});
