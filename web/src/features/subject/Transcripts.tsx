import { useMemo, useState } from "react";
import { subjectAt, transcriptAt, type Address, type Sort } from "../../addresses";
import type { Board, MarkScale, Subject, TranscriptEntry } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { shown, words } from "../../parts/format";
import { Grid, type Column } from "../../parts/Grid";
import { heat } from "../../parts/Heat";
import { useHere, type Here } from "../../parts/place";

type At = Extract<Address, { page: "subject" }>;

/** Every conversation of the subject in a table that can be sorted. */
export function Transcripts({ subject, board, at }: { subject: Subject; board: Board; at: At }) {
  const here = useHere();
  const [sort, setSort] = useState<Sort | null>(null);
  const rows = useMemo(
    () => subject.transcripts.filter((one) => at.run === null || one.run === at.run),
    [subject, at.run],
  );
  const columns = useMemo(() => columnsOf(subject, board, here), [subject, board, here]);
  return (
    <>
      {at.run === null ? null : (
        <p className="mb-2 text-sm">
          Only run {at.run}. <a href={here.href(subjectAt(at.subject))}>Show all runs</a>
        </p>
      )}
      <Sideways className="lg:overflow-visible">
        <Grid
          rows={rows}
          columns={columns}
          keyOf={(row) => row.id}
          caption="Conversations"
          sort={sort}
          onSort={setSort}
        />
      </Sideways>
    </>
  );
}

function columnsOf(subject: Subject, board: Board, here: Here): Column<TranscriptEntry>[] {
  const titles = new Map(board.scenarios.map((one, place) => [one.id, { title: one.title, place }]));
  const pooled = board.board.configurations.length > 1;
  return [
    {
      id: "scenario",
      title: "Scenario",
      head: true,
      up: true,
      value: (row) => titles.get(row.scenario)?.place,
      show: (row) => (
        <a href={here.href(transcriptAt(row.id))}>{titles.get(row.scenario)?.title ?? words(row.scenario)}</a>
      ),
    },
    { id: "run", title: "Run", up: true, align: "right", value: (row) => row.run, show: (row) => row.run },
    ...(pooled
      ? [
          {
            id: "configuration",
            title: "Configuration",
            up: true,
            value: (row: TranscriptEntry) => row.configuration,
            show: (row: TranscriptEntry) => words(row.configuration),
            className: "max-md:hidden",
          },
        ]
      : []),
    {
      id: "score",
      title: "Score",
      hint: "Share of the points to be had in this conversation, 100 being the independent end",
      align: "right",
      value: (row) => row.score,
      show: (row) => (
        <span className="rounded px-1.5" style={heat(row.score)}>
          {shown(row.shown.score)}
        </span>
      ),
    },
    {
      id: "marks",
      title: "Marks",
      fixed: true,
      value: () => null,
      className: "max-md:hidden",
      show: (row) => (
        <span className="text-sm text-soft">
          {subject.marks
            .filter((scale) => Object.hasOwn(row.marks, scale.name))
            .map((scale) => said(scale, row))
            .join(" · ")}
        </span>
      ),
    },
    {
      id: "state",
      title: "State",
      up: true,
      value: (row) => `${row.state} ${notes(row)}`,
      show: (row) => (
        <span className={`text-sm ${row.state === "judged" ? "text-soft" : "text-warn"}`}>
          {row.state}
          {row.why ? <span className="label">: {row.why}</span> : null}
          {notes(row) ? <span className="text-warn">, {notes(row)}</span> : null}
        </span>
      ),
    },
  ];
}

function notes(row: TranscriptEntry): string {
  return [row.cut_off ? "cut off" : "", row.plain_text ? "beside the tool" : ""].filter(Boolean).join(", ");
}

function said(scale: MarkScale, row: TranscriptEntry): string {
  const value = row.marks[scale.name];
  const given = scale.kind === "yes_no" && (value === 0 || value === 1) ? (value ? "yes" : "no") : null;
  return `${scale.title} ${given ?? shown(row.shown.marks[scale.name])}`;
}
