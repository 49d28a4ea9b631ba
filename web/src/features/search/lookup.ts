import type { SearchIndex, SearchPart } from "../../api/types";
import { wordsOf } from "../../parts/words";

/** One word of a query: whole, or the beginning of one. */
export interface Asked {
  word: string;
  open: boolean;
}

/** What *find* asks for: every word, the last one may be a beginning (unless a space follows it). */
export function askedFor(find: string, index: Pick<SearchIndex, "longest">): Asked[] {
  const words = wordsOf(find, index.longest);
  return words.map((word, place) => ({
    word,
    open: place === words.length - 1 && /[\p{L}\p{N}]$/u.test(find) && word.length > 1,
  }));
}

/** The shards in which *asked* may be. Words are sorted by code unit, so they stand in a row. */
export function shardsOf({ word, open }: Asked, { shards }: Pick<SearchPart, "shards">): number[] {
  let first = shards.findIndex((start) => start > word);
  first = (first < 0 ? shards.length : first) - 1;
  const found = first >= 0 ? [first] : [];
  if (!open) return found;
  for (let next = first + 1; next < shards.length && shards[next]?.startsWith(word); next++) found.push(next);
  return found;
}

/** The documents of a shard that have *asked*, in rising order. */
export function documentsIn(
  words: Readonly<Record<string, string>>,
  { word, open }: Asked,
  documents: number,
): number[] {
  if (!open) return Object.hasOwn(words, word) ? decoded(words[word] ?? "", documents) : [];
  const found = new Set<number>();
  for (const [one, list] of Object.entries(words)) {
    if (one.startsWith(word)) decoded(list, documents).forEach((number) => found.add(number));
  }
  return [...found].sort((a, b) => a - b);
}

/** Distances in base 36, the first from -1; behind "!" the documents that lack the word. */
export function decoded(list: string, documents: number): number[] {
  const without = list.startsWith("!");
  const numbers: number[] = [];
  let at = -1;
  for (const distance of (without ? list.slice(1) : list).split(",")) {
    if (!distance) continue;
    at += Number.parseInt(distance, 36);
    numbers.push(at);
  }
  if (!without) return numbers;
  const lack = new Set(numbers);
  return Array.from({ length: documents }, (_, number) => number).filter((number) => !lack.has(number));
}

/** What all *lists* have, in rising order; nothing for no list. */
export function inAll(lists: readonly (readonly number[])[]): number[] {
  const [first = [], ...rest] = [...lists].sort((a, b) => a.length - b.length);
  const sets = rest.map((list) => new Set(list));
  return first.filter((number) => sets.every((set) => set.has(number)));
}
