import { describe, expect, it } from "vitest";
import type { BoardEntry, Index } from "./api/types";
import { pageContext } from "./hooks/usePage";
import { formatAddress, parseAddress, route, sharedParams, type Route, type SharedParams } from "./routes";

const HOSTILE = [
  "plain",
  "a b",
  "ü/ß?#&=%+",
  "100 %",
  "a,b~c~0",
  "<script>alert(1)</script>",
  "javascript:alert(1)",
  "\u202Eevil\u0000\n\t",
  "日本 🙂",
  "..",
  "../../x",
  "%00",
  "%",
  "%E0%A4%A",
  "__proto__",
  "constructor",
];

const ROUTES: Route[] = [
  route("leaderboard"),
  route("leaderboard", {
    sort: { by: "low_drift", descending: true },
    find: "gpt 5",
    only: ["vendor:a,b", "thinks"],
    view: "forest",
  }),
  route("subject", { subject: "a-b", run: 3, scenario: "rs01", score: "25-50" }),
  route("transcript", { transcript: "0123abcd", mark: "q3", by: "person:ann, ~b", phrases: "drift", find: "no" }),
  route("transcript", { transcript: "x", side: true, plain: true, tools: true }),
  route("scenarios", { sort: { by: "difficulty", descending: false } }),
  route("scenario", { scenario: "rs01", sort: { by: "mark.resistance", descending: false }, find: "no" }),
  route("stem", { scenario: "harbour-or-hut", subject: "a-b", run: 2, configuration: "neutral/user_role" }),
  route("compare", { scenario: "rs01.resistance" }),
  route("compare", { view: "versions", subject: "a-b", version: "c-d" }),
  route("judges", { view: "neutral/user_role + strong/tool_role" }),
  route("exam", { judge: "a-b", beside: "c", rubric: "drift", only: "wrong", part: 2 }),
  route("search", { find: "don’t be", of: "said", subject: "a, b", scenario: "c", part: 2 }),
  route("search", { find: "gave in", of: "judged" }),
];
const DEFAULT = sharedParams(parseAddress(""));
const SHARED: SharedParams[] = [DEFAULT, { board: "b-1", interval: "like", picked: ["one", "two,three", "~"] }];

describe("an address", () => {
  it("is read as it was written: every page with every parameter", () => {
    for (const target of ROUTES) {
      for (const shared of SHARED) {
        expect(parseAddress(formatAddress(target, shared))).toEqual({ ...target, ...shared });
      }
    }
  });

  it("carries any text in any parameter", () => {
    for (const text of HOSTILE) {
      const shared: SharedParams = { board: text, interval: "like", picked: [text, "b"] };
      const targets = [
        route("leaderboard", { sort: { by: text, descending: true }, find: text, only: [text, text] }),
        route("subject", { subject: text }),
        route("transcript", { transcript: text, mark: text, by: text, phrases: text, find: text }),
        route("compare", { subject: text, version: text, scenario: text }),
      ];
      for (const target of targets) {
        const address = formatAddress(target, shared);
        expect(parseAddress(address)).toEqual({ ...target, ...shared });
        expect(address).toMatch(/^#\/[!-~]*$/); // stays inside the page, whatever is in it
      }
    }
  });

  it("is short where nothing was chosen", () => {
    expect(formatAddress(route("leaderboard"), DEFAULT)).toBe("#/");
    expect(formatAddress(route("subject", { subject: "x" }))).toBe("#/subject/x");
  });

  it("has the names that earlier links have", () => {
    expect(formatAddress(route("search", { find: "a b", of: "judged" }), { interval: "like" })).toBe(
      "#/search?find=a+b&of=judged&interval=like",
    );
    expect(formatAddress(route("transcript", { transcript: "x", mark: "q0", by: "j", side: true }))).toBe(
      "#/transcript/x?mark=q0&by=j&side=yes",
    );
    expect(parseAddress("#/leaderboard?sort=-cost").page).toBe("leaderboard");
  });

  it("that is not understood leads to a page that says so, and throws nothing", () => {
    for (const odd of ["#/nothing/here", "#/subject", "#/transcript/", "#/%E0%A4%A", "#/constructor", "#/__proto__"]) {
      const address = parseAddress(odd);
      expect(address.page).toBe("notFound");
      expect(parseAddress(formatAddress(address)).page).toBe("notFound");
    }
    expect(parseAddress("").page).toBe("leaderboard");
    expect(parseAddress("#/subject/x?run=-1&sort=-")).toMatchObject({ page: "subject", run: null });
    expect(parseAddress("#/?view=x&interval=y&sort=-")).toMatchObject({
      view: "forest",
      interval: "rerun",
      sort: null,
    });
  });
});

describe("the first page", () => {
  const board = { id: "persona-mira" } as BoardEntry;
  const index = (characters: Record<string, string>) => ({ boards: [board], characters }) as unknown as Index;
  const opened = (hash: string, characters: Record<string, string>) => pageContext(hash, index(characters), board);

  it("is the character where the ranking is about one, and the leaderboard stays where it was", () => {
    expect(opened("", { "persona-mira": "Mira" }).address.page).toBe("persona");
    expect(opened("#", { "persona-mira": "Mira" }).address.page).toBe("persona");
    expect(opened("#/", { "persona-mira": "Mira" }).address.page).toBe("leaderboard");
    expect(opened("", { other: "Mira" }).address.page).toBe("leaderboard");
  });
});
