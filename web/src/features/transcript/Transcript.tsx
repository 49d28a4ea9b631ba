import { useEffect, useMemo } from "react";
import { leaderboard, scenarioAt, subjectAt, transcriptAt, type Address } from "../../addresses";
import { paths } from "../../api/paths";
import type { Neighbour, Transcript as Told } from "../../api/types";
import { words } from "../../parts/format";
import { useHere } from "../../parts/place";
import { Failed, Loading } from "../../parts/states";
import { Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useKeys, type Key } from "../../parts/useKeys";
import { useTitle } from "../../parts/useTitle";
import { Conversation } from "./Conversation";
import { Marks } from "./Marks";
import { foundId, marksOf, nextQuote } from "./marked";
import { Protocol } from "./Protocol";
import { RawCalls } from "./RawCalls";
import { SideBySide } from "./SideBySide";

type At = Extract<Address, { page: "transcript" }>;

/** One conversation, with everything that belongs to it. */
export default function Transcript() {
  const { address } = useHere();
  return address.page === "transcript" ? <Opened at={address} /> : null;
}

function Opened({ at }: { at: At }) {
  const answer = useAnswer<Told>(paths.transcript(at.transcript));
  if (answer.state === "loading") return <Loading what="the conversation" />;
  if (answer.state === "failed") return <Failed failure={answer.failure} again={answer.again} />;
  return <Reading transcript={answer.value} at={at} />;
}

function Reading({ transcript, at }: { transcript: Told; at: At }) {
  const { index } = useHere();
  const found = foundId(transcript, at);
  useTitle(`${transcript.subject.label}: ${transcript.scenario_title}`);
  useScrollTo(found, transcript.id, at.plain, at.side);
  return (
    <>
      <Head transcript={transcript} at={at} />
      <Tools transcript={transcript} at={at} />
      <div className="mt-4 grid items-start gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,1.45fr)_minmax(19rem,1fr)]">
        <div className="min-w-0">
          {at.side && transcript.turns ? (
            <SideBySide transcript={transcript} turns={transcript.turns} at={at} />
          ) : (
            <Conversation transcript={transcript} at={at} found={found} />
          )}
          {at.tools ? <Protocol transcript={transcript} /> : null}
          {index.offer.raw ? <RawCalls key={transcript.id} transcript={transcript.id} /> : null}
        </div>
        <Marks transcript={transcript} at={at} found={found} />
      </div>
      <nav aria-label="Other conversations" className="no-print mt-8 border-t border-line pt-4">
        <Steps transcript={transcript} at={at} named />
      </nav>
    </>
  );
}

/** Brings the place that the address names into view, and lets the keyboard go on from there. */
function useScrollTo(found: string, ...again: unknown[]) {
  const when = again.join(" ");
  useEffect(() => {
    if (!found) return;
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    let left = 20; // formatted text comes a moment later
    let timer = 0;
    const look = () => {
      const place = document.querySelector<HTMLElement>("[data-found]");
      if (place) place.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
      else if (left-- > 0) timer = window.setTimeout(look, 50);
    };
    timer = window.setTimeout(look, 30);
    return () => {
      window.clearTimeout(timer);
    };
  }, [found, when]);
}

function Head({ transcript, at }: { transcript: Told; at: At }) {
  const { href, board } = useHere();
  const place = transcript.boards.find((one) => one.board === board.id) ?? transcript.boards[0];
  const subject = <bdi className="label">{transcript.subject.label}</bdi>;
  return (
    <header>
      <p className="eyebrow flex flex-wrap gap-x-1.5">
        <a href={href(leaderboard)}>Leaderboard</a>
        <span aria-hidden="true">/</span>
        {place ? (
          <a href={href(subjectAt(place.subject, transcript.run), { board: place.board })}>{subject}</a>
        ) : (
          subject
        )}
        <span aria-hidden="true">/</span>
        <span>run {transcript.run}</span>
      </p>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <div className="min-w-0">
          <h1 className="label">{transcript.scenario_title}</h1>
          <p className="mt-1 flex flex-wrap items-center gap-1.5">
            <a className="chip" href={href(scenarioAt(transcript.scenario))}>
              this scenario over all subjects
            </a>
            <span className="chip">{transcript.experiment}</span>
            <span className="chip">{words(transcript.configuration)}</span>
            <span className="chip">{transcript.protocol.name}</span>
            {transcript.state === "invalid" ? (
              <span className="chip chip-bad">invalid: {transcript.invalid}</span>
            ) : null}
            {transcript.replies.some((reply) => reply.cut_off) ? <span className="chip chip-warn">cut off</span> : null}
          </p>
        </div>
        <nav aria-label="Neighbours" className="no-print">
          <Steps transcript={transcript} at={at} />
        </nav>
      </div>
    </header>
  );
}

