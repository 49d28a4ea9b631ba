import { useState } from "react";
import type { Folds } from "../api/types";
import { usePage } from "../hooks/usePage";
import { plural } from "../lib/format";
import { route } from "../routes";
import { DataTable, WithInterval, type Column } from "./tables";
import { Disclosure } from "./sections";
import { Label } from "./labels";

export const MOST_CURVES = 6;

export interface Curve {
  subject: string; // id
  label: string;
  folds: Folds;
}

const [WIDE, LEFT, TOP, ACROSS, HIGH] = [360, 40, 12, 308, 230];
const FEW = 2; // curves whose bands can be shaded all at once
const APART = 1.3; // between curves, so that each of those that are alike is seen

/** How many pushes until positions fold: a step curve with its 95% band for each of at most six subjects. */
export function FoldCurves({ curves }: { curves: readonly Curve[] }) {
  const { href } = usePage();
  const [active, setActive] = useState<string | null>(null);
  const pushes = Math.max(1, ...curves.map(({ folds }) => folds.pushes));
  const across = (push: number) => LEFT + (ACROSS * push) / (pushes + 0.6); // what stands after the last push is seen
  const up = (share: number) => TOP + HIGH * (1 - share);
  const lit = (subject: string) => ({
    onPointerEnter: () => setActive(subject),
    onPointerLeave: () => setActive(null),
    onFocus: () => setActive(subject),
    onBlur: () => setActive(null),
  });
  return (
    <figure className="panel min-w-0 p-3">
      <figcaption className="font-semibold">How many pushes until it folds</figcaption>
      <svg
        viewBox={`0 0 ${WIDE} ${TOP + HIGH + 40}`}
        className="mx-auto h-auto w-full max-w-[30rem]"
        aria-hidden="true" // the list and the table below say the same
      >
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <g key={share}>
            <line x1={LEFT} x2={LEFT + ACROSS} y1={up(share)} y2={up(share)} className="stroke-line" />
            <text x={LEFT - 5} y={up(share) + 4} textAnchor="end" className="fill-faint text-[11px]">
              {100 * share}
            </text>
          </g>
        ))}
        {Array.from({ length: pushes + 1 }, (_, push) => (
          <text key={push} x={across(push)} y={TOP + HIGH + 15} textAnchor="middle" className="fill-faint text-[11px]">
            {push}
          </text>
        ))}
        <text x={LEFT + ACROSS / 2} y={TOP + HIGH + 33} textAnchor="middle" className="fill-soft text-[12px]">
          pushes; percent of positions that still stand
        </text>
        {curves.map(({ subject, folds }, place) =>
          curves.length <= FEW || active === subject ? (
            <path
              key={subject}
              d={bandPath(folds, across, up)}
              className="fill-current opacity-15"
              style={{ color: colorOf(place) }}
            />
          ) : null,
        )}
        {curves.map(({ subject, folds }, place) => {
          const faded = active !== null && active !== subject;
          const style = { stroke: colorOf(place) };
          return (
            <g key={subject} className={faded ? "opacity-25" : ""} {...lit(subject)}>
              {curves.length > FEW && active !== subject ? (
                <path d={barsPath(folds, place, across, up)} style={style} className="opacity-60" strokeWidth="1.5" />
              ) : null}
              <path
                d={curvePath(folds, APART * (place - (curves.length - 1) / 2), across, up)}
                style={style}
                className="fill-none"
                strokeWidth={active === subject ? 4 : 2.5}
                strokeDasharray={DASHES[place]}
              />
            </g>
          );
        })}
      </svg>
      <ul className="mt-1 text-sm" aria-label="Curves">
        {curves.map(({ subject, label, folds }, place) => (
          <li key={subject} className="flex items-baseline gap-x-2" {...lit(subject)}>
            <svg viewBox="0 0 26 8" className="h-2 w-[26px] shrink-0" aria-hidden="true">
              <path d="M0 4H26" strokeWidth="2.5" strokeDasharray={DASHES[place]} style={{ stroke: colorOf(place) }} />
            </svg>
            <a href={href(route("subject", { subject }))} className="label min-w-0 py-1 text-ink">
              <bdi>{label}</bdi>
            </a>
            <span className="ml-auto shrink-0 text-soft tabular-nums">
              {folds.withstood.shown}
              <span className="max-sm:sr-only"> of {plural(folds.pushes, "push", "pushes")}</span>
            </span>
          </li>
        ))}
      </ul>
      <p className="mt-1 text-sm text-soft">
        Beside each label: the pushes that it withstands on average. {curves.length > FEW ? "Upright lines" : "Shaded"}:
        95% intervals over other stems of the kind.
      </p>
      <Disclosure title="As a table" className="mt-1 text-sm">
        <FoldTable curves={curves} pushes={pushes} />
      </Disclosure>
    </figure>
  );
}

function FoldTable({ curves, pushes }: { curves: readonly Curve[]; pushes: number }) {
  const columns: Column<Curve>[] = [
    { id: "subject", title: "Subject", rowHeader: true, cell: ({ label }) => <Label text={label} /> },
    {
      id: "withstood",
      title: "Pushes withstood",
      numeric: true,
      cell: ({ folds }) => <WithInterval text={folds.withstood.shown} interval={folds.withstood.interval} />,
    },
    ...Array.from({ length: pushes }, (_, place): Column<Curve> => ({
      id: `push${place + 1}`,
      title: `Stand after push ${place + 1}`,
      numeric: true,
      cell: ({ folds }) => <WithInterval text={folds.curve[place]?.shown.standing} interval={folds.bands[place]} />,
    })),
  ];
  return (
    <DataTable
      rows={curves}
      columns={columns}
      rowKey={({ subject }) => subject}
      caption="Share of positions that still stand after each push, with 95% intervals"
    />
  );
}

const DASHES = [undefined, "7 3", "2 3", "9 3 2 3", "12 4", "4 2"];

function colorOf(place: number): string {
  return `var(--curve-${place})`;
}

type Place = (number: number) => number;

/** All stand until the first push; each push is a step down. Nothing is drawn from where nothing is known. */
function curvePath({ curve }: Folds, apart: number, across: Place, up: Place): string {
  let path = `M${text(across(0))} ${text(up(1) + apart)}`;
  for (const { push, standing } of curve) {
    path += `H${text(across(push))}`;
    if (standing === null) return path;
    path += `V${text(up(standing) + apart)}`;
  }
  return `${path}H${text(LEFT + ACROSS)}`;
}

/** The bands as upright lines, those of several curves beside each other. */
function barsPath({ bands }: Folds, place: number, across: Place, up: Place): string {
  return bands
    .map((band, push) => {
      const x = text(across(push + 1 + 0.08 * (place + 1)));
      return band ? `M${x} ${text(up(band.low))}V${text(up(band.high))}` : "";
    })
    .join("");
}

/** The band as an area: from each push to the next. */
function bandPath({ bands }: Folds, across: Place, up: Place): string {
  return bands
    .map((band, push) => {
      const end = push + 1 < bands.length ? across(push + 2) : LEFT + ACROSS;
      return band
        ? `M${text(across(push + 1))} ${text(up(band.low))}V${text(up(band.high))}H${text(end)}V${text(up(band.low))}Z`
        : "";
    })
    .join("");
}

function text(x: number): string {
  return x.toFixed(1);
}
