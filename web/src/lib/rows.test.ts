import { describe, expect, it } from "vitest";
import type { PageColumn, Row } from "../api/types";
import { dimensionOf, indexOf, known, valueIn } from "./rows";

const column = (...path: string[]): PageColumn => ({ path, title: "Title", meaning: "", wide: false });
const interval = (low: number, high: number, shown: string) => ({ low, high, shown });
const row = {
  runs: 3,
  standard_deviation: null,
  reply_length: 1204.4,
  reasoning_tokens: { mean: 8225.4, estimated: true, shown: "about 8,225" },
  price: null,
  health: { share_cut_off: 0.02, newest: 4, shown: { share_cut_off: "2%", newest: "4" } },
  verdict: "fine",
  index: 81.04,
  index_interval: { rerun: interval(79, 83.06, "79.0–83.1"), new_scenarios: null },
  dimensions: { drift: 0.875, resistance: null },
  dimension_intervals: { drift: { rerun: interval(0.75, 1, "75–100"), new_scenarios: interval(0.5, 1, "50–100") } },
  shown: { runs: "3", standard_deviation: null, reply_length: "1,204", index: "81.0", dimensions: { drift: "88" } },
} as unknown as Row;

describe("a column that a row says it has", () => {
  it("is read where its path leads, with the text that was sent", () => {
    expect(valueIn(row, column("reply_length"))).toEqual({ value: 1204.4, text: "1,204" });
    expect(valueIn(row, column("health", "share_cut_off"))).toEqual({ value: 0.02, text: "2%" });
  });

  it("need not be known here, whatever its kind", () => {
    expect(valueIn(row, column("health", "newest"))).toEqual({ value: 4, text: "4" });
    expect(valueIn(row, column("verdict"))).toEqual({ value: "fine", text: "fine" });
  });

  it("is sorted by the number in a value of several parts, and shown as that value is", () => {
    expect(valueIn(row, column("reasoning_tokens"))).toEqual({ value: 8225.4, text: "about 8,225" });
  });

  it("has nothing where the value, or what it is in, is absent", () => {
    const nothing = { value: null, text: null };
    expect(valueIn(row, column("standard_deviation"))).toEqual(nothing);
    expect(valueIn(row, column("price", "dollars_per_run"))).toEqual(nothing);
    expect(known([column("price", "dollars_per_run"), column("runs")], [row])).toEqual([column("runs")]);
  });
});

describe("a row's scores", () => {
  it("say why an interval is missing only where one is", () => {
    expect(indexOf(row, "too few runs")).toMatchObject({ value: 81.04, shown: "81.0", why: "too few runs" });
    expect(dimensionOf(row, "drift", "too few runs").why).toBeNull();
  });

  it("are of 100 in a dimension, with their intervals", () => {
    const { value, shown, uncertainty } = dimensionOf(row, "drift", null);
    expect([value, shown]).toEqual([87.5, "88"]);
    expect(uncertainty.rerun).toEqual(interval(75, 100, "75–100"));
    expect(dimensionOf(row, "resistance", null).value).toBeNull();
  });

  it("are absent in a dimension that is called as what every object has", () => {
    const { value, shown, uncertainty } = dimensionOf(row, "constructor", null);
    expect([value, shown, uncertainty.rerun]).toEqual([null, null, null]);
  });
});
