/** Sorting, filtering and parting of lists; absent values come last, whichever way a list is sorted. */

export type Cell = number | string | null | undefined;

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Compare two cells. Absent ones (null, "", NaN) are last in both directions. */
export function compareCells(one: Cell, other: Cell, descending = false): number {
  const [absent, otherAbsent] = [present(one) === undefined, present(other) === undefined];
  if (absent || otherAbsent) return Number(absent) - Number(otherAbsent);
  const order =
    typeof one === "number" && typeof other === "number" ? one - other : COLLATOR.compare(String(one), String(other));
  return descending ? -order : order;
}

/** *cell*; undefined where it is absent. */
export function present(cell: Cell): Cell {
  return cell === null || cell === "" || Number.isNaN(cell) ? undefined : cell;
}

/** A sorted copy of *rows*; equal ones keep their order. */
export function sortRows<T>(rows: readonly T[], cell: (row: T) => Cell, descending: boolean): T[] {
  return [...rows].sort((a, b) => compareCells(cell(a), cell(b), descending));
}

/** Whether every word of *find* occurs in *text*, whatever the case; "" occurs in every text. */
export function fits(text: string, find: string): boolean {
  const folded = text.toLowerCase();
  return find
    .toLowerCase()
    .split(/\s+/)
    .every((word) => folded.includes(word));
}

const PART = 20; // items of a long list that are on the page at a time

/** The *asked* part of a list (1, 2, ...), or the last one where there are fewer; *first* counts from 1. */
export function partOf<T>(items: readonly T[], asked: number | null) {
  const parts = Math.max(1, Math.ceil(items.length / PART));
  const part = Math.min(asked ?? 1, parts);
  const before = PART * (part - 1);
  return { items: items.slice(before, before + PART), part, parts, first: before + 1 };
}
