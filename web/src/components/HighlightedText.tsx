import { Fragment } from "react";
import { cut, type Piece, type Span } from "../lib/textSpans";

const CLASSES: Record<string, string> = {
  quote: "bg-quote",
  phrase: "underline decoration-2 underline-offset-4 decoration-given-line bg-transparent",
  down: "underline decoration-2 underline-offset-4 decoration-bad bg-down",
  up: "underline decoration-2 underline-offset-4 decoration-good bg-up",
  shared: "bg-transparent text-faint",
  new: "bg-up",
  hit: "bg-quote-strong",
};

interface Props {
  text: string;
  spans: readonly Span[];
  offset?: number; // where *text* begins in what the spans count
  found?: string; // the id of the span that the address names
}

/** Text with highlighted spans, made of text nodes and <mark> elements only. */
export function HighlightedText({ text, spans, offset = 0, found = "" }: Props) {
  if (!spans.length) return text;
  return cut(text, spans, offset).map((piece) => <HighlightedPiece key={piece.start} piece={piece} found={found} />);
}

function HighlightedPiece({ piece, found }: { piece: Piece; found: string }) {
  const { spans, text, start } = piece;
  if (!spans.length) return <Fragment>{text}</Fragment>;
  const first = spans.find((span) => span.id && span.start === start);
  const isFound = found !== "" && spans.some((span) => span.id === found);
  const className = [...new Set(spans.map((span) => CLASSES[span.kind] ?? ""))].join(" ");
  const title = [...new Set(spans.map((span) => span.title).filter(Boolean))].join(" · ");
  return (
    <mark
      className={`${className} ${isFound ? "found" : ""}`}
      title={title || undefined}
      data-found={isFound || undefined}
      data-span={first?.id}
    >
      {text}
    </mark>
  );
}
