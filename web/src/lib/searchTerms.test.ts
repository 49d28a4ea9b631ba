import { describe, expect, it } from "vitest";
import { excerpt, hitsOf, wordsOf } from "./searchTerms";

describe("words of the search", () => {
  it("have no case, no accents and no apostrophes, and are cut", () => {
    expect(wordsOf("Don’t be naïve: ÉTÉ 2026, x-ray!")).toEqual(["dont", "be", "naive", "ete", "2026", "x", "ray"]);
    expect(wordsOf("abcdefgh", 3)).toEqual(["abc"]);
    expect(wordsOf(" … ")).toEqual([]);
  });

  it("are found in a text as it stands, with its accents and apostrophes", () => {
    const text = "I don't; DON’T be naïve, and naively so.";
    expect(hitsOf(text, "dont naive").map((hit) => text.slice(hit.start, hit.end))).toEqual([
      "don't",
      "DON’T",
      "naïve",
      "naively",
    ]);
    expect(hitsOf(text, "")).toEqual([]);
    expect(hitsOf(text, ".*")).toEqual([]);
  });

  it("give an excerpt around the first of them", () => {
    expect(excerpt("a ".repeat(200) + "needle" + " b".repeat(200), "needle", 10)).toMatchObject({ whole: false });
    expect(excerpt("one needle", "needle")).toEqual({ text: "one needle", start: 0, whole: true });
    expect(excerpt("hay", "needle")).toBeNull();
  });
});
