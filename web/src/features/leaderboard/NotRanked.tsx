import { useMemo } from "react";
import type { BoardRow } from "../../api/types";
import { DataHealth } from "../../components/DataHealth";
import { DataTable, type Column } from "../../components/DataTable";
import { ScrollArea } from "../../components/ScrollArea";
import { SubjectLabel } from "../../components/SubjectLabel";
import { usePage } from "../../hooks/usePage";
import { count } from "../../lib/format";
import { route } from "../../routes";

/** Who has no index, and what is missing: one line each. */
export function NotRanked({ rows }: { rows: readonly BoardRow[] }) {
  const { href } = usePage();
  const columns = useMemo<readonly Column<BoardRow>[]>(
    () => [
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
        title: "What is missing",
        className: "w-full max-w-0",
        cellHint: ({ missing }) => missing.join("\n"),
        cell: ({ missing }) => (
          <span className="block truncate text-sm text-soft">
            {missing.length > 1 ? `${String(missing.length)} reasons: ` : ""}
            {missing.join("; ")}
          </span>
        ),
      },
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
    ],
    [href],
  );
  return (
    <section className="mt-8" aria-label="Not ranked">
      <h2>Not ranked</h2>
      <p className="mb-1 text-sm text-soft">
        Replies or marks are missing, and an index without them would measure something else. A subject's page lists all
        that is missing.
      </p>
      <ScrollArea>
        <DataTable rows={rows} columns={columns} rowKey={(row) => row.subject.id} caption="Subjects without an index" />
      </ScrollArea>
    </section>
  );
}
