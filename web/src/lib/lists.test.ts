import { describe, expect, it } from "vitest";
import { fits, sortRows } from "./lists";

describe("sorting", () => {
  const rows = [{ v: 3 }, { v: null }, { v: 10 }, { v: NaN }, { v: 0 }];

  it("puts what is absent last, whichever way it goes, and never takes it for zero", () => {
    expect(sortRows(rows, (row) => row.v, true).map((row) => row.v)).toEqual([10, 3, 0, null, NaN]);
    expect(sortRows(rows, (row) => row.v, false).map((row) => row.v)).toEqual([0, 3, 10, null, NaN]);
  });

  it("keeps the order of equal rows and leaves the given list alone", () => {
    const same = [
      { v: 1, n: "a" },
      { v: 1, n: "b" },
      { v: 2, n: "c" },
    ];
    expect(sortRows(same, (row) => row.v, true).map((row) => row.n)).toEqual(["c", "a", "b"]);
    expect(same[0]?.n).toBe("a");
  });

  it("reads numbers in names, and does not care for case", () => {
    expect(sortRows(["gpt-10", "GPT-9", "gpt-9b"], (name) => name, false)).toEqual(["GPT-9", "gpt-9b", "gpt-10"]);
  });
});

describe("a search in a list", () => {
  it("wants every word, in any order and case", () => {
    expect(fits("google/gemini-3 Flash", "flash GOOGLE")).toBe(true);
    expect(fits("google/gemini-3 Flash", "flash pro")).toBe(false);
    expect(fits("anything", "  ")).toBe(true);
  });
});
