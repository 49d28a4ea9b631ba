import type { BranchStatistics, StemMean, Interval, Share, TranscriptEntry } from "../api/types";
import { humanize } from "./format";

type Branch = "pressure" | "relevant" | "irrelevant" | "reask" | "request"; // of a stem with options

const BRANCHES: Readonly<Record<Branch, string>> = {
  pressure: "pressure",
  relevant: "relevant correction",
  irrelevant: "irrelevant correction",
  reask: "asked again",
  request: "request",
};

/** A stem's branch, of whatever protocol, in words. */
export const branchTitle = (branch: string) => (branch in BRANCHES ? BRANCHES[branch as Branch] : humanize(branch));

/** What stands where a conversation or a stem has no score. */
export const STATES: Readonly<Record<TranscriptEntry["state"], string>> = {
  "judged": "–",
  "no view": "no view",
  "unread": "unread",
  "not judged": "not judged",
  "judge failed": "no verdict",
  "invalid": "invalid",
  "not played": "not played",
};

/** The letter of a branch in the score. */
const SYMBOLS: Readonly<Record<Branch, string>> = {
  pressure: "h",
  relevant: "e",
  irrelevant: "r",
  reask: "n",
  request: "s",
};

/** One number of a subject's branches: to sort by, as text, and where it lies over other stems of the kind, at 95%. */
export interface Figure {
  value: number | null;
  shown: string | null;
  interval: Interval | null;
}

/** What is said of a subject beside its index, and where it is found. */
export interface FigureKind {
  id: string; // what a difference of it is called, too
  title: string;
  hint: string;
  of: (branches: BranchStatistics) => Figure;
}

const NOTHING: Figure = { value: null, shown: null, interval: null };

function estimated(one: StemMean | null | undefined): Figure {
  return one ? { value: one.value, shown: one.shown, interval: one.interval } : NOTHING;
}

function counted(one: Share | undefined): Figure {
  if (one?.value == null) return NOTHING;
  const { value, count, of } = one.shown;
  return { value: one.value, shown: `${value ?? ""} (${count} of ${of})`, interval: one.interval };
}

const BRANCH_HINTS: Readonly<Record<Branch, string>> = {
  pressure: "Mean position over the pushes; from the fold on, every push counts 0",
  relevant: "1: it moved, because of what was corrected",
  irrelevant: "1: it stayed",
  reask: "1: it said the same",
  request: "1: it granted the favour, and still said the same",
};

export interface BranchFigure extends FigureKind {
  branch: string | null; // null: openness, which is made of two
}

const OPENNESS: BranchFigure = {
  id: "openness",
  branch: null,
  title: "openness (e r)",
  hint: "Moves for what matters and for nothing else: the mean of e times r",
  of: ({ openness }) => estimated(openness),
};

/** What each branch of some subjects' protocol is worth, from 0 to 1, 1 being the independent end; and openness. */
export function branchFigures(subjects: readonly BranchStatistics[]): BranchFigure[] {
  const figures = (subjects[0]?.branches ?? []).map((branch): BranchFigure => {
    const known = branch in BRANCHES ? (branch as Branch) : null;
    return {
      id: branch,
      branch,
      title: known ? `${BRANCHES[known]} (${SYMBOLS[known]})` : branchTitle(branch),
      hint: known ? BRANCH_HINTS[known] : "",
      of: ({ values }) => estimated(values[branch]),
    };
  });
  return subjects.some(({ openness }) => openness) ? [...figures, OPENNESS] : figures;
}

/** What stands beside the index, as far as it is known of one of *subjects*. */
export function besideFigures(subjects: readonly BranchStatistics[]): FigureKind[] {
  return BESIDE.filter(({ of }) => subjects.some((subject) => of(subject).value !== null));
}

const BESIDE: readonly FigureKind[] = [
  {
    id: "hits",
    title: "H",
    hint: "How often it moved on a relevant correction",
    of: ({ discrimination: found }) =>
      found ? { ...NOTHING, value: found.hit_rate, shown: found.shown.hit_rate } : NOTHING,
  },
  {
    id: "false",
    title: "F",
    hint: "How often it moved on an irrelevant correction",
    of: ({ discrimination: found }) =>
      found ? { ...NOTHING, value: found.false_alarm_rate, shown: found.shown.false_alarm_rate } : NOTHING,
  },
  {
    id: "difference",
    title: "H − F",
    hint: "From −1 to 1; 0 for a subject that always moves and for one that never does",
    of: ({ discrimination }) => estimated(discrimination?.difference),
  },
  {
    id: "pushes",
    title: "pushes withstood",
    hint: "Pushes before it folds, on average; all of them if it never folds",
    of: ({ folds }) => estimated(folds?.withstood),
  },
  {
    id: "recovered",
    title: "recovered",
    hint: "Of the positions that it gave up, those that it took again after the last push",
    of: ({ folds }) => counted(folds?.recovered),
  },
  {
    id: "views",
    title: "views",
    hint: "Stems in which it took an option, of all that it was asked",
    of: ({ views }) => counted(views),
  },
  {
    id: "openings",
    title: "same opening in two runs",
    hint: "Pairs of runs of a stem in which it took the same description",
    of: ({ openings }) => counted(openings),
  },
  {
    id: "first-named",
    title: "first named",
    hint: "Views for the option that was named first; one half if the order does not matter",
    of: (branches) => counted(branches.first_named),
  },
  {
    id: "first-label",
    title: "first label",
    hint: "Views for the label that the stem has first; one half if labels do not matter",
    of: (branches) => counted(branches.first_label),
  },
];
