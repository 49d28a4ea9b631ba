import { scenarioAt, subjectAt, type Choice } from "../../addresses";
import type { Board, DimensionFacts, Row } from "../../api/types";
import { shown } from "../../parts/format";
import type { Column } from "../../parts/Grid";
import { Health, troubles } from "../../parts/Health";
import { heat } from "../../parts/Heat";
import { inWords, IntervalBar, Ruler, ticksOf, type Scale } from "../../parts/IntervalBar";
import { Label } from "../../parts/Label";
import type { Here } from "../../parts/place";
import { Rank } from "../../parts/Standing";

export interface Told {
  board: Board;
  here: Here;
  scale: Scale;
  kind: Choice["interval"];
  extras: boolean; // dimensions that do not count are shown too
  pick: (row: Row, on: boolean) => void;
}

/** The columns that every view begins with. */
function first({ here, pick, kind, scale }: Told, both = false): Column<Row>[] {
  const { picked } = here.address;
  return [
    {
      id: "pick",
      title: <span className="sr-only">Pick for comparison</span>,
      fixed: true,
      value: () => null,
      className: "w-7 no-print",
      show: (row) => (
        <input
          type="checkbox"
          className="size-4 translate-y-0.5 accent-accent"
          aria-label={`Pick ${row.subject.label} for comparison`}
          checked={picked.includes(row.subject.id)}
          onChange={(event) => {
            pick(row, event.target.checked);
          }}
        />
      ),
    },
    {
      id: "rank",
      title: "Rank",
      hint: "Rank; behind it the 95 % interval of the rank, and raised the tie groups",
      align: "right",
      up: true,
      value: (row) => row.rank,
      show: (row) => <Rank row={row} kind={kind} />,
    },
    {
      id: "subject",
      title: "Subject",
      up: true,
      head: true,
      value: (row) => row.subject.label,
      className: "lg:min-w-64",
      show: (row) => (
        <a href={here.href(subjectAt(row.subject.id))} className="text-ink no-underline hover:underline">
          <Label subject={row.subject} />
          <span className="block pt-1 md:hidden">
            <IntervalBar score={row.index} scale={scale} kind={both ? "both" : kind} />
          </span>
        </a>
      ),
    },
    index({ kind }),
  ];
}

function index({ kind }: Pick<Told, "kind">): Column<Row> {
  return {
    id: "index",
    title: "Index",
    hint: "The Independence Index, 0 to 100, and its 95 % interval",
    align: "right",
    value: (row) => row.index.value,
    show: (row) => {
      const interval = kind === "again" ? row.index.uncertainty.again : row.index.uncertainty.another;
      return (
        <span title={inWords(row.index.shown, row.index.uncertainty, "both")}>
          <span className="font-semibold">{shown(row.index.shown)}</span>
          <span className="ml-1.5 inline-block min-w-12 text-left text-sm text-faint max-md:block max-md:text-right">
            {interval?.shown}
          </span>
        </span>
      );
    },
  };
}

export function tableColumns(told: Told): Column<Row>[] {
  const { board, scale, kind, extras } = told;
  const priced = board.rows.some((row) => row.dollars_per_run !== null);
  const varied = board.rows.some((row) => row.deviation !== null);
  return [
    ...first(told),
    {
      id: "interval",
      title: <Ruler scale={scale} />,
      fixed: true,
      value: () => null,
      className: `${extras ? "w-[9%]" : "w-[15%]"} max-md:hidden`,
      cell: "!align-top !pt-2",
      show: (row) => <IntervalBar score={row.index} scale={scale} kind={kind} />,
    },
    ...board.dimensions.flatMap((one, place) => (one.weight || extras ? [dimension(one, place, kind)] : [])),
    ...(varied
      ? [
          {
            id: "deviation",
            title: "SD",
            hint: "Standard deviation of the runs' indices: how much the same test varies when it is given again",
            align: "right",
            className: "max-2xl:hidden",
            value: (row: Row) => row.deviation,
            show: (row: Row) => shown(row.shown.deviation),
          } satisfies Column<Row>,
        ]
      : []),
    {
      id: "health",
      title: "Data",
      hint: "What the score rests on: invalid, cut-off and repeated replies, missing verdicts",
      value: unhealthy,
      className: "whitespace-nowrap max-sm:hidden",
      show: (row) => <Health health={row.health} short />,
    },
    ...(priced ? prices() : []),
  ];
}

