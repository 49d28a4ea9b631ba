import type { Interval } from "../api/types";
import { shown } from "./format";

/** A difference around zero with its interval; *reach* is the end of the scale on both sides. */
export function DifferenceBar({
  value,
  says,
  interval,
  reach,
}: {
  value: number | null;
  says: string | null | undefined; // *value* as text
  interval: Interval | null;
  reach: number;
}) {
  const at = (x: number) => `${String(Math.max(0, Math.min(100, 50 + (50 * x) / reach)))}%`;
  const said = [shown(says), ...(interval ? [interval.shown] : [])].join(", ");
  return (
    <span className="relative block h-5 min-w-24" role="img" aria-label={said}>
      <span className="absolute top-1/2 right-0 left-0 h-px bg-line" />
      <span className="absolute inset-y-0 left-1/2 w-px bg-edge" />
      {interval ? (
        <span
          className="absolute top-1/2 h-[5px] -translate-y-1/2 rounded bg-accent/45"
          style={{ left: at(interval.low), width: `calc(${at(interval.high)} - ${at(interval.low)})` }}
        />
      ) : null}
      {value === null ? null : (
        <span
          className="absolute top-1/2 size-[9px] -translate-x-1/2 -translate-y-1/2 rounded-full bg-accent ring-2 ring-raised"
          style={{ left: at(value) }}
        />
      )}
    </span>
  );
}
