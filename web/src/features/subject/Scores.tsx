import { useState, type ReactNode } from "react";
import type { Board, Dimension, FieldProfile, Score, Subject } from "../../api/types";
import { DataTable, numberColumn, column, type Column } from "../../components/tables";
import { Ruler, scoreInWords, IntervalBar, type Scale } from "../../components/bars";
import { Button } from "../../components/fields";
import { PossibleRanks } from "../../components/labels";
import { usePage } from "../../hooks/usePage";
import { count, humanize, orDash } from "../../lib/format";
import { dimensionOf, indexOf } from "../../lib/rows";

export const FULL_SCALE: Scale = { low: 0, high: 100 };

/** The model's index, its rank, and its dimensions with their intervals. */
export function Scores({ subject, board }: { subject: Subject; board: Board }) {
  const { row } = subject;
  const { address } = usePage();
  const { rerun, new_scenarios } = row.index_interval;
  const { why } = indexOf(row, board.why);
  const scores = subject.profile.flatMap((field) => {
    const dimension = board.dimensions[field.place];
    return dimension ? [{ dimension, score: dimensionOf(row, dimension.name, board.why), field }] : [];
  });
  const configurations = Object.entries(row.by_configuration);
  const others = Math.max(0, ...subject.profile.map((field) => field.others.length));
  const compares = others > 1; // a single other model is no field
  const [unscored, setUnscored] = useState(false);
  const shown = scores.filter(({ dimension }) => unscored || dimension.weight);
  return (
    <section aria-label="Scores">
      <div className="flex flex-wrap items-end gap-x-6 gap-y-1">
        <div>
          <span className="block text-5xl leading-none font-semibold tracking-tight tabular-nums">
            {orDash(row.shown.index)}
          </span>
          <span className="eyebrow">Independence Index, 0 to 100</span>
        </div>
        <dl className="text-sm">
          {new_scenarios ? <Pair name="95% CI (new scenarios)" value={new_scenarios.shown} /> : null}
          {rerun ? <Pair name="95% CI (same scenarios)" value={rerun.shown} /> : null}
          {row.index_interval_without_sessions?.rerun ? (
            <Pair name="without the allowance for sessions" value={row.index_interval_without_sessions.rerun.shown} />
          ) : null}
          <Pair
            name="possible ranks"
            value={row.rank === null ? "not ranked" : <PossibleRanks row={row} kind={address.interval} />}
          />
          {row.standard_deviation === null ? null : (
            <Pair name="standard deviation over runs" value={orDash(row.shown.standard_deviation)} />
          )}
        </dl>
      </div>
      {why ? <p className="mt-1 text-sm text-soft">Why an interval is missing: {why}</p> : null}
      {row.missing.length ? (
        <ul className="mt-2 list-disc pl-5 text-sm text-warn">
          {row.missing.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      ) : null}
      <DataTable
        rows={shown}
        columns={compares ? COLUMNS : ALONE}
        rowKey={(row) => row.dimension.name}
        caption="Dimensions with intervals"
        scroll="mt-4"
      />
      {scores.some(({ dimension }) => !dimension.weight) ? (
        <Button className="mt-2" aria-pressed={unscored} onClick={() => setUnscored(!unscored)}>
          {unscored ? "Only the dimensions that count" : "All dimensions"}
        </Button>
      ) : null}
      {compares ? (
        <p className="mt-1 text-sm text-soft">
          Dot and line: this model with its intervals. Small strokes: the {count(others)} other ranked models; the band
          holds the middle half of them, with their median.
        </p>
      ) : null}
      {configurations.length ? (
        <div className="mt-4">
          <h3>Each configuration by itself</h3>
          <ul className="mt-1 grid gap-x-6 sm:grid-cols-2">
            {configurations.map(([name, part]) => (
              <li key={name} className="flex justify-between gap-3 border-b border-line py-1">
                <span>{humanize(name)}</span>
                <span className="num">
                  {orDash(part.shown.index)}
                  {part.standard_deviation === null ? null : (
                    <span className="text-faint"> ± {orDash(part.shown.standard_deviation)}</span>
                  )}
                </span>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </section>
  );
}

type Line = { dimension: Dimension; score: Score; field: FieldProfile };

const FIRST: readonly Column<Line>[] = [
  column("dimension", "Dimension", ({ dimension }) => dimension.title, {
    rowHeader: true,
    cellHint: ({ dimension }) => dimension.marks.map(humanize).join(", "),
  }),
  numberColumn("weight", "Weight", ({ dimension }) => dimension.weight, {
    className: "max-sm:hidden",
    cellClass: "text-faint",
  }),
  numberColumn("score", "Score", ({ score }) => orDash(score.shown), {
    cellClass: "font-semibold",
    cellHint: ({ score }) => scoreInWords(score, "both"),
  }),
];

const INTERVAL = { id: "interval", title: <Ruler scale={FULL_SCALE} />, className: "w-2/5 !pr-4" };

/** Where there is no field to compare with. */
const ALONE: readonly Column<Line>[] = [
  ...FIRST,
  { ...INTERVAL, cell: ({ score }) => <IntervalBar score={score} scale={FULL_SCALE} kind="both" /> },
];

const COLUMNS: readonly Column<Line>[] = [
  ...FIRST,
  { ...INTERVAL, cell: ({ score, field }) => <FieldStrip score={score} field={field} scale={FULL_SCALE} /> },
  {
    id: "field",
    title: "Other models",
    hint: "How many of the other ranked models score lower, and the median of all of them",
    numeric: true,
    className: "max-sm:hidden",
    cellClass: "text-sm text-soft whitespace-nowrap",
    cellHint: ({ field }) => fieldInWords(field),
    cell: ({ field, score }) =>
      field.others.length && score.value !== null ? (
        <>
          above {count(field.below)} of {count(field.others.length)}
          <span className="block text-xs">median {orDash(field.shown.quartiles[1])}</span>
        </>
      ) : (
        orDash(null)
      ),
  },
];

function Pair({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div className="flex flex-wrap gap-x-2">
      <dt className="text-faint">{name}</dt>
      <dd className="font-medium tabular-nums">{value}</dd>
    </div>
  );
}

/** A dimension's score and intervals over those of all other ranked models: a stroke each, and their middle half. */
function FieldStrip({ score, field, scale }: { score: Score; field: FieldProfile; scale: Scale }) {
  const left = (x: number) => (100 * (x - scale.low)) / (scale.high - scale.low);
  const [quarter, median, threeQuarters] = field.quartiles;
  return (
    <span className="block">
      <IntervalBar score={score} scale={scale} kind="both" />
      {quarter === undefined || median === undefined || threeQuarters === undefined ? null : (
        <svg
          viewBox="0 0 100 10"
          preserveAspectRatio="none"
          className="block h-3 w-full overflow-visible"
          role="img"
          aria-label={fieldInWords(field)}
        >
          <rect x={left(quarter)} width={left(threeQuarters) - left(quarter)} y={0} height={10} className="fill-line" />
          {field.others.map((other, place) => (
            <line
              key={place}
              x1={left(other)}
              x2={left(other)}
              y1={2}
              y2={8}
              className="stroke-soft opacity-40"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          <line
            x1={left(median)}
            x2={left(median)}
            y1={0}
            y2={10}
            className="stroke-ink"
            strokeWidth="2"
            vectorEffect="non-scaling-stroke"
          />
        </svg>
      )}
    </span>
  );
}

function fieldInWords({ others, below, above, shown }: FieldProfile): string {
  if (!others.length) return "no other model is ranked";
  const [quarter, median, threeQuarters] = shown.quartiles;
  return `${below} of the ${others.length} others lower, ${above} higher; half of them from ${quarter ?? ""} to ${threeQuarters ?? ""}, median ${median ?? ""}`;
}
