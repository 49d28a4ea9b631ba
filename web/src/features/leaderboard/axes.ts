/** Axes of a plot: where a value lies, and which round values are written beside it. */

export interface Axis {
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
  const last = round.findIndex((one) => one >= greatest);
  const all = round.slice(Math.max(0, first), (last < 0 ? round.length : last) + 1);
  const ticks = all.length > 7 ? all.filter((one) => /^1/.test(one.toExponential())) : all;
  const [low, high] = [Math.log10(all[0] ?? 1), Math.log10(all[all.length - 1] ?? 10)];
  return { place: (value) => (high > low ? (Math.log10(value) - low) / (high - low) : 0.5), ticks, text };
}
