import { useMemo, type ReactNode } from "react";
import type { Board, StemEntry, Subject, TranscriptEntry } from "../../api/types";
import { useBoard } from "../../api/queries";
import { SelectField } from "../../components/fields";
import { ScrollArea } from "../../components/sections";
import { TableHead, DataTable, type Heading, numberColumn, column, type Column } from "../../components/tables";
import { usePage, type PageContextValue } from "../../hooks/usePage";
import { humanize, nameText, orDash, heatColor, plural, markText } from "../../lib/format";
import { route, SCORES, type AddressOf } from "../../routes";
import { optionNames } from "../../lib/boards";
import { branchTitle } from "../../lib/branches";

/** What the parts of a model's page are given. */
export interface SubjectProps {
  subject: Subject;
  board: Board;
  address: AddressOf<"subject">;
}

/**
 * A row for each scenario, a column for each run (and configuration, if several). A cell opens its conversation; the
 * head of a row or a column narrows the list below to it, and takes that back.
 */
export function HeatMap({ subject, board, address }: SubjectProps) {
  const { href } = usePage();
  const pooled = board.board.configurations.length > 1;
  const compares = board.ranked > 2; // a single other model is no field
  const { columns, cells } = useMemo(
    () => cellsOf([...subject.stems, ...subject.transcripts.filter(({ branch }) => !branch)]),
    [subject],
  );
  const headings: Heading[] = [
    { id: "scenario", title: "Scenario", className: "py-1 pr-3" },
    { id: "mean", title: "Mean", numeric: true, className: "px-2 text-soft", hint: "mean over runs" },
    ...(compares
      ? [
          {
            id: "field",
            title: "All models",
            numeric: true,
            className: "px-2 text-faint",
            hint: "mean over all ranked models",
          },
        ]
      : []),
    ...columns.map(({ run, configuration }) => ({
      id: `${run} ${configuration}`,
      title: (
        <>
          <Narrowing address={address} name={`run ${run}`} to={{ run }}>
            run {run}
          </Narrowing>
          {pooled ? (
            <span className="eyebrow block max-w-20 leading-tight">{humanize(configuration).replace("/", " / ")}</span>
          ) : null}
        </>
      ),
      className: `px-1 text-center align-bottom font-normal ${address.run === run ? "text-accent" : "text-soft"}`,
    })),
  ];
  return (
    <ScrollArea>
      <table className="text-sm">
        <caption className="sr-only">Score in every scenario and run; cells open conversations</caption>
        <TableHead columns={headings} />
        <tbody>
          {board.scenarios.map((scenario, index) => (
            <tr key={scenario.id}>
              <th scope="row" className="py-0.5 pr-3 font-normal">
                <Narrowing address={address} name={scenario.title} to={{ scenario: scenario.id }}>
                  {scenario.title}
                </Narrowing>
              </th>
              <td className="num px-2 font-semibold">{orDash(subject.row.shown.scenarios[index])}</td>
              {compares ? <td className="num px-2 text-faint">{orDash(subject.shown.field[index])}</td> : null}
              {columns.map(({ run, configuration }) => {
                const entry = cells.get(`${run} ${configuration} ${scenario.id}`);
                return (
                  <td
                    key={`${run} ${configuration}`}
                    className={`p-0.5 ${listed(address, scenario.id, run) ? "bg-accent" : ""}`}
                  >
                    {entry ? (
                      <Cell
                        entry={entry}
                        title={`${scenario.title}, run ${run}`}
                        target={href(
                          "branches" in entry
                            ? route("stem", { scenario: scenario.id, subject: address.subject, run, configuration })
                            : route("transcript", { transcript: entry.id }),
                        )}
                      />
                    ) : (
                      <span className="block text-center text-faint">–</span>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}

interface NarrowingProps {
  address: AddressOf<"subject">;
  name: string;
  to: { run?: number; scenario?: string };
  children: ReactNode;
}

/** The head of a row or a column: narrows the list of conversations to it, or takes that back. */
function Narrowing({ address, name, to, children }: NarrowingProps) {
  const { update } = usePage();
  const on = (to.run ?? address.run) === address.run && (to.scenario ?? address.scenario) === address.scenario;
  return (
    <button
      type="button"
      className={`min-h-6 min-w-6 text-left hover:text-accent hover:underline ${on ? "font-semibold text-accent" : ""}`}
      aria-pressed={on}
      title={on ? "lists all conversations again" : `lists only the conversations of ${name}`}
      onClick={() => update(on ? { ...("run" in to ? { run: null } : { scenario: "" }) } : to)}
    >
      {children}
    </button>
  );
}

/** Whether the list is narrowed, and a cell's conversation in it. */
function listed(address: AddressOf<"subject">, scenario: string, run: number): boolean {
  if (address.run === null && !address.scenario) return false;
  return (address.run ?? run) === run && (address.scenario || scenario) === scenario;
}

const STATES = {
  "judged": "",
  "not judged": "open",
  "judge failed": "judge ✕",
  "invalid": "invalid",
  "not played": "open",
};

function Cell({ entry, title, target }: { entry: TranscriptEntry | StemEntry; title: string; target: string }) {
  const { state, score, why, shown } = entry;
  const text = state === "judged" ? orDash(shown.score) : STATES[state];
  const more = [
    ...(state === "judged" || state === text ? [] : [state]),
    ...(state === "judged" && score === null ? ["does not count"] : []),
    ...(why ? [why] : []),
  ];
  const label = `${title}: ${[text, ...more].join(", ")}`;
  return (
    <a
      href={target}
      className={`block min-w-12 rounded px-2 py-1 text-center text-ink no-underline hover:ring-2 hover:ring-accent ${score === null ? "border border-dashed border-edge" : ""}`}
      style={heatColor(score)}
      title={label}
      aria-label={label}
    >
      {text}
    </a>
  );
}

function cellsOf(transcripts: readonly (TranscriptEntry | StemEntry)[]) {
  const cells = new Map<string, TranscriptEntry | StemEntry>();
  const columns = new Map<string, { run: number; configuration: string }>();
  for (const entry of transcripts) {
    const { run, configuration } = entry;
    columns.set(`${run} ${configuration}`, { run, configuration });
    cells.set(`${run} ${configuration} ${entry.scenario}`, entry);
  }
  return { columns: [...columns.values()], cells };
}

/** The conversations of the model, or those of one scenario, of one run, with some scores. */
export function Transcripts({ subject, board, address }: SubjectProps) {
  const { href } = usePage();
  const { run, scenario, score } = address;
  const rows = useMemo(
    () =>
      subject.transcripts.filter(
        (transcript) =>
          (run === null || transcript.run === run) &&
          (!scenario || transcript.scenario === scenario) &&
          (!score || scoreRange(transcript.score) === score),
      ),
    [subject, run, scenario, score],
  );
  const columns = useMemo(() => columnsOf(subject, board, href), [subject, board, href]);
  return (
    <>
      <Filters subject={subject} board={board} address={address} />
      <p className="mb-2 flex flex-wrap gap-x-3 text-sm" role="status">
        <span>
          {plural(rows.length, "conversation")}
          {rows.length < subject.transcripts.length ? ` of ${subject.transcripts.length}` : ""}
        </span>
        {isNarrowed(address) ? (
          <a href={href(route("subject", { subject: address.subject }))}>All conversations</a>
        ) : null}
        {scenario ? <a href={href(route("scenario", { scenario }))}>This scenario over all models</a> : null}
      </p>
      <DataTable rows={rows} columns={columns} rowKey={(row) => row.id} caption="Conversations" />
    </>
  );
}

/** Whether the list is narrowed to some conversations. */
export function isNarrowed({ run, scenario, score }: AddressOf<"subject">): boolean {
  return run !== null || scenario !== "" || score !== "";
}

const ANY = { value: "", title: "all" };

/** Which conversations are listed: of which model, scenario and run, with which scores. */
function Filters({ subject, board, address }: SubjectProps) {
  const { update, navigate, index } = usePage();
  const { data: whole = board } = useBoard(board.board.id, index.offer.frozen, true);
  const runs = [...new Set(subject.transcripts.map((one) => one.run))].sort((a, b) => a - b);
  const names = optionNames(whole);
  const models = whole.rows.map(({ subject: { id }, label }) => ({
    value: id,
    title: nameText(names.get(id) ?? label),
  }));
  const scenarios = board.scenarios.map(({ id, title }) => ({ value: id, title }));
  return (
    <div role="group" aria-label="Narrow the list" className="no-print mb-2 flex flex-wrap items-end gap-x-4 gap-y-2">
      <SelectField
        label="Model"
        selectClass="max-w-full"
        value={address.subject}
        options={models}
        onChange={(id) => navigate({ ...address, subject: id })}
      />
      <SelectField
        label="Scenario"
        selectClass="max-w-full"
        value={address.scenario}
        options={[ANY, ...scenarios]}
        onChange={(scenario) => update({ scenario })}
      />
      <SelectField
        label="Run"
        value={address.run === null ? "" : String(address.run)}
        options={[ANY, ...runs.map((run) => ({ value: String(run), title: String(run) }))]}
        onChange={(run) => update({ run: run === "" ? null : Number(run) })}
      />
      <SelectField
        label="Score"
        value={address.score}
        options={[ANY, ...SCORES.map((range) => ({ value: range, title: SCORE_TITLES[range] }))]}
        onChange={(range) => update({ score: SCORES.find((one) => one === range) ?? "" })}
      />
    </div>
  );
}

const SCORE_TITLES: Record<(typeof SCORES)[number], string> = {
  "0-25": "below 25",
  "25-50": "25 to below 50",
  "50-75": "50 to below 75",
  "75-100": "75 and above",
  "none": "no score",
};

/** The range that *score*, in [0, 100] or absent, is in. */
function scoreRange(score: number | null): (typeof SCORES)[number] {
  return score === null ? "none" : (SCORES[Math.min(3, Math.floor(score / 25))] ?? "none");
}

function columnsOf(subject: Subject, board: Board, href: PageContextValue["href"]): Column<TranscriptEntry>[] {
  const order = new Map(board.scenarios.map((scenario, index) => [scenario.id, index]));
  const title = (id: string) => board.scenarios[order.get(id) ?? -1]?.title ?? humanize(id);
  const configuration: Column<TranscriptEntry> = column(
    "configuration",
    "Configuration",
    (row) => humanize(row.configuration),
    {
      ascendingFirst: true,
      sortValue: (row) => row.configuration,
      className: "max-md:hidden",
    },
  );
  return [
    {
      id: "scenario",
      title: "Scenario",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: (row) => order.get(row.scenario),
      cell: (row) => (
        <a href={href(route("transcript", { transcript: row.id }))}>
          {title(row.scenario)}
          {row.branch ? `: ${branchTitle(row.branch)}` : ""}
        </a>
      ),
    },
    numberColumn("run", "Run", (row) => row.run, { ascendingFirst: true, sortValue: (row) => row.run }),
    ...(board.board.configurations.length > 1 ? [configuration] : []),
    {
      id: "score",
      title: "Score",
      hint: "Share of the points to be had in this conversation, 100 being the independent end",
      numeric: true,
      sortValue: (row) => row.score,
      cell: (row) => (
        <span className="rounded px-1.5" style={heatColor(row.score)}>
          {orDash(row.shown.score)}
        </span>
      ),
    },
    {
      id: "marks",
      title: "Scores given",
      className: "max-md:hidden",
      cellClass: "text-sm text-soft",
      cell: (row) =>
        subject.scales
          .filter((scale) => Object.hasOwn(row.marks, scale.name))
          .map((scale) => `${scale.title} ${markText(scale, row)}`)
          .join(" · "),
    },
    {
      id: "state",
      title: "State",
      ascendingFirst: true,
      sortValue: (row) => `${row.state} ${warnings(row)}`,
      cell: (row) => (
        <span className={`text-sm ${row.state === "judged" ? "text-soft" : "text-warn"}`}>
          {row.state}
          {row.why ? <span className="label">: {row.why}</span> : null}
          {warnings(row) ? <span className="text-warn">, {warnings(row)}</span> : null}
        </span>
      ),
    },
  ];
}

function warnings(row: TranscriptEntry): string {
  return [row.cut_off ? "cut off" : "", row.plain_text ? "without the tool call" : ""].filter(Boolean).join(", ");
}
