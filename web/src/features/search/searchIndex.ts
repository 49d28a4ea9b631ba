import { endpoints, readApi } from "../../api/queries";
import type { SearchDocument, SearchFacets, SearchIndex, SearchMark, SearchPart } from "../../api/types";
import { asPhrase, queryOf, type QueryUnit, type QueryWord } from "../../lib/searchTerms";
import type { AddressOf } from "../../routes";

/** What is looked for, and what it is narrowed to. */
export type Query = Pick<AddressOf<"search">, "find" | "of" | "subject" | "scenario" | "mark">;

/** What a search finds, the best fit first: where it is said as it was typed, then where its words are apart. */
export interface Found {
  phrase: string | null; // the query behind the first ones where it is not the one that was typed
  first: number; // as the filters leave them
  others: number;
  any: boolean; // there are some of the first without the filters
  size: number; // documents in a page
  page: (number: number) => Promise<readonly SearchDocument[]>;
}

const SHOWN = 20; // documents in a page of a site's: each of its files has a hundred, and those found are in any

/** What *query* finds in a site. Reads the files that it needs. */
export async function searchSite(index: SearchIndex, query: Query): Promise<Found> {
  const part = index.parts.find(({ of }) => of === query.of);
  const answer: Answer = part ? await findDocuments(index, part, query.find) : NOTHING;
  const wanted = narrowed(await readApi(endpoints.searchFacets(index.build)), query);
  const [first, others] = [answer.said, answer.apart].map((some) => some.map((one) => one.document).filter(wanted));
  const documents = [...(first ?? []), ...(others ?? [])];
  const page = async (number: number) => {
    const shown = documents.slice(number * SHOWN, (number + 1) * SHOWN);
    const read = (document: number) =>
      readApi(endpoints.searchDocuments(index.build, Math.floor(document / index.block)));
    const blocks = await Promise.all(shown.map(read));
    return shown.flatMap((document, n) => blocks[n]?.documents[document % index.block] ?? []);
  };
  const counts = { first: first?.length ?? 0, others: others?.length ?? 0, any: answer.said.length > 0 };
  return { phrase: answer.phrase, ...counts, size: SHOWN, page };
}

/** What *query* finds on a server, which is *done* with so much of it. */
export async function searchServer(index: SearchIndex, query: Query, done: number | null): Promise<Found> {
  const { find, ...filters } = query;
  const together = asPhrase(find);
  const written = (find: string) =>
    queryOf(find, index.longest)
      .map((unit) => unit.map((one) => keyOf(one)).join(" "))
      .join(",");
  const words = { words: written(find), together: together ? written(together) : "", ...filters };
  const read = (page: number) => readApi(endpoints.searchFound({ ...words, page: String(page) }), done);
  const { phrase, documents, ...counts } = await read(0);
  const page = async (number: number) => (number ? (await read(number)).documents : documents);
  return { phrase: phrase ? together : null, ...counts, size: index.block, page };
}

/** The documents of a site that fit. */
interface Answer {
  said: readonly Ranked[];
  apart: readonly Ranked[];
  phrase: string | null;
}

const NOTHING: Answer = { said: [], apart: [], phrase: null };

async function findDocuments(index: SearchIndex, part: SearchPart, find: string): Promise<Answer> {
  const units = queryOf(find, index.longest);
  const places = new Map<string, Places>();
  for (const one of wordsToRead(units)) {
    const shards = await Promise.all(
      shardsOf(one, part).map((shard) => readApi(endpoints.searchWords(index.build, part.of, shard))),
    );
    const found = union(shards.map((shard) => placesIn(shard.words, one)));
    if (!found.size) return NOTHING;
    places.set(keyOf(one), found);
  }
  const fits = (wanted: readonly QueryUnit[]) =>
    ranked(wanted.map((unit) => phrase(unit.map((one) => places.get(keyOf(one)) ?? new Map<number, number[]>()))));
  const all = fits(units);
  const together = asPhrase(find);
  const said = together ? fits(queryOf(together, index.longest)) : [];
  if (!said.length) return { said: all, apart: [], phrase: null };
  const exact = new Set(said.map((hit) => hit.document));
  return { said, apart: all.filter((item) => !exact.has(item.document)), phrase: together };
}

/** Which documents the filters of *query* leave. */
export function narrowed(facets: SearchFacets, query: Query): (document: number) => boolean {
  const subject = facets.subjects.indexOf(query.subject);
  const scenario = facets.scenarios.indexOf(query.scenario);
  const band = bandsOf(facets).find((one) => one.value === query.mark);
  const marked = band ? new Set(decoded(band.documents)) : null;
  return (document) =>
    (subject < 0 || facets.subject[document] === subject) &&
    (scenario < 0 || facets.scenario[document] === scenario) &&
    (!marked || marked.has(document));
}

