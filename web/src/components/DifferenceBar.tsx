import type { Interval } from "../api/types";
import { orDash } from "../lib/format";

/** A difference around zero with its interval; *reach* is the end of the scale on both sides. */
export function DifferenceBar({
  value,
  text,
  interval,
  reach,
}: {
  value: number | null;
  text: string | null | undefined; // *value* as text
  interval: Interval | null;
  reach: number;
}) {
  const left = (x: number) => `${Math.max(0, Math.min(100, 50 + (50 * x) / reach))}%`;
  const label = [orDash(text), ...(interval ? [interval.shown] : [])].join(", ");
  return (
    <span className="relative block h-5 min-w-24" role="img" aria-label={label}>
      <span className="absolute top-1/2 right-0 left-0 h-px bg-line" />
      <span className="absolute inset-y-0 left-1/2 w-px bg-edge" />
      {interval ? (
        <span
          className="absolute top-1/2 h-[5px] -translate-y-1/2 rounded bg-accent/45"
          style={{ left: left(interval.low), width: `calc(${left(interval.high)} - ${left(interval.low)})` }}
        />
      ) : null}
      {value === null ? null : (
        <span
          className="absolute top-1/2 size-[9px] -translate-x-1/2 -translate-y-1/2 rounded-full bg-accent ring-2 ring-raised"
          style={{ left: left(value) }}
        />
      )}
    </span>
  );
}
