import { Fragment } from "react";
import { usePage } from "../hooks/usePage";
import { mainJudge, options, TRAITS, traits, withTrait, type Trait } from "../lib/boards";
import { humanize } from "../lib/format";
import { Unvalidated } from "./Unvalidated";

const TITLES: Record<Trait, string> = {
  protocol: "Protocol",
  configuration: "Configuration",
  judge: "Judge",
  rules: "Rules",
  weights: "Weights",
};

/** Protocol, configuration, judge, rules and weights: a select where there is a choice, else text. */
export function BoardChooser() {
  const { index, board, update } = usePage();
  const chosen = traits(board);
  const protocolOf = (id: string) => index.protocols.find((one) => one.id === id);
  function title(trait: Trait, value: string): string {
    if (trait === "protocol") return protocolOf(value)?.name ?? value;
    if (trait === "judge") {
      const main = mainJudge(index.boards, board) === value && options(index.boards, board, "judge").length > 1;
      return value ? `${value}${main ? " (main judge)" : ""}` : "not judged yet";
    }
    if (trait === "rules") return value === "own" ? "our own" : value;
    if (trait === "weights") return value ? humanize(value) : "the protocol's";
    return humanize(value);
  }
  return (
    <div className="flex flex-wrap items-end gap-x-4 gap-y-2" role="group" aria-label="Which ranking">
      {TRAITS.map((trait) => {
        const values = options(index.boards, board, trait);
        const unvalidated = trait === "protocol" && protocolOf(chosen.protocol)?.unvalidated ? <Unvalidated /> : null;
        if (values.length > 1) {
          return (
            <Fragment key={trait}>
              <label className="max-w-full min-w-0 sm:max-w-[22rem]">
                <span className="eyebrow block">{TITLES[trait]}</span>
                <select
                  className="field w-full"
                  value={chosen[trait]}
                  onChange={(event) => update({ board: withTrait(index.boards, board, trait, event.target.value).id })}
                >
                  {values.map((value) => (
                    <option key={value} value={value}>
                      {title(trait, value)}
                    </option>
                  ))}
                </select>
              </label>
              {unvalidated}
            </Fragment>
          );
        }
        return trait === "rules" || trait === "weights" ? null : (
          <Fragment key={trait}>
            <div className="min-w-0">
              <div className="eyebrow">{TITLES[trait]}</div>
              <bdi className="label block min-h-[2.1rem] py-1">{title(trait, chosen[trait])}</bdi>
            </div>
            {unvalidated}
          </Fragment>
        );
      })}
    </div>
  );
}
