/** Counts, times and words as they are shown. Absent is a dash, never a zero. */

export const ABSENT = "–";

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

/** An ISO time as a day and a minute, in UTC. */
export function timestamp(time: string | null | undefined): string {
  if (!time || Number.isNaN(Date.parse(time))) return ABSENT;
  return `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

export function plural(many: number, one: string, more = `${one}s`): string {
  return `${count(many)} ${many === 1 ? one : more}`;
}

/** "3", or "3–11". */
export function span(low: number, high: number): string {
  return low === high ? String(low) : `${low}–${high}`;
}
