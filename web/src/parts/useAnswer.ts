import { useCallback, useEffect, useState } from "react";
import { known, read, type Failure } from "../api/client";
import { useHere } from "./place";

export type Waiting<T> =
  { state: "loading" } | { state: "failed"; failure: Failure; again: () => void } | { state: "ready"; value: T };

/** The JSON at *path* (null: nothing is wanted). Read again when the store changes; cancelled when left. */
export function useAnswer<T>(path: string | null): Waiting<T> {
  const { version } = useHere().index;
  return useFile<T>(path, version);
}

/** The same where there is no page yet. What was read is shown until a newer version of it is there. */
export function useFile<T>(path: string | null, version: string): Waiting<T> {
  const [tries, setTries] = useState(0);
  const [found, setFound] = useState<{ path: string; answer: Waiting<T> } | null>(null);
  const again = useCallback(() => {
    setTries((n) => n + 1);
  }, []);
  useEffect(() => {
    if (path === null) return;
    const leaving = new AbortController();
    read<T>(path, leaving.signal).then(
      (answer) => {
        if (leaving.signal.aborted) return;
        if (answer.ok) setFound({ path, answer: { state: "ready", value: answer.value } });
        else setFound({ path, answer: { state: "failed", failure: answer.failure, again } });
      },
      () => {
        // cancelled: nobody waits for it
      },
    );
    return () => {
      leaving.abort();
    };
  }, [path, version, tries, again]);
  if (path === null) return { state: "loading" };
  if (found?.path === path) return found.answer;
  const there = known<T>(path);
  return there === undefined ? { state: "loading" } : { state: "ready", value: there };
}
