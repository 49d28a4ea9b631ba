import { describe, expect, it } from "vitest";
import { decoded, decodedPlaces, phrase, placesIn, ranked, shardsOf } from "./searchIndex";

const index = { shards: ["a", "m", "ma", "n"] };
const unit = decodedPlaces;

describe("the search index", () => {
  it("has a word in the last shard that does not begin behind it", () => {
    expect(shardsOf({ word: "keep", prefix: false }, index)).toEqual([0]);
    expect(shardsOf({ word: "m", prefix: false }, index)).toEqual([1]);
    expect(shardsOf({ word: "zebra", prefix: false }, index)).toEqual([3]);
    expect(shardsOf({ word: "0", prefix: false }, index)).toEqual([]);
    expect(shardsOf({ word: "m", prefix: true }, index)).toEqual([1, 2]);
  });

  it("writes documents and places as distances in base 36", () => {
    expect([...decodedPlaces("1.3.2,4.1,10.z")]).toEqual([
      [0, [2, 4]],
      [4, [0]],
      [40, [34]],
    ]);
    expect(decodedPlaces("").size).toBe(0);
    expect(decoded("1,2,10")).toEqual([0, 2, 38]);
    expect(decoded("")).toEqual([]);
  });

  it("holds words like __proto__ as words", () => {
    const words = JSON.parse('{"__proto__":"1.1","name":"2.1","named":"2.2,1.1"}') as Record<string, string>;
    expect([...placesIn(words, { word: "__proto__", prefix: false }).keys()]).toEqual([0]);
    expect(placesIn(words, { word: "constructor", prefix: false }).size).toBe(0);
    expect([...placesIn(words, { word: "name", prefix: true })]).toEqual([
      [1, [0, 1]],
      [2, [0]],
    ]);
  });

  it("finds a phrase where its words follow each other", () => {
    const [just, a, tool] = ["1.1,1.5", "1.2.2,1.1", "1.3,1.3"].map(decodedPlaces);
    if (!just || !a || !tool) throw new Error();
    expect([...phrase([just, a, tool])]).toEqual([[0, [0]]]);
    expect([...phrase([just])]).toEqual([...just]);
    expect(phrase([]).size).toBe(0);
  });

  it("puts first where all stands closest, then where it stands most often", () => {
    expect(ranked([unit("1.1,1.1,1.1.5"), unit("1.9,1.2,1.6.1")]).map((one) => [one.document, one.span])).toEqual([
      [2, 0],
      [1, 1],
      [0, 8],
    ]);
    expect(ranked([unit("1.1,1.1.1,1.1")]).map((one) => one.document)).toEqual([1, 0, 2]);
    expect(ranked([unit("1.1"), unit("2.1")])).toEqual([]);
    expect(ranked([])).toEqual([]);
  });
});
