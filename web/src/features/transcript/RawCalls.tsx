import { useState } from "react";
import { fileAt } from "../../api/client";
import { paths } from "../../api/paths";
import type { Raw } from "../../api/types";
import { words } from "../../parts/format";
import { Fold } from "../../parts/Fold";
import { Failed, Loading } from "../../parts/states";
import { useAnswer } from "../../parts/useAnswer";
import { laidOut } from "./Protocol";

/** Requests and responses as they were recorded; read when asked for. */
export function RawCalls({ transcript }: { transcript: string }) {
  const [open, setOpen] = useState(false);
  const answer = useAnswer<Raw>(open ? paths.raw(transcript) : null);
  return (
    <Fold
      title="Raw requests and responses"
      note="as recorded; without addresses and keys"
      className="mt-5"
      onToggle={setOpen}
    >
      {answer.state === "loading" ? <Loading what="the record" /> : null}
      {answer.state === "failed" ? <Failed failure={answer.failure} again={answer.again} /> : null}
      {answer.state === "ready" ? (
        <>
          {answer.value.calls.length ? null : (
            <p className="text-soft">
              Nothing was recorded of these calls: the conversation was imported, or its records were cleared.
            </p>
          )}
          {answer.value.calls.map((call, place) => (
            <Fold
              key={place}
              title={<bdi className="label">{call.kind === "reply" ? words(call.name) : call.name}</bdi>}
              note={call.kind === "reply" ? "the model's reply" : "a judge's verdict"}
            >
              <p className="eyebrow">request</p>
              <pre className="raw rounded-lg bg-sunk p-3">{laidOut(call.request)}</pre>
              {call.attempts.map((attempt, number) => (
                <div key={number} className="mt-2">
                  <p className="eyebrow">
                    attempt {number + 1}: {attempt.outcome}
                    {attempt.status === null ? "" : `, HTTP ${String(attempt.status)}`}
                  </p>
                  <pre className="raw rounded-lg bg-sunk p-3">
                    {attempt.response ? laidOut(attempt.response) : "nothing was kept"}
                  </pre>
                </div>
              ))}
            </Fold>
          ))}
          <p className="mt-2 text-sm">
            <a href={fileAt(paths.raw(transcript))} download={`raw-${transcript}.json`}>
              All of it as JSON
            </a>
          </p>
        </>
      ) : null}
    </Fold>
  );
}
