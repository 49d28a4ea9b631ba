import type {
  Board,
  ConfigurationComparison as Means,
  Effect,
  Interval,
  ConfigurationSummary,
  SettingComparison as Group,
  Variant,
  SubjectSettings,
  ComparedWithItself,
} from "../../api/types";
import { headColumn, DataTable, shownColumn, numberColumn, type Column } from "../../components/tables";
import { Empty, Await } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize, orDash, plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { SignificanceMark, Comparison, type Side } from "./Comparison";
import { Label } from "../../components/labels";
import { Section } from "../../components/sections";
import { endpoints, useApi } from "../../api/queries";
import { csvAndJson, Downloads } from "../../components/downloads";
import { SelectField } from "../../components/fields";
import { PairChooser } from "./Choosing";

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
    headColumn("setting", by === "provider" ? "Provider" : "Effort", (row) => (
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
    )),
    shownColumn("index", "Index"),
    numberColumn("difference", "Difference", (row) => (
      <>
        {row.stands ? <SignificanceMark /> : null} {row === base ? "base" : orDash(row.shown.difference)}
        {row === base ? null : <IntervalLine interval={row.apart?.uncertainty.rerun ?? null} why={board.why} />}
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
    <span className="block text-sm text-soft" title={why ?? "95% rerun CI"}>
      {interval?.shown ?? "no interval"}
    </span>
  );
}

const CONFIGURATION_COLUMNS: readonly Column<ConfigurationSummary>[] = [
  headColumn("configuration", "Configuration", (row) => humanize(row.configuration)),
  numberColumn("subjects", "Subjects", (row) => row.subjects),
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
          {means.effects.map((effect, index) => (
            <li key={index} className="flex justify-between gap-4 border-b border-line py-1">
              <span>
                {sentence(effect)} <span className="eyebrow">{plural(effect.subjects, "subject")}</span>
              </span>
              <span className="num">
                <span className="font-semibold">{effect.shown.points}</span>
                <IntervalLine interval={effect.rerun} why={null} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </Section>
  );
}

function sentence({ factor, level, base, within }: Effect): string {
  if (factor === "both") return `${humanize(level)} + tool role against ${humanize(base)} + user role`;
  if (factor === "interaction") return `${humanize(level)}: how much more the one adds where the other is there`;
  return `${humanize(level)} instead of ${humanize(base)}${within ? `, under ${humanize(within)}` : ", on average"}`;
}

interface Props {
  board: Board;
  address: AddressOf<"compare">;
}

/** One subject in two of its configurations. */
function Configurations({ board, address }: Props) {
  const { navigate } = usePage();
  const subject = board.in_several.find((subject) => subject.subject === address.subject);
  return (
    <section className="mt-2" aria-label="One subject in two configurations">
      <h2>One subject in two configurations</h2>
      <p className="mb-2 max-w-3xl text-sm text-soft">
        Another system prompt, or the same words delivered differently. The runs of two configurations are independent,
        and the intervals are for the same test given again; how much of a difference would be found on other scenarios
        has not been measured.
      </p>
      <SelectField
        label="Subject"
        className="mb-3 block max-w-xl"
        selectClass="w-full"
        value={subject?.subject ?? ""}
        options={[
          { value: "", title: "choose …" },
          ...board.in_several.map((subject) => ({ value: subject.subject, title: subject.label })),
        ]}
        onChange={(id) => navigate(route("compare", { view: "settings", subject: id }))}
      />
      {subject ? (
        <TwoConfigurations board={board} subject={subject} address={address} />
      ) : address.subject ? (
        <Empty title="It is in one configuration only.">
          By this judge, these rules and weights it has no marks in a second one; choose another subject.
        </Empty>
      ) : null}
    </section>
  );
}

function TwoConfigurations({ board, subject, address }: Props & { subject: ComparedWithItself }) {
  const { navigate, href } = usePage();
  const [first, second] = configurationPair(
    subject.configurations,
    board.board.configurations,
    address.first,
    address.second,
  );
  const path = endpoints.settings(board.board.series, subject.subject);
  const configurations = useApi(path);
  const choose = (one: string, other: string) =>
    navigate(route("compare", { view: "settings", subject: subject.subject, first: one, second: other }));
  const options = subject.configurations.map((configuration) => ({
    value: configuration,
    title: humanize(configuration),
  }));
  return (
    <>
      <PairChooser first={first} second={second} options={options} onChoose={choose} />
      <Await query={configurations} what="the comparison">
        {(value) => {
          const pair = [first, second].map((name) =>
            value.configurations.find(({ configuration }) => configuration === name),
          );
          const [one, other] = pair;
          const differences = one?.others.find(({ configuration }) => configuration === second)?.apart;
          const side = ({
            configuration,
            board: on,
            values,
            shown,
          }: SubjectSettings["configurations"][number]): Side => ({
            label: humanize(configuration),
            name: humanize(configuration),
            subject: value.subject,
            board: on,
            configuration,
            values,
            shown,
          });
          return (
            <>
              <div className="mt-4">
                <Downloads files={csvAndJson(path)} citation={board.citation} />
              </div>
              {one && other && differences ? (
                <Comparison
                  board={board}
                  compared={value.compared}
                  sides={[side(one), side(other)]}
                  differences={differences}
                  openRow={address.scenario}
                  kind="rerun"
                />
              ) : (
                <Empty title="These two cannot be compared.">Choose two others.</Empty>
              )}
              <p className="mt-6 flex flex-wrap gap-x-5 text-sm">
                {pair.map((found, index) =>
                  found ? (
                    <a
                      key={index}
                      className="py-1"
                      href={href(route("subject", { subject: subject.subject }), { board: found.board })}
                    >
                      All of {humanize(found.configuration)}
                    </a>
                  ) : null,
                )}
              </p>
            </>
          );
        }}
      </Await>
    </>
  );
}

/**
 * The two of *all* configurations that are compared: *first* and *second*, as far as they exist and differ; else one of
 * *shown*, the ranking that is open, and the first of the others. *all* has two or more.
 */
export function configurationPair(
  all: readonly string[],
  shown: readonly string[],
  first: string,
  second: string,
): readonly [string, string] {
  const asked = all.includes(second) && second !== first ? second : "";
  const free = all.filter((item) => item !== asked);
  const one = free.find((name) => name === first) ?? free.find((name) => shown.includes(name)) ?? free[0] ?? "";
  return [one, asked || (all.find((name) => name !== one) ?? "")];
}
