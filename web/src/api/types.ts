// Made from the classes of src/independence_bench/viewer/ and of the values in them by `make docs`; change them there.

/**
 * What all answers share: absent is null, never 0; indices and scores are in [0, 100], 100 being the
 * independent end; times are ISO 8601 in UTC; costs are US dollars; what is shown of a number stands beside
 * it as text, under *shown*, and is rounded by nobody else; ids are made by us and safe in a path; labels and
 * all other texts are hostile. A *start* and an *end* count UTF-16 code units, as JavaScript's strings do; the
 * end is the first one that no longer belongs to it.
 */

/** The numbers *Names* of a value as text. */
type Shown<Value, Names extends keyof Value> = { readonly [Name in Names]: AsText<Value[Name]> };
type AsText<Part> = Part extends number
  ? string
  : Part extends object
    ? { readonly [Name in keyof Part]: AsText<Part[Name]> }
    : Part;

/**
 * `api/index.json`: what is here. *version* changes when anything else may have changed; poll it.
 */
export interface Index {
  readonly version: string;
  readonly project: Project;
  readonly offer: Offer;
  readonly newest: string | null; // time of the newest record
  readonly protocols: readonly ProtocolEntry[]; // the one played last first
  readonly boards: readonly BoardEntry[]; // the one to open with first
  readonly characters: Readonly<Record<string, string>>;
  readonly citation: Citation;
}

/** What made this. */
export interface Project {
  readonly name: string;
  readonly version: string;
}

/** What this site offers beside boards, subjects, scenarios, transcripts and judges. */
export interface Offer {
  readonly frozen: boolean;
  readonly raw: boolean; // whether api/raw/ is there: requests and responses as they were sent and came
  readonly compared: number | null;
  readonly label: string | null; // who may mark conversations here, as a judge's label; null: nobody
}

/** One version of the benchmark, of which something is stored. */
export interface ProtocolEntry {
  readonly id: string;
  readonly name: string; // with the start of its hash where it is called like a shipped one and is another
  readonly title: string;
  readonly hash: string;
  readonly earlier_form: boolean;
  readonly runs: number; // that it asks for
  readonly scenarios: number;
  readonly transcripts: number; // stored
}

/** A board without its rows, so that it can be listed before they are worked out. */
export interface BoardEntry {
  readonly id: string;
  readonly configurations: readonly string[]; // several are pooled
  readonly judge: string | null; // label; None: nothing is judged yet
  readonly judges: readonly string[]; // labels: the jury's, or the one
  readonly rules: string; // by which marks became indices: own, published
  readonly main: boolean;
  readonly weights: string | null; // a weighting that the protocol names; None: its own weights
  readonly exam: string | null; // what the exam says of the judge or the jury, in a line; None: nothing
  readonly protocol: string; // The protocol's id.
}

/** How to cite what is shown. */
export interface Citation {
  readonly text: string;
  readonly bibtex: string;
}

/**
 * `api/reading.json`: how far a server is with reading its store, which every answer waits for the first time.
 */
export interface FirstReading {
  readonly conversations: number | null; // in the store; null: not counted yet
  readonly share: number | null; // that is done, in [0, 1]; null: nothing waits for it
  readonly shown: Shown<FirstReading, "conversations" | "share">;
}

/**
 * `api/boards/<board>.json`: one entry. `part/0.json` below it: the same with its first rows alone.
 */
export interface Board {
  readonly version: string;
  readonly board: BoardEntry;
  readonly protocol: ProtocolEntry;
  readonly dimensions: readonly Dimension[];
  readonly scenarios: readonly ScenarioFacts[]; // in the protocol's order
  readonly rows: readonly Row[]; // ranked ones first, by rank; then incomplete ones by label
  readonly columns: readonly PageColumn[]; // that the rows have beside index and dimensions
  readonly ranked: number; // how many subjects have an index, in whatever part
  readonly subjects: number; // how many there are
  readonly reach: readonly [number, number] | null;
  readonly parts: number;
  readonly ids: Readonly<Record<string, string>>; // of subjects, by their labels below
  readonly providers: readonly SettingComparison[]; // subjects that are the same but for who serves them
  readonly efforts: readonly SettingComparison[]; // but for how much they are told to reason
  readonly why: string | null; // why an interval is missing; null where none is
  readonly configurations: ConfigurationComparison | null;
  readonly versions: readonly OtherVersion[]; // of the protocol, which this board can be compared with
  readonly remarks: readonly string[]; // what a reader must know about this board, a sentence each
  readonly citation: Citation;
}

/** A number in [0, 1] made of marks, and its weight in the index. */
export interface Dimension {
  readonly name: string;
  readonly title: string;
  readonly marks: readonly string[];
  readonly weight: number;
  readonly inverted: boolean;
}

/**
 * One scenario over all subjects. None: no subject, no points to be had, too few, or no variation.
 */
export interface ScenarioFacts {
  readonly id: string;
  readonly title: string;
  readonly experiment: string;
  readonly points: number; // of the 100, over all of its configurations
  readonly transcripts: number; // of all subjects, runs and configurations
  readonly difficulty: number | null; // [0, 100]
  readonly ceiling: number | null; // [0, 1] of the transcripts: all of the points
  readonly floor: number | null; // [0, 1] of the transcripts: none of them
  readonly discrimination: number | null; // [-1, 1]
  readonly shown: Shown<ScenarioFacts, "points" | "difficulty" | "ceiling" | "floor" | "discrimination">;
}

/**
 * One subject on one board. *rank* is None where the subject is incomplete, and on a demonstration.
 */
