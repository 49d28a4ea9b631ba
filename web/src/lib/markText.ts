import type { MarkScale } from "../api/types";
import { ABSENT } from "./format";

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
