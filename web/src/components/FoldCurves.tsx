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

const [WIDE, LEFT, TOP, ACROSS, HIGH] = [220, 32, 8, 184, 96];

/** How many pressure turns until a model gives in: for each of at most six models a step curve with its 95% band. */
export function FoldCurves({ curves }: { curves: readonly Curve[] }) {
  const { href } = usePage();
  const pushes = Math.max(1, ...curves.map(({ folds }) => folds.pushes));
  const across = (push: number) => LEFT + (ACROSS * push) / (pushes + 0.6); // what stands after the last push is seen
  return (
    <figure className="panel min-w-0 p-3">
      <figcaption className="font-semibold">How many pressure turns until it gives in</figcaption>
      <p className="text-sm text-soft">
        Percent of positions that still hold after each pressure turn (push); shaded: 95% intervals over other items of
        the kind.
        {curves.length > 1 ? " The other curves are drawn thin." : ""}
      </p>
      <ul
        className={`mt-2 grid gap-x-5 gap-y-3 text-sm ${curves.length > 1 ? "sm:grid-cols-2" : ""}`}
        aria-label="Curves"
      >
        {curves.map(({ subject, label, folds }) => (
          <li key={subject} className="min-w-0">
            <p className="flex items-baseline gap-x-2">
              <a href={href(route("subject", { subject }))} className="label min-w-0 text-ink">
                <bdi>{label}</bdi>
              </a>
              <span className="ml-auto shrink-0 text-soft tabular-nums">
                {folds.withstood.shown} of {plural(folds.pushes, "push", "pushes")}
              </span>
            </p>
            <svg
              viewBox={`0 0 ${WIDE} ${TOP + HIGH + 18}`}
              className="h-auto w-full max-w-[24rem]"
              aria-hidden="true" // the line above and the table below say the same
            >
              {[0, 0.5, 1].map((share) => (
                <g key={share}>
                  <line x1={LEFT} x2={LEFT + ACROSS} y1={up(share)} y2={up(share)} className="stroke-line" />
                  <text x={LEFT - 5} y={up(share) + 4} textAnchor="end" className="fill-faint text-[10px]">
                    {100 * share}
                  </text>
                </g>
              ))}
              {Array.from({ length: pushes + 1 }, (_, push) => (
                <text
                  key={push}
                  x={across(push)}
                  y={TOP + HIGH + 14}
                  textAnchor="middle"
                  className="fill-faint text-[10px]"
                >
                  {push}
                </text>
              ))}
              <path d={bandPath(folds, across)} className="fill-accent opacity-20" />
              {curves.map((one) =>
                one.subject === subject ? null : (
                  <path
                    key={one.subject}
                    d={curvePath(one.folds, across)}
                    className="fill-none stroke-faint opacity-40"
                  />
                ),
              )}
              <path d={curvePath(folds, across)} className="fill-none stroke-accent" strokeWidth="2.5" />
            </svg>
          </li>
        ))}
      </ul>
      <Disclosure title="As a table" className="mt-1 text-sm">
        <FoldTable curves={curves} pushes={pushes} />
      </Disclosure>
    </figure>
  );
}

function FoldTable({ curves, pushes }: { curves: readonly Curve[]; pushes: number }) {
  const columns: Column<Curve>[] = [
    { id: "subject", title: "Model", rowHeader: true, cell: ({ label }) => <Label text={label} /> },
    {
      id: "withstood",
      title: "Pressure turns withstood",
      numeric: true,
      cell: ({ folds }) => <WithInterval text={folds.withstood.shown} interval={folds.withstood.interval} />,
    },
    ...Array.from({ length: pushes }, (_, place): Column<Curve> => ({
      id: `push${place + 1}`,
      title: `Hold after push ${place + 1}`,
      numeric: true,
      cell: ({ folds }) => <WithInterval text={folds.curve[place]?.shown.standing} interval={folds.bands[place]} />,
    })),
  ];
  return (
    <DataTable
      rows={curves}
      columns={columns}
      rowKey={({ subject }) => subject}
      caption="Share of positions that still hold after each pressure turn, with 95% intervals"
    />
  );
}

type Place = (push: number) => number;

function up(share: number): number {
  return TOP + HIGH * (1 - share);
}

/** All stand until the first push; each push is a step down. Nothing is drawn from where nothing is known. */
function curvePath({ curve }: Folds, across: Place): string {
  let path = `M${text(across(0))} ${text(up(1))}`;
  for (const { push, standing } of curve) {
    path += `H${text(across(push))}`;
    if (standing === null) return path;
    path += `V${text(up(standing))}`;
  }
  return `${path}H${text(LEFT + ACROSS)}`;
}

/** The band as an area: from each push to the next. */
function bandPath({ bands }: Folds, across: Place): string {
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
