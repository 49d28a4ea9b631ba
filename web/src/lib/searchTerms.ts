/** Where the words of a search stand in a text, so that they can be marked. The server says which texts have them. */

import type { Place } from "./textSpans";

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const QUOTES = /["“”„«»]/u;

/** A word, or words that follow each other; the last one may be a beginning. */
interface Term {
  words: readonly string[];
  beginning: boolean;
}

/** *text* without case and accents. */
function folded(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** What *find* asks for: words, and phrases in quotes. Its last word may be a beginning, until something follows it. */
function termsOf(find: string): Term[] {
  const parts = find.split(QUOTES);
  const terms = parts
    .flatMap((part, number) => (number % 2 ? [part] : part.split(/\s+/)))
    .map((term) => [...term.matchAll(WORD)].map(([word]) => folded(word)))
    .filter((words) => words.length);
  const typing = parts.length % 2 === 1 && /[\p{L}\p{N}]$/u.test(find);
  return terms.map((words, number) => ({ words, beginning: typing && number === terms.length - 1 }));
}

/** Where what *find* asks for stands in *text*; a phrase is one place. */
export function hitsOf(text: string, find: string): Place[] {
  const terms = termsOf(find);
  const words = [...text.matchAll(WORD)].map(({ 0: word, index }) => ({
    word: folded(word),
    start: index,
    end: index + word.length,
  }));
  const stands = ({ words: wanted, beginning }: Term, at: number) =>
    wanted.every((one, n) => {
      const word = words[at + n]?.word ?? "";
      return beginning && n === wanted.length - 1 ? word.startsWith(one) : word === one;
    });
  const hits: Place[] = [];
  for (let at = 0; at < words.length;) {
    const long = Math.max(0, ...terms.filter((term) => stands(term, at)).map((term) => term.words.length));
    if (long) hits.push({ start: words[at]?.start ?? 0, end: words[at + long - 1]?.end ?? 0 });
    at += long || 1;
  }
  return hits;
}
