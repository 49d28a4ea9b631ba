import { useEffect, useMemo } from "react";
import { endpoints, useApi } from "../../api/queries";
import { Await } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Conversation, SideBySide } from "./Conversation";
import { foundId, nextQuote, phrasesOf, type TranscriptProps } from "./highlights";
import { Marks } from "./Marks";
import { RawCalls, SentMessages } from "./Calls";
import { Label } from "../../components/labels";
import type { Neighbour } from "../../api/types";
import { useKeyboardShortcuts, type Shortcut } from "../../hooks/useKeyboardShortcuts";
import { Downloads } from "../../components/downloads";
import { Button } from "../../components/fields";

/** One conversation, with everything that belongs to it. */
export default function TranscriptPage({ address }: { address: AddressOf<"transcript"> }) {
  const transcript = useApi(endpoints.transcript(address.transcript));
  return (
    <Await query={transcript} what="the conversation">
      {(value) => <Details transcript={value} address={address} />}
    </Await>
  );
}

function Details({ transcript, address }: TranscriptProps) {
  const { index } = usePage();
  const found = foundId(transcript, address);
  useDocumentTitle(`${transcript.subject.label}: ${transcript.scenario_title}`);
  useScrollToFound(found, transcript.id, address.plain, address.side);
  return (
    <div className="flex flex-col">
      <Header transcript={transcript} address={address} />
      <ViewOptions transcript={transcript} address={address} />
      <div className="mt-4 grid items-start gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,1.45fr)_minmax(19rem,1fr)]">
        <div className="min-w-0">
          {address.side && transcript.turns ? (
            <SideBySide transcript={transcript} turns={transcript.turns} formatted={!address.plain} />
          ) : (
            <Conversation transcript={transcript} address={address} found={found} />
          )}
          {address.tools ? <SentMessages transcript={transcript} /> : null}
          {index.offer.raw ? <RawCalls key={transcript.id} transcript={transcript.id} /> : null}
        </div>
        <Marks transcript={transcript} address={address} found={found} />
      </div>
      <nav aria-label="Other conversations" className="no-print mt-8 border-t border-line pt-4 max-sm:order-1">
        <Neighbours transcript={transcript} address={address} named />
      </nav>
    </div>
  );
}

/** Scrolls to what the address points at, again whenever one of *causes* changes. */
function useScrollToFound(found: string, ...causes: unknown[]) {
  const cause = causes.join(" ");
  useEffect(() => {
    if (!found) return;
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    let attempts = 20; // formatted text comes a moment later
    let timer = 0;
    const look = () => {
      const element = document.querySelector<HTMLElement>("[data-found]");
      if (element) element.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
      else if (attempts-- > 0) timer = window.setTimeout(look, 50);
    };
    timer = window.setTimeout(look, 30);
    return () => window.clearTimeout(timer);
  }, [found, cause]);
}

function Header({ transcript, address }: TranscriptProps) {
  const { href, board } = usePage();
  const { subject, run, scenario, scenario_title, experiment, configuration, protocol, replies } = transcript;
  const onBoard = transcript.boards.find((one) => one === board.id) ?? transcript.boards[0];
  const label = <Label text={subject.label} />;
  return (
    <header>
      <p className="eyebrow flex flex-wrap gap-x-1.5">
        <a href={href(route("leaderboard"))}>Leaderboard</a>
        <span aria-hidden="true">/</span>
        {onBoard ? (
          <a href={href(route("subject", { subject: subject.id, run }), { board: onBoard })}>{label}</a>
        ) : (
          label
        )}
        <span aria-hidden="true">/</span>
        <span>run {run}</span>
      </p>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <div className="min-w-0">
          <h1 className="label">{scenario_title}</h1>
          <p className="mt-1 flex flex-wrap items-center gap-1.5">
            <a className="chip" href={href(route("scenario", { scenario }))}>
              this scenario over all models
            </a>
            {transcript.branch ? (
              <a
                className="chip"
                href={href(
                  route("stem", { scenario, subject: subject.id, run, configuration }),
                  onBoard ? { board: onBoard } : {},
                )}
              >
                all its branches side by side
              </a>
            ) : null}
            <span className="chip">{experiment}</span>
            <span className="chip">{humanize(configuration)}</span>
            <span className="chip">{protocol.name}</span>
            {transcript.state === "invalid" ? (
              <span className="chip chip-bad">invalid: {transcript.invalid}</span>
            ) : null}
            {replies.some((reply) => reply.cut_off) ? <span className="chip chip-warn">cut off</span> : null}
          </p>
        </div>
        <nav aria-label="Neighbours" className="no-print max-sm:hidden">
          <Neighbours transcript={transcript} address={address} />
        </nav>
      </div>
    </header>
  );
}

