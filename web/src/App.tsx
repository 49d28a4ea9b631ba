import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useMemo, useRef, type ComponentType } from "react";
import { queryClient, useFirstReading, useIndex } from "./api/queries";
import type { Index } from "./api/types";
import { ErrorBoundary, Await, Empty, Loading, LoadingShare } from "./components/status";
import { lazyComponent } from "./components/lazyComponent";
import { Layout, Logo } from "./components/Layout";
import { FormattedText } from "./components/MessageText";
import { LeaderboardPage } from "./features/leaderboard/LeaderboardPage";
import { useDocumentTitle, PageContext, pageContext, useHash, usePage } from "./hooks/usePage";
import { useScrollMemory } from "./hooks/scrolling";
import { parseAddress, route, type Address, type Page } from "./routes";

const PRELOAD_DELAY = 400; // ms that belong to the first page

const SubjectPage = lazyPage(() => import("./features/subject/SubjectPage"));
const TranscriptPage = lazyPage(() => import("./features/transcript/TranscriptPage"));

const PersonaPage = lazyPage(() => import("./features/persona/PersonaPage"));

const PAGES: { [P in Page]: ComponentType<{ address: Extract<Address, { page: P }> }> } = {
  leaderboard: LeaderboardPage,
  persona: PersonaPage,
  subject: SubjectPage,
  transcript: TranscriptPage,
  scenarios: lazyPage(() => import("./features/scenario/ScenariosPage")),
  scenario: lazyPage(() => import("./features/scenario/ScenarioPage")),
  stem: lazyPage(() => import("./features/scenario/StemPage")),
  compare: lazyPage(() => import("./features/compare/ComparePage")),
  judges: lazyPage(() => import("./features/judges/JudgesPage")),
  exam: lazyPage(() => import("./features/exam/ExamPage")),
  search: lazyPage(() => import("./features/search/SearchPage")),
  label: lazyPage(() => import("./features/label/LabelPage")),
  notFound: NotFound,
};

function lazyPage<P extends object>(load: () => Promise<{ default: ComponentType<P> }>) {
  return lazyComponent<P>(load, () => <Loading what="the page" />);
}

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Store />
    </QueryClientProvider>
  );
}

/** Reads what the store holds, then shows the page that the address asks for. */
function Store() {
  const index = useIndex();
  const hash = useHash();
  return (
    <Await query={index} what="the store" waiting={<ReadingStore />}>
      {(value) => (value.boards.length ? <CurrentPage index={value} hash={hash} /> : <EmptyStore />)}
    </Await>
  );
}

/** What a reader sees while a server reads a large store for the first time. */
function ReadingStore() {
  const reading = useFirstReading();
  if (!reading?.shown.conversations || reading.share === null || reading.shown.share === null)
    return <Loading what="the store" />;
  const what = `Reading ${reading.shown.conversations} conversations`;
  return (
    <main className="appear mx-auto flex min-h-[80vh] max-w-[min(30rem,calc(100vw-2.5rem))] flex-col justify-center">
      <h1 className="mb-8 flex items-center gap-2 text-base font-semibold">
        <Logo />
        AI Independence Bench
      </h1>
      <LoadingShare what={what} share={reading.share} shown={reading.shown.share} />
      <p className="mt-3 text-sm text-faint">The page goes on by itself.</p>
    </main>
  );
}

function CurrentPage({ index, hash }: { index: Index; hash: string }) {
  const context = useMemo(() => {
    const wanted = parseAddress(hash).board;
    const board = index.boards.find((board) => board.id === wanted) ?? index.boards[0];
    return board ? pageContext(hash, index, board) : null;
  }, [hash, index]);
  const page = context?.address.page;
  usePreload();
  useLayoutEffect(() => {
    document.title = "AI Independence Bench"; // until the page knows its own
  }, [page]);
  useScrollMemory(hash, page);
  const previous = useRef({ page, hash });
  useEffect(() => {
    const before = previous.current;
    // screen readers are told of another page, and what had the focus may be gone
    if (page !== before.page || (hash !== before.hash && document.activeElement === document.body)) {
      document.getElementById("content")?.focus({ preventScroll: true });
    }
    previous.current = { page, hash };
  }, [page, hash]);
  if (!context) return null;
  const { address, board } = context;
  const shown = address.page === "search" && index.offer.frozen ? "notFound" : address.page; // a site searches no words
  const PageComponent = PAGES[shown] as ComponentType<{ address: Address }>;
  return (
    <PageContext value={context}>
      <Layout>
        {address.board !== "" && address.board !== board.id ? (
          <p role="status" className="panel mb-4 border-warn p-3 text-warn">
            The leaderboard that this address names is not here; this is the one that the site opens with.
          </p>
        ) : null}
        <ErrorBoundary resetKey={hash}>
          <PageComponent address={address} />
        </ErrorBoundary>
      </Layout>
    </PageContext>
  );
}

/** Fetches the code of the pages that the first one leads to, while nobody waits for it. */
function usePreload() {
  useEffect(() => {
    const timer = window.setTimeout(() => {
      // what cannot be fetched now is asked for again when its page is opened, which reports the error
      Promise.all([SubjectPage, TranscriptPage, FormattedText].map((one) => one.preload())).catch(() => undefined);
    }, PRELOAD_DELAY);
    return () => window.clearTimeout(timer);
  }, []);
}

function EmptyStore() {
  useDocumentTitle("Nothing played yet");
  return (
    <Empty title="Nothing has been played yet.">
      <p>
        <code>aib run embedded --judge embedded</code> plays a small model without any key; this page fills by itself.
      </p>
    </Empty>
  );
}

function NotFound() {
  const { href } = usePage();
  useDocumentTitle("No such page");
  return (
    <Empty title="There is no such page.">
      <a href={href(route("leaderboard"))}>To the leaderboard</a>
    </Empty>
  );
}
