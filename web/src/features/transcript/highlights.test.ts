import { describe, expect, it } from "vitest";
import type { Transcript } from "../../api/types";
import { foundId, nextQuote, spansOf } from "./highlights";

const transcript = {
  lines: [{ text: "Pick another." }, { text: "I keep my name." }],
  judgements: [
    { judge: "one", quotes: [] },
    { judge: "two", quotes: [{ reasoning: { start: 0, end: 4 }, line: 1, text: { start: 2, end: 14 } }] },
  ],
  embedded: {
    marks: [
      {
        mark: "drift",
        value: 1,
        phrases: [
          { text: "keep", weight: 0.5, shown: { weight: "+0.50" }, places: [{ line: 1, text: { start: 2, end: 6 } }] },
        ],
      },
    ],
  },
} as unknown as Transcript;
const nothing = { mark: "", by: "", phrases: "", find: "" };

describe("what is highlighted in a line", () => {
  it("is quotes of every judge, phrases of the chosen mark, and words searched for", () => {
    const kinds = (line: number, wanted: Partial<typeof nothing>) =>
      spansOf(transcript, line, { ...nothing, ...wanted }).map((span) => span.kind);
    expect(kinds(1, {})).toEqual(["quote"]);
    expect(kinds(1, { phrases: "drift" })).toEqual(["quote", "up"]);
    expect(kinds(0, { find: "another" })).toEqual(["hit"]);
    expect(kinds(7, {})).toEqual([]);
  });

  it("is found by what the address says: a judge's name and the number of the quote", () => {
    expect(foundId(transcript, { ...nothing, mark: "q0", by: "two" })).toBe("j1.0");
    expect(foundId(transcript, { ...nothing, mark: "q0", by: "nobody" })).toBe("");
    expect(foundId(transcript, { ...nothing, mark: "p0.0" })).toBe("p0.0");
    expect(foundId(transcript, { ...nothing, find: "keep" })).toBe("hit");
  });
});

describe("the next quote", () => {
  it("goes through all judges and round again", () => {
    const first = nextQuote(transcript, nothing);
    expect(first).toEqual({ mark: "q0", by: "two" });
    expect(nextQuote(transcript, { ...nothing, ...first })).toEqual(first);
    expect(nextQuote({ ...transcript, judgements: [] }, nothing)).toEqual({ mark: "", by: "" });
  });
});
