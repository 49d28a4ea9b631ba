/** Words as the search index has them. The same folding is done in Python when the index is made. */

const LETTERS = /[\p{L}\p{N}]+/gu;
const APOSTROPHES = /(?<=\p{L})['’](?=\p{L})/gu;

/** *text* without case and accents, and without apostrophes inside words. */
export function folded(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(APOSTROPHES, "");
}

/** The words of *text*, cut after *longest* UTF-16 units. */
export function wordsOf(text: string, longest = 40): string[] {
  return [...folded(text).matchAll(LETTERS)].map(([word]) => word.slice(0, longest));
}

/** Where words that begin with one of *find*'s words stand in *text*, as places in the text as it is. */
export function hitsOf(text: string, find: string): { start: number; end: number }[] {
  const wanted = wordsOf(find);
  if (!wanted.length) return [];
  const hits = [];
  // a word with its apostrophes and combining marks
  for (const found of text.matchAll(/[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu)) {
    const word = folded(found[0]);
    if (wanted.some((one) => word.startsWith(one)))
      hits.push({ start: found.index, end: found.index + found[0].length });
  }
  return hits;
}

/** Some *room* characters around the first hit of *find* in *text*; null where there is none. */
export function excerpt(
  text: string,
  find: string,
  room = 130,
): { text: string; start: number; whole: boolean } | null {
  const hit = hitsOf(text, find)[0];
  if (!hit) return null;
  const start = Math.max(0, hit.start - room);
  const end = Math.min(text.length, hit.end + room);
  return { text: text.slice(start, end), start, whole: start === 0 && end === text.length };
}
