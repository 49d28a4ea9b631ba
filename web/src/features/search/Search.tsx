import { useEffect, useRef, useState } from "react";
import { searchAt, type Address } from "../../addresses";
import { read, type Failure } from "../../api/client";
import { paths } from "../../api/paths";
import type { SearchHead, SearchIndex, SearchPart, SearchWords } from "../../api/types";
import { count, plural } from "../../parts/format";
import { useHere } from "../../parts/place";
import { Empty, Failed, Loading } from "../../parts/states";
import { Switch } from "../../parts/Switch";
import { useTitle } from "../../parts/useTitle";
import { Hits } from "./Hits";
import { askedFor, documentsIn, inAll, shardsOf } from "./lookup";

type At = Extract<Address, { page: "search" }>;

const AGAIN = 700; // ms between two looks at an index that is being prepared

/** Full text over all conversations: what the models said, or what the judges wrote about it. */
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
      <div role="search" className="mt-3 flex flex-wrap items-end gap-x-4 gap-y-3">
        <label className="min-w-0 flex-[1_1_24rem]">
          <span className="eyebrow block">
            Words {address.of === "said" ? "that were said" : "that a judge wrote"}; all of them must be there, the last
            one may be a beginning
          </span>
          <input
            ref={field}
            type="search"
            className="field w-full text-lg"
            value={address.find}
            onChange={(event) => {
              go(searchAt(event.target.value, address.of), {}, true);
            }}
          />
        </label>
        <Switch
          label="Look in"
          value={address.of}
          of={[
            ["said", "what models said", "Replies, private notes and reasoning of the models"],
            ["judged", "what judges wrote", "What every judge wrote before it gave its marks"],
          ]}
          change={(of) => {
            go(searchAt(address.find, of), {}, true);
          }}
        />
      </div>
      <Searching at={address} />
    </>
  );
}

function Searching({ at }: { at: At }) {
  const [head, failure, again] = useHead();
  const part = head?.index?.parts.find((one) => one.of === at.of);
  if (head?.index && part) {
    return (
      <>
        {head.preparing === null ? null : (
          <p className="mt-3 text-sm text-faint">
            The store has changed; its newest conversations are found as soon as they are indexed.
          </p>
        )}
        <Found key={at.of} index={head.index} part={part} find={at.find} />
      </>
    );
  }
  if (failure) return <Failed failure={failure} again={again} />;
  return head ? <Preparing done={head.preparing ?? 0} /> : <Loading what="the search index" />;
}

/** The index is being made, and how far it is. */
function Preparing({ done }: { done: number }) {
  return (
    <div className="panel mx-auto my-8 max-w-xl p-6 text-center">
      <p role="status" className="text-lg">
        Preparing the search index …
      </p>
      <progress className="my-3 w-full accent-accent" aria-label="of the index is made" max={1} value={done} />
      <p className="text-soft">Every conversation is read once. What you type is looked up as soon as that is done.</p>
    </div>
  );
}

/** `api/search/index.json`: read again while an index is being prepared, and when the store has changed. */
function useHead(): [SearchHead | null, Failure | null, () => void] {
  const { version } = useHere().index;
  const [head, setHead] = useState<SearchHead | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    let timer = 0;
    async function look() {
      const answer = await read<SearchHead>(paths.search, leaving.signal, true);
      if (leaving.signal.aborted) return;
      setFailure(answer.ok ? null : answer.failure);
      if (!answer.ok) return;
      // what was found with an index stays while it is the newest one
      setHead((was) =>
        was?.index?.build === answer.value.index?.build && was ? { ...answer.value, index: was.index } : answer.value,
      );
      if (answer.value.preparing !== null) timer = window.setTimeout(turn, AGAIN);
    }
    function turn() {
      look().catch(() => {
        // cancelled
      });
    }
    turn();
    return () => {
      leaving.abort();
      window.clearTimeout(timer);
    };
  }, [version, tries]);
  const again = () => {
    setTries((n) => n + 1);
  };
  return [head, failure, again];
}

function Found({ index, part, find }: { index: SearchIndex; part: SearchPart; find: string }) {
  const found = useDocuments(index, part, find);
  const asked = askedFor(find, index);
  if (!asked.length) {
    return (
      <p className="mt-4 max-w-2xl text-soft">
        {plural(index.documents, "conversation")} and {plural(part.words, "different word")} can be searched.{" "}
        {part.covers}
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
        <Hits key={index.build} index={index} documents={found.documents} find={find} of={part.of} />
      ) : (
        <Empty title={part.of === "said" ? "Nobody said all of these words." : "No judge wrote all of these words."}>
          Take one away, or write the beginning of the last one.
        </Empty>
      )}
    </>
  );
}

type State = { state: "loading" } | { state: "failed"; failure: Failure } | { state: "ready"; documents: number[] };

/** The numbers of the documents that have all words of *find*. A new query cancels the one before. */
function useDocuments(index: SearchIndex, part: SearchPart, find: string): State {
  const [found, setFound] = useState<{ find: string; build: string; state: State } | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const tell = (state: State) => {
      if (!leaving.signal.aborted) setFound({ find, build: index.build, state });
    };
    lookUp(index, part, find, leaving.signal).then(tell, () => {
      // cancelled
    });
    return () => {
      leaving.abort();
    };
  }, [index, part, find]);
  // while the next letter is looked up, what was found stays
  return found?.build === index.build ? found.state : { state: "loading" };
}

async function lookUp(index: SearchIndex, part: SearchPart, find: string, signal: AbortSignal): Promise<State> {
  const lists: number[][] = [];
  for (const asked of askedFor(find, index)) {
    const files = await Promise.all(
      shardsOf(asked, part).map((n) => read<SearchWords>(paths.searchWords(index.build, part.of, n), signal)),
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