export interface Row {
  readonly rank: number | null;
  readonly subject: ChatModel;
  readonly label: string;
  readonly health: Health;
  readonly missing: readonly string[];
  readonly made: RunDates | null; // When its runs were; None: nothing was finished.
  readonly excluded: string | null;
  /**
   * Of a protocol with stems, by our own rules: what it did in each branch, as far as it is judged.
   */
  readonly branches: BranchStatistics | null;
  readonly index_interval_as_published: Interval | null;
  /**
   * Where its judge left out marks that the index needs: mark -> in which share of the conversations, most first.
   */
  readonly left_out_by_judge: Readonly<Record<string, Share>>;
  /**
   * The index if each reply that was lost, and asked for again, had been the lowest; None: none was, or no index.
   */
  readonly index_if_lost_replies_folded: number | null;
  readonly label_doubt: LabelDoubt | null;
  readonly reasoning_tokens: ReasoningTokens | null;
  readonly price: IndexPrice | null;
  readonly reply_length: number | null;
  readonly scenarios: readonly (number | null)[];
  readonly index: number | null; // The mean of its runs' indices.
  readonly index_interval: Uncertainty; // Where the index lies.
  /** The same, were nothing allowed for between sessions; None: nothing is. */
  readonly index_interval_without_sessions: Uncertainty | null;
  readonly ranks: Standing | null; // The ranks that it may have, were the same scenarios played again.
  readonly ranks_new_scenarios: Standing | null; // The same, were other scenarios of this kind asked.
  readonly runs: number; // How many there are.
  readonly standard_deviation: number | null; // Of the runs' indices (n - 1); None for a single run.
  readonly dimensions: Readonly<Record<string, number | null>>; // Dimension -> [0, 1], 1 the most independent.
  readonly dimension_intervals: Readonly<Record<string, Uncertainty>>; // Dimension -> where it lies.
  /** Of a pool: each configuration by itself; else empty. */
  readonly by_configuration: Readonly<Record<string, ConfigurationScore>>;
  readonly whole_runs: number; // How many runs have an index.
  readonly whole_index: number | null; // The mean index of the runs that have one.
  /**
   * Whether it reasons before it answers: as it is set, or by itself in most of its replies.
   */
  readonly thinks: boolean;
  /** In what its replies belie the reasoning effort of its label; None: in nothing. */
  readonly reasoning_doubt: string | null;
  readonly shown: Shown<Row, "index_if_lost_replies_folded" | "reply_length" | "scenarios" | "index" | "runs" |
    "standard_deviation" | "dimensions" | "whole_index">;
}

/** A model, and everything about the way it is called that could change what it says. */
export interface ChatModel {
  readonly model: string;
  readonly endpoint: string;
  readonly temperature: number | null; // None: none is sent, the endpoint takes none
  readonly max_tokens: number; // limit of one reply, reasoning included; 0: not known (results of others)
  readonly reasoning: "off" | "minimal" | "low" | "medium" | "high" | "unset";
  readonly provider: string | null; // pin: only this provider may serve it
  readonly accept_cut_off: boolean;
  readonly identity: string; // what identifies a local model beyond its name (hash of its weights, say)
  readonly stateful: boolean;
  readonly id: string; // What it is called in addresses: by its own label, whoever else is played.
  readonly vendor: string | null; // Who made it.
  readonly name: string; // What the user types: the model id, after ``ENDPOINT:`` where that is not OpenRouter.
  readonly hash: string; // Two subjects are the same exactly when everything that causes their replies is.
}

/**
 * The counts that a row's numbers are based on: what was asked, what came of it, what was judged.
 */
export interface Health {
  readonly transcripts_planned: number; // for the runs that were begun
  readonly transcripts_complete: number;
  readonly transcripts_invalid: number;
  readonly transcripts_judged: number;
  readonly judgements_failed: number;
  readonly replies: number;
  readonly replies_cut_off: number; // ended by the token limit
  readonly replies_plain_text: number; // in plain text, without calling the tool
  readonly replies_with_reasoning: number; // whether it was asked for or not
  readonly attempts_failed: number; // without an answer, of which each but the last was made again
  readonly replies_with_markup: number;
  readonly replies_by_another_model: number;
  readonly conversations_repeated: number;
  /**
   * Attempts with an answer or without one; those that an endpoint postponed are not counted.
   */
  readonly attempts: number;
  readonly share_invalid: number; // Invalid replies of all replies asked for, [0, 1]; 0 where none was.
  /** Attempts that brought no answer of all attempts, [0, 1]; 0 where there was none. */
  readonly share_attempts_failed: number;
  readonly share_cut_off: number; // Replies cut off of all replies asked for, [0, 1]; 0 where none was.
  /**
   * Replies in plain text, without calling the tool, of all replies asked for, [0, 1]; 0 where none was.
   */
  readonly share_plain_text: number;
  /** Replies that came with reasoning of all replies asked for, [0, 1]; 0 where none was. */
  readonly share_with_reasoning: number;
  /**
   * Conversations that an earlier run had word for word of all complete ones, [0, 1); 0 where none was.
   */
  readonly share_repeated: number;
  readonly shown: Shown<Health, "transcripts_judged" | "judgements_failed" | "replies" | "replies_with_markup" |
    "replies_by_another_model" | "conversations_repeated" | "share_invalid" | "share_attempts_failed" | "share_cut_off"
    | "share_plain_text" | "share_with_reasoning" | "share_repeated">;
}

/** When the runs of a subject were made: ISO 8601 in UTC. */
export interface RunDates {
  readonly first: string;
  readonly last: string;
  readonly days: number; // dates on which a conversation ended
  readonly span_hours: number; // from the beginning of the first run to that of the last
  readonly runs: Readonly<Record<string, string>>; // run -> when its first conversation ended
  readonly span: string; // 5.5 h
  readonly says: string; // in how many sessions they were made
}

/** All of it, of one subject. None, or not in a mapping: nothing of the kind was judged. */
export interface BranchStatistics {
  readonly runs: number; // in which anything was judged
  readonly judges: number;
  readonly quantities: readonly string[];
  readonly values: Readonly<Record<string, StemMean | null>>;
  readonly folds: Folds | null;
  /**
   * Marks that a branch's value needs and that a judge left out in some case of it: it has no value then.
   */
  readonly left_out: Readonly<Record<string, readonly string[]>>;
}

/**
 * A number with where it lies over other stems of the kind, at 95%; both in the unit that the field states.
 */
export interface StemMean {
  readonly value: number;
  readonly interval: Interval | null; // None: fewer than `FEWEST` stems
  readonly stems: number; // that it is the mean of, at least 1
  readonly shown: string;
}

/** Where a number lies, at the stated level. In the number's own unit; *low* <= *high*. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly shown: string;
}

/**
 * How long positions last under pressure. A ladder is one case as one judge saw it; stems weigh alike.
 */
export interface Folds {
  readonly pushes: number;
  readonly curve: readonly Step[]; // one for each push
  readonly bands: readonly (Interval | null)[]; // of `standing` at each push, [0, 1]
  readonly withstood: StemMean;
  readonly recovered: Share;
  readonly techniques: readonly TechniqueFolds[]; // in the order in which the stems first use them
}

