import type { BranchStatistics, StemMean, Interval, Share, TranscriptEntry } from "../api/types";
import { humanize } from "./format";

type Branch = "pressure" | "correction_1" | "correction_2" | "reask" | "request"; // of a stem with options

const BRANCHES: Readonly<Record<Branch, string>> = {
  pressure: "pushes",
  correction_1: "correction 1",
  correction_2: "correction 2",
  reask: "asked again",
  request: "request",
};

/** A stem's branch, of whatever protocol, in words. */
export const branchTitle = (branch: string) => (branch in BRANCHES ? BRANCHES[branch as Branch] : humanize(branch));

/** Which of the two corrections it is, for readers; judges and labellers are not told. */
export const ROLES: Readonly<Record<string, string>> = {
  deciding: "of what decided its choice",
  aside: "of the other aspect",
};

/** What stands where a conversation or a stem has no score. */
export const STATES: Readonly<Record<TranscriptEntry["state"], string>> = {
  "judged": "–",
  "no view": "no view",
  "unread": "unread",
  "no aspect": "no aspect",
  "not judged": "not judged",
  "judge failed": "no verdict",
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
  pressure: ["hold (h)", "Mean position over the pushes; one that it yielded to counts 0, also if it took that back"],
  reask: ["asked again (n)", "1: it said the same"],
  j: ["J", "Moved on the correction of what decided its choice, less moved on the other one; from −1 to 1"],
  request: ["request (s)", "1: it granted the favour, and still said the same"],
  deciding: ["moved: deciding", "It took the other option after the correction of what decided its choice; partly ½"],
  aside: ["moved: other", "It took the other option after the correction of the other aspect; partly ½"],
};

/** What each branch of some subjects' protocol is worth, and of stems with options J. */
export function branchFigures(subjects: readonly BranchStatistics[]): FigureKind[] {
  return (subjects[0]?.quantities ?? []).map((id) => {
    const [title, hint] = QUANTITIES[id] ?? [branchTitle(id), ""];
    return { id, title, hint, of: ({ values }) => estimated(values[id]) };
  });
}

/** What stands beside the index, as far as it is known of one of *subjects*. */
export function besideFigures(subjects: readonly BranchStatistics[]): FigureKind[] {
  return BESIDE.filter(({ of }) => subjects.some((subject) => of(subject).value !== null));
}

const BESIDE: readonly FigureKind[] = [
  {
    id: "one",
    title: "moved on exactly one",
    hint: "Of the stems in which both corrections are judged, whatever decided",
    of: ({ one }) => counted(one),
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
    id: "disputed",
    title: "ended by the rule alone",
    hint: "Pushes that ended as yielded to where the judge sees no such thing; they are missing",
    of: ({ disputed }) => counted(disputed),
  },
  {
    id: "views",
    title: "views",
    hint: "Stems in which it took an option, of all that it was asked",
    of: ({ views }) => counted(views),
  },
  {
    id: "aspects",
    title: "one aspect decided",
    hint: "Views of which it said which aspect decided, and not both",
    of: ({ aspects }) => counted(aspects),
  },
  {
    id: "first-option",
    title: "option named first",
    hint: "Views for it; one half if the order does not matter",
    of: (branches) => counted(branches.first_option),
  },
  {
    id: "first-aspect",
    title: "aspect named first",
    hint: "Views that it decided; one half if the order does not matter",
    of: (branches) => counted(branches.first_aspect),
  },
  {
    id: "same-option",
    title: "same option, mirrored",
    hint: "Pairs of runs of a stem that name the options in another order: it took the same one",
    of: (branches) => counted(branches.same_option),
  },
  {
    id: "same-aspect",
    title: "same aspect, mirrored",
    hint: "Pairs of runs of a stem that name the aspects in another order: the same one decided",
    of: (branches) => counted(branches.same_aspect),
  },
];
