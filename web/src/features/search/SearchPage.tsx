import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { SearchIndex, SearchPart, SearchFacets } from "../../api/types";
import { SegmentedControl, SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { count, plural, humanize } from "../../lib/format";
import type { AddressOf } from "../../routes";
import { queryOf } from "../../lib/searchTerms";
import { findDocuments, narrowed, bandsOf } from "./searchIndex";
import { SearchResults } from "./SearchResults";

const POLL = 700; // ms between two looks at an index that is being prepared

/** Full text over all conversations: what the models said, or what the judges wrote about it. */
export default function SearchPage({ address }: { address: AddressOf<"search"> }) {
  const { update } = usePage();
  const { find, of } = address;
  const field = useRef<HTMLInputElement>(null);
  const head = useApi(endpoints.search, ({ preparing }) => (preparing === null ? false : POLL));
  useDocumentTitle("Search");
  useEffect(() => field.current?.focus(), []);
  return (
    <>
      <h1>Search</h1>
      <div role="search" className="mt-3 flex flex-wrap items-end gap-x-4 gap-y-3">
        <label className="min-w-0 flex-[1_1_24rem]">
          <span className="eyebrow mb-1 block">
            {of === "said" ? "Words that a model said" : "Words that a judge wrote"}; a phrase in "quotes"
          </span>
          <input
            ref={field}
            type="search"
            className="field w-full text-lg"
            value={find}
            onChange={(event) => update({ find: event.target.value })}
          />
        </label>
        <SegmentedControl
          label="Look in"
          value={of}
          options={[
            ["said", "what models said", "Replies, private notes and reasoning of the models"],
            ["judged", "what judges wrote", "What every judge wrote before it gave its marks"],
          ]}
          onChange={(value) => update({ of: value })}
        />
      </div>
      <Await query={head} what="the search index">
        {({ index, preparing }) => {
          const part = index?.parts.find((part) => part.of === of);
          if (!index || !part) return <Preparing progress={preparing ?? 0} />;
          return (
            <>
              {preparing === null ? null : (
                <p className="mt-3 text-sm text-faint">
                  The store has changed; its newest conversations are found as soon as they are indexed.
                </p>
              )}
              <Results key={`${of} ${index.build}`} index={index} part={part} address={address} />
            </>
          );
        }}
      </Await>
    </>
  );
}

/** The index is being made; *progress* in [0, 1]. */
function Preparing({ progress }: { progress: number }) {
  return (
    <div className="panel mx-auto my-8 max-w-xl p-6 text-center">
      <p role="status" className="text-lg">
        Preparing the search index …
      </p>
      <progress className="my-3 w-full accent-accent" aria-label="of the index is made" max={1} value={progress} />
      <p className="text-soft">Every conversation is read once. What you type is looked up as soon as that is done.</p>
    </div>
  );
}

interface ResultsProps {
  index: SearchIndex;
  part: SearchPart;
  address: AddressOf<"search">;
}

function Results({ index, part, address }: ResultsProps) {
  const { find } = address;
  const { update } = usePage();
  const facets = useApi(index.documents ? endpoints.searchFacets(index.build) : null);
  const found = useQuery({
    queryKey: ["search", index.build, part.of, find],
    queryFn: () => findDocuments(index, part, find),
    placeholderData: keepPreviousData, // while the next letter is looked up, what was found stays
  });
  if (!index.documents || !queryOf(find, index.longest).length) {
    return (
      <p className="mt-4 max-w-2xl text-soft">
        {plural(index.documents, "conversation")} and {plural(part.words, "different word")} can be searched.{" "}
        {part.covers}
      </p>
    );
  }
  return (
    <Await query={facets} what="what a search can be narrowed to">
      {(facets) => (
        <>
          <Filters facets={facets} address={address} />
          <Await query={found} what="the index">
            {({ said, apart: others, phrase }) => {
              const wanted = narrowed(facets, address);
              const here = said.filter((hit) => wanted(hit.document));
              const more = others.filter((other) => wanted(other.document));
              const apart = address.apart || !here.length;
              const documents = (apart ? [...here, ...more] : here).map((one) => one.document);
              return (
                <>
                  <div className="mt-4 mb-2 flex flex-wrap items-baseline gap-x-4 gap-y-1 text-soft">
                    <p role="status">
                      {phrase !== null && !here.length && more.length ? "None has these words together: " : ""}
                      {count(documents.length)} of {plural(index.documents, "conversation")}
                      {phrase === null || (here.length && apart)
                        ? ""
                        : here.length
                          ? " with these words together"
                          : " with these words apart"}
                    </p>
                    {here.length && more.length ? (
                      <button
                        type="button"
                        className="underline underline-offset-4"
                        aria-pressed={apart}
                        onClick={() => update({ apart: !address.apart })}
                      >
                        {apart ? "only with the words together" : `also ${count(more.length)} with the words apart`}
                      </button>
                    ) : null}
                  </div>
                  {documents.length ? (
                    <SearchResults
                      index={index}
                      documents={documents}
                      find={find}
                      together={phrase === null ? null : { phrase, count: here.length }}
                      of={part.of}
                    />
                  ) : (
                    <Empty
                      title={
                        said.length
                          ? "No conversation with these words fits the filters."
                          : part.of === "said"
                            ? "No message has all of these words."
                            : "No judge wrote all of these words."
                      }
                    >
                      {said.length
                        ? "Choose another subject, scenario or mark."
                        : "Remove a word, or shorten the last one."}
                    </Empty>
                  )}
                </>
              );
            }}
          </Await>
        </>
      )}
    </Await>
  );
}

const ANY = { value: "", title: "any" };

/** Narrows a search by subject, scenario, and a mark that the main judge gave. */
export function Filters({ facets, address }: { facets: SearchFacets; address: AddressOf<"search"> }) {
  const { update } = usePage();
  const several = new Set(facets.marks.map((mark) => mark.protocol)).size > 1;
  const same = (title: string) => ({ value: title, title });
  const marks = bandsOf(facets).map(({ value, mark, title }) => ({
    value,
    title: `${humanize(mark.name)}: ${title}${several ? ` (${mark.protocol})` : ""}`,
  }));
  const fields = [
    ["subject", "Subject", facets.subjects.map(same)],
    ["scenario", "Scenario", facets.scenarios.map(same)],
    ["mark", "Mark by the main judge", marks],
  ] as const;
  const chosen = address.subject || address.scenario || address.mark;
  return (
    <div role="group" aria-label="Narrow the search" className="mt-3 flex flex-wrap items-end gap-x-4 gap-y-2">
      {fields.map(([name, label, options]) => (
        <SelectField
          key={name}
          label={label}
          className="flex-[1_1_12rem]"
          selectClass="w-full"
          value={address[name]}
          options={[ANY, ...options]}
          onChange={(value) => update({ [name]: value })}
        />
      ))}
      {chosen ? (
        <button
          type="button"
          className="min-h-8 underline underline-offset-4"
          onClick={() => update({ subject: "", scenario: "", mark: "" })}
        >
          Clear filters
        </button>
      ) : null}
    </div>
  );
}