/** What happened at one push. Ladders count by their weight. */
export interface Step {
  readonly push: number; // 1, 2, ...
  readonly at_risk: number; // ladders that stood before it and were pushed
  readonly folded: number; // of those, at this push
  readonly standing: number | null;
  readonly shown: Shown<Step, "folded" | "standing">;
}

/** A part of a count. Of a jury the counts are means over its judges. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly interval: Interval | null;
  readonly value: number | null; // [0, 1]; None of nothing.
  readonly shown: Shown<Share, "count" | "of" | "value">;
}

/** What one technique did, whichever of the pushes used it. */
export interface TechniqueFolds {
  readonly technique: string; // as the stems' files call it; "": pushes that name none
  readonly pushed: number; // ladders that stood before a push of it
  readonly folded: number; // of those, at it
  readonly share: number | null; // Of the ladders that met it those that it folded, [0, 1]; None where none met it.
  readonly shown: Shown<TechniqueFolds, "pushed" | "folded" | "share">;
}

/** Why a label may be taken for another. */
export interface LabelDoubt {
  readonly reads_like: readonly string[]; // the labels that it looks like, as they are shown
  readonly mixed_scripts: readonly string[];
  readonly says: string; // The label, written out in ASCII, and why.
}

/** How many tokens of reasoning a subject's valid replies came with. */
export interface ReasoningTokens {
  readonly mean: number; // of a reply
  readonly estimated: boolean;
  readonly shown: string;
}

/** What a ranked subject's index costs, in dollars of one run. None: not known. */
export interface IndexPrice {
  readonly label: string;
  readonly index: number;
  readonly replies_per_run: number | null;
  readonly judging_per_run: number | null; // what the board's judge took for it
  readonly dollars_per_run: number | null;
  readonly free: boolean; // Whether neither its replies nor its judge cost anything.
  /**
   * The index over the dollars of one run; None where it is free, or its price is not known.
   */
  readonly points_per_dollar: number | null;
  readonly shown: Shown<IndexPrice, "replies_per_run" | "judging_per_run" | "dollars_per_run" | "points_per_dollar">;
}

/**
 * Where a number lies, at 95%, by each of the two questions; in its own unit. None: not known.
 */
export interface Uncertainty {
  readonly rerun: Interval | null;
  readonly new_scenarios: Interval | null;
}

/** One subject's possible ranks, which hold for it at 95%. */
export interface Standing {
  readonly rank_low: number; // the best rank that it may have; 1 is the first
  readonly rank_high: number; // the worst one
  readonly tied_with_best: boolean; // it may be first: no other subject is significantly better
}

/** Of a pool: what one configuration comes to by itself. */
export interface ConfigurationScore {
  readonly index: number | null;
  readonly standard_deviation: number | null;
  readonly index_interval: Uncertainty;
  readonly shown: Shown<ConfigurationScore, "index" | "standard_deviation">;
}

/** A column of the page's table of rows. */
export interface PageColumn {
  readonly path: readonly string[]; // from a row to its number; its text stands under *shown* beside it
  readonly title: string;
  readonly meaning: string;
  readonly wide: boolean; // not beside the index, but with what the numbers are based on
}

/** Subjects that are the same but for one setting. */
export interface SettingComparison {
  readonly model: string;
  readonly against: string | null;
  readonly variants: readonly Variant[];
}

/** One of the subjects of a comparison. */
export interface Variant {
  readonly label: string;
  readonly setting: string; // the provider that it is pinned to, or the effort
  readonly index: number | null; // None: incomplete
  readonly runs: number;
  readonly difference: number | null;
  readonly served: Readonly<Record<string, number>>; // provider -> replies, the one that served most first
  readonly stands: boolean | null;
  readonly interval: Uncertainty | null; // Of the difference; None: not both of them are ranked.
  /** The smallest true difference that 80 of 100 repetitions would tell from none. */
  readonly smallest_seen: ByQuestion | null;
  readonly p: ByQuestion | null; // The p at which 0 would be on the edge of the interval.
  readonly shown: Shown<Variant, "index" | "difference">;
}

/** A number by each of the two questions; None: not known. */
export interface ByQuestion {
  readonly rerun: number | null;
  readonly new_scenarios: number | null;
}

/** All configurations that a judge's marks give an index in, in the protocol's order. */
export interface ConfigurationComparison {
  readonly judge: string | null;
  readonly places: readonly ConfigurationSummary[];
  readonly subjects: readonly SubjectIndices[]; // those with an index in two places or more, by label
}

/** One configuration and what the subjects came to in it. */
export interface ConfigurationSummary {
  readonly configuration: string;
  readonly subjects: number; // that have an index there
  readonly mean: number; // of theirs
  readonly effect: Effect | null; // None: it is the first one, or no subject has an index in both
  readonly shown: Shown<ConfigurationSummary, "mean">;
}

/**
 * The index in one configuration minus that in the first one: the mean over the subjects that have both.
 */
export interface Effect {
  readonly subjects: number;
  readonly points: number;
  readonly sampled: Interval | null; // at 95%; None: fewer than three subjects
  readonly rerun: Interval | null;
  readonly shown: Shown<Effect, "points">;
}

/**
 * One subject in the configurations of a comparison, in its order; None where it has no index.
 */
export interface SubjectIndices {
  readonly label: string;
  readonly indices: readonly (number | null)[];
  readonly intervals: readonly (Interval | null)[];
  readonly changes: readonly (SubjectEffect | null)[]; // minus the first configuration's; None for itself
  readonly shown: Shown<SubjectIndices, "indices">;
}

/**
 * A difference of one subject's indices, with its interval by the same test again where that is known.
 */
export interface SubjectEffect {
  readonly points: number;
  readonly rerun: Interval | null;
  readonly shown: Shown<SubjectEffect, "points">;
}

/** Another version that a board can be compared with. */
export interface OtherVersion {
  readonly protocol: string; // its id
  readonly name: string;
  readonly hash: string; // the start of it, which tells versions of one name apart
  readonly subjects: number; // with marks by both
}

/** `api/boards/<board>/part/<n>.json`, from 1: rows that the first part lacks. */
export interface BoardPart {
  readonly version: string;
  readonly rows: readonly Row[];
}

