import { useMemo, useState, type ReactNode } from "react";
import type { Board, ComparedScore, Differences, Interval, Transcript, WordedIntervals } from "../../api/types";
import { DataTable, numberColumn, type Column } from "../../components/tables";
import { DifferenceBar } from "../../components/bars";
import { usePage } from "../../hooks/usePage";
import { orDash, heatColor, humanize } from "../../lib/format";
import { route, type SharedParams } from "../../routes";
import { endpoints, useApi } from "../../api/queries";
import { MessageText } from "../../components/MessageText";
import { Await } from "../../components/status";
import { Label } from "../../components/labels";
import { Button } from "../../components/fields";

/** One of the two that are compared. */
export interface Side extends Speaker {
  name: string; // short, for the heads of columns
  values: readonly (number | null)[]; // in the order of *compared*
  shown: readonly (string | null)[]; // the same, as text
}

interface Props {
  board: Board;
  compared: readonly ComparedScore[];
  sides: readonly [Side, Side];
  differences: Differences;
  less: 0 | 1; // the place of the side that is subtracted from the other one
  openRow: string; // scenario.dimension
  kind: SharedParams["interval"];
  children?: ReactNode; // between what is said of all scenarios and of each
}

const FEW = 12; // scenarios listed before somebody asks for all

/** Index and dimensions with paired differences; then the scenarios, those with opposite outcomes first. */
export function Comparison({ board, compared, sides, differences, less, openRow, kind, children }: Props) {
  const [all, setAll] = useState(false);
  const [unscored, setUnscored] = useState(false);
  const counts = ({ dimension }: ComparedScore) => unscored || !isUnscored(board, dimension);
  const hides = compared.some(({ dimension }) => isUnscored(board, dimension));
  const isScenario = (index: number) => {
    const score = compared[index];
    return score?.scenario != null && counts(score);
  };
  const rest = differences.order.filter(isScenario);
  const itself = sides[0].subject === sides[1].subject;
  const opposite = itself ? "Holds on one side, gives in on the other" : "One holds, the other gives in";
  const list = { board, compared, sides, differences, openRow };
  return (
    <>
      <Overall {...list} less={less} kind={kind} counts={counts} />
      {hides ? (
        <Button className="mt-2" aria-pressed={unscored} onClick={() => setUnscored(!unscored)}>
          {unscored ? "Only the dimensions that count" : "All dimensions"}
        </Button>
      ) : null}
      {children}
      <ScenarioList
        {...list}
        title={opposite}
        description="One is above 50, the other below. Open a row to read both answers."
        none="In no scenario: both are above 50, or both below."
        indices={differences.flipped.filter(isScenario)}
      />
      <ScenarioList
        {...list}
        title="All other scenarios, largest difference first"
        none="Nothing else is scored in both."
        indices={all ? rest : rest.slice(0, FEW)}
      />
      {!all && rest.length > FEW ? (
        <Button className="mt-2" onClick={() => setAll(true)}>
          Show all {rest.length}
        </Button>
      ) : null}
    </>
  );
}

interface OverallProps extends Omit<Props, "openRow" | "children"> {
  counts: (score: ComparedScore) => boolean; // whether it is shown
}

/** The index and its dimensions; *compared* has them without a scenario. */
function Overall({ board, compared, sides, differences, less, kind, counts }: OverallProps) {
  const rows = overallFirst(compared, differences).filter(({ index }) => compared[index] && counts(compared[index]));
  const significant = kind === "like" ? differences.stand_new_scenarios : differences.stand;
  const reach = reachOf(
    differences,
    rows.map((row) => row.index),
  );
  const [first, second] = sides;
  const subtracted = sides[less];
  const other = less === 0 ? second : first;
  const interval = (index: number) => intervalOf(differences, index, kind);
  const columns: Column<(typeof rows)[number]>[] = [
    {
      id: "name",
      title: <span className="sr-only">What is compared</span>,
      rowHeader: true,
      cellClass: ({ dimension }) => (dimension === null ? "!font-semibold" : ""),
      cell: ({ dimension }) => (dimension === null ? "Independence Index" : dimensionTitle(board, dimension)),
    },
    numberColumn("first", <SideName name={first.name} />, ({ index }) => orDash(first.shown[index]), {
      hint: first.label,
    }),
    numberColumn("second", <SideName name={second.name} />, ({ index }) => orDash(second.shown[index]), {
      hint: second.label,
    }),
    numberColumn("difference", <DifferenceName name={other.name} less={subtracted.name} />, ({ index }) => (
      <>
        {significant.includes(index) ? <SignificanceMark /> : null} {orDash(differences.shown[index])}
        <span className="block text-sm font-normal text-soft sm:hidden">{interval(index)?.shown}</span>
      </>
    )),
    {
      id: "interval",
      title: `95% CI (${kind === "like" ? "new" : "same"} scenarios)`,
      numeric: true,
      className: "max-sm:hidden",
      cellClass: "text-soft",
      cell: ({ index }) => orDash(interval(index)?.shown),
    },
    {
      id: "bar",
      title: (
        <span className="flex justify-between gap-4 text-xs font-normal text-faint">
          <bdi className="label">← {subtracted.name} is higher</bdi>
          <bdi className="label text-right">{other.name} is higher →</bdi>
        </span>
      ),
      className: "w-1/3 max-md:hidden",
      cellClass: "!align-middle",
      cell: ({ index }) => (
        <DifferenceBar
          value={differences.points[index] ?? null}
          text={differences.shown[index]}
          interval={interval(index)}
          reach={reach}
        />
      ),
    },
  ];
  return (
    <section className="mt-5" aria-label="Differences">
      <h2>Overall</h2>
      <DataTable
        rows={rows}
        columns={columns}
        rowKey={(row) => String(row.index)}
        rowClass={({ dimension }) => (dimension === null ? "font-semibold" : "")}
        caption="Index and dimensions of both, and the difference"
      />
      <p className="mt-1 text-sm text-soft">
        Each interval covers its own row in 95 of 100 cases.{" "}
        {rows.some(({ index }) => significant.includes(index)) ? (
          <>
            <SignificanceMark /> is a significant difference, corrected for the number of dimensions (Holm).
          </>
        ) : rows.some(({ index }) => interval(index)) ? (
          "The difference is not significant in any dimension, corrected for their number (Holm)."
        ) : (
          "Whether a difference is significant is not known."
        )}
      </p>
      {differences.why ? (
        <p className="mt-1 text-sm text-soft">Where an interval is missing: {differences.why}</p>
      ) : null}
    </section>
  );
}

