import type { Board, BoardEntry } from "../api/types";

/** The five things that make a board. */
interface Traits {
  protocol: string;
  configuration: string;
  judge: string;
  rules: string;
  weights: string;
}

export const TRAITS = ["protocol", "configuration", "judge", "rules", "weights"] as const;
export type Trait = (typeof TRAITS)[number];

export function traits(board: BoardEntry): Traits {
  return {
    protocol: board.protocol,
    configuration: board.configurations.join(" + "),
    judge: board.judge ?? "",
    rules: board.rules,
    weights: board.weights ?? "",
  };
}

/** Every value of *trait* that some board has, in the boards' order, given the choices that come before it. */
export function options(boards: readonly BoardEntry[], now: BoardEntry, trait: Trait): string[] {
  const mine = traits(now);
  const before = TRAITS.slice(0, TRAITS.indexOf(trait));
  const there = boards.map(traits).filter((one) => before.every((name) => one[name] === mine[name]));
  return [...new Set(there.map((board) => board[trait]))];
}

/** The main judge of the protocol and configuration of *now*: whose board answers where nobody says by which. */
export function mainJudge(boards: readonly BoardEntry[], now: BoardEntry): string | null {
  const mine = traits(now);
  const found = boards.find(
    (board) => board.main && board.protocol === mine.protocol && traits(board).configuration === mine.configuration,
  );
  return found?.judge ?? null;
}

/** The board with *trait* changed to *value* that keeps most of the other choices; earlier ones are preferred. */
export function withTrait(boards: readonly BoardEntry[], now: BoardEntry, trait: Trait, value: string): BoardEntry {
  const mine = traits(now);
  let best = now;
  let most = -1;
  for (const board of boards) {
    const its = traits(board);
    if (its[trait] !== value) continue;
    const before = TRAITS.slice(0, TRAITS.indexOf(trait));
    const kept = TRAITS.filter((name) => name !== trait && its[name] === mine[name]).length;
    const score = kept + (before.every((name) => its[name] === mine[name]) ? 10 : 0);
    if (score > most) [best, most] = [board, score];
  }
  return best;
}

/** A model's name without its endpoint and vendor. */
const bare = (name: string) => name.replace(/^[^@]*\//, "");

/** Two models' names without what they may both have in front. */
export function pairNames([first, second]: readonly [string, string]): readonly [string, string] {
  return bare(first) === bare(second) ? [first, second] : [bare(first), bare(second)];
}

/** The name of every model of *board* for a list to choose from: without its vendor, unless two are the same then. */
export function optionNames({ names }: Pick<Board, "names">): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const name of Object.values(names)) counts.set(bare(name), (counts.get(bare(name)) ?? 0) + 1);
  return new Map(Object.entries(names).map(([id, name]) => [id, counts.get(bare(name)) === 1 ? bare(name) : name]));
}
