import { describe, expect, it } from "vitest";
import type { Row } from "../../api/types";
import { shows, switched, vendors } from "./filters";

const row = (label: string, family: string | null, thinks = false, provider: string | null = null): Row =>
  ({
    tied_with_best: family === "a",
    thinks,
    subject: { id: label, label, model: label, family, provider, reasoning: "off" },
  }) as Row;
const rows = [row("a/one", "a", true), row("b/two+fast", "b", false, "fast"), row("three", null)];
const shown = (find: string, only: string[], picked: string[] = []) =>
  rows.filter((one) => shows(one, find, only, picked)).map((one) => one.subject.label);

describe("the leaderboard's filters", () => {
  it("show everything where nothing is asked", () => {
    expect(shown("", [])).toHaveLength(3);
  });

  it("hold together", () => {
    expect(shown("", ["vendor:b", "direct"])).toEqual(["b/two+fast"]);
    expect(shown("", ["vendor:b", "thinks"])).toEqual([]);
    expect(shown("FAST", ["pinned"])).toEqual(["b/two+fast"]);
    expect(shown("", ["picked"], ["three"])).toEqual(["three"]);
    expect(shown("", ["best"])).toEqual(["a/one"]);
  });

  it("of another version narrow nothing", () => {
    expect(shown("", ["something-new"])).toHaveLength(3);
  });

  it("are switched one by one, a vendor in place of another", () => {
    expect(switched(["vendor:a", "thinks"], "vendor:b", true)).toEqual(["thinks", "vendor:b"]);
    expect(switched(["vendor:a", "thinks"], "thinks", false)).toEqual(["vendor:a"]);
    expect(vendors(rows)).toEqual(["a", "b"]);
  });
});
