import type { BoardRow } from "../../api/types";

/** Whom to compare a subject with, and why. */
export interface Suggestion {
  row: BoardRow;
  why: string; // one reason or several
}

const MOST = 6;

/** Ranked rows worth comparing *subject* (an id) with, each once; none where it is not ranked. */
export function suggestions(rows: readonly BoardRow[], subject: string): Suggestion[] {
  const ranked = rows.filter(({ rank }) => rank !== null);
  const place = ranked.findIndex((row) => row.subject.id === subject);
  const mine = ranked[place];
  if (!mine) return [];
  const others = ranked.filter((row) => row !== mine);
  const found: Suggestion[] = [];
  const add = (row: BoardRow | undefined, why: string) => {
    const already = found.find((one) => one.row === row);
    if (already) already.why += `; ${why}`;
    else if (row && row !== mine) found.push({ row, why });
  };
  for (const row of others.filter(({ subject: { name } }) => name === mine.subject.name).slice(0, 2))
    add(row, "the same model with other settings");
  add(ranked[place - 1], "ranked just above");
  add(ranked[place + 1], "ranked just below");
  const paid = mine.price?.dollars_per_run;
  if (paid != null)
    add(
      others.find(({ price }) => price?.dollars_per_run != null && price.dollars_per_run < paid),
      "the highest index at a lower price",
    );
  add(ranked[0], "the highest index");
  add(
    others.find(({ subject: { family } }) => family !== null && family === mine.subject.family),
    "the highest index of the same vendor",
  );
  return found.slice(0, MOST);
}
