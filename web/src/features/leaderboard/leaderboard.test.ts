import { expect, test, describe, it } from "vitest";
import { linearAxis, logAxis } from "./Scatter";
import type { Row } from "../../api/types";
import { passes, toggled, vendors } from "./filters";

test("a linear axis holds its values between round ticks", () => {
  const { ticks, place } = linearAxis([43, 99.7], String, 100);
  expect(ticks).toEqual([40, 60, 80, 100]);
  expect(place(100)).toBe(1);
  expect(place(43)).toBeGreaterThan(0);
});

test("an axis of one value has a length", () => {
  expect(linearAxis([80], String).ticks.length).toBeGreaterThan(1);
  expect(linearAxis([0], String).ticks.length).toBeGreaterThan(1);
  expect(Number.isFinite(logAxis([0.01], String).place(0.01))).toBe(true);
});

test("a logarithmic axis counts in ones, twos and fives, and over many powers in ones", () => {
  expect(logAxis([0.011, 0.08], String).ticks).toEqual([0.01, 0.02, 0.05, 0.1]);
  expect(logAxis([0.0003, 2.5], String).ticks).toEqual([0.001, 0.01, 0.1, 1]);
  expect(logAxis([0.01, 0.1], String).place(0.01)).toBe(0);
  expect(logAxis([0.01, 0.1], String).place(0.1)).toBe(1);
});

const row = (label: string, vendor: string | null, thinks = false, provider: string | null = null): Row =>
  ({
    ranks: { rank_low: 1, rank_high: 2, tied_with_best: vendor === "a" },
    ranks_new_scenarios: { rank_low: 1, rank_high: 3, tied_with_best: true },
    thinks,
    label,
    subject: { id: label, model: label, vendor, provider, reasoning: "off" },
  }) as Row;
const rows = [row("a/one", "a", true), row("b/two+fast", "b", false, "fast"), row("three", null)];
const NOTHING = { find: "", only: [], picked: [], most: "", interval: "rerun" } as const;
const labels = (find: string, only: string[], picked: string[] = []) =>
  rows.filter((row) => passes(row, { ...NOTHING, find, only, picked })).map((one) => one.label);

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
    expect(rows.filter((row) => passes(row, { ...NOTHING, only: ["best"], interval: "like" }))).toHaveLength(3);
  });

  it("of another version are ignored", () => {
    expect(labels("", ["something-new"])).toHaveLength(3);
  });

  it("leave out what costs more, and what nobody knows the price of", () => {
    const [cheap, dear] = [0.009, 0.02].map((dollars_per_run) => ({ dollars_per_run }) as Row["price"]);
    const priced = rows.map((row, index) => ({ ...row, price: [cheap, dear, null][index] ?? null }));
    const left = (most: string) => priced.filter((one) => passes(one, { ...NOTHING, most })).length;
    expect(["", "0.01", "$0,02", "much"].map(left)).toEqual([3, 1, 2, 3]);
  });

  it("are toggled one by one, and a vendor replaces another", () => {
    expect(toggled(["vendor:a", "thinks"], "vendor:b", true)).toEqual(["thinks", "vendor:b"]);
    expect(toggled(["vendor:a", "thinks"], "thinks", false)).toEqual(["vendor:a"]);
    expect(vendors(rows)).toEqual(["a", "b"]);
  });
});
