import type { ReactNode } from "react";
import { endpoints, useApi, useBoard } from "../../api/queries";
import type { NameChoice, PageColumn, Subject } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { Disclosure, Section } from "../../components/sections";
import { csvAndJson, Downloads } from "../../components/downloads";
import { ReasonsTable } from "../../components/ReasonsTable";
import { Await } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { plural, count, orDash, humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Branches } from "./Branches";
import { HeatMap, isNarrowed, Transcripts, type SubjectProps } from "./Conversations";
import { Runs } from "./Runs";
import { Scores, FULL_SCALE } from "./Scores";
import { Label } from "../../components/labels";
import { dataProblems, healthDetails, priceInParts, reasoningInWords } from "../../components/boardRows";
import { DataTable, numberColumn, column, headColumn, type Column } from "../../components/tables";
import { IntervalBar, Ruler } from "../../components/bars";

const NOT_ON_BOARD =
  "This model may not be on the leaderboard chosen above; choose another one, or go back to the leaderboard.";

/** One model on one leaderboard. */
export default function SubjectPage({ address }: { address: AddressOf<"subject"> }) {
  const { board, index } = usePage();
  const ranking = useBoard(board.id, index.offer.frozen);
  const subject = useApi(endpoints.subject(board.id, address.subject));
  return (
    <>
      {subject.error && !subject.data ? <BoardChooser /> : null}
      <Await query={subject} what="the model" explain={() => ({ next: NOT_ON_BOARD })}>
        {(value) => (
          <Await query={ranking} what="the model">
            {(shownOn) => <Details subject={value} board={shownOn} address={address} />}
          </Await>
        )}
      </Await>
    </>
  );
}

function Details({ subject, board, address }: SubjectProps) {
  const { href } = usePage();
  const { label } = subject.row;
  const { id } = subject.row.subject;
  useDocumentTitle(label);
  const others = address.picked.filter((one) => one !== id);
  const narrowed = isNarrowed(address);
  const items = subject.transcripts.every(({ branch }) => branch);
  const variants = [...board.efforts, ...board.providers].flatMap((one) => one.variants);
  const hasVariants = variants.some((variant) => board.ids[variant.label] === id);
  return (
    <>
      <p className="eyebrow">
        <a href={href(route("leaderboard"))}>Leaderboard</a> / model
      </p>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <h1 className="label">
          <bdi>{label}</bdi>
        </h1>
        {board.subjects > 1 ? (
          <a className="button no-print" href={href(route("compare"), { picked: [id, ...others].slice(0, 2) })}>
            Compare
          </a>
        ) : null}
      </div>
      <BoardChooser />
      <div className="mt-3">
        <Downloads files={csvAndJson(endpoints.subject(board.board.id, id))} citation={board.citation} />
      </div>

      <div className="mt-5 grid gap-8 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Scores subject={subject} board={board} />
        <Facts subject={subject} columns={board.columns} />
      </div>
      {subject.row.reasons ? (
        <Section
          title="Moves by its own reasons"
          description="When the condition was met that it named itself, and when it was not."
        >
          <ReasonsTable rows={[{ ...subject.row, reasons: subject.row.reasons }]} />
        </Section>
      ) : null}
      {subject.row.branches ? (
        <Section
          title="Branch by branch"
          description="What each kind of conversation that goes on from an opening is worth."
        >
          <Branches subject={subject} branches={subject.row.branches} />
        </Section>
      ) : null}
      <Section
        title="Scenario by scenario"
        description={`Share of each scenario's points, run by run. ${items ? "Every cell is an item with its conversations" : "Every cell is a conversation"}: open it. A heading of a row or a column lists only its conversations, below.`}
      >
        <HeatMap subject={subject} board={board} address={address} />
        <Disclosure
          title={narrowed ? "Conversations" : `All ${plural(subject.transcripts.length, "conversation")}`}
          className="mt-3"
          open={narrowed}
        >
          <Transcripts subject={subject} board={board} address={address} />
        </Disclosure>
      </Section>
      <Section title="Run by run">
        <Runs subject={subject} board={board} address={address} />
      </Section>
      {subject.names.length ? (
        <Section
          title="Names that it chose"
          description="When it was free to choose, and after the human asked for others."
        >
          <Names names={subject.names} titles={new Map(board.scenarios.map(({ id, title }) => [id, title]))} />
        </Section>
      ) : null}
      {subject.elsewhere.length ? (
        <Section
          title="In other configurations"
          description="The same model under another system prompt or delivery mode, by the same judge. Difference: to the index above, with its 95% CI (same scenarios)."
        >
          <OtherConfigurations subject={subject} />
        </Section>
      ) : null}
      {hasVariants ? (
        <Section title="Under other settings" description="The same model with one setting changed.">
          <a href={href(route("compare", { view: "settings" }))}>All comparisons of settings</a>
        </Section>
      ) : null}
    </>
  );
}

