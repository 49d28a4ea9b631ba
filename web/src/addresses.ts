/**
 * The one place that builds and reads addresses. Everything that a reader chose is in them, so a link shows another
 * reader the same: `#/transcript/ID?board=...&mark=...`. What is at its default is left out.
 */

/** What holds on every page. */
export interface Choice {
  board: string; // its id: protocol, configuration, judge, rules and weights in one; "": the one to open with
  interval: "again" | "like"; // this test given again, or another test like it
  picked: readonly string[]; // subjects picked for comparison, in the order of picking
}

export interface Sort {
  by: string;
  down: boolean;
}

/** Whose words are searched: the models', or the judges' about them. */
export type SearchOf = "said" | "judged";

export const BOARD_VIEWS = ["table", "forest", "heat"] as const;
export type BoardView = (typeof BOARD_VIEWS)[number];

export type Place =
  | { page: "leaderboard"; sort: Sort | null; find: string; only: readonly string[]; view: BoardView }
  | { page: "subject"; subject: string; run: number | null }
  | {
      page: "transcript";
      transcript: string;
      mark: string; // the place that is marked: a quoted phrase (q3), or one of the embedded judge (p0.2.0)
      by: string; // the judge who quotes it
      phrases: string; // the mark whose phrases are shown
      find: string; // words that were searched for
      side: boolean; // two answers side by side
      plain: boolean; // letter for letter
      tools: boolean; // the tool protocol shown
    }
  | { page: "scenarios"; sort: Sort | null }
  | { page: "scenario"; scenario: string; sort: Sort | null; find: string }
  | {
      page: "compare";
      view: "pair" | "settings";
      scenario: string; // the row that is open: scenario.dimension
      subject: string; // in the view of settings: who is compared with itself, and in which two configurations
      first: string;
      second: string;
    }
  | { page: "judges"; view: string }
  | { page: "search"; find: string; of: SearchOf }
  | { page: "methods"; part: string }
  | { page: "nowhere"; was: string };

export type Page = Place["page"];
export type PlaceOf<P extends Page> = Extract<Place, { page: P }>;
export type Address = Choice & Place;

export const DEFAULT: Choice = { board: "", interval: "again", picked: [] };

