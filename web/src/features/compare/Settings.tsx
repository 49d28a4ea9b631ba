import type {
  Board,
  BranchDifference,
  ConfigurationComparison as Means,
  Effect,
  Interval,
  ConfigurationSummary,
  SettingComparison as Group,
  Variant,
} from "../../api/types";
import { DataTable, shownColumn, type Column } from "../../components/tables";
import { Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize, orDash, plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Configurations } from "./Configurations";
import { SignificanceMark } from "./Comparison";
import { Label } from "../../components/labels";
import { Section } from "../../components/sections";

const TITLES = { reasoning: "Reasoning", provider: "Providers" };

/** One subject in two configurations; then what prompt, delivery, provider and reasoning change on average. */
export function Settings({ board, address }: { board: Board; address: AddressOf<"compare"> }) {
  const { configurations, efforts, providers } = board;
  if (!configurations && !efforts.length && !providers.length && !board.in_several.length) {
    return (
      <Empty title="Nothing to compare here yet.">
        It needs one subject in two configurations, or a model under two providers or two reasoning efforts.
      </Empty>
    );
  }
  return (
    <>
      {board.in_several.length ? <Configurations board={board} address={address} /> : null}
      {configurations ? <PromptAndDelivery means={configurations} /> : null}
      {(["reasoning", "provider"] as const).map((by) => {
        const groups = by === "provider" ? providers : efforts;
        return groups.length ? (
          <Section
            key={by}
            title={TITLES[by]}
            description={
              <>
                The same model, all else equal. Each interval is for one difference alone; <SignificanceMark /> differs
                by more than chance, corrected for the number of differences (Holm).
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
    {
      id: "setting",
      title: by === "provider" ? "Provider" : "Effort",
      rowHeader: true,
      cell: (row) => (
        <>
          <a href={href(route("subject", { subject: id(row.label) }))}>
            <bdi className="label">{row.setting}</bdi>
          </a>
          {row.served.length ? (
            <span className="eyebrow label block">
              {row.served
                .slice(0, 3)
                .map(([provider]) => provider)
                .join(", ")}
            </span>
          ) : null}
        </>
      ),
    },
    shownColumn("index", "Index"),
    {
      id: "difference",
      title: "Difference",
      numeric: true,
      cell: (row) => (
        <>
          {row.stands ? <SignificanceMark /> : null} {row === base ? "base" : orDash(row.shown.difference)}
          {row === base ? null : <IntervalLine interval={row.apart?.uncertainty.rerun ?? null} why={board.why} />}
        </>
      ),
    },
    { id: "runs", title: "Runs", numeric: true, cell: (row) => row.runs },
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
    <span className="block text-sm text-soft" title={why ?? "95% rerun CI"}>
      {interval?.shown ?? "no interval"}
    </span>
  );
}

const CONFIGURATION_COLUMNS: readonly Column<ConfigurationSummary>[] = [
  { id: "configuration", title: "Configuration", rowHeader: true, cell: (row) => humanize(row.configuration) },
  { id: "subjects", title: "Subjects", numeric: true, cell: (row) => row.subjects },
  shownColumn("mean", "Mean"),
  shownColumn("paired", "Paired", { hint: "over the subjects that have an index in every configuration" }),
];

function PromptAndDelivery({ means }: { means: Means }) {
  return (
    <Section
      title="Prompt and delivery"
      description="How the system prompt and the delivery change the index, each subject compared with itself. Each interval is for one difference alone."
    >
      <div className="grid gap-6 lg:grid-cols-2">
        <DataTable
          rows={means.places}
          columns={CONFIGURATION_COLUMNS}
          rowKey={(row) => row.configuration}
          caption="Mean index in every configuration"
          className=""
          scroll="self-start"
        />
        <ul>
          {means.effects.map((one, index) => (
            <li key={index} className="flex justify-between gap-4 border-b border-line py-1">
              <span>
                {sentence(one)} <span className="eyebrow">{plural(one.subjects, "subject")}</span>
              </span>
              <span className="num">
                <span className="font-semibold">{one.shown.points}</span>
                <IntervalLine interval={one.rerun} why={null} />
              </span>
            </li>
          ))}
        </ul>
      </div>
      {means.prompts.length ? (
        <>
          <ul className="mt-4 max-w-3xl">
            {means.prompts.map((one) => (
              <li key={`${one.level} ${one.within}`} className="border-b border-line py-1">
                <span className="font-medium">
                  {humanize(one.level)} instead of {humanize(one.base)}, with {humanize(one.within)}
                </span>{" "}
                <span className="eyebrow">{plural(one.subjects, "subject")}</span>
                <span className="block">
                  <Changed title="hold (h)" found={one.hold} />; <Changed title="openness (e r)" found={one.openness} />
                </span>
              </li>
            ))}
          </ul>
          <p className="mt-1 text-sm text-soft">
            What the prompt buys in hold and costs in openness, from 0 to 1, each stem compared with itself; 95%
            intervals for these subjects, over runs and other stems of the kind, each interval alone.
          </p>
        </>
      ) : null}
    </Section>
  );
}

/** What a prompt does to one quantity, in words. */
function Changed({ title, found }: { title: string; found: BranchDifference | null }) {
  if (!found) return <>of {title} nothing is known</>;
  const { interval, shown, stems } = found;
  if (!interval)
    return `${title} changes by ${shown.difference} over ${plural(stems, "stem")}, too few for an interval`;
  const told = interval.low > 0 ? "gains" : interval.high < 0 ? "loses" : "cannot be told from unchanged:";
  return (
    <>
      {title} {told} <span className="font-semibold tabular-nums">{shown.difference}</span>{" "}
      <span className="text-soft tabular-nums">
        ({interval.shown}, {plural(stems, "stem")})
      </span>
    </>
  );
}

function sentence({ factor, level, base, within }: Effect): string {
  if (factor === "interaction") return `${humanize(level)}: how much more the one adds where the other is there`;
  return `${humanize(level)} instead of ${humanize(base)}${within ? `, under ${humanize(within)}` : ", on average"}`;
}
