import type { CSSProperties } from "react";
import type { MarkScale } from "../api/types";

/** Counts, times and words as they are shown. Absent is a dash, never a zero. */

const ABSENT = "–";

/** A number as Python has written it; the page rounds none. */
export function orDash(text: string | null | undefined): string {
  return text ?? ABSENT;
}

export function count(value: number | null | undefined): string {
  return value == null ? ABSENT : value.toLocaleString("en-US");
}

/** `preserved_name` as words. */
export function humanize(name: string): string {
  return name.replaceAll("_", " ").replace(/\bnon /g, "non-");
}

/** *words* as the beginning of a sentence. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** An ISO time as a day and a minute, in UTC, which is not said. */
export function minute(time: string): string {
  return Number.isNaN(Date.parse(time)) ? ABSENT : new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

/** The same with its zone. */
export function timestamp(time: string | null | undefined): string {
  const said = minute(time ?? "");
  return said === ABSENT ? said : `${said} UTC`;
}

export function plural(many: number, one: string, more = `${one}s`): string {
  return `${count(many)} ${many === 1 ? one : more}`;
}

/** What shows nothing, and all spaces but the usual one: two names that differ in it would look the same. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}|\u2800|\u{1d159}|\u{16fe4}|(?! )\p{Zs}/gu;

/** A name with what shows nothing written out, as Python writes out labels. */
export function nameText(name: string): string {
  return name.replace(UNSEEN, (unseen) => `\\u{${(unseen.codePointAt(0) ?? 0).toString(16)}}`);
}

/** "3", or "3–11". */
export function span(low: number, high: number): string {
  return low === high ? String(low) : `${low}–${high}`;
}

/** "A", "B", ... "Z", "AA": what stands for the judge with that index where its label is too long. */
export function letterName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letterName(Math.floor(index / 26) - 1) + last;
}

interface Marked {
  readonly marks: Readonly<Record<string, number>>;
  readonly shown: { readonly marks: Readonly<Record<string, string>> };
}

/** The mark of *scale* as it is shown: its number, yes or no, or its level's name. */
export function markText(scale: MarkScale, { marks, shown }: Marked): string {
  const value = Object.hasOwn(marks, scale.name) ? marks[scale.name] : undefined;
  if (value === undefined) return ABSENT;
  if (scale.kind === "yes_no" && (value === 0 || value === 1)) return value ? "yes" : "no";
  return scale.levels[value] ?? shown.marks[scale.name] ?? ABSENT;
}

/** What a mark of *scale* can be. */
export function scaleRange({ kind, levels, shown }: MarkScale, to: string): string {
  if (levels.length) return levels.join(" · ");
  return kind === "yes_no" ? "yes/no" : `${shown.low}${to}${shown.high}`;
}

/** The colour of a score in [0, 100]: warm low, cool high; nothing where there is none. The number stands beside it. */
export function heatColor(value: number | null | undefined): CSSProperties {
  if (value == null) return {};
  const share = Math.max(0, Math.min(100, value));
  const [from, to, part] =
    share < 50 ? ["--heat-low", "--heat-mid", share * 2] : ["--heat-mid", "--heat-high", (share - 50) * 2];
  return {
    backgroundColor: `color-mix(in oklab, var(${to}) ${part}%, var(${from}))`,
    color: "var(--heat-ink)",
  };
}