/** The address of *place* with the choices of *choice*, for an href. */
export function to(choice: Choice, place: Place): string {
  const parts = new URLSearchParams();
  const put = (name: string, value: string | boolean | null) => {
    if (value !== null && value !== "" && value !== false) parts.set(name, value === true ? "yes" : value);
  };
  const path = pathOf(place, put);
  put("board", choice.board);
  put("interval", choice.interval === DEFAULT.interval ? "" : choice.interval);
  put("picked", listed(choice.picked));
  const query = parts.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

function pathOf(place: Place, put: (name: string, value: string | boolean | null) => void): string[] {
  switch (place.page) {
    case "leaderboard":
      put("sort", sorted(place.sort));
      put("find", place.find);
      put("only", listed(place.only));
      put("view", place.view === "table" ? "" : place.view);
      return [];
    case "subject":
      put("run", place.run === null ? "" : String(place.run));
      return ["subject", place.subject];
    case "transcript":
      put("mark", place.mark);
      put("by", place.by);
      put("phrases", place.phrases);
      put("find", place.find);
      put("side", place.side);
      put("plain", place.plain);
      put("tools", place.tools);
      return ["transcript", place.transcript];
    case "scenario":
      put("sort", sorted(place.sort));
      put("find", place.find);
      return ["scenario", place.scenario];
    case "compare":
      put("view", place.view === "pair" ? "" : place.view);
      put("subject", place.subject);
      put("first", place.first);
      put("second", place.second);
      put("scenario", place.scenario);
      return ["compare"];
    case "judges":
      put("view", place.view);
      return ["judges"];
    case "search":
      put("find", place.find);
      put("of", place.of === "said" ? "" : place.of);
      return ["search"];
    case "methods":
      put("part", place.part);
      return ["methods"];
    case "scenarios":
      put("sort", sorted(place.sort));
      return ["scenarios"];
    case "nowhere":
      return place.was.split("/").map(decoded);
  }
}

/** What *hash* (with or without its #) says. Anything can be typed: what is not understood is left out. */
export function parse(hash: string): Address {
  const [path = "", query = ""] = split(hash.replace(/^#?\/?/, ""));
  const said = new URLSearchParams(query);
  const get = (name: string) => said.get(name) ?? "";
  const choice: Choice = {
    board: get("board"),
    interval: get("interval") === "like" ? "like" : "again",
    picked: list(get("picked")),
  };
  return { ...choice, ...placeOf(path.split("/").filter(Boolean).map(decoded), path, get) };
}

function placeOf(path: string[], whole: string, get: (name: string) => string): Place {
  const [page = "leaderboard", one = ""] = path;
  const sort = sortOf(get("sort"));
  switch (page) {
    case "leaderboard": {
      const view = BOARD_VIEWS.find((one) => one === get("view")) ?? "table";
      return { page, sort, find: get("find"), only: list(get("only")), view };
    }
    case "subject": {
      const run = Number(get("run"));
      if (!one) break;
      return { page, subject: one, run: Number.isInteger(run) && run > 0 ? run : null };
    }
    case "transcript":
      if (!one) break;
      return {
        page,
        transcript: one,
        mark: get("mark"),
        by: get("by"),
        phrases: get("phrases"),
        find: get("find"),
        side: get("side") === "yes",
        plain: get("plain") === "yes",
        tools: get("tools") === "yes",
      };
    case "scenario":
      if (!one) break;
      return { page, scenario: one, sort, find: get("find") };
    case "scenarios":
      return { page, sort };
    case "compare":
      return {
        page,
        view: get("view") === "settings" ? "settings" : "pair",
        scenario: get("scenario"),
        subject: get("subject"),
        first: get("first"),
        second: get("second"),
      };
    case "judges":
      return { page, view: get("view") };
    case "search":
      return { page, find: get("find"), of: get("of") === "judged" ? "judged" : "said" };
    case "methods":
      return { page, part: get("part") };
  }
  return { page: "nowhere", was: whole };
}

/** The choices alone, to go somewhere else with. */
export function choiceOf(address: Choice): Choice {
  const { board, interval, picked } = address;
  return { board, interval, picked };
}

export const leaderboard: Place = { page: "leaderboard", sort: null, find: "", only: [], view: "table" };
export const subjectAt = (subject: string, run: number | null = null): Place => ({ page: "subject", subject, run });
export const transcriptAt = (transcript: string, find = ""): PlaceOf<"transcript"> => ({
  page: "transcript",
  transcript,
  mark: "",
  by: "",
  phrases: "",
  find,
  side: false,
  plain: false,
  tools: false,
});
export const scenarioAt = (scenario: string): Place => ({ page: "scenario", scenario, sort: null, find: "" });
export const compareAt = (view: "pair" | "settings" = "pair"): PlaceOf<"compare"> => ({
  page: "compare",
  view,
  scenario: "",
  subject: "",
  first: "",
  second: "",
});
/** One subject in two configurations; "": whichever comes first. */
export const settingsAt = (subject: string, first = "", second = ""): PlaceOf<"compare"> => ({
  ...compareAt("settings"),
  subject,
  first,
  second,
});
export const judgesAt: Place = { page: "judges", view: "" };
export const scenariosAt: Place = { page: "scenarios", sort: null };
export const searchAt = (find = "", of: SearchOf = "said"): Place => ({ page: "search", find, of });
export const methodsAt = (part = ""): Place => ({ page: "methods", part });

function split(hash: string): string[] {
  const at = hash.indexOf("?");
  return at < 0 ? [hash] : [hash.slice(0, at), hash.slice(at + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// names in lists may hold anything, commas too
function listed(items: readonly string[]): string {
  return items.map((item) => item.replace(/[~,]/g, (c) => (c === "~" ? "~0" : "~1"))).join(",");
}

function list(text: string): string[] {
  return text ? text.split(",").map((item) => item.replace(/~[01]/g, (c) => (c === "~0" ? "~" : ","))) : [];
}

function sorted(sort: Sort | null): string {
  return sort ? `${sort.down ? "-" : ""}${sort.by}` : "";
}

function sortOf(text: string): Sort | null {
  const down = text.startsWith("-");
  const by = down ? text.slice(1) : text;
  return by ? { by, down } : null;
}
