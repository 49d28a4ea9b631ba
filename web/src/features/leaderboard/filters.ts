import type { Row } from "../../api/types";
import { fits } from "../../parts/sorting";

/** What the leaderboard can be narrowed to; several hold together. `vendor:NAME` is one as well. */
export const FILTERS = {
  thinks: "reasons first",
  direct: "answers at once",
  best: "ties with the best",
  pinned: "provider pinned",
  picked: "picked",
} as const;

/** Not a filter: dimensions that do not count in the index are shown too. */
export const EXTRAS = "extras";

export const VENDOR = "vendor:";

/** Whether *row* is to be shown. */
export function shows(row: Row, find: string, only: readonly string[], picked: readonly string[]): boolean {
  const { subject } = row;
  const text = [subject.label, subject.model, subject.family, subject.provider, subject.reasoning].join(" ");
  return fits(text, find) && only.every((one) => holds(row, one, picked));
}

function holds(row: Row, filter: string, picked: readonly string[]): boolean {
  if (filter.startsWith(VENDOR)) return (row.subject.family ?? "") === filter.slice(VENDOR.length);
  switch (filter) {
    case "thinks":
      return row.thinks;
    case "direct":
      return !row.thinks;
    case "best":
      return row.tied_with_best;
    case "pinned":
      return row.subject.provider !== null;
    case "picked":
      return picked.includes(row.subject.id);
    default:
      return true; // a filter of another version of this page narrows nothing
  }
}

/** Vendors of *rows* in the order of the alphabet. */
export function vendors(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => (row.subject.family ? [row.subject.family] : [])))].sort();
}

/** *only* with *filter* switched; a vendor takes the place of another. */
export function switched(only: readonly string[], filter: string, on: boolean): string[] {
  const kind = filter.startsWith(VENDOR) ? VENDOR : filter;
  const rest = only.filter((one) => one !== filter && !(kind === VENDOR && one.startsWith(VENDOR)));
  return on ? [...rest, filter] : rest;
}
