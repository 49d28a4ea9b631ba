import { useEffect, useRef } from "react";
import { useSearch } from "../../api/queries";
import type { FoundConversation, Search } from "../../api/types";
import { Button, SegmentedControl, SelectField } from "../../components/fields";
import { Label } from "../../components/labels";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { humanize, plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";

/** Which conversations have some words: in what the models said, or in what the judges wrote about it. Of a server. */
export default function SearchPage({ address }: { address: AddressOf<"search"> }) {
  const { update } = usePage();
  const { find, of, subject, scenario, part } = address;
  const field = useRef<HTMLInputElement>(null);
  const found = useSearch({ words: find, of, subject, scenario, page: String((part ?? 1) - 1) });
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
            onChange={(event) => update({ find: event.target.value, part: null })}
          />
        </label>
        <SegmentedControl
          label="Look in"
          value={of}
          options={[
            ["said", "what models said", "Replies, private notes and reasoning of the models"],
            ["judged", "what judges wrote", "What every judge wrote before it gave its scores"],
          ]}
          onChange={(value) => update({ of: value, part: null })}
        />
      </div>
      <Await query={found} what="the conversations">
        {(answer) => <Results answer={answer} address={address} />}
      </Await>
    </>
  );
}

function Results({ answer, address }: { answer: Search; address: AddressOf<"search"> }) {
  const { update } = usePage();
  const { find, of } = address;
  const part = address.part ?? 1;
  const parts = Math.ceil(answer.found / answer.size);
  if (!find.trim()) {
    return (
      <p className="mt-4 max-w-2xl text-soft">
        {plural(answer.conversations, "conversation")} can be searched: all that the models said, with their private
        notes and their reasoning, or all that the judges wrote.
      </p>
    );
  }
  return (
    <>
      <Filters answer={answer} address={address} />
      <p role="status" className="mt-4 mb-2 text-soft">
        {plural(answer.found, "conversation")} of {answer.conversations}
      </p>
      {answer.page.length ? (
        <ul aria-label="Conversations found">
          {answer.page.map((one) => (
            <li key={one.transcript} className="border-b border-line py-2.5">
              <Found found={one} find={find} of={of} />
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="No conversation has all of these words.">
          Remove a word, shorten the last one, or choose another model or scenario.
        </Empty>
      )}
      {parts > 1 ? (
        <nav aria-label="Pages of conversations" className="mt-4 flex items-center gap-3">
          <Button disabled={part < 2} onClick={() => update({ part: part - 1 })}>
            Previous
          </Button>
          <span>
            {part} of {parts}
          </span>
          <Button disabled={part >= parts} onClick={() => update({ part: part + 1 })}>
            Next
          </Button>
        </nav>
      ) : null}
    </>
  );
}

function Found({ found, find, of }: { found: FoundConversation; find: string; of: AddressOf<"search">["of"] }) {
  const { href, index } = usePage();
  const protocol = index.protocols.find((protocol) => protocol.id === found.protocol);
  return (
    <>
      <p>
        <a href={href(route("transcript", { transcript: found.transcript, find }))} className="font-medium">
          <Label text={found.label} />
        </a>{" "}
        <span className="eyebrow">
          {found.scenario}, run {found.run}, {humanize(found.configuration)}
          {protocol ? `, ${protocol.name}` : ""}
        </span>
      </p>
      <p className="prose-text max-w-4xl text-[0.98rem] text-soft" dir="auto">
        <span className="sr-only">{of === "said" ? "The model: " : "A judge: "}</span>
        {found.snippet.map(({ text, hit }, place) =>
          hit ? (
            <mark key={place} className="bg-quote-strong">
              {text}
            </mark>
          ) : (
            text
          ),
        )}
      </p>
    </>
  );
}

const ANY = { value: "", title: "any" };

/** Narrows a search to one model, to one scenario. */
function Filters({ answer, address }: { answer: Search; address: AddressOf<"search"> }) {
  const { update } = usePage();
  const same = (title: string) => ({ value: title, title });
  const fields = [
    ["subject", "Model", answer.subjects],
    ["scenario", "Scenario", answer.scenarios],
  ] as const;
  return (
    <div role="group" aria-label="Narrow the search" className="mt-3 flex flex-wrap items-end gap-x-4 gap-y-2">
      {fields.map(([name, label, options]) => (
        <SelectField
          key={name}
          label={label}
          className="flex-[1_1_12rem]"
          selectClass="w-full"
          value={address[name]}
          options={[ANY, ...options.map(same)]}
          onChange={(value) => update({ [name]: value, part: null })}
        />
      ))}
    </div>
  );
}
