import { useMemo } from "react";
import { compareAt, leaderboard, subjectAt, type Address } from "../../addresses";
import { paths } from "../../api/paths";
import type { Board, Comparisons } from "../../api/types";
import { BoardChooser } from "../../parts/BoardChooser";
import { IntervalSwitch } from "../../parts/IntervalSwitch";
import { useHere } from "../../parts/place";
import { Empty, Failed, Loading } from "../../parts/states";
import { Switch } from "../../parts/Switch";
import { inBoth, Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";
import { Chooser, Swap } from "./Chooser";
import { Pair, type Side } from "./Pair";
import { Settings } from "./Settings";

type At = Extract<Address, { page: "compare" }>;

/** Two subjects beside each other, or what one setting does. */
export default function Compare() {
  const { board, address, go } = useHere();
  const answer = useAnswer<Board>(paths.board(board.id));
  useTitle("Compare");
  if (address.page !== "compare") return null;
  return (
    <>
      <h1>Compare</h1>
      <p className="mt-1 mb-4 max-w-3xl text-soft">
        Paired by scenario: each subject met the very same conversations. Where they part first is shown first.
      </p>
      <div className="mb-4 flex flex-wrap items-end gap-x-6 gap-y-2">
        <BoardChooser />
        <Switch
          label="Compare"
          value={address.view}
          of={[
            ["pair", "two subjects"],
            ["settings", "settings"],
          ]}
          change={(view) => {
            go(compareAt(view));
          }}
        />
        {address.view === "pair" ? <IntervalSwitch /> : null}
      </div>
      {answer.state === "loading" ? <Loading what="the ranking" /> : null}
      {answer.state === "failed" ? <Failed failure={answer.failure} again={answer.again} /> : null}
      {answer.state === "ready" ? (
        address.view === "pair" ? (
          <Two board={answer.value} at={address} />
        ) : (
          <Settings board={answer.value} at={address} />
        )
      ) : null}
    </>
  );
}

function Two({ board, at }: { board: Board; at: At }) {
  const { go, href, index } = useHere();
  const there = useMemo(() => new Map(board.rows.map((row) => [row.subject.id, row])), [board]);
  const [first = "", second = ""] = at.picked.filter((id) => there.has(id));
  const rest = at.picked.filter((id) => id !== first && id !== second);
  const set = (one: string, other: string) => {
    go({ ...at, scenario: "" }, { picked: [one, other, ...rest].filter(Boolean) }, true);
  };
  const rows = (taken: string) =>
    board.rows.map(({ rank, subject }) => ({
      value: subject.id,
      shown: `${rank === null ? "" : `${String(rank)}. `}${subject.label}`,
      disabled: subject.id === taken,
    }));
  const side = (subject: string, { values, shown }: Pick<Side, "values" | "shown">): Side => ({
    label: there.get(subject)?.subject.label ?? "",
    subject,
    board: board.board.id,
    configuration: null,
    values,
    shown,
  });
  const answer = useAnswer<Comparisons>(first && second ? paths.compare(board.board.id, first) : null);
  const other = answer.state === "ready" ? answer.value.others.find((one) => one.subject === second) : undefined;
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-[1fr_auto_1fr]">
        <Chooser
          label="First (A)"
          value={first}
          optional
          of={rows(second)}
          change={(id) => {
            set(id, second);
          }}
        />
        <Swap
          disabled={!first || !second}
          swap={() => {
            set(second, first);
          }}
        />
        <Chooser
          label="Second (B)"
          value={second}
          optional
          of={rows(first)}
          change={(id) => {
            set(first, id);
          }}
        />
      </div>
      {rest.length ? (
        <p className="mt-2 flex flex-wrap items-baseline gap-2 text-sm text-soft">
          Also picked:
          {rest.map((id) => (
            <a
              key={id}
              className="label"
              href={href(
                { ...at, scenario: "" },
                { picked: [first, id, second, ...rest.filter((one) => one !== id)].filter(Boolean) },
              )}
            >
              <bdi>{there.get(id)?.subject.label ?? "not on this board"}</bdi>
            </a>
          ))}
        </p>
      ) : null}
      {!first || !second ? (
        <Empty title="Choose two subjects.">
          Or pick them on the <a href={href(leaderboard)}>leaderboard</a>.
        </Empty>
      ) : answer.state === "loading" ? (
        <Loading what="the comparison" />
      ) : answer.state === "failed" ? (
        <Failed
          failure={
            answer.failure.kind === "missing" && index.offer.compared !== null
              ? {
                  ...answer.failure,
                  what: "This frozen site has no comparison of the first subject.",
                  next: `It has those of the first ${String(index.offer.compared)} rows; swap the two, or use \`aib view\`.`,
                }
              : answer.failure
          }
          again={answer.again}
        />
      ) : other ? (
        <>
          <div className="mt-4">
            <Take files={inBoth(paths.compare(board.board.id, first))} citation={board.citation} />
          </div>
          <Pair
            board={board}
            compared={answer.value.compared}
            sides={[side(first, answer.value), side(second, other)]}
            apart={other.apart}
            at={at}
            kind={at.interval}
          />
          <p className="mt-6 flex flex-wrap gap-x-5 text-sm">
            <a href={href(subjectAt(first))}>All of A</a>
            <a href={href(subjectAt(second))}>All of B</a>
          </p>
        </>
      ) : (
        <Empty title="These two cannot be compared.">Nothing that both of them have is on this ranking.</Empty>
      )}
    </>
  );
}
