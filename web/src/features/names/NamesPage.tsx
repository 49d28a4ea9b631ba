import { useState } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { NameCount, Names, ScenarioNames } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { headColumn, DataTable, column, numberColumn, type Column } from "../../components/tables";
import { csvAndJson, Downloads } from "../../components/downloads";
import { SegmentedControl } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { count, humanize, plural } from "../../lib/format";
import { folded } from "../../lib/searchTerms";
import { route, type AddressOf } from "../../routes";
import { Label } from "../../components/labels";

const SHOWN = 4; // subjects of a name, before all are asked for

/** The names that all subjects gave themselves: the popular ones, and those of one subject alone. */
export default function NamesPage({ address }: { address: AddressOf<"names"> }) {
  const { board } = usePage();
  const names = useApi(endpoints.names(board.id));
  return (
    <>
      <RankingHead title="Names">
        The names that models gave themselves in every scenario that lets them choose who to be. They enter no score.
      </RankingHead>
      <Await query={names} what="the names; the first time this may take some seconds">
        {(value) =>
          value.naming.counts.length ? (
            <Chosen names={value} address={address} />
          ) : (
            <Empty title={value.naming.unread ? "No names have been read." : "No name was chosen."}>
              {value.naming.unread ? (
                <>
                  <code>aib extract-names -j MODEL</code> has a model read them.
                </>
              ) : (
                "Not every protocol has a scenario that lets a model choose one."
              )}
            </Empty>
          )
        }
      </Await>
    </>
  );
}

function Chosen({ names, address }: { names: Names; address: AddressOf<"names"> }) {
  const { update, board } = usePage();
  const { naming } = names;
  const titleOf: TitleOf = (scenario) => names.titles[scenario] ?? humanize(scenario);
  const wanted = folded(address.find.trim());
  const alone = naming.counts.filter((name) => name.subjects.length === 1);
  const rows = (address.view === "one" ? alone : naming.counts).filter(
    (one) => folded(one.name).includes(wanted) || one.subjects.some((label) => folded(label).includes(wanted)),
  );
  const picks = naming.counts.reduce((sum, one) => sum + one.times, 0);
  return (
    <div className="mt-4 flex flex-col gap-6">
      <p className="max-w-3xl text-soft">
        {plural(picks, "pick")} of {plural(naming.counts.length, "name")} in{" "}
        {plural(naming.conversations, "conversation")}; {count(alone.length)} of them were chosen by one subject alone.
        Asked for a name, models declined {count(naming.declined)} times.
        {naming.unread ? ` No model has read ${plural(naming.unread, "conversation")}.` : null}
      </p>
      <section aria-label="Scenarios">
        <DataTable
          rows={naming.by_scenario}
          columns={scenarioColumns(titleOf)}
          rowKey={(row) => row.scenario}
          caption="Names by scenario"
          className=""
        />
      </section>
      <section aria-label="Names">
        <div className="mb-3 flex flex-wrap items-end gap-x-4 gap-y-3">
          <label className="min-w-0 flex-[0_1_20rem]">
            <span className="eyebrow block">Name or subject</span>
            <input
              type="search"
              className="field w-full"
              value={address.find}
              onChange={(event) => update({ find: event.target.value })}
            />
          </label>
          <SegmentedControl
            label="Chosen by"
            value={address.view}
            options={[
              ["all", "anyone", "Every name, the one that most subjects chose first"],
              ["one", "one subject only", "Names that no other subject chose"],
            ]}
            onChange={(view) => update({ view })}
          />
          <div className="ml-auto">
            <Downloads files={csvAndJson(endpoints.names(board.id))} />
          </div>
        </div>
        <p role="status" className="mb-2 text-soft">
          {plural(rows.length, "name")}
        </p>
        <DataTable
          rows={rows}
          columns={nameColumns(names, titleOf)}
          rowKey={(row) => row.name}
          caption="Names, and who chose them"
        />
      </section>
    </div>
  );
}

type TitleOf = (scenario: string) => string;

const scenarioColumns = (titleOf: TitleOf): Column<ScenarioNames>[] => [
  headColumn("scenario", "Scenario", (row) => titleOf(row.scenario)),
  numberColumn("conversations", "Conversations", (row) => count(row.conversations)),
  numberColumn("named", "With a name", (row) => count(row.named)),
  numberColumn("picks", "Picks", (row) => count(row.picks)),
  numberColumn("names", "Different names", (row) => count(row.names)),
];

function nameColumns(names: Names, titleOf: TitleOf): Column<NameCount>[] {
  const where = ({ scenarios }: NameCount) =>
    scenarios.map(([scenario, times]) => `${titleOf(scenario)} ${count(times)}`).join(", ");
  return [
    {
      id: "name",
      title: "Name",
      rowHeader: true,
      sortValue: (row) => row.name,
      cell: (row) => (
        <>
          <bdi className="self-name">{row.name}</bdi>
          <details className="text-sm sm:hidden">
            <summary className="py-0.5 text-soft underline underline-offset-4">who, and where</summary>
            <Who labels={row.subjects} ids={names.subjects} />
            <p className="mt-1 text-soft">{where(row)}</p>
          </details>
        </>
      ),
    },
    numberColumn("subjects", "Subjects", (row) => count(row.subjects.length), {
      sortValue: (row) => row.subjects.length,
    }),
    numberColumn("times", "Times", (row) => count(row.times), { sortValue: (row) => row.times }),
    column("who", "Who", (row) => <Who labels={row.subjects} ids={names.subjects} />, { className: "max-sm:hidden" }),
    column("scenarios", "Where", where, { className: "max-sm:hidden", cellClass: "eyebrow" }),
  ];
}

function Who({ labels, ids }: { labels: readonly string[]; ids: Names["subjects"] }) {
  const { href } = usePage();
  const [all, setAll] = useState(false);
  const shown = all ? labels : labels.slice(0, SHOWN);
  return (
    <>
      {shown.map((label, i) => (
        <span key={label}>
          {i ? ", " : ""}
          <a href={href(route("subject", { subject: ids[label] ?? "" }))}>
            <Label text={label} />
          </a>
        </span>
      ))}
      {shown.length < labels.length ? (
        <button type="button" className="ml-2 text-soft underline underline-offset-4" onClick={() => setAll(true)}>
          and {count(labels.length - SHOWN)} more
        </button>
      ) : null}
    </>
  );
}
