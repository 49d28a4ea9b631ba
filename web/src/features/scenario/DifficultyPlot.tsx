import { route } from "../../routes";
import type { ScenarioFacts } from "../../api/types";
import { orDash } from "../../lib/format";
import { usePage } from "../../hooks/usePage";

const [WIDE, HIGH, EDGE] = [400, 300, 34];

/** Difficulty against discrimination of each scenario. */
export function DifficultyPlot({ scenarios }: { scenarios: readonly ScenarioFacts[] }) {
  const { href } = usePage();
  const plotted = scenarios.filter((scenario) => scenario.difficulty !== null && scenario.discrimination !== null);
  if (plotted.length < 2) return null;
  const lowest = Math.min(0, ...plotted.map((one) => one.discrimination ?? 0));
  const x = (difficulty: number) => EDGE + ((WIDE - EDGE - 10) * difficulty) / 100;
  const y = (discrimination: number) => HIGH - EDGE - ((HIGH - EDGE - 12) * (discrimination - lowest)) / (1 - lowest);
  return (
    <figure className="panel p-3">
      <svg
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        className="h-auto w-full"
        role="group"
        aria-label="Scenarios by difficulty and discrimination"
      >
        {[0, 25, 50, 75, 100].map((tick) => (
          <g key={tick}>
            <line x1={x(tick)} x2={x(tick)} y1={12} y2={HIGH - EDGE} className="stroke-line" />
            <text x={x(tick)} y={HIGH - EDGE + 14} textAnchor="middle" className="fill-faint text-[11px]">
              {tick}
            </text>
          </g>
        ))}
        {[0, 0.5, 1].map((tick) => (
          <g key={tick}>
            <line x1={EDGE} x2={WIDE - 10} y1={y(tick)} y2={y(tick)} className="stroke-line" />
            <text x={EDGE - 5} y={y(tick) + 4} textAnchor="end" className="fill-faint text-[11px]">
              {tick}
            </text>
          </g>
        ))}
        <text x={(WIDE + EDGE) / 2} y={HIGH - 4} textAnchor="middle" className="fill-soft text-[11px]">
          difficulty: harder to the right
        </text>
        {plotted.map((one) => (
          <a
            key={one.id}
            href={href(route("scenario", { scenario: one.id }))}
            aria-label={`${one.title}: difficulty ${orDash(one.shown.difficulty)}, discrimination ${orDash(one.shown.discrimination)}`}
          >
            <circle
              cx={x(one.difficulty ?? 0)}
              cy={y(one.discrimination ?? 0)}
              r={6}
              className="fill-accent/75 stroke-raised hover:fill-accent"
            />
            <title>{`${one.title}: difficulty ${orDash(one.shown.difficulty)}, discrimination ${orDash(one.shown.discrimination)}`}</title>
          </a>
        ))}
      </svg>
      <figcaption className="text-sm text-soft">
        Height: discrimination, how well a scenario tells subjects apart. At the top right: hard, and telling them apart
        well.
      </figcaption>
    </figure>
  );
}
