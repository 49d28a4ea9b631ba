import type { ReactNode } from "react";
import type { Board, BoardRow } from "../../api/types";
import { DataHealth } from "../../components/DataHealth";
import { DataTable, type Column } from "../../components/tables";
import { SubjectLabel } from "../../components/labels";
import { Section } from "../../components/sections";
import { usePage } from "../../hooks/usePage";
import { count, orDash, plural } from "../../lib/format";
import { route } from "../../routes";

/** Who has no index: the incomplete, and apart from them the excluded. */
export function NotRanked({ board, rows }: { board: Board; rows: readonly BoardRow[] }) {
  const lacking = rows.filter((row) => !row.excluded);
  const excluded = rows.filter((row) => row.excluded);
  return (
    <>
      {lacking.length ? (
        <Unranked board={board} rows={lacking} title="Not ranked" why="What is missing">
          Replies or marks are missing, and an index without them would measure something else. A subject&apos;s page
          lists all that is missing.
        </Unranked>
      ) : null}
      {excluded.length ? (
        <Unranked board={board} rows={excluded} title="Excluded" why="Why">
          In no ranking, for the reason beside each; the numbers that there are stay here.
        </Unranked>
      ) : null}
    </>
  );
}

interface Props {
  board: Board;
  rows: readonly BoardRow[];
  title: string;
  why: string;
  children: ReactNode;
}

/** One line each: why it has no index, and the dimensions that it has. */
function Unranked({ board, rows, title, why, children }: Props) {
  const { href } = usePage();
  const columns: readonly Column<BoardRow>[] = [
    {
      id: "subject",
      title: "Subject",
      rowHeader: true,
      ascendingFirst: true,
      className: "w-[24rem] max-w-[24rem] max-md:max-w-[9rem]",
      sortValue: ({ subject }) => subject.label,
      cellHint: ({ subject }) => subject.label,
      cell: ({ subject }) => (
        <a
          href={href(route("subject", { subject: subject.id }))}
          aria-label={subject.label}
          className="block truncate text-ink no-underline hover:underline"
        >
          <SubjectLabel subject={subject} />
        </a>
      ),
    },
    {
      id: "missing",
      title: why,
      className: "w-full max-w-0",
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
      hint: "Runs with every mark, and the mean of their indices",
      numeric: true,
      className: "whitespace-nowrap max-lg:hidden",
      sortValue: (row) => row.whole_index,
      cell: (row) =>
        `${count(row.whole_runs)} of ${count(row.runs)}${row.whole_index === null ? "" : `: ${orDash(row.shown.whole_index)}`}`,
    },
    ...board.dimensions.flatMap((dimension, place): Column<BoardRow>[] =>
      // of a dimension that nobody has there is nothing to show
      dimension.weight && rows.some((row) => (row.dimensions[place]?.value ?? null) !== null)
        ? [
            {
              id: `d.${dimension.name}`,
              title: dimension.title,
              hint: "0 to 100, where all of its marks are there",
              numeric: true,
              className: "max-xl:hidden",
              sortValue: (row) => row.dimensions[place]?.value ?? null,
              cell: (row) => orDash(row.dimensions[place]?.shown ?? null),
            },
          ]
        : [],
    ),
    {
      id: "judged",
      title: "Judged",
      hint: "Conversations that are judged, of those planned for its runs",
      numeric: true,
      className: "max-sm:hidden",
      sortValue: ({ health }) => health.judged,
      cell: ({ health }) => `${count(health.judged)} of ${count(health.transcripts)}`,
    },
    {
      id: "data",
      title: "Data",
      className: "whitespace-nowrap max-lg:hidden",
      cell: ({ health }) => <DataHealth health={health} short />,
    },
  ];
  return (
    <Section title={title} description={children}>
      <DataTable
        rows={rows}
        columns={columns}
        rowKey={(row) => row.subject.id}
        caption={`${title}: ${plural(rows.length, "subject")}`}
      />
    </Section>
  );
}
