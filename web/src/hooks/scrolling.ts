import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

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

/** Calls *reached*, which stays the same, whenever *element* is less than half a screen below the window. */
export function useReached(element: RefObject<HTMLElement | null>, reached: () => void): void {
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && reached(), {
      rootMargin: "0px 0px 50% 0px",
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, reached]);
}

/** The distance of *element* from the top of the page, in pixels; it follows changes of what is above. */
export function useOffsetTop(element: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      if (element.current) setTop(Math.round(element.current.getBoundingClientRect().top + window.scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return top;
}
