import { useState } from "react";
import { endpoints } from "../../api/endpoints";
import { useApi } from "../../api/queries";
import type { Transcript } from "../../api/types";
import { MessageText } from "../../components/MessageText";
import { Await } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize, orDash } from "../../lib/format";
import { route } from "../../routes";
import { Label } from "../../components/Label";

/** Whose answers: those of a subject on a board, or there in one configuration only. */
export interface Speaker {
  label: string;
  subject: string;
  board: string;
  configuration: string | null;
}

/** What both said in one scenario, beside each other. */
export function Answers({ scenario, sides }: { scenario: string; sides: readonly [Speaker, Speaker] }) {
  return (
    <div className="grid gap-4 pb-4 md:grid-cols-2">
      {sides.map((side, index) => (
        <Answer
          key={`${side.subject} ${side.configuration ?? ""}`}
          scenario={scenario}
          speaker={side}
          label={`${index ? "B" : "A"}: ${side.label}`}
        />
      ))}
    </div>
  );
}

function Answer({ scenario, speaker, label }: { scenario: string; speaker: Speaker; label: string }) {
  const { board, href } = usePage();
  const { configuration } = speaker;
  const [chosen, setChosen] = useState("");
  const subject = useApi(endpoints.subject(speaker.board, speaker.subject));
  const entries = (subject.data?.transcripts ?? []).filter(
    (one) => one.scenario === scenario && (configuration === null || one.configuration === configuration),
  );
  const entry = entries.find((one) => one.id === chosen) ?? entries[0];
  const transcript = useApi(entry ? endpoints.transcript(entry.id) : null);
  const named = configuration === null && board.configurations.length > 1;
  return (
    <article className="panel min-w-0 px-4 py-3" aria-label={label}>
      <header className="mb-2 flex flex-wrap items-baseline justify-between gap-2">
        <Label text={label} className="font-medium" />
        {entries.length > 1 ? (
          <select
            className="field text-sm"
            aria-label={`Which conversation of ${label}`}
            value={entry?.id ?? ""}
            onChange={(event) => setChosen(event.target.value)}
          >
            {entries.map((one) => (
              <option key={one.id} value={one.id}>
                run {one.run}
                {named ? `, ${humanize(one.configuration)}` : ""}:{" "}
                {one.score === null ? one.state : orDash(one.shown.score)}
              </option>
            ))}
          </select>
        ) : null}
      </header>
      <Await query={subject} what="the answer">
        {() =>
          entry ? (
            <Await query={transcript} what="the answer">
              {(value) => (
                <>
                  <Replies transcript={value} />
                  <a
                    href={href(
                      route("transcript", { transcript: entry.id }),
                      speaker.board === board.id ? {} : { board: speaker.board },
                    )}
                    className="text-sm"
                  >
                    Read the conversation
                  </a>
                </>
              )}
            </Await>
          ) : (
            <p className="text-soft">It was not asked this question.</p>
          )
        }
      </Await>
    </article>
  );
}

function Replies({ transcript }: { transcript: Transcript }) {
  return transcript.lines.map((line, index) =>
    line.who === "model" ? (
      <div key={index} className={`prose-text mb-3 ${line.judged ? "" : "text-soft"}`}>
        {line.reply ? (
          <p className="eyebrow">
            {humanize(line.reply)}
            {line.judged ? "" : " (not what is marked)"}
          </p>
        ) : null}
        <MessageText text={line.text} />
      </div>
    ) : null,
  );
}
