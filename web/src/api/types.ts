// Made from src/independence_bench/viewer/shapes.py by `make docs`; change it there.

/**
 * Everything that the page is sent, as frozen values: one class for each answer, and its parts.
 *
 * `docs/build.py` makes `web/src/api/types.ts` of this file, so both sides have one source. What
 * all answers share: absent is null, never 0; indices and scores are in [0, 100], 100 being the
 * independent end; times are ISO 8601 in UTC; costs are US dollars; what is shown of a number
 * stands beside it as text, under *shown*, and is rounded by nobody else; ids are made by us and
 * safe in a path; labels and all other texts are hostile. A *start* and an *end* count UTF-16 code
 * units, as JavaScript's strings do; the end is the first one that no longer belongs to it.
 */

/** Two ends of a 95 % interval, in the unit of what it belongs to. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  /** both, as text */
  readonly shown: string;
}

/**
 * How sure a score is. Null: there is no interval that keeps its promise, and *why* says why not.
 */
export interface Uncertainty {
  /** for the same subject, were the same scenarios played again */
  readonly again: Interval | null;
  /** for the same subject, were it asked other scenarios of this kind */
  readonly another: Interval | null;
  /** why an interval is missing; null where none is */
  readonly why: string | null;
}

/** A number with its uncertainty. */
export interface Score {
  /** [0, 100] */
  readonly value: number | null;
  /** the same, as text */
  readonly shown: string | null;
  readonly uncertainty: Uncertainty;
}

/** What a row's numbers rest on. Shares are in [0, 1], of the replies asked for. */
export interface Health {
  /** planned for the runs that were begun */
  readonly transcripts: number;
  readonly complete: number;
  readonly invalid: number;
  readonly judged: number;
  readonly judge_failed: number;
  /** asked for, invalid ones included */
  readonly replies: number;
  /** ended by the token limit */
  readonly cut_off: number;
  /** spoken beside the tool */
  readonly plain_text: number;
  /** came with reasoning */
  readonly reasoned: number;
  /** attempts at them that brought no answer */
  readonly failed: number;
  readonly invalid_share: number;
  readonly cut_off_share: number;
  /** of the attempts */
  readonly failed_share: number;
  readonly reasoned_share: number;
  readonly plain_text_share: number;
  /** as text */
  readonly shown: {
    readonly invalid_share: string;
    readonly cut_off_share: string;
    readonly failed_share: string;
    readonly reasoned_share: string;
    readonly plain_text_share: string;
  };
}

/** What made this. */
export interface Project {
  readonly name: string;
  readonly version: string;
}

/**
 * What this site offers beside boards, subjects, scenarios, transcripts, judges, methods and
 * search.
 */
export interface Offer {
  /** a static site: nothing changes, so there is nothing to poll */
  readonly frozen: boolean;
  /** whether api/raw/ is there: requests and responses as they were sent and came */
  readonly raw: boolean;
  /** only the first so many rows of a board have a file in compare/; null: every row has one */
  readonly compared: number | null;
  /** the same in plain words, a sentence each */
  readonly says: readonly string[];
}

/** One version of the benchmark, of which something is stored. */
export interface ProtocolEntry {
  readonly id: string;
  /** with the start of its hash where it is called like a shipped one and is another */
  readonly name: string;
  readonly title: string;
  readonly hash: string;
  /** that it asks for */
  readonly runs: number;
  readonly scenarios: number;
  /** stored */
  readonly transcripts: number;
}

/**
 * One ranking: a protocol in one configuration (or the pooled default), by a judge or jury, rules
 * and weights.
 */
export interface BoardEntry {
  readonly id: string;
  /** id */
  readonly protocol: string;
  /** system/delivery; several are pooled */
  readonly configurations: readonly string[];
  readonly default_configuration: boolean;
  /** label; null: nothing is judged yet */
  readonly judge: string | null;
  readonly judge_kind: "model" | "table" | "person" | "jury" | null;
  /** labels: the jury's, or the one */
  readonly judges: readonly string[];
  /** the judge is the main one: whose board is opened where nobody says by which */
  readonly main: boolean;
  /** by which marks became indices: own, published */
  readonly rules: string;
  /** a weighting that the protocol names; null: its own weights */
  readonly weights: string | null;
  /** id; boards that have the same one differ in nothing but their configurations */
  readonly series: string;
}

/** How to cite what is shown. */
export interface Citation {
  readonly text: string;
  readonly bibtex: string;
}

/**
 * `api/index.json`: what is here. *version* changes when anything else may have changed; poll it.
 */
export interface Index {
  readonly version: string;
  readonly project: Project;
  readonly offer: Offer;
  /** time of the newest record */
  readonly newest: string | null;
  /** the one played last first */
  readonly protocols: readonly ProtocolEntry[];
  /** the one to open with first */
  readonly boards: readonly BoardEntry[];
  readonly citation: Citation;
}

