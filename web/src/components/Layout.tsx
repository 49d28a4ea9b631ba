import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import {
  handleShortcut,
  useKeyboardShortcuts,
  shortcutsAreOn,
  switchShortcuts,
  useAllShortcuts,
  type Shortcut,
} from "../hooks/useKeyboardShortcuts";
import { usePage } from "../hooks/usePage";
import { timestamp } from "../lib/format";
import { chooseTheme, chosenTheme, type Theme } from "../lib/preferences";
import { route, type Page, type Route } from "../routes";
import { Button } from "./fields";
import { Dialog } from "./Dialog";

interface Entry {
  title: string;
  target: Route;
  pages: readonly Page[];
}

const LABEL: Entry = { title: "Label", target: route("label"), pages: ["label"] }; // only where somebody may
const SEARCH: Entry = { title: "Search", target: route("search"), pages: ["search"] }; // of a server
const CHARACTER: Entry = { title: "Character", target: route("persona"), pages: ["persona"] }; // where there is one
const NAVIGATION: readonly Entry[] = [
  { title: "Leaderboard", target: route("leaderboard"), pages: ["leaderboard", "subject", "transcript"] },
  { title: "Scenarios", target: route("scenarios"), pages: ["scenarios", "scenario", "stem"] },
  { title: "Compare", target: route("compare"), pages: ["compare"] },
  { title: "Judges", target: route("judges"), pages: ["judges", "exam"] },
];

/** What is around every page: skip link, navigation, switches, and what this site is. */
export function Layout({ children }: { children: ReactNode }) {
  const { address, index, board, href, navigate } = usePage();
  const character = index.characters[board.id] !== undefined;
  const { frozen, label } = index.offer;
  const entries = [
    ...(character ? [CHARACTER] : []),
    ...NAVIGATION,
    ...(frozen ? [] : [SEARCH]),
    ...(label === null ? [] : [LABEL]),
  ];
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const shortcuts = useMemo<Shortcut[]>(
    () => [
      { key: "?", description: "Show these keys", action: () => setHelp(true) },
      ...(frozen
        ? []
        : [{ key: "/", description: "Search all conversations", action: () => navigate(route("search")) }]),
      { key: "l", description: "Leaderboard", action: () => navigate(route("leaderboard")) },
    ],
    [navigate, frozen, setHelp],
  );
  useKeyboardShortcuts(shortcuts);
  useEffect(() => {
    window.addEventListener("keydown", handleShortcut);
    return () => window.removeEventListener("keydown", handleShortcut);
  }, []);
  return (
    <div className="mx-auto flex min-h-screen max-w-[96rem] flex-col px-4 sm:px-6">
      <Button
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
        onClick={() => main.current?.focus()}
      >
        Skip to the content
      </Button>
      <header className="no-print flex flex-wrap items-center gap-x-6 gap-y-1 border-b border-line py-2.5">
        <a
          href={href(route(character ? "persona" : "leaderboard"))}
          className="flex items-center gap-2 font-semibold text-ink no-underline"
        >
          <Logo />
          <span>AI Independence Bench</span>
        </a>
        <nav
          aria-label="Pages"
          className="order-3 -mx-1 flex w-full flex-wrap gap-x-1 md:order-none md:w-auto md:flex-1"
        >
          {entries.map(({ title, target, pages }) => {
            const current = pages.includes(address.page);
            return (
              <a
                key={title}
                href={href(target)}
                aria-current={current ? "page" : undefined}
                className={`rounded-md px-2 py-1 no-underline hover:bg-sunk ${current ? "bg-accent-wash font-medium text-accent" : "text-soft"}`}
              >
                {title}
              </a>
            );
          })}
        </nav>
        <div className="ml-auto flex items-center gap-1">
          <ThemeSwitch />
          <Button className="px-2.5" onClick={() => setHelp(true)} aria-label="Keys" title="Keys (?)">
            ?
          </Button>
        </div>
      </header>
      <main ref={main} tabIndex={-1} className="flex-1 py-5 outline-none" id="content">
        {children}
      </main>
      <footer className="mt-10 flex flex-wrap gap-x-6 gap-y-1 border-t border-line py-4 text-sm text-faint">
        <span>
          {index.project.name} {index.project.version}
        </span>
        <span>newest record: {timestamp(index.newest)}</span>
        {frozen ? <span>a frozen copy</span> : <span>live: follows the store</span>}
      </footer>
      {help ? <KeyboardHelp close={() => setHelp(false)} /> : null}
    </div>
  );
}

const NEXT: Record<Theme, Theme> = { "": "light", "light": "dark", "dark": "" };
const SHOWN: Record<Theme, [string, string]> = {
  "": ["◐", "as your system"],
  "light": ["○", "light"],
  "dark": ["●", "dark"],
};

function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme());
  const [sign, says] = SHOWN[theme];
  return (
    <Button
      className="px-2.5"
      aria-label={`Colours: ${says}`}
      title={`Colours: ${says}`}
      onClick={() => {
        setTheme(NEXT[theme]);
        chooseTheme(NEXT[theme]);
      }}
    >
      <span aria-hidden="true">{sign}</span>
    </Button>
  );
}

/** The project's sign. */
export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#14504a" />
      <path d="M6 22h20" stroke="#9fd3c7" strokeWidth="2" strokeLinecap="round" />
      <path d="M10 22V9" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
      <path d="M17 22c0-6 3-9 8-10" stroke="#9fd3c7" strokeWidth="2.6" strokeLinecap="round" fill="none" />
    </svg>
  );
}

const NAMES: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** The shortcuts of the page that is open. */
function KeyboardHelp({ close }: { close: () => void }) {
  const shortcuts = useAllShortcuts();
  const [on, setOn] = useState(shortcutsAreOn());
  return (
    <Dialog title="Keys" close={close}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        {shortcuts.map(({ key, description }) => (
          <div key={key} className="contents">
            <dt>
              <kbd>{NAMES[key] ?? key}</kbd>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-4 flex items-center gap-2 border-t border-line pt-3">
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => {
            setOn(event.target.checked);
            switchShortcuts(event.target.checked);
          }}
        />
        Single keys work (Tab, Enter and Escape always do)
      </label>
    </Dialog>
  );
}
