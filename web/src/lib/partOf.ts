const PART = 20; // items of a long list that are on the page at a time

/** The *asked* part of a list (1, 2, ...), or the last one where there are fewer; *first* counts from 1. */
export function partOf<T>(items: readonly T[], asked: number | null) {
  const parts = Math.max(1, Math.ceil(items.length / PART));
  const part = Math.min(asked ?? 1, parts);
  const before = PART * (part - 1);
  return { items: items.slice(before, before + PART), part, parts, first: before + 1 };
}