/** What is known of a subject beside what it said. */
export interface SubjectFacts {
  readonly id: string;
  readonly label: string;
  readonly hash: string;
  /** as it is typed: model id, behind ENDPOINT: where that is not OpenRouter */
  readonly name: string;
  readonly model: string;
  readonly endpoint: string;
  /** vendor */
  readonly family: string | null;
  /** that it is pinned to */
  readonly provider: string | null;
  readonly temperature: number;
  readonly max_tokens: number;
  /** off, minimal, low, medium, high */
  readonly reasoning: string;
}

/** One run's index; null where something is missing. */
export interface RunIndex {
  readonly run: number;
  readonly index: number | null;
  /** as text */
  readonly shown: {
    readonly index: string | null;
  };
}

/** What can be said of a subject's place among all, at 95 % for the whole ranking. */
export interface Standing {
  /** the best rank that it may have; 1 is the first */
  readonly rank_low: number;
  /** the worst one */
  readonly rank_high: number;
  /** letters; two subjects that share one cannot be told apart */
  readonly groups: string;
  readonly tied_with_best: boolean;
}

/** One subject on one board. */
export interface Row {
  /** null: incomplete, or excluded */
  readonly rank: number | null;
  /** the best rank that it may have, were the same scenarios played again; null: no interval */
  readonly rank_low: number | null;
  /** the worst one */
  readonly rank_high: number | null;
  /** letters; rows that share one cannot be told apart. null: nothing is known */
  readonly tie_groups: string | null;
  /** nobody is better for certain */
  readonly tied_with_best: boolean;
  /** its rank is certain, and 1, 2 or 3 */
  readonly medal: boolean;
  /** the same, were other scenarios of this kind asked */
  readonly standing_another: Standing | null;
  readonly subject: SubjectFacts;
  /** told to reason, or does so by itself in most of its replies */
  readonly thinks: boolean;
  readonly index: Score;
  /** standard deviation of the runs' indices */
  readonly deviation: number | null;
  readonly runs: number;
  readonly run_indices: readonly RunIndex[];
  /** in the order of the board's dimensions */
  readonly dimensions: readonly Score[];
  readonly health: Health;
  /** null: not known */
  readonly replies_dollars_per_run: number | null;
  /** what this board's judge took for it; null: not known */
  readonly judging_dollars_per_run: number | null;
  /** both together; null: not known */
  readonly dollars_per_run: number | null;
  /** points for a dollar of one run; null: not known, or free */
  readonly index_per_dollar: number | null;
  readonly per_dollar_uncertainty: Uncertainty;
  /** mean share of its points in each scenario, in the board's order */
  readonly scenarios: readonly (number | null)[];
  /** why it is not ranked, a line each */
  readonly missing: readonly string[];
  /** as text */
  readonly shown: {
    readonly deviation: string | null;
    readonly replies_dollars_per_run: string | null;
    readonly judging_dollars_per_run: string | null;
    readonly dollars_per_run: string | null;
    readonly index_per_dollar: string | null;
    readonly scenarios: readonly (string | null)[];
  };
}

/** A part of the index. */
export interface DimensionFacts {
  readonly name: string;
  readonly title: string;
  /** of 100; 0: shown and does not count */
  readonly weight: number;
  /** whether the low end of its marks counts as 100 */
  readonly inverted: boolean;
  readonly marks: readonly string[];
}

/** One scenario over all ranked subjects. */
export interface ScenarioFacts {
  /** in paths */
  readonly id: string;
  readonly title: string;
  /** title */
  readonly experiment: string;
  /** of the index's 100 */
  readonly points: number;
  /** share of its points that subjects lose, [0, 100] */
  readonly difficulty: number | null;
  /** share of its transcripts that have all of the points, [0, 1] */
  readonly ceiling: number | null;
  /** that have none, [0, 1] */
  readonly floor: number | null;
  /** item-rest correlation, [-1, 1] */
  readonly discrimination: number | null;
  readonly discrimination_interval: Interval | null;
  /** of the index's variance between subjects; all scenarios' add up to 1 */
  readonly share: number | null;
  readonly share_interval: Interval | null;
  /** what is wrong with it, a line each */
  readonly verdicts: readonly string[];
  /** as text */
  readonly shown: {
    readonly points: string;
    readonly difficulty: string | null;
    readonly ceiling: string | null;
    readonly floor: string | null;
    readonly discrimination: string | null;
    readonly share: string | null;
  };
}

/** A provider, and how many replies it served. */
export interface Served {
  readonly provider: string;
  readonly replies: number;
}