const NEIGHBOURS = [
  ["previous_run", "ArrowLeft", "← run", "Previous run"],
  ["next_run", "ArrowRight", "run →", "Next run"],
  ["previous_subject", "k", "↑ model", "Previous model"],
  ["next_subject", "j", "model ↓", "Next model"],
  ["previous_scenario", "p", "‹ scenario", "Previous scenario"],
  ["next_scenario", "n", "scenario ›", "Next scenario"],
] as const;

/** Links to the next and the previous run, model and scenario; *named*: in full, else short and with shortcuts. */
function Neighbours({ transcript, address, named = false }: TranscriptProps & { named?: boolean }) {
  const { href, navigate } = usePage();
  const { neighbours } = transcript;
  const target = useMemo(() => {
    const { phrases, side, plain, tools } = address;
    return ({ id }: Neighbour) => route("transcript", { transcript: id, phrases, side, plain, tools });
  }, [address]);
  const shortcuts = useMemo<Shortcut[]>(() => {
    if (named) return [];
    return NEIGHBOURS.map(([name, key, , description]) => {
      const neighbour = neighbours[name];
      return { key, description, action: () => neighbour && navigate(target(neighbour)) };
    });
  }, [neighbours, navigate, target, named]);
  useKeyboardShortcuts(shortcuts);
  return (
    <ul className={named ? "grid gap-x-8 gap-y-1 sm:grid-cols-2" : "grid grid-flow-col grid-rows-2 gap-1"}>
      {NEIGHBOURS.map(([name, key, sign, description]) => {
        const neighbour = neighbours[name];
        const className = named ? "flex flex-wrap gap-x-2" : "button w-full justify-center";
        if (!neighbour) {
          return named ? null : (
            <li key={name}>
              <span className={`${className} border-line text-faint`} aria-disabled="true">
                {sign}
              </span>
            </li>
          );
        }
        return (
          <li key={name}>
            <a
              className={className}
              href={href(target(neighbour))}
              title={`${description} (${key.replace("Arrow", "")} key)`}
              rel={name.startsWith("next") ? "next" : "prev"}
            >
              <span>{sign}</span>
              {named ? (
                <span className="label text-soft">
                  <bdi>{neighbour.label}</bdi>, {neighbour.scenario}, run {neighbour.run}
                </span>
              ) : null}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** How the conversation is shown. */
function ViewOptions({ transcript, address }: TranscriptProps) {
  const { update } = usePage();
  const { embedded, scales } = transcript;
  const shortcuts = useMemo<Shortcut[]>(() => {
    const { plain, side, tools } = address;
    const all = [{ key: "f", description: "Formatted or unformatted text", action: () => update({ plain: !plain }) }];
    if (transcript.turns)
      all.push({ key: "s", description: "Both answers side by side", action: () => update({ side: !side }) });
    if (transcript.judgements.some((judgement) => judgement.quotes.length)) {
      const action = () => update({ ...nextQuote(transcript, address), side: false });
      all.push({ key: "m", description: "Next quotation of a judge", action });
    }
    all.push({ key: "t", description: "Messages as sent to the model", action: () => update({ tools: !tools }) });
    return all;
  }, [address, update, transcript]);
  useKeyboardShortcuts(shortcuts);
  return (
    <div className="no-print mt-3 flex flex-wrap items-center gap-2 max-sm:order-1">
      {transcript.turns ? (
        <Toggle on={address.side} onChange={(side) => update({ side })} title="Answers side by side" />
      ) : null}
      <Toggle on={address.plain} onChange={(plain) => update({ plain })} title="Unformatted" />
      <Toggle on={address.tools} onChange={(tools) => update({ tools })} title="Messages as sent" />
      {embedded ? (
        <label className="flex items-center gap-2 text-sm text-soft">
          Embedded judge's phrases for
          <select
            className="field"
            value={phrasesOf(transcript, address.phrases) ? address.phrases : ""}
            onChange={(event) =>
              update({ phrases: event.target.value, mark: address.mark.startsWith("p") ? "" : address.mark })
            }
          >
            <option value="">no mark</option>
            {embedded.marks.map(({ mark }) => (
              <option key={mark} value={mark}>
                {scales.find((scale) => scale.name === mark)?.title ?? humanize(mark)}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <div className="ml-auto">
        <Downloads files={[{ title: "JSON", path: endpoints.transcript(transcript.id) }]} />
      </div>
    </div>
  );
}

function Toggle({ on, onChange, title }: { on: boolean; onChange: (on: boolean) => void; title: string }) {
  return (
    <Button aria-pressed={on} onClick={() => onChange(!on)}>
      {title}
    </Button>
  );
}
