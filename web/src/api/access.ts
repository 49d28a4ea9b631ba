/**
 * The token that `aib view` asks for; a static site asks for none. It comes in the fragment of the address, which no
 * browser sends, and stays in this tab's storage: a cookie would go to every port of this machine. A link opened in a
 * tab of its own begins without, so tabs of one origin, its port included, hand it on.
 */

const KEPT = "aib.token";
const PATIENCE = 300; // ms in which another tab answers, if there is one

/** What tabs say to each other: one asks, one has a token, one was opened with a new one. */
interface Said {
  what: "ask" | "have" | "new";
  token: string;
}

let memory = ""; // where the browser keeps nothing
let tabs: BroadcastChannel | null = null;
let heard: (token: string) => void = () => undefined;

export function keptToken(): string {
  try {
    return window.sessionStorage.getItem(KEPT) ?? memory;
  } catch {
    return memory;
  }
}

function keep(token: string): void {
  memory = token;
  try {
    window.sessionStorage.setItem(KEPT, token);
  } catch {
    // until the page is left
  }
}

/** Keeps *token*, which the server has given to this tab or printed, and has the others keep it. */
export function keepNewToken(token: string): void {
  keep(token);
  say("new", token);
}

/** Begins to hand the token on. */
export function joinTabs(): void {
  tabs = new BroadcastChannel(KEPT);
  tabs.onmessage = ({ data: { what, token } }: MessageEvent<Said>) => {
    if (what === "ask" && keptToken()) say("have", keptToken());
    if (what === "new") keep(token);
    if (what === "have") heard(token);
  };
}

let asking: Promise<boolean> | null = null; // while others are asked

/** Keeps the token that another tab has; whether there is one, and another than before. All who ask at once wait. */
export function askTabs(): Promise<boolean> {
  asking ??= askOthers().finally(() => {
    asking = null;
  });
  return asking;
}

async function askOthers(): Promise<boolean> {
  const before = keptToken();
  const token = await new Promise<string>((resolve) => {
    heard = resolve;
    window.setTimeout(() => resolve(""), PATIENCE);
    say("ask", "");
  });
  if (!token || token === before) return false;
  keep(token);
  return true;
}

function say(what: Said["what"], token: string): void {
  tabs?.postMessage({ what, token } satisfies Said);
}

/** What the fragment *hash* brings: `token` lasts, `once` is good for one exchange. */
export function tokenIn(hash: string): { kind: "token" | "once"; token: string } | null {
  const [, kind, token] = /^#(token|once)=([\w-]+)$/.exec(hash) ?? [];
  return token && (kind === "token" || kind === "once") ? { kind, token } : null;
}
