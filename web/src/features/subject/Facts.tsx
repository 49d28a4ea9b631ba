import type { ReactNode } from "react";
import type { Subject } from "../../api/types";
import { dataProblems, healthDetails } from "../../components/DataHealth";
import { count, orDash } from "../../lib/format";

/** What is known of the subject beside its scores. */
export function Facts({ subject }: { subject: Subject }) {
  const { row, served, shown } = subject;
  const { subject: facts, health, price } = row;
  const problems = dataProblems(health);
  const providers = served.slice(0, 6).map(([provider, replies]) => `${provider} (${count(replies)})`);
  const more = served.length > 6 ? ` and ${served.length - 6} more` : "";
  const perRun = `${orDash(price?.shown.dollars_per_run)} a run`;
  const parts = `replies ${orDash(price?.shown.replies_per_run)}, judge ${orDash(price?.shown.judging_per_run)}`;
  const lines: Record<string, ReactNode> = {
    "Model": <Name>{facts.model}</Name>,
    "Endpoint": <Name>{facts.endpoint}</Name>,
    "Provider": facts.provider ? <Name>{facts.provider} (pinned)</Name> : "not pinned",
    "Served by": served.length ? <span className="label">{providers.join(", ") + more}</span> : "not known",
    "Reasoning": `${facts.reasoning}; ${health.shown.reasoned_share} of its replies came with reasoning`,
    "Temperature": facts.temperature,
    "Limit": facts.max_tokens ? `${count(facts.max_tokens)} tokens a reply` : "not known",
    "Cost": price?.free ? "free" : `${perRun} (${parts}), ${orDash(shown.dollars)} in all`,
    "Runs": row.runs,
    "Data": problems.length ? problems.join(", ") : "clean",
  };
  return (
    <section aria-label="Facts" className="panel self-start px-4 py-3">
      <dl className="text-[0.95rem]">
        {Object.entries(lines).map(([name, value]) => (
          <div
            key={name}
            className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-3 border-b border-line py-1 last:border-0"
          >
            <dt className="text-faint">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-sm text-faint">{healthDetails(health)}.</p>
    </section>
  );
}

/** A name that somebody else chose. */
function Name({ children }: { children: ReactNode }) {
  return <bdi className="label">{children}</bdi>;
}
