import type { TranscriptJudgement, TranscriptLine, PhraseMark, Transcript } from "../../api/types";
import { hitsOf } from "../../lib/searchTerms";
import type { Span } from "../../lib/textSpans";
import type { AddressOf } from "../../routes";

/** Ids of the highlights that an address can point at. */
export const quoteId = (judge: number, quote: number) => `j${judge}.${quote}`;
export const phraseId = (phrase: number, place: number) => `p${phrase}.${place}`;

/** What the address asks to be highlighted. */
export interface Wanted {
  mark: string; // a quote's number as `q3`, or a phrase's id
  by: string; // the judge who quotes
  phrases: string; // the mark whose phrases are shown
  find: string;
}

/** The id of the highlight that *wanted* points at; "" where there is none. */
export function foundId(transcript: Transcript, wanted: Wanted): string {
  if (!wanted.mark) return wanted.find ? "hit" : "";
  if (wanted.mark.startsWith("p")) return wanted.mark;
  const judge = transcript.judgements.findIndex((judgement) => judgement.judge === wanted.by);
  const quote = Number(wanted.mark.slice(1));
  return wanted.mark.startsWith("q") && judge >= 0 && Number.isInteger(quote) ? quoteId(judge, quote) : "";
}

/** All highlights in line *number*: quotes of all judges, phrases of one mark, words searched for. */
export function spansOf(transcript: Transcript, number: number, wanted: Wanted): Span[] {
  const line = transcript.lines[number];
  if (!line) return [];
  return [
    ...transcript.judgements.flatMap((judgement, judge) => quotesIn(judgement, judge, number)),
    ...phrasesIn(phrasesOf(transcript, wanted.phrases), number),
    ...hits(line, wanted.find),
  ];
}

function quotesIn(judgement: TranscriptJudgement, judge: number, line: number): Span[] {
  return judgement.quotes.flatMap((quote, place) =>
    quote.line === line
      ? [{ ...quote.text, kind: "quote", id: quoteId(judge, place), title: `quoted by ${judgement.judge}` }]
      : [],
  );
}

function phrasesIn(mark: PhraseMark | undefined, line: number): Span[] {
  return (mark?.phrases ?? []).flatMap((phrase, number) =>
    phrase.places.flatMap(({ line: where, text }, place) =>
      where === line
        ? [
            {
              ...text,
              kind: phrase.weight > 0 ? "up" : "down",
              id: phraseId(number, place),
              title: `${phrase.weight > 0 ? "raised" : "lowered"} the embedded judge's mark by ${phrase.shown.weight.replace(/^[+−]/, "")}`,
            },
          ]
        : [],
    ),
  );
}

function hits(line: TranscriptLine, find: string): Span[] {
  return hitsOf(line.text, find).map((place) => ({ ...place, kind: "hit", id: "hit", title: "searched for" }));
}

export function phrasesOf(transcript: Transcript, mark: string): PhraseMark | undefined {
  return transcript.embedded?.marks.find((one) => one.mark === mark);
}

/** The quote after the one that *wanted* points at; after the last one of the last judge, the first. */
export function nextQuote(transcript: Transcript, wanted: Wanted): { mark: string; by: string } {
  const all = transcript.judgements.flatMap(({ judge, quotes }) =>
    quotes.map((_, n) => ({ mark: `q${n}`, by: judge })),
  );
  const now = all.findIndex((item) => item.mark === wanted.mark && item.by === wanted.by);
  return all[(now + 1) % all.length] ?? { mark: "", by: "" };
}

/** What the parts of the page of a conversation are given. */
export interface TranscriptProps {
  transcript: Transcript;
  address: AddressOf<"transcript">;
}
