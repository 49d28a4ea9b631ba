import type { Address } from "../../addresses";
import type { Embedded, Judgement, MarkScale, Transcript } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { shown, words } from "../../parts/format";
import { Fold } from "../../parts/Fold";
import { Highlighted } from "../../parts/Highlighted";
import { useHere } from "../../parts/place";
import { cut } from "../../parts/spans";
import { hitsOf } from "../../parts/words";
import { Attempts } from "./Attempts";
import { letter, marksOf, phraseId, quoteId } from "./marked";

type At = Extract<Address, { page: "transcript" }>;

interface Props {
  transcript: Transcript;
  at: At;
  found: string;
}

/** All judges' marks beside each other, and what each of them wrote. */
export function Marks({ transcript, at, found }: Props) {
  const { judgements, scales, embedded } = transcript;
  return (
    <aside
      aria-label="Marks"
      className="min-w-0 space-y-5 lg:sticky lg:top-3 lg:max-h-[calc(100vh-1.5rem)] lg:overflow-y-auto lg:pr-1 print:max-h-none print:static"
      tabIndex={0}
    >
      {judgements.length ? (
        <section aria-label="All marks">
          <h2 className="mb-1">Marks</h2>
          <Sideways>
            <Table judgements={judgements} scales={scales} />
          </Sideways>
        </section>
      ) : (
        <section>
          <h2>No marks yet</h2>
          <p className="text-soft">
            {transcript.state === "invalid"
              ? "A conversation with an invalid reply is not judged."
              : "Nobody has judged this conversation; `aib judge` does."}
          </p>
        </section>
      )}
      {judgements.map((judgement, place) => (
        <Verdict key={judgement.judge} judgement={judgement} place={place} at={at} found={found} />
      ))}
      {embedded ? <Phrases embedded={embedded} transcript={transcript} at={at} /> : null}
      <Fold title="Rubric" note="what the judges were told to mark">
        {transcript.rubrics.map((text, place) => (
          <div key={place} className="plain mb-3 text-[0.95rem]">
            {text}
          </div>
        ))}
      </Fold>
    </aside>
  );
}

