import type { FieldProfile, Score } from "../../api/types";
import { IntervalBar, type Scale } from "../../components/bars";

/** A dimension's score and intervals over those of all other ranked subjects: a stroke each, and their middle half. */
export function FieldStrip({ score, field, scale }: { score: Score; field: FieldProfile; scale: Scale }) {
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

export function fieldInWords({ others, below, above, shown }: FieldProfile): string {
  if (!others.length) return "nobody else is ranked";
  const [quarter, median, threeQuarters] = shown.quartiles;
  return `${below} of the ${others.length} others lower, ${above} higher; half of them from ${quarter ?? ""} to ${threeQuarters ?? ""}, median ${median ?? ""}`;
}
