/** The one place that fetches. Addresses are relative to the page, so a sub-path and a static server work alike. */

import { askTabs, joinTabs, keepNewToken, keptToken, tokenIn } from "./access";
import { isPacked, lineIn, packOf, unpacked } from "./packs";

/** Why there is no answer: `message` says what went wrong, `next` what can be done. */
export class ApiError extends Error {
  constructor(
    readonly kind: "offline" | "missing" | "refused" | "broken",
    message: string,
    readonly next: string,
  ) {
    super(message);
  }
}

const INCOMPLETE = "The site may be incomplete; make it again with `aib site`.";
const SAVED = 60_000; // ms in which a browser has surely saved a file

let entering: Promise<unknown> = Promise.resolve(); // until the token of the address is kept

/** Moves the token of the page's address, if it has one, out of the address bar. Before anything is asked for. */
export function enter(): void {
  joinTabs();
  // opened in a tab that has the page already, an address changes only what is behind its #
  window.addEventListener("hashchange", () => {
    if (tokenIn(window.location.hash)) window.location.reload();
  });
  const given = tokenIn(window.location.hash);
  if (!given) return;
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  if (given.kind === "token") keepNewToken(given.token);
  else entering = exchange(given.token).catch(() => undefined); // what is asked for next says what is wrong
}

async function exchange(once: string): Promise<void> {
  const response = await send("api/token", { method: "POST" }, once);
  const answer: unknown = await response.json();
  if (typeof answer === "object" && answer !== null && "token" in answer) keepNewToken(String(answer.token));
}

/** Sends *body* to *path*, and gives its JSON. Throws an `ApiError`. */
export async function postJson(path: string, body: unknown): Promise<unknown> {
  const headers = { "Content-Type": "application/json" };
  return jsonIn(await fetchAnswer(path, { method: "POST", body: JSON.stringify(body), headers }));
}

/** The JSON at *path*. Throws an `ApiError`, or what `fetch` throws when *signal* aborts it. */
export async function fetchJson(path: string, signal: AbortSignal): Promise<unknown> {
  return jsonIn(await fetchAnswer(path, { signal }), signal);
}

/** Saves the file at *path* as *name*: a link could not send the token. Throws an `ApiError`. */
export async function download(path: string, name: string): Promise<void> {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await fetchAnswer(path, {})).blob());
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), SAVED);
}

async function fetchAnswer(path: string, how: RequestInit): Promise<Response> {
  if (!isPacked() || path === "api/index.json") return fetchFile(path, how);
  let answer = await packedAnswer(path);
  if (answer === null) {
    packs.clear(); // the site may have been made again while its page was open
    answer = await packedAnswer(path);
  }
  if (answer === null) throw missing();
  return new Response(answer);
}

/** The answer at *path* in the packs of a static site; null: nothing is there. Throws an `ApiError`. */
async function packedAnswer(path: string): Promise<string | null> {
  try {
    const firsts = JSON.parse(await packAt("api/packs/list.gz")) as string[];
    return lineIn(await packAt(`api/packs/${packOf(path, firsts)}.gz`), path);
  } catch (error) {
    if (error instanceof ApiError && error.kind !== "missing") throw error;
    throw new ApiError("broken", "A part of this site is missing or damaged.", INCOMPLETE);
  }
}

const PACKS = 40; // of a static site that are kept: some megabytes
const packs = new Map<string, Promise<string>>();

/** What is in the pack at *path*. Not aborted: others may wait for it, too. */
function packAt(path: string): Promise<string> {
  const found = packs.get(path) ?? fetchFile(path, {}).then(unpacked);
  packs.delete(path);
  packs.set(path, found); // the latest last
  found.catch(() => packs.delete(path));
  for (const old of [...packs.keys()].slice(0, -PACKS)) packs.delete(old);
  return found;
}

function missing(): ApiError {
  const next = "The link may be of another store; go back to the leaderboard.";
  return new ApiError("missing", "This is not in the store.", next);
}

async function fetchFile(path: string, how: RequestInit): Promise<Response> {
  let response: Response;
  try {
    await entering;
    const token = keptToken();
    response = await send(path, how, token);
    // another request may have got the right one meanwhile
    if (response.status === 401 && (keptToken() !== token || (await askTabs())))
      response = await send(path, how, keptToken());
  } catch (error) {
    if (how.signal?.aborted) throw error;
    const next = "Is `aib view` still running? Start it again and open the address that it prints.";
    throw new ApiError("offline", "The server does not answer.", next);
  }
  if (response.status === 401) {
    const next = "Open the whole address that `aib view` has printed, with `#token=...` at its end.";
    throw new ApiError("refused", "This page does not have the viewer's token.", next);
  }
  if (response.status === 404) throw missing();
  if (!response.ok) {
    const next =
      response.status === 400 ? "Ask for less." : "Reload the page; if it stays so, look at the server's output.";
    throw new ApiError("refused", await errorIn(response), next);
  }
  return response;
}

function send(path: string, how: RequestInit, token: string): Promise<Response> {
  return fetch(fileUrl(path), {
    cache: "no-cache", // asks whether it has changed; a server that knows says 304
    redirect: "error",
    referrerPolicy: "no-referrer",
    ...how,
    headers: { Accept: "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...how.headers },
  });
}

async function jsonIn(response: Response, signal?: AbortSignal): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("broken", "The answer is not JSON.", INCOMPLETE);
  }
}

/** The whole address of a file of the API. */
export function fileUrl(path: string): string {
  return new URL(path, document.baseURI).href;
}

async function errorIn(response: Response): Promise<string> {
  const answer: unknown = await response.json().catch(() => null);
  const error = typeof answer === "object" && answer !== null && "error" in answer ? answer.error : null;
  return typeof error === "string" ? error : `The server answered ${response.status}.`;
}