/** Every part of every mark's scale, as the address names it. */
export function bandsOf(facets: SearchFacets): { value: string; mark: SearchMark; title: string; documents: string }[] {
  return facets.marks.flatMap((mark) =>
    mark.bands.map(({ title, documents }) => ({ value: `${mark.id} ${title}`, mark, title, documents })),
  );
}

/** Document -> the places of something in it, in rising order. */
export type Places = ReadonlyMap<number, readonly number[]>;

/** A conversation that was found; of two the one with the smaller *span*, then with more *hits*, fits better. */
export interface Ranked {
  document: number;
  span: number; // words from the first to the last of what is looked for, where it stands closest
  hits: number;
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

/** Where *word* stands, by what one shard says. */
export function placesIn(words: Readonly<Record<string, string>>, { word, prefix }: QueryWord): Places {
  if (!prefix) return Object.hasOwn(words, word) ? decodedPlaces(words[word] ?? "") : new Map();
  return union(
    Object.entries(words)
      .filter(([one]) => one.startsWith(word))
      .map(([, list]) => decodedPlaces(list)),
  );
}

/** `1.3.2,4.1`: document 0 at places 2 and 4, document 4 at place 0; distances in base 36. */
export function decodedPlaces(list: string): Places {
  const found = new Map<number, number[]>();
  let document = -1;
  for (const one of list ? list.split(",") : []) {
    const [distance = 0, ...places] = one.split(".").map((number) => Number.parseInt(number, 36));
    document += distance;
    found.set(document, summed(places));
  }
  return found;
}

/** Distances in base 36, the first from -1. */
export function decoded(list: string): number[] {
  return summed((list ? list.split(",") : []).map((number) => Number.parseInt(number, 36)));
}

function summed(distances: readonly number[]): number[] {
  let at = -1;
  return distances.map((distance) => (at += distance));
}

/** Where any of *many* says. */
function union(many: readonly Places[]): Places {
  if (many.length === 1 && many[0]) return many[0];
  const found = new Map<number, number[]>();
  for (const one of many)
    for (const [document, places] of one) {
      const there = found.get(document);
      if (there) there.push(...places);
      else found.set(document, [...places]);
    }
  for (const places of found.values()) places.sort((a, b) => a - b);
  return found;
}

/** Where words follow each other, each in the places that its *words* say: the places of the first. */
export function phrase(words: readonly Places[]): Places {
  const [first = new Map<number, number[]>(), ...rest] = words;
  if (!rest.length) return first;
  const found = new Map<number, number[]>();
  for (const [document, places] of first) {
    const after = rest.map((one) => new Set(one.get(document)));
    const here = places.filter((place) => after.every((one, n) => one.has(place + n + 1)));
    if (here.length) found.set(document, here);
  }
  return found;
}

/** The documents that have all *units*, each where its places say; the best fit first. */
export function ranked(units: readonly Places[]): Ranked[] {
  const [rarest, ...rest] = [...units].sort((a, b) => a.size - b.size);
  if (!rarest) return [];
  const found: Ranked[] = [];
  for (const document of rarest.keys()) {
    if (!rest.every((unit) => unit.has(document))) continue;
    const places = units.map((unit) => unit.get(document) ?? []);
    const hits = places.reduce((sum, one) => sum + one.length, 0);
    found.push({ document, span: spanOf(places), hits });
  }
  return found.sort((a, b) => a.span - b.span || b.hits - a.hits || a.document - b.document);
}

/** The fewest places from one of each list of *places* to the last of them; 0 for a single list. */
function spanOf(places: readonly (readonly number[])[]): number {
  if (places.length < 2) return 0;
  const all = places
    .flatMap((list, which) => list.map((place) => ({ place, which })))
    .sort((a, b) => a.place - b.place);
  const last = new Map<number, number>();
  let best = Number.POSITIVE_INFINITY;
  for (const { place, which } of all) {
    last.set(which, place);
    if (last.size === places.length) best = Math.min(best, place - Math.min(...last.values()));
  }
  return best;
}

/** Every different word that *units* need. */
function wordsToRead(units: readonly QueryUnit[]): QueryWord[] {
  return [...new Map(units.flat().map((one) => [keyOf(one), one])).values()];
}

export function keyOf({ word, prefix }: QueryWord): string {
  return prefix ? `${word}*` : word;
}