/** One of several subjects that differ in one setting. */
export interface Variant {
  /** id */
  readonly subject: string;
  readonly label: string;
  readonly setting: string;
  readonly index: number | null;
  readonly runs: number;
  /** its index minus that of what it is compared with; null for that one itself */
  readonly difference: number | null;
  /** of the difference */
  readonly uncertainty: Uncertainty;
  /** told from 0 though so many are compared; null: not known */
  readonly stands: boolean | null;
  readonly served: readonly Served[];
  /** as text */
  readonly shown: {
    readonly index: string | null;
    readonly difference: string | null;
  };
}

/** Subjects that are the same but for one setting. */
export interface Settings {
  readonly by: "provider" | "reasoning";
  readonly model: string;
  /** the setting that the others are compared with */
  readonly against: string | null;
  readonly variants: readonly Variant[];
}

/** One configuration and what the subjects came to in it. */
export interface Place {
  readonly configuration: string;
  readonly subjects: number;
  readonly mean: number;
  /** over the subjects that have an index in every configuration */
  readonly paired: number | null;
  /** as text */
  readonly shown: {
    readonly mean: string;
    readonly paired: string | null;
  };
}

/** The mean over subjects of a difference within each of them, in points of the index. */
export interface Effect {
  readonly factor: "system" | "delivery" | "interaction";
  readonly level: string;
  readonly base: string;
  readonly within: string | null;
  readonly subjects: number;
  readonly points: number;
  /** 95 %, over other subjects like these */
  readonly sampled: Interval | null;
  /** 95 %, for these subjects, were the same scenarios played again */
  readonly again: Interval | null;
  /** as text */
  readonly shown: {
    readonly points: string;
  };
}

/** An effect in one subject alone, in points of the index. */
export interface Change {
  readonly points: number;
  /** 95 %, were the same scenarios played again */
  readonly again: Interval | null;
  /** as text */
  readonly shown: {
    readonly points: string;
  };
}

/** One subject in several configurations. */
export interface Spread {
  /** id */
  readonly subject: string;
  readonly label: string;
  /** in the order of the places */
  readonly indices: readonly (number | null)[];
  /** of the indices, were the same scenarios played again */
  readonly intervals: readonly (Interval | null)[];
  /** in the order of the effects; null: not all that it needs is there */
  readonly changes: readonly (Change | null)[];
  /** as text */
  readonly shown: {
    readonly indices: readonly (string | null)[];
  };
}

/**
 * What prompt and delivery do to the index, paired within subjects; over all boards of this board's
 * judge.
 */
export interface Configurations {
  readonly places: readonly Place[];
  readonly effects: readonly Effect[];
  /** those with an index in two places or more, by label */
  readonly subjects: readonly Spread[];
}

/** A subject that can be compared with itself: `api/settings/<series>/<subject>.json` is there. */
export interface InSeveral {
  /** id */
  readonly subject: string;
  readonly label: string;
  /** in which it has marks, two or more; in the protocol's order */
  readonly configurations: readonly string[];
}

/** `api/boards/<board>.json`: one ranking. */
export interface Board {
  readonly version: string;
  readonly board: BoardEntry;
  readonly protocol: ProtocolEntry;
  readonly dimensions: readonly DimensionFacts[];
  /** in the protocol's order */
  readonly scenarios: readonly ScenarioFacts[];
  /** ranked ones first, by rank; then incomplete ones by label */
  readonly rows: readonly Row[];
  readonly settings: readonly Settings[];
  readonly configurations: Configurations | null;
  /** over all boards of its series, by label */
  readonly in_several: readonly InSeveral[];
  /** what a reader must know about this board, a sentence each */
  readonly remarks: readonly string[];
  readonly citation: Citation;
}

/** One mark and its scale. */
export interface MarkScale {
  readonly name: string;
  readonly title: string;
  /** a yes counts as 1, a no as 0; a jury's is the share of yes */
  readonly kind: "number" | "whole" | "yes_no";
  readonly low: number;
  readonly high: number;
  /** whether the low end is the independent one */
  readonly inverted: boolean;
  readonly asks: string;
  /** as text */
  readonly shown: {
    readonly low: string;
    readonly high: string;
  };
}

/** One run. */
export interface RunDetail {
  readonly run: number;
  readonly index: number | null;
  /** in the board's order */
  readonly dimensions: readonly (number | null)[];
  /** share of its points, in the board's order of scenarios */
  readonly scenarios: readonly (number | null)[];
  /** when its first conversation ended: 2026-01-31 12:00, in UTC */
  readonly began: string | null;
  /** as text */
  readonly shown: {
    readonly index: string | null;
    readonly dimensions: readonly (string | null)[];
    readonly scenarios: readonly (string | null)[];
  };
}

/** When the runs of a subject were made, in UTC: 2026-01-31 12:00. */
export interface Made {
  readonly first: string;
  readonly last: string;
  /** dates on which a conversation ended */
  readonly days: number;
  /** from the beginning of the first run to that of the last: 5.5 h */
  readonly span: string;
  /** what that leaves open */
  readonly says: string;
}

