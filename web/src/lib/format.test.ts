import { describe, expect, it } from "vitest";
import { count, letterName, nameText, orDash, span, timestamp } from "./format";

describe("what is shown", () => {
  it("is a dash where there is nothing, and a zero where there is one", () => {
    for (const form of [orDash, count, timestamp]) expect(form(null)).toBe("–");
    expect(count(0)).toBe("0");
  });

  it("is what Python wrote, to the letter", () => {
    expect(orDash("82.2")).toBe("82.2");
  });

  it("is one rank, or from one to another", () => {
    expect([span(3, 3), span(3, 11)]).toEqual(["3", "3–11"]);
  });

  it("is a letter for each judge, also after Z", () => {
    expect([0, 25, 26, 27, 52].map(letterName)).toEqual(["A", "Z", "AA", "AB", "BA"]);
  });

  it("is a name without what shows nothing", () => {
    expect(nameText("sim/ro\u{fe0f}c\u{3164}k\u{a0}x")).toBe("sim/ro\\u{fe0f}c\\u{3164}k\\u{a0}x");
    expect(nameText("日本/モデル é Лаб")).toBe("日本/モデル é Лаб");
  });
});