/** `api/boards/<board>/subjects/<subject>.json`: one subject on one board, in detail. */
export interface Subject {
  readonly version: string;
  readonly board: string; // id
  readonly row: Row;
  readonly profile: readonly FieldProfile[];
  readonly marks: readonly MarkScale[];
  readonly runs: readonly RunDetail[];
  readonly field: readonly (number | null)[]; // the row's *scenarios*, as the mean over all ranked subjects
  readonly elsewhere: readonly Elsewhere[];
  readonly dollars: number | null;
  readonly served: readonly (readonly [string, number])[]; // (provider, replies), the one that served most first
  readonly names: readonly NameChoice[];
  readonly transcripts: readonly TranscriptEntry[]; // by run, configuration, scenario
  readonly scales: readonly MarkScale[];
  readonly stems: readonly StemEntry[];
  readonly shown: Shown<Subject, "field" | "dollars">;
}

/** Where the other ranked subjects lie in one dimension, in [0, 100]. */
export interface FieldProfile {
  readonly dimension: string; // name
  readonly place: number; // of the dimension, and of its score in the board's row, from 0
  readonly others: readonly number[]; // the lowest first
  readonly quartiles: readonly number[];
  readonly below: number; // how many of them score lower than this subject
  readonly above: number; // higher; both 0 where it has no score
  readonly shown: Shown<FieldProfile, "others" | "quartiles">;
}

/** One mark and its scale. */
export interface MarkScale {
  readonly name: string;
  readonly title: string;
  readonly kind: "number" | "whole" | "yes_no" | "levels";
  readonly levels: readonly string[];
  readonly low: number;
  readonly high: number;
  readonly inverted: boolean; // whether the low end is the independent one
  readonly asks: string;
  readonly shown: Shown<MarkScale, "low" | "high">;
}

/** One run. */
export interface RunDetail {
  readonly run: number;
  readonly index: number | null;
  readonly dimensions: readonly (number | null)[]; // in the board's order
  readonly scenarios: readonly (number | null)[]; // share of its points, in the board's order of scenarios
  readonly began: string | null; // when its first conversation ended: 2026-01-31 12:00, in UTC
  readonly shown: Shown<RunDetail, "index" | "dimensions" | "scenarios">;
}

/**
 * The same subject on another board of the series: under another prompt, or delivered otherwise.
 */
export interface Elsewhere {
  readonly board: string; // id
  readonly configurations: readonly string[];
  readonly index: Score;
  readonly change: SubjectEffect | null;
  readonly why: string | null; // why its interval is missing; null where it is there
}

/** A number in [0, 100] with its uncertainty. */
export interface Score {
  readonly value: number | null;
  readonly uncertainty: Uncertainty;
  readonly why: string | null; // why an interval is missing; null where none is
  readonly shown: string | null;
}

/** The name and the gender that a subject chose in one conversation: freely, and at the end. */
export interface NameChoice {
  readonly read: NamesRead;
  readonly transcript: string; // id
}

/**
 * What one subject called itself in one conversation: *first* when it chose freely, *final* at the end.
 */
export interface NamesRead {
  readonly subject_hash: string;
  readonly subject: string;
  readonly run: number;
  readonly configuration: string;
  readonly scenario: string;
  readonly transcript: string;
  readonly first: ChosenName;
  readonly final: ChosenName;
  readonly read_by: string | null;
  readonly name_changed: boolean | null; // by the judge's marks; None: not marked
  readonly gender_changed: boolean | null;
  /**
   * The names that it chose freely: one, or several; () where it gave none, or is not read.
   */
  readonly picks: readonly string[];
}

/**
 * The name and gender of a model at one time: a gender of GENDERS; None where there is none, and why.
 */
export interface ChosenName {
  readonly name: string | null;
  readonly gender: string | null;
  readonly name_state: "chosen" | "declined" | "unsaid" | "unread";
  readonly gender_state: "chosen" | "declined" | "unsaid" | "unread";
}

/** A transcript in a list, with this board's marks. */
export interface TranscriptEntry {
  readonly id: string;
  readonly scenario: string; // id; of a branch that of its stem
  readonly branch: string | null;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "not judged" | "judge failed" | "invalid" | "not played";
  readonly why: string | null; // for invalid and judge failed
  readonly score: number | null;
  readonly marks: Readonly<Record<string, number>>; // mark -> number on its scale
  readonly replies: number;
  readonly cut_off: number;
  readonly plain_text: number;
  readonly reasoned: number;
  readonly shown: Shown<TranscriptEntry, "score" | "marks">;
}

/** A stem in one run of one subject: what its branches come to. */
export interface StemEntry {
  readonly id: string; // of the first branch's transcript
  readonly scenario: string; // id
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "not judged" | "judge failed" | "invalid" | "not played";
  readonly why: string | null;
  readonly score: number | null; // [0, 100]; null: a mark is missing
  readonly branches: readonly TranscriptEntry[]; // in the protocol's order, as far as they are played
  readonly shown: Shown<StemEntry, "score">;
}

/** `api/boards/<board>/scenarios/<scenario>.json`: one scenario over all subjects. */
export interface Scenario {
  readonly version: string;
  readonly board: string;
  readonly facts: ScenarioFacts;
  readonly script: readonly ScriptLine[];
  readonly scales: readonly MarkScale[];
  readonly branch_scales: readonly MarkScale[]; // of the marks of a stem's branches
  readonly made_of: string;
  readonly rubrics: readonly string[];
  readonly presses: boolean;
  readonly histograms: readonly MarkHistogram[];
  readonly groups: Readonly<Partial<Record<"held" | "partly" | "folded" | "none", number>>>;
  readonly answers: readonly SubjectReply[]; // highest score first; those without one last
}

/** One line of a script; {{name}} stands for what the model said there. */
export interface ScriptLine {
  readonly who: "human" | "given" | "model";
  readonly text: string; // for the model: the reply's name
}

/** How often each value of a mark was given, from the low end of its scale to the high one. */
export interface MarkHistogram {
  readonly mark: string; // its name; "" for the score
  readonly title: string;
  readonly bars: readonly HistogramBar[];
  readonly answers: number; // that have it
}

/** How many answers have a value in one part of its range. */
export interface HistogramBar {
  readonly text: string; // what the bar stands for: 7, 70–79, yes, the name of a level
  readonly count: number;
}

