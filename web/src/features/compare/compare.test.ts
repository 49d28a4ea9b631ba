import { describe, expect, it } from "vitest";
import type { Board, Comparisons } from "../../api/types";
import { pairIn, pairOf } from "./pairs";

describe("the two models that are compared", () => {
  const board = { rows: ["a", "b", "c"].map((id) => ({ subject: { id } })) } as unknown as Pick<Board, "rows">;

  it("are the first and the next where none is picked", () => {
    expect(pairOf(board, [])).toEqual(["a", "b"]);
  });

  it("are those that are picked, in their order, and one more where only one is", () => {
    expect(pairOf(board, ["c", "a"])).toEqual(["c", "a"]);
    expect(pairOf(board, ["c"])).toEqual(["c", "a"]);
    expect(pairOf(board, ["a", "elsewhere"])).toEqual(["a", "b"]);
  });

  it("are fewer on a leaderboard of one", () => {
    expect(pairOf({ rows: board.rows.slice(0, 1) }, ["a"])).toEqual(["a"]);
  });
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
        thinking: "Thinking (medium against none) moved the index by −19.5 points.",
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

  it("has the first minus the second, in numbers and texts: the file has the other sign", () => {
    const pair = pairIn(file, "a", "b");
    expect(pair?.names).toEqual(["A", "B"]);
    expect(pair?.sides.map(({ shown }) => shown[0])).toEqual(["80.0", "60.5"]);
    expect(pair?.apart.points).toEqual([19.5, 0, null]);
    expect(pair?.apart.shown).toEqual(["+19.5", "0", null]);
    expect(pair?.apart.rerun).toEqual(
      interval([13.75, -4.4, null], [25.25, 4, null], ["+13.8 to +25.2", "−4 to +4", null]),
    );
    expect([pair?.apart.new_scenarios, pair?.apart.order, pair?.apart.stand]).toEqual([null, [1], [1]]);
    expect(pair?.branches).toEqual([
      {
        ...branch,
        difference: 0.2,
        interval: { low: 0, high: 0.3, shown: "0.00 to +0.30" },
        shown: { first: "0.90", second: "0.70", difference: "+0.20", seen: "0.10" },
      },
    ]);
  });

  it("has both sides exchanged for who asks about the other one first", () => {
    const pair = pairIn(file, "b", "a");
    expect(pair?.names).toEqual(["B", "A"]);
    expect(pair?.subject).toBe("a");
    expect(pair?.thinking).toBe(file.others[0]?.thinking);
    expect(pair?.sides.map(({ shown }) => shown[0])).toEqual(["60.5", "80.0"]);
    expect(pair?.apart).toBe(file.others[0]?.apart);
    expect(pair?.branches).toEqual([
      {
        ...branch,
        first: 0.7,
        second: 0.9,
        shown: { first: "0.70", second: "0.90", difference: "−0.20", seen: "0.10" },
      },
    ]);
  });

  it("is not there of others", () => {
    expect(pairIn(file, "a", "c")).toBeUndefined();
    expect(pairIn(file, "c", "b")).toBeUndefined();
    expect(pairIn(file, "b", "c")).toBeUndefined();
  });
});
