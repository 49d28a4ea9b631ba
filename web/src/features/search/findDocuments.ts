import { endpoints, readApi } from "../../api/queries";
import type { SearchFacets, SearchIndex, SearchMark, SearchPart } from "../../api/types";
import { asPhrase, queryOf, type QueryUnit } from "../../lib/searchTerms";
import type { AddressOf } from "../../routes";
import {
  decoded,
  keyOf,
  phrase,
  placesIn,
  ranked,
  shardsOf,
  union,
  wordsToRead,
  type Found,
  type Places,
} from "./searchIndex";

/** What a search gives. */
export interface Answer {
  said: readonly Found[]; // where it is said as it was typed: a phrase that follows itself, or all of it
  apart: readonly Found[]; // where all words are, but nowhere together
  phrase: string | null; // the query behind *said* where it is not the one that was typed
}

/** The conversations that *find* asks for, the best fit first. Reads the shards that it needs. */
export async function findDocuments(
  index: SearchIndex,
  part: SearchPart,
  find: string,
  signal: AbortSignal,
): Promise<Answer> {
  const units = queryOf(find, index.longest);
  const places = new Map<string, Places>();
  for (const one of wordsToRead(units)) {
    const shards = await Promise.all(
      shardsOf(one, part).map((shard) => readApi(endpoints.searchWords(index.build, part.of, shard), signal)),
    );
    const found = union(shards.map((shard) => placesIn(shard.words, one)));
    if (!found.size) return { said: [], apart: [], phrase: null };
    places.set(keyOf(one), found);
  }
  const fits = (wanted: readonly QueryUnit[]) =>
    ranked(wanted.map((unit) => phrase(unit.map((one) => places.get(keyOf(one)) ?? new Map<number, number[]>()))));
  const all = fits(units);
  const together = asPhrase(find);
  const said = together ? fits(queryOf(together, index.longest)) : [];
  if (!said.length) return { said: all, apart: [], phrase: null };
  const exact = new Set(said.map((one) => one.document));
  return { said, apart: all.filter((one) => !exact.has(one.document)), phrase: together };
}

/** Which documents the filters of *address* leave. */
export function narrowed(facets: SearchFacets, address: AddressOf<"search">): (document: number) => boolean {
  const subject = facets.subjects.indexOf(address.subject);
  const scenario = facets.scenarios.indexOf(address.scenario);
  const band = bandsOf(facets).find((one) => one.value === address.mark);
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