/** Of a pool: one configuration by itself. */
export interface ConfigurationScore {
  readonly configuration: string;
  readonly index: Score;
  readonly deviation: number | null;
  /** as text */
  readonly shown: {
    readonly deviation: string | null;
  };
}

/** One mark's mean over all transcripts that have it. */
export interface MarkMean {
  readonly mark: string;
  /** on the mark's scale */
  readonly mean: number | null;
  /** transcripts that have it */
  readonly scored: number;
  readonly planned: number;
  /** as text */
  readonly shown: {
    readonly mean: string | null;
  };
}

/**
 * The same subject on another board of the series: under another prompt, or delivered otherwise.
 */
export interface Elsewhere {
  /** id */
  readonly board: string;
  readonly configurations: readonly string[];
  readonly index: Score;
  /** that index minus the one on this board */
  readonly difference: number | null;
  /** 95 %, of the difference, were the same scenarios played again */
  readonly again: Interval | null;
  /** why that interval is missing; null where it is there */
  readonly why: string | null;
  /** as text */
  readonly shown: {
    readonly difference: string | null;
  };
}

/** The name and the gender that a subject chose in one conversation: freely, and at the end. */
export interface NameChoice {
  readonly run: number;
  readonly configuration: string;
  /** id */
  readonly transcript: string;
  /** id */
  readonly scenario: string;
  /** for a name and a gender; else it may have said nothing of them */
  readonly asked: boolean;
  /** several with commas, where it described several people */
  readonly first_name: string | null;
  readonly first_gender: string | null;
  readonly final_name: string | null;
  readonly final_gender: string | null;
  /** null: nobody could tell */
  readonly name_changed: boolean | null;
  readonly gender_changed: boolean | null;
  /** rule, or the label of the model that read what the rule was unsure of */
  readonly read_by: string;
}

/** A transcript in a list, with this board's marks. */
export interface TranscriptEntry {
  readonly id: string;
  /** id */
  readonly scenario: string;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "not judged" | "judge failed" | "invalid";
  /** for invalid and judge failed */
  readonly why: string | null;
  /** share of the points to be had in it, [0, 100]; null: a mark is missing, or none counts */
  readonly score: number | null;
  /** mark -> number on its scale */
  readonly marks: Readonly<Record<string, number>>;
  readonly replies: number;
  readonly cut_off: number;
  readonly plain_text: number;
  readonly reasoned: number;
  /** as text */
  readonly shown: {
    readonly score: string | null;
    readonly marks: Readonly<Record<string, string>>;
  };
}

/** `api/boards/<board>/subjects/<subject>.json`: one subject on one board, in detail. */
export interface Subject {
  readonly version: string;
  /** id */
  readonly board: string;
  readonly row: Row;
  readonly marks: readonly MarkScale[];
  /** in the order of *marks* */
  readonly means: readonly MarkMean[];
  readonly runs: readonly RunDetail[];
  /** when they were; null: nothing was finished */
  readonly made: Made | null;
  /** the row's *scenarios*, as the mean over all ranked subjects */
  readonly field: readonly (number | null)[];
  /** empty unless the board is a pool */
  readonly by_configuration: readonly ConfigurationScore[];
  readonly elsewhere: readonly Elsewhere[];
  /** all runs, replies and judge, attempts that were thrown away included; null: not known */
  readonly dollars: number | null;
  readonly served: readonly Served[];
  readonly names: readonly NameChoice[];
  /** by run, configuration, scenario */
  readonly transcripts: readonly TranscriptEntry[];
  /** as text */
  readonly shown: {
    readonly field: readonly (string | null)[];
    readonly dollars: string | null;
  };
}

/** A part of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One thing said. */
export interface Line {
  /** given: put into the model's mouth */
  readonly who: "human" | "given" | "model";
  readonly text: string;
  /** the model's, unseen by the human and by the judges; "": none */
  readonly notes: string;
  /** likewise: what it thought before it */
  readonly reasoning: string;
  /** the reply's name where the model itself said it, else "" */
  readonly reply: string;
  /** whether the marks are about it */
  readonly judged: boolean;
}

/** One try at a call. */
export interface Attempt {
  /** answered, cut off, lost, in flight, or what went wrong */
  readonly outcome: string;
  /** whether its answer is the one that is stored */
  readonly accepted: boolean;
  /** what was wrong with it, in the words of whoever said so */
  readonly why: string | null;
  /** HTTP */
  readonly status: number | null;
  readonly finish_reason: string | null;
  readonly started: string;
  readonly seconds: number | null;
  readonly max_tokens: number;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly dollars: number | null;
  /** that served it, by its own word */
  readonly model: string | null;
  readonly provider: string | null;
  /** as text */
  readonly shown: {
    readonly seconds: string | null;
    readonly dollars: string | null;
  };
}

