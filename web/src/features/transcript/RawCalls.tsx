import { useState } from "react";
import { endpoints, useApi } from "../../api/queries";
import { humanize } from "../../lib/format";
import { Disclosure } from "../../components/sections";
import { FileLink } from "../../components/downloads";
import { Await } from "../../components/status";
import { prettyJson } from "./SentMessages";

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
                note={call.kind === "reply" ? "the model's reply" : "a judge's verdict"}
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