interface ListProps extends Omit<Props, "kind" | "less" | "children"> {
  title: string;
  description?: string;
  none: string; // said where there is nothing to list
  indices: readonly number[]; // in *compared*
}

function ScenarioList({ title, description, none, indices, ...row }: ListProps) {
  const significant = indices.some((index) => row.differences.stand.includes(index));
  return (
    <section className="mt-8" aria-label={title}>
      <h2>{title}</h2>
      {description && indices.length ? <p className="text-sm text-soft">{description}</p> : null}
      {significant ? (
        <p className="text-sm text-soft">
          <SignificanceMark /> is a significant difference on this test, corrected for the number of scenarios (Holm).
        </p>
      ) : null}
      {indices.length ? (
        <ul className="mt-2 border-t border-line">
          {indices.map((index) => (
            <ScenarioRow key={index} index={index} {...row} />
          ))}
        </ul>
      ) : (
        <p className="text-soft">{none}</p>
      )}
    </section>
  );
}

function ScenarioRow({
  index,
  board,
  compared,
  sides,
  differences,
  openRow,
}: Omit<ListProps, "title" | "none" | "indices"> & { index: number }) {
  const { update } = usePage();
  const { scenario = null, dimension = null } = compared[index] ?? {};
  const titles = useMemo(() => new Map(board.scenarios.map((scenario) => [scenario.id, scenario.title])), [board]);
  if (scenario === null) return null;
  const interval = intervalOf(differences, index, "rerun");
  const key = `${scenario}.${dimension ?? ""}`;
  const open = openRow === key;
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        className="grid w-full grid-cols-[minmax(0,1fr)_2.6rem_2.6rem_5rem] items-baseline gap-x-2 py-1.5 text-left hover:bg-sunk sm:grid-cols-[minmax(0,1fr)_3.2rem_3.2rem_4.2rem_6.5rem]"
        onClick={() => update({ scenario: open ? "" : key })}
      >
        <span className="min-w-0">
          <span
            aria-hidden="true"
            className={`mr-1 inline-block w-3 text-faint transition-transform ${open ? "rotate-90" : ""}`}
          >
            ›
          </span>
          {titles.get(scenario) ?? scenario}
          {dimension ? <span className="eyebrow ml-2">{dimensionTitle(board, dimension)}</span> : null}
        </span>
        {sides.map(({ values, shown }, side) => (
          <span key={side} className="num rounded px-1.5" style={heatColor(values[index])}>
            {orDash(shown[index])}
          </span>
        ))}
        <span className="num font-semibold">
          {differences.stand.includes(index) ? <SignificanceMark /> : null} {orDash(differences.shown[index])}
          <span className="block text-xs font-normal text-soft sm:hidden">{interval?.shown}</span>
        </span>
        <span className="num text-sm text-soft max-sm:hidden">{interval?.shown}</span>
      </button>
      {open ? <Answers key={scenario} scenario={scenario} sides={sides} /> : null}
    </li>
  );
}

/** The index, then the dimensions, those with the largest difference first, as the command lists them. */
function overallFirst(compared: readonly ComparedScore[], { points }: Differences) {
  const size = (index: number) => (points[index] == null ? -1 : Math.abs(points[index]));
  return compared
    .flatMap(({ scenario, dimension }, index) => (scenario === null ? [{ dimension, index }] : []))
    .sort((a, b) => Number(a.dimension !== null) - Number(b.dimension !== null) || size(b.index) - size(a.index));
}

/** Whether the dimension *name* does not count in the index. */
function isUnscored(board: Board, name: string | null): boolean {
  return name !== null && board.dimensions.some((dimension) => dimension.name === name && !dimension.weight);
}

