import { useState, type ReactNode } from "react";
import { useDocumentTitle, usePage } from "../hooks/usePage";
import { mainJudge, options, TRAITS, traits, withTrait, type Trait } from "../lib/boards";
import { humanize } from "../lib/format";
import { ExamLine } from "./labels";

const TITLES: Record<Trait, string> = {
  protocol: "Protocol",
  configuration: "Configuration",
  judge: "Judge",
  rules: "Rules",
  weights: "Weights",
};

/** Protocol, configuration, judge, rules and weights on one line: a select where there is a choice, else text. On a
 *  phone the line is folded. */
export function BoardChooser() {
  const { address, index, board, update } = usePage();
  const [open, setOpen] = useState(false);
  const chosen = traits(board);
  const protocolOf = (id: string) => index.protocols.find((protocol) => protocol.id === id);
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
  const folded = TRAITS.filter((trait) => chosen[trait] && (trait !== "rules" || chosen.rules !== "own")).map((trait) =>
    title(trait, chosen[trait]),
  );
  return (
    <>
      <button
        type="button"
        className="flex w-full gap-1 text-left text-sm text-soft sm:hidden"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span aria-hidden="true">{open ? "▾" : "▸"}</span>
        <span className="sr-only">Which ranking: </span>
        <bdi className="label">{folded.join(" · ")}</bdi>
      </button>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-1">
        <div
          className={`${open ? "flex" : "hidden sm:flex"} flex-wrap items-center gap-x-5 gap-y-1`}
          role="group"
          aria-label="Which ranking"
        >
          {TRAITS.map((trait) => {
            const values = options(index.boards, board, trait);
            if (values.length > 1) {
              return (
                <label key={trait} className="flex max-w-full min-w-0 items-center gap-1.5 sm:max-w-[26rem]">
                  <span className="eyebrow">{TITLES[trait]}</span>
                  <select
                    className="field min-w-0"
                    value={chosen[trait]}
                    onChange={(event) =>
                      update({ board: withTrait(index.boards, board, trait, event.target.value).id })
                    }
                  >
                    {values.map((value) => (
                      <option key={value} value={value}>
                        {title(trait, value)}
                      </option>
                    ))}
                  </select>
                </label>
              );
            }
            return trait === "rules" || trait === "weights" ? null : (
              <div key={trait} className="flex min-w-0 items-baseline gap-1.5">
                <span className="eyebrow">{TITLES[trait]}</span>
                <bdi className="label">{title(trait, chosen[trait])}</bdi>
              </div>
            );
          })}
        </div>
        {address.page === "judges" ? null : <ExamLine exam={board.exam} />}
        {index.protocols
          .filter((protocol) => protocol.earlier_form)
          .map((protocol) => (
            <p key={protocol.id} className="text-sm text-soft">
              {protocol.name}, earlier form: its conversations can be read and exported
            </p>
          ))}
      </div>
    </>
  );
}

interface HeadProps {
  title: string; // of the page and of the browser's tab
  dense?: boolean; // what follows is to begin higher
  children: ReactNode; // what the page is about
}

/** The top of a page about one ranking: its heading, what it is about, and which ranking it is. */
export function RankingHead({ title, dense = false, children }: HeadProps) {
  useDocumentTitle(title);
  return (
    <>
      <h1>{title}</h1>
      <p className={`text-soft ${dense ? "mt-0.5 mb-2 text-sm" : "mt-1 mb-4 max-w-3xl"}`}>{children}</p>
      <BoardChooser />
    </>
  );
}
