import type { CSSProperties } from "react";

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
