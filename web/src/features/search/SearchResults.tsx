import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { endpoints } from "../../api/endpoints";
import { useApi, useApis } from "../../api/queries";
import type { SearchDocument, SearchIndex, SearchPart, Transcript } from "../../api/types";
import { HighlightedText } from "../../components/HighlightedText";
import { useOffsetTop } from "../../hooks/useOffsetTop";
import { usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { excerpt, hitsOf } from "../../lib/searchTerms";
import { route } from "../../routes";

interface Props {
  index: SearchIndex;
  documents: readonly number[];
  find: string;
  of: SearchPart["of"];
}

/** The conversations found. Their names come in blocks, excerpts from each one's file, only for those on screen. */
export function SearchResults({ index, documents, find, of }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const scrollMargin = useOffsetTop(ref);
  const list = useWindowVirtualizer({
    count: documents.length,
    estimateSize: () => 96,
    overscan: 3,
    scrollMargin,
    getItemKey: (row) => documents[row] ?? row,
  });
  const visible = list.getVirtualItems();
  const blockOf = (document: number) => Math.floor(document / index.block);
  const numbers = [...new Set(visible.map((item) => blockOf(documents[item.index] ?? 0)))];
  const answers = useApis(numbers.map((block) => endpoints.searchDocuments(index.build, block)));
  const blocks = new Map(numbers.map((block, i) => [block, answers[i]?.documents]));
  return (
    <div
      ref={ref}
      className="relative"
      style={{ height: list.getTotalSize() }}
      role="list"
      aria-label="Conversations found"
    >
      {visible.map((item) => {
        const number = documents[item.index] ?? 0;
        const document = blocks.get(blockOf(number))?.[number % index.block];
        return (
          <div
            key={item.key}
            ref={list.measureElement}
            data-index={item.index}
            role="listitem"
            aria-setsize={documents.length}
            aria-posinset={item.index + 1}
            className="absolute inset-x-0 top-0 border-b border-line py-2.5"
            style={{ transform: `translateY(${String(item.start - scrollMargin)}px)` }}
          >
            {document ? (
              <SearchResult document={document} find={find} of={of} />
            ) : (
              <p className="h-[4.5rem] text-faint">…</p>
            )}
          </div>
        );
      })}
    </div>
  );
}

function SearchResult({ document, find, of }: { document: SearchDocument; find: string; of: SearchPart["of"] }) {
  const { href, index } = usePage();
  const { data: transcript } = useApi(endpoints.transcript(document.transcript));
  const protocol = index.protocols.find((one) => one.id === document.protocol);
  return (
    <>
      <p>
        <a href={href(route("transcript", { transcript: document.transcript, find }))} className="font-medium">
          <bdi className="label">{document.label}</bdi>
        </a>{" "}
        <span className="eyebrow">
          {document.scenario}, run {document.run}, {humanize(document.configuration)}
          {protocol ? `, ${protocol.name}` : ""}
        </span>
      </p>
      <div className="prose-text min-h-12 max-w-4xl text-[0.98rem] text-soft">
        {transcript ? (
          <Excerpt texts={of === "said" ? repliesOf(transcript) : judgementsOf(transcript)} find={find} />
        ) : (
          <span className="text-faint">…</span>
        )}
      </div>
    </>
  );
}

const SPEAKERS = { human: "the human", given: "put into its mouth", model: "the model" };

interface Text {
  who: string;
  text: string;
}

/** The model's words first, then the human's, then the model's notes and reasoning. */
function repliesOf({ lines }: Transcript): Text[] {
  const sorted = [...lines].sort((a, b) => Number(b.who === "model") - Number(a.who === "model"));
  return [
    ...sorted.map(({ who, text }) => ({ who: SPEAKERS[who], text })),
    ...sorted.map(({ notes }) => ({ who: "the model, in its notes", text: notes })),
    ...sorted.map(({ reasoning }) => ({ who: "the model, reasoning", text: reasoning })),
  ];
}

function judgementsOf({ judgements }: Transcript): Text[] {
  return judgements.map(({ judge, reasoning }) => ({ who: judge, text: reasoning }));
}

/** Of *texts* the one with most of the words that are looked for, around the first of them. */
function Excerpt({ texts, find }: { texts: readonly Text[]; find: string }) {
  const distinct = ({ text }: Text) =>
    new Set(hitsOf(text, find).map((hit) => text.slice(hit.start, hit.end).toLowerCase())).size;
  const best = texts.map((text) => ({ text, hits: distinct(text) })).sort((a, b) => b.hits - a.hits)[0]?.text;
  const part = best ? excerpt(best.text, find) : null;
  if (!best || !part) return <span className="text-faint">…</span>;
  const spans = hitsOf(part.text, find).map((hit) => ({ ...hit, kind: "hit", id: "", title: "" }));
  return (
    <span className="line-clamp-3">
      <span className="eyebrow">
        <bdi>{best.who}</bdi>:{" "}
      </span>
      {part.start > 0 ? "… " : ""}
      <HighlightedText text={part.text} spans={spans} />
      {part.whole ? "" : " …"}
    </span>
  );
}
