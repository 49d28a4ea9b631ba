import type { TranscriptJudgement, MarkScale, PhraseMark } from "../../api/types";
import { CodeText, ExamLine, Label } from "../../components/labels";
import { DataTable, shownColumn, type Column } from "../../components/tables";
import { Disclosure } from "../../components/sections";
import { HighlightedText } from "../../components/HighlightedText";
import { usePage } from "../../hooks/usePage";
import { humanize, letterName, markText, scaleRange } from "../../lib/format";
import { hitsOf } from "../../lib/searchTerms";
import { cut } from "../../lib/textSpans";
import type { AddressOf } from "../../routes";
import { Attempts } from "./Calls";
import { phraseId, phrasesOf, quoteId, type TranscriptProps } from "./highlights";

interface Props extends TranscriptProps {
  found: string;
}

/** All judges' scores beside each other, and what each of them wrote. */
export function Marks({ transcript, address, found }: Props) {
  const { judgements, scales } = transcript;
  return (
    <aside
      aria-label="Scores"
      className="min-w-0 space-y-5 lg:sticky lg:top-3 lg:max-h-[calc(100vh-1.5rem)] lg:overflow-y-auto lg:pr-1 print:max-h-none print:static"
      tabIndex={0}
    >
      {judgements.length ? (
        <section aria-label="All scores">
          <h2 className="mb-1">Scores</h2>
          <MarksTable judgements={judgements} scales={scales} />
        </section>
      ) : (
        <section>
          <h2>No scores</h2>
          <p className="text-soft">
            <CodeText
              text={
                transcript.state === "invalid"
                  ? "A conversation with an invalid reply is not judged."
                  : "No judge has scored this conversation; `aib judge` has one do it."
              }
            />
          </p>
        </section>
      )}
      {judgements.map((judgement, index) => (
        <JudgementCard key={judgement.judge} judgement={judgement} index={index} address={address} found={found} />
      ))}
      {transcript.exams.map((line) => (
        <ExamLine key={line} exam={line} />
      ))}
      <Phrases transcript={transcript} address={address} />
      <Disclosure title="Rubric" note="what the judges were told to score">
        {transcript.rubrics.map((text, index) => (
          <div key={index} className="plain mb-3 text-[0.95rem]">
            {text}
          </div>
        ))}
      </Disclosure>
    </aside>
  );
}

function MarksTable({
  judgements,
  scales,
}: {
  judgements: readonly TranscriptJudgement[];
  scales: readonly MarkScale[];
}) {
  const columns: Column<MarkScale>[] = [
    {
      id: "mark",
      title: "Score",
      rowHeader: true,
      cellHint: (scale) => scale.asks,
      cell: (scale) => (
        <>
          {scale.title}{" "}
          <span className="eyebrow inline-block">
            {scaleRange(scale, "–")}
            {scale.inverted ? ", low is independent" : ""}
          </span>
        </>
      ),
    },
    ...judgements.map((judgement, index): Column<MarkScale> => ({
      id: judgement.judge,
      title: judgements.length > 1 ? letterName(index) : "Given",
      hint: judgement.judge,
      numeric: true,
      cellClass: "font-semibold",
      cell: (scale) => markOf(judgement, scale),
    })),
  ];
  return <DataTable rows={scales} columns={columns} rowKey={(scale) => scale.name} caption="Every judge's scores" />;
}

function markOf(judgement: TranscriptJudgement, scale: MarkScale): string {
  const text = markText(scale, judgement);
  return scale.kind === "yes_no" && /\d/.test(text) ? `${text} yes` : text;
}

interface JudgementProps {
  judgement: TranscriptJudgement;
  index: number;
  address: AddressOf<"transcript">;
  found: string;
}

