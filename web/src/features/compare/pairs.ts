import type {
  Board,
  BranchDifference,
  ComparedSubject,
  Comparisons,
  Differences,
  WordedIntervals,
} from "../../api/types";

/** What is said of two subjects beside each other. Differences are the first minus the second. */
export interface Pair extends Pick<ComparedSubject, "names" | "says" | "thinking" | "apart" | "branches"> {
  subject: string; // id of the second
  sides: readonly [Values, Values]; // in the order of *compared*
}

type Values = Pick<ComparedSubject, "values" | "shown">;

/** The two models that are compared: those that are picked, and if one is missing, the first ones of *board*. */
export function pairOf({ rows }: Pick<Board, "rows">, picked: readonly string[]): readonly string[] {
  const ids = rows.map(({ subject }) => subject.id);
  const known = picked.filter((id) => ids.includes(id));
  return [...known, ...ids.filter((id) => !known.includes(id))].slice(0, 2);
}

/**
 * *second* beside *first*, whichever of the two *file* is of; undefined: they are not in it. A file has the other minus
 * its own.
 */
export function pairIn(file: Comparisons, first: string, second: string): Pair | undefined {
  const turn = file.subject !== first;
  const other = file.others.find(({ subject }) => subject === (turn ? first : second));
  if (!other || file.subject !== (turn ? second : first)) return undefined;
  if (!turn)
    return {
      ...other,
      sides: [file, other],
      apart: turned(other.apart),
      branches: other.branches.map(turnedDifference),
    };
  const [one, two] = other.names;
  return {
    subject: second,
    sides: [other, file],
    names: [two, one],
    says: other.says, // it names both
    thinking: other.thinking, // from the lower effort to the higher, whichever is first
    apart: other.apart,
    branches: other.branches.map(turnedSides),
  };
}

/** The same differences with the other sign. */
function turned(apart: Differences): Differences {
  return {
    ...apart,
    points: apart.points.map(negative),
    shown: apart.shown.map(otherSign),
    rerun: apart.rerun && turnedIntervals(apart.rerun),
    new_scenarios: apart.new_scenarios && turnedIntervals(apart.new_scenarios),
  };
}

function turnedIntervals({ low, high, shown }: WordedIntervals): WordedIntervals {
  return { low: high.map(negative), high: low.map(negative), shown: shown.map(otherEnds) };
}

function turnedDifference(one: BranchDifference): BranchDifference {
  const { difference, interval, shown } = one;
  return {
    ...one,
    difference: 0 - difference,
    interval: interval && { low: 0 - interval.high, high: 0 - interval.low, shown: otherEnds(interval.shown) },
    shown: { ...shown, difference: otherSign(shown.difference) },
  };
}

function turnedSides(one: BranchDifference): BranchDifference {
  const { first, second, shown } = one;
  return { ...one, first: second, second: first, shown: { ...shown, first: shown.second, second: shown.first } };
}

function negative(number: number | null): number | null {
  return number === null ? null : 0 - number; // no -0
}

/** +1.2 of −1.2; a number that is shown as none has no sign. */
function otherSign<Text extends string | null>(text: Text): Text {
  return (text?.replace(/^[+−]/, (sign) => (sign === "+" ? "−" : "+")) ?? null) as Text;
}

/** −2 to +1 of −1 to +2. */
function otherEnds<Text extends string | null>(text: Text): Text {
  return (text?.split(" to ").reverse().map(otherSign).join(" to ") ?? null) as Text;
}
