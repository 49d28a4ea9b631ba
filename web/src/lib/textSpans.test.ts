import { describe, expect, it } from "vitest";
import { between, cut, type Span } from "./textSpans";

const span = (start: number, end: number, id = ""): Span => ({ start, end, kind: "quote", id, title: "" });

describe("a text cut at its places", () => {
  it("is the text again when its pieces are joined, whatever the places are", () => {
    const text = "I keep my name. 🙂 No.";
    const odd = [span(0, 6), span(2, 10), span(2, 10), span(5, 5), span(15, 99), span(-3, 2), span(40, 50)];
    expect(
      cut(text, odd)
        .map((piece) => piece.text)
        .join(""),
    ).toBe(text);
    expect(cut("", odd)).toEqual([]);
  });

  it("knows for every piece which places lie over it, overlaps included", () => {
    const pieces = cut("abcdef", [span(1, 4, "x"), span(3, 6, "y")]);
    expect(pieces.map((one) => [one.text, one.spans.map((over) => over.id).join("")])).toEqual([
      ["a", ""],
      ["bc", "x"],
      ["d", "xy"],
      ["ef", "y"],
    ]);
  });

  it("finds its places when it is only a part of the text that they count in", () => {
    const pieces = cut("cdef", [span(1, 4, "x")], 2);
    expect(pieces.map((one) => [one.text, one.start, one.spans.length])).toEqual([
      ["cd", 2, 1],
      ["ef", 4, 0],
    ]);
  });
});

describe("what lies between places", () => {
  it("is everything that none of them covers", () => {
    expect(between([span(6, 8), span(2, 4), span(3, 5)], 10)).toEqual([
      { start: 0, end: 2 },
      { start: 5, end: 6 },
      { start: 8, end: 10 },
    ]);
    expect(between([], 3)).toEqual([{ start: 0, end: 3 }]);
    expect(between([span(0, 3)], 3)).toEqual([]);
  });
});
