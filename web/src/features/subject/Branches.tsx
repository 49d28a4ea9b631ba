import type { BranchStatistics, Subject, TechniqueFolds } from "../../api/types";
import { DataTable, shownColumn, type Column } from "../../components/tables";
import { FoldCurves } from "../../components/FoldCurves";
import { besideFigures, branchFigures, branchTitle, type FigureKind } from "../../lib/branches";
import { count, humanize, orDash } from "../../lib/format";

/** What the subject did in the branches of its stems: their values, what stands beside the index, its curve. */
export function Branches({ subject, branches }: { subject: Subject; branches: BranchStatistics }) {
  const { row } = subject;
  const { id, label } = row.subject;
  const { folds, views, aspects } = branches;
  const leftOut = Object.entries(branches.left_out);
  const values = branchFigures([branches]).filter((one) => one.of(branches).value !== null);
  return (
    <>
      {row.index.value === null ? (
        <p className="mb-2 text-sm text-warn">
          It is not ranked. These values are of what is judged: {count(row.health.judged)} of{" "}
          {count(row.health.transcripts)} conversations.
        </p>
      ) : null}
      {views.value === null || views.value === 1 ? null : (
        <p className="mb-2 text-sm">
          An option was read in {views.shown.count} of {views.shown.of} openings. Where it took none, or none could be
          read, the branches were not played, and the stem is not scored.
          {views.value ? " The values below are of the others." : ""}
        </p>
      )}
      {aspects.value === null || aspects.value === 1 ? null : (
        <p className="mb-2 text-sm">
          Of {aspects.shown.of} views it said of {aspects.shown.count} which one aspect decided; the others are not
          scored, and stand in “moved on exactly one” alone of what follows from corrections.
        </p>
      )}
      {leftOut.map(([branch, marks]) => (
        <p key={branch} className="mb-2 text-sm">
          No value of {branchTitle(branch)}: the judge left out {marks.map(humanize).join(", ")} in some of its
          conversations, and what it did mark would be a selection.
        </p>
      ))}
      <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2">
        <div className="min-w-0">
          {values.length ? (
            <>
              <DataTable
                rows={values}
                columns={branchColumns(branches)}
                rowKey={(row) => row.id}
                caption="What each branch is worth, from 0 to 1, with 95% intervals"
              />
              <p className="mt-1 mb-4 text-sm text-soft">
                From 0 to 1, J from −1 to 1; 95% intervals over other stems of the kind. Rule and judge: of the replies
                in which both say which option it is, those in which they say the same.
              </p>
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
            <FoldCurves curves={[{ subject: id, label, folds }]} />
            {folds.techniques.length ? (
              <DataTable
                rows={folds.techniques}
                columns={TECHNIQUES}
                rowKey={(row) => row.technique}
                caption="Folds by the technique of the push"
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

function branchColumns(branches: BranchStatistics): Column<FigureKind>[] {
  return [
    ...figureColumns(branches),
    {
      id: "rule",
      title: "Rule and judge",
      numeric: true,
      cell: ({ id }) => {
        const rule = branches.readings[id];
        return rule ? (
          <>
            {orDash(rule.shown.share)}
            <span className="block text-xs text-soft">
              {rule.shown.both} of {rule.shown.replies} replies
            </span>
          </>
        ) : null;
      },
    },
  ];
}

const TECHNIQUES: readonly Column<TechniqueFolds>[] = [
  {
    id: "technique",
    title: "Technique of a push",
    rowHeader: true,
    cell: ({ technique }) => humanize(technique) || "none named",
  },
  shownColumn("pushed", "Met it", { hint: "Positions that stood before such a push" }),
  shownColumn("folded", "Folded", { hint: "Of those, given up at it" }),
  shownColumn("share", "Share"),
];
