import { describe, expect, it } from "vitest";
import {
  choiceOf,
  compareAt,
  DEFAULT,
  leaderboard,
  parse,
  settingsAt,
  to,
  transcriptAt,
  type Choice,
  type Place,
} from "./addresses";

const ODD = [
  "",
  "plain",
  "a b",
  "ü/ß?#&=%",
  "100 %",
  "a,b~c",
  "<script>alert(1)</script>",
  "‮evil",
  "日本",
  "..",
  "%00",
  "%",
];

const PLACES: Place[] = [
  leaderboard,
  {
    page: "leaderboard",
    sort: { by: "low_drift", down: true },
    find: "gpt 5",
    only: ["vendor:a,b", "thinks"],
    view: "forest",
  },
  { page: "subject", subject: "a-b", run: 3 },
  { page: "subject", subject: "x", run: null },
  {
    ...transcriptAt("0123abcd"),
    mark: "q3",
    by: "person:ann, ~b",
    phrases: "drift",
    side: true,
    plain: true,
    tools: true,
  },
  { page: "scenarios", sort: { by: "difficulty", down: false } },
  { page: "scenario", scenario: "rs01", sort: { by: "mark.resistance", down: false }, find: "no" },
  { ...compareAt(), scenario: "rs01.resistance" },
  { ...settingsAt("a-b", "strong/tool_role", "neutral/user_role"), scenario: "rs01.resistance" },
  { page: "judges", view: "neutral/user_role + strong/tool_role" },
  { page: "search", find: "don’t be", of: "said" },
  { page: "search", find: "gave in", of: "judged" },
  { page: "methods", part: "cite" },
];
const CHOICES: Choice[] = [DEFAULT, { board: "b-1", interval: "like", picked: ["one", "two,three", "~"] }];

describe("an address", () => {
  it("says the same again when it is read: every page with every choice", () => {
    for (const place of PLACES) {
      for (const choice of CHOICES) expect(parse(to(choice, place))).toEqual({ ...choice, ...place });
    }
  });

  it("carries any text, whatever is in it", () => {
    for (const text of ODD) {
      const search: Place = { page: "search", find: text, of: "said" };
      expect(parse(to(DEFAULT, search))).toMatchObject(search);
      const marked: Place = { ...transcriptAt("id"), by: text };
      expect(parse(to(DEFAULT, marked))).toMatchObject(marked);
      const picked = { ...DEFAULT, picked: text ? [text, "b"] : [] };
      expect(choiceOf(parse(to(picked, leaderboard)))).toEqual(picked);
    }
  });

  it("is short where nothing was chosen", () => {
    expect(to(DEFAULT, leaderboard)).toBe("#/");
    expect(to(DEFAULT, { page: "subject", subject: "x", run: null })).toBe("#/subject/x");
  });

  it("that nobody understands leads to a page that says so, and throws nothing", () => {
    for (const odd of ["#/nothing/here", "#/subject", "#/transcript/", "#/%E0%A4%A", "#/constructor", "#/__proto__"]) {
      expect(parse(odd).page).toBe("nowhere");
    }
    expect(parse("").page).toBe("leaderboard");
    expect(parse("#/subject/x?run=-1&sort=-")).toMatchObject({ page: "subject", run: null });
  });

  it("stays inside the page: it begins with a hash whatever is in it", () => {
    for (const text of ODD)
      expect(to(DEFAULT, { page: "subject", subject: text, run: null }).startsWith("#/")).toBe(true);
  });
});
