import type { Transcript } from "../../api/types";
import { Disclosure } from "../../components/sections";

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
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