/** One reply that the script asks for. */
export interface Reply {
  readonly name: string;
  /** place in *lines*; null: there is none */
  readonly line: number | null;
  /** why there is none */
  readonly invalid: string | null;
  readonly cut_off: boolean;
  readonly plain_text: boolean;
  readonly reasoned: boolean;
  /** empty: nothing is known of them */
  readonly attempts: readonly Attempt[];
}

/** A call of the tool. *arguments* is JSON text. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** One message of the conversation as it is sent to the model. */
export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly calls: readonly ToolCall[];
  /** the id of the call that this is the result of */
  readonly answers: string | null;
}

/** Words of the transcript that a judge's reasoning quotes. */
export interface Quote {
  readonly reasoning: Span;
  readonly line: number;
  /** in the line's text */
  readonly text: Span;
}

/** A reason to read a verdict. */
export interface Flag {
  readonly kind: "reasoning" | "embedded";
  readonly mark: string;
  readonly why: string;
}

/** What one judge made of the transcript. */
export interface Judgement {
  /** label */
  readonly judge: string;
  readonly kind: "model" | "table" | "person" | "jury";
  readonly marks: Readonly<Record<string, number>>;
  readonly reasoning: string;
  /** why there is no verdict */
  readonly failed: string | null;
  readonly flags: readonly Flag[];
  /** in the order of the reasoning; may overlap in the lines, never in the reasoning */
  readonly quotes: readonly Quote[];
  readonly attempts: readonly Attempt[];
  /** as text */
  readonly shown: {
    readonly marks: Readonly<Record<string, string>>;
  };
}

/** Where a phrase stands. */
export interface PhrasePlace {
  readonly line: number;
  readonly text: Span;
}

/** What weighed in the embedded judge's mark. */
export interface Phrase {
  readonly text: string;
  /** change of the mark against the same reply without it, in its points; above 0: raised it */
  readonly weight: number;
  /** empty: something counted, not a phrase */
  readonly places: readonly PhrasePlace[];
  /** as text */
  readonly shown: {
    readonly weight: string;
  };
}

/** One mark of the embedded judge, and the five phrases that weighed most in it. */
export interface PhraseMark {
  readonly mark: string;
  readonly value: number;
  readonly phrases: readonly Phrase[];
  /** as text */
  readonly shown: {
    readonly value: string;
  };
}

/** How the embedded judge reads the transcript. */
export interface Embedded {
  /**
   * whether its judgement is in the store; else it was worked out for this page and counts nowhere
   */
  readonly stored: boolean;
  readonly marks: readonly PhraseMark[];
}

/** Words that two texts share. */
export interface Shared {
  readonly first: Span;
  readonly second: Span;
}

/**
 * Two answers of the model side by side; what is not shared is new in the second, or gone from the
 * first.
 */
export interface Turns {
  /** place in *lines* */
  readonly first: number;
  readonly second: number;
  /** in the order of the second, where they do not overlap; in the first they may */
  readonly shared: readonly Shared[];
}

/** Another transcript of the same protocol and configuration. */
export interface Neighbour {
  readonly id: string;
  /** the subject's */
  readonly label: string;
  /** title */
  readonly scenario: string;
  readonly run: number;
}

/**
 * Where the arrow keys lead: the same but for one thing; null at the end. Subjects are in order of
 * label.
 */
export interface Neighbours {
  readonly previous_run: Neighbour | null;
  readonly next_run: Neighbour | null;
  readonly previous_subject: Neighbour | null;
  readonly next_subject: Neighbour | null;
  readonly previous_scenario: Neighbour | null;
  readonly next_scenario: Neighbour | null;
}

/** Where on a board a transcript counts. */
export interface TranscriptPlace {
  readonly board: string;
  readonly subject: string;
}

/** `api/transcripts/<transcript>.json`: one conversation with everything that belongs to it. */
export interface Transcript {
  readonly id: string;
  /** the store's */
  readonly key: string;
  readonly protocol: ProtocolEntry;
  readonly subject: SubjectFacts;
  /** id */
  readonly scenario: string;
  readonly scenario_title: string;
  /** title */
  readonly experiment: string;
  readonly run: number;
  readonly configuration: string;
  readonly delivery: "user_role" | "tool_role";
  readonly state: "complete" | "invalid";
  /** why */
  readonly invalid: string | null;
  /** system prompt, without what tool_role adds to it */
  readonly system: string;
  readonly lines: readonly Line[];
  readonly replies: readonly Reply[];
  /** the same conversation as it is sent; tool_role: with the tool protocol */
  readonly messages: readonly Message[];
  /** the tools that the model is offered, as JSON text; "[]": none */
  readonly tools: string;
  /** marks that its rubrics ask for, in their order */
  readonly scales: readonly MarkScale[];
  /** texts */
  readonly rubrics: readonly string[];
  /** of all judges, by label */
  readonly judgements: readonly Judgement[];
  readonly embedded: Embedded | null;
  /** for scenarios with two answers */
  readonly turns: Turns | null;
  readonly neighbours: Neighbours;
  readonly boards: readonly TranscriptPlace[];
}

