import type { Transcript, Turns } from "../../api/types";
import { humanize } from "../../lib/format";
import { Disclosure } from "../../components/sections";
import { MessageText } from "../../components/MessageText";
import { between, type Place } from "../../lib/textSpans";

interface Props {
  transcript: Transcript;
  turns: Turns;
  formatted: boolean;
}

/** Both answers of a two-turn scenario beside each other; words of one of them only are highlighted. */
export function SideBySide({ transcript, turns, formatted }: Props) {
  const pressure = transcript.lines.slice(turns.first + 1, turns.second);
  const sides = [
    { side: "first", title: "Before", kind: "down", differs: "gone from the second answer" },
    { side: "second", title: "After", kind: "up", differs: "new in the second answer" },
  ] as const;
  return (
    <section aria-label="Both answers">
      <div className="grid gap-4 md:grid-cols-2">
        {sides.map(({ side, title, kind, differs }) => {
          const { text = "", reply = "" } = transcript.lines[turns[side]] ?? {};
          const shared = turns.shared.map((place) => place[side]);
          const differing = shared.length ? between(shared, text.length).flatMap((place) => trimmed(text, place)) : [];
          const spans = differing.map((place) => ({ ...place, kind, title: differs, id: "" }));
          return (
            <article key={side} className="panel min-w-0 px-4 py-3" aria-label={title}>
              <header className="mb-1.5 text-sm">
                <span className="font-semibold text-accent">{title}</span>{" "}
                <span className="eyebrow">{humanize(reply)}</span>
              </header>
              <div className="prose-text">
                <MessageText text={text} spans={spans} formatted={formatted} />
              </div>
            </article>
          );
        })}
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
function trimmed(text: string, { start, end }: Place): Place[] {
  const words = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?/su.exec(text.slice(start, end));
  return words ? [{ start: start + words.index, end: start + words.index + words[0].length }] : [];
}
