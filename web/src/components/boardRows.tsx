import type { Health, BoardRow } from "../api/types";
import { count, plural, orDash } from "../lib/format";
import { numberColumn, type Column } from "./tables";

/** What is wrong with a row's data, the worst first; empty where nothing is. */
export function dataProblems(health: Health): string[] {
  const problems: string[] = [];
  if (health.invalid) problems.push(`${health.shown.invalid_share} invalid`);
  if (health.judge_failed) problems.push(`${plural(health.judge_failed, "verdict")} missing`);
  if (health.failed) problems.push(`${health.shown.failed_share} of attempts failed`);
  if (health.cut_off) problems.push(`${health.shown.cut_off_share} cut off`);
  if (health.by_others) problems.push(`${plural(health.by_others, "reply", "replies")} by another model`);
  if (health.with_markup) problems.push(`${plural(health.with_markup, "reply", "replies")} with template tokens`);
  if (health.plain_text) problems.push(`${health.shown.plain_text_share} without the tool call`);
  return problems;
}

/** One line on a row's data, with all figures as a tooltip. */
export function DataHealth({ health, short = false }: { health: Health; short?: boolean }) {
  const problems = dataProblems(health);
  const serious =
    health.invalid + health.judge_failed + health.by_others > 0 ||
    health.failed_share > 0.05 ||
    health.cut_off_share > 0.05;
  return (
    <span title={healthDetails(health)} className={`text-sm ${serious ? "text-warn" : "text-soft"}`}>
      <span aria-hidden="true" className={serious ? "text-warn" : problems.length ? "text-faint" : "text-good"}>
        {serious ? "▲ " : problems.length ? "• " : "✓ "}
      </span>
      {problems.length
        ? short
          ? `${problems[0] ?? ""}${problems.length > 1 ? " …" : ""}`
          : problems.join(", ")
        : "clean"}
    </span>
  );
}

export function healthDetails(health: Health): string {
  return [
    `${count(health.judged)} of ${count(health.transcripts)} conversations judged`,
    ...(health.invalid ? [`${count(health.invalid)} invalid`] : []),
    ...(health.judge_failed ? [`${count(health.judge_failed)} without a verdict`] : []),
    plural(health.replies, "reply", "replies"),
    ...(health.cut_off ? [`${count(health.cut_off)} cut off by the token limit`] : []),
    ...(health.failed ? [plural(health.failed, "failed attempt")] : []),
    ...(health.plain_text ? [`${count(health.plain_text)} without calling the tool`] : []),
    ...(health.with_markup ? [`${count(health.with_markup)} with chat-template tokens`] : []),
    ...(health.repeated ? [`${count(health.repeated)} word for word as in an earlier run`] : []),
    ...(health.by_others ? [`${count(health.by_others)} by another model than was asked`] : []),
    ...(health.reasoned ? [`${count(health.reasoned)} with reasoning`] : []),
  ].join("; ");
}

/** Dollars of a run as text, with its judge; null: not known. */
export function costOf({ price }: Pick<BoardRow, "price">): string | null {
  return price?.free ? "free" : (price?.shown.dollars_per_run ?? null);
}

/** What the replies and the judge cost a run, as far as that is known; "": nothing is. */
export function priceInParts(price: BoardRow["price"]): string {
  const { replies_per_run: replies, judging_per_run: judge } = price?.shown ?? {};
  return [replies && `replies ${replies}`, judge && `judge ${judge}`].filter(Boolean).join(", ");
}

export const COST: Column<BoardRow> = numberColumn("cost", "$ a run", (row) => orDash(costOf(row)), {
  hint: "Dollars for one run: the replies, and this judge",
  ascendingFirst: true,
  sortValue: (row) => row.price?.dollars_per_run,
});

export const LENGTH: Column<BoardRow> = numberColumn("length", "Length", (row) => orDash(row.shown.reply_length), {
  hint: "Mean characters of a reply",
  sortValue: (row) => row.reply_length,
});

/** How much reasoning the replies of a row came with, and whether that is what its label says, in words. */
export function reasoningInWords({ reasoning_tokens: tokens, reasoning_doubt: doubt, health }: BoardRow): string {
  return [
    doubt ?? (health.reasoned ? `in ${health.shown.reasoned_share} of its replies` : ""),
    tokens ? `${tokens.shown} reasoning tokens a reply` : "",
  ]
    .filter(Boolean)
    .join("; ");
}

export const REASONING: Column<BoardRow> = numberColumn(
  "reasoning",
  "Reasoning",
  ({ reasoning_tokens: tokens, reasoning_doubt: doubt }) => (
    <span className={doubt === null ? "" : "text-warn"}>
      {doubt === null ? null : (
        <>
          <span aria-hidden="true">▲ </span>
          <span className="sr-only">{doubt}: </span>
        </>
      )}
      {orDash(tokens?.shown)}
    </span>
  ),
  {
    hint: "Mean reasoning tokens of a reply; about: counted from the text of the reasoning",
    sortValue: (row) => row.reasoning_tokens?.mean,
    cellHint: (row) => reasoningInWords(row) || undefined,
  },
);
