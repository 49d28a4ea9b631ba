import type { BoardRow } from "../api/types";
import { orDash } from "../lib/format";
import type { Column } from "./tables";

/** Dollars of a run as text, with its judge; null: not known. */
export function costOf({ price }: Pick<BoardRow, "price">): string | null {
  return price?.free ? "free" : (price?.shown.dollars_per_run ?? null);
}

export const COST: Column<BoardRow> = {
  id: "cost",
  title: "$ a run",
  hint: "Dollars for one run: the replies, and this judge",
  numeric: true,
  ascendingFirst: true,
  sortValue: (row) => row.price?.dollars_per_run,
  cell: (row) => orDash(costOf(row)),
};

export const LENGTH: Column<BoardRow> = {
  id: "length",
  title: "Length",
  hint: "Mean characters of a reply",
  numeric: true,
  sortValue: (row) => row.reply_length,
  cell: (row) => orDash(row.shown.reply_length),
};
