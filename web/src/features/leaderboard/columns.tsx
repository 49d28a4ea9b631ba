import type { Board, Dimension, BoardRow } from "../../api/types";
import { DataHealth, dataProblems, COST, costOf, LENGTH, priceInParts, REASONING } from "../../components/boardRows";
import { shownColumn, column, numberColumn, type Column } from "../../components/tables";
import { IntervalBar, Ruler, scoreInWords, ticksOf, type Scale } from "../../components/bars";
import { LabelDoubt, PossibleRanks, SubjectLabel } from "../../components/labels";
import type { PageContextValue } from "../../hooks/usePage";
import { orDash, heatColor } from "../../lib/format";
import { route, type AddressOf, type SharedParams } from "../../routes";

interface ColumnContext {
  board: Board;
  page: PageContextValue;
  scale: Scale;
  kind: SharedParams["interval"];
  extras: boolean; // dimensions without weight are shown, too
  view: AddressOf<"leaderboard">["view"];
}

/** The column of names on a phone: all that the other columns leave; the heat map scrolls sideways. */
const ON_PHONE = { forest: "max-md:w-full max-md:max-w-0", heat: "max-md:min-w-36 max-md:max-w-44", scatter: "" };

/** How wide a name may be, where there is room for more columns. */
const NAME_WIDTH = {
  forest: "md:max-w-[15rem] lg:max-w-[19rem] xl:max-w-[29rem]",
  table: "md:max-w-[13rem] xl:max-w-[17rem] min-[88rem]:max-w-[24rem]",
  heat: "md:max-w-[13rem] xl:max-w-[17rem] min-[88rem]:max-w-[24rem]",
  scatter: "",
};

const POSSIBLE_RANKS = <span className="inline-block max-w-18 whitespace-normal">Possible ranks</span>;