/** One try as it came. */
export interface RawAttempt {
  readonly outcome: string;
  readonly status: number | null;
  /** the body; "": nothing came, or nothing was kept */
  readonly response: string;
}

/**
 * One call as it was recorded. *request* is JSON text: messages, tools and settings, without
 * address and key.
 */
export interface RawCall {
  readonly kind: "reply" | "judgement";
  /** the reply's name, or the judge's label */
  readonly name: string;
  readonly request: string;
  readonly attempts: readonly RawAttempt[];
}

/** `api/raw/<transcript>.json`: what was sent and what came back. Only where the offer says raw. */
export interface Raw {
  readonly transcript: string;
  readonly calls: readonly RawCall[];
}

/** One subject's answer in one run. */
export interface Answer {
  /** id */
  readonly transcript: string;
  /** id */
  readonly subject: string;
  readonly label: string;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "not judged" | "judge failed" | "invalid";
  readonly score: number | null;
  readonly marks: Readonly<Record<string, number>>;
  /** of the judged reply, its beginning; several are joined by a blank line */
  readonly text: string;
  /** whether *text* is all of it */
  readonly whole: boolean;
  readonly cut_off: boolean;
  /** as text */
  readonly shown: {
    readonly score: string | null;
    readonly marks: Readonly<Record<string, string>>;
  };
}

/** One line of a script; {{name}} stands for what the model said there. */
export interface Said {
  readonly who: "human" | "given" | "model";
  /** for the model: the reply's name */
  readonly text: string;
}

/** `api/boards/<board>/scenarios/<scenario>.json`: one scenario over all subjects. */
export interface Scenario {
  readonly version: string;
  readonly board: string;
  readonly facts: ScenarioFacts;
  readonly script: readonly Said[];
  readonly scales: readonly MarkScale[];
  readonly rubrics: readonly string[];
  /** highest score first; those without one last */
  readonly answers: readonly Answer[];
}

/** What is compared: one dimension over all scenarios (*scenario* null), or in one. */
export interface Compared {
  /** id */
  readonly scenario: string | null;
  /** name; null: the index itself */
  readonly dimension: string | null;
}

/**
 * The second minus the first, of two subjects or of one in two configurations; in the order of
 * *compared*.
 */
export interface Differences {
  /** null: one of the two has no mark of it */
  readonly points: readonly (number | null)[];
  /** the same, as text */
  readonly shown: readonly (string | null)[];
  /** *lows* and *highs*, as text */
  readonly between: readonly (string | null)[];
  /** of the differences' 95 % intervals, were the same scenarios played again */
  readonly lows: readonly (number | null)[];
  readonly highs: readonly (number | null)[];
  /** of the index and the dimensions of two subjects: were other scenarios asked */
  readonly another: readonly (Interval | null)[];
  /** why intervals are missing; null: nothing is missing, or it is not known */
  readonly why: string | null;
  /** places in *compared*: one of the two is above 50 and the other below; largest first */
  readonly flipped: readonly number[];
  /** places of every other dimension in a scenario that both have, largest difference first */
  readonly order: readonly number[];
  /** places told from 0 though so many are looked at (Holm's procedure): of the dimensions, by */
  readonly stand: readonly number[];
  /** of the dimensions, were other scenarios asked */
  readonly stand_another: readonly number[];
}

/** One other subject beside the first. */
export interface Comparison {
  /** id */
  readonly subject: string;
  readonly label: string;
  /** [0, 100], in the order of *compared* */
  readonly values: readonly (number | null)[];
  /** the same, as text */
  readonly shown: readonly (string | null)[];
  readonly apart: Differences;
}

/** `api/boards/<board>/compare/<subject>.json`: one subject beside every other one of the board. */
export interface Comparisons {
  readonly version: string;
  readonly board: string;
  /** id */
  readonly subject: string;
  readonly label: string;
  /** the index, each dimension, each dimension in each scenario */
  readonly compared: readonly Compared[];
  /** the first subject's */
  readonly values: readonly (number | null)[];
  /** the same, as text */
  readonly shown: readonly (string | null)[];
  /** in the board's order */
  readonly others: readonly Comparison[];
}

/** One of the subject's configurations beside another one, which is the first. */
export interface OtherConfiguration {
  readonly configuration: string;
  readonly apart: Differences;
}

/** A subject in one configuration, and every other one of its beside it. */
export interface InConfiguration {
  readonly configuration: string;
  /** id of the board that it is on, alone or in a pool */
  readonly board: string;
  /** [0, 100], in the order of *compared* */
  readonly values: readonly (number | null)[];
  /** the same, as text */
  readonly shown: readonly (string | null)[];
  readonly others: readonly OtherConfiguration[];
}

