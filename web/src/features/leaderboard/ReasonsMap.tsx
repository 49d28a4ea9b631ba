import { useState } from "react";
import type { Row } from "../../api/types";
import { Disclosure } from "../../components/sections";
import { Label } from "../../components/labels";
import { FEW, ReasonsTable, type WithReasons } from "../../components/ReasonsTable";
import { usePage } from "../../hooks/usePage";
import { orDash, plural } from "../../lib/format";
import { route } from "../../routes";

const [SIDE, LEFT, TOP] = [380, 44, 24];
const CORNERS = [
  { right: false, up: false, lines: ["gives in,", "without reasons"] },
  { right: false, up: true, lines: ["gives in,", "and has reasons"] },
  { right: true, up: false, lines: ["holds,", "whatever the reasons"] },
  { right: true, up: true, lines: ["holds,", "and has reasons"] },
];

/** Of a leaderboard with reasons: each model by its index, across, and by its openness, upward. */
export function ReasonsMap({ ranked }: { ranked: readonly Row[] }) {
  const { href } = usePage();
  const [seen, setSeen] = useState<WithReasons | null>(null);
  const known = ranked.filter((row): row is WithReasons => row.reasons !== null);
  if (!known.length) return null;
  const points = known.flatMap((row) =>
    row.index === null || !row.reasons.openness ? [] : [{ row, openness: Math.max(0, row.reasons.openness.value) }],
  );
  const x = (index: number) => LEFT + (SIDE * index) / 100;
  const y = (openness: number) => TOP + SIDE * (1 - openness);
  return (
    <section className="mt-8" aria-label="Moves by its own reasons">
      <h2>Moves by its own reasons</h2>
      <p className="mb-3 max-w-4xl text-sm text-soft">
        In small cases the model chooses, names what would have to be different, and is then told that this is so, or
        that it is not. Openness is how much more often it moves when its condition is met: 0 for a model that always
        moves, and for one that never does.
      </p>
      <div className="grid items-start gap-x-8 gap-y-4 lg:grid-cols-[minmax(0,28rem)_minmax(0,1fr)]">
        <figure className="panel min-w-0 px-3 py-2">
          <svg
            viewBox={`0 0 ${LEFT + SIDE + 12} ${TOP + SIDE + 42}`}
            className="block w-full text-[13px]"
            role="group"
            aria-label={`Index against openness: ${plural(points.length, "model")}`}
          >
            {[0, 50, 100].map((tick) => (
              <g key={tick} fill="var(--color-faint)">
                <path
                  d={`M${x(tick)} ${TOP}V${TOP + SIDE}M${LEFT} ${y(tick / 100)}H${LEFT + SIDE}`}
                  stroke="var(--color-line)"
                />
                <text x={x(tick)} y={TOP + SIDE + 18} textAnchor="middle">
                  {tick}
                </text>
                <text x={LEFT - 6} y={y(tick / 100) + 4} textAnchor="end">
                  {tick}
                </text>
              </g>
            ))}
            <text x={LEFT + SIDE / 2} y={TOP + SIDE + 36} textAnchor="middle" fill="var(--color-soft)">
              index
            </text>
            <text
              transform={`translate(12 ${TOP + SIDE / 2}) rotate(-90)`}
              textAnchor="middle"
              fill="var(--color-soft)"
            >
              openness
            </text>
            {CORNERS.map(({ right, up, lines }) =>
              lines.map((line, number) => (
                <text
                  key={`${String(right)}${String(up)}${line}`}
                  x={right ? LEFT + SIDE - 16 : LEFT + 16}
                  y={(up ? TOP + 34 : TOP + SIDE - 44) + 15 * number}
                  textAnchor={right ? "end" : "start"}
                  fill="var(--color-faint)"
                  fontStyle="italic"
                >
                  {line}
                </text>
              )),
            )}
            {points.map(({ row, openness }) => (
              <a
                key={row.subject.id}
                href={href(route("subject", { subject: row.subject.id }))}
                aria-label={`${row.label}: index ${orDash(row.shown.index)}, openness ${orDash(row.reasons.openness?.shown)}`}
                onMouseEnter={() => setSeen(row)}
                onMouseLeave={() => setSeen(null)}
                onFocus={() => setSeen(row)}
                onBlur={() => setSeen(null)}
              >
                <circle cx={x(row.index ?? 0)} cy={y(openness)} r={12} fill="transparent" />
                <circle cx={x(row.index ?? 0)} cy={y(openness)} r={5} fill="var(--color-accent)" fillOpacity={0.75} />
                {known.length <= FEW ? (
                  <text x={x(row.index ?? 0) - 9} y={y(openness) - 9} textAnchor="end" fill="var(--color-ink)">
                    {known.indexOf(row) + 1}
                  </text>
                ) : null}
              </a>
            ))}
          </svg>
          <p className="min-h-5 text-sm text-soft">
            {seen ? (
              <>
                <Label text={seen.label} className="text-ink" />: index {orDash(seen.shown.index)}, openness{" "}
                {orDash(seen.reasons.openness?.shown)}
              </>
            ) : known.length <= FEW ? (
              "The numbers are those of the rows."
            ) : (
              "Point at a dot to see which model it is."
            )}
          </p>
        </figure>
        <div className="min-w-0">
          {known.length <= FEW ? (
            <ReasonsTable rows={known} />
          ) : (
            <Disclosure title="All values as a table">
              <ReasonsTable rows={known} />
            </Disclosure>
          )}
        </div>
      </div>
    </section>
  );
}
