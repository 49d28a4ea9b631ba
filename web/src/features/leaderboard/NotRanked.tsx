import type { ReactNode } from "react";
import type { Board, Row } from "../../api/types";
import { DataHealth, judgedOf } from "../../components/boardRows";
import { TableSection, numberColumn, column, type Column } from "../../components/tables";
import { LabelDoubt, SubjectLabel } from "../../components/labels";
import { usePage } from "../../hooks/usePage";
import { count, orDash, plural } from "../../lib/format";
import { dimensionOf } from "../../lib/rows";
import { route } from "../../routes";

/** Who has no index: the incomplete, and apart from them the excluded. */
export function NotRanked({ board, rows }: { board: Board; rows: readonly Row[] }) {
  const lacking = rows.filter((row) => !row.excluded);
  const excluded = rows.filter((row) => row.excluded);
  return (
    <>
      {lacking.length ? (
        <Unranked board={board} rows={lacking} title="Not ranked" why="What is missing">
          Replies or scores are missing; an index without them would measure something else. The page of a model lists
          all that is missing.
        </Unranked>
      ) : null}
      {excluded.length ? (
        <Unranked board={board} rows={excluded} title="Excluded" why="Why">
          Not ranked, for the reason in each line; their numbers are kept here.
        </Unranked>
      ) : null}
    </>
  );
}

interface Props {
  board: Board;
  rows: readonly Row[];
  title: string;
  why: string;
  children: ReactNode;
}

/** One line each: why it has no index, and the dimensions that it has. */
function Unranked({ board, rows, title, why, children }: Props) {
  const { href } = usePage();
  const columns: readonly Column<Row>[] = [
    {
      id: "subject",
      title: "Model",
      rowHeader: true,
      ascendingFirst: true,
      className: "min-w-[9rem] md:min-w-[16rem] max-w-[24rem] max-md:max-w-[9rem]",
      sortValue: ({ label }) => label,
      cellHint: ({ label }) => label,
      cell: ({ subject, label, label_doubt }) => (
        <span className="flex items-baseline gap-1.5">
          <a
            href={href(route("subject", { subject: subject.id }))}
            aria-label={label}
            className="min-w-0 text-ink no-underline hover:underline"
          >
            <SubjectLabel label={board.names[subject.id] ?? label} name={subject.name} />
          </a>
          <LabelDoubt doubt={label_doubt} />
        </span>
      ),
    },
    {
      id: "missing",
      title: why,
      className: "w-full min-w-72 max-w-0",
      cellHint: ({ missing }) => missing.join("\n"),
      cell: ({ missing }) => (
        <span className="block truncate text-sm text-soft">
          {missing.length > 1 ? `${missing.length} reasons: ` : ""}
          {missing.join("; ")}
        </span>
      ),
    },
    {
      id: "whole",
      title: "Whole runs",
      hint: "Runs with every score, and the mean of their indices",
      numeric: true,
      className: "whitespace-nowrap max-lg:hidden",
      sortValue: (row) => row.whole_index,
      cell: (row) =>
        `${count(row.whole_runs)} of ${count(row.runs)}${row.whole_index === null ? "" : `: ${orDash(row.shown.whole_index)}`}`,
    },
    ...board.dimensions.flatMap((dimension): Column<Row>[] => {
      const score = (row: Row) => dimensionOf(row, dimension.name, null);
      // of a dimension that nobody has there is nothing to show
      return dimension.weight && rows.some((row) => score(row).value !== null)
        ? [
            {
              id: `d.${dimension.name}`,
              title: dimension.title,
              hint: "0 to 100, if none of its scores is missing",
              numeric: true,
              className: "max-2xl:hidden",
              sortValue: (row) => score(row).value,
              cell: (row) => orDash(score(row).shown),
            },
          ]
        : [];
    }),
    numberColumn("judged", "Judged", judgedOf, {
      hint: "Conversations that are judged, of those planned for its runs",
      className: "max-sm:hidden",
      sortValue: ({ health }) => health.transcripts_judged,
    }),
    column("data", "Data", (row) => <DataHealth row={row} columns={board.columns} />, {
      className: "whitespace-nowrap max-lg:hidden",
    }),
  ];
  return (
    <TableSection
      title={title}
      description={children}
      rows={rows}
      columns={columns}
      rowKey={(row) => row.subject.id}
      caption={`${title}: ${plural(rows.length, "model")}`}
    />
  );
}
