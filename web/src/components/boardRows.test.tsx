import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { PageColumn, Row } from "../api/types";
import { DataHealth, describedColumn, healthDetails } from "./boardRows";

const COLUMNS = [
  ["transcripts_judged", "Judged"],
  ["replies", "Replies"],
  ["brand_new", "Brand new"],
  ["share_invalid", "Invalid"],
  ["share_cut_off", "Cut off"],
].map(([name = "", title = ""]): PageColumn => ({ path: ["health", name], title, meaning: "of all", wide: true }));

function row(numbers: Readonly<Record<string, number>>): Row {
  const health = { transcripts_planned: 12, transcripts_judged: 10, replies: 30, ...numbers };
  const shown = Object.fromEntries(Object.entries(health).map(([name, value]) => [name, `${String(value)}!`]));
  return { health: { ...health, shown } } as unknown as Row;
}

const shownOf = (of: Row) => renderToStaticMarkup(<DataHealth row={of} columns={COLUMNS} />);

describe("what is said of a row's data", () => {
  it("is clean where only what was done is counted", () => {
    expect(shownOf(row({ share_invalid: 0, brand_new: 0 }))).toContain("clean");
    expect(healthDetails(row({}), COLUMNS)).toBe("10 of 12 conversations judged; replies 30!");
  });

  it("has a number that the page has not heard of", () => {
    expect(shownOf(row({ brand_new: 2 }))).toContain("brand new 2!");
    expect(healthDetails(row({ brand_new: 2 }), COLUMNS)).toContain("brand new 2!");
    const { id, title, hint } = describedColumn(COLUMNS[2] as PageColumn);
    expect([id, renderToStaticMarkup(title), hint]).toEqual([
      "health.brand_new",
      expect.stringContaining("Brand new"),
      "Of all",
    ]);
  });

  it("begins with what makes it doubtful, and warns of that alone", () => {
    const doubtful = shownOf(row({ brand_new: 2, share_invalid: 0.01 }));
    expect(doubtful).toContain("invalid 0.01! …");
    expect(doubtful).toContain("▲");
    expect(shownOf(row({ brand_new: 2, share_cut_off: 0.05 }))).not.toContain("▲");
    expect(shownOf(row({ share_cut_off: 0.06 }))).toContain("▲");
  });
});