function dimension({ name, title, weight, inverted }: DimensionFacts, place: number, kind: Told["kind"]): Column<Row> {
  return {
    id: name,
    title: <span className={`inline-block max-w-24 whitespace-normal ${weight ? "" : "text-faint"}`}>{title}</span>,
    hint: `${title}: ${weight ? `${String(weight)} of the index's 100 points` : "shown, does not count"}${inverted ? "; turned round, so that 100 is the independent end" : ""}`,
    align: "right",
    className: "max-lg:hidden",
    value: (row) => row.dimensions[place]?.value,
    show: (row) => {
      const score = row.dimensions[place];
      return score ? (
        <span
          className="-mx-1 inline-block min-w-9 rounded px-1"
          style={heat(score.value)}
          title={inWords(score.shown, score.uncertainty, kind)}
        >
          {shown(score.shown)}
        </span>
      ) : null;
    },
  };
}

function prices(): Column<Row>[] {
  return [
    {
      id: "cost",
      title: "$ a run",
      hint: "What one run cost: its replies, and this judge for marking them",
      align: "right",
      up: true,
      className: "max-2xl:hidden",
      value: (row) => row.dollars_per_run,
      show: (row) => shown(row.shown.dollars_per_run),
    },
    {
      id: "value",
      title: "Index / $",
      hint: "Points of the index for a dollar of one run, replies and judge together; what costs nothing stands below",
      align: "right",
      className: "max-lg:hidden",
      value: (row) => (row.dollars_per_run === 0 ? -1 : row.index_per_dollar),
      show: (row) => (row.dollars_per_run === 0 ? "free" : shown(row.shown.index_per_dollar)),
    },
  ];
}

/** To sort by: the worse the data, the higher. */
function unhealthy({ health }: Row): number {
  return health.failed_share + health.cut_off_share + health.judge_failed + troubles(health).length / 1e6;
}

export function forestColumns(told: Told): Column<Row>[] {
  const { scale } = told;
  const ticks = ticksOf(scale);
  return [
    ...first(told, true),
    {
      id: "interval",
      title: <Ruler scale={scale} />,
      fixed: true,
      value: () => null,
      className: "w-[58%] max-md:hidden",
      cell: "!align-top",
      show: (row) => <IntervalBar score={row.index} scale={scale} kind="both" ticks={ticks} tall />,
    },
  ];
}

/** Every subject in every scenario. */
export function heatColumns(told: Told): Column<Row>[] {
  const { board, here } = told;
  return [
    ...first(told),
    ...board.scenarios.map((scenario, place): Column<Row> => ({
      id: `s.${scenario.id}`,
      title: (
        <a
          href={here.href(scenarioAt(scenario.id))}
          className="mx-auto block max-h-44 rotate-180 text-soft no-underline [writing-mode:vertical-rl] hover:underline"
        >
          {scenario.title}
        </a>
      ),
      hint: `${scenario.title}: share of its ${scenario.shown.points} points`,
      fixed: true,
      value: () => null,
      className: "!px-0.5 text-center",
      show: (row) => (
        <span
          className="block min-w-8 rounded px-0.5 text-sm"
          style={heat(row.scenarios[place])}
          title={`${scenario.title}: ${shown(row.shown.scenarios[place])}`}
        >
          {shown(row.shown.scenarios[place])}
        </span>
      ),
    })),
  ];
}
