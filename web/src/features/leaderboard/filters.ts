import type { Row } from "../../api/types";
import { fits } from "../../lib/lists";
import type { AddressOf } from "../../routes";

/** Filters of the leaderboard; a row must pass all that are set. `vendor:NAME` is one as well. */
export const FILTERS = {
  thinks: "reasons first",
  direct: "answers at once",
  best: "may be first",
  pinned: "provider pinned",
  picked: "picked",
} as const;

/** Not a filter: the table has dimensions without weight in the index, too, and what the numbers are based on. */
export const EXTRAS = "extras";

export const VENDOR = "vendor:";

type Asked = Pick<AddressOf<"leaderboard">, "find" | "only" | "picked" | "most" | "interval">;

/** Whether *row* passes the search and all filters. */
export function passes(row: Row, asked: Asked): boolean {
  const { subject } = row;
  const { find, only, most } = asked;
  if (!affordable(row, most)) return false;
  const text = [row.label, subject.model, subject.vendor, subject.provider, subject.reasoning].join(" ");
  return fits(text, find) && only.every((filter) => passesFilter(row, filter, asked));
}

/** Whether a run of it, with what its judge takes, is known to cost no more than *most* dollars; "" asks nothing. */
function affordable({ price }: Row, most: string): boolean {
  const limit = Number(most.trim().replace(/^\$/, "").replace(",", "."));
  if (!most.trim() || !Number.isFinite(limit)) return true;
  return price?.dollars_per_run != null && price.dollars_per_run <= limit;
}

function passesFilter(row: Row, filter: string, { picked, interval }: Asked): boolean {
  if (filter.startsWith(VENDOR)) return (row.subject.vendor ?? "") === filter.slice(VENDOR.length);
  switch (filter) {
    case "thinks":
      return row.thinks;
    case "direct":
      return !row.thinks;
    case "best":
      return (interval === "like" ? row.ranks_new_scenarios : row.ranks)?.tied_with_best ?? false;
    case "pinned":
      return row.subject.provider !== null;
    case "picked":
      return picked.includes(row.subject.id);
    default:
      return true; // an unknown filter, from a link of another version, is ignored
  }
}

/** Vendors of *rows*, sorted. */
export function vendors(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => (row.subject.vendor ? [row.subject.vendor] : [])))].sort();
}

/** *only* with *filter* switched on or off; a vendor replaces another. */
export function toggled(only: readonly string[], filter: string, on: boolean): string[] {
  const kind = filter.startsWith(VENDOR) ? VENDOR : filter;
  const rest = only.filter((one) => one !== filter && !(kind === VENDOR && one.startsWith(VENDOR)));
  return on ? [...rest, filter] : rest;
}
