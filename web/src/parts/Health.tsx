import type { Health as Facts } from "../api/types";
import { count, plural } from "./format";

/** What is wrong with a row's data, worst first; nothing where all is well. */
export function troubles(health: Facts): string[] {
  const said: string[] = [];
  if (health.invalid) said.push(`${health.shown.invalid_share} invalid`);
  if (health.judge_failed) said.push(`${plural(health.judge_failed, "verdict")} missing`);
  if (health.failed) said.push(`${health.shown.failed_share} of attempts failed`);
  if (health.cut_off) said.push(`${health.shown.cut_off_share} cut off`);
  if (health.plain_text) said.push(`${health.shown.plain_text_share} beside the tool`);
  return said;
}

/** One line on a row's data, with all figures for a pointer that rests on it. */
export function Health({ health, short = false }: { health: Facts; short?: boolean }) {
  const said = troubles(health);
  const serious =
    health.invalid > 0 || health.judge_failed > 0 || health.failed_share > 0.05 || health.cut_off_share > 0.05;
  return (
    <span title={inFull(health)} className={`text-sm ${serious ? "text-warn" : "text-soft"}`}>
      <span aria-hidden="true" className={serious ? "text-warn" : said.length ? "text-faint" : "text-good"}>
        {serious ? "▲ " : said.length ? "• " : "✓ "}
      </span>
      {said.length ? (short ? `${said[0] ?? ""}${said.length > 1 ? " …" : ""}` : said.join(", ")) : "clean"}
    </span>
  );
}

export function inFull(health: Facts): string {
  return [
    `${count(health.judged)} of ${count(health.transcripts)} conversations judged`,
    `${count(health.invalid)} invalid`,
    `${count(health.judge_failed)} without a verdict`,
    `${count(health.replies)} replies`,
    `${count(health.cut_off)} cut off`,
    `${count(health.failed)} attempts at them brought no answer`,
    `${count(health.plain_text)} spoken beside the tool`,
    `${count(health.reasoned)} with reasoning`,
  ].join("; ");
}
