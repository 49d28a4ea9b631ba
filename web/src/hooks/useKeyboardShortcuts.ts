import { useLayoutEffect, useSyncExternalStore } from "react";
import { stored, store } from "../lib/preferences";

export interface Shortcut {
  key: string; // as KeyboardEvent.key has it
  description: string;
  action: () => void;
}

const registered = new Map<symbol, readonly Shortcut[]>();
let all: readonly Shortcut[] = [];
const listeners = new Set<() => void>();

/** Shortcuts that work while the component is shown; `?` lists them. */
export function useKeyboardShortcuts(shortcuts: readonly Shortcut[]): void {
  // before the component is painted: a key pressed at that moment would run the shortcut of the page before
  useLayoutEffect(() => {
    const id = Symbol("shortcuts");
    registered.set(id, shortcuts);
    notify();
    return () => {
      registered.delete(id);
      notify();
    };
  }, [shortcuts]);
}

/** All shortcuts that work now. */
export function useAllShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => all,
  );
}

function notify(): void {
  all = [...registered.values()].flat();
  listeners.forEach((changed) => changed());
}

/** Whether single keys are on. They can be switched off: speech input types letters by accident. */
export function shortcutsAreOn(): boolean {
  return stored("keys") !== "off";
}

export function switchShortcuts(on: boolean): void {
  store("keys", on ? "" : "off");
}

/** Runs the shortcut of *event*, unless somebody is typing. */
export function handleShortcut(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !shortcutsAreOn()) return;
  const target = event.target as HTMLElement | null;
  if (target?.closest("input, textarea, select, [contenteditable], [role='slider'], dialog")) return;
  if (event.key === "Enter" && target?.closest("a[href], button, summary")) return; // the control's own
  if (event.key.startsWith("Arrow") && target?.closest(".scroll-area, [role='tablist']")) return;
  const shortcut = all.find((item) => item.key === event.key);
  if (!shortcut) return;
  event.preventDefault();
  shortcut.action();
}
