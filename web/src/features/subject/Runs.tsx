import type { RunDetail, Subject } from "../../api/types";
import { DataTable, shownColumn, column, headColumn, type Column } from "../../components/tables";
import { usePage } from "../../hooks/usePage";
import { orDash, plural, heatColor, minute } from "../../lib/format";
import { route } from "../../routes";
import type { SubjectProps } from "./Conversations";
import { scaleAround, ticksOf } from "../../components/bars";

/** Each run's index and dimensions; a click on a run narrows the list of conversations to it. */
export function Runs({ subject, board, address }: SubjectProps) {
  const { href } = usePage();
  if (!subject.runs.length) return <p className="text-soft">No run counts.</p>;
  const { made } = subject.row;
  const columns: Column<RunDetail>[] = [
    headColumn("run", "Run", ({ run }) => {
      const open = address.run === run;
      return (
        <a
          href={href(route("subject", { subject: subject.row.subject.id, run: open ? null : run }))}
          aria-current={open ? "true" : undefined}
          className={`whitespace-nowrap ${open ? "font-semibold" : ""}`}
        >
          run {run}
        </a>
      );
    }),
    column("began", "Begun", (row) => orDash(row.began), {
      hint: "When its first conversation ended, in UTC",
      cellClass: "whitespace-nowrap text-soft",
    }),
    shownColumn("index", "Index", { cellClass: "font-semibold" }),
    ...subject.profile
      .filter(({ place }) => board.dimensions[place]?.weight)
      .map(({ dimension: name, place: index }): Column<RunDetail> => ({
        id: `d.${name}`,
        title: <span className="inline-block max-w-24 whitespace-normal">{board.dimensions[index]?.title}</span>,
        numeric: true,
        cell: (row) => (
          <span className="rounded px-1.5" style={heatColor(row.dimensions[index])}>
            {orDash(row.shown.dimensions[index])}
          </span>
        ),
      })),
  ];
  return (
    <>
      {made ? (
        <p className="mb-2 text-sm text-soft">
          Made from {minute(made.first)} to {minute(made.last)} UTC, on {plural(made.days, "day")}. {made.says}
        </p>
      ) : null}
      <RunPlot subject={subject} />
      <DataTable rows={subject.runs} columns={columns} rowKey={(row) => String(row.run)} caption="Runs" className="" />
    </>
  );
}

const [LEFT, TOP, STEP, HIGH, BOTTOM] = [34, 22, 84, 120, 34];
const [FEWEST, MOST] = [2, 40]; // runs that are drawn

/** The index of each run in the order in which they began, with the subject's own and its interval. */
function RunPlot({ subject }: { subject: Subject }) {
  const { navigate } = usePage();
  const runs = inTime(subject.runs).slice(-MOST);
  if (runs.length < FEWEST) return null;
  const { index, index_interval } = subject.row;
  const { rerun } = index_interval;
  const scale = scaleAround([...runs.map((run) => run.index), index, rerun?.low, rerun?.high]);
  const wide = LEFT + STEP * Math.max(4, runs.length);
  const across = (place: number) => LEFT + STEP * (place + 0.5);
  const up = (value: number) => TOP + (HIGH * (scale.high - value)) / (scale.high - scale.low);
  const line = runs.flatMap((run, place) => (run.index === null ? [] : [`${across(place)} ${up(run.index)}`]));
  return (
    <figure className="panel mb-3 max-w-4xl p-3">
      <figcaption className="text-sm text-soft">
        <span className="font-semibold text-ink">The index over time</span>, run by run in the order in which they
        began. Line and band: the model's index and its 95% CI (same scenarios).
      </figcaption>
      <svg
        viewBox={`0 0 ${wide} ${TOP + HIGH + BOTTOM}`}
        className="mt-1 h-auto w-full"
        style={{ maxWidth: `${1.3 * wide}px` }}
        aria-hidden="true" // the table below says the same
      >
        {rerun ? (
          <rect
            x={LEFT}
            width={wide - LEFT}
            y={up(rerun.high)}
            height={up(rerun.low) - up(rerun.high)}
            className="fill-accent/15"
          />
        ) : null}
        {ticksOf(scale).map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={wide} y1={up(tick)} y2={up(tick)} className="stroke-line" />
            <text x={LEFT - 6} y={up(tick) + 4} textAnchor="end" className="fill-faint text-[11px]">
              {tick}
            </text>
          </g>
        ))}
        {index === null ? null : (
          <line
            x1={LEFT}
            x2={wide}
            y1={up(index)}
            y2={up(index)}
            className="stroke-accent opacity-60"
            strokeDasharray="5 4"
          />
        )}
        {line.length ? <path d={`M${line.join("L")}`} className="fill-none stroke-accent" strokeWidth="1.5" /> : null}
        {runs.map(({ run, index: value, began, shown }, place) => (
          <g key={run}>
            {value === null ? null : (
              <>
                <circle
                  cx={across(place)}
                  cy={up(value)}
                  r={5}
                  className="cursor-pointer fill-accent stroke-raised"
                  onClick={() => navigate(route("subject", { subject: subject.row.subject.id, run }))}
                />
                <text
                  x={across(place)}
                  y={up(value) - 9}
                  textAnchor="middle"
                  className="fill-ink text-[11px] font-semibold"
                >
                  {orDash(shown.index)}
                </text>
              </>
            )}
            <text x={across(place)} y={TOP + HIGH + 15} textAnchor="middle" className="fill-soft text-[11px]">
              run {run}
            </text>
            <text x={across(place)} y={TOP + HIGH + 29} textAnchor="middle" className="fill-faint text-[10px]">
              {began?.slice(0, 10) ?? ""}
            </text>
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** By when they began; those whose time is not known come last. */
export function inTime(runs: readonly RunDetail[]): RunDetail[] {
  const unknown = ({ began }: RunDetail) => Number(began === null);
  return [...runs].sort(
    (one, other) =>
      unknown(one) - unknown(other) || (one.began ?? "").localeCompare(other.began ?? "") || one.run - other.run,
  );
}