/**
 * `api/settings/<series>/<subject>.json`: one subject in each configuration that it has marks in.
 */
export interface InConfigurations {
  readonly version: string;
  readonly series: string;
  /** id */
  readonly subject: string;
  readonly label: string;
  readonly compared: readonly Compared[];
  /** two or more, in the protocol's order */
  readonly configurations: readonly InConfiguration[];
}

/** One judge. */
export interface JudgeRow {
  readonly label: string;
  readonly kind: "model" | "table" | "person" | "jury";
  readonly judged: number;
  readonly failed: number;
  /** [0, 1] */
  readonly failed_share: number | null;
  readonly flagged: number;
  /** its index minus the mean of the others' */
  readonly leniency: number | null;
  /** of one subject; null: not known */
  readonly dollars_per_run: number | null;
  /** likewise, of its calls one after the other */
  readonly seconds_per_run: number | null;
  /** as text */
  readonly shown: {
    readonly failed_share: string | null;
    readonly leniency: string | null;
    readonly dollars_per_run: string | null;
    readonly seconds_per_run: string | null;
  };
}

/** One subject under each judge, in the judges' order. */
export interface JudgedSubject {
  readonly label: string;
  /** id */
  readonly subject: string;
  readonly indices: readonly (number | null)[];
  readonly mean: number | null;
  readonly spread: number | null;
  /** as text */
  readonly shown: {
    readonly indices: readonly (string | null)[];
    readonly mean: string | null;
    readonly spread: string | null;
  };
}

/** What a judge gives its own kind, beside what the others give the same subjects. */
export interface Favour {
  readonly judge: string;
  readonly whom: "itself" | "its family";
  readonly family: string | null;
  readonly subjects: number;
  readonly own: number;
  readonly others: number;
  readonly elsewhere: number | null;
  readonly difference: number;
  /** as text */
  readonly shown: {
    readonly own: string;
    readonly others: string;
    readonly elsewhere: string | null;
    readonly difference: string;
  };
}

/** Quadratic kappa of two judges. */
export interface Kappa {
  readonly one: string;
  readonly other: string;
  readonly kappa: number | null;
  /** as text */
  readonly shown: {
    readonly kappa: string | null;
  };
}

/** How far the judges agree on one mark. */
export interface MarkAgreement {
  readonly mark: MarkScale;
  readonly conversations: number;
  /** Krippendorff's, ordinal */
  readonly alpha: number | null;
  /** ICC(2,k) */
  readonly icc: number | null;
  readonly icc_judges: number;
  readonly icc_conversations: number;
  readonly kappas: readonly Kappa[];
  /** as text */
  readonly shown: {
    readonly alpha: string | null;
    readonly icc: string | null;
  };
}

/** How far two judges agree. */
export interface PairAgreement {
  readonly one: string;
  readonly other: string;
  readonly subjects: number;
  readonly rank_correlation: number | null;
  readonly conversations: number;
  readonly kappa: number | null;
  /** as text */
  readonly shown: {
    readonly rank_correlation: string | null;
    readonly kappa: string | null;
  };
}

/** A conversation that was marked. */
export interface JudgedPlace {
  /** id */
  readonly transcript: string | null;
  readonly label: string;
  /** title */
  readonly scenario: string;
  readonly configuration: string;
  readonly run: number;
}

/** What each judge gave, in the judges' order. */
export interface DisputedMark {
  readonly mark: string;
  readonly values: readonly (number | null)[];
  /** as text */
  readonly shown: {
    readonly values: readonly (string | null)[];
  };
}

/** One conversation that the judges mark differently. */
export interface Dispute {
  readonly place: JudgedPlace;
  /** [0, 1] */
  readonly spread: number;
  readonly marks: readonly DisputedMark[];
  /** as text */
  readonly shown: {
    readonly spread: string;
  };
}

/** One verdict that a person should read. */
export interface Flagged {
  readonly place: JudgedPlace;
  readonly judge: string;
  readonly flags: readonly Flag[];
}

/** All judges of one configuration (or the pooled default). */
export interface Panel {
  readonly configurations: readonly string[];
  readonly conversations: number;
  readonly judges: readonly JudgeRow[];
  /** label of the main judge; null: there is none */
  readonly main: string | null;
  readonly subjects: readonly JudgedSubject[];
  readonly favours: readonly Favour[];
  readonly marks: readonly MarkAgreement[];
  readonly pairs: readonly PairAgreement[];
  /** the worst, at most a few hundred */
  readonly disputes: readonly Dispute[];
  /** all of them */
  readonly disputed: number;
  /** likewise */
  readonly flagged: readonly Flagged[];
  readonly flagged_in_all: number;
}

