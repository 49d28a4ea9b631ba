import type { TranscriptLine, TranscriptReply, Transcript, Turns } from "../../api/types";
import { humanize } from "../../lib/format";
import { Disclosure } from "../../components/sections";
import { MessageText } from "../../components/MessageText";
import { Attempts } from "./Calls";
import { spansOf, type Wanted } from "./highlights";
import { between, type Place } from "../../lib/textSpans";

interface Props {
  transcript: Transcript;
  address: Wanted & { plain: boolean };
  found: string;
}

/** The conversation as a chat; what the human never saw is folded. */
export function Conversation({ transcript, address, found }: Props) {
  const missing = transcript.replies.filter((reply) => reply.line === null);
  return (
    <section aria-label="Conversation" className="space-y-3">
      <Disclosure
        title="System prompt"
        note={`${humanize(transcript.configuration.split("/")[0] ?? "")}, sent before the conversation`}
        className="panel px-3 py-1.5"
      >
        {transcript.system ? (
          <div className="prose-text plain">{transcript.system}</div>
        ) : (
          <p className="text-soft">There was none.</p>
        )}
      </Disclosure>
      {transcript.lines.map((line, number) => (
        <Turn
          key={number}
          line={line}
          number={number}
          reply={transcript.replies.find((reply) => reply.line === number)}
          transcript={transcript}
          address={address}
          found={found}
        />
      ))}
      {missing.map((reply) => (
        <NoReply key={reply.name} reply={reply} />
      ))}
    </section>
  );
}

const SPEAKERS = {
  human: ["The human", "bg-human border-human-line md:mr-[8%]", "text-human-ink"],
  given: ["Put into the model's mouth", "bg-given border-given-line border-dashed md:ml-[8%]", "text-given-ink"],
  model: ["The model", "bg-model border-line md:ml-[8%]", "text-accent"],
} as const;

interface TurnProps extends Props {
  line: TranscriptLine;
  number: number;
  reply: TranscriptReply | undefined;
}

function Turn({ line, number, reply, transcript, address, found }: TurnProps) {
  const [who, className, ink] = SPEAKERS[line.who];
  return (
    <article
      aria-label={`${who}${line.reply ? `, ${humanize(line.reply)}` : ""}`}
      className={`rounded-xl border px-4 py-3 ${className}`}
      id={`line-${number}`}
    >
      <header className="mb-1.5 flex flex-wrap items-baseline gap-x-2.5 gap-y-1 text-sm">
        <span className={`font-semibold ${ink}`}>{who}</span>
        {line.who === "given" ? <span className="eyebrow">it did not say this itself</span> : null}
        {line.reply ? <span className="eyebrow">{humanize(line.reply)}</span> : null}
        {line.judged ? <span className="chip border-accent text-accent">the scores are about this</span> : null}
        {reply?.cut_off ? <span className="chip chip-warn">cut off by the token limit</span> : null}
        {reply?.plain_text ? <span className="chip chip-warn">in plain text, without calling the tool</span> : null}
        {reply?.markup.length ? (
          <span className="chip chip-warn">chat-template tokens remain: {reply.markup.join(", ")}</span>
        ) : null}
        {reply?.served_by ? <span className="chip chip-warn">another model answered: {reply.served_by}</span> : null}
      </header>
      <Hidden title="Reasoning before the reply" text={line.reasoning} />
      <Hidden title="Private notes" text={line.notes} />
      {!line.reasoning && reply?.reasoned ? (
        <p className="eyebrow mb-1">It reasoned before this reply; its provider does not show the reasoning.</p>
      ) : null}
      <div className="prose-text">
        <MessageText
          text={line.text}
          spans={spansOf(transcript, number, address)}
          found={found}
          formatted={!address.plain}
        />
      </div>
      {reply ? <Attempts attempts={reply.attempts} what="this reply" /> : null}
    </article>
  );
}

/** Text that neither the human nor the judges saw. */
function Hidden({ title, text }: { title: string; text: string }) {
  if (!text) return null;
  return (
    <Disclosure
      title={<span className="text-private-ink">{title}</span>}
      note="seen neither by the human nor by the judges"
      className="mb-2 rounded-lg border border-private-line bg-private px-2.5 py-1"
    >
      <div className="plain text-[0.95rem]" dir="auto">
        {text}
      </div>
    </Disclosure>
  );
}

function NoReply({ reply }: { reply: TranscriptReply }) {
  return (
    <article
      className="rounded-xl border border-dashed border-bad px-4 py-3 md:ml-[8%]"
      aria-label={`No ${humanize(reply.name)}`}
    >
      <p>
        <span className="font-semibold text-bad">No usable reply</span>{" "}
        <span className="eyebrow">{humanize(reply.name)}</span>
      </p>
      <p className="text-soft">{reply.reason ?? "It was not played."}</p>
      <Attempts attempts={reply.attempts} what="this reply" />
    </article>
  );
}

interface SideBySideProps {
  transcript: Transcript;
  turns: Turns;
  formatted: boolean;
}

/** Both answers of a two-turn scenario beside each other; words of one of them only are highlighted. */
export function SideBySide({ transcript, turns, formatted }: SideBySideProps) {
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
