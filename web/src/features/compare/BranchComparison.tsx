import type { BoardRow, BranchDifference, BranchStatistics } from "../../api/types";
import { DataTable, shownColumn, WithInterval, type Column } from "../../components/tables";
import { FoldCurves, MOST_CURVES, type Curve } from "../../components/FoldCurves";
import { besideFigures, branchFigures, branchTitle, type FigureKind } from "../../lib/branches";
import { SideName, SignificanceMark } from "./Comparison";
import type { Pair } from "./pairs";
import { Label } from "../../components/labels";

interface Props {
  rows: readonly BoardRow[]; // the two, and whoever else is picked
  pair: Pair;
}

/** Of a board of stems: what the two did in the branches, side by side, and their curves. */
export function BranchComparison({ rows, pair }: Props) {
  const { branches: differences, names } = pair;
  const [first, second] = rows;
  if (!first?.branches || !second?.branches) return null;
  const curves = rows.flatMap(({ subject: { id, label }, branches }): Curve[] =>
    branches?.folds ? [{ subject: id, label, folds: branches.folds }] : [],
  );
  const both = [first.branches, second.branches];
  const figures = [...branchFigures(both), ...besideFigures(both)];
  const columns = [
    NAMES,
    side("first", names[0], first.subject.label, first.branches),
    side("second", names[1], second.subject.label, second.branches),
  ];
  const partial = [first, second].filter(({ rank }) => rank === null);
  return (
    <section className="mt-8" aria-label="Branches">
      <h2>Branch by branch</h2>
      {partial.map(({ subject: { id, label } }) => (
        <p key={id} className="text-sm text-warn">
          <Label text={label} /> is not ranked: its values are of what is judged.
        </p>
      ))}
      <div className="mt-2 grid items-start gap-x-8 gap-y-6 lg:grid-cols-2">
        <div className="min-w-0">
          {differences.length ? (
            <>
              <DataTable
                rows={differences}
                columns={differenceColumns(new Map(figures.map((figure) => [figure.id, figure])), names)}
                rowKey={(row) => row.quantity}
                caption="Branches of both, and the difference"
              />
              <p className="mt-1 mb-4 text-sm text-soft">
                Each stem with itself, over the stems in which both were judged; 95% intervals over other stems of the
                kind, each interval alone. Branches from 0 to 1.{" "}
                {differences.some(({ stands }) => stands) ? (
                  <>
                    <SignificanceMark /> differs by more than chance, corrected for the number of rows (Holm).
                  </>
                ) : (
                  "Nothing differs by more than chance, corrected for the number of rows (Holm)."
                )}{" "}
                Detects: the smallest true difference that is found in 80 of 100 repetitions.
              </p>
            </>
          ) : null}
          <DataTable
            rows={figures.filter(({ id }) => !differences.some(({ quantity }) => quantity === id))}
            columns={columns}
            rowKey={(row) => row.id}
            caption="What else is known of both, with 95% intervals"
          />
          <p className="mt-1 text-sm text-soft">95% intervals over other stems of the kind, each interval alone.</p>
        </div>
        {curves.length ? <FoldCurves curves={curves.slice(0, MOST_CURVES)} /> : null}
      </div>
    </section>
  );
}

const NAMES: Column<FigureKind> = {
  id: "name",
  title: <span className="sr-only">What</span>,
  rowHeader: true,
  cellHint: ({ hint }) => hint,
  cell: ({ title }) => title,
};

function side(id: string, name: string, label: string, branches: BranchStatistics): Column<FigureKind> {
  return {
    id,
    title: <SideName name={name} />,
    hint: label,
    numeric: true,
    cell: ({ of }) => {
      const { shown, interval } = of(branches);
      return <WithInterval text={shown} interval={interval} />;
    },
  };
}

function differenceColumns(
  figures: ReadonlyMap<string, FigureKind>,
  [first, second]: readonly [string, string],
): readonly Column<BranchDifference>[] {
  return [
    {
      id: "name",
      title: <span className="sr-only">What</span>,
      rowHeader: true,
      cellHint: ({ quantity }) => figures.get(quantity)?.hint,
      cell: ({ quantity }) => figures.get(quantity)?.title ?? branchTitle(quantity),
    },
    shownColumn("first", <SideName name={first} />),
    shownColumn("second", <SideName name={second} />),
    {
      id: "difference",
      title: "Difference",
      numeric: true,
      cellClass: "whitespace-nowrap",
      cell: ({ shown, stands, interval }) => (
        <>
          {stands ? <SignificanceMark /> : null} <span className="font-semibold">{shown.difference}</span>
          <span className="block text-xs text-soft">{interval?.shown ?? "no interval"}</span>
        </>
      ),
    },
    shownColumn("seen", "Detects", { className: "max-sm:hidden" }),
    { id: "stems", title: "Stems", numeric: true, className: "max-sm:hidden", cell: ({ stems }) => stems },
  ];
}
