import { describe, expect, it } from "vitest";
import type { BoardRow } from "../../api/types";
import { passes, toggled, vendors } from "./filters";

const row = (label: string, family: string | null, thinks = false, provider: string | null = null): BoardRow =>
  ({
    standing: { rank_low: 1, rank_high: 2, groups: "a", tied_with_best: family === "a" },
    thinks,
    subject: { id: label, label, model: label, family, provider, reasoning: "off" },
  }) as BoardRow;
const rows = [row("a/one", "a", true), row("b/two+fast", "b", false, "fast"), row("three", null)];
const labels = (find: string, only: string[], picked: string[] = []) =>
  rows.filter((row) => passes(row, find, only, picked)).map((one) => one.subject.label);

describe("the leaderboard's filters", () => {
  it("let everything pass where none is set", () => {
    expect(labels("", [])).toHaveLength(3);
  });

  it("must all be passed", () => {
    expect(labels("", ["vendor:b", "direct"])).toEqual(["b/two+fast"]);
    expect(labels("", ["vendor:b", "thinks"])).toEqual([]);
    expect(labels("FAST", ["pinned"])).toEqual(["b/two+fast"]);
    expect(labels("", ["picked"], ["three"])).toEqual(["three"]);
    expect(labels("", ["best"])).toEqual(["a/one"]);
  });

  it("of another version are ignored", () => {
    expect(labels("", ["something-new"])).toHaveLength(3);
  });

  it("leave out what costs more, and what nobody knows the price of", () => {
    const [cheap, dear] = [0.009, 0.02].map((dollars_per_run) => ({ dollars_per_run }) as BoardRow["price"]);
    const priced = rows.map((row, index) => ({ ...row, price: [cheap, dear, null][index] ?? null }));
    const left = (most: string) => priced.filter((one) => passes(one, "", [], [], most)).length;
    expect(["", "0.01", "$0,02", "much"].map(left)).toEqual([3, 1, 2, 3]);
  });

  it("are toggled one by one, and a vendor replaces another", () => {
    expect(toggled(["vendor:a", "thinks"], "vendor:b", true)).toEqual(["thinks", "vendor:b"]);
    expect(toggled(["vendor:a", "thinks"], "thinks", false)).toEqual(["vendor:a"]);
    expect(vendors(rows)).toEqual(["a", "b"]);
  });
});
