import { createContext, useContext, useSyncExternalStore, useEffect } from "react";
import type { BoardEntry, Index } from "../api/types";
import {
  formatAddress,
  parseAddress,
  route,
  sharedParams,
  type Address,
  type Changes,
  type Route,
  type SharedParams,
} from "../routes";

/** What every page knows: its address, what the store holds, and how to go elsewhere. */
export interface PageContextValue {
  address: Address;
  index: Index;
  board: BoardEntry;
  /** An href; *shared* changes what holds on every page. */
  href: (target: Route, shared?: Partial<SharedParams>) => string;
  /** Go to *target*, a step in the browser's history. */
  navigate: (target: Route, shared?: Partial<SharedParams>) => void;
  /** Change parameters of this page's address, without a step in the history (typing, switching). */
  update: (changes: Changes) => void;
}

export const PageContext = createContext<PageContextValue | null>(null);

export function usePage(): PageContextValue {
  const page = useContext(PageContext);
  if (!page) throw new Error("usePage outside of a page");
  return page;
}

/** The fragment of the browser's address, whenever it changes. */
export function useHash(): string {
  return useSyncExternalStore(
    (changed) => {
      window.addEventListener("hashchange", changed);
      return () => window.removeEventListener("hashchange", changed);
    },
    () => window.location.hash,
  );
}

export function pageContext(hash: string, index: Index, board: BoardEntry): PageContextValue {
  const landed = /^#?$/.test(hash) && index.characters[board.id] !== undefined;
  const address = parseAddress(landed ? formatAddress(route("persona")) : hash); // a character's first page is its own
  const href = (target: Route, shared: Partial<SharedParams> = {}) =>
    formatAddress(target, { ...sharedParams(address), ...shared });
  const navigate = (target: Route, shared?: Partial<SharedParams>) => {
    window.location.hash = href(target, shared);
  };
  const update = (changes: Changes) => {
    const changed = { ...address, ...changes } as Address;
    window.history.replaceState(window.history.state, "", formatAddress(changed, changed));
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  };
  return { address, index, board, href, navigate, update };
}

/** Sets the browser's title. */
export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title.slice(0, 120)} · AI Independence Bench`;
  }, [title]);
}
