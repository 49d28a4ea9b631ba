import { settingsAt, subjectAt, type Choice, type PlaceOf } from "../../addresses";
import { paths } from "../../api/paths";
import type { Board, InConfigurations, InSeveral } from "../../api/types";
import { words } from "../../parts/format";
import { useHere } from "../../parts/place";
import { Empty, Failed, Loading } from "../../parts/states";
import { inBoth, Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { chosen } from "./chosen";
import { Chooser, Swap } from "./Chooser";
import { Pair, type Side } from "./Pair";

type At = PlaceOf<"compare"> & Choice;

/** One subject in two of its configurations. */
export function Configurations({ board, at }: { board: Board; at: At }) {
  const { go } = useHere();
  const who = board.in_several.find((one) => one.subject === at.subject);
  return (
    <section className="mt-2" aria-label="One subject in two configurations">
      <h2>One subject in two configurations</h2>
      <p className="mb-2 max-w-3xl text-sm text-soft">
        Another system prompt, or the same words delivered otherwise. The runs of two configurations are independent,
        and the intervals are for the same test given again; how much of a difference would be found on other scenarios
        has not been measured.
      </p>
      <div className="max-w-xl">
        <Chooser
          label="Subject"
          value={who?.subject ?? ""}
          optional
          of={board.in_several.map((one) => ({ value: one.subject, shown: one.label }))}
          change={(subject) => {
            go(settingsAt(subject));
          }}
        />
      </div>
      {who ? (
        <Two board={board} who={who} at={at} />
      ) : at.subject ? (
        <Empty title="It is in one configuration only.">
          By this judge, these rules and weights it has no marks in a second one; choose another subject.
        </Empty>
      ) : null}
    </section>
  );
}

function Two({ board, who, at }: { board: Board; who: InSeveral; at: At }) {
  const { go, href } = useHere();
  const [first, second] = chosen(who.configurations, board.board.configurations, at.first, at.second);
  const path = paths.settings(board.board.series, who.subject);
  const answer = useAnswer<InConfigurations>(path);
  const choose = (one: string, other: string) => {
    go(settingsAt(who.subject, one, other));
  };
  const choices = who.configurations.map((one) => ({ value: one, shown: words(one) }));
  // what the other side shows moves over, so that any two can be chosen in one step
  return (
    <>
      <div className="mt-3 grid gap-3 sm:grid-cols-[1fr_auto_1fr]">
        <Chooser
          label="First (A)"
          value={first}
          of={choices}
          change={(one) => {
            choose(one, one === second ? first : second);
          }}
        />
        <Swap
          swap={() => {
            choose(second, first);
          }}
        />
        <Chooser
          label="Second (B)"
          value={second}
          of={choices}
          change={(one) => {
            choose(one === first ? second : first, one);
          }}
        />
      </div>
      {answer.state === "loading" ? <Loading what="the comparison" /> : null}
      {answer.state === "failed" ? <Failed failure={answer.failure} again={answer.again} /> : null}
      {answer.state === "ready" ? (
        <>
          <div className="mt-4">
            <Take files={inBoth(path)} citation={board.citation} />
          </div>
          <Compared board={board} told={answer.value} first={first} second={second} at={at} />
          <p className="mt-6 flex flex-wrap gap-x-5 text-sm">
            {[first, second].map((name, place) => {
              const there = answer.value.configurations.find((one) => one.configuration === name);
              return there ? (
                <a key={name} href={href(subjectAt(who.subject), { board: there.board })}>
                  All of {place ? "B" : "A"}
                </a>
              ) : null;
            })}
          </p>
        </>
      ) : null}
    </>
  );
}

interface ComparedProps {
  board: Board;
  told: InConfigurations;
  first: string;
  second: string;
  at: At;
}

function Compared({ board, told, first, second, at }: ComparedProps) {
  const one = told.configurations.find((there) => there.configuration === first);
  const other = told.configurations.find((there) => there.configuration === second);
  const apart = one?.others.find((there) => there.configuration === second)?.apart;
  if (!one || !other || !apart) return <Empty title="These two cannot be compared.">Choose two others.</Empty>;
  const side = ({ configuration, board: on, values, shown }: typeof one): Side => ({
    label: words(configuration),
    subject: told.subject,
    board: on,
    configuration,
    values,
    shown,
  });
  return (
    <Pair board={board} compared={told.compared} sides={[side(one), side(other)]} apart={apart} at={at} kind="again" />
  );
}
