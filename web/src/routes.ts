/**
 * The address of every page, stated once: its parameters, and how each is read and written. `parseAddress` and
 * `formatAddress` both follow `PAGES`. Everything that a reader chose is in the address, so a link shows another reader
 * the same: `#/transcript/ID?board=...&mark=...`. A parameter at its default (the empty text) is left out.
 */

/** One parameter as text and as a value. Any text can be parsed: what is not understood is the default. */
interface Param<T> {
  parse(text: string): T;
  format(value: T): string;
}

export interface Sort {
  by: string;
  descending: boolean;
}

const text: Param<string> = { parse: (value) => value, format: (value) => value };
const inPath: Param<string> = { ...text }; // the segment behind the page's name; must not be empty
const flag: Param<boolean> = { parse: (value) => value === "yes", format: (value) => (value ? "yes" : "") };
const run: Param<number | null> = {
  parse: (value) => (/^[1-9]\d{0,8}$/.test(value) ? Number(value) : null),
  format: (value) => (value === null ? "" : String(value)),
};
/** Column `name` in rising order; `-name`: in falling order. */
export const sort: Param<Sort | null> = {
  parse: (value) => {
    const by = value.replace(/^-/, "");
    return by ? { by, descending: value.startsWith("-") } : null;
  },
  format: (value) => (value ? `${value.descending ? "-" : ""}${value.by}` : ""),
};
/** Items may hold anything, commas too. */
const list: Param<readonly string[]> = {
  parse: (value) =>
    value ? value.split(",").map((item) => item.replace(/~[01]/g, (code) => (code === "~0" ? "~" : ","))) : [],
  format: (items) => items.map((item) => item.replace(/[~,]/g, (c) => (c === "~" ? "~0" : "~1"))).join(","),
};
/** One of *values*; the first is the default. */
function oneOf<const T extends string>(...values: readonly [T, ...T[]]): Param<T> {
  return {
    parse: (value) => values.find((one) => one === value) ?? values[0],
    format: (value) => (value === values[0] ? "" : value),
  };
}

/** What a list of conversations can be narrowed to: scores from the first number on, to below the second; none. */
export const SCORES = ["0-25", "25-50", "50-75", "75-100", "none"] as const;

/** The parameters of each page. */
const PAGES = {
  leaderboard: {
    sort,
    find: text,
    only: list,
    most: text, // dollars a run
    view: oneOf("forest", "table", "heat", "scatter"),
  },
  persona: { subject: text }, // a character: whose items are shown; "": the first
  // of the list of conversations: its run, its scenario, its scores
  subject: { subject: inPath, run, scenario: text, score: oneOf("", ...SCORES) },
  transcript: {
    transcript: inPath,
    mark: text, // what is highlighted: a quoted phrase (q3), or one of the embedded judge's phrases (p0.2)
    by: text, // the judge who quotes it
    phrases: text, // the mark whose phrases are highlighted
    find: text, // words that were searched for
    side: flag, // two answers side by side
    plain: flag, // not formatted
    tools: flag, // the messages as they were sent
  },
  scenarios: { sort },
  scenario: { scenario: inPath, sort, find: text, group: text, part: run }, // what became of it; the nth twenty of them
  stem: { scenario: inPath, subject: text, run, configuration: text }, // its branches in one run of one subject
  compare: {
    view: oneOf("pair", "settings", "versions"),
    subject: text, // in the view of versions
    version: text, // there: the other one's protocol
    scenario: text, // the row that is open: scenario.dimension
  },
  judges: { view: text },
  exam: { judge: text, beside: text, rubric: text, only: oneOf("all", "wrong"), part: run }, // the nth twenty questions
  search: {
    find: text,
    of: oneOf("said", "judged"), // the models' words, or the judges'
    subject: text, // its label
    scenario: text, // its title
    part: run, // the nth twenty conversations
  },
  label: {},
};

/** What holds on every page. */
const SHARED = {
  board: text, // its id; "": the one to open with
  interval: oneOf("rerun", "like"), // for a rerun, or for new scenarios like these, as earlier links have it
  picked: list, // subjects picked for comparison, in the order of picking
};

type Params = Record<string, Param<unknown>>;
type Values<P extends Params> = { [Name in keyof P]: ReturnType<P[Name]["parse"]> };
type KnownPage = keyof typeof PAGES;

/** A page with its parameters. */
type RouteOf<P extends KnownPage> = { [Name in P]: { page: Name } & Values<(typeof PAGES)[Name]> }[P];
export type Route = RouteOf<KnownPage> | { page: "notFound"; path: string };
export type Page = Route["page"];
export type SharedParams = Values<typeof SHARED>;
export type Address = Route & SharedParams;
export type AddressOf<P extends KnownPage> = RouteOf<P> & SharedParams;
/** Parameters of the page that is open, and those of every page. */
export type Changes = { [P in KnownPage]: Partial<Omit<RouteOf<P>, "page">> }[KnownPage] & Partial<SharedParams>;

/** The route to *page* with *params*; what is left out is at its default. */
export function route<P extends KnownPage>(page: P, params: Partial<Omit<RouteOf<P>, "page">> = {}): RouteOf<P> {
  return { page, ...read(PAGES[page], () => ""), ...params } as unknown as RouteOf<P>;
}

/** The address of *target*, for an href. */
export function formatAddress(target: Route, shared: Partial<SharedParams> = {}): string {
  const query = new URLSearchParams();
  const path: string[] = [];
  if (target.page === "notFound") {
    path.push(...target.path.split("/").map(decoded));
  } else {
    if (target.page !== "leaderboard") path.push(target.page);
    write(PAGES[target.page], target, query, path);
  }
  write(SHARED, shared, query, path);
  const asked = query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}`;
}

/** What *hash* (with or without its #) says. Anything can be typed. */
export function parseAddress(hash: string): Address {
  const [, path = "", asked = ""] = /^#?\/?([^?]*)\??(.*)$/s.exec(hash) ?? [];
  const query = new URLSearchParams(asked);
  const [page = "leaderboard", id = ""] = path.split("/").filter(Boolean).map(decoded);
  const shared = read(SHARED, (name) => query.get(name) ?? "");
  const params: Params | null = Object.hasOwn(PAGES, page) ? PAGES[page as KnownPage] : null;
  const values = params && read(params, (name) => (params[name] === inPath ? id : (query.get(name) ?? "")));
  const complete = params && Object.values(params).every((one) => one !== inPath || id !== "");
  return (complete ? { page, ...values, ...shared } : { page: "notFound", path, ...shared }) as Address;
}

export function sharedParams({ board, interval, picked }: SharedParams): SharedParams {
  return { board, interval, picked };
}

function read<P extends Params>(params: P, given: (name: string) => string): Values<P> {
  return Object.fromEntries(Object.entries(params).map(([name, one]) => [name, one.parse(given(name))])) as Values<P>;
}

function write(params: Params, values: object, query: URLSearchParams, path: string[]): void {
  for (const [name, one] of Object.entries(params)) {
    const value = (values as Record<string, unknown>)[name];
    const written = value === undefined ? "" : one.format(value);
    if (one === inPath) path.push(written);
    else if (written) query.set(name, written);
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
