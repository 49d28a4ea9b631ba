/**
 * The one place that fetches. Addresses are relative to the page, so a sub-path and a static server work alike.
 * Answers are cached until the store's version changes; a request that nobody waits for any more is cancelled.
 * Errors are values: what went wrong, in plain words, and what can be done.
 */

export interface Failure {
  kind: "gone" | "missing" | "broken" | "offline";
  what: string;
  next: string;
}

export type Answer<T> = { ok: true; value: T } | { ok: false; failure: Failure };

const KEPT = 60; // answers; the largest is a transcript of some hundred kB
const cache = new Map<string, unknown>();
let version = "";

/** Forget everything that was read from an older state of the store. */
export function forget(newVersion: string): void {
  if (newVersion !== version) cache.clear();
  version = newVersion;
}

/** What is known already of *path*, without asking. */
export function known<T>(path: string): T | undefined {
  return cache.get(path) as T | undefined;
}

/** The JSON at *path*, relative to the page. *fresh*: ask even if it is known. Rejects only when cancelled. */
export async function read<T>(path: string, signal: AbortSignal, fresh = false): Promise<Answer<T>> {
  if (!fresh && cache.has(path)) return { ok: true, value: cache.get(path) as T };
  const asked = version;
  let response: Response;
  try {
    response = await fetch(new URL(path, document.baseURI), {
      signal,
      cache: "no-cache", // asks whether it has changed; a server that knows says 304
      credentials: "same-origin", // what the server has let this browser in by
      redirect: "error",
      referrerPolicy: "no-referrer",
      headers: { Accept: "application/json" },
    });
  } catch (error) {
    if (signal.aborted) throw error;
    return failed("offline", "The server does not answer.", "Is `aib view` still running? Start it again and reload.");
  }
  if (response.status === 404) {
    return failed(
      "missing",
      "This is not in the store.",
      "The link may be of another store; go back to the leaderboard.",
    );
  }
  if (!response.ok)
    return failed("gone", await said(response), "Reload the page; if it stays so, look at the server's output.");
  try {
    const value = (await response.json()) as T;
    if (asked === version) keep(path, value);
    return { ok: true, value };
  } catch (error) {
    if (signal.aborted) throw error;
    return failed("broken", "The answer is not JSON.", "The site may be incomplete; make it again with `aib site`.");
  }
}

/** Where a file to download lies. */
export function fileAt(path: string): string {
  return new URL(path, document.baseURI).href;
}

function keep(path: string, value: unknown): void {
  cache.delete(path);
  cache.set(path, value);
  const oldest = cache.keys().next();
  if (cache.size > KEPT && !oldest.done) cache.delete(oldest.value);
}

async function said(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const told = (JSON.parse(text) as { error?: unknown }).error;
    if (typeof told === "string") return told;
  } catch {
    // no JSON: the number says it
  }
  return `The server answered ${String(response.status)}.`;
}

function failed(kind: Failure["kind"], what: string, next: string): { ok: false; failure: Failure } {
  return { ok: false, failure: { kind, what, next } };
}
