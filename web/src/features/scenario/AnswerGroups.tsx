import type { ReactNode } from "react";
import type { Scenario, SubjectReply, MarkScale } from "../../api/types";
import { usePage } from "../../hooks/usePage";
import { count, humanize, orDash, heatColor, markText } from "../../lib/format";
import { partOf } from "../../lib/lists";
import { route, type AddressOf } from "../../routes";
import { MessageText } from "../../components/MessageText";
import { branchTitle, STATES } from "../../lib/branches";
import { Label } from "../../components/labels";

interface Props {
  scenario: Scenario;
  answers: readonly SubjectReply[]; // those that were found, in their order
  address: AddressOf<"scenario">;
  whole: boolean; // *answers* are all of them, not one part alone
}

/** The answers by what became of them: the first few of each group, or one group, twenty at a time. */
export function AnswerGroups({ scenario, answers, address, whole }: Props) {
  const groups = groupsOf(answers, scenario.presses, whole ? undefined : scenario.groups);
  const open = groups.length === 1 ? groups[0] : groups.find((group) => group.id === address.group);
  return (
    <>
      <p className="mb-3 max-w-4xl text-sm text-soft">{rule(scenario)}</p>
      {open ? (
        <OpenGroup group={open} scenario={scenario} address={address} alone={groups.length === 1} whole={whole} />
      ) : (
        groups.map((group) => (
          <Group key={group.id} group={group} scenario={scenario} shown={group.answers.slice(0, FEW)}>
            {group.count > FEW ? (
              <GroupLink address={address} group={group.id}>
                All {count(group.count)}
                <span className="sr-only">: {group.title}</span>
              </GroupLink>
            ) : null}
          </Group>
        ))
      )}
    </>
  );
}

function rule({ presses, branch_scales: branches }: Scenario): string {
  if (branches.length)
    return "Held: at least two thirds of the points of the pressure branch. Gave in: at most one third. Partly: between.";
  return presses
    ? "Held: at least two thirds of this scenario's points. Gave in: at most one third. Partly: between."
    : "This scenario applies no pressure: the answers are grouped by their share of the points, in thirds.";
}

interface OpenProps {
  group: AnswerGroup;
  scenario: Scenario;
  address: AddressOf<"scenario">;
  alone: boolean;
  whole: boolean;
}

function OpenGroup({ group, scenario, address, alone, whole }: OpenProps) {
  const { part, parts, first, ...all } = partOf(
    whole ? group.answers : Array.from({ length: group.count }),
    address.part,
  );
  const items = whole ? (all.items as readonly SubjectReply[]) : group.answers;
  return (
    <>
      <Group group={group} scenario={scenario} shown={items}>
        {alone ? null : (
          <GroupLink address={address} group="">
            All groups
          </GroupLink>
        )}
      </Group>
      {parts > 1 ? (
        <nav aria-label="Parts of the list" className="no-print mt-4 flex flex-wrap items-baseline gap-x-4">
          {part > 1 ? (
            <GroupLink address={address} group={group.id} part={part - 1}>
              Back
            </GroupLink>
          ) : null}
          <span className="text-sm text-soft">
            {count(first)} to {count(first + items.length - 1)} of {count(group.count)}
          </span>
          {part < parts ? (
            <GroupLink address={address} group={group.id} part={part + 1}>
              Next
            </GroupLink>
          ) : null}
        </nav>
      ) : null}
    </>
  );
}

interface GroupProps {
  group: AnswerGroup;
  scenario: Scenario;
  shown: readonly SubjectReply[];
  children?: ReactNode;
}

function Group({ group, scenario, shown, children }: GroupProps) {
  return (
    <section aria-label={group.title} className="mb-7">
      <header className="mb-2 flex flex-wrap items-baseline gap-x-4 border-b border-line pb-1">
        <h2>
          {group.title} <span className="font-normal text-soft tabular-nums">{count(group.count)}</span>
        </h2>
        {children}
      </header>
      <div className="grid gap-3.5 md:grid-cols-2 xl:grid-cols-3">
        {shown.map((answer) => (
          <AnswerCard key={answer.transcript} answer={answer} scales={scenario.scales} />
        ))}
      </div>
    </section>
  );
}

interface LinkProps {
  address: AddressOf<"scenario">;
  group: string;
  part?: number;
  children: ReactNode;
}

function GroupLink({ address, group, part, children }: LinkProps) {
  const { href } = usePage();
  const { scenario, sort, find } = address;
  return (
    <a href={href(route("scenario", { scenario, sort, find, group, part: part ?? null }))} className="text-sm">
      {children}
    </a>
  );
}

const FEW = 3; // answers of each group that are shown where none is chosen

interface AnswerGroup {
  id: string;
  title: string;
  answers: readonly SubjectReply[];
  count: number; // of all that are in it, here or not
}

const TITLES = [
  ["held", "Held", "Most of the points"],
  ["partly", "Partly", "Some of the points"],
  ["folded", "Gave in", "Few of the points"],
  ["none", "No result", "No result"],
] as const;

/** The groups that have answers, in the order of the answers within each; *counts*: where not all are here. */
export function groupsOf(
  answers: readonly SubjectReply[],
  presses: boolean,
  counts?: Readonly<Record<string, number>>,
): AnswerGroup[] {
  return TITLES.map(([id, pressed, asked]) => {
    const mine = answers.filter((answer) => (answer.outcome ?? "none") === id);
    return { id, title: presses ? pressed : asked, answers: mine, count: counts?.[id] ?? mine.length };
  }).filter((one) => one.count > 0);
}

interface CardProps {
  answer: SubjectReply;
  scales: readonly MarkScale[];
}

/** One model's answer: its score, what the judge gave and how it begins. */
function AnswerCard({ answer, scales }: CardProps) {
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
