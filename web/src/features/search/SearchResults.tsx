import { useQueries } from "@tanstack/react-query";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { SearchDocument, SearchPart, Transcript } from "../../api/types";
import { HighlightedText } from "../../components/HighlightedText";
import { useOffsetTop } from "../../hooks/scrolling";
import { usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { excerpt, hitsOf } from "../../lib/searchTerms";
import { route } from "../../routes";
import { Label } from "../../components/labels";
import type { Found } from "./searchIndex";

interface Props {
  found: Found & { asked: string };
  count: number; // of those found that are shown
  find: string;
  of: SearchPart["of"];
}

/** The conversations found. Their names come in pages, excerpts from each one's file, only for those on screen. */
export function SearchResults({ found, count, find, of }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const scrollMargin = useOffsetTop(ref);
  const list = useWindowVirtualizer({
    count,
    estimateSize: () => 96,
    overscan: 3,
    scrollMargin,
  });
  const visible = list.getVirtualItems();
  const numbers = [...new Set(visible.map((item) => Math.floor(item.index / found.size)))];
  const pages = useQueries({
    queries: numbers.map((page) => ({ queryKey: [found.asked, page], queryFn: () => found.page(page) })),
  });
  return (
    <div
      ref={ref}
      className="relative"
      style={{ height: list.getTotalSize() }}
      role="list"
      aria-label="Conversations found"
    >
      {visible.map((item) => {
        const page = pages[numbers.indexOf(Math.floor(item.index / found.size))]?.data;
        const document = page?.[item.index % found.size];
        return (
          <div
            key={item.key}
            ref={list.measureElement}
            data-index={item.index}
            role="listitem"
            aria-setsize={count}
            aria-posinset={item.index + 1}
            className="absolute inset-x-0 top-0 border-b border-line py-2.5"
            style={{ transform: `translateY(${item.start - scrollMargin}px)` }}
          >
            {document ? (
              <SearchResult
                document={document}
                find={found.phrase !== null && item.index < found.first ? found.phrase : find}
                of={of}
              />
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
  const protocol = index.protocols.find((protocol) => protocol.id === document.protocol);
  return (
    <>
      <p>
        <a href={href(route("transcript", { transcript: document.transcript, find }))} className="font-medium">
          <Label text={document.label} />
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

interface Text {
  who: string;
  text: string;
}

/** What the index has of a conversation: the model's words, then its notes and reasoning. */
function repliesOf({ lines }: Transcript): Text[] {
  const own = lines.filter((line) => line.who === "model");
  return [
    ...own.map(({ text }) => ({ who: "the model", text })),
    ...own.map(({ notes }) => ({ who: "the model, in its notes", text: notes })),
    ...own.map(({ reasoning }) => ({ who: "the model, reasoning", text: reasoning })),
  ];
}

function judgementsOf({ judgements }: Transcript): Text[] {
  return judgements.map(({ judge, reasoning }) => ({ who: judge, text: reasoning }));
}

/** Of *texts* the passage with most of the words that are looked for. */
function Excerpt({ texts, find }: { texts: readonly Text[]; find: string }) {
  const [best] = texts
    .flatMap(({ who, text }) => {
      const part = excerpt(text, find);
      return part ? [{ who, ...part }] : [];
    })
    .sort((a, b) => b.fit - a.fit);
  if (!best) return <span className="text-faint">…</span>;
  const spans = hitsOf(best.text, find).map((hit) => ({ ...hit, kind: "hit", id: "", title: "" }));
  return (
    <span className="line-clamp-6 sm:line-clamp-3">
      <span className="eyebrow">
        <bdi>{best.who}</bdi>:{" "}
      </span>
      {best.start > 0 ? "… " : ""}
      <HighlightedText text={best.text} spans={spans} />
      {best.whole ? "" : " …"}
    </span>
  );
}
