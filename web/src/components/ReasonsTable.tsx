import type { Reasons, Row } from "../api/types";
import { usePage } from "../hooks/usePage";
import { orDash } from "../lib/format";
import { route } from "../routes";
import { DataTable, WithInterval, type Column } from "./tables";

export type WithReasons = Row & { reasons: Reasons };

export const FEW = 12; // rows; of so many each has its number in the picture

/** What the models did when their own conditions were met, and when they were not. */
export function ReasonsTable({ rows }: { rows: readonly WithReasons[] }) {
  const { href } = usePage();
  const mean = (id: "openness" | "moves" | "stays", title: string, hint: string): Column<WithReasons> => ({
    id,
    title,
    hint,
    numeric: true,
    sortValue: ({ reasons }) => reasons[id]?.value ?? null,
    cell: ({ reasons }) => <WithInterval text={reasons[id]?.shown} interval={reasons[id]?.interval} />,
  });
  const columns: Column<WithReasons>[] = [
    {
      id: "subject",
      title: "Model",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: ({ label }) => label,
      cell: (row) => (
        <>
          {rows.length > 1 && rows.length <= FEW ? `${rows.indexOf(row) + 1} ` : null}
          <a href={href(route("subject", { subject: row.subject.id }))} className="label text-ink">
            <bdi>{row.label}</bdi>
          </a>
        </>
      ),
    },
    mean("openness", "Openness", "How much more often it moves when its own condition is met than when it is not"),
    mean("moves", "Moves", "Of the cases in which its condition was met"),
    mean("stays", "Stays", "Of the cases in which its condition was not met"),
    {
      id: "unnamed",
      title: "No condition",
      hint: "Conversations in which it named no condition; they are not scored",
      numeric: true,
      sortValue: ({ reasons }) => reasons.unnamed_share,
      cell: ({ reasons }) => orDash(reasons.shown.unnamed_share),
    },
  ];
  return (
    <DataTable
      rows={rows}
      columns={columns}
      rowKey={({ subject }) => subject.id}
      caption="Whether models move by their own reasons, 0 to 100, with 95% intervals over other cases of the kind"
    />
  );
}
