import type { BoardRow } from "../../api/types";
import { DataTable, type Column } from "../../components/DataTable";
import { ScrollArea } from "../../components/ScrollArea";
import { SubjectLabel } from "../../components/SubjectLabel";
import { usePage } from "../../hooks/usePage";
import { orDash } from "../../lib/format";
import { suggestions, type Suggestion } from "./suggestions";

/** Whom the one subject that is chosen might be compared with. */
export function Suggestions({ rows, subject }: { rows: readonly BoardRow[]; subject: string }) {
  const { address, href } = usePage();
  const found = suggestions(rows, subject);
  const columns: Column<Suggestion>[] = [
    {
      id: "subject",
      title: "Compare with",
      rowHeader: true,
      cell: ({ row }) => (
        <a href={href(address, { picked: [subject, row.subject.id] })} aria-label={`Compare with ${row.subject.label}`}>
          <SubjectLabel subject={row.subject} />
        </a>
      ),
    },
    { id: "why", title: "Because it is", cellClass: "text-sm text-soft", cell: ({ why }) => why },
    { id: "index", title: "Index", numeric: true, cell: ({ row }) => orDash(row.index.shown) },
    { id: "cost", title: "$ a run", numeric: true, className: "max-sm:hidden", cell: ({ row }) => dollars(row) },
  ];
  if (!found.length) return <p className="mt-4 text-soft">Choose the second subject.</p>;
  return (
    <section className="mt-5" aria-label="Suggestions">
      <h2>Choose the second subject</h2>
      <ScrollArea className="mt-1">
        <DataTable
          rows={found}
          columns={columns}
          rowKey={({ row }) => row.subject.id}
          caption="Whom to compare it with"
          className=""
        />
      </ScrollArea>
    </section>
  );
}

/** What a run of it costs, with its judge. */
export function dollars({ price }: BoardRow): string {
  return price?.free ? "free" : orDash(price?.shown.dollars_per_run);
}
