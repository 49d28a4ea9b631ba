import { useState } from "react";
import { transcriptAt } from "../../addresses";
import { paths } from "../../api/paths";
import type { Subject, Transcript } from "../../api/types";
import { shown, words } from "../../parts/format";
import { useHere } from "../../parts/place";
import { Said } from "../../parts/Said";
import { Failed, Loading } from "../../parts/states";
import { useAnswer } from "../../parts/useAnswer";

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
      {sides.map((side, place) => (
        <One
          key={`${side.subject} ${side.configuration ?? ""}`}
          scenario={scenario}
          of={side}
          label={`${place ? "B" : "A"}: ${side.label}`}
        />
      ))}
    </div>
  );
}

function One({ scenario, of, label }: { scenario: string; of: Speaker; label: string }) {
  const { board, href } = useHere();
  const [chosen, setChosen] = useState("");
  const list = useAnswer<Subject>(paths.subject(of.board, of.subject));
  const every = list.state === "ready" ? list.value.transcripts.filter((one) => one.scenario === scenario) : [];
  const there = every.filter((one) => of.configuration === null || one.configuration === of.configuration);
  const entry = there.find((one) => one.id === chosen) ?? there[0];
  const answer = useAnswer<Transcript>(entry ? paths.transcript(entry.id) : null);
  return (
    <article className="panel min-w-0 px-4 py-3" aria-label={label}>
      <header className="mb-2 flex flex-wrap items-baseline justify-between gap-2">
        <bdi className="label font-medium">{label}</bdi>
        {there.length > 1 ? (
          <select
            className="field text-sm"
            aria-label={`Which conversation of ${label}`}
            value={entry?.id ?? ""}
            onChange={(event) => {
              setChosen(event.target.value);
            }}
          >
            {there.map((one) => (
              <option key={one.id} value={one.id}>
                run {one.run}
                {of.configuration === null && board.configurations.length > 1
                  ? `, ${words(one.configuration)}`
                  : ""}: {one.score === null ? one.state : shown(one.shown.score)}
              </option>
            ))}
          </select>
        ) : null}
      </header>
      {list.state === "failed" ? <Failed failure={list.failure} again={list.again} /> : null}
      {list.state === "ready" && !entry ? <p className="text-soft">It has not been asked this.</p> : null}
      {list.state === "loading" || (entry && answer.state === "loading") ? <Loading what="the answer" /> : null}
      {entry && answer.state === "failed" ? <Failed failure={answer.failure} again={answer.again} /> : null}
      {entry && answer.state === "ready" ? (
        <>
          {answer.value.lines.map((line, place) =>
            line.who === "model" ? (
              <div key={place} className={`said mb-3 ${line.judged ? "" : "text-soft"}`}>
                {line.reply ? (
                  <p className="eyebrow">
                    {words(line.reply)}
                    {line.judged ? "" : " (not what is marked)"}
                  </p>
                ) : null}
                <Said text={line.text} />
              </div>
            ) : null,
          )}
          <a href={href(transcriptAt(entry.id), of.board === board.id ? {} : { board: of.board })} className="text-sm">
            Read the conversation
          </a>
        </>
      ) : null}
    </article>
  );
}
