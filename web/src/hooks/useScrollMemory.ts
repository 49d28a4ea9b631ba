import { useEffect, useLayoutEffect, useRef } from "react";

const places = new Map<string, number>(); // entry of the browser's history -> pixels from the top
let shown = ""; // the entry whose page is drawn
let entries = 0;

/** A new page begins at its top; one that is gone back to, where it was left. *hash*: of the address; *page*: on it. */
export function useScrollMemory(hash: string, page: string | undefined): void {
  const previous = useRef(page);
  useLayoutEffect(() => {
    if (!entryOf(window.history)) window.history.replaceState({ entry: `${Date.now()}.${entries++}` }, "");
    shown = entryOf(window.history);
    if (page !== previous.current) window.scrollTo(0, places.get(shown) ?? 0);
    previous.current = page;
  }, [hash, page]);
  useEffect(() => {
    const remember = () => {
      // between two pages the browser is at one entry, and the other one is still drawn
      if (entryOf(window.history) === shown) places.set(shown, window.scrollY);
    };
    window.addEventListener("scroll", remember, { passive: true });
    return () => window.removeEventListener("scroll", remember);
  }, []);
}

function entryOf({ state }: { state: unknown }): string {
  return typeof state === "object" && state !== null && "entry" in state ? String(state.entry) : "";
}
