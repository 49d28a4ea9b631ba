import type { Line, Reply, Transcript } from "../../api/types";
import { words } from "../../parts/format";
import { Fold } from "../../parts/Fold";
import { Said } from "../../parts/Said";
import { Attempts } from "./Attempts";
import { spansOf, type Wanted } from "./marked";

interface Props {
  transcript: Transcript;
  at: Wanted & { plain: boolean };
  found: string;
}

/** The conversation as a chat. What the human never saw is folded away and says so. */
export function Conversation({ transcript, at, found }: Props) {
  const missing = transcript.replies.filter((reply) => reply.line === null);
  return (
    <section aria-label="Conversation" className="space-y-3">
      <Fold
        title="System prompt"
        note={`${words(transcript.configuration.split("/")[0] ?? "")}, not part of what was heard`}
        className="panel px-3 py-1.5"
      >
        {transcript.system ? (
          <div className="said plain">{transcript.system}</div>
        ) : (
          <p className="text-soft">There was none.</p>
        )}
      </Fold>
      {transcript.lines.map((line, number) => (
        <Turn
          key={number}
          line={line}
          number={number}
          reply={transcript.replies.find((one) => one.line === number)}
          transcript={transcript}
          at={at}
          found={found}
        />
      ))}
      {missing.map((reply) => (
        <NoReply key={reply.name} reply={reply} />
      ))}
    </section>
  );
}

const WHO = {
  human: ["The human", "bg-human border-human-line md:mr-[8%]", "text-human-ink"],
  given: ["Put into the model's mouth", "bg-given border-given-line border-dashed md:ml-[8%]", "text-given-ink"],
  model: ["The model", "bg-model border-line md:ml-[8%]", "text-accent"],
} as const;

interface TurnProps extends Props {
  line: Line;
  number: number;
  reply: Reply | undefined;
}

function Turn({ line, number, reply, transcript, at, found }: TurnProps) {
  const [who, looks, ink] = WHO[line.who];
  return (
    <article
      aria-label={`${who}${line.reply ? `, ${words(line.reply)}` : ""}`}
      className={`rounded-xl border px-4 py-3 ${looks}`}
      id={`line-${String(number)}`}
    >
      <header className="mb-1.5 flex flex-wrap items-baseline gap-x-2.5 gap-y-1 text-sm">
        <span className={`font-semibold ${ink}`}>{who}</span>
        {line.who === "given" ? <span className="eyebrow">it did not say this itself</span> : null}
        {line.reply ? <span className="eyebrow">{words(line.reply)}</span> : null}
        {line.judged ? <span className="chip border-accent text-accent">the marks are about this</span> : null}
        {reply?.cut_off ? <span className="chip chip-warn">cut off by the token limit</span> : null}
        {reply?.plain_text ? <span className="chip chip-warn">spoken beside the tool</span> : null}
      </header>
      <Unseen title="Reasoning before the reply" text={line.reasoning} />
      <Unseen title="Private notes" text={line.notes} />
      {!line.reasoning && reply?.reasoned ? (
        <p className="eyebrow mb-1">It reasoned before this reply; its provider does not show what.</p>
      ) : null}
      <div className="said">
        <Said text={line.text} spans={spansOf(transcript, number, at)} found={found} formatted={!at.plain} />
      </div>
      {reply ? <Attempts attempts={reply.attempts} what="this reply" /> : null}
    </article>
  );
}

/** What the model kept to itself. */
function Unseen({ title, text }: { title: string; text: string }) {
  if (!text) return null;
  return (
    <Fold
      title={<span className="text-private-ink">{title}</span>}
      note="not seen by the human, nor by the judges"
      className="mb-2 rounded-lg border border-private-line bg-private px-2.5 py-1"
    >
      <div className="plain text-[0.95rem]" dir="auto">
        {text}
      </div>
    </Fold>
  );
}

function NoReply({ reply }: { reply: Reply }) {
  return (
    <article
      className="rounded-xl border border-dashed border-bad px-4 py-3 md:ml-[8%]"
      aria-label={`No ${words(reply.name)}`}
    >
      <p>
        <span className="font-semibold text-bad">No usable reply</span>{" "}
        <span className="eyebrow">{words(reply.name)}</span>
      </p>
      <p className="text-soft">{reply.invalid ?? "It was not played."}</p>
      <Attempts attempts={reply.attempts} what="this reply" />
    </article>
  );
}
