import type { Subject } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { IntervalBar, Ruler } from "../../components/bars";
import { usePage } from "../../hooks/usePage";
import { humanize, orDash } from "../../lib/format";
import { route } from "../../routes";
import { FULL_SCALE } from "./Scores";

type Elsewhere = Subject["elsewhere"][number];

/** The subject's index in other configurations, and its difference to the one that is shown. */
export function OtherConfigurations({ subject }: { subject: Subject }) {
  const { href, board } = usePage();
  const { id } = subject.row.subject;
  const name = (one: Elsewhere) => one.configurations.map(humanize).join(" + ");
  const comparison = (one: Elsewhere) =>
    route("compare", {
      view: "settings",
      subject: id,
      first: single(board.configurations),
      second: single(one.configurations),
    });
  const columns: Column<Elsewhere>[] = [
    {
      id: "configuration",
      title: "Configuration",
      rowHeader: true,
      cell: (row) => <a href={href(route("subject", { subject: id }), { board: row.board })}>{name(row)}</a>,
    },
    {
      id: "index",
      title: "Index",
      numeric: true,
      cellClass: "font-semibold",
      cell: (row) => orDash(row.index.shown),
    },
    {
      id: "difference",
      title: "Difference",
      numeric: true,
      cell: (row) => (
        <>
          {orDash(row.change?.shown.points)}
          <span className="block text-sm text-soft" title={row.why ?? "95% rerun CI"}>
            {row.change?.rerun?.shown ?? "no interval"}
          </span>
        </>
      ),
    },
    {
      id: "interval",
      title: <Ruler scale={FULL_SCALE} />,
      className: "w-40 !pr-4 max-sm:hidden",
      cellClass: "!align-middle",
      cell: (row) => <IntervalBar score={row.index} scale={FULL_SCALE} kind="both" />,
    },
    {
      id: "compare",
      title: <span className="sr-only">Compare</span>,
      cell: (row) => (
        <a href={href(comparison(row))} aria-label={`Compare with ${name(row)}`}>
          compare
        </a>
      ),
    },
  ];
  return (
    <DataTable
      rows={subject.elsewhere}
      columns={columns}
      rowKey={(row) => row.board}
      caption="The index in other configurations"
      className=""
    />
  );
}

/** The one configuration of a board; "": it pools several. */
function single(configurations: readonly string[]): string {
  return configurations.length === 1 ? (configurations[0] ?? "") : "";
}