/** What one judge wrote; its quotes link to where they were said. */
function JudgementCard({ judgement, index, address, found }: JudgementProps) {
  return (
    <section aria-label={`Judge ${letterName(index)}`} className="panel px-4 py-3">
      <h3 className="flex flex-wrap items-baseline gap-x-2">
        <span className="font-semibold text-accent">{letterName(index)}</span>
        <Label text={judgement.judge} className="text-[0.95rem]" />
        {judgement.kind === "model" ? null : <span className="eyebrow">{KINDS[judgement.kind]}</span>}
      </h3>
      {judgement.flags.map((flag) => (
        <p key={flag.kind + flag.mark} className="mt-1 text-sm text-warn">
          ▲ worth reading: {flag.why}
        </p>
      ))}
      {judgement.failed ? <p className="mt-1 text-bad">No judgement: {judgement.failed}</p> : null}
      {judgement.reasoning ? (
        <p className="plain label mt-1.5 text-[0.97rem] leading-relaxed" dir="auto">
          <Reasoning judgement={judgement} index={index} address={address} found={found} />
        </p>
      ) : null}
      <Attempts attempts={judgement.attempts} what="this judgement" />
    </section>
  );
}

const KINDS = { table: "the embedded judge, no key", person: "a person", jury: "a jury: the mean of its judges" };

function Reasoning({ judgement, index, address, found }: JudgementProps) {
  const { href } = usePage();
  const { reasoning, quotes, judge } = judgement;
  const spans = [
    ...quotes.map((quote, number) => ({ ...quote.reasoning, kind: "quote", id: String(number), title: "" })),
    ...hitsOf(reasoning, address.find).map((hit) => ({ ...hit, kind: "hit", id: "hit", title: "searched for" })),
  ];
  return cut(reasoning, spans).map((piece) => {
    const hits = piece.spans.filter((span) => span.kind === "hit");
    const text = <HighlightedText text={piece.text} spans={hits} offset={piece.start} found={found} />;
    const number = piece.spans.find((span) => span.kind === "quote")?.id;
    if (number === undefined) return <span key={piece.start}>{text}</span>;
    const current = found === quoteId(index, Number(number));
    return (
      <a
        key={piece.start}
        href={href({ ...address, mark: `q${number}`, by: judge, side: false, find: "" })}
        aria-current={current ? "location" : undefined}
        className={current ? "found rounded-sm" : "rounded-sm bg-quote text-ink"}
        title="shows where this was said"
      >
        {text}
      </a>
    );
  });
}

/** The phrases that weighed most for the embedded judge in the score that the address names. */
function Phrases({ transcript, address }: TranscriptProps) {
  const { href } = usePage();
  const { embedded } = transcript;
  if (!embedded) return null;
  const shown = phrasesOf(transcript, address.phrases);
  const columns: Column<PhraseMark["phrases"][number]>[] = [
    {
      id: "phrase",
      title: "Phrase",
      rowHeader: true,
      cellClass: "label",
      cell: ({ text, weight, places }, index) => {
        if (!places.length) return text;
        const span = { start: 0, end: text.length, kind: weight > 0 ? "up" : "down", id: "", title: "" };
        return (
          <a href={href({ ...address, mark: phraseId(index, 0), side: false })}>
            <HighlightedText text={text} spans={[span]} />
          </a>
        );
      },
    },
    shownColumn("weight", "Weight", { cellClass: (phrase) => (phrase.weight > 0 ? "text-good" : "text-bad") }),
  ];
  return (
    <section aria-label="The embedded judge's phrases">
      <h2>Phrases that moved the embedded judge</h2>
      <p className="mb-2 text-sm text-soft">
        Part of the embedded judge is a table of phrases and their weights: it knows wording, not meaning.
      </p>
      <div className="flex flex-wrap gap-1">
        {embedded.marks.map(({ mark, shown: { value } }) => {
          const current = mark === address.phrases;
          return (
            <a
              key={mark}
              className="button text-sm"
              aria-current={current ? "true" : undefined}
              href={href({ ...address, phrases: current ? "" : mark, mark: "", side: false })}
            >
              {humanize(mark)} {value}
            </a>
          );
        })}
      </div>
      {shown ? (
        <DataTable
          rows={shown.phrases}
          columns={columns}
          rowKey={(phrase) => `${phrase.text} ${phrase.shown.weight}`}
          caption={`Phrases that weighed most for ${humanize(shown.mark)}`}
          className="mt-2 w-full text-sm"
        />
      ) : null}
    </section>
  );
}
