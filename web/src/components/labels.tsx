import { Fragment } from "react";
import type { LabelDoubt as Doubt, Row, Standing } from "../api/types";
import { nameText, span } from "../lib/format";
import type { SharedParams } from "../routes";

/** The label of a model or judge: a narrow line breaks behind one of its signs before it breaks a word. */
export function Label({ text, className = "" }: { text: string; className?: string }) {
  return (
    <bdi className={`label ${className}`}>
      {nameText(text)
        .split(/(?<=[/:@+])/)
        .map((part, place) => (
          <Fragment key={place}>
            {place ? <wbr /> : null}
            {part}
          </Fragment>
        ))}
    </bdi>
  );
}

/** A model's label or name: its vendor and its settings are in a fainter colour. */
export function SubjectLabel({ label, name }: { label: string; name: string }) {
  const end = label.startsWith(name) ? name.length : label.length;
  const start = label.slice(0, end).lastIndexOf("/") + 1;
  return (
    <bdi className="label">
      {start ? <span className="text-[0.9em] text-faint">{label.slice(0, start)}</span> : null}
      <wbr />
      {label.slice(start, end)}
      <wbr />
      {end < label.length ? <span className="text-[0.9em] text-faint">{label.slice(end)}</span> : null}
    </bdi>
  );
}

/** The sign behind a label that may be taken for another one of its leaderboard; nothing behind others. */
export function LabelDoubt({ doubt }: { doubt: Doubt | null }) {
  if (doubt === null) return null;
  return (
    <span className="chip chip-warn" title={doubt.says}>
      <span aria-hidden="true">!</span>
      <span className="sr-only">this label may be taken for another: {doubt.says}</span>
    </span>
  );
}

type Kind = SharedParams["interval"];

/** A row's possible ranks for the chosen kind of interval; null where they are not known. */
function standingOf(row: Row, kind: Kind): Standing | null {
  return kind === "like" ? row.ranks_new_scenarios : row.ranks;
}

/** The ranks that a row may have; its place where nothing is known of that. */
export function PossibleRanks({ row, kind }: { row: Row; kind: Kind }) {
  const standing = standingOf(row, kind);
  if (row.rank === null || !standing) return <span className="text-faint">{row.rank ?? "–"}</span>;
  const { rank_low, rank_high, tied_with_best } = standing;
  return (
    <span title={`possible ranks ${span(rank_low, rank_high)}${tied_with_best ? "; it may be first" : ""}`}>
      {span(rank_low, rank_high)}
    </span>
  );
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
