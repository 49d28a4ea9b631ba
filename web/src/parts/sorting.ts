/** Sorting with gaps: what is absent comes last, whichever way it is sorted. */

export type Cell = number | string | null | undefined;

const WORDS = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Compare two cells; *down*: highest first. Absent ones (null, NaN) are last in both directions. */
export function compareCells(one: Cell, other: Cell, down: boolean): number {
  const [gone, otherGone] = [present(one) === undefined, present(other) === undefined];
  if (gone || otherGone) return Number(gone) - Number(otherGone);
  const order =
    typeof one === "number" && typeof other === "number" ? one - other : WORDS.compare(String(one), String(other));
  return down ? -order : order;
}

/** *cell*; undefined where it holds nothing. */
export function present(cell: Cell): Cell {
  return cell === null || cell === "" || Number.isNaN(cell) ? undefined : cell;
}

/** *rows* sorted by *cell*; equal ones keep their order. The given list stays as it is. */
export function sortRows<T>(rows: readonly T[], cell: (row: T) => Cell, down: boolean): T[] {
  return [...rows].sort((a, b) => compareCells(cell(a), cell(b), down));
}

/** Whether every word of *find* occurs in *text*, whatever the case. Nothing asked for fits everything. */
export function fits(text: string, find: string): boolean {
  const inside = text.toLowerCase();
  return find
    .toLowerCase()
    .split(/\s+/)
    .every((word) => inside.includes(word));
}
