import { useState } from "react";
import type { TranscriptAttempt, Transcript } from "../../api/types";
import { count, timestamp, plural, orDash, humanize } from "../../lib/format";
import { Disclosure } from "../../components/sections";
import { endpoints, useApi } from "../../api/queries";
import { FileLink } from "../../components/downloads";
import { Await } from "../../components/status";

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

/** The conversation as it is sent to the model: roles, calls of the tool and their results. */
export function SentMessages({ transcript }: { transcript: Transcript }) {
  return (
    <section aria-label="As sent to the model" className="panel mt-5 p-4">
      <h2>As sent to the model</h2>
      <p className="mb-3 text-sm text-soft">
        {transcript.delivery === "tool_role"
          ? "The model speaks by calling a tool, and what the human says comes back as the result of that call."
          : "What the human says are user messages, what the model says are assistant messages."}
      </p>
      <ol className="space-y-2">
        {transcript.messages.map((message, place) => (
          <li key={place} className="border-l-2 border-line pl-3">
            <p className="eyebrow">
              {message.role}
              {message.tool_call_id ? ` · result of ${message.tool_call_id}` : ""}
            </p>
            {message.content ? <pre className="raw">{message.content}</pre> : null}
            {message.tool_calls.map((call) => (
              <div key={call.id}>
                <p className="eyebrow">
                  calls <code>{call.name}</code> · {call.id}
                </p>
                <pre className="raw">{call.arguments}</pre>
              </div>
            ))}
          </li>
        ))}
      </ol>
      {transcript.tools && transcript.tools !== "[]" ? (
        <Disclosure title="Tools that it was offered" className="mt-3">
          <pre className="raw">{prettyJson(transcript.tools)}</pre>
        </Disclosure>
      ) : null}
    </section>
  );
}

/** JSON text with indentation; other text as it is. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Requests and responses as they were recorded; read when opened. */
export function RawCalls({ transcript }: { transcript: string }) {
  const [open, setOpen] = useState(false);
  const calls = useApi(open ? endpoints.raw(transcript) : null);
  return (
    <Disclosure
      title="Raw requests and responses"
      note="as recorded; without addresses and keys"
      className="mt-5"
      onToggle={setOpen}
    >
      <Await query={calls} what="the record">
        {(raw) => (
          <>
            {raw.calls.length ? null : (
              <p className="text-soft">
                Nothing was recorded of these calls: the conversation was imported, or its records were cleared.
              </p>
            )}
            {raw.calls.map((call, place) => (
              <Disclosure
                key={place}
                title={<bdi className="label">{call.kind === "reply" ? humanize(call.name) : call.name}</bdi>}
                note={call.kind === "reply" ? "the model's reply" : "a judge's judgement"}
              >
                <p className="eyebrow">request</p>
                <pre className="raw rounded-lg bg-sunk p-3">{prettyJson(call.exchange.request)}</pre>
                {call.exchange.bodies.map((attempt, number) => (
                  <div key={number} className="mt-2">
                    <p className="eyebrow">
                      attempt {number + 1}: {attempt.outcome ?? "in flight"}
                      {attempt.status === null ? "" : `, HTTP ${attempt.status}`}
                    </p>
                    <pre className="raw rounded-lg bg-sunk p-3">
                      {attempt.raw ? prettyJson(attempt.raw) : "nothing was kept"}
                    </pre>
                  </div>
                ))}
              </Disclosure>
            ))}
            <p className="mt-2 text-sm">
              <FileLink path={endpoints.raw(transcript)} name={`raw-${transcript}.json`}>
                All of it as JSON
              </FileLink>
            </p>
          </>
        )}
      </Await>
    </Disclosure>
  );
}
