import { describe, expect, it, test } from "vitest";
import { configurationPair } from "./Settings";
import type { BoardRow } from "../../api/types";
import { suggestions } from "./Choosing";

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