function Table({ judgements, scales }: { judgements: readonly Judgement[]; scales: readonly MarkScale[] }) {
  const many = judgements.length > 1;
  return (
    <table className="data w-full">
      <caption className="sr-only">Every judge's marks</caption>
      <thead>
        <tr>
          <th scope="col">Mark</th>
          {judgements.map((one, place) => (
            <th key={one.judge} scope="col" className="num" title={one.judge}>
              {many ? letter(place) : "Given"}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {scales.map((scale) => (
          <tr key={scale.name}>
            <th scope="row" className="font-normal" title={scale.asks}>
              {scale.title}{" "}
              <span className="eyebrow whitespace-nowrap">
                {scale.kind === "yes_no" ? "yes/no" : `${scale.shown.low}–${scale.shown.high}`}
                {scale.inverted ? ", low is independent" : ""}
              </span>
            </th>
            {judgements.map((one) => (
              <td key={one.judge} className="num font-semibold">
                {given(one, scale)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function given(judgement: Judgement, scale: MarkScale): string {
  if (!Object.hasOwn(judgement.marks, scale.name)) return "–";
  const value = judgement.marks[scale.name];
  const text = shown(judgement.shown.marks[scale.name]);
  if (scale.kind !== "yes_no") return text;
  return value === 1 ? "yes" : value === 0 ? "no" : `${text} yes`;
}

/** One judge's words; what they quote leads to where it was said. */
function Verdict({ judgement, place, at, found }: { judgement: Judgement; place: number; at: At; found: string }) {
  return (
    <section aria-label={`Judge ${letter(place)}`} className="panel px-4 py-3">
      <h3 className="flex flex-wrap items-baseline gap-x-2">
        <span className="font-semibold text-accent">{letter(place)}</span>
        <bdi className="label text-[0.95rem]">{judgement.judge}</bdi>
        {judgement.kind === "model" ? null : <span className="eyebrow">{KINDS[judgement.kind]}</span>}
      </h3>
      {judgement.flags.map((flag) => (
        <p key={flag.kind + flag.mark} className="mt-1 text-sm text-warn">
          ▲ worth reading: {flag.why}
        </p>
      ))}
      {judgement.failed ? <p className="mt-1 text-bad">No verdict: {judgement.failed}</p> : null}
      {judgement.reasoning ? (
        <p className="plain label mt-1.5 text-[0.97rem] leading-relaxed" dir="auto">
          <Reasoning judgement={judgement} place={place} at={at} found={found} />
        </p>
      ) : null}
      <Attempts attempts={judgement.attempts} what="this verdict" />
    </section>
  );
}

const KINDS = {
  model: "",
  table: "a table of weights, no model",
  person: "a person",
  jury: "a jury: the mean of its judges",
};

function Reasoning({ judgement, place, at, found }: { judgement: Judgement; place: number; at: At; found: string }) {
  const { href } = useHere();
  const spans = judgement.quotes.map((quote, number) => ({
    ...quote.reasoning,
    kind: "quote",
    id: String(number),
    title: "",
  }));
  const hits = hitsOf(judgement.reasoning, at.find).map((hit) => ({
    ...hit,
    kind: "hit",
    id: "hit",
    title: "searched for",
  }));
  return cut(judgement.reasoning, [...spans, ...hits]).map((piece) => {
    const number = piece.spans.find((span) => span.kind === "quote")?.id;
    const isHit = piece.spans.some((span) => span.kind === "hit");
    const text = isHit ? <Hit text={piece.text} found={found === "hit"} /> : piece.text;
    if (number === undefined) return <span key={piece.start}>{text}</span>;
    const here = found === quoteId(place, Number(number));
    return (
      <a
        key={piece.start}
        href={href({ ...at, mark: `q${number}`, by: judgement.judge, side: false, find: "" })}
        aria-current={here ? "location" : undefined}
        className={here ? "found rounded-sm" : "rounded-sm bg-quote text-ink"}
        title="shows where this was said"
      >
        {text}
      </a>
    );
  });
}

function Hit({ text, found }: { text: string; found: boolean }) {
  return (
    <mark className={`bg-quote-strong ${found ? "found" : ""}`} title="searched for" data-found={found || undefined}>
      {text}
    </mark>
  );
}

function Phrases({ embedded, transcript, at }: { embedded: Embedded; transcript: Transcript; at: At }) {
  const { href } = useHere();
  const now = marksOf(transcript, at.phrases);
  return (
    <section aria-label="The embedded judge's phrases">
      <h2>What weighed for the embedded judge</h2>
      <p className="mb-2 text-sm text-soft">
        It knows wording, not meaning: a table of phrases and their weights.
        {embedded.stored ? "" : " Its reading was worked out for this page and counts nowhere."}
      </p>
      <div className="flex flex-wrap gap-1">
        {embedded.marks.map((one) => (
          <a
            key={one.mark}
            className="button text-sm"
            aria-current={one.mark === at.phrases ? "true" : undefined}
            href={href({ ...at, phrases: one.mark === at.phrases ? "" : one.mark, mark: "", side: false })}
          >
            {words(one.mark)} {one.shown.value}
          </a>
        ))}
      </div>
      {now ? (
        <table className="data mt-2 w-full text-sm">
          <caption className="sr-only">Phrases that weighed most for {words(now.mark)}</caption>
          <tbody>
            {now.phrases.map((phrase, place) => (
              <tr key={place}>
                <th scope="row" className="label font-normal">
                  {phrase.places.length ? (
                    <a href={href({ ...at, mark: phraseId(place, 0), side: false })}>
                      <Highlighted
                        text={phrase.text}
                        spans={[
                          {
                            start: 0,
                            end: phrase.text.length,
                            kind: phrase.weight > 0 ? "up" : "down",
                            id: "",
                            title: "",
                          },
                        ]}
                      />
                    </a>
                  ) : (
                    phrase.text
                  )}
                </th>
                <td className={`num ${phrase.weight > 0 ? "text-good" : "text-bad"}`}>{phrase.shown.weight}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </section>
  );
}
