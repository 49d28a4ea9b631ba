import { useState } from "react";
import type { Board, Row } from "../../api/types";
import { usePage } from "../../hooks/usePage";
import { orDash, plural } from "../../lib/format";
import { route } from "../../routes";
import { Label } from "../../components/labels";

interface Point {
  row: Row;
  name: string;
  x: number;
  index: number;
  says: string;
}

interface Plot {
  title: string;
  axis: Axis;
  points: readonly Point[];
  note: string; // who has no point, and why
}

const [WIDE, HIGH] = [600, 380];
const FRAME = { left: 42, right: 572, top: 12, bottom: 340 };
const FEW = 12; // points; of so many each has its name
const [LETTER, LINE] = [7, 15]; // about how wide and how high text is

const dollarTick = (dollars: number) =>
  `$${dollars >= 1 ? String(dollars) : dollars.toFixed(Math.max(2, -Math.floor(Math.log10(dollars))))}`;

/** The index against what a run costs, and against how long the replies are. */
export function Scatter({ rows, names }: { rows: readonly Row[]; names: Board["names"] }) {
  const pointOf = (row: Row, x: number, says: string): Point => ({
    row,
    name: names[row.subject.id] ?? row.label,
    x,
    index: row.index ?? 0,
    says: `index ${orDash(row.shown.index)}, ${says}`,
  });
  const priced = rows.filter(({ price }) => price?.dollars_per_run != null);
  const long = rows.filter(({ reply_length }) => reply_length !== null);
  const free = priced.filter(({ price }) => price?.free).length;
  const plots: Plot[] = [];
  if (priced.length > free) {
    const paid = priced.filter(({ price }) => !price?.free);
    plots.push({
      title: "Dollars a run: the replies, and this judge",
      axis: logAxis(
        paid.map(({ price }) => price?.dollars_per_run ?? 0),
        dollarTick,
      ),
      points: paid.map((row) =>
        pointOf(row, row.price?.dollars_per_run ?? 0, `${orDash(row.price?.shown.dollars_per_run)} a run`),
      ),
      note: [
        free ? `No point: ${free} free of charge.` : "",
        rows.length > priced.length ? `No point: ${rows.length - priced.length} of unknown price.` : "",
      ].join(" "),
    });
  }
  if (long.length)
    plots.push({
      title: "Reply length: mean characters of a reply",
      axis: linearAxis(
        long.map(({ reply_length }) => reply_length ?? 0),
        (characters) => characters.toLocaleString("en-US"),
      ),
      points: long.map((row) => pointOf(row, row.reply_length ?? 0, `${orDash(row.shown.reply_length)} characters`)),
      note: "If long replies score higher, the judge may be scoring length.",
    });
  return (
    <div className="mt-2 grid items-start gap-4 lg:grid-cols-2">
      {plots.map((plot) => (
        <ScatterPlot key={plot.title} {...plot} />
      ))}
    </div>
  );
}

interface Name {
  point: Point;
  right: boolean; // the text ends at x, else it begins there
  x: number;
  y: number;
}

/** Those of *names* that cover no name before them; a name that is left out is shown when its point is looked at. */
function apart(names: readonly Name[]): Name[] {
  const kept: (Name & { left: number; end: number })[] = [];
  for (const name of names) {
    const wide = LETTER * name.point.name.length;
    const left = name.right ? name.x - wide : name.x;
    const end = left + wide;
    const covers = kept.some((one) => Math.abs(one.y - name.y) < LINE && left < one.end && one.left < end);
    if (!covers) kept.push({ ...name, left, end });
  }
  return kept;
}

