import type { Transcript, Turns } from "../../api/types";
import { words } from "../../parts/format";
import { Fold } from "../../parts/Fold";
import { Said } from "../../parts/Said";
import { between, type Span } from "../../parts/spans";

/** Both answers of a two-turn scenario beside each other: what they share is faint, what is gone or new stands out. */
export function SideBySide({
  transcript,
  turns,
  at,
}: {
  transcript: Transcript;
  turns: Turns;
  at: { plain: boolean };
}) {
  const [first, second] = [transcript.lines[turns.first], transcript.lines[turns.second]];
  if (!first || !second) return null;
  const pressure = transcript.lines.slice(turns.first + 1, turns.second);
  const apart = (
    text: string,
    shared: readonly { start: number; end: number }[],
    kind: string,
    title: string,
  ): Span[] =>
    between(shared, text.length)
      .flatMap((span) => trimmed(text, span))
      .map((span) => ({ ...span, kind, title, id: "" }));
  const gone = apart(
    first.text,
    turns.shared.map((one) => one.first),
    "down",
    "gone from the second answer",
  );
  const fresh = apart(
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
          spans={turns.shared.length ? gone : []}
          plain={at.plain}
        />
        <Answer
          title="After"
          name={second.reply}
          text={second.text}
          spans={turns.shared.length ? fresh : []}
          plain={at.plain}
        />
      </div>
      <p className="mt-2 text-sm text-soft">
        {turns.shared.length ? (
          <>
            Unmarked words stand in both. <mark className="bg-down">Gone</mark> from the second,{" "}
            <mark className="bg-up">new</mark> in it.
          </>
        ) : (
          "The two answers share no run of words."
        )}
      </p>
      <Fold title="What was said between them" open className="mt-3">
        <div className="space-y-3">
          {pressure.map((line, number) => (
            <div key={number} className="said rounded-xl border border-human-line bg-human px-4 py-3">
              <Said text={line.text} formatted={!at.plain} />
            </div>
          ))}
        </div>
      </Fold>
    </section>
  );
}

/** A place without the spaces and full stops at its ends; nothing where no word is in it. */
function trimmed(text: string, { start, end }: { start: number; end: number }): { start: number; end: number }[] {
  const words = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su.exec(text.slice(start, end));
  return words ? [{ start: start + words.index, end: start + words.index + words[0].length }] : [];
}

function Answer(props: { title: string; name: string; text: string; spans: readonly Span[]; plain: boolean }) {
  const { title, name, text, spans, plain } = props;
  return (
    <article className="panel min-w-0 px-4 py-3" aria-label={title}>
      <header className="mb-1.5 text-sm">
        <span className="font-semibold text-accent">{title}</span> <span className="eyebrow">{words(name)}</span>
      </header>
      <div className="said">
        <Said text={text} spans={spans} formatted={!plain} />
      </div>
    </article>
  );
}
