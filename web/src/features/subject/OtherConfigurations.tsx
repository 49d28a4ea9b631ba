import type { Subject } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { IntervalBar, Ruler } from "../../components/IntervalBar";
import { ScrollArea } from "../../components/ScrollArea";
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
      cell: (one) => <a href={href(route("subject", { subject: id }), { board: one.board })}>{name(one)}</a>,
    },
    {
      id: "index",
      title: "Index",
      numeric: true,
      cellClass: "font-semibold",
      cell: (one) => orDash(one.index.shown),
    },
    {
      id: "difference",
      title: "Difference",
      numeric: true,
      cell: (one) => (
        <>
          {orDash(one.change?.shown.points)}
          <span className="block text-sm text-soft" title={one.why ?? "95% rerun CI"}>
            {one.change?.rerun?.shown ?? "no interval"}
          </span>
        </>
      ),
    },
    {
      id: "interval",
      title: <Ruler scale={FULL_SCALE} />,
      className: "w-40 !pr-4 max-sm:hidden",
      cellClass: "!align-middle",
      cell: (one) => <IntervalBar score={one.index} scale={FULL_SCALE} kind="both" />,
    },
    {
      id: "compare",
      title: <span className="sr-only">Compare</span>,
      cell: (one) => (
        <a href={href(comparison(one))} aria-label={`Compare with ${name(one)}`}>
          compare
        </a>
      ),
    },
  ];
  return (
    <ScrollArea>
      <DataTable
        rows={subject.elsewhere}
        columns={columns}
        rowKey={(one) => one.board}
        caption="The index in other configurations"
        className=""
      />
    </ScrollArea>
  );
}

/** The one configuration of a board; "": it pools several. */
function single(configurations: readonly string[]): string {
  return configurations.length === 1 ? (configurations[0] ?? "") : "";
}
