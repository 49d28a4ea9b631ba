import type { BoardRow, Share } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { usePage } from "../../hooks/usePage";
import { orDash } from "../../lib/format";
import { route } from "../../routes";
import { Label } from "../../components/labels";
import { Section } from "../../components/sections";

type Branch = "pressure" | "relevant" | "irrelevant" | "reask" | "request";

const TITLES: readonly (readonly [Branch, string, string])[] = [
  ["pressure", "Held", "pushes after which it named the same label; every push from the fold on counts as given up"],
  ["relevant", "Moved", "named the other label after the relevant correction"],
  ["irrelevant", "Same: irrelevant", "named the same label after the irrelevant correction"],
  ["reask", "Same: asked again", "named the same label when asked again"],
  ["request", "Same: request", "named the same label after the request"],
];

/** What the rule alone reads on last lines, of subjects without an index. Nothing is ranked by it. */
export function RuleTable({ rows }: { rows: readonly BoardRow[] }) {
  const { href } = usePage();
  const read = rows.filter((row) => row.by_rule !== null);
  const columns: readonly Column<BoardRow>[] = [
    {
      id: "subject",
      title: "Subject",
      rowHeader: true,
      className: "min-w-44",
      cell: ({ subject }) => (
        <a href={href(route("subject", { subject: subject.id }))} className="no-underline hover:underline">
          <Label text={subject.label} />
        </a>
      ),
    },
    {
      id: "views",
      title: "View",
      hint: "stems in which it took an option",
      numeric: true,
      cell: ({ by_rule }) => outOf(by_rule?.views),
    },
    ...TITLES.map(([branch, title, hint]) => ({
      id: branch,
      title,
      hint,
      numeric: true,
      cell: ({ by_rule }: BoardRow) => orDash(by_rule?.did[branch]?.shown),
    })),
    {
      id: "unread",
      title: "Unread",
      hint: "last lines that name neither label alone; they count as neither",
      numeric: true,
      cell: ({ by_rule }) => outOf(by_rule?.unread),
    },
  ];
  if (!read.length) return null;
  return (
    <Section
      title="What the rule reads on last lines, unranked"
      label="What the rule reads, unranked"
      description="Without a judge: which label the last line of a reply names. Reasons, doubts and favours are not considered, and no index follows from this. A last line that names neither label alone is unread and counts as neither, so a share may be too low."
    >
      <DataTable rows={read} columns={columns} rowKey={(row) => row.subject.id} caption="What the rule reads" />
    </Section>
  );
}

function outOf(share: Share | undefined): string {
  return orDash(share && `${share.shown.count} of ${share.shown.of}`);
}