/** `api/judges/<protocol>.json`: the judges of one protocol beside each other. */
export interface Judges {
  readonly version: string;
  readonly protocol: ProtocolEntry;
  readonly panels: readonly Panel[];
}

/** What a judge is told about some marks. */
export interface RubricText {
  readonly name: string;
  readonly text: string;
  readonly marks: readonly MarkScale[];
}

/** One scenario as it is played and judged. */
export interface ScenarioMethod {
  readonly id: string;
  readonly title: string;
  readonly script: readonly Said[];
  /** names of the replies that the marks are about */
  readonly judged: readonly string[];
  readonly rubrics: readonly RubricText[];
}

/** Scenarios that measure one thing. */
export interface ExperimentMethod {
  readonly title: string;
  readonly scenarios: readonly ScenarioMethod[];
}

/** One system variant. */
export interface SystemPrompt {
  readonly name: string;
  readonly text: string;
}

/** One protocol in full. */
export interface ProtocolMethod {
  readonly protocol: ProtocolEntry;
  readonly description: string;
  readonly temperature: number;
  readonly max_tokens: number;
  /** that it is meant to be marked by */
  readonly judge: string;
  readonly judge_instructions: string;
  readonly systems: readonly SystemPrompt[];
  /** tool_role: the tool that the model speaks through, as JSON text */
  readonly tool: string;
  readonly tool_instructions: string;
  /** played and pooled by default */
  readonly configurations: readonly string[];
  readonly experiments: readonly ExperimentMethod[];
  readonly dimensions: readonly DimensionFacts[];
}

/**
 * A piece of an equation. What a *kind* has as *parts*, in this order; what has no parts has a
 * *text*.
 *
 * name, words, number, sign: a text. row: what stands side by side. fraction: above, below. root:
 * inside. power: base, exponent. index: base, index. mean: what has a line above it. sum: what is
 * added up, what over (or from where), and up to where.
 */
export interface Expression {
  readonly kind: "name" | "words" | "number" | "sign" | "row" | "fraction" | "root" | "power" | "index" | "mean" | "sum";
  readonly text: string;
  readonly parts: readonly Expression[];
}

/** One equation: to be read out or copied, and to be drawn. */
export interface Equation {
  readonly text: string;
  readonly shown: Expression;
}

/** What a letter of an equation stands for. */
export interface Letter {
  readonly text: string;
  readonly shown: Expression;
  readonly means: string;
}

/** What a word or a number means, in plain words, with the equations that it is made by. */
export interface Term {
  readonly name: string;
  readonly text: string;
  readonly equations: readonly Equation[];
  /** the letters in them */
  readonly where: readonly Letter[];
}

/** `api/methods.json`: how all this was measured. */
export interface Methods {
  readonly protocols: readonly ProtocolMethod[];
  readonly terms: readonly Term[];
}

/**
 * One kind of texts that can be searched.
 *
 * The words are sorted by code unit and cut into shards; *shards* has the first word of each, so a
 * word is in the last shard whose first word is not above it, and the words that begin with
 * something are in one or several in a row.
 */
export interface SearchPart {
  readonly of: "said" | "judged";
  readonly words: number;
  readonly shards: readonly string[];
  /** what was indexed, in plain words */
  readonly covers: string;
}

/**
 * What can be searched, and how.
 *
 * A word is a run of letters and digits of the text, lower case, accents taken off (NFKD without
 * combining marks), an apostrophe between letters left out, cut after *longest* characters.
 */
export interface SearchIndex {
  readonly version: string;
  /** part of the paths below */
  readonly build: string;
  readonly documents: number;
  readonly longest: number;
  /** documents in a file of documents/ */
  readonly block: number;
  readonly parts: readonly SearchPart[];
}

/** `api/search/index.json`: the newest index that there is, and how far the next one is. */
export interface SearchHead {
  /** null: none yet */
  readonly index: SearchIndex | null;
  /** the share that is done, in [0, 1]; null: no newer one is needed */
  readonly preparing: number | null;
}

/**
 * `api/search/<build>/<of>/<n>.json`: one shard of a part.
 *
 * Word -> the documents that have it: their numbers in rising order, each as its distance from the
 * one before it (the first one from -1), in base 36, with commas; where a word is in most
 * documents, "!" and likewise those documents that lack it.
 */
export interface SearchWords {
  readonly words: Readonly<Record<string, string>>;
}

/** One transcript that can be found. Its place in the whole list is its number. */
export interface SearchDocument {
  readonly transcript: string;
  readonly label: string;
  /** title */
  readonly scenario: string;
  readonly run: number;
  readonly configuration: string;
  /** id */
  readonly protocol: string;
}

/** `api/search/<build>/documents/<n>.json`: documents n x block, n x block + 1, ... */
export interface SearchDocuments {
  readonly documents: readonly SearchDocument[];
}
