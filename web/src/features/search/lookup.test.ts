import { describe, expect, it } from "vitest";
import { askedFor, decoded, documentsIn, inAll, shardsOf } from "./lookup";

const index = { longest: 12, shards: ["a", "m", "ma", "n"] };

describe("the search index", () => {
  it("is asked for whole words, and for a beginning where somebody is still typing", () => {
    expect(askedFor("My Nam", index)).toEqual([
      { word: "my", open: false },
      { word: "nam", open: true },
    ]);
    expect(askedFor("my name ", index).map((one) => one.open)).toEqual([false, false]);
    expect(askedFor("…", index)).toEqual([]);
  });

  it("has a word in the last shard that does not begin behind it", () => {
    expect(shardsOf({ word: "keep", open: false }, index)).toEqual([0]);
    expect(shardsOf({ word: "m", open: false }, index)).toEqual([1]);
    expect(shardsOf({ word: "zebra", open: false }, index)).toEqual([3]);
    expect(shardsOf({ word: "0", open: false }, index)).toEqual([]);
    expect(shardsOf({ word: "m", open: true }, index)).toEqual([1, 2]);
  });

  it("writes documents as distances in base 36, or those that lack the word", () => {
    expect(decoded("1,2,10", 100)).toEqual([0, 2, 38]);
    expect(decoded("!1,2", 6)).toEqual([1, 3, 4, 5]);
    expect(decoded("!", 3)).toEqual([0, 1, 2]);
    expect(decoded("", 3)).toEqual([]);
  });

  it("holds words like __proto__ as words", () => {
    const words = JSON.parse('{"__proto__":"1","name":"2","named":"3"}') as Record<string, string>;
    expect(documentsIn(words, { word: "__proto__", open: false }, 6)).toEqual([0]);
    expect(documentsIn(words, { word: "constructor", open: false }, 6)).toEqual([]);
    expect(documentsIn(words, { word: "name", open: true }, 6)).toEqual([1, 2]);
  });

  it("gives what all words have", () => {
    expect(
      inAll([
        [1, 2, 3],
        [2, 3, 5],
        [3, 2],
      ]),
    ).toEqual([3, 2]);
    expect(inAll([[1], []])).toEqual([]);
    expect(inAll([])).toEqual([]);
  });
});
