import type { BranchStatistics, Subject, TechniqueFolds } from "../../api/types";
import { judgedOf } from "../../components/boardRows";
import { DataTable, shownColumn, type Column } from "../../components/tables";
import { FoldCurves } from "../../components/FoldCurves";
import { besideFigures, branchFigures, branchTitle, type FigureKind } from "../../lib/branches";
import { humanize, orDash } from "../../lib/format";

/** What the model did in the branches of its items: their values, what stands beside the index, its curve. */
export function Branches({ subject, branches }: { subject: Subject; branches: BranchStatistics }) {
  const { row } = subject;
  const { folds } = branches;
  const leftOut = Object.entries(branches.left_out);
  const values = branchFigures([branches]).filter((one) => one.of(branches).value !== null);
  return (
    <>
      {row.index === null ? (
        <p className="mb-2 text-sm text-warn">
          It is not ranked. These values are of what is judged: {judgedOf(row)} conversations.
        </p>
      ) : null}
      {leftOut.map(([branch, marks]) => (
        <p key={branch} className="mb-2 text-sm">
          No value of {branchTitle(branch)}: the judge did not score {marks.map(humanize).join(", ")} in some of its
          conversations, and the scored ones would be a selection.
        </p>
      ))}
      <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2">
        <div className="min-w-0">
          {values.length ? (
            <>
              <DataTable
                rows={values}
                columns={figureColumns(branches)}
                rowKey={(row) => row.id}
                caption="What each branch is worth, from 0 to 1, with 95% intervals"
              />
              <p className="mt-1 mb-4 text-sm text-soft">From 0 to 1; 95% intervals over other items of the kind.</p>
            </>
          ) : null}
          <DataTable
            rows={besideFigures([branches])}
            columns={figureColumns(branches)}
            rowKey={(row) => row.id}
            caption="Beside the index, with 95% intervals"
          />
        </div>
        {folds ? (
          <div className="min-w-0">
            <FoldCurves curves={[{ subject: row.subject.id, label: row.label, folds }]} />
            {folds.techniques.length ? (
              <DataTable
                rows={folds.techniques}
                columns={TECHNIQUES}
                rowKey={(row) => row.technique}
                caption="Where it gave in, by the technique of the pressure turn"
                scroll="mt-4"
              />
            ) : null}
          </div>
        ) : null}
      </div>
    </>
  );
}

function figureColumns(branches: BranchStatistics): Column<FigureKind>[] {
  return [
    {
      id: "name",
      title: <span className="sr-only">What</span>,
      rowHeader: true,
      cell: ({ title, hint }) => (
        <>
          {title}
          <span className="block text-xs text-soft">{hint}</span>
        </>
      ),
    },
    {
      id: "value",
      title: "Value",
      numeric: true,
      cellClass: "font-semibold whitespace-nowrap",
      cell: (row) => {
        const { shown, interval } = row.of(branches);
        return (
          <>
            {orDash(shown)}
            <span className="block text-xs font-normal text-soft sm:hidden">{interval?.shown}</span>
          </>
        );
      },
    },
    {
      id: "interval",
      title: "95% CI",
      numeric: true,
      className: "max-sm:hidden",
      cellClass: "text-soft whitespace-nowrap",
      cell: (row) => orDash(row.of(branches).interval?.shown),
    },
  ];
}

const TECHNIQUES: readonly Column<TechniqueFolds>[] = [
  {
    id: "technique",
    title: "Technique of a pressure turn",
    rowHeader: true,
    cell: ({ technique }) => humanize(technique) || "none named",
  },
  shownColumn("pushed", "Met it", { hint: "Positions that held before such a turn" }),
  shownColumn("folded", "Gave in", { hint: "Of those, the ones in which it gave in at that turn" }),
  shownColumn("share", "Share"),
];
