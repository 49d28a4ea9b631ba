import { describe, expect, it, test } from "vitest";
import { configurationPair } from "./Settings";
import type { BoardRow, Comparisons } from "../../api/types";
import { suggestions } from "./Choosing";
import { pairIn } from "./pairs";

const ALL = ["neutral/user", "neutral/tool", "strong/user"];

describe("the two configurations that are compared", () => {
  it("are those that were asked for", () => {
    expect(configurationPair(ALL, ["neutral/user"], "strong/user", "neutral/tool")).toEqual([
      "strong/user",
      "neutral/tool",
    ]);
  });

  it("begin with the ranking that is open where nothing was asked for", () => {
    expect(configurationPair(ALL, ["strong/user"], "", "")).toEqual(["strong/user", "neutral/user"]);
    expect(configurationPair(ALL, ["strong/tool"], "", "")).toEqual(["neutral/user", "neutral/tool"]);
    expect(configurationPair(ALL, ["neutral/user"], "", "strong/user")).toEqual(["neutral/user", "strong/user"]);
    expect(configurationPair(ALL, ["strong/user"], "", "strong/user")).toEqual(["neutral/user", "strong/user"]);
  });

  it("are two, whatever is in the address", () => {
    expect(configurationPair(ALL, [], "strong/user", "strong/user")).toEqual(["strong/user", "neutral/user"]);
    expect(configurationPair(ALL, [], "<script>", "__proto__")).toEqual(["neutral/user", "neutral/tool"]);
  });
});

const row = (id: string, rank: number | null, name: string, dollars_per_run: number | null): BoardRow =>
  ({
    rank,
    subject: { id, name, family: name.split("/")[0] ?? null },
    price: dollars_per_run === null ? null : { dollars_per_run },
  }) as BoardRow;
const ROWS = [
  row("a", 1, "x/one", 0.5),
  row("b", 2, "y/two", 0.1),
  row("c", 3, "x/three", 0.3),
  row("d", 4, "x/three", 0.2),
  row("e", null, "x/three", null),
];

test("whoever stands beside it, is cheaper or related is suggested once, with the reason", () => {
  expect(suggestions(ROWS, "c").map(({ row: { subject }, why }) => [subject.id, why])).toEqual([
    ["d", "the same model with other settings; the next lower index"],
    ["b", "the next higher index; the highest index at a lower price"],
    ["a", "the highest index; the highest index of the same vendor"],
  ]);
  expect(suggestions(ROWS, "a").map(({ row: { subject } }) => subject.id)).toEqual(["b", "c"]);
});

test("nobody is suggested to whom it is unknown, or who is not ranked", () => {
  expect(suggestions(ROWS, "e")).toEqual([]);
  expect(suggestions(ROWS, "nobody")).toEqual([]);
  expect(suggestions(ROWS.slice(0, 1), "a")).toEqual([]);
});

describe("a pair in the file of the one that comes first", () => {
  const interval = (low: (number | null)[], high: (number | null)[], shown: (string | null)[]) => ({
    low,
    high,
    shown,
  });
  const branch = {
    quantity: "hold",
    first: 0.9,
    second: 0.7,
    difference: -0.2,
    stems: 12,
    interval: { low: -0.3, high: 0, shown: "−0.30 to 0.00" },
    seen: 0.1,
    stands: true,
    shown: { first: "0.90", second: "0.70", difference: "−0.20", seen: "0.10" },
  };
  const file = {
    subject: "a",
    values: [80, 50, null],
    shown: ["80.0", "50", null],
    others: [
      {
        subject: "b",
        names: ["A", "B"],
        says: "A is ahead on this test, and would be on another like it.",
        values: [60.5, 50, 10],
        shown: ["60.5", "50", "10"],
        apart: {
          points: [-19.5, 0, null],
          shown: ["−19.5", "0", null],
          rerun: interval([-25.25, -4, null], [-13.75, 4.4, null], ["−25.2 to −13.8", "−4 to +4", null]),
          new_scenarios: null,
          why: null,
          flipped: [],
          order: [1],
          stand: [1],
          stand_new_scenarios: [],
        },
        branches: [branch],
      },
    ],
  } as unknown as Comparisons;

  it("is as it stands there", () => {
    const pair = pairIn(file, "a", "b");
    expect(pair?.sides.map(({ shown }) => shown[0])).toEqual(["80.0", "60.5"]);
    expect(pair?.apart).toBe(file.others[0]?.apart);
  });

  it("is turned round, numbers and texts, for who asks about the other one first", () => {
    const pair = pairIn(file, "b", "a");
    expect(pair?.names).toEqual(["B", "A"]);
    expect(pair?.subject).toBe("a");
    expect(pair?.sides.map(({ shown }) => shown[0])).toEqual(["60.5", "80.0"]);
    expect(pair?.apart.points).toEqual([19.5, 0, null]);
    expect(pair?.apart.shown).toEqual(["+19.5", "0", null]);
    expect(pair?.apart.rerun).toEqual(
      interval([13.75, -4.4, null], [25.25, 4, null], ["+13.8 to +25.2", "−4 to +4", null]),
    );
    expect([pair?.apart.new_scenarios, pair?.apart.order, pair?.apart.stand]).toEqual([null, [1], [1]]);
    expect(pair?.branches).toEqual([
      {
        ...branch,
        first: 0.7,
        second: 0.9,
        difference: 0.2,
        interval: { low: 0, high: 0.3, shown: "0.00 to +0.30" },
        shown: { first: "0.70", second: "0.90", difference: "+0.20", seen: "0.10" },
      },
    ]);
  });

  it("is not there of others", () => {
    expect(pairIn(file, "a", "c")).toBeUndefined();
    expect(pairIn(file, "c", "b")).toBeUndefined();
    expect(pairIn(file, "b", "c")).toBeUndefined();
  });
});
