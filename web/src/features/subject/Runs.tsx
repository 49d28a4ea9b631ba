import type { Board, RunDetail, Subject } from "../../api/types";
import { DataTable, shownColumn, type Column } from "../../components/tables";
import { usePage } from "../../hooks/usePage";
import { orDash, plural, heatColor } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { RunPlot } from "./RunPlot";

interface Props {
  subject: Subject;
  board: Board;
  address: AddressOf<"subject">;
}

/** Each run's index and dimensions; a click on a run narrows the list of conversations to it. */
export function Runs({ subject, board, address }: Props) {
  const { href } = usePage();
  if (!subject.runs.length) return <p className="text-soft">No run counts.</p>;
  const { made } = subject;
  const columns: Column<RunDetail>[] = [
    {
      id: "run",
      title: "Run",
      rowHeader: true,
      cell: ({ run }) => {
        const open = address.run === run;
        return (
          <a
            href={href(route("subject", { subject: subject.row.subject.id, run: open ? null : run }))}
            aria-current={open ? "true" : undefined}
            className={`whitespace-nowrap ${open ? "font-semibold" : ""}`}
          >
            run {run}
          </a>
        );
      },
    },
    {
      id: "began",
      title: "Begun",
      hint: "When its first conversation ended, in UTC",
      cellClass: "whitespace-nowrap text-soft",
      cell: (row) => orDash(row.began),
    },
    shownColumn("index", "Index", { cellClass: "font-semibold" }),
    ...subject.profile.map(({ dimension: name, place: index }): Column<RunDetail> => ({
      id: `d.${name}`,
      title: <span className="inline-block max-w-24 whitespace-normal">{board.dimensions[index]?.title}</span>,
      numeric: true,
      cell: (row) => (
        <span className="rounded px-1.5" style={heatColor(row.dimensions[index])}>
          {orDash(row.shown.dimensions[index])}
        </span>
      ),
    })),
  ];
  return (
    <>
      {made ? (
        <p className="mb-2 text-sm text-soft">
          Made from {made.first} to {made.last} UTC, on {plural(made.days, "day")}. {made.says}
        </p>
      ) : null}
      <RunPlot subject={subject} />
      <DataTable rows={subject.runs} columns={columns} rowKey={(row) => String(row.run)} caption="Runs" className="" />
    </>
  );
}