/** What is known of the model beside its scores. */
function Facts({ subject, columns }: { subject: Subject; columns: readonly PageColumn[] }) {
  const { row, served, shown } = subject;
  const { subject: facts, price } = row;
  const problems = dataProblems(row, columns);
  const providers = served.slice(0, 6).map(([provider, replies]) => `${provider} (${count(replies)})`);
  const more = served.length > 6 ? ` and ${served.length - 6} more` : "";
  const perRun = price?.shown.dollars_per_run ? `${price.shown.dollars_per_run} a run` : "";
  const cost = [
    [perRun, priceInParts(price)].filter(Boolean).join(": "),
    shown.dollars ? `${shown.dollars} in all` : "",
  ];
  const lines: Record<string, ReactNode> = {
    "Model": <Label text={facts.model} />,
    "Endpoint": <Label text={facts.endpoint} />,
    "Provider": facts.provider ? <Label text={`${facts.provider} (pinned)`} /> : "not pinned",
    "Served by": served.length ? <span className="label">{providers.join(", ") + more}</span> : null,
    "Reasoning": [facts.reasoning, reasoningInWords(row)].filter(Boolean).join("; "),
    "Temperature": facts.temperature ?? "not sent",
    "Limit": facts.max_tokens ? `${count(facts.max_tokens)} tokens a reply` : null,
    "Cost": price?.free ? "free" : cost.filter(Boolean).join("; ") || null,
    "Runs": row.runs,
    "Replies": problems.join(", ") || null,
  };
  return (
    <section aria-label="Facts" className="panel self-start px-4 py-3">
      <dl className="text-[0.95rem]">
        {Object.entries(lines)
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div
              key={name}
              className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-3 border-b border-line py-1 last:border-0"
            >
              <dt className="text-faint">{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <p className="mt-2 text-sm text-faint">{healthDetails(row, columns)}.</p>
    </section>
  );
}

/** The names that the model chose where it was free to choose, and what became of them; *titles*: of scenarios. */
function Names({ names, titles }: { names: readonly NameChoice[]; titles: ReadonlyMap<string, string> }) {
  const { href } = usePage();
  const columns: Column<NameChoice>[] = [
    headColumn("run", "Run", (row) => (
      <a href={href(route("transcript", { transcript: row.transcript }))} className="whitespace-nowrap">
        run {row.read.run}
      </a>
    )),
    column("scenario", "Scenario", (row) => titles.get(row.read.scenario) ?? "–", { cellClass: "eyebrow" }),
    column("first", "Chose", (row) => <Name name={row.read.picks.join(", ") || null} gender={row.read.first.gender} />),
    column("final", "Final", (row) => <Name name={row.read.final.name} gender={row.read.final.gender} />),
    column("kept", "Kept", kept),
    column("read_by", "Read by", (row) => row.read.read_by ?? "not read", { cellClass: "eyebrow label" }),
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

type Elsewhere = Subject["elsewhere"][number];

/** The model's index in other configurations, and its difference to the one that is shown. */
function OtherConfigurations({ subject }: { subject: Subject }) {
  const { href } = usePage();
  const { id } = subject.row.subject;
  const name = (one: Elsewhere) => one.configurations.map(humanize).join(" + ");
  const columns: Column<Elsewhere>[] = [
    headColumn("configuration", "Configuration", (row) => (
      <a href={href(route("subject", { subject: id }), { board: row.board })}>{name(row)}</a>
    )),
    numberColumn("index", "Index", (row) => orDash(row.index.shown), { cellClass: "font-semibold" }),
    numberColumn("difference", "Difference", (row) => (
      <>
        {orDash(row.change?.shown.points)}
        <span className="block text-sm text-soft" title={row.why ?? "95% CI (same scenarios)"}>
          {row.change?.rerun?.shown ?? "no interval"}
        </span>
      </>
    )),
    {
      id: "interval",
      title: <Ruler scale={FULL_SCALE} />,
      className: "w-40 !pr-4 max-sm:hidden",
      cellClass: "!align-middle",
      cell: (row) => <IntervalBar score={row.index} scale={FULL_SCALE} kind="both" />,
    },
  ];
  return (
    <DataTable
      rows={subject.elsewhere}
      columns={columns}
      rowKey={(row) => row.board}
      caption="The index in other configurations"
      className=""
    />
  );
}
