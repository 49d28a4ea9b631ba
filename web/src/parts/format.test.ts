import { describe, expect, it } from "vitest";
import { count, dollars, mark, moment, number, share, signed, span } from "./format";

describe("what is shown", () => {
  it("is a dash where there is nothing, and a zero where there is one", () => {
    for (const shown of [number, signed, count, share, dollars, mark, moment]) expect(shown(null)).toBe("–");
    expect([number(0), share(0), dollars(0), count(0), mark(0)]).toEqual(["0.0", "0 %", "$0", "0", "0"]);
    expect([number(NaN), share(Infinity)]).toEqual(["–", "–"]);
  });

  it("has a sign where a difference has one", () => {
    expect([signed(1.25), signed(-1.26), signed(-0.04)]).toEqual(["+1.3", "−1.3", "0.0"]);
  });

  it("keeps small shares and small prices apart from nothing", () => {
    expect([share(0.004), share(0.0004), share(0.5)]).toEqual(["0.4 %", "<0.1 %", "50 %"]);
    expect([dollars(0.00064), dollars(0.223), dollars(12)]).toEqual(["$0.00064", "$0.223", "$12.00"]);
  });

  it("is one rank, or from one to another", () => {
    expect([span(3, 3), span(3, 11)]).toEqual(["3", "3–11"]);
  });
});