/** One subject's answer in one run. */
export interface SubjectReply {
  readonly transcript: string; // id
  readonly subject: string; // id
  readonly label: string;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "not judged" | "judge failed" | "invalid" | "not played";
  readonly score: number | null;
  readonly outcome: "held" | "partly" | "folded" | null;
  readonly marks: Readonly<Record<string, number>>;
  readonly text: string;
  readonly whole: boolean; // whether *text* is all of it
  readonly cut_off: boolean;
  readonly branches: readonly TranscriptEntry[];
  readonly shown: Shown<SubjectReply, "score" | "marks">;
}

/** `api/transcripts/<transcript>.json`: one conversation with everything that belongs to it. */
export interface Transcript {
  readonly id: string;
  readonly key: string; // the store's
  readonly protocol: ProtocolEntry;
  readonly subject: SubjectFacts;
  readonly scenario: string; // id; of a stem's branch that of its stem
  readonly branch: string | null;
  readonly scenario_title: string;
  readonly experiment: string; // title
  readonly run: number;
  readonly configuration: string;
  readonly delivery: "user_role" | "tool_role";
  readonly state: "complete" | "invalid";
  readonly invalid: string | null; // why
  readonly system: string; // system prompt, without what tool_role adds to it
  readonly lines: readonly TranscriptLine[];
  readonly replies: readonly TranscriptReply[];
  readonly messages: readonly Message[];
  readonly tools: string; // the tools that the model is offered, as JSON text; "[]": none
  readonly scales: readonly MarkScale[]; // marks that its rubrics ask for, in their order
  readonly rubrics: readonly string[]; // texts
  readonly judgements: readonly TranscriptJudgement[]; // of all judges, by label
  readonly exams: readonly string[]; // what the exam says of them, in lines
  readonly embedded: Embedded | null;
  readonly turns: Turns | null; // for scenarios with two answers
  readonly neighbours: Neighbours;
  readonly boards: readonly string[]; // ids of those that it counts on
}

/** What is known of a subject beside what it said. */
export interface SubjectFacts {
  readonly id: string;
  readonly label: string;
  readonly hash: string;
  readonly name: string; // as it is typed: model id, behind ENDPOINT: where that is not OpenRouter
  readonly model: string;
  readonly endpoint: string;
  readonly family: string | null; // vendor
  readonly provider: string | null; // that it is pinned to
  readonly temperature: number;
  readonly max_tokens: number;
  readonly reasoning: string; // off, minimal, low, medium, high
}

/** One thing said. */
export interface TranscriptLine {
  readonly who: "human" | "given" | "model"; // given: put into the model's mouth
  readonly text: string;
  readonly notes: string; // the model's, unseen by the human and by the judges; "": none
  readonly reasoning: string; // likewise: what it thought before it
  readonly reply: string; // the reply's name where the model itself said it, else ""
  readonly judged: boolean; // whether the marks are about it
}

/** One reply that the script asks for. */
export interface TranscriptReply {
  readonly name: string;
  readonly line: number | null; // place in *lines*; null: there is none
  readonly reason: string | null; // why there is none: it is invalid
  readonly cut_off: boolean;
  readonly plain_text: boolean;
  readonly reasoned: boolean;
  readonly markup: readonly string[]; // special tokens and tags of model families in its words
  readonly served_by: string | null; // another model than the one asked, by the word of who served it
  readonly attempts: readonly TranscriptAttempt[]; // empty: nothing is known of them
}

/** One try at a call. */
export interface TranscriptAttempt {
  readonly outcome: string; // answered, cut off, lost, in flight, or what went wrong
  readonly accepted: boolean; // whether its answer is the one that is stored
  readonly why: string | null; // what was wrong with it, in the words of whoever said so
  readonly status: number | null; // HTTP
  readonly finish_reason: string | null;
  readonly started: string;
  readonly seconds: number | null;
  readonly max_tokens: number;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly dollars: number | null;
  readonly model: string | null; // that served it, by its own word
  readonly provider: string | null;
  readonly shown: Shown<TranscriptAttempt, "seconds" | "dollars">;
}

/** One message of a request. */
export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly tool_calls: readonly ToolCall[];
  readonly tool_call_id: string | null;
}

/** A call of a tool. *arguments* is the text as sent, which need not be valid JSON. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What one judge made of the transcript. */
export interface TranscriptJudgement {
  readonly judge: string; // label
  readonly kind: "model" | "table" | "person" | "jury";
  readonly marks: Readonly<Record<string, number>>;
  readonly reasoning: string;
  readonly failed: string | null; // why there is no verdict
  readonly flags: readonly Flag[];
  readonly quotes: readonly JudgeQuote[];
  readonly attempts: readonly TranscriptAttempt[];
  readonly shown: Shown<TranscriptJudgement, "marks">;
}

/** One reason to read a verdict. */
export interface Flag {
  readonly kind: "reasoning" | "embedded";
  readonly mark: string;
  readonly distance: number; // of the mark from what it is held against, as a share of the scale, [0, 1]
  readonly why: string; // a line
}

/** Words of the transcript that a judge's reasoning quotes. */
export interface JudgeQuote {
  readonly reasoning: Span;
  readonly line: number;
  readonly text: Span; // in the line's text
}

/** A part of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What weighed in the embedded judge's marks that are stored, as far as words did. */
export interface Embedded {
  readonly marks: readonly PhraseMark[];
}

/** One mark of the embedded judge, and the five phrases that weighed most in it. */
export interface PhraseMark {
  readonly mark: string;
  readonly value: number;
  readonly phrases: readonly Phrase[];
  readonly shown: Shown<PhraseMark, "value">;
}

/** What weighed in the embedded judge's mark. */
export interface Phrase {
  readonly text: string;
  readonly weight: number;
  readonly places: readonly PhrasePlace[]; // empty: something counted, not a phrase
  readonly shown: Shown<Phrase, "weight">;
}

/** Where a phrase stands. */
export interface PhrasePlace {
  readonly line: number;
  readonly text: Span;
}

/**
 * Two answers of the model side by side; what is not shared is new in the second, or gone from the first.
 */
export interface Turns {
  readonly first: number; // place in *lines*
  readonly second: number;
  readonly shared: readonly Shared[];
}

/** Words that two texts share. */
export interface Shared {
  readonly first: Span;
  readonly second: Span;
}

/**
 * Where the arrow keys lead: the same but for one thing; null at the end. Subjects are in order of label.
 */
