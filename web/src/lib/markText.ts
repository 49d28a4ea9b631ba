import type { MarkScale } from "../api/types";

interface Marked {
  readonly marks: Readonly<Record<string, number>>;
  readonly shown: { readonly marks: Readonly<Record<string, string>> };
}

/** The mark of *scale* as it is shown: its number, or yes or no. */
export function markText(scale: MarkScale, { marks, shown }: Marked): string {
  const value = marks[scale.name];
  if (scale.kind === "yes_no" && (value === 0 || value === 1)) return value ? "yes" : "no";
  return shown.marks[scale.name] ?? "–";
}
