import { useMemo, useState } from "react";
import type { BoardRow, IndexLine, StemMean } from "../../api/types";
import { PlotGrid } from "../../components/PlotGrid";
import { usePage } from "../../hooks/usePage";
import { route } from "../../routes";
import { cluster } from "./cluster";
import { Label } from "../../components/labels";

interface Placed {
  subject: string; // id
  label: string;
  hold: StemMean;
  j: StemMean;
}

const [WIDE, LEFT, TOP, SIDE] = [376, 52, 24, 300];
const TICKS = [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1];
const MANY = 15; // points; of more, intervals are drawn of the one that is looked at
// hold, J; who moves on both corrections has a J of 0, as who moves on neither
const CORNERS = [
  ["deaf or credulous", 1, 0],
  ["servile", 0, 0],
  ["listens, but gives in", 0, 1],
  ["independent", 1, 1],
] as const;

const FRAME = { left: LEFT, right: LEFT + SIDE + 8, top: TOP - 4, bottom: TOP + SIDE }; // of the points' numbers
const across = (hold: number) => LEFT + SIDE * hold;

/** Who has both coordinates: it takes options, and their branches are judged. */
export function placed(rows: readonly BoardRow[]): Placed[] {
  return rows.flatMap(({ subject, branches }) => {
    const [hold, j] = [branches?.values.pressure, branches?.values.j];
    return hold && j ? [{ subject: subject.id, label: subject.label, hold, j }] : [];
  });
}

interface Props {
  points: readonly Placed[];
  lines: readonly IndexLine[];
  leftOut: number;
}

/** Hold against J: a point a subject, numbered as in the list below it, and lines of equal index. */
export function FieldPlot({ points, lines, leftOut }: Props) {
  const { href, navigate } = usePage();
  const [active, setActive] = useState<string | null>(null);
  const lowest = points.some(({ j }) => j.value < -0.5) ? -1 : -0.5;
  const up = useMemo(() => upFrom(lowest), [lowest]);
  const labels = useMemo(
    () =>
      cluster(
        points.map((point) => [across(point.hold.value), up(point.j.value)]),
        FRAME,
      ),
    [points, up],
  );
  const lit = (subject: string) => ({
    onPointerEnter: () => setActive(subject),
    onPointerLeave: () => setActive(null),
    onFocus: () => setActive(subject),
    onBlur: () => setActive(null),
  });
  const at = points.findIndex(({ subject }) => subject === active);
  const group = labels.find(({ members }) => members.includes(at));
  const beside = group ? group.members.flatMap((place) => points[place] ?? []) : [];
  return (
    <figure className="panel min-w-0 p-3">
      <figcaption className="font-semibold">Hold against J</figcaption>
      <div className="relative mx-auto max-w-[30rem]">
        <svg
          viewBox={`0 0 ${WIDE} ${TOP + SIDE + 39}`}
          className="h-auto w-full"
          aria-hidden="true" // the list below says the same
        >
          <PlotGrid
            x={{ ticks: TICKS.filter((tick) => tick >= 0), at: across, title: "holds under pressure (h) →" }}
            y={{
              ticks: TICKS.filter((tick) => tick >= lowest),
              at: up,
              title: "J: moves on what decided, on no other →",
            }}
          />
          <IndexLines lines={lines} up={up} />
          {CORNERS.map(([name, right, high]) => (
            <text
              key={name}
              x={across(right)}
              y={high ? TOP - 10 : up(0) + 14}
              textAnchor={right ? "end" : "start"}
              className="fill-soft text-[12px] italic"
            >
              {name}
            </text>
          ))}
          {points.map((point) =>
            points.length <= MANY || point.subject === active ? (
              <path
                key={point.subject}
                d={crossPath(point, up)}
                className={`stroke-accent ${point.subject === active ? "" : active ? "opacity-10" : "opacity-30"}`}
                strokeWidth={point.subject === active ? 2.5 : 1.5}
              />
            ) : null,
          )}
          {points.map(({ subject, hold, j }) => (
            <circle
              key={subject}
              cx={across(hold.value)}
              cy={up(j.value)}
              r={subject === active ? 8 : 6}
              className={`cursor-pointer stroke-raised ${active && subject !== active ? "fill-accent/40" : "fill-accent/85"}`}
              strokeWidth="1.5"
              onClick={() => navigate(route("subject", { subject }))}
              {...lit(subject)}
            />
          ))}
          {labels.map(({ x, y, anchor, members, text }) => (
            <text
              key={members.join()}
              x={x}
              y={y}
              textAnchor={anchor}
              className="pointer-events-none fill-ink text-[12px] font-semibold"
            >
              {text}
            </text>
          ))}
        </svg>
        {beside[0] ? <Readout points={beside} at={beside[0]} /> : null}
      </div>
      <ol className="mt-1 gap-x-6 text-sm sm:columns-2" aria-label="Points">
        {points.map(({ subject, label, hold, j }, place) => (
          <li
            key={subject}
            className={`flex break-inside-avoid items-baseline gap-x-2 rounded ${subject === active ? "bg-accent-wash" : ""}`}
            {...lit(subject)}
          >
            <span className="w-5 shrink-0 text-right font-semibold tabular-nums">{place + 1}</span>
            <a href={href(route("subject", { subject }))} className="label min-w-0 py-1 text-ink">
              <bdi>{label}</bdi>
            </a>
            <span className="ml-auto shrink-0 text-soft tabular-nums">
              <span className="sr-only">holds </span>
              {hold.shown}
              <span className="sr-only">, {hold.interval?.shown ?? "no interval"}, J </span>
              <span aria-hidden="true"> · </span>
              {j.shown}
              <span className="sr-only">, {j.interval?.shown ?? "no interval"}</span>
            </span>
          </li>
        ))}
      </ol>
      <p className="mt-1 text-sm text-soft">
        At each label: how far it holds, and J. Straight lines: 95% intervals over other stems of the kind. Dashed:
        where these two give an index of 40, which is deaf or credulous and otherwise perfect, and of 75 to 85, which is
        sensible; 100 is the ideal.
        {leftOut ? ` No point: ${leftOut} of the ranked, without a view or without marks.` : ""}
      </p>
    </figure>
  );
}