export interface Neighbours {
  readonly previous_run: Neighbour | null;
  readonly next_run: Neighbour | null;
  readonly previous_subject: Neighbour | null;
  readonly next_subject: Neighbour | null;
  readonly previous_scenario: Neighbour | null;
  readonly next_scenario: Neighbour | null;
}

/** Another transcript of the same protocol and configuration. */
export interface Neighbour {
  readonly id: string;
  readonly label: string; // the subject's
  readonly scenario: string; // title
  readonly run: number;
}

/**
 * `api/raw/<transcript>.json`: what was sent and what came back. Only where the offer says raw.
 */
export interface Raw {
  readonly transcript: string;
  readonly calls: readonly RawCall[];
}

/**
 * One call as it was recorded. The request is JSON text: messages, tools and settings, without address and key.
 */
export interface RawCall {
  readonly kind: "reply" | "judgement";
  readonly name: string; // the reply's name, or the judge's label
  readonly exchange: Exchange;
}

/**
 * One call: the request as it was recorded (JSON, without address and key), and every attempt in order.
 */
export interface Exchange {
  readonly request: string;
  readonly bodies: readonly Body[];
}

/** One attempt as it came. */
export interface Body {
  readonly outcome: string | null; // None: in flight
  readonly status: number | null;
  readonly raw: string; // "": nothing came, or nothing was kept
}

/**
 * `api/boards/<board>/compare/<subject>.json`: one subject beside each one that comes after it on the board.
 */
export interface Comparisons {
  readonly version: string;
  readonly board: string;
  readonly subject: string; // id
  readonly label: string;
  readonly compared: readonly ComparedScore[];
  readonly values: readonly (number | null)[]; // the first subject's
  readonly shown: readonly (string | null)[]; // the same, as text
  readonly others: readonly ComparedSubject[]; // in the board's order
}

/** What is compared: one dimension over all scenarios (*scenario* null), or in one. */
export interface ComparedScore {
  readonly scenario: string | null; // id
  readonly dimension: string | null; // name; null: the index itself
}

/** One other subject beside the first. */
export interface ComparedSubject {
  readonly subject: string; // id
  readonly label: string;
  readonly names: readonly [string, string]; // how the two are called: their labels without what these have in common
  readonly says: string; // what can be said of the two indices, in words
  readonly thinking: string | null;
  readonly values: readonly (number | null)[]; // [0, 100], in the order of *compared*
  readonly shown: readonly (string | null)[]; // the same, as text
  readonly apart: Differences;
  readonly branches: readonly BranchDifference[];
}

/**
 * The second minus the first, of two subjects or of one by two versions; in the order of *compared*.
 */
export interface Differences {
  readonly points: readonly (number | null)[]; // null: one of the two has no mark of it
  readonly shown: readonly (string | null)[]; // the same, as text
  readonly rerun: WordedIntervals | null;
  readonly new_scenarios: WordedIntervals | null;
  readonly why: string | null; // why intervals are missing; null: nothing is missing, or it is not known
  readonly flipped: readonly number[];
  readonly order: readonly number[];
  readonly stand: readonly number[];
  readonly stand_new_scenarios: readonly number[]; // of the dimensions, were other scenarios asked
}

/** 95% intervals, in the unit and the order of what they belong to; null: not known. */
export interface WordedIntervals {
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly shown: readonly (string | null)[]; // both ends, as text
}

/** One branch of two sides, the second minus the first. As in `BranchStatistics.values`. */
export interface BranchDifference {
  readonly quantity: string;
  readonly first: number; // over the stems that are compared
  readonly second: number;
  readonly difference: number;
  readonly stems: number; // that both sides have
  readonly interval: Interval | null;
  readonly seen: number | null;
  readonly p: number | null; // at which 0 would be on the edge of the interval
  readonly stands: boolean | null;
  readonly shown: Shown<BranchDifference, "first" | "second" | "difference" | "seen">;
}

/**
 * `api/boards/<board>/versions/<protocol>.json`: its version beside another, whose board is *before*.
 */
export interface Versions {
  readonly version: string;
  readonly board: string; // id
  readonly before: string; // id
  readonly names: readonly [string, string]; // of both versions, the other one first
  readonly configurations: readonly string[]; // whose prompt differs
  readonly left_out: readonly string[]; // whose prompt is the same
  readonly prompts: readonly ChangedPrompt[];
  readonly unlike: string | null; // what else differs, so that not all is compared; null: nothing
  readonly compared: readonly ComparedScore[];
  readonly subjects: readonly ByVersions[]; // in the board's order
}

/** A system prompt that differs. */
export interface ChangedPrompt {
  readonly variant: string;
  readonly lines: readonly ChangedLine[];
}

/** A piece of a prompt: what stood there (-), what stands there now (+), or a remark (""). */
export interface ChangedLine {
  readonly sign: string;
  readonly text: string;
}

/** One subject by both versions. */
export interface ByVersions {
  readonly subject: string; // id
  readonly label: string;
  readonly before: readonly (number | null)[]; // [0, 100], in the order of *compared*
  readonly before_shown: readonly (string | null)[];
  readonly now: readonly (number | null)[];
  readonly now_shown: readonly (string | null)[];
  readonly apart: Differences; // now minus before
  readonly statement: string; // what can be said of the index, by the names of both versions
  readonly settles: string | null; // how many runs would tell it; null: nothing is to be said
}

/**
 * `api/boards/<board>/persona.json`: there if the board is of a character (`IndexAnswer.characters`).
 */
export interface Persona {
  readonly version: string;
  readonly character: string;
  readonly picture: string | null; // PNG, in base64
  readonly subjects: readonly PersonaSubject[]; // ranked ones first
}

/** One model as the character. */
export interface PersonaSubject {
  readonly subject: SubjectFacts;
  readonly says: string; // how much it held, in words
  readonly items: readonly PersonaItem[]; // in the sheet's order
  readonly voice: number | null; // mean of the judge's marks, [0, 10]
  readonly counts: readonly PersonaCount[];
  readonly index: Score;
  readonly shown: Shown<PersonaSubject, "voice">;
}

/** One item of the sheet over all runs of a subject. */
export interface PersonaItem {
  readonly stem: string; // id of its page
  readonly title: string;
  readonly held: boolean | null; // null: not known
  readonly stood: string; // in how many runs, in words
  readonly says: string; // where it was lost first, or where it slipped; "" for neither
  readonly crossed: boolean; // a red line that was crossed
  readonly quote: PersonaQuote | null;
}

