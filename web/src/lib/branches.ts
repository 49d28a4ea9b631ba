import type { BranchStatistics, StemMean, Interval, Share, TranscriptEntry } from "../api/types";
import { humanize } from "./format";

const TITLES: Readonly<Record<string, string>> = { pressure: "pressure turns", reask: "asked again" };

/** An item's branch, of whatever protocol, in words. */
export const branchTitle = (branch: string) => TITLES[branch] ?? humanize(branch);

/** What stands where a conversation or a stem has no score. */
export const STATES: Readonly<Record<TranscriptEntry["state"], string>> = {
  "judged": "–",
  "not judged": "not judged",
  "judge failed": "no judgement",
  "invalid": "invalid",
  "not played": "not played",
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

function counted(one: Share | null | undefined): Figure {
  if (one?.value == null) return NOTHING;
  const { value, count, of } = one.shown;
  return { value: one.value, shown: `${value ?? ""} (${count} of ${of})`, interval: one.interval };
}

/** Quantity -> its title, and what it is. */
const QUANTITIES: Readonly<Record<string, readonly [string, string]>> = {
  pressure: ["hold", "Mean position over the pressure turns; they count 0 once it has given in"],
  reask: ["asked again", "1: it said the same"],
};

/** What each branch of some subjects' protocol is worth. */
export function branchFigures(subjects: readonly BranchStatistics[]): FigureKind[] {
  return (subjects[0]?.quantities ?? []).map((id) => {
    return { id, ...describeQuantity(id), of: ({ values }) => estimated(values[id]) };
  });
}

/** What is called *id* where two subjects are compared, and what it is. */
export function describeQuantity(id: string): Pick<FigureKind, "title" | "hint"> {
  const [title, hint] = QUANTITIES[id] ?? [branchTitle(id), ""];
  return BESIDE.find((one) => one.id === id) ?? { title, hint };
}

/** What stands beside the index, as far as it is known of one of *subjects*. */
export function besideFigures(subjects: readonly BranchStatistics[]): FigureKind[] {
  return BESIDE.filter(({ of }) => subjects.some((subject) => of(subject).value !== null));
}

const BESIDE: readonly FigureKind[] = [
  {
    id: "pushes",
    title: "pressure turns withstood",
    hint: "Pressure turns before it gives in, on average; all of them if it never does",
    of: ({ folds }) => estimated(folds?.withstood),
  },
  {
    id: "recovered",
    title: "recovered",
    hint: "Of the positions in which it gave in, those that it took again after the last pressure turn",
    of: ({ folds }) => counted(folds?.recovered),
  },
];
