import { useLayoutEffect, useSyncExternalStore } from "react";

export interface Key {
  key: string; // as KeyboardEvent.key says
  says: string; // what it does, for the list of keys
  does: () => void;
}

const here = new Map<symbol, readonly Key[]>();
let every: readonly Key[] = [];
const watchers = new Set<() => void>();

/** Keys that work on this page, and stand in the list that `?` shows. */
export function useKeys(keys: readonly Key[]): void {
  // before what they belong to is seen: a key pressed at that moment would do what the page before had it do
  useLayoutEffect(() => {
    const mine = Symbol("keys");
    here.set(mine, keys);
    tell();
    return () => {
      here.delete(mine);
      tell();
    };
  }, [keys]);
}

/** All keys that work now. */
export function useAllKeys(): readonly Key[] {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => every,
  );
}

function tell(): void {
  every = [...here.values()].flat();
  watchers.forEach((changed) => {
    changed();
  });
}

/** Whether single keys are on. They can be switched off: speech input types letters by accident. */
export function keysAreOn(): boolean {
  return stored("keys") !== "off";
}

export function switchKeys(on: boolean): void {
  store("keys", on ? "" : "off");
}

/** Obey *event* if it is one of the keys, and nobody is typing. */
export function obey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !keysAreOn()) return;
  const at = event.target as HTMLElement | null;
  if (at?.closest("input, textarea, select, [contenteditable], [role='slider'], dialog")) return;
  if (event.key.startsWith("Arrow") && at?.closest(".sideways, [role='tablist']")) return;
  const key = every.find((one) => one.key === event.key);
  if (!key) return;
  event.preventDefault();
  key.does();
}

/** What this browser remembers; "" where it may not. */
export function stored(name: string): string {
  try {
    return window.localStorage.getItem(`aib.${name}`) ?? "";
  } catch {
    return "";
  }
}

export function store(name: string, value: string): void {
  try {
    if (value) window.localStorage.setItem(`aib.${name}`, value);
    else window.localStorage.removeItem(`aib.${name}`);
  } catch {
    // a browser that remembers nothing works all the same
  }
}
