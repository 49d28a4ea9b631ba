import { useEffect, useMemo, useRef, useState, type ComponentType } from "react";
import { leaderboard, parse, type Page } from "./addresses";
import { forget, read, type Failure } from "./api/client";
import { paths } from "./api/paths";
import type { Index } from "./api/types";
import { Leaderboard } from "./features/leaderboard/Leaderboard";
import { Caught } from "./parts/Caught";
import { here, HereContext, useHash, useHere } from "./parts/place";
import { later } from "./parts/later";
import { Formatted } from "./parts/Said";
import { Shell } from "./parts/Shell";
import { Empty, Failed, Loading } from "./parts/states";

const AHEAD = 400; // ms that belong to the first page
const POLL = 3000; // ms between two looks at the store's version

const subject = page(() => import("./features/subject/Subject"));
const transcript = page(() => import("./features/transcript/Transcript"));

const PAGES: Record<Page, ComponentType> = {
  leaderboard: Leaderboard,
  subject,
  transcript,
  scenarios: page(() => import("./features/scenario/Scenarios")),
  scenario: page(() => import("./features/scenario/Scenario")),
  compare: page(() => import("./features/compare/Compare")),
  judges: page(() => import("./features/judges/Judges")),
  search: page(() => import("./features/search/Search")),
  methods: page(() => import("./features/methods/Methods")),
  nowhere: Nowhere,
};

function page(load: () => Promise<{ default: ComponentType }>) {
  return later(load, () => <Loading what="the page" />);
}

type Start = { index: Index } | { failure: Failure } | null;

/** The whole page: reads what is there, then shows what the address asks for. */
export function App() {
  const [start, again] = useIndex();
  const hash = useHash();
  if (start === null) return <Loading what="the store" />;
  if ("failure" in start) return <Failed failure={start.failure} again={again} />;
  if (!start.index.boards.length) return <NothingYet />;
  return <Pages index={start.index} hash={hash} />;
}

function Pages({ index, hash }: { index: Index; hash: string }) {
  const now = useMemo(() => {
    const wanted = parse(hash).board;
    const board = index.boards.find((one) => one.id === wanted) ?? index.boards[0];
    return board ? here(hash, index, board) : null;
  }, [hash, index]);
  const page = now?.address.page;
  useAhead();
  const before = useRef(page);
  useEffect(() => {
    // another page begins at its top, and screen readers are told of it
    if (page !== before.current) {
      window.scrollTo(0, 0);
      document.getElementById("content")?.focus({ preventScroll: true });
    }
    before.current = page;
  }, [page]);
  if (!now) return null;
  const Shown = PAGES[now.address.page];
  const unknown = now.address.board !== "" && now.address.board !== now.board.id;
  return (
    <HereContext value={now}>
      <Shell>
        {unknown ? (
          <p role="status" className="panel mb-4 border-warn p-3 text-warn">
            The ranking that this address names is not here; this is the one that the site opens with.
          </p>
        ) : null}
        <Caught at={hash}>
          <Shown />
        </Caught>
      </Shell>
    </HereContext>
  );
}

/** Fetches, while nobody waits, the code of the pages that the first one leads to. */
function useAhead() {
  useEffect(() => {
    const timer = window.setTimeout(() => {
      // what cannot be fetched now is asked for again by whoever opens the page, and says so there
      Promise.all([subject, transcript, Formatted].map((one) => one.ahead())).catch(() => undefined);
    }, AHEAD);
    return () => {
      window.clearTimeout(timer);
    };
  }, []);
}

/** `api/index.json`, read again every few seconds while the page is looked at and the store may change. */
function useIndex(): [Start, () => void] {
  const [start, setStart] = useState<Start>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    let timer: number | undefined;
    let frozen = false;
    async function look() {
      const answer = await read<Index>(paths.index, leaving.signal, true);
      if (answer.ok) {
        frozen = answer.value.offer.frozen;
        forget(answer.value.version);
        setStart((was) =>
          was && "index" in was && was.index.version === answer.value.version ? was : { index: answer.value },
        );
      } else {
        setStart((was) => (was && "index" in was ? was : { failure: answer.failure }));
      }
    }
    function next() {
      window.clearTimeout(timer);
      if (!leaving.signal.aborted && !frozen) timer = window.setTimeout(turn, POLL);
    }
    function turn() {
      if (document.hidden) return; // becoming visible looks at once
      look().then(next, next);
    }
    function shown() {
      if (!document.hidden && !frozen) turn();
    }
    document.addEventListener("visibilitychange", shown);
    look().then(next, next);
    return () => {
      leaving.abort();
      window.clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [tries]);
  const again = () => {
    setStart(null);
    setTries((n) => n + 1);
  };
  return [start, again];
}

function NothingYet() {
  return (
    <Empty title="Nothing has been played yet.">
      <p>
        <code>aib run embedded --judge embedded</code> plays a small model without any key; this page fills by itself.
      </p>
    </Empty>
  );
}

function Nowhere() {
  const { href } = useHere();
  return (
    <Empty title="There is no such page.">
      <a href={href(leaderboard)}>To the leaderboard</a>
    </Empty>
  );
}
