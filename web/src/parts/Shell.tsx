import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import {
  compareAt,
  judgesAt,
  leaderboard,
  methodsAt,
  scenariosAt,
  searchAt,
  type Page,
  type Place,
} from "../addresses";
import { moment } from "./format";
import { KeysHelp } from "./KeysHelp";
import { useHere } from "./place";
import { chooseTheme, chosenTheme, type Theme } from "./theme";
import { obey, useKeys, type Key } from "./useKeys";

const PAGES: readonly { title: string; place: Place; of: readonly Page[] }[] = [
  { title: "Leaderboard", place: leaderboard, of: ["leaderboard", "subject", "transcript"] },
  { title: "Scenarios", place: scenariosAt, of: ["scenarios", "scenario"] },
  { title: "Compare", place: compareAt(), of: ["compare"] },
  { title: "Judges", place: judgesAt, of: ["judges"] },
  { title: "Search", place: searchAt(), of: ["search"] },
  { title: "Methods", place: methodsAt(), of: ["methods"] },
];

/** What stands around every page: skip link, navigation, switches, what this is and how to cite it. */
export function Shell({ children }: { children: ReactNode }) {
  const { address, index, href, go } = useHere();
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const keys = useMemo<Key[]>(
    () => [
      {
        key: "?",
        says: "Show these keys",
        does: () => {
          setHelp(true);
        },
      },
      {
        key: "/",
        says: "Search all conversations",
        does: () => {
          go(searchAt());
        },
      },
      {
        key: "l",
        says: "Leaderboard",
        does: () => {
          go(leaderboard);
        },
      },
    ],
    [go],
  );
  useKeys(keys);
  useEffect(() => {
    window.addEventListener("keydown", obey);
    return () => {
      window.removeEventListener("keydown", obey);
    };
  }, []);
  return (
    <div className="mx-auto flex min-h-screen max-w-[92rem] flex-col px-4 sm:px-6">
      <button
        type="button"
        className="button sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
        onClick={() => main.current?.focus()}
      >
        Skip to the content
      </button>
      <header className="no-print flex flex-wrap items-center gap-x-6 gap-y-1 border-b border-line py-2.5">
        <a href={href(leaderboard)} className="flex items-center gap-2 font-semibold text-ink no-underline">
          <Logo />
          <span>AI Independence Bench</span>
        </a>
        <nav
          aria-label="Pages"
          className="order-3 -mx-1 flex w-full flex-wrap gap-x-1 md:order-none md:w-auto md:flex-1"
        >
          {PAGES.map(({ title, place, of }) => {
            const now = of.includes(address.page);
            return (
              <a
                key={title}
                href={href(place)}
                aria-current={now ? "page" : undefined}
                className={`rounded-md px-2 py-1 no-underline hover:bg-sunk ${now ? "bg-accent-wash font-medium text-accent" : "text-soft"}`}
              >
                {title}
              </a>
            );
          })}
        </nav>
        <div className="ml-auto flex items-center gap-1">
          <ThemeSwitch />
          <button
            type="button"
            className="button px-2.5"
            onClick={() => {
              setHelp(true);
            }}
            aria-label="Keys"
            title="Keys (?)"
          >
            ?
          </button>
        </div>
      </header>
      <main ref={main} tabIndex={-1} className="flex-1 py-5 outline-none" id="content">
        {children}
      </main>
      <footer className="mt-10 flex flex-wrap gap-x-6 gap-y-1 border-t border-line py-4 text-sm text-faint">
        <span>
          {index.project.name} {index.project.version}
        </span>
        <span>newest record: {moment(index.newest)}</span>
        {index.offer.frozen ? <span>a frozen copy</span> : <span>live: follows the store</span>}
        <a href={href(methodsAt("cite"))}>how to cite</a>
        <a href={href(methodsAt("site"))}>what this site holds</a>
      </footer>
      {help ? (
        <KeysHelp
          close={() => {
            setHelp(false);
          }}
        />
      ) : null}
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
    <button
      type="button"
      className="button px-2.5"
      aria-label={`Colours: ${says}`}
      title={`Colours: ${says}`}
      onClick={() => {
        setTheme(NEXT[theme]);
        chooseTheme(NEXT[theme]);
      }}
    >
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#14504a" />
      <path d="M6 22h20" stroke="#9fd3c7" strokeWidth="2" strokeLinecap="round" />
      <path d="M10 22V9" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
      <path d="M17 22c0-6 3-9 8-10" stroke="#9fd3c7" strokeWidth="2.6" strokeLinecap="round" fill="none" />
    </svg>
  );
}
