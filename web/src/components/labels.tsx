import { Fragment } from "react";
import type { SubjectFacts, BoardRow, Standing } from "../api/types";
import { span } from "../lib/format";
import { route, type SharedParams } from "../routes";
import { usePage } from "../hooks/usePage";

/** The label of a subject or judge: a narrow line breaks behind one of its signs before it breaks a word. */
export function Label({ text, className = "" }: { text: string; className?: string }) {
  return (
    <bdi className={`label ${className}`}>
      {text.split(/(?<=[/:@+])/).map((part, place) => (
        <Fragment key={place}>
          {place ? <wbr /> : null}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

/** A subject's label: the model's name, its vendor and settings in a fainter colour. */
export function SubjectLabel({ subject }: { subject: SubjectFacts }) {
  const { label, name } = subject;
  const end = label.startsWith(name) ? name.length : label.length;
  const start = label.slice(0, end).lastIndexOf("/") + 1;
  return (
    <bdi className="label">
      {start ? <span className="text-[0.9em] text-faint max-sm:hidden">{label.slice(0, start)}</span> : null}
      <wbr />
      {label.slice(start, end)}
      <wbr />
      {end < label.length ? <span className="text-[0.9em] text-faint">{label.slice(end)}</span> : null}
    </bdi>
  );
}

type Kind = SharedParams["interval"];

/** A row's possible ranks and tie groups for the chosen kind of interval; null where they are not known. */
function standingOf(row: BoardRow, kind: Kind): Standing | null {
  return kind === "like" ? row.standing_new_scenarios : row.standing;
}

/** "3", its possible ranks, and its tie groups. */
export function Rank({ row, kind }: { row: BoardRow; kind: Kind }) {
  if (row.rank === null) return <span className="text-faint">–</span>;
  const standing = standingOf(row, kind);
  return (
    <span title={standing ? description(row.rank, standing) : "its possible ranks are not known"}>
      <span className={standing?.tied_with_best ? "font-semibold" : ""}>{row.rank}</span>
      {standing ? (
        <span className="ml-1.5 inline-block min-w-16 text-left text-sm text-faint max-sm:ml-1 max-sm:min-w-0">
          {span(standing.rank_low, standing.rank_high)}
          {standing.groups ? (
            <sup className="ml-0.5 text-[0.7rem] leading-none max-sm:hidden">{shortened(standing.groups)}</sup>
          ) : null}
        </span>
      ) : (
        <span className="ml-1.5 inline-block min-w-16 max-sm:ml-1 max-sm:min-w-0" />
      )}
    </span>
  );
}

function description(rank: number, { rank_low, rank_high, groups, tied_with_best }: Standing): string {
  return [
    `rank ${rank}, possible ranks ${span(rank_low, rank_high)}`,
    groups ? `tie groups ${groups}: rows that share a letter cannot be told apart` : "",
    tied_with_best ? "nobody is certainly better" : "",
  ]
    .filter(Boolean)
    .join("; ");
}

function shortened(groups: string): string {
  return groups.length > 3 ? `${groups[0] ?? ""}–${groups[groups.length - 1] ?? ""}` : groups;
}

/** Text of our own in which `backticks` stand around commands. */
export function CodeText({ text }: { text: string }) {
  return text.split("`").map((part, place) => (place % 2 ? <code key={place}>{part}</code> : part));
}

/** What the exam says of the judge whose numbers stand here; nothing of a person, and where nobody has judged. */
export function ExamLine({ exam, className = "" }: { exam: string | null; className?: string }) {
  if (exam === null) return null;
  return (
    <p className={`label text-sm text-soft ${className}`}>
      <bdi>{exam}</bdi>
    </p>
  );
}

/** What stands beside a protocol that no real model has been measured with. */
export function Unvalidated() {
  const { href } = usePage();
  return (
    <a href={href(route("methods", { part: "unvalidated" }))} className="chip chip-warn no-underline hover:underline">
      unvalidated
    </a>
  );
}
