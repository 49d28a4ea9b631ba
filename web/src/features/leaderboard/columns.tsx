import type { Board, Dimension, Row } from "../../api/types";
import {
  COST,
  costOf,
  DataHealth,
  describedColumn,
  LENGTH,
  OPENNESS,
  REASONING,
  severity,
} from "../../components/boardRows";
import { column, numberColumn, type Column } from "../../components/tables";
import { IntervalBar, Ruler, scoreInWords, ticksOf, type Scale } from "../../components/bars";
import { LabelDoubt, PossibleRanks, SubjectLabel } from "../../components/labels";
import type { PageContextValue } from "../../hooks/usePage";
import { orDash, heatColor } from "../../lib/format";
import { columnId, dimensionOf, indexOf, known } from "../../lib/rows";
import { route, type AddressOf, type SharedParams } from "../../routes";

interface ColumnContext {
  board: Board;
  page: PageContextValue;
  scale: Scale;
  kind: SharedParams["interval"];
  extras: boolean; // all columns
  view: AddressOf<"leaderboard">["view"];
}

/** The column of names on a phone: all that the other columns leave; the heat map scrolls sideways. */
const ON_PHONE = { forest: "max-md:w-full max-md:max-w-0", heat: "max-md:min-w-36 max-md:max-w-44", scatter: "" };

/** How wide a name may be before it is broken into lines, where there is room for more columns. */
const NAME_WIDTH = {
  forest: "md:w-max md:max-w-[15rem] lg:max-w-[19rem] xl:max-w-[29rem]",
  table: "md:w-max md:max-w-[13rem] xl:max-w-[17rem]",
  heat: "md:w-max md:max-w-[13rem] xl:max-w-[17rem] min-[88rem]:max-w-[24rem]",
  scatter: "",
};

const POSSIBLE_RANKS = <span className="inline-block max-w-18 whitespace-normal">Possible ranks</span>;

/** The columns that every view begins with. */
function firstColumns({ board, page, kind, scale, view }: ColumnContext): Column<Row>[] {
  const { picked } = page.address;
  return [
    {
      id: "pick",
      title: <span className="sr-only">Pick for comparison</span>,
      className: "w-7 no-print max-sm:!px-1",
      cell: ({ subject: { id }, label }) => (
        <input
          type="checkbox"
          className="size-4 translate-y-0.5 accent-accent"
          aria-label={`Pick ${label} for comparison`}
          checked={picked.includes(id)}
          onChange={(event) => {
            const rest = picked.filter((one) => one !== id);
            page.update({ picked: event.target.checked ? [...rest, id] : rest });
          }}
        />
      ),
    },
    numberColumn("rank", POSSIBLE_RANKS, (row) => <PossibleRanks row={row} kind={kind} />, {
      hint: `The ranks that it may have on ${kind === "like" ? "another test like it" : "this test"}`,
      ascendingFirst: true,
      className: "max-sm:!px-1",
      sortValue: (row) => row.rank,
    }),
    {
      id: "subject",
      title: "Model",
      below:
        view === "forest" ? (
          <span aria-hidden="true" className="block md:hidden">
            <Ruler scale={scale} />
          </span>
        ) : null,
      ascendingFirst: true,
      rowHeader: true,
      sortValue: (row) => row.label,
      className: `max-sm:!px-1 ${ON_PHONE[view === "table" ? "forest" : view]}`,
      cellHint: (row) => row.label,
      cell: (row) => (
        <>
          <span className={`flex items-baseline gap-1.5 ${NAME_WIDTH[view]}`}>
            <a
              href={page.href(route("subject", { subject: row.subject.id }))}
              aria-label={row.label}
              className="min-w-0 text-ink no-underline hover:underline max-sm:text-sm"
            >
              <SubjectLabel label={board.names[row.subject.id] ?? row.label} name={row.subject.name} />
            </a>
            <LabelDoubt doubt={row.label_doubt} />
          </span>
          {view === "heat" ? null : (
            <span className="-mt-0.5 -mb-1 block md:hidden">
              <IntervalBar score={indexOf(row, board.why)} scale={scale} kind={view === "forest" ? "both" : kind} />
            </span>
          )}
        </>
      ),
    },
    {
      id: "index",
      title: "Index",
      hint: "The Independence Index, 0 to 100, and its 95% CI",
      numeric: true,
      className: "max-sm:!px-1",
      sortValue: (row) => row.index,
      cell: (row) => (
        <span title={`${scoreInWords(indexOf(row, board.why), "both")}${withoutSessions(row)}`}>
          <span className="font-semibold">{orDash(row.shown.index)}</span>
          <span className="ml-1.5 inline-block min-w-19 text-left text-sm text-faint max-md:hidden">
            {(kind === "rerun" ? row.index_interval.rerun : row.index_interval.new_scenarios)?.shown}
          </span>
          {view === "heat" ? null : <span className="-mb-1 block text-xs text-faint md:hidden">{costOf(row)}</span>}
        </span>
      ),
    },
  ];
}

