import type { ReactNode } from "react";
import type { Scenario, SubjectReply } from "../../api/types";
import { usePage } from "../../hooks/usePage";
import { count } from "../../lib/format";
import { partOf } from "../../lib/partOf";
import { route, type AddressOf } from "../../routes";
import { AnswerCard } from "./AnswerCard";
import { FEW, groupsOf, type AnswerGroup } from "./groups";

interface Props {
  scenario: Scenario;
  answers: readonly SubjectReply[]; // those that were found, in their order
  address: AddressOf<"scenario">;
}

/** The answers by what became of them: the first few of each group, or one group, twenty at a time. */
export function AnswerGroups({ scenario, answers, address }: Props) {
  const groups = groupsOf(answers, scenario.presses);
  const open = groups.length === 1 ? groups[0] : groups.find((group) => group.id === address.group);
  return (
    <>
      <p className="mb-3 max-w-4xl text-sm text-soft">{rule(scenario)}</p>
      {open ? (
        <OpenGroup group={open} scenario={scenario} address={address} alone={groups.length === 1} />
      ) : (
        groups.map((group) => (
          <Group key={group.id} group={group} scenario={scenario} shown={group.answers.slice(0, FEW)}>
            {group.answers.length > FEW ? (
              <GroupLink address={address} group={group.id}>
                All {count(group.answers.length)}
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
    return "Held: at least two thirds of the points of the pressure branch. Folded: at most one third. Partly: between.";
  return presses
    ? "Held: at least two thirds of this scenario's points. Folded: at most one third. Partly: between."
    : "This scenario applies no pressure: the answers are grouped by their share of the points, in thirds.";
}

interface OpenProps {
  group: AnswerGroup;
  scenario: Scenario;
  address: AddressOf<"scenario">;
  alone: boolean;
}

function OpenGroup({ group, scenario, address, alone }: OpenProps) {
  const { items, part, parts, first } = partOf(group.answers, address.part);
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
            {count(first)} to {count(first + items.length - 1)} of {count(group.answers.length)}
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
          {group.title} <span className="font-normal text-soft tabular-nums">{count(group.answers.length)}</span>
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
