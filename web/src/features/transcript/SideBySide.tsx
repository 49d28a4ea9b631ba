import type { Transcript, Turns } from "../../api/types";
import { humanize } from "../../lib/format";
import { Disclosure } from "../../components/sections";
import { MessageText } from "../../components/MessageText";
import { between, type Span } from "../../lib/textSpans";

/** Both answers of a two-turn scenario beside each other; words of one of them only are highlighted. */
export function SideBySide({
  transcript,
  turns,
  formatted,
}: {
  transcript: Transcript;
  turns: Turns;
  formatted: boolean;
}) {
  const [first, second] = [transcript.lines[turns.first], transcript.lines[turns.second]];
  if (!first || !second) return null;
  const pressure = transcript.lines.slice(turns.first + 1, turns.second);
  const differing = (
    text: string,
    shared: readonly { start: number; end: number }[],
    kind: string,
    title: string,
  ): Span[] =>
    between(shared, text.length)
      .flatMap((span) => trimmed(text, span))
      .map((span) => ({ ...span, kind, title, id: "" }));
  const removed = differing(
    first.text,
    turns.shared.map((one) => one.first),
    "down",
    "gone from the second answer",
  );
  const added = differing(
    second.text,
    turns.shared.map((one) => one.second),
    "up",
    "new in the second answer",
  );
  return (
    <section aria-label="Both answers">
      <div className="grid gap-4 md:grid-cols-2">
        <Answer
          title="Before"
          name={first.reply}
          text={first.text}
          spans={turns.shared.length ? removed : []}
          formatted={formatted}
        />
        <Answer
          title="After"
          name={second.reply}
          text={second.text}
          spans={turns.shared.length ? added : []}
          formatted={formatted}
        />
      </div>
      <p className="mt-2 text-sm text-soft">
        {turns.shared.length ? (
          <>
            Unmarked words are in both answers. <mark className="bg-down">Red</mark>: gone from the second.{" "}
            <mark className="bg-up">Green</mark>: new in it.
          </>
        ) : (
          "The two answers share no run of words."
        )}
      </p>
      <Disclosure title="What was said between them" open className="mt-3">
        <div className="space-y-3">
          {pressure.map((line, number) => (
            <div key={number} className="prose-text rounded-xl border border-human-line bg-human px-4 py-3">
              <MessageText text={line.text} formatted={formatted} />
            </div>
          ))}
        </div>
      </Disclosure>
    </section>
  );
}

/** A span without spaces and punctuation at its ends; none where it has no word. */
function trimmed(text: string, { start, end }: { start: number; end: number }): { start: number; end: number }[] {
  const words = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su.exec(text.slice(start, end));
  return words ? [{ start: start + words.index, end: start + words.index + words[0].length }] : [];
}

function Answer(props: { title: string; name: string; text: string; spans: readonly Span[]; formatted: boolean }) {
  const { title, name, text, spans, formatted } = props;
  return (
    <article className="panel min-w-0 px-4 py-3" aria-label={title}>
      <header className="mb-1.5 text-sm">
        <span className="font-semibold text-accent">{title}</span> <span className="eyebrow">{humanize(name)}</span>
      </header>
      <div className="prose-text">
        <MessageText text={text} spans={spans} formatted={formatted} />
      </div>
    </article>
  );
}
