import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { SearchFacets, SearchHead, SearchPart } from "../../api/types";
import { SegmentedControl, SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { count, plural, humanize } from "../../lib/format";
import type { AddressOf } from "../../routes";
import { queryOf } from "../../lib/searchTerms";
import { bandsOf, searchServer, searchSite } from "./searchIndex";
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
        {(head) => {
          const part = head.index.parts.find((part) => part.of === of);
          return (
            <>
              <Progress head={head} />
              {part ? <Results key={`${of} ${head.index.build}`} head={head} part={part} address={address} /> : null}
            </>
          );
        }}
      </Await>
    </>
  );
}

/** How far a server is with what is not found yet. */
function Progress({ head: { preparing, problem } }: { head: SearchHead }) {
  if (problem !== null) return <p className="mt-3 text-sm text-soft">Not everything can be found: {problem}.</p>;
  if (preparing === null) return null;
  return (
    <p className="mt-3 flex flex-wrap items-center gap-x-3 text-sm text-faint">
      Conversations that are new to the search are read. What you type is looked up in the others.
      <progress className="accent-accent" aria-label="of the conversations are read" max={1} value={preparing} />
    </p>
  );
}

interface ResultsProps {
  head: SearchHead;
  part: SearchPart;
  address: AddressOf<"search">;
}

function Results({ head: { index, preparing }, part, address }: ResultsProps) {
  const { find, of, subject, scenario, mark } = address;
  const { update, index: site } = usePage();
  const facets = useApi(index.documents ? endpoints.searchFacets(index.build) : null);
  const query = { find, of, subject, scenario, mark };
  const asked = JSON.stringify([index.build, preparing, query]);
  const found = useQuery({
    queryKey: [asked],
    queryFn: async () => {
      const search = site.offer.frozen ? searchSite(index, query) : searchServer(index, query, preparing);
      return { asked, ...(await search) };
    },
    placeholderData: keepPreviousData, // while the next letter is looked up, what was found stays
  });
  if (!index.documents || !queryOf(find, index.longest).length) {
    return (
      <p className="mt-4 max-w-2xl text-soft">
        {plural(index.documents, "conversation")}
        {part.words === null ? "" : ` and ${plural(part.words, "different word")}`} can be searched. {part.covers}
      </p>
    );
  }
  return (
    <Await query={facets} what="what a search can be narrowed to">
      {(facets) => (
        <>
          <Filters facets={facets} address={address} />
          <Await query={found} what="the index">
            {(found) => {
              const { first, others, phrase } = found;
              const apart = address.apart || !first;
              const shown = apart ? first + others : first;
              return (
                <>
                  <div className="mt-4 mb-2 flex flex-wrap items-baseline gap-x-4 gap-y-1 text-soft">
                    <p role="status">
                      {phrase !== null && !first && others ? "None has these words together: " : ""}
                      {count(shown)} of {plural(index.documents, "conversation")}
                      {phrase === null || (first && apart)
                        ? ""
                        : first
                          ? " with these words together"
                          : " with these words apart"}
                    </p>
                    {first && others ? (
                      <button
                        type="button"
                        className="underline underline-offset-4"
                        aria-pressed={apart}
                        onClick={() => update({ apart: !address.apart })}
                      >
                        {apart ? "only with the words together" : `also ${count(others)} with the words apart`}
                      </button>
                    ) : null}
                  </div>
                  {shown ? (
                    <SearchResults found={found} count={shown} find={find} of={of} />
                  ) : (
                    <Empty
                      title={
                        found.any
                          ? "No conversation with these words fits the filters."
                          : of === "said"
                            ? "No message has all of these words."
                            : "No judge wrote all of these words."
                      }
                    >
                      {found.any
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