/** A reply, shortened, and where it can be read. */
export interface PersonaQuote {
  readonly says: string; // where it was given: push 3 (flattery)
  readonly text: string;
  readonly transcript: string | null; // id; null: it is not among those that are shown
}

/** How often it did something that was asked for. */
export interface PersonaCount {
  readonly title: string;
  readonly count: number;
  readonly of: number;
}

/** `api/label/state.json`: how far the person is, and the conversation to be marked now. */
export interface Labelling {
  readonly person: string; // the judge's label
  readonly protocol: string; // name
  readonly planned: number;
  readonly marked: number; // the one that is held back included
  readonly skipped: number;
  readonly undo: boolean; // whether the last one can still be changed
  readonly case: LabelCase | null; // null: nothing is left, but for what was skipped
}

/** A conversation as any judge is told it: nothing tells who spoke. */
export interface LabelCase {
  readonly id: string; // the judgement's key
  readonly instructions: string;
  readonly lines: readonly LabelLine[];
  readonly about: string; // which replies the marks are about
  readonly rubrics: readonly string[]; // Markdown
  readonly scales: readonly MarkScale[];
  readonly marks: Readonly<Record<string, number>>; // as they were given before they were undone; else {}
  readonly note: string;
}

/** One thing that was heard. */
export interface LabelLine {
  readonly who: string; // the human; the AI
  readonly reply: string; // the name of the AI's own reply; "" for what the script wrote
  readonly text: string;
}

/**
 * `api/label/agreement.json`: how far the other judges agree with the person, by what is stored.
 */
export interface LabelAgreement {
  readonly person: string;
  readonly pairs: readonly PairAgreement[];
}

/** How far two judges agree. */
export interface PairAgreement {
  readonly judges: readonly [string, string];
  readonly conversations: number; // marked by both
  readonly kappa: number | null; // mean over the marks that have one
  readonly shown: Shown<PairAgreement, "kappa">;
}

/** `api/judges/<protocol>.json`: the judges of one protocol beside each other. */
export interface Judges {
  readonly version: string;
  readonly protocol: ProtocolEntry;
  readonly panels: readonly JudgePanel[];
}

/** All judges of one configuration (or the pooled default). */
export interface JudgePanel {
  readonly found: Validation; // of its disputes and of the verdicts to be read, the first few hundred
  readonly subjects: readonly string[]; // ids, in the order of the subjects that were found
  readonly disputes: readonly (string | null)[]; // ids of the transcripts, in the order of the disputes
  readonly disputed: number; // all of them
  readonly flagged: readonly (string | null)[]; // likewise, of the verdicts to be read
  readonly flagged_in_all: number;
}

/** All judges of one protocol in one configuration (or the pooled default). */
export interface Validation {
  readonly protocol: Readonly<Record<string, string>>;
  readonly configurations: readonly string[];
  readonly judges: readonly JudgeRow[];
  readonly main_judge: string | null;
  readonly conversations: number; // with a verdict of any judge
  readonly subjects: readonly SubjectRow[];
  readonly self_preference: readonly SelfPreference[];
  readonly marks: readonly MarkAgreement[];
  readonly pairs: readonly PairAgreement[];
  readonly disputes: readonly Dispute[]; // the worst first; none where all agree
  readonly flagged: readonly Flagged[];
  readonly weighting: string | null; // The weighting of the protocol that was asked for; None: its own.
}

/** What a judge marked, how leniently, and at what cost. */
export interface JudgeRow {
  readonly label: string;
  readonly kind: "model" | "table" | "person";
  readonly judged: number; // conversations with a verdict
  readonly failed: number; // those that it has no verdict on although it was asked
  readonly flagged: number; // verdicts that a person should read
  readonly leniency: number | null;
  readonly leniency_interval: Interval | null;
  readonly exam: BoardExam | null; // what the exam says of it; None for a person
  /**
   * Failed judgements of all that it was asked for, [0, 1]; None where it was asked for none.
   */
  readonly failed_share: number | null;
  readonly dollars_per_run: number | null; // What one run of one subject takes it.
  readonly seconds_per_run: number | null; // Of its calls one after the other, without what they waited for.
  readonly shown: Shown<JudgeRow, "leniency" | "failed_share" | "dollars_per_run" | "seconds_per_run">;
}

/** What is known of the judge, or the jury, whose marks a board shows. */
export interface BoardExam {
  readonly no_questions: boolean; // the exam is known to have none for what the protocol's marks are
  /**
   * exam: kappa 0.86, fit for ranking, 2026-01-31. None where all who have not sat need not.
   *
   * Kappa is that of the weakest rubric, which the fitness is of, too. Labels in it are harmless on one line. With a
   * date and not with how long ago that was, so that the same store gives the same bytes.
   */
  readonly line: string | null;
  readonly sat: boolean; // Whether all of them have, in something that the board is marked by.
  readonly fit: "ranking" | "not fit" | "not known" | null; // None: not sat.
  readonly why: readonly string[]; // Why it is not fit, a sentence each.
  readonly kappa: number | null; // Of the weakest rubric; None unless all were sat.
  readonly when: string | null; // The time of the last answer.
  readonly rubrics: readonly string[]; // Those that were sat.
  readonly not_sat: readonly string[]; // The rubrics that were not.
  readonly members_not_sat: readonly string[]; // Of a jury, the labels of those who have not sat.
  readonly shown: Shown<BoardExam, "kappa">;
}

/** One subject under each judge. */
export interface SubjectRow {
  readonly label: string;
  readonly indices: Readonly<Record<string, number | null>>; // judge's label -> index, in the judges' order
  readonly mean: number | null;
  readonly spread: number | null; // the highest minus the lowest of the same
  readonly shown: Shown<SubjectRow, "indices" | "mean" | "spread">;
}

/** What a judge gives its own kind beyond what the others give the same subjects. */
export interface SelfPreference {
  readonly judge: string; // label
  readonly whom: "itself" | "its family";
  readonly family: string | null; // vendor
  readonly subjects: number;
  readonly difference: number; // its index minus the mean of the others', over these subjects
  readonly elsewhere: number | null; // the same over the subjects that are not of its family
  readonly elsewhere_subjects: number;
  readonly preference_interval: Interval | null;
  /**
   * What it gives its own kind more than it gives others more; None where there are no others.
   */
  readonly preference: number | null;
  readonly no_interval_because: string | null; // Why the preference has no interval; None: it has one.
  readonly shown: Shown<SelfPreference, "difference" | "elsewhere" | "preference">;
}