const STEPS = [
  ["previous_run", "ArrowLeft", "← run", "Previous run"],
  ["next_run", "ArrowRight", "run →", "Next run"],
  ["previous_subject", "k", "↑ subject", "Previous subject"],
  ["next_subject", "j", "↓ subject", "Next subject"],
  ["previous_scenario", "p", "‹ scenario", "Previous scenario"],
  ["next_scenario", "n", "scenario ›", "Next scenario"],
] as const;

/** To the next and the previous: run, subject, scenario. */
function Steps({ transcript, at, named = false }: { transcript: Told; at: At; named?: boolean }) {
  const { href, go } = useHere();
  const { neighbours } = transcript;
  const to = useMemo(() => {
    const { phrases, side, plain, tools } = at;
    return (one: Neighbour) => ({ ...transcriptAt(one.id), phrases, side, plain, tools });
  }, [at]);
  const keys = useMemo<Key[]>(
    () =>
      named
        ? []
        : STEPS.map(([name, key, , says]) => ({
            key,
            says,
            does: () => {
              const one = neighbours[name];
              if (one) go(to(one));
            },
          })),
    [neighbours, go, to, named],
  );
  useKeys(keys);
  return (
    <ul
      className={named ? "grid gap-x-8 gap-y-1 sm:grid-cols-2" : "grid grid-cols-3 gap-1 sm:grid-cols-6 lg:grid-cols-3"}
    >
      {STEPS.map(([name, key, sign, says]) => {
        const one = neighbours[name];
        const looks = named ? "flex flex-wrap gap-x-2" : "button w-full justify-center";
        if (!one) {
          return named ? null : (
            <li key={name}>
              <span className={`${looks} border-line text-faint`} aria-disabled="true">
                {sign}
              </span>
            </li>
          );
        }
        return (
          <li key={name}>
            <a
              className={looks}
              href={href(to(one))}
              title={`${says} (${key.replace("Arrow", "")} key)`}
              rel={name.startsWith("next") ? "next" : "prev"}
            >
              <span>{sign}</span>
              {named ? (
                <span className="label text-soft">
                  <bdi>{one.label}</bdi>, {one.scenario}, run {one.run}
                </span>
              ) : null}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** How it is shown. */
function Tools({ transcript, at }: { transcript: Told; at: At }) {
  const { go } = useHere();
  const set = useMemo(
    () => (change: Partial<At>) => {
      go({ ...at, ...change }, {}, true);
    },
    [at, go],
  );
  const keys = useMemo<Key[]>(
    () => [
      {
        key: "f",
        says: "Formatted, or letter for letter",
        does: () => {
          set({ plain: !at.plain });
        },
      },
      ...(transcript.turns
        ? [
            {
              key: "s",
              says: "Both answers side by side",
              does: () => {
                set({ side: !at.side });
              },
            },
          ]
        : []),
      ...(transcript.judgements.some((one) => one.quotes.length)
        ? [
            {
              key: "m",
              says: "Next words that a judge quotes",
              does: () => {
                go({ ...at, ...nextQuote(transcript, at), side: false }, {}, true);
              },
            },
          ]
        : []),
      {
        key: "t",
        says: "What was sent to the model",
        does: () => {
          set({ tools: !at.tools });
        },
      },
    ],
    [at, set, go, transcript],
  );
  useKeys(keys);
  const path = paths.transcript(transcript.id);
  return (
    <div className="no-print mt-3 flex flex-wrap items-center gap-2">
      {transcript.turns ? (
        <Toggle
          on={at.side}
          set={(side) => {
            set({ side });
          }}
        >
          Answers side by side
        </Toggle>
      ) : null}
      <Toggle
        on={at.plain}
        set={(plain) => {
          set({ plain });
        }}
      >
        Letter for letter
      </Toggle>
      <Toggle
        on={at.tools}
        set={(tools) => {
          set({ tools });
        }}
      >
        {transcript.delivery === "tool_role" ? "Tool protocol" : "Messages as sent"}
      </Toggle>
      {transcript.embedded ? (
        <label className="flex items-center gap-2 text-sm text-soft">
          Embedded judge's phrases for
          <select
            className="field"
            value={marksOf(transcript, at.phrases) ? at.phrases : ""}
            onChange={(event) => {
              set({ phrases: event.target.value, mark: at.mark.startsWith("p") ? "" : at.mark });
            }}
          >
            <option value="">no mark</option>
            {transcript.embedded.marks.map(({ mark }) => (
              <option key={mark} value={mark}>
                {transcript.scales.find((one) => one.name === mark)?.title ?? words(mark)}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <div className="ml-auto">
        <Take files={[{ title: "JSON", path }]} />
      </div>
    </div>
  );
}

function Toggle({ on, set, children }: { on: boolean; set: (on: boolean) => void; children: string }) {
  return (
    <button
      type="button"
      className="button"
      aria-pressed={on}
      onClick={() => {
        set(!on);
      }}
    >
      {children}
    </button>
  );
}