/** The columns that every view begins with. */
function firstColumns({ page, kind, scale, view }: ColumnContext): Column<BoardRow>[] {
  const { picked } = page.address;
  return [
    {
      id: "pick",
      title: <span className="sr-only">Pick for comparison</span>,
      className: "w-7 no-print max-sm:!px-1",
      cell: ({ subject: { id, label } }) => (
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
      hint: `The ranks that it may have on ${kind === "like" ? "another test like it" : "this test"}; rows that share a raised letter cannot be told apart`,
      ascendingFirst: true,
      className: "max-sm:!px-1",
      sortValue: (row) => row.rank,
    }),
    {
      id: "subject",
      title: "Subject",
      below:
        view === "forest" ? (
          <span aria-hidden="true" className="block md:hidden">
            <Ruler scale={scale} />
          </span>
        ) : null,
      ascendingFirst: true,
      rowHeader: true,
      sortValue: (row) => row.subject.label,
      // one line a row: what does not fit is in the tooltip
      className: `max-sm:!px-1 ${ON_PHONE[view === "table" ? "forest" : view]}`,
      cellHint: (row) => row.subject.label,
      cell: (row) => (
        <>
          <span className={`flex items-baseline gap-1.5 ${NAME_WIDTH[view]}`}>
            <a
              href={page.href(route("subject", { subject: row.subject.id }))}
              aria-label={row.subject.label}
              className="min-w-0 truncate text-ink no-underline hover:underline max-sm:text-sm"
            >
              <SubjectLabel subject={row.subject} />
            </a>
            <LabelDoubt doubt={row.label_doubt} />
          </span>
          {view === "heat" ? null : (
            <span className="-mt-0.5 -mb-1 block md:hidden">
              <IntervalBar score={row.index} scale={scale} kind={view === "forest" ? "both" : kind} />
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
      sortValue: (row) => row.index.value,
      cell: ({ index, price, without_sessions, index: { shown, uncertainty } }) => (
        <span title={`${scoreInWords(index, "both")}${withoutSessions(without_sessions)}`}>
          <span className="font-semibold">{orDash(shown)}</span>
          <span className="ml-1.5 inline-block min-w-19 text-left text-sm text-faint max-md:hidden">
            {(kind === "rerun" ? uncertainty.rerun : uncertainty.new_scenarios)?.shown}
          </span>
          {view === "heat" ? null : (
            <span className="-mb-1 block text-xs text-faint md:hidden">{costOf({ price })}</span>
          )}
        </span>
      ),
    },
  ];
}

/** The rerun interval of the index, were nothing allowed for between sessions. */
function withoutSessions(without: BoardRow["without_sessions"]): string {
  return without?.rerun ? `; rerun without the allowance for sessions ${without.rerun.shown}` : "";
}

export function tableColumns(context: ColumnContext): Column<BoardRow>[] {
  const { board, kind, extras } = context;
  const columns = firstColumns(context);
  if (board.rows.some((row) => row.as_published)) {
    columns.push(
      numberColumn("as_published", "CI as published", (row) => row.as_published?.shown, {
        hint: "The interval of the index that came with the imported data: a bootstrap over runs, which covers 50 to 85%",
        className: "whitespace-nowrap max-lg:hidden",
      }),
    );
  }
  board.dimensions.forEach((dimension, index) => {
    if (dimension.weight || extras) columns.push(dimensionColumn(dimension, index, kind));
  });
  if (board.rows.some((row) => row.deviation !== null)) {
    columns.push(
      shownColumn("deviation", "SD", {
        hint: "Standard deviation of the runs' indices: how much the same test varies when it is given again",
        className: "max-2xl:hidden",
        sortValue: (row) => row.deviation,
      }),
    );
  }
  columns.push(
    column("health", "Data", (row) => <DataHealth health={row.health} short />, {
      hint: "What is wrong with the replies and verdicts that the score is made of",
      className: "whitespace-nowrap max-xl:hidden",
      sortValue: severity,
    }),
  );
  return [...columns, ...costColumns(board, "max-[120rem]:hidden")];
}

function dimensionColumn(
  { name, title, weight, inverted }: Dimension,
  index: number,
  kind: ColumnContext["kind"],
): Column<BoardRow> {
  const counts = weight ? `${weight} of the index's 100 points` : "not part of the index";
  return {
    id: name,
    title: <span className={`inline-block max-w-20 whitespace-normal ${weight ? "" : "text-faint"}`}>{title}</span>,
    hint: `${title}: ${counts}${inverted ? "; reversed, so that 100 is the independent end" : ""}`,
    numeric: true,
    className: "max-lg:hidden",
    sortValue: (row) => row.dimensions[index]?.value,
    cell: (row) => {
      const score = row.dimensions[index];
      return score ? (
        <span
          className="-mx-1 inline-block min-w-9 rounded px-1"
          style={heatColor(score.value)}
          title={scoreInWords(score, kind)}
        >
          {orDash(score.shown)}
        </span>
      ) : null;
    },
  };
}

/** What a run costs, how long the replies are, and how much reasoning they came with. */
function costColumns({ rows }: Board, ifReasoningFits: string): Column<BoardRow>[] {
  const priced = rows.some(({ price }) => price?.dollars_per_run != null);
  const reasoned = rows.some((row) => row.reasoning_tokens ?? row.reasoning_doubt);
  return [
    ...(priced ? [{ ...COST, className: "max-lg:hidden", cellHint: costInParts }] : []),
    { ...LENGTH, className: "max-2xl:hidden" },
    ...(reasoned ? [{ ...REASONING, className: `${ifReasoningFits} whitespace-nowrap` }] : []),
  ];
}

function costInParts({ price }: BoardRow): string | undefined {
  return priceInParts(price) || undefined;
}

/** The worse the data, the higher. */
function severity({ health }: BoardRow): number {
  return health.failed_share + health.cut_off_share + health.judge_failed + dataProblems(health).length / 1e6;
}

export function forestColumns(context: ColumnContext): Column<BoardRow>[] {
  const { scale, board } = context;
  const ticks = ticksOf(scale);
  return [
    ...firstColumns(context),
    {
      id: "interval",
      title: <Ruler scale={scale} />,
      className: "w-full max-md:hidden max-lg:!pr-4",
      cellClass: "!py-0 !align-middle [&>span]:h-8",
      cell: (row) => <IntervalBar score={row.index} scale={scale} kind="both" ticks={ticks} />,
    },
    ...costColumns(board, "max-2xl:hidden"),
  ];
}

/** Every subject in every scenario. */
export function heatColumns(context: ColumnContext): Column<BoardRow>[] {
  const { board, page } = context;
  return [
    ...firstColumns(context),
    ...board.scenarios.map(({ id, title, shown }, index): Column<BoardRow> => ({
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
