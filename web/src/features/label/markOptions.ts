import type { MarkScale } from "../../api/types";

export interface MarkOption {
  value: number;
  title: string;
  key: string; // that chooses it; "" for none
}

/** Everything that a person can choose on *scale*: yes and no, its levels, or its whole numbers. */
export function optionOf(scale: Pick<MarkScale, "kind" | "levels" | "low" | "high">): MarkOption[] {
  if (scale.kind === "yes_no")
    return [
      { value: 0, title: "no", key: "n" },
      { value: 1, title: "yes", key: "y" },
    ];
  if (scale.levels.length) return scale.levels.map((title, value) => ({ value, title, key: keyOf(value) }));
  const low = Math.ceil(scale.low);
  const length = Math.floor(scale.high) - low + 1;
  return Array.from({ length }, (_, i) => ({ value: low + i, title: String(low + i), key: keyOf(low + i) }));
}

/** 0-9 are themselves; x is ten. */
function keyOf(value: number): string {
  return value >= 0 && value < 10 ? String(value) : value === 10 ? "x" : "";
}
