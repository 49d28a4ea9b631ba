import { createContext, useContext, useSyncExternalStore } from "react";
import { DEFAULT, choiceOf, parse, to, type Address, type Choice, type Place } from "../addresses";
import type { BoardEntry, Index } from "../api/types";

/** What every page knows: where it is, what the store holds, and how to go elsewhere. */
export interface Here {
  address: Address;
  index: Index;
  board: BoardEntry;
  /** An href; *choice* changes what holds on every page. */
  href: (place: Place, choice?: Partial<Choice>) => string;
  /** Go there; *replace*: without a step in the browser's history (typing, switching). */
  go: (place: Place, choice?: Partial<Choice>, replace?: boolean) => void;
}

export const HereContext = createContext<Here | null>(null);

export function useHere(): Here {
  const here = useContext(HereContext);
  if (!here) throw new Error("useHere outside of the page");
  return here;
}

function listen(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => {
    window.removeEventListener("hashchange", changed);
  };
}

/** The address, whenever it changes. */
export function useHash(): string {
  return useSyncExternalStore(listen, () => window.location.hash);
}

export function here(hash: string, index: Index, board: BoardEntry): Here {
  const address = parse(hash);
  const choice = choiceOf(address);
  const href = (place: Place, other: Partial<Choice> = {}) => to({ ...DEFAULT, ...choice, ...other }, place);
  const go = (place: Place, other: Partial<Choice> = {}, replace = false) => {
    const next = href(place, other);
    if (next === window.location.hash) return;
    if (replace) {
      window.history.replaceState(null, "", next);
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    } else {
      window.location.hash = next;
    }
  };
  return { address, index, board, href, go };
}
