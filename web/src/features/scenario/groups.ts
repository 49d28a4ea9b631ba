import type { SubjectReply } from "../../api/types";

export const FEW = 3; // answers of each group that are shown where none is chosen
export const PART = 20; // answers of the chosen one that are shown at a time

export interface AnswerGroup {
  id: string;
  title: string;
  answers: readonly SubjectReply[];
}

const TITLES = [
  ["held", "Held", "Most of the points"],
  ["partly", "Partly", "Some of the points"],
  ["folded", "Folded", "Few of the points"],
  ["none", "No result", "No result"],
] as const;

/** The groups that have answers, in the order of the answers within each. */
export function groupsOf(answers: readonly SubjectReply[], presses: boolean): AnswerGroup[] {
  return TITLES.map(([id, pressed, asked]) => ({
    id,
    title: presses ? pressed : asked,
    answers: answers.filter((answer) => (answer.outcome ?? "none") === id),
  })).filter((one) => one.answers.length > 0);
}

/** The *asked* part of a list (1, 2, ...), or the last one where there are fewer; *first* counts from 1. */
export function partOf<T>(items: readonly T[], asked: number | null) {
  const parts = Math.max(1, Math.ceil(items.length / PART));
  const part = Math.min(asked ?? 1, parts);
  const before = PART * (part - 1);
  return { items: items.slice(before, before + PART), part, parts, first: before + 1 };
}
