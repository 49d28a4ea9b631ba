import { useMemo } from "react";
import type { Board, Subject, TranscriptEntry } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { usePage, type PageContextValue } from "../../hooks/usePage";
import { branchTitle } from "../../lib/branches";
import { humanize, orDash, plural, heatColor, markText } from "../../lib/format";
import { route, type AddressOf } from "../../routes";

interface Props {
  subject: Subject;
  board: Board;
  address: AddressOf<"subject">;
}

/** Every conversation of the subject, or those of one run, of one scenario. */
export function Transcripts({ subject, board, address }: Props) {
  const { href } = usePage();
  const { run, scenario } = address;
  const rows = useMemo(
    () =>
      subject.transcripts.filter(
        (transcript) => (run === null || transcript.run === run) && (!scenario || transcript.scenario === scenario),
      ),
    [subject, run, scenario],
  );
  const title = board.scenarios.find((one) => one.id === scenario)?.title ?? humanize(scenario);
  const only = [...(scenario ? [title] : []), ...(run === null ? [] : [`run ${run}`])].join(", ");
  const columns = useMemo(() => columnsOf(subject, board, href), [subject, board, href]);
  return (
    <>
      <p className="mb-2 flex flex-wrap gap-x-3 text-sm" role="status">
        {only ? (
          <>
            <span>
              Only {only}: {plural(rows.length, "conversation")}.
            </span>
            <a href={href(route("subject", { subject: address.subject }))}>All conversations</a>
            {scenario ? <a href={href(route("scenario", { scenario }))}>This scenario over all subjects</a> : null}
          </>
        ) : (
          plural(rows.length, "conversation")
        )}
      </p>
      <DataTable
        rows={rows}
        columns={columns}
        rowKey={(row) => row.id}
        caption="Conversations"
        scroll="lg:overflow-visible"
      />
    </>
  );
}

function columnsOf(subject: Subject, board: Board, href: PageContextValue["href"]): Column<TranscriptEntry>[] {
  const order = new Map(board.scenarios.map((scenario, index) => [scenario.id, index]));
  const title = (id: string) => board.scenarios[order.get(id) ?? -1]?.title ?? humanize(id);
  const configuration: Column<TranscriptEntry> = {
    id: "configuration",
    title: "Configuration",
    ascendingFirst: true,
    sortValue: (row) => row.configuration,
    cell: (row) => humanize(row.configuration),
    className: "max-md:hidden",
  };
  return [
    {
      id: "scenario",
      title: "Scenario",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: (row) => order.get(row.scenario),
      cell: (row) => (
        <a href={href(route("transcript", { transcript: row.id }))}>
          {title(row.scenario)}
          {row.branch ? `: ${branchTitle(row.branch)}` : ""}
        </a>
      ),
    },
    {
      id: "run",
      title: "Run",
      ascendingFirst: true,
      numeric: true,
      sortValue: (row) => row.run,
      cell: (row) => row.run,
    },
    ...(board.board.configurations.length > 1 ? [configuration] : []),
    {
      id: "score",
      title: "Score",
      hint: "Share of the points to be had in this conversation, 100 being the independent end",
      numeric: true,
      sortValue: (row) => row.score,
      cell: (row) => (
        <span className="rounded px-1.5" style={heatColor(row.score)}>
          {orDash(row.shown.score)}
        </span>
      ),
    },
    {
      id: "marks",
      title: "Marks",
      className: "max-md:hidden",
      cellClass: "text-sm text-soft",
      cell: (row) =>
        subject.scales
          .filter((scale) => Object.hasOwn(row.marks, scale.name))
          .map((scale) => `${scale.title} ${markText(scale, row)}`)
          .join(" · "),
    },
    {
      id: "state",
      title: "State",
      ascendingFirst: true,
      sortValue: (row) => `${row.state} ${warnings(row)}`,
      cell: (row) => (
        <span className={`text-sm ${row.state === "judged" ? "text-soft" : "text-warn"}`}>
          {row.state}
          {row.why ? <span className="label">: {row.why}</span> : null}
          {warnings(row) ? <span className="text-warn">, {warnings(row)}</span> : null}
        </span>
      ),
    },
  ];
}

function warnings(row: TranscriptEntry): string {
  return [row.cut_off ? "cut off" : "", row.plain_text ? "without the tool call" : ""].filter(Boolean).join(", ");
}
