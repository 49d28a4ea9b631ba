import type { NameChoice } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { usePage } from "../../hooks/usePage";
import { route } from "../../routes";

/** The names that the subject chose where it was free to choose, and what became of them; *titles*: of scenarios. */
export function Names({ names, titles }: { names: readonly NameChoice[]; titles: ReadonlyMap<string, string> }) {
  const { href } = usePage();
  const columns: Column<NameChoice>[] = [
    {
      id: "run",
      title: "Run",
      rowHeader: true,
      cell: (row) => (
        <a href={href(route("transcript", { transcript: row.transcript }))} className="whitespace-nowrap">
          run {row.read.run}
        </a>
      ),
    },
    { id: "scenario", title: "Scenario", cellClass: "eyebrow", cell: (row) => titles.get(row.read.scenario) ?? "–" },
    {
      id: "first",
      title: "Chose",
      cell: (row) => <Name name={row.read.picks.join(", ") || null} gender={row.read.first.gender} />,
    },
    {
      id: "final",
      title: "Final",
      cell: (row) => <Name name={row.read.final.name} gender={row.read.final.gender} />,
    },
    { id: "kept", title: "Kept", cell: kept },
    { id: "read_by", title: "Read by", cellClass: "eyebrow label", cell: (row) => row.read.by ?? "not read" },
  ];
  return (
    <DataTable
      rows={names}
      columns={columns}
      rowKey={(row) => row.transcript}
      caption="Names and genders that it chose"
      className=""
    />
  );
}

function Name({ name, gender }: { name: string | null; gender: string | null }) {
  return (
    <>
      <bdi className="self-name">{name ?? "–"}</bdi>
      {gender ? <bdi className="text-faint">, {gender}</bdi> : null}
    </>
  );
}

function kept({ read }: NameChoice): string {
  const part = (what: string, changed: boolean | null) =>
    changed === null ? [] : [changed ? `${what} changed` : `${what} kept`];
  return [...part("name", read.name_changed), ...part("gender", read.gender_changed)].join(", ");
}
