import type { SubjectReply } from "../../api/types";

export const FEW = 3; // answers of each group that are shown where none is chosen

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