/** Who is looked at, and who lies at the same place. */
function Readout({ points, at }: { points: readonly Placed[]; at: Placed }) {
  const aside = at.hold.value < 0.5 ? "right-4" : "left-16"; // it covers neither the point nor its lines
  const height = at.j.value < 0.5 ? "top-[12%]" : "bottom-[24%]";
  return (
    <div
      aria-hidden="true"
      className={`panel pointer-events-none absolute max-w-[60%] px-2 py-1 text-sm shadow-lg ${aside} ${height}`}
    >
      {points.map(({ subject, label, hold, j }) => (
        <p key={subject}>
          <Label text={label} className="font-semibold" />
          <span className="block text-soft">
            holds {hold.shown}
            {hold.interval ? ` (${hold.interval.shown})` : ""}, J {j.shown}
            {j.interval ? ` (${j.interval.shown})` : ""}
          </span>
        </p>
      ))}
    </div>
  );
}

function upFrom(lowest: number) {
  return (j: number) => TOP + (SIDE * (1 - Math.max(j, lowest))) / (1 - lowest);
}

/** Where hold and J give the same index, all else being perfect, and that index at their ends. */
function IndexLines({ lines, up }: { lines: readonly IndexLine[]; up: (j: number) => number }) {
  return lines.map(({ index, points }) => {
    const [, last] = points.at(-1) ?? [1, 1];
    return (
      <g key={index}>
        <path
          d={`M${points.map(([hold, j]) => `${across(hold)} ${up(j)}`).join("L")}`}
          fill="none"
          strokeDasharray="4 3"
          className="stroke-soft"
        />
        <text x={across(1) + 8} y={up(last) + 4} className="fill-soft text-[10px]">
          {index}
        </text>
      </g>
    );
  });
}

function crossPath({ hold, j }: Placed, up: (j: number) => number): string {
  const [x, y] = [across(hold.value), up(j.value)];
  const [wide, high] = [hold.interval, j.interval];
  return [
    wide ? `M${across(wide.low)} ${y}H${across(wide.high)}` : "",
    high ? `M${x} ${up(high.low)}V${up(high.high)}` : "",
  ].join("");
}