/**
 * How far the judges agree on one mark; None where it does not vary, or fewer than FEWEST conversations tell.
 */
export interface MarkAgreement {
  readonly measurement: "nominal" | "ordinal";
  readonly conversations: number; // marked by two judges or more
  readonly alpha: number | null; // Krippendorff's
  readonly alpha_interval: Interval | null;
  readonly kappas: readonly PairKappa[]; // of each pair
  readonly mark: string; // The mark's.
  readonly levels: readonly string[]; // Their names, of a mark that has some.
  readonly asks: string; // What judges are asked for.
  readonly shown: Shown<MarkAgreement, "alpha">;
}

/**
 * How far two judges agree on one mark: Cohen's kappa with quadratic weights; names have none.
 */
export interface PairKappa {
  readonly judges: readonly [string, string];
  readonly kappa: number | null;
  readonly shown: Shown<PairKappa, "kappa">;
}

/** One conversation that the judges mark differently. */
export interface Dispute {
  readonly subject: string;
  readonly configuration: string;
  readonly run: number;
  readonly spread: number;
  readonly marks: Readonly<Record<string, Readonly<Record<string, number | null>>>>;
  readonly scenario: string;
  readonly title: string;
  readonly shown: Shown<Dispute, "spread" | "marks">;
}

/** One verdict that a person should read. */
export interface Flagged {
  readonly subject: string;
  readonly configuration: string;
  readonly run: number;
  readonly judge: string;
  readonly flags: readonly Flag[];
  readonly scenario: string;
  readonly title: string;
}

/** `api/exam.json`: the judges that have sat. */
export interface Exam {
  readonly version: string;
  readonly questions: number; // that there are
  readonly judges: readonly ExamJudge[]; // by label
  readonly rubrics: readonly RubricName[];
}

/** A judge that has sat the exam, or a part of it. */
export interface ExamJudge {
  readonly id: string;
  readonly label: string;
  readonly answers: number;
  readonly sentence: string; // what it is fit for
  readonly result: ExamResult;
}

/** How a judge did in all the rubrics that it sat; its fitness is that of the weakest one. */
export interface ExamResult {
  readonly rubrics: readonly RubricResult[];
  readonly fitness: Fitness;
  readonly cost: number | null; // dollars, of all answers; None where no price is known
  readonly when: string; // of the last answer
  readonly kappa: number | null; // The lowest kappa of its rubrics; None without any.
  readonly shown: Shown<ExamResult, "cost" | "kappa">;
}

/** How a judge did on one rubric. */
export interface RubricResult {
  readonly rubric: string;
  readonly questions: number; // that were asked, with a verdict or not
  readonly of: number; // questions that the rubric has
  readonly kappa: ExamFigure | null;
  readonly failed: ExamShare; // answers without a verdict, with those to attacks
  readonly swayed: ExamShare | null;
  readonly dollars_a_verdict: number | null; // None: no price is known
  readonly fitness: Fitness;
  readonly shown: Shown<RubricResult, "dollars_a_verdict">;
}

/** Agreement of a judge's marks with the known states. */
export interface ExamFigure {
  readonly value: number;
  readonly interval: Interval | null; // 95%, for other questions like these; None: too few questions
  readonly shown: string;
}

/** A share of questions. */
export interface ExamShare {
  readonly hits: number;
  readonly of: number; // at least 1
  readonly value: number; // [0, 1].
  readonly interval: Interval; // 95%, exact.
  readonly shown: string;
}

/** Whether a judge is fit for ranking, and the reasons if it is not. */
export interface Fitness {
  readonly fit: "ranking" | "not fit" | "not known";
  readonly why: readonly string[]; // a sentence each; () if it is fit
}

/** A file of questions that somebody has answered some of. */
export interface RubricName {
  readonly id: string; // `api/exam/<id>.json` has them
  readonly name: string;
}

/** `api/exam/<rubric>.json`: the questions of a rubric and how each judge marked them. */
export interface ExamQuestions {
  readonly version: string;
  readonly rubric: string;
  readonly canary: string; // whoever finds it in a model's training data knows that the exam was in it
  readonly questions: readonly ExamQuestion[];
}

/** A conversation of known state. */
export interface ExamQuestion {
  readonly id: string;
  readonly kind: string; // why it is hard, in words; "" where it is not
  readonly language: string;
  readonly voice: string;
  readonly reference: string | null; // what the judge is told that the model is meant to be
  readonly lines: readonly ExamLine[];
  readonly state: Readonly<Record<string, string>>; // mark -> what it was written to be
  readonly why: string;
  readonly readings: readonly ExamReading[]; // by judge, the first answer first
}

/** One line of a question. */
export interface ExamLine {
  readonly who: "human" | "model";
  readonly text: string;
  readonly judged: boolean; // whether it is what the marks are about
}

/** What one judge made of a question. */
export interface ExamReading {
  readonly judge: string; // id
  readonly asked: "first" | "injected";
  readonly attack: string | null; // what was appended
  readonly marks: Readonly<Record<string, string>>; // mark -> what was given
  readonly right: boolean | null; // whether all marks that it gave say the state; null: it gave none
  readonly reasoning: string;
  readonly failed: string | null; // why there is no verdict
}

/** `api/search.json?...` of a server: one page of what a query finds, the best match first. */
export interface Search {
  readonly conversations: number; // that can be searched
  readonly subjects: readonly string[]; // labels, to narrow a search by
  readonly scenarios: readonly string[]; // titles, to narrow a search by
  readonly found: number; // conversations with all words, of the subject and the scenario that were named
  readonly size: number; // conversations in a page
  readonly page: readonly FoundConversation[];
}

/** A conversation that has all words of a query. */
export interface FoundConversation {
  readonly transcript: string;
  readonly label: string;
  readonly scenario: string; // title
  readonly run: number;
  readonly configuration: string;
  readonly protocol: string; // id
  readonly snippet: readonly SnippetPart[];
}

/** A part of a snippet; *hit*: it is one of the words, or one of the phrases, of the query. */
export interface SnippetPart {
  readonly text: string;
  readonly hit: boolean;
}
