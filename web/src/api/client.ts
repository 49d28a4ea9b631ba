/** The one place that fetches. Addresses are relative to the page, so a sub-path and a static server work alike. */

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

/** Sends *body* to *path*, and gives its JSON. Throws an `ApiError`. */
export async function postJson(path: string, body: unknown): Promise<unknown> {
  return fetchJson(path, new AbortController().signal, { method: "POST", body: JSON.stringify(body) });
}

/** The JSON at *path*. Throws an `ApiError`, or what `fetch` throws when *signal* aborts it. */
export async function fetchJson(
  path: string,
  signal: AbortSignal,
  sent: { method?: "POST"; body?: string } = {},
): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(fileUrl(path), {
      signal,
      cache: "no-cache", // asks whether it has changed; a server that knows says 304
      credentials: "same-origin", // the cookie that `aib view` has set
      redirect: "error",
      referrerPolicy: "no-referrer",
      headers: { Accept: "application/json", ...(sent.body ? { "Content-Type": "application/json" } : {}) },
      ...sent,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    const next = "Is `aib view` still running? Start it again and reload.";
    throw new ApiError("offline", "The server does not answer.", next);
  }
  if (response.status === 404) {
    const next = "The link may be of another store; go back to the leaderboard.";
    throw new ApiError("missing", "This is not in the store.", next);
  }
  if (!response.ok) {
    const next = "Reload the page; if it stays so, look at the server's output.";
    throw new ApiError("refused", await errorIn(response), next);
  }
  try {
    return await response.json();
  } catch (error) {
    if (signal.aborted) throw error;
    const next = "The site may be incomplete; make it again with `aib site`.";
    throw new ApiError("broken", "The answer is not JSON.", next);
  }
}

/** The whole address of a file of the API. */
export function fileUrl(path: string): string {
  return new URL(path, document.baseURI).href;
}

async function errorIn(response: Response): Promise<string> {
  const answer: unknown = await response.json().catch(() => null);
  const error = typeof answer === "object" && answer !== null && "error" in answer ? answer.error : null;
  return typeof error === "string" ? error : `The server answered ${String(response.status)}.`;
}
