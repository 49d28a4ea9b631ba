import type { MarkScale, SubjectReply } from "../../api/types";
import { MessageText } from "../../components/MessageText";
import { usePage } from "../../hooks/usePage";
import { branchTitle, STATES } from "../../lib/branches";
import { humanize, orDash, heatColor, markText } from "../../lib/format";
import { route } from "../../routes";
import { Label } from "../../components/labels";

interface Props {
  answer: SubjectReply;
  scales: readonly MarkScale[];
}

/** One subject's answer: its score, its marks and how it begins. */
export function AnswerCard({ answer, scales }: Props) {
  const { href, board } = usePage();
  const pooled = board.configurations.length > 1;
  const { subject, run, configuration, branches } = answer;
  const scenario = branches[0]?.scenario;
  const target = href(
    scenario === undefined
      ? route("transcript", { transcript: answer.transcript })
      : route("stem", { scenario, subject, run, configuration }),
  );
  const read = branches.length
    ? "All branches side by side"
    : answer.whole
      ? "Read the conversation"
      : "Read all of it";
  return (
    <article className="panel flex h-full flex-col px-4 py-3" aria-label={`${answer.label}, run ${answer.run}`}>
      <header className="mb-1.5 flex items-baseline justify-between gap-3">
        <a href={target} className="min-w-0">
          <Label text={answer.label} className="font-medium" />
        </a>
        <span className="shrink-0 rounded px-1.5 font-semibold tabular-nums" style={heatColor(answer.score)}>
          {answer.score === null ? STATES[answer.state] : orDash(answer.shown.score)}
        </span>
      </header>
      <p className="eyebrow mb-1.5">
        run {answer.run}
        {pooled ? ` · ${humanize(answer.configuration)}` : ""}
        {scales
          .filter((scale) => !branches.length && Object.hasOwn(answer.marks, scale.name))
          .map((scale) => ` · ${scale.title.toLowerCase()} ${markText(scale, answer)}`)
          .join("")}
        {answer.state === "no view" ? " · named no option, so the stem counts 0" : ""}
        {answer.cut_off ? " · cut off" : ""}
      </p>
      <div className="flex-1">
        <div className="prose-text line-clamp-6">
          {answer.text ? (
            <MessageText text={answer.text} formatted={false} />
          ) : (
            <span className="text-soft">There is no reply.</span>
          )}
        </div>
      </div>
      {branches.length ? (
        <ul className="mt-2 flex flex-wrap gap-1" aria-label="Its conversations">
          {branches.map((branch) => (
            <li key={branch.id}>
              <a className="chip" href={href(route("transcript", { transcript: branch.id }))}>
                {branchTitle(branch.branch ?? "")}{" "}
                {branch.state === "judged" ? orDash(branch.shown.score) : STATES[branch.state]}
              </a>
            </li>
          ))}
        </ul>
      ) : null}
      <a href={target} className="mt-2 text-sm" aria-label={`${read}: ${answer.label}, run ${answer.run}`}>
        {read}
      </a>
    </article>
  );
}
