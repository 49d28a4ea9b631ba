import type { Board, Interval, ConfigurationSummary, SettingComparison as Group, Variant } from "../../api/types";
import { headColumn, DataTable, shownColumn, numberColumn, type Column } from "../../components/tables";
import { Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize, orDash } from "../../lib/format";
import { route } from "../../routes";
import { SignificanceMark } from "./Comparison";
import { Label } from "../../components/labels";
import { Section } from "../../components/sections";

const TITLES = { reasoning: "Reasoning", provider: "Providers" };

/** What system prompt, delivery mode, provider and reasoning change. */
export function Settings({ board }: { board: Board }) {
  const { configurations, efforts, providers } = board;
  if (!configurations && !efforts.length && !providers.length) {
    return (
      <Empty title="Nothing to compare here yet.">
        It needs one model in two configurations, or a model under two providers or two reasoning efforts.
      </Empty>
    );
  }
  return (
    <>
      {configurations ? <PromptAndDelivery places={configurations.places} /> : null}
      {(["reasoning", "provider"] as const).map((by) => {
        const groups = by === "provider" ? providers : efforts;
        return groups.length ? (
          <Section
            key={by}
            title={TITLES[by]}
            description={
              <>
                The same model, all else equal. Each interval is for one difference alone; <SignificanceMark /> is a
                significant difference, corrected for the number of differences (Holm).
              </>
            }
          >
            <div className="grid gap-4 lg:grid-cols-2">
              {groups.map((group, index) => (
                <SettingsTable key={index} group={group} by={by} board={board} />
              ))}
            </div>
          </Section>
        ) : null;
      })}
    </>
  );
}

function SettingsTable({ group, by, board }: { group: Group; by: keyof typeof TITLES; board: Board }) {
  const { href } = usePage();
  const id = (label: string) => board.ids[label] ?? "";
  const base = group.variants.find((variant) => variant.difference === null && variant.index !== null);
  const columns: Column<Variant>[] = [
    headColumn("setting", by === "provider" ? "Provider" : "Effort", (row) => {
      const served = Object.keys(row.served).slice(0, 3);
      return (
        <>
          <a href={href(route("subject", { subject: id(row.label) }))}>
            <bdi className="label">{row.setting}</bdi>
          </a>
          {served.length ? <span className="eyebrow label block">{served.join(", ")}</span> : null}
        </>
      );
    }),
    shownColumn("index", "Index"),
    numberColumn("difference", "Difference", (row) => (
      <>
        {row.stands ? <SignificanceMark /> : null} {row === base ? "base" : orDash(row.shown.difference)}
        {row === base ? null : <IntervalLine interval={row.interval?.rerun ?? null} why={board.why} />}
      </>
    )),
    numberColumn("runs", "Runs", (row) => row.runs),
    {
      id: "compare",
      title: <span className="sr-only">Compare</span>,
      cellClass: "num",
      cell: (row) =>
        base && row !== base ? (
          <a
            href={href(route("compare"), { picked: [id(base.label), id(row.label)] })}
            aria-label={`Compare ${base.setting} and ${row.setting}`}
          >
            compare
          </a>
        ) : null,
    },
  ];
  return (
    <article className="panel min-w-0 px-4 py-3">
      <h3>
        <Label text={group.model} />
      </h3>
      <DataTable
        rows={group.variants}
        columns={columns}
        rowKey={(row) => row.label}
        caption={`${group.model} under several settings`}
      />
    </article>
  );
}

/** The interval of a difference, below it. */
function IntervalLine({ interval, why }: { interval: Interval | null; why: string | null }) {
  return (
    <span className="block text-sm text-soft" title={why ?? "95% CI (same scenarios)"}>
      {interval?.shown ?? "no interval"}
    </span>
  );
}

const CONFIGURATION_COLUMNS: readonly Column<ConfigurationSummary>[] = [
  headColumn("configuration", "Configuration", (row) => humanize(row.configuration)),
  numberColumn("subjects", "Models", (row) => row.subjects, { className: "max-sm:hidden" }),
  shownColumn("mean", "Mean index"),
  numberColumn("difference", "Difference", ({ effect }) =>
    effect ? (
      <>
        <span className="font-semibold">{effect.shown.points}</span>
        <IntervalLine interval={effect.rerun} why={null} />
      </>
    ) : (
      "–"
    ),
  ),
];

function PromptAndDelivery({ places }: { places: readonly ConfigurationSummary[] }) {
  return (
    <Section
      title="System prompt and delivery mode"
      description="Difference: to the first configuration, each model compared with itself, with the 95% CI (same scenarios) of that difference alone. The page of a model has its own differences."
    >
      <DataTable
        rows={places}
        columns={CONFIGURATION_COLUMNS}
        rowKey={(row) => row.configuration}
        caption="Mean index in every configuration"
      />
    </Section>
  );
}
