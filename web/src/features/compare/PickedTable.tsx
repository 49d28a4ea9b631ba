import type { BoardRow, Comparisons } from "../../api/types";
import { COST, LENGTH } from "../../components/boardColumns";
import { DataTable, type Column } from "../../components/tables";
import { SubjectLabel } from "../../components/labels";
import { Section } from "../../components/sections";
import { usePage } from "../../hooks/usePage";
import { orDash } from "../../lib/format";
import type { SharedParams } from "../../routes";

interface Props {
  rows: readonly BoardRow[]; // three or more, the first being A
  comparisons: Comparisons; // of the first
  kind: SharedParams["interval"];
}

/** Three picked subjects or more: what decides between them, each beside the first. */
export function PickedTable({ rows, comparisons, kind }: Props) {
  const { address, href } = usePage();
  const [first] = rows;
  const apart = (row: BoardRow) => comparisons.others.find(({ subject }) => subject === row.subject.id)?.apart;
  const columns: Column<BoardRow>[] = [
    {
      id: "subject",
      title: "Picked",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: ({ subject }) => subject.label,
      cell: (row) =>
        row === first ? (
          <SubjectLabel subject={row.subject} />
        ) : (
          <a
            href={href(address, { picked: beside(row.subject.id, address.picked) })}
            aria-label={`Compare A with ${row.subject.label}`}
          >
            <SubjectLabel subject={row.subject} />
          </a>
        ),
    },
    COST,
    {
      id: "index",
      title: "Index",
      numeric: true,
      sortValue: ({ index }) => index.value,
      cellClass: "font-semibold",
      cell: ({ index }) => orDash(index.shown),
    },
    {
      id: "interval",
      title: "95% interval",
      numeric: true,
      className: "max-sm:hidden",
      cellClass: "text-soft",
      cell: ({ index: { uncertainty } }) =>
        orDash((kind === "like" ? uncertainty.new_scenarios : uncertainty.rerun)?.shown),
    },
    {
      id: "difference",
      title: "Difference to A",
      hint: "Its index minus A's, with the 95% interval of the difference",
      numeric: true,
      cell: (row) => {
        const found = apart(row);
        if (!found) return "A";
        return (
          <>
            {orDash(found.shown[0])}{" "}
            <span className="text-sm text-soft max-sm:hidden">
              {orDash((kind === "like" ? found.new_scenarios : found.rerun)[0]?.shown)}
            </span>
          </>
        );
      },
    },
    { ...LENGTH, className: "max-md:hidden" },
  ];
  return (
    <Section title="All picked subjects">
      <DataTable
        rows={rows}
        columns={columns}
        rowKey={({ subject }) => subject.id}
        caption="Price and index of the picked subjects"
      />
      <p className="mt-1 text-sm text-soft">
        Where the interval of a difference includes 0, the two cannot be told apart. Choose another one to see it beside
        A below.
      </p>
    </Section>
  );
}

/** *picked*, with *id* as the second. */
function beside(id: string, picked: readonly string[]): string[] {
  const [first = "", ...rest] = picked;
  return [first, id, ...rest.filter((one) => one !== id)];
}
