/** Words and queries as the search index has them. The same folding is done in Python when the index is made. */

import type { Place } from "./textSpans";

const LETTERS = /[\p{L}\p{N}]+/gu;
const APOSTROPHES = /(?<=\p{L})['’](?=\p{L})/gu;
// What is written without spaces between words: the same as `DENSE` in Python; before folding there is more of it
const DENSE =
  "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3005-\\u3007\\u3041-\\u30ff\\u31f0-\\u31ff" +
  "\\u3400-\\u4dbf\\u4e00-\\u9fff\\u{20000}-\\u{3ffff}";
const IS_DENSE = new RegExp(`^[${DENSE}]`, "u");
const PARTS = new RegExp(`[${DENSE}]+|[^${DENSE}]+`, "gu");
const WRITTEN = `${DENSE}\\uf900-\\ufaff\\uff66-\\uff9d`;
const PIECES = new RegExp(`[${WRITTEN}][\\p{M}\\uff9e\\uff9f]*|[^${WRITTEN}]+`, "gu");
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

/** The words of *text*, cut after *longest* UTF-16 units; where no spaces are between words, characters two by two. */
export function wordsOf(text: string, longest = 40): string[] {
  return runsOf(text).flatMap((run) => wordsIn(run, longest));
}

function runsOf(text: string): string[] {
  return [...folded(text).matchAll(LETTERS)].map(([run]) => run);
}

function wordsIn(run: string, longest: number): string[] {
  return [...run.matchAll(PARTS)].flatMap(([part]) =>
    IS_DENSE.test(part) ? [...part].map((one, n, all) => one + (all[n + 1] ?? "")) : [part.slice(0, longest)],
  );
}

/** What *find* asks for. Its very last word is a prefix, unless something follows it: a space, a closing quote. */
export function queryOf(find: string, longest = 40): QueryUnit[] {
  const parts = find.split(QUOTES);
  const typing = /[\p{L}\p{N}]$/u.test(find);
  return parts.flatMap((part, i) => {
    const runs = runsOf(part);
    const units = i % 2 && runs.length ? [runs] : runs.map((run) => [run]);
    return units.map((unit, n) => unitOf(unit, longest, typing && i === parts.length - 1 && n === units.length - 1));
  });
}

/** *runs* as words that follow each other; *typing*: the last one may be a beginning. */
function unitOf(runs: readonly string[], longest: number, typing: boolean): QueryUnit {
  const words = runs.flatMap((run) => wordsIn(run, longest));
  const [before = "", last = ""] = wordsIn(runs.at(-1) ?? "", longest).slice(-2);
  // the last character of several is in the word before it; anything may come behind it
  if (IS_DENSE.test(last) && IS_DENSE.test(before)) words.pop();
  const end = words.length - 1;
  return words.map((word, n) => ({
    word,
    prefix: n === end && (IS_DENSE.test(word) ? [...word].length === 1 : typing && word.length > 1),
  }));
}

/** All words of *find* as one phrase, as far as they are not quoted already; null where there are not two. */
export function asPhrase(find: string): string | null {
  return !QUOTES.test(find) && runsOf(find).length > 1 ? `"${find.trimStart()}` : null;
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
  const words = [...text.matchAll(/[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu)].flatMap(wordsAt);
  const hits: Place[] = [];
  for (let at = 0; at < words.length;) {
    const [long] = units
      .filter((unit) => unit.every((wanted, n) => matches(words[at + n]?.word ?? "", wanted)))
      .sort((a, b) => b.length - a.length);
    const last = words[at + (long?.length ?? 1) - 1];
    const end = (last?.own === long?.at(-1)?.word ? last?.ownEnd : last?.end) ?? 0;
    if (long) hits.push({ start: words[at]?.start ?? 0, end });
    at += long?.length ?? 1;
    while (long && (words[at]?.start ?? end) < end) at += 1;
  }
  return hits;
}

/** The words of one run of a text as it is; *own*: the first character, where the word has the next one, too. */
function wordsAt({ 0: run, index }: RegExpExecArray) {
  const pieces = [...run.matchAll(PIECES)].map((piece) => {
    const start = index + piece.index;
    return { own: folded(piece[0]), start, ownEnd: start + piece[0].length };
  });
  return pieces.map((piece, n) => {
    const next = pieces[n + 1];
    const two = next && IS_DENSE.test(piece.own) && IS_DENSE.test(next.own);
    return { ...piece, word: piece.own + (two ? next.own : ""), end: two ? next.ownEnd : piece.ownEnd };
  });
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
