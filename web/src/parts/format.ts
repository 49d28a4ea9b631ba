/** Numbers and times as they are shown. Absent is a dash, never a zero. */

import type { Interval } from "../api/types";

export const ABSENT = "–";

export function number(value: number | null | undefined, digits = 1): string {
  return value == null || !Number.isFinite(value) ? ABSENT : value.toFixed(digits).replace("-", "−");
}

export function signed(value: number | null | undefined, digits = 1): string {
  if (value == null || !Number.isFinite(value)) return ABSENT;
  const shown = Math.abs(value).toFixed(digits);
  return Number(shown) === 0 ? shown : `${value < 0 ? "−" : "+"}${shown}`;
}

/** The interval of a difference; "" where there is none. */
export function between(interval: Interval | null, digits = 1): string {
  return interval ? `${signed(interval.low, digits)} to ${signed(interval.high, digits)}` : "";
}

export function count(value: number | null | undefined): string {
  return value == null ? ABSENT : value.toLocaleString("en-US");
}

/** A share in [0, 1] as per cent; small ones keep a digit. */
export function share(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return ABSENT;
  const percent = value * 100;
  if (percent === 0) return "0 %";
  return percent < 1 ? `${percent < 0.1 ? "<0.1" : percent.toFixed(1)} %` : `${percent.toFixed(0)} %`;
}

export function dollars(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return ABSENT;
  if (value === 0) return "$0";
  if (value < 0.01) return `$${value.toPrecision(2)}`;
  return `$${value.toFixed(value < 10 ? 3 : 2)}`;
}

/** A mark: whole numbers without digits. */
export function mark(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return ABSENT;
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

/** `preserved_name` as words. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** An ISO time as a day and a minute, in UTC. */
export function moment(time: string | null | undefined): string {
  if (!time || Number.isNaN(Date.parse(time))) return ABSENT;
  return `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

export function plural(many: number, one: string, more = `${one}s`): string {
  return `${count(many)} ${many === 1 ? one : more}`;
}

/** "3", or "3–11". */
export function span(low: number, high: number): string {
  return low === high ? String(low) : `${String(low)}–${String(high)}`;
}