function dimensionTitle(board: Board, name: string): string {
  return board.dimensions.find((dimension) => dimension.name === name)?.title ?? name;
}

/** The interval of a difference. Scenarios have only the one for the same test given again. */
function intervalOf(differences: Differences, index: number, kind: Props["kind"]): Interval | null {
  return intervalAt(kind === "like" ? differences.new_scenarios : differences.rerun, index);
}

function intervalAt(intervals: WordedIntervals | null, index: number): Interval | null {
  const [low, high, shown] = [intervals?.low[index], intervals?.high[index], intervals?.shown[index]];
  return low == null || high == null || shown == null ? null : { low, high, shown };
}

/** The end of the bars' scale: a multiple of ten that holds every difference and interval. */
function reachOf({ points, rerun, new_scenarios }: Differences, indices: readonly number[]): number {
  const ends = indices.flatMap((i) => [
    points[i],
    ...[rerun, new_scenarios].flatMap((one) => [one?.low[i], one?.high[i]]),
  ]);
  const most = Math.max(5, ...ends.map((end) => Math.abs(end ?? 0)));
  return Math.ceil(most / 10) * 10;
}

/** Marks a difference of more than chance, even with all others of its list looked at. */
export function SignificanceMark() {
  return (
    <span className="text-accent" role="img" aria-label="significant:">
      ✱
    </span>
  );
}

/** The head of one side's column, which may be long. */
export function SideName({ name }: { name: string }) {
  return (
    <bdi className="inline-block max-w-20 text-xs [overflow-wrap:break-word] whitespace-normal sm:max-w-44 sm:text-sm">
      {name}
    </bdi>
  );
}

/** The head of the column with what one side has more than the other one; on a phone the names stand beside it. */
function DifferenceName({ name, less }: { name: string; less: string }) {
  return (
    <>
      <span className="text-xs sm:hidden">difference</span>
      <span className="max-sm:hidden">
        <SideName name={`${name} − ${less}`} />
      </span>
    </>
  );
}

/** Whose answers: those of a model on a leaderboard, or there in one configuration only. */
interface Speaker {
  label: string;
  subject: string;
  board: string;
  configuration: string | null;
}

/** What both said in one scenario, beside each other. */
function Answers({ scenario, sides }: { scenario: string; sides: readonly [Speaker, Speaker] }) {
  return (
    <div className="grid gap-4 pb-4 md:grid-cols-2">
      {sides.map((side) => (
        <Answer key={`${side.subject} ${side.configuration ?? ""}`} scenario={scenario} speaker={side} />
      ))}
    </div>
  );
}

function Answer({ scenario, speaker }: { scenario: string; speaker: Speaker }) {
  const { board, href } = usePage();
  const { configuration, label } = speaker;
  const [chosen, setChosen] = useState("");
  const subject = useApi(endpoints.subject(speaker.board, speaker.subject));
  const entries = (subject.data?.transcripts ?? []).filter(
    (one) => one.scenario === scenario && (configuration === null || one.configuration === configuration),
  );
  const entry = entries.find((entry) => entry.id === chosen) ?? entries[0];
  const transcript = useApi(entry ? endpoints.transcript(entry.id) : null);
  const named = configuration === null && board.configurations.length > 1;
  return (
    <article className="panel min-w-0 px-4 py-3" aria-label={label}>
      <header className="mb-2 flex flex-wrap items-baseline justify-between gap-2">
        <Label text={label} className="font-medium" />
        {entries.length > 1 ? (
          <select
            className="field text-sm"
            aria-label={`Which conversation of ${label}`}
            value={entry?.id ?? ""}
            onChange={(event) => setChosen(event.target.value)}
          >
            {entries.map((entry) => (
              <option key={entry.id} value={entry.id}>
                run {entry.run}
                {named ? `, ${humanize(entry.configuration)}` : ""}:{" "}
                {entry.score === null ? entry.state : orDash(entry.shown.score)}
              </option>
            ))}
          </select>
        ) : null}
      </header>
      <Await query={subject} what="the answer">
        {() =>
          entry ? (
            <Await query={transcript} what="the answer">
              {(value) => (
                <>
                  <Replies transcript={value} />
                  <a
                    href={href(
                      route("transcript", { transcript: entry.id }),
                      speaker.board === board.id ? {} : { board: speaker.board },
                    )}
                    className="text-sm"
                  >
                    Read the conversation
                  </a>
                </>
              )}
            </Await>
          ) : (
            <p className="text-soft">It was not asked this question.</p>
          )
        }
      </Await>
    </article>
  );
}

function Replies({ transcript }: { transcript: Transcript }) {
  return transcript.lines.map((line, index) =>
    line.who === "model" ? (
      <div key={index} className={`prose-text mb-3 ${line.judged ? "" : "text-soft"}`}>
        {line.reply ? (
          <p className="eyebrow">
            {humanize(line.reply)}
            {line.judged ? "" : " (not what is scored)"}
          </p>
        ) : null}
        <MessageText text={line.text} />
      </div>
    ) : null,
  );
}
