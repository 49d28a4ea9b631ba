import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { transcriptAt } from "../../addresses";
import { read } from "../../api/client";
import { paths } from "../../api/paths";
import type { SearchDocument, SearchDocuments, SearchIndex, SearchPart, Transcript } from "../../api/types";
import { words } from "../../parts/format";
import { Highlighted } from "../../parts/Highlighted";
import { useHere } from "../../parts/place";
import { useAnswer } from "../../parts/useAnswer";
import { useTop } from "../../parts/useTop";
import { excerpt, hitsOf } from "../../parts/words";

interface Props {
  index: SearchIndex;
  documents: readonly number[];
  find: string;
  of: SearchPart["of"];
}

/** What was found. Names come in blocks, excerpts from each conversation's file, both for what is seen only. */
export function Hits({ index, documents, find, of }: Props) {
  const at = useRef<HTMLDivElement>(null);
  const margin = useTop(at);
  const list = useWindowVirtualizer({
    count: documents.length,
    estimateSize: () => 96,
    overscan: 3,
    scrollMargin: margin,
    getItemKey: (place) => documents[place] ?? place,
  });
  const seen = list.getVirtualItems();
  const blocks = [...new Set(seen.map((item) => Math.floor((documents[item.index] ?? 0) / index.block)))];
  const known = useBlocks(index, blocks);
  return (
    <div
      ref={at}
      className="relative"
      style={{ height: list.getTotalSize() }}
      role="list"
      aria-label="Conversations found"
    >
      {seen.map((item) => {
        const number = documents[item.index] ?? 0;
        const document = known.get(Math.floor(number / index.block))?.[number % index.block];
        return (
          <div
            key={item.key}
            ref={list.measureElement}
            data-index={item.index}
            role="listitem"
            aria-setsize={documents.length}
            aria-posinset={item.index + 1}
            className="absolute inset-x-0 top-0 border-b border-line py-2.5"
            style={{ transform: `translateY(${String(item.start - margin)}px)` }}
          >
            {document ? <Hit document={document} find={find} of={of} /> : <p className="h-[4.5rem] text-faint">…</p>}
          </div>
        );
      })}
    </div>
  );
}

function Hit({ document, find, of }: { document: SearchDocument; find: string; of: SearchPart["of"] }) {
  const { href, index } = useHere();
  const answer = useAnswer<Transcript>(paths.transcript(document.transcript));
  const protocol = index.protocols.find((one) => one.id === document.protocol);
  return (
    <>
      <p>
        <a href={href(transcriptAt(document.transcript, find))} className="font-medium">
          <bdi className="label">{document.label}</bdi>
        </a>{" "}
        <span className="eyebrow">
          {document.scenario}, run {document.run}, {words(document.configuration)}
          {protocol ? `, ${protocol.name}` : ""}
        </span>
      </p>
      <div className="said min-h-12 max-w-4xl text-[0.98rem] text-soft">
        {answer.state === "ready" ? (
          <Excerpt texts={of === "said" ? said(answer.value) : judged(answer.value)} find={find} />
        ) : (
          <span className="text-faint">…</span>
        )}
      </div>
    </>
  );
}

const WHO = { human: "the human", given: "put into its mouth", model: "the model" };

interface Text {
  who: string;
  text: string;
}

/** What was said; the model's own words first, and what nobody heard last. */
function said({ lines }: Transcript): Text[] {
  const own = [...lines].sort((a, b) => Number(b.who === "model") - Number(a.who === "model"));
  return [
    ...own.map(({ who, text }) => ({ who: WHO[who], text })),
    ...own.map(({ notes }) => ({ who: "the model, in its notes", text: notes })),
    ...own.map(({ reasoning }) => ({ who: "the model, reasoning", text: reasoning })),
  ];
}

function judged({ judgements }: Transcript): Text[] {
  return judgements.map(({ judge, reasoning }) => ({ who: judge, text: reasoning }));
}

/** Where most of the words that are looked for stand. */
function Excerpt({ texts, find }: { texts: readonly Text[]; find: string }) {
  const best = texts
    .map((one) => ({
      one,
      hits: new Set(hitsOf(one.text, find).map((hit) => one.text.slice(hit.start, hit.end).toLowerCase())).size,
    }))
    .sort((a, b) => b.hits - a.hits)[0]?.one;
  const part = best ? excerpt(best.text, find) : null;
  if (!best || !part) return <span className="text-faint">…</span>;
  const spans = hitsOf(part.text, find).map((hit) => ({ ...hit, kind: "hit", id: "", title: "" }));
  return (
    <span className="line-clamp-3">
      <span className="eyebrow">
        <bdi>{best.who}</bdi>:{" "}
      </span>
      {part.start > 0 ? "… " : ""}
      <Highlighted text={part.text} spans={spans} />
      {part.whole ? "" : " …"}
    </span>
  );
}

/** The blocks of names that are needed now, as they come. */
function useBlocks(index: SearchIndex, blocks: readonly number[]): ReadonlyMap<number, readonly SearchDocument[]> {
  const [known, setKnown] = useState<ReadonlyMap<number, readonly SearchDocument[]>>(new Map());
  const wanted = blocks.filter((block) => !known.has(block)).join(" ");
  const { build } = index;
  useEffect(() => {
    if (!wanted) return;
    const leaving = new AbortController();
    for (const block of wanted.split(" ").map(Number)) {
      read<SearchDocuments>(paths.searchDocuments(build, block), leaving.signal).then(
        (answer) => {
          if (answer.ok && !leaving.signal.aborted) setKnown((was) => new Map(was).set(block, answer.value.documents));
        },
        () => {
          // cancelled
        },
      );
    }
    return () => {
      leaving.abort();
    };
  }, [wanted, build]);
  return known;
}
