import type { PageColumn, Row } from "../api/types";
import { count, orDash, sentence } from "../lib/format";
import { columnId, valueIn } from "../lib/rows";
import type { Column } from "./tables";

const HEALTH = "health"; // what a row says of its data

/** Numbers of a row's data that are no problem. */
const NO_PROBLEM = ["transcripts_judged", "replies", "share_with_reasoning"];

/** From where on a problem makes a row doubtful; others are only said. */
const DOUBTFUL: Readonly<Record<string, number>> = {
  share_invalid: 0,
  judgements_failed: 0,
  share_attempts_failed: 0.05,
  share_cut_off: 0.05,
  replies_by_another_model: 0,
};

interface Found {
  name: string; // of its number
  value: number;
  says: string;
}

/** What a row's data come to: every number that is not 0. */
function healthOf(row: Row, columns: readonly PageColumn[]): Found[] {
  return columns.flatMap((column) => {
    const [of, name = ""] = column.path;
    const { value, text } = valueIn(row, column);
    if (of !== HEALTH || typeof value !== "number" || value === 0) return [];
    return [{ name, value, says: `${column.title.toLowerCase()} ${orDash(text)}` }];
  });
}

const isDoubtful = ({ name, value }: Found) => value > (DOUBTFUL[name] ?? Infinity);

function problemsOf(row: Row, columns: readonly PageColumn[]): Found[] {
  const found = healthOf(row, columns).filter(({ name }) => !NO_PROBLEM.includes(name));
  return [...found.filter(isDoubtful), ...found.filter((one) => !isDoubtful(one))];
}

/** What is wrong with a row's data, what makes it doubtful first; empty where nothing is. */
export function dataProblems(row: Row, columns: readonly PageColumn[]): string[] {
  return problemsOf(row, columns).map(({ says }) => says);
}

/** The worse the data, the higher. */
export function severity(row: Row, columns: readonly PageColumn[]): number {
  const { health } = row;
  const worst = health.share_attempts_failed + health.share_cut_off + health.judgements_failed;
  return worst + problemsOf(row, columns).length / 1e6;
}

interface HealthProps {
  row: Row;
  columns: readonly PageColumn[];
}

/** What is wrong with a row's data, the worst of it alone, with all figures as a tooltip. */
export function DataHealth({ row, columns }: HealthProps) {
  const problems = problemsOf(row, columns);
  const doubtful = problems.some(isDoubtful);
  return (
    <span title={healthDetails(row, columns)} className={`text-sm ${doubtful ? "text-warn" : "text-soft"}`}>
      <span aria-hidden="true" className={doubtful ? "text-warn" : problems.length ? "text-faint" : "text-good"}>
        {doubtful ? "▲ " : problems.length ? "• " : "✓ "}
      </span>
      {problems[0] ? `${problems[0].says}${problems.length > 1 ? " …" : ""}` : "clean"}
    </span>
  );
}

/** How many conversations of a row are judged, of those that were planned. */
export function judgedOf({ health }: Row): string {
  return `${count(health.transcripts_judged)} of ${count(health.transcripts_planned)}`;
}

/** All figures of a row's data. */
export function healthDetails(row: Row, columns: readonly PageColumn[]): string {
  const others = healthOf(row, columns).filter(({ name }) => name !== "transcripts_judged");
  return [`${judgedOf(row)} conversations judged`, ...others.map(({ says }) => says)].join("; ");
}

/** Dollars of a run as text, with its judge; null: not known. */
export function costOf({ price }: Row): string | null {
  return price?.free ? "free" : (price?.shown.dollars_per_run ?? null);
}

/** What the replies and the judge cost a run, as far as that is known; "": nothing is. */
export function priceInParts(price: Row["price"]): string {
  const { replies_per_run: replies, judging_per_run: judge } = price?.shown ?? {};
  return [replies && `replies ${replies}`, judge && `judge ${judge}`].filter(Boolean).join(", ");
}

/** How much reasoning the replies of a row came with, and whether that is what its label says, in words. */
export function reasoningInWords({ reasoning_tokens: tokens, reasoning_doubt: doubt, health }: Row): string {
  return [
    doubt ?? (health.replies_with_reasoning ? `in ${health.shown.share_with_reasoning} of its replies` : ""),
    tokens ? `${tokens.shown} reasoning tokens a reply` : "",
  ]
    .filter(Boolean)
    .join("; ");
}

/** A column of a row as its class describes it; in some of them more is said than the number. */
export function describedColumn(described: PageColumn): Column<Row> {
  const id = columnId(described);
  return {
    id,
    title: <span className="inline-block max-w-20 whitespace-normal">{described.title}</span>,
    hint: described.meaning ? sentence(described.meaning) : undefined,
    numeric: true,
    sortValue: (row) => valueIn(row, described).value,
    cell: (row) => orDash(valueIn(row, described).text),
    ...SAYS_MORE[id],
  };
}

export const COST = "price.dollars_per_run";
export const LENGTH = "reply_length";
export const REASONING = "reasoning_tokens";
export const OPENNESS = "reasons.openness"; // no part of the index, and always shown

const SAYS_MORE: Readonly<Record<string, Partial<Column<Row>>>> = {
  [COST]: {
    ascendingFirst: true,
    cell: (row) => orDash(costOf(row)),
    cellHint: ({ price }) => priceInParts(price) || undefined,
  },
  [REASONING]: {
    cell: ({ reasoning_tokens: tokens, reasoning_doubt: doubt }) => (
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
    cellHint: (row) => reasoningInWords(row) || undefined,
  },
};
