/** Words and queries as the search index has them. The same folding is done in Python when the index is made. */

import type { Place } from "./textSpans";

const LETTERS = /[\p{L}\p{N}]+/gu;
const APOSTROPHES = /(?<=\p{L})['’](?=\p{L})/gu;
const QUOTES = /["“”„«»]/u;

/** One word of a query; a prefix where somebody may still be typing it. */
export interface QueryWord {
  word: string;
  prefix: boolean;
}

/** Words that have to follow each other: a phrase in quotes, or a single word. */
export type QueryUnit = readonly QueryWord[];

/** *text* without case and accents, and without apostrophes inside words. */
export function folded(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(APOSTROPHES, "");
}

/** The words of *text*, cut after *longest* UTF-16 units. */
export function wordsOf(text: string, longest = 40): string[] {
  return [...folded(text).matchAll(LETTERS)].map(([word]) => word.slice(0, longest));
}

/** What *find* asks for. Its very last word is a prefix, unless something follows it: a space, a closing quote. */
export function queryOf(find: string, longest = 40): QueryUnit[] {
  const parts = find.split(QUOTES);
  const typing = /[\p{L}\p{N}]$/u.test(find);
  return parts.flatMap((part, i) => {
    const last = typing && i === parts.length - 1;
    const words = wordsOf(part, longest);
    const unit = words.map((word, n) => ({ word, prefix: last && n === words.length - 1 && word.length > 1 }));
    return i % 2 ? (unit.length ? [unit] : []) : unit.map((one) => [one]);
  });
}

/** All words of *find* as one phrase, as far as they are not quoted already; null where there are not two. */
export function asPhrase(find: string): string | null {
  return !QUOTES.test(find) && wordsOf(find).length > 1 ? `"${find.trimStart()}` : null;
}

/** Whether *word*, folded, is the one that is asked for. */
function matches(word: string, wanted: QueryWord): boolean {
  return wanted.prefix ? word.startsWith(wanted.word) : word === wanted.word;
}

/** Where what *find* asks for stands in *text*, as places in the text as it is; a phrase is one place. */
export function hitsOf(text: string, find: string): Place[] {
  const units = queryOf(find);
  if (!units.length) return [];
  // a word with its apostrophes and combining marks
  const words = [...text.matchAll(/[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu)].map((found) => ({
    word: folded(found[0]),
    start: found.index,
    end: found.index + found[0].length,
  }));
  const hits: Place[] = [];
  for (let at = 0; at < words.length;) {
    const long = Math.max(
      0,
      ...units
        .filter((unit) => unit.every((wanted, n) => matches(words[at + n]?.word ?? "", wanted)))
        .map((unit) => unit.length),
    );
    if (long) hits.push({ start: words[at]?.start ?? 0, end: words[at + long - 1]?.end ?? 0 });
    at += long || 1;
  }
  return hits;
}

export interface Excerpt {
  text: string;
  start: number;
  whole: boolean;
  fit: number; // how much of what is looked for is in it
}

/** The passage of *text*, some 2 x *room* characters, with most of what *find* asks for; null: there is nothing. */
export function excerpt(text: string, find: string, room = 130): Excerpt | null {
  const hits = hitsOf(text, find).map((hit) => ({ ...hit, word: folded(text.slice(hit.start, hit.end)) }));
  let best: { from: number; to: number; fit: number } | null = null;
  for (const [i, first] of hits.entries()) {
    const inside = hits.slice(i).filter((hit) => hit.end - first.start <= 2 * room);
    const fit = 100 * new Set(inside.map((hit) => hit.word)).size + inside.length;
    if (!best || fit > best.fit) best = { from: first.start, to: inside.at(-1)?.end ?? first.end, fit };
  }
  if (!best) return null;
  const spare = Math.max(0, 2 * room - (best.to - best.from)) / 2;
  const start = wordEdge(text, Math.max(0, Math.floor(best.from - spare)), best.from);
  const end = Math.min(text.length, Math.ceil(best.to + spare));
  return { text: text.slice(start, end), start, whole: start === 0 && end === text.length, fit: best.fit };
}

/** Where the word behind *from* begins, at most *limit*: an excerpt begins with a whole word. */
function wordEdge(text: string, from: number, limit: number): number {
  if (from === 0) return 0;
  const space = text.indexOf(" ", from);
  return space < 0 || space >= limit ? from : space + 1;
}
