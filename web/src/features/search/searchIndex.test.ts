import { describe, expect, it } from "vitest";
import { queryWords, decoded, documentsWith, intersection, shardsOf } from "./searchIndex";

const index = { longest: 12, shards: ["a", "m", "ma", "n"] };

describe("the search index", () => {
  it("is asked for whole words, and for a prefix where somebody is still typing", () => {
    expect(queryWords("My Nam", index)).toEqual([
      { word: "my", prefix: false },
      { word: "nam", prefix: true },
    ]);
    expect(queryWords("my name ", index).map((one) => one.prefix)).toEqual([false, false]);
    expect(queryWords("…", index)).toEqual([]);
  });

  it("has a word in the last shard that does not begin behind it", () => {
    expect(shardsOf({ word: "keep", prefix: false }, index)).toEqual([0]);
    expect(shardsOf({ word: "m", prefix: false }, index)).toEqual([1]);
    expect(shardsOf({ word: "zebra", prefix: false }, index)).toEqual([3]);
    expect(shardsOf({ word: "0", prefix: false }, index)).toEqual([]);
    expect(shardsOf({ word: "m", prefix: true }, index)).toEqual([1, 2]);
  });

  it("writes documents as distances in base 36, or those that lack the word", () => {
    expect(decoded("1,2,10", 100)).toEqual([0, 2, 38]);
    expect(decoded("!1,2", 6)).toEqual([1, 3, 4, 5]);
    expect(decoded("!", 3)).toEqual([0, 1, 2]);
    expect(decoded("", 3)).toEqual([]);
  });

  it("holds words like __proto__ as words", () => {
    const words = JSON.parse('{"__proto__":"1","name":"2","named":"3"}') as Record<string, string>;
    expect(documentsWith(words, { word: "__proto__", prefix: false }, 6)).toEqual([0]);
    expect(documentsWith(words, { word: "constructor", prefix: false }, 6)).toEqual([]);
    expect(documentsWith(words, { word: "name", prefix: true }, 6)).toEqual([1, 2]);
  });

  it("intersects what each word has", () => {
    expect(
      intersection([
        [1, 2, 3],
        [2, 3, 5],
        [3, 2],
      ]),
    ).toEqual([3, 2]);
    expect(intersection([[1], []])).toEqual([]);
    expect(intersection([])).toEqual([]);
  });
});
