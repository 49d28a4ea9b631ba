import { endpoints } from "../../api/endpoints";
import { readApi } from "../../api/queries";
import type { SearchIndex, SearchPart } from "../../api/types";
import { documentsWith, intersection, queryWords, shardsOf } from "./searchIndex";

/** The numbers of the documents that have all words of *find*, in rising order. Reads the shards that it needs. */
export async function findDocuments(
  index: SearchIndex,
  part: SearchPart,
  find: string,
  signal: AbortSignal,
): Promise<number[]> {
  const found: number[][] = [];
  for (const word of queryWords(find, index)) {
    const shards = await Promise.all(
      shardsOf(word, part).map((shard) => readApi(endpoints.searchWords(index.build, part.of, shard), signal)),
    );
    const documents = new Set(shards.flatMap((shard) => documentsWith(shard.words, word, index.documents)));
    if (!documents.size) return [];
    found.push([...documents]);
  }
  return intersection(found).sort((a, b) => a - b);
}
