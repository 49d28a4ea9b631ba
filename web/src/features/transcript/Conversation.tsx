import type { TranscriptLine, TranscriptReply, Transcript } from "../../api/types";
import { humanize } from "../../lib/format";
import { Disclosure } from "../../components/sections";
import { MessageText } from "../../components/MessageText";
import { Attempts } from "./Attempts";
import { spansOf, type Wanted } from "./highlights";

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
        {line.judged ? <span className="chip border-accent text-accent">the marks are about this</span> : null}
        {reply?.cut_off ? <span className="chip chip-warn">cut off by the token limit</span> : null}
        {reply?.plain_text ? <span className="chip chip-warn">in plain text, without calling the tool</span> : null}
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