/** The rerun interval of the index, were nothing allowed for between sessions. */
function withoutSessions({ index_interval_without_sessions: without }: Row): string {
  return without?.rerun ? `; without the allowance for sessions ${without.rerun.shown}` : "";
}

export function tableColumns(context: ColumnContext): Column<Row>[] {
  const { board, kind, extras } = context;
  const described = known(board.columns, board.rows);
  const columns = firstColumns(context);
  if (board.rows.some((row) => row.index_interval_as_published)) {
    columns.push(
      numberColumn("as_published", "CI as published", (row) => row.index_interval_as_published?.shown, {
        hint: "The interval of the index that came with the imported data: a bootstrap over runs, which covers 50 to 85%",
        className: "whitespace-nowrap max-lg:hidden",
      }),
    );
  }
  for (const dimension of board.dimensions) {
    if (dimension.weight || extras) columns.push(dimensionColumn(dimension, board.why, kind));
  }
  const shown = described.filter((one) => extras || !one.wide || [COST, OPENNESS].includes(columnId(one)));
  const room = (at: string) => (extras ? "max-lg:hidden" : at);
  return [
    ...columns,
    ...shown.filter((one) => !one.wide).map((one) => ({ ...describedColumn(one), className: room("max-2xl:hidden") })),
    column("health", "Data", (row) => <DataHealth row={row} columns={board.columns} />, {
      hint: "What is wrong with the replies and judgements that the score is made of",
      className: `whitespace-nowrap ${room("max-xl:hidden")}`,
      sortValue: (row) => severity(row, board.columns),
    }),
    ...shown
      .filter((one) => one.wide)
      .map((one) => ({ ...describedColumn(one), className: "whitespace-nowrap max-lg:hidden" })),
  ];
}

/** What the numbers are based on, as far as the forest plot has it, and where there is room for it. */
const BESIDE_BARS: Readonly<Record<string, string>> = {
  [OPENNESS]: "max-md:hidden",
  [COST]: "max-lg:hidden",
  [LENGTH]: "max-2xl:hidden",
  [REASONING]: "max-2xl:hidden whitespace-nowrap",
};

function dimensionColumn(
  { name, title, weight, inverted }: Dimension,
  why: string | null,
  kind: ColumnContext["kind"],
): Column<Row> {
  const counts = weight ? `${weight} of the index's 100 points` : "not part of the index";
  return {
    id: name,
    title: <span className={`inline-block max-w-20 whitespace-normal ${weight ? "" : "text-faint"}`}>{title}</span>,
    hint: `${title}: ${counts}${inverted ? "; reversed, so that 100 is the independent end" : ""}`,
    numeric: true,
    className: "max-lg:hidden",
    sortValue: (row) => dimensionOf(row, name, why).value,
    cell: (row) => {
      const score = dimensionOf(row, name, why);
      return (
        <span
          className="-mx-1 inline-block min-w-9 rounded px-1"
          style={heatColor(score.value)}
          title={scoreInWords(score, kind)}
        >
          {orDash(score.shown)}
        </span>
      );
    },
  };
}

export function forestColumns(context: ColumnContext): Column<Row>[] {
  const { scale, board } = context;
  const ticks = ticksOf(scale);
  return [
    ...firstColumns(context),
    {
      id: "interval",
      title: <Ruler scale={scale} />,
      className: "w-full max-md:hidden max-lg:!pr-4",
      cellClass: "!py-0 !align-middle [&>span]:h-8",
      cell: (row) => <IntervalBar score={indexOf(row, board.why)} scale={scale} kind="both" ticks={ticks} />,
    },
    ...known(board.columns, board.rows).flatMap((one) => {
      const className = BESIDE_BARS[columnId(one)];
      return className === undefined ? [] : [{ ...describedColumn(one), className }];
    }),
  ];
}

/** Every model in every scenario. */
export function heatColumns(context: ColumnContext): Column<Row>[] {
  const { board, page } = context;
  return [
    ...firstColumns(context),
    ...board.scenarios.map(({ id, title, shown }, index): Column<Row> => ({
      id: `s.${id}`,
      title: (
        <a
          href={page.href(route("scenario", { scenario: id }))}
          className="mx-auto block max-h-44 rotate-180 text-soft no-underline [writing-mode:vertical-rl] hover:underline"
        >
          {title}
        </a>
      ),
      hint: `${title}: share of its ${shown.points} points`,
      className: "!px-0.5 text-center",
      cell: (row) => (
        <span
          className="block min-w-8 rounded px-0.5 text-sm"
          style={heatColor(row.scenarios[index])}
          title={`${title}: ${orDash(row.shown.scenarios[index])}`}
        >
          {orDash(row.shown.scenarios[index])}
        </span>
      ),
    })),
  ];
}
