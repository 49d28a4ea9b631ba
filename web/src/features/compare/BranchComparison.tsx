import type { BranchDifference } from "../../api/types";
import { DataTable, shownColumn, type Column } from "../../components/tables";
import { describeQuantity } from "../../lib/branches";
import { SideName, SignificanceMark } from "./Comparison";
import type { Pair } from "./pairs";

/** Of a leaderboard of items: what the two did in the branches, side by side. */
export function BranchComparison({ pair: { branches }, names }: { pair: Pair; names: Pair["names"] }) {
  if (!branches.length) return null;
  return (
    <section className="mt-8" aria-label="Branches">
      <h2>Branch by branch</h2>
      <DataTable
        rows={branches}
        columns={differenceColumns(names)}
        rowKey={(row) => row.quantity}
        caption="Branches of both, and the difference"
      />
      <p className="mt-1 text-sm text-soft">
        Each item is compared with itself, over the items in which both were judged. The 95% intervals are over other
        items of the kind, each interval alone. Branches from 0 to 1.{" "}
        {branches.some(({ stands }) => stands) ? (
          <>
            <SignificanceMark /> is a significant difference, corrected for the number of rows (Holm).
          </>
        ) : (
          "No difference is significant, corrected for the number of rows (Holm)."
        )}{" "}
        Minimum detectable difference: the smallest true one that is found in 80 of 100 repetitions.
      </p>
    </section>
  );
}

function differenceColumns([first, second]: readonly [string, string]): readonly Column<BranchDifference>[] {
  return [
    {
      id: "name",
      title: <span className="sr-only">What</span>,
      rowHeader: true,
      cellHint: ({ quantity }) => describeQuantity(quantity).hint,
      cell: ({ quantity }) => describeQuantity(quantity).title,
    },
    shownColumn("first", <SideName name={first} />),
    shownColumn("second", <SideName name={second} />),
    {
      id: "difference",
      title: <SideName name={`${first} − ${second}`} />,
      numeric: true,
      cellClass: "whitespace-nowrap",
      cell: ({ shown, stands, interval }) => (
        <>
          {stands ? <SignificanceMark /> : null} <span className="font-semibold">{shown.difference}</span>
          <span className="block text-xs text-soft">{interval?.shown ?? "no interval"}</span>
        </>
      ),
    },
    shownColumn("seen", "Minimum detectable", { className: "max-sm:hidden" }),
    { id: "stems", title: "Items", numeric: true, className: "max-sm:hidden", cell: ({ stems }) => stems },
  ];
}