function ScatterPlot({ title, axis, points, note }: Plot) {
  const { address, href } = usePage();
  const [seen, setSeen] = useState<Point | null>(null);
  const [drawn, setDrawn] = useState<"points" | "intervals">("points");
  const up = linearAxis(
    points.map(({ index }) => index),
    String,
    100,
  );
  const x = (value: number) => FRAME.left + (FRAME.right - FRAME.left) * axis.place(value);
  const y = (value: number) => FRAME.bottom - (FRAME.bottom - FRAME.top) * Math.min(1, Math.max(0, up.place(value)));
  const wanted = (point: Point) => point === seen || address.picked.includes(point.row.subject.id);
  const named = apart(
    [...points.filter(wanted), ...points.filter((point) => points.length <= FEW && !wanted(point))].map((point) => {
      const right = x(point.x) > WIDE / 2;
      return { point, right, x: x(point.x) + (right ? -9 : 9), y: y(point.index) + 4 };
    }),
  );
  return (
    <figure className="panel min-w-0 px-3 py-2">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-4 text-sm text-soft">
        <span>Index against {title.charAt(0).toLowerCase() + title.slice(1)}</span>
        <label className="flex items-center gap-1.5">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={drawn === "intervals"}
            onChange={(event) => setDrawn(event.target.checked ? "intervals" : "points")}
          />
          intervals
        </label>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        className="block w-full text-[13px] max-sm:text-[20px]"
        role="group"
        aria-label={`Index against ${title}: ${plural(points.length, "model")}`}
      >
        {up.ticks.map((tick) => (
          <g key={tick}>
            <path d={`M${FRAME.left} ${y(tick)}H${FRAME.right}`} stroke="var(--color-line)" />
            <text
              x={FRAME.left - 6}
              y={Math.min(y(tick) + 4, FRAME.bottom - 5)}
              textAnchor="end"
              fill="var(--color-faint)"
            >
              {tick}
            </text>
          </g>
        ))}
        {axis.ticks.map((tick) => (
          <g key={tick}>
            <path d={`M${x(tick)} ${FRAME.top}V${FRAME.bottom}`} stroke="var(--color-line)" />
            <text x={x(tick)} y={FRAME.bottom + 20} textAnchor="middle" fill="var(--color-faint)">
              {axis.text(tick)}
            </text>
          </g>
        ))}
        {points.map((point) => {
          const { subject, label, index_interval } = point.row;
          const { rerun } = index_interval;
          const picked = address.picked.includes(subject.id);
          return (
            <a
              key={subject.id}
              href={href(route("subject", { subject: subject.id }))}
              aria-label={`${label}: ${point.says}`}
              onMouseEnter={() => setSeen(point)}
              onMouseLeave={() => setSeen(null)}
              onFocus={() => setSeen(point)}
              onBlur={() => setSeen(null)}
            >
              {drawn === "intervals" && rerun ? (
                <path
                  d={`M${x(point.x)} ${y(rerun.low)}V${y(rerun.high)}`}
                  stroke="var(--color-accent)"
                  strokeOpacity={0.45}
                  strokeWidth={2}
                />
              ) : null}
              <circle cx={x(point.x)} cy={y(point.index)} r={12} fill="transparent" />
              <circle
                cx={x(point.x)}
                cy={y(point.index)}
                r={picked ? 7 : 5}
                fill="var(--color-accent)"
                fillOpacity={picked ? 1 : 0.75}
                stroke="var(--color-raised)"
              />
            </a>
          );
        })}
        {named.map(({ point, right, x, y }) => {
          return (
            <text
              key={point.row.subject.id}
              x={x}
              y={y}
              textAnchor={right ? "end" : "start"}
              fill="var(--color-ink)"
              stroke="var(--color-raised)"
              strokeWidth={3}
              paintOrder="stroke"
              pointerEvents="none"
              aria-hidden="true"
            >
              {point.name}
            </text>
          );
        })}
      </svg>
      <p className="min-h-5 text-sm text-soft">
        {seen ? (
          <>
            <Label text={seen.name} className="text-ink" />: {seen.says}
          </>
        ) : (
          note
        )}
      </p>
    </figure>
  );
}

/** Axes of a plot: where a value lies, and which round values are written beside it. */

interface Axis {
  place: (value: number) => number; // 0 at the low end, 1 at the high one
  ticks: readonly number[];
  text: (tick: number) => string;
}

const ROUND = [1, 2, 5, 10];

/** A linear axis with room around *values*, which ends at *most* at the latest. */
export function linearAxis(values: readonly number[], text: Axis["text"], most = Infinity): Axis {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const rough = Math.max(greatest - least, Math.abs(greatest) / 10, 1e-9) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (ROUND.find((one) => one * power >= rough) ?? 10) * power;
  const low = Math.max(0, Math.floor(least / step) * step);
  const high = Math.max(low + step, Math.min(most, Math.ceil(greatest / step) * step));
  const count = Math.round((high - low) / step);
  const ticks = Array.from({ length: count + 1 }, (_, number) => Number((low + number * step).toPrecision(12)));
  return { place: (value) => (value - low) / (high - low), ticks, text };
}

/** A logarithmic axis from one of 1, 2 and 5 times a power of ten to another; *values* are above 0. */
export function logAxis(values: readonly number[], text: Axis["text"]): Axis {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const from = Math.floor(Math.log10(least));
  const powers = Array.from({ length: Math.ceil(Math.log10(greatest)) - from + 1 }, (_, number) => from + number);
  const round = powers.flatMap((power) => [1, 2, 5].map((one) => Number(`${one}e${power}`)));
  const first = round.findLastIndex((one) => one <= least);
  const last = round.findIndex((tick) => tick >= greatest);
  const all = round.slice(Math.max(0, first), (last < 0 ? round.length : last) + 1);
  const ticks = all.length > 7 ? all.filter((item) => /^1/.test(item.toExponential())) : all;
  const [low, high] = [Math.log10(all[0] ?? 1), Math.log10(all[all.length - 1] ?? 10)];
  return { place: (value) => (high > low ? (Math.log10(value) - low) / (high - low) : 0.5), ticks, text };
}
