import { describe, expect, it } from "vitest";
import type { BoardEntry } from "../api/types";
import { mainJudge, optionNames, options, traits, withTrait } from "./boards";

const board = (
  protocol: string,
  configuration: string,
  judge: string,
  rules = "own",
  weights: string | null = null,
): BoardEntry => ({
  id: [protocol, configuration, judge, rules, ...(weights ? [weights] : [])].join("."),
  protocol,
  configurations: [configuration],
  judge,
  judges: [judge],
  main: judge === "b",
  rules,
  weights,
  exam: null,
});
const first = board("v2", "s/tool", "a");
const BOARDS = [
  first,
  board("v2", "s/tool", "b"),
  board("v2", "n/user", "b"),
  board("v1", "n/user", "a"),
  board("v2", "s/tool", "a", "published"),
  board("v2", "s/tool", "a", "own", "later"),
];

describe("choosing a board", () => {
  it("offers what there is under the choices before it", () => {
    expect(options(BOARDS, first, "protocol")).toEqual(["v2", "v1"]);
    expect(options(BOARDS, first, "configuration")).toEqual(["s/tool", "n/user"]);
    expect(options(BOARDS, first, "rules")).toEqual(["own", "published"]);
    expect(options(BOARDS, first, "weights")).toEqual(["", "later"]);
    expect(withTrait(BOARDS, first, "weights", "later").id).toBe("v2.s/tool.a.own.later");
  });

  it("knows the main judge of a protocol and configuration", () => {
    expect(mainJudge(BOARDS, first)).toBe("b");
    expect(mainJudge(BOARDS, board("v1", "n/user", "a"))).toBeNull();
  });

  it("keeps as many of the other choices as it can", () => {
    const other = withTrait(BOARDS, first, "configuration", "n/user");
    expect(traits(other)).toEqual({ protocol: "v2", configuration: "n/user", judge: "b", rules: "own", weights: "" });
    expect(withTrait(BOARDS, first, "judge", "b").id).toBe("v2.s/tool.b.own");
    expect(withTrait(BOARDS, first, "protocol", "v1").id).toBe("v1.n/user.a.own");
    expect(withTrait(BOARDS, first, "judge", "nobody")).toBe(first);
  });
});

describe("the names in a list to choose from", () => {
  it("lack the vendor, and keep it where two are the same without it", () => {
    const names = { 1: "acme/one", 2: "acme/two@low", 3: "acme/two@none", 4: "birch/three", 5: "x:cedar/three" };
    expect([...optionNames({ names }).values()]).toEqual([
      "one",
      "two@low",
      "two@none",
      "birch/three",
      "x:cedar/three",
    ]);
  });
});
