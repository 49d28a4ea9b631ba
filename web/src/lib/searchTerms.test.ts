import { describe, expect, it } from "vitest";
import { hitsOf } from "./searchTerms";

describe("words of a search", () => {
  it("are found in a text as it stands: whole, without case and accents, the last one as a beginning", () => {
    const text = "I don't; DON’T be naïve, and naively so.";
    const found = (find: string) => hitsOf(text, find).map((hit) => text.slice(hit.start, hit.end));
    expect(found("naiv")).toEqual(["naïve", "naively"]);
    expect(found("naive ")).toEqual(["naïve"]);
    expect(found("so don't")).toEqual(["don't", "DON’T", "so"]);
    expect(found('"don’t be" so')).toEqual(["DON’T be", "so"]);
    expect(found("")).toEqual([]);
    expect(found(".*")).toEqual([]);
  });
});
