import { useMemo } from "react";
import type { ApiError } from "../../api/client";
import { endpoints, useApi, useBoard } from "../../api/queries";
import type { Board } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { csvAndJson, Downloads } from "../../components/downloads";
import { Button, IntervalSwitch, SegmentedControl, SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { optionNames, pairNames } from "../../lib/boards";
import { plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { BranchComparison } from "./BranchComparison";
import { Comparison, type Side } from "./Comparison";
import { Label } from "../../components/labels";
import { pairIn, pairOf } from "./pairs";
import { Settings } from "./Settings";
import { Versions } from "./Versions";

const INTRODUCTIONS: Record<AddressOf<"compare">["view"], string> = {
  pair: "Both models were asked the same questions, so they are compared scenario by scenario.",
  settings: "The same model under several settings, and all models under several system prompts and delivery modes.",
  versions: "The same models under two versions of a system prompt.",
};

/** Two models beside each other, what one setting does, or what an edited prompt does. */
export default function ComparePage({ address }: { address: AddressOf<"compare"> }) {
  const { board, index, navigate } = usePage();
  const ranking = useBoard(board.id, index.offer.frozen, true);
  return (
    <>
      <RankingHead title="Compare" dense>
        {INTRODUCTIONS[address.view]}
      </RankingHead>
      <div className="mt-2 mb-2 flex flex-wrap items-center gap-x-6 gap-y-2">
        <SegmentedControl
          label="Compare"
          plain
          value={address.view}
          options={[
            ["pair", "Two models"],
            ["settings", "Settings"],
            ["versions", "Versions"],
          ]}
          onChange={(view) => navigate(route("compare", { view }))}
        />
        {address.view === "settings" ? null : <IntervalSwitch />}
      </div>
      <Await query={ranking} what="the ranking">
        {(value) =>
          address.view === "pair" ? (
            <TwoModels board={value} address={address} />
          ) : address.view === "settings" ? (
            <Settings board={value} />
          ) : (
            <Versions board={value} address={address} />
          )
        }
      </Await>
    </>
  );
}

function TwoModels({ board, address }: { board: Board; address: AddressOf<"compare"> }) {
  const { update } = usePage();
  const labels = useMemo(() => new Map(board.rows.map(({ subject, label }) => [subject.id, label])), [board]);
  const [first = "", second = ""] = pairOf(board, address.picked);
  const rest = address.picked.filter((id) => id !== first && id !== second);
  const elsewhere = address.picked.filter((id) => !labels.has(id)).length;
  const choose = (one: string, other: string) =>
    update({ scenario: "", picked: [one, other, ...rest].filter(Boolean) });
  const names = optionNames(board);
  const options = board.rows.map(({ subject: { id }, shown }) => ({
    value: id,
    title: [names.get(id), shown.index].filter(Boolean).join(": "),
  }));
  return (
    <>
      {second ? <PairChooser first={first} second={second} options={options} onChoose={choose} /> : null}
      {elsewhere ? (
        <p className="mt-2 text-sm text-warn">Not on this leaderboard: {plural(elsewhere, "picked model")}.</p>
      ) : null}
      {second ? (
        <SubjectComparison board={board} address={address} labels={labels} first={first} second={second} />
      ) : (
        <Empty title="There is only one model on this leaderboard.">`aib run` plays another one.</Empty>
      )}
    </>
  );
}

interface ChooserProps {
  first: string;
  second: string;
  options: readonly { value: string; title: string }[];
  onChoose: (first: string, second: string) => void;
}

/** The two that are compared, and a button that exchanges them. */
function PairChooser({ first, second, options, onChoose }: ChooserProps) {
  const without = (taken: string) => options.map((option) => ({ ...option, disabled: option.value === taken }));
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_auto_1fr]">
      <SelectField
        label="First"
        selectClass="w-full"
        value={first}
        options={without(second)}
        onChange={(chosen) => onChoose(chosen, second)}
      />
      <Button className="self-end justify-self-start" onClick={() => onChoose(second, first)} aria-label="Swap the two">
        ⇄
      </Button>
      <SelectField
        label="Second"
        selectClass="w-full"
        value={second}
        options={without(first)}
        onChange={(chosen) => onChoose(first, chosen)}
      />
    </div>
  );
}

interface SubjectComparisonProps {
  board: Board;
  address: AddressOf<"compare">;
  labels: ReadonlyMap<string, string>;
  first: string;
  second: string;
}

function SubjectComparison({ board, address, labels, first, second }: SubjectComparisonProps) {
  const { href, index } = usePage();
  const { frozen, compared: most } = index.offer;
  // a site has each pair once, in the file of the one that comes first on the board
  const place = (id: string) => board.rows.findIndex(({ subject }) => subject.id === id);
  const path = frozen
    ? endpoints.compare(board.board.id, place(first) < place(second) ? first : second)
    : endpoints.comparePair(board.board.id, first, second);
  const comparisons = useApi(path);
  const side = (subject: string, name: string, { values, shown }: Pick<Side, "values" | "shown">): Side => ({
    label: labels.get(subject) ?? "",
    name,
    subject,
    board: board.board.id,
    configuration: null,
    values,
    shown,
  });
  const explain = ({ kind, next }: ApiError) => {
    if (kind !== "missing" || most === null) return { next };
    return {
      what: "This frozen site has no comparison of these two models.",
      next: `It has those of the first ${most} models with all others; \`aib view\` has every one.`,
    };
  };
  return (
    <Await query={comparisons} what="the comparison" explain={explain}>
      {(value) => {
        const pair = pairIn(value, first, second);
        if (!pair)
          return <Empty title="These two cannot be compared.">They have no score in common on this leaderboard.</Empty>;
        const names = pairNames(pair.names);
        return (
          <>
            <p className="mt-4 text-lg font-semibold" role="status">
              {pair.says}
            </p>
            {pair.thinking ? <p className="text-soft">{pair.thinking}</p> : null}
            <Downloads files={csvAndJson(path)} citation={board.citation} />
            {value.subject === first ? (
              <p className="text-sm text-soft">
                The files have <Label text={pair.names[1]} /> minus <Label text={pair.names[0]} />, the other sign.
              </p>
            ) : null}
            <Comparison
              board={board}
              compared={value.compared}
              sides={[side(first, names[0], pair.sides[0]), side(second, names[1], pair.sides[1])]}
              differences={pair.apart}
              less={1}
              openRow={address.scenario}
              kind={address.interval}
            >
              <BranchComparison pair={pair} names={names} />
            </Comparison>
            <p className="mt-6 flex flex-wrap gap-x-5 text-sm">
              {[first, second].map((subject, side) => (
                <a key={subject} className="py-1" href={href(route("subject", { subject }))}>
                  Everything about <Label text={pair.names[side] ?? ""} />
                </a>
              ))}
            </p>
          </>
        );
      }}
    </Await>
  );
}
