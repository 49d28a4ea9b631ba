import { useEffect, useRef, useState } from "react";
import { searchAt, type Address } from "../../addresses";
import { read, type Failure } from "../../api/client";
import { paths } from "../../api/paths";
import type { SearchIndex, SearchWords } from "../../api/types";
import { count, plural } from "../../parts/format";
import { useHere } from "../../parts/place";
import { Empty, Failed, Loading } from "../../parts/states";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";
import { Hits } from "./Hits";
import { askedFor, documentsIn, inAll, shardsOf } from "./lookup";

type At = Extract<Address, { page: "search" }>;

/** Full text over all conversations. */
export default function Search() {
  const { address, go } = useHere();
  const field = useRef<HTMLInputElement>(null);
  useTitle("Search");
  useEffect(() => {
    field.current?.focus();
  }, []);
  if (address.page !== "search") return null;
  return (
    <>
      <h1>Search</h1>
      <div role="search" className="mt-3">
        <label>
          <span className="eyebrow block">
            Words that were said; all of them must be there, the last one may be a beginning
          </span>
          <input
            ref={field}
            type="search"
            className="field w-full max-w-xl text-lg"
            value={address.find}
            onChange={(event) => {
              go(searchAt(event.target.value), {}, true);
            }}
          />
        </label>
      </div>
      <Searching at={address} />
    </>
  );
}

function Searching({ at }: { at: At }) {
  const answer = useAnswer<SearchIndex>(paths.search);
  if (answer.state === "loading") return <Loading what="the search index; the first time this may take some seconds" />;
  if (answer.state === "failed") return <Failed failure={answer.failure} again={answer.again} />;
  return <Found index={answer.value} find={at.find} />;
}

function Found({ index, find }: { index: SearchIndex; find: string }) {
  const found = useDocuments(index, find);
  const asked = askedFor(find, index);
  if (!asked.length) {
    return (
      <p className="mt-4 max-w-2xl text-soft">
        {plural(index.documents, "conversation")} and {plural(index.words, "different word")} can be searched.{" "}
        {index.covers}
      </p>
    );
  }
  if (found.state === "failed") return <Failed failure={found.failure} />;
  if (found.state === "loading") return <Loading what="the index" />;
  return (
    <>
      <p role="status" className="mt-4 mb-2 text-soft">
        {plural(found.documents.length, "conversation")} of {count(index.documents)}
      </p>
      {found.documents.length ? (
        <Hits index={index} documents={found.documents} find={find} />
      ) : (
        <Empty title="Nobody said all of these words.">Take one away, or write the beginning of the last one.</Empty>
      )}
    </>
  );
}

type State = { state: "loading" } | { state: "failed"; failure: Failure } | { state: "ready"; documents: number[] };

/** The numbers of the documents that have all words of *find*. A new query cancels the one before. */
function useDocuments(index: SearchIndex, find: string): State {
  const [found, setFound] = useState<{ find: string; build: string; state: State } | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const tell = (state: State) => {
      if (!leaving.signal.aborted) setFound({ find, build: index.build, state });
    };
    lookUp(index, find, leaving.signal).then(tell, () => {
      // cancelled
    });
    return () => {
      leaving.abort();
    };
  }, [index, find]);
  // while the next letter is looked up, what was found stays
  return found?.build === index.build ? found.state : { state: "loading" };
}

async function lookUp(index: SearchIndex, find: string, signal: AbortSignal): Promise<State> {
  const lists: number[][] = [];
  for (const asked of askedFor(find, index)) {
    const files = await Promise.all(
      shardsOf(asked, index).map((n) => read<SearchWords>(paths.searchWords(index.build, n), signal)),
    );
    const numbers = new Set<number>();
    for (const file of files) {
      if (!file.ok) return { state: "failed", failure: file.failure };
      documentsIn(file.value.words, asked, index.documents).forEach((number) => numbers.add(number));
    }
    if (!numbers.size) return { state: "ready", documents: [] };
    lists.push([...numbers]);
  }
  return { state: "ready", documents: inAll(lists).sort((a, b) => a - b) };
}
