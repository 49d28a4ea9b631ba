import type { Score, Interval } from "../api/types";
import { orDash } from "../lib/format";

export interface Scale {
  low: number;
  high: number;
}

interface Props {
  score: Score;
  scale: Scale;
  kind: "rerun" | "like" | "both";
  tall?: boolean;
  ticks?: readonly number[];
}

/** A dot at a score, and its interval as a line; of two intervals the thick one is the one for the same scenarios. */
export function IntervalBar({ score, scale, kind, tall = false, ticks = [] }: Props) {
  const left = (x: number) => `${Math.max(0, Math.min(100, (100 * (x - scale.low)) / (scale.high - scale.low)))}%`;
  const width = (low: number, high: number) => `calc(${left(high)} - ${left(low)})`;
  const { value, uncertainty } = score;
  const { rerun, new_scenarios } = uncertainty;
  const thin = kind === "rerun" ? null : new_scenarios;
  const thick = kind === "like" ? null : rerun;
  return (
    <span
      className={`relative block min-w-24 ${tall ? "h-6" : "h-4"}`}
      role="img"
      aria-label={scoreInWords(score, kind)}
    >
      {ticks.map((tick) => (
        <span key={tick} className="absolute inset-y-0 w-px bg-line" style={{ left: left(tick) }} />
      ))}
      <span className="absolute top-1/2 right-0 left-0 h-px bg-line" />
      {thin ? (
        <span
          className="absolute top-1/2 h-[3px] -translate-y-1/2 rounded bg-accent/55"
          style={{ left: left(thin.low), width: width(thin.low, thin.high) }}
        />
      ) : null}
      {thick ? (
        <span
          className="absolute top-1/2 h-[7px] -translate-y-1/2 rounded bg-accent/40"
          style={{ left: left(thick.low), width: width(thick.low, thick.high) }}
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

/** A score and its intervals in words, for screen readers and tooltips. */
export function scoreInWords({ shown, uncertainty, why }: Score, kind: Props["kind"]): string {
  const { rerun, new_scenarios } = uncertainty;
  const parts = [orDash(shown)];
  if (rerun && kind !== "like") parts.push(`95% CI (same scenarios) ${rerun.shown}`);
  if (new_scenarios && kind !== "rerun") parts.push(`95% CI (new scenarios) ${new_scenarios.shown}`);
  if (why) parts.push(`no interval: ${why}`);
  return parts.join("; ");
}

/** A scale around all that is shown, in steps of ten within 0 to 100. */
export function scaleAround(values: readonly (number | null | undefined)[]): Scale {
  const finite = values.filter((value): value is number => value != null && Number.isFinite(value));
  if (!finite.length) return { low: 0, high: 100 };
  const low = Math.floor(Math.max(Math.min(...finite) - 1, 0) / 10) * 10;
  const high = Math.min(100, Math.ceil((Math.max(...finite) + 1) / 10) * 10);
  return low < high ? { low, high } : { low: Math.max(0, low - 10), high: Math.min(100, high + 10) };
}

/** Round numbers on a scale, about five of them. */
export function ticksOf({ low, high }: Scale): number[] {
  const step = high - low > 50 ? 20 : 10;
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, number) => first + number * step);
}

/** The scale's ticks, as the heading of a column of bars. */
export function Ruler({ scale }: { scale: Scale }) {
  return (
    <span className="relative block h-4 min-w-24 text-xs font-normal text-faint">
      <span className="sr-only">
        Interval, on a scale from {scale.low} to {scale.high}
      </span>
      {ticksOf(scale).map((tick, place, all) => (
        <span
          key={tick}
          aria-hidden="true"
          className={`absolute ${tick === scale.high ? "-translate-x-full" : "-translate-x-1/2"} ${place > 0 && place < all.length - 1 ? "max-sm:hidden" : ""}`}
          style={{ left: `${(100 * (tick - scale.low)) / (scale.high - scale.low)}%` }}
        >
          {tick}
        </span>
      ))}
    </span>
  );
}

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
