import { describe, expect, it } from "vitest";
import { asPhrase, excerpt, hitsOf, queryOf, wordsOf } from "./searchTerms";

const written = (find: string) =>
  queryOf(find).map((unit) => unit.map((one) => one.word + (one.prefix ? "*" : "")).join(" "));

describe("words of the search", () => {
  it("have no case, no accents and no apostrophes, and are cut", () => {
    expect(wordsOf("Don’t be naïve: ÉTÉ 2026, x-ray!")).toEqual(["dont", "be", "naive", "ete", "2026", "x", "ray"]);
    expect(wordsOf("abcdefgh", 3)).toEqual(["abc"]);
    expect(wordsOf(" … ")).toEqual([]);
  });

  it("are asked for whole, the last one as a beginning, and phrases in quotes together", () => {
    expect(written("My Nam")).toEqual(["my", "nam*"]);
    expect(written("my name ")).toEqual(["my", "name"]);
    expect(written('keep "just a tool" nam')).toEqual(["keep", "just a tool", "nam*"]);
    expect(written("“just a tool”")).toEqual(["just a tool"]);
    expect(written('"just a too')).toEqual(["just a too*"]);
    expect(written('"" …')).toEqual([]);
    expect(asPhrase("just a tool")).toBe('"just a tool');
    expect(asPhrase('"just a" tool')).toBeNull();
    expect(asPhrase("tool")).toBeNull();
  });

  it("are found in a text as it stands, with its accents and apostrophes", () => {
    const text = "I don't; DON’T be naïve, and naively so.";
    const found = (find: string) => hitsOf(text, find).map((hit) => text.slice(hit.start, hit.end));
    expect(found("dont naive")).toEqual(["don't", "DON’T", "naïve", "naively"]);
    expect(found("don naive ")).toEqual(["naïve"]);
    expect(found('"dont be"')).toEqual(["DON’T be"]);
    expect(found("")).toEqual([]);
    expect(found(".*")).toEqual([]);
  });

  it("are characters two by two where no spaces are between words, so that any part is found", () => {
    expect(wordsOf("私は道具。GPT4モデル 你")).toEqual([
      "私は",
      "は道",
      "道具",
      "具",
      "gpt4",
      "モテ",
      "テル",
      "ル",
      "你",
    ]);
    expect(written("道具で")).toEqual(["道具 具て"]);
    expect(written("具")).toEqual(["具*"]);
    expect(written('"GPT4モデル 你 "')).toEqual(["gpt4 モテ テル ル 你*"]);
    expect(written("أداة اسم")).toEqual(["اداة", "اسم*"]);
    expect(written("나는 도구").map((one) => one.normalize("NFC"))).toEqual(["나는", "도구*"]);
    expect(asPhrase("道具")).toBeNull();
    expect(asPhrase("道具 です")).toBe('"道具 です');
    const text = "私は道具ではない。ｶﾞﾗｽの道具も、道道具も。";
    const found = (find: string) => hitsOf(text, find).map((hit) => text.slice(hit.start, hit.end));
    expect(found("道具")).toEqual(["道具", "道具", "道具"]);
    expect(found("道具で")).toEqual(["道具で"]);
    expect(found("道")).toEqual(["道", "道", "道", "道"]);
    expect(found("ガラス")).toEqual(["ｶﾞﾗｽ"]);
    expect(found("具道")).toEqual([]);
    expect(excerpt(text, "ガラス", 4)?.text).toContain("ｶﾞﾗｽ");
  });

  it("give the densest passage as excerpt", () => {
    expect(excerpt("a ".repeat(200) + "needle" + " b".repeat(200), "needle", 10)).toMatchObject({ whole: false });
    expect(excerpt("one needle", "needle")).toMatchObject({ text: "one needle", start: 0, whole: true });
    expect(excerpt("hay", "needle")).toBeNull();
    const far = `tool ${"x ".repeat(300)} I am a tool with a name ${"x ".repeat(300)} name`;
    expect(excerpt(far, "tool name ", 30)?.text).toContain("I am a tool with a name");
  });
});
