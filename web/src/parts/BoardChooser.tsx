import { useHere } from "./place";
import { mainJudge, options, TRAITS, traits, withTrait, type Trait } from "./boards";
import { words } from "./format";

const TITLES: Record<Trait, string> = {
  protocol: "Protocol",
  configuration: "Configuration",
  judge: "Judge",
  rules: "Rules",
  weights: "Weights",
};

/** Protocol, configuration, judge, rules and weights: one select each, where there is a choice; else plain text. */
export function BoardChooser() {
  const { index, board, go, address } = useHere();
  const now = traits(board);
  function shown(trait: Trait, value: string): string {
    if (trait === "protocol") {
      const found = index.protocols.find((one) => one.id === value);
      return found ? found.name : value;
    }
    if (trait === "judge") {
      const main = mainJudge(index.boards, board) === value && options(index.boards, board, "judge").length > 1;
      return value ? `${value}${main ? " (main judge)" : ""}` : "not judged yet";
    }
    if (trait === "rules") return value === "own" ? "our own" : value;
    if (trait === "weights") return value ? words(value) : "the protocol's";
    return words(value);
  }
  return (
    <div className="flex flex-wrap items-end gap-x-4 gap-y-2" role="group" aria-label="Which ranking">
      {TRAITS.map((trait) => {
        const there = options(index.boards, board, trait);
        if (there.length < 2) {
          return trait === "rules" || trait === "weights" ? null : (
            <div key={trait} className="min-w-0">
              <div className="eyebrow">{TITLES[trait]}</div>
              <bdi className="label block min-h-[2.1rem] py-1">{shown(trait, now[trait])}</bdi>
            </div>
          );
        }
        return (
          <label key={trait} className="max-w-full min-w-0 sm:max-w-[22rem]">
            <span className="eyebrow block">{TITLES[trait]}</span>
            <select
              className="field w-full"
              value={now[trait]}
              onChange={(event) => {
                go(address, { board: withTrait(index.boards, board, trait, event.target.value).id }, true);
              }}
            >
              {there.map((value) => (
                <option key={value} value={value}>
                  {shown(trait, value)}
                </option>
              ))}
            </select>
          </label>
        );
      })}
    </div>
  );
}
