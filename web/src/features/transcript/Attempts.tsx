import type { TranscriptAttempt } from "../../api/types";
import { count, timestamp, plural, orDash } from "../../lib/format";
import { Disclosure } from "../../components/sections";

/** Every attempt at a call: its outcome, why it was rejected, what it cost. */
export function Attempts({ attempts, what }: { attempts: readonly TranscriptAttempt[]; what: string }) {
  if (!attempts.length) return null;
  const rejected = attempts.filter((attempt) => !attempt.accepted).length;
  const last = attempts.find((attempt) => attempt.accepted) ?? attempts[attempts.length - 1];
  const note = last ? [last.provider, last.shown.dollars].filter(Boolean).join(", ") : "";
  return (
    <Disclosure
      className="mt-2 text-sm"
      title={
        <span className={rejected ? "text-warn" : "text-faint"}>
          {rejected ? `${plural(rejected, "rejected attempt")} at ${what}` : "Details of the call"}
        </span>
      }
      note={note}
    >
      <ol className="space-y-2">
        {attempts.map((attempt, place) => (
          <li key={place} className="border-l-2 border-line pl-3">
            <p>
              <span className={attempt.accepted ? "text-good" : "text-warn"}>
                {attempt.accepted ? "accepted" : "rejected"}: {attempt.outcome}
              </span>
              {attempt.why ? <span className="label"> – {attempt.why}</span> : null}
            </p>
            <p className="eyebrow label">{facts(attempt).join(" · ")}</p>
          </li>
        ))}
      </ol>
    </Disclosure>
  );
}

function facts(attempt: TranscriptAttempt): string[] {
  return [
    timestamp(attempt.started),
    attempt.seconds === null ? "" : `${orDash(attempt.shown.seconds)} s`,
    attempt.status === null ? "" : `HTTP ${attempt.status}`,
    attempt.finish_reason ? `finished: ${attempt.finish_reason}` : "",
    attempt.prompt_tokens === null ? "" : `${count(attempt.prompt_tokens)} tokens in`,
    attempt.completion_tokens === null ? "" : `${count(attempt.completion_tokens)} out`,
    attempt.reasoning_tokens ? `${count(attempt.reasoning_tokens)} of them reasoning` : "",
    `limit ${count(attempt.max_tokens)}`,
    attempt.shown.dollars ?? "",
    attempt.model ? `served as ${attempt.model}` : "",
    attempt.provider ? `by ${attempt.provider}` : "",
  ].filter(Boolean);
}
