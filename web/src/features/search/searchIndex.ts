import type { SearchIndex, SearchPart } from "../../api/types";
import { wordsOf } from "../../lib/searchTerms";

/** One word of a query; a prefix where somebody may still be typing it. */
export interface QueryWord {
  word: string;
  prefix: boolean;
}

/** The words of *find*; the last one is a prefix, unless something follows it. */
export function queryWords(find: string, index: Pick<SearchIndex, "longest">): QueryWord[] {
  const words = wordsOf(find, index.longest);
  const typing = /[\p{L}\p{N}]$/u.test(find);
  return words.map((word, i) => ({ word, prefix: typing && i === words.length - 1 && word.length > 1 }));
}

/** The shards that may have *word*. Words are sorted by code unit, so the shards follow each other. */
export function shardsOf({ word, prefix }: QueryWord, { shards }: Pick<SearchPart, "shards">): number[] {
  let first = shards.findIndex((start) => start > word);
  first = (first < 0 ? shards.length : first) - 1;
  const found = first >= 0 ? [first] : [];
  if (!prefix) return found;
  for (let next = first + 1; next < shards.length && shards[next]?.startsWith(word); next++) found.push(next);
  return found;
}

/** The documents of a shard that have *word*, in rising order. */
export function documentsWith(
  words: Readonly<Record<string, string>>,
  { word, prefix }: QueryWord,
  documents: number,
): number[] {
  if (!prefix) return Object.hasOwn(words, word) ? decoded(words[word] ?? "", documents) : [];
  const lists = Object.entries(words).filter(([one]) => one.startsWith(word));
  return [...new Set(lists.flatMap(([, list]) => decoded(list, documents)))].sort((a, b) => a - b);
}

/** Distances in base 36, the first from -1; after "!" the documents that do not have the word. */
export function decoded(list: string, documents: number): number[] {
  const negated = list.startsWith("!");
  const numbers: number[] = [];
  let at = -1;
  for (const distance of (negated ? list.slice(1) : list).split(",")) {
    if (!distance) continue;
    at += Number.parseInt(distance, 36);
    numbers.push(at);
  }
  if (!negated) return numbers;
  const without = new Set(numbers);
  return Array.from({ length: documents }, (_, number) => number).filter((number) => !without.has(number));
}

/** What all *lists* have; nothing for no list. */
export function intersection(lists: readonly (readonly number[])[]): number[] {
  const [first = [], ...rest] = [...lists].sort((a, b) => a.length - b.length);
  const sets = rest.map((list) => new Set(list));
  return first.filter((number) => sets.every((set) => set.has(number)));
}
