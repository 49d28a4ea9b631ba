import { useEffect } from "react";
import { endpoints, useApi } from "../../api/queries";
import { Await } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Conversation } from "./Conversation";
import { foundId, type TranscriptProps } from "./highlights";
import { Marks } from "./Marks";
import { Neighbours } from "./Neighbours";
import { RawCalls } from "./RawCalls";
import { SentMessages } from "./SentMessages";
import { SideBySide } from "./SideBySide";
import { ViewOptions } from "./ViewOptions";
import { Label } from "../../components/labels";

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
    <>
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
      <nav aria-label="Other conversations" className="no-print mt-8 border-t border-line pt-4">
        <Neighbours transcript={transcript} address={address} named />
      </nav>
    </>
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
              this scenario over all subjects
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
        <nav aria-label="Neighbours" className="no-print">
          <Neighbours transcript={transcript} address={address} />
        </nav>
      </div>
    </header>
  );
}
