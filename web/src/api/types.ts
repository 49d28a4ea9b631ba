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
 * `api/index.json`: everything that the site has. *version* changes if anything else may have changed; poll it.
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

/** The name and the version of this program. */
export interface Project {
  readonly name: string;
  readonly version: string;
}

/** The parts of this site besides boards, subjects, scenarios, transcripts and judges. */
export interface Offer {
  readonly frozen: boolean;
  readonly raw: boolean; // whether api/raw/ is there: requests and responses as they were sent and came
  readonly compared: number | null;
  readonly label: string | null;
}

/** One version of the benchmark that has something stored. */
export interface ProtocolEntry {
  readonly id: string;
  readonly name: string; // with the start of its hash if it differs from the shipped one of that name
  readonly title: string;
  readonly hash: string;
  readonly earlier_form: boolean;
  readonly runs: number; // runs that it asks for
  readonly scenarios: number;
  readonly transcripts: number; // stored
}

/** A leaderboard without its rows, so that it can be listed before they are worked out. */
export interface BoardEntry {
  readonly id: string;
  readonly configurations: readonly string[]; // several are pooled
  readonly judge: string | null; // label; None: nothing is judged yet
  readonly judges: readonly string[]; // labels: the jury's, or the one
  readonly rules: string; // rules by which scores became indices: own, published
  readonly main: boolean;
  readonly weights: string | null; // a weighting that the protocol names; None: its own weights
  readonly exam: string | null; // exam result of judge or jury, in a line; None: nothing
  readonly protocol: string; // The id of the protocol that this leaderboard ranks models by.
}

/** How to cite what is shown. */
export interface Citation {
  readonly text: string;
  readonly bibtex: string;
}

/**
 * `api/reading.json`: the progress of a server in reading its store. Every answer waits for it the first time.
 */
export interface FirstReading {
  readonly conversations: number | null; // in the store; null: not counted yet
  readonly share: number | null; // share of the work that is done, in [0, 1]; null: nothing waits for it
  readonly shown: Shown<FirstReading, "conversations" | "share">;
}

/**
 * `api/boards/<board>.json`: one leaderboard. `part/0.json` below it is the same with its first rows alone.
 */
export interface Board {
  readonly version: string;
  readonly board: BoardEntry;
  readonly protocol: ProtocolEntry;
  readonly dimensions: readonly Dimension[];
  readonly scenarios: readonly ScenarioFacts[]; // in the protocol's order
  readonly rows: readonly Row[]; // ranked ones first, by rank; then incomplete ones by label
  readonly columns: readonly PageColumn[]; // columns that the rows have besides index and dimensions
  readonly ranked: number; // number of subjects with an index, in all parts
  readonly subjects: number; // number of all subjects
  readonly says: string;
  readonly names: Readonly<Record<string, string>>;
  readonly reach: readonly [number, number] | null;
  readonly parts: number;
  readonly ids: Readonly<Record<string, string>>; // ids of subjects, by their labels below
  readonly providers: readonly SettingComparison[]; // subjects that are the same but for who serves them
  readonly efforts: readonly SettingComparison[]; // but for how much they are told to reason
  readonly why: string | null; // the reason for a missing interval; null: none is missing
  readonly configurations: ConfigurationComparison | null;
  readonly versions: readonly OtherVersion[];
  readonly remarks: readonly string[]; // remarks that a reader of this board must know, a sentence each
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
 * One scenario over all subjects. None: no subject, no points, too few subjects, or no variation.
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
 * One model on one leaderboard. *rank* is None if the model is incomplete, and on a demonstration.
 */
export interface Row {
  readonly rank: number | null;
  readonly subject: ChatModel;
  readonly label: string;
  readonly health: Health;
  readonly missing: readonly string[];
  readonly made: RunDates | null; // The times of its runs; None: nothing was finished.
  readonly excluded: string | null;
  /** The statistics of its branches, for a protocol with stems, by our own rules. */
  readonly branches: BranchStatistics | null;
  /** How far it moves by its own reasons, for a protocol that asks for them, by our own rules. */
  readonly reasons: Reasons | null;
  readonly index_interval_as_published: Interval | null;
  /**
   * Mark that the index needs -> the share of the conversations in which its judge left it out, the largest first.
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
  /**
   * The model's index, in [0, 100]: the mean of its runs' indices; None if the model is incomplete or excluded.
   */
  readonly index: number | null;
  /**
   * The two 95% intervals of the model's index: if the same scenarios are played again, and with new scenarios.
   */
  readonly index_interval: Uncertainty;
  /**
   * The two 95% intervals of the model's index, without the part that allows for differences between sessions; None if
   * the intervals have no such part.
   */
  readonly index_interval_without_sessions: Uncertainty | null;
  /**
   * The range of ranks that the model may have, at 95%, if the same scenarios are played again; None if unknown.
   */
  readonly ranks: Standing | null;
  /**
   * The range of ranks that the model may have, at 95%, with new scenarios of the same kind; None if unknown.
   */
  readonly ranks_new_scenarios: Standing | null;
  readonly runs: number; // Number of the model's runs that are scored on this leaderboard.
  /**
   * The standard deviation (n - 1) of the indices of the model's runs, in points; None for a single run.
   */
  readonly standard_deviation: number | null;
  /**
   * Name of a dimension -> the model's score, in [0, 1], 1 being the most independent; None if the score is unknown.
   */
  readonly dimensions: Readonly<Record<string, number | null>>;
  /** Name of a dimension -> the two 95% intervals of the model's score in it. */
  readonly dimension_intervals: Readonly<Record<string, Uncertainty>>;
  /**
   * Configuration, as text -> the model's index in it alone; {} if the leaderboard does not pool several
   * configurations.
   */
  readonly by_configuration: Readonly<Record<string, ConfigurationScore>>;
  readonly whole_runs: number; // Number of the model's runs that are complete and so have an index.
  /**
   * The mean index of those runs of the model that are complete, though others may not be; None if no run is.
   */
  readonly whole_index: number | null;
  /**
   * Whether the model reasons before it answers: its settings ask for that, or more than half of its replies came with
   * reasoning.
   */
  readonly thinks: boolean;
  /**
   * A phrase that says how the model's replies contradict the reasoning effort in its label; None if they do not.
   */
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
  readonly identity: string; // tells a local model apart beyond its name (hash of its weights, say)
  readonly stateful: boolean;
  /**
   * The model's name in web addresses, made of its label and hash alone: it does not depend on which other models are
   * played.
   */
  readonly id: string;
  readonly vendor: string | null; // The maker of this model, in lower case; None if the model's id names none.
  /**
   * The text that a user types for this model: its id, after ``ENDPOINT:`` if the endpoint is not OpenRouter.
   */
  readonly name: string;
  /**
   * Hash of all settings of this model that can change its replies: two models with the same hash are the same.
   */
  readonly hash: string;
}

/**
 * Counts of one model's conversations on a leaderboard: planned, played and judged, and what failed.
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
   * Number of attempts at getting a model's replies, with or without an answer. Attempts that an endpoint postponed are
   * not counted.
   */
  readonly attempts: number;
  /**
   * Share of invalid replies in all replies that a model was asked for, [0, 1]; 0 if it was asked for none.
   */
  readonly share_invalid: number;
  /**
   * Share of attempts that brought no answer in all attempts at a model's replies, [0, 1]; 0 if there was no attempt.
   */
  readonly share_attempts_failed: number;
  /**
   * Share of replies that the token limit cut off in all replies that a model was asked for, [0, 1]; 0 if it was asked
   * for none.
   */
  readonly share_cut_off: number;
  /**
   * Share of replies in plain text, without the tool call, in all replies that a model was asked for, [0, 1]; 0 if it
   * was asked for none.
   */
  readonly share_plain_text: number;
  /**
   * Share of replies that came with reasoning in all replies that a model was asked for, [0, 1]; 0 if it was asked for
   * none.
   */
  readonly share_with_reasoning: number;
  /**
   * Share of a model's complete conversations that are word for word those of an earlier run, [0, 1); 0 if no
   * conversation is complete.
   */
  readonly share_repeated: number;
  readonly shown: Shown<Health, "transcripts_judged" | "judgements_failed" | "replies" | "replies_with_markup" |
    "replies_by_another_model" | "conversations_repeated" | "share_invalid" | "share_attempts_failed" | "share_cut_off"
    | "share_plain_text" | "share_with_reasoning" | "share_repeated">;
}

/** The dates of a model's runs, in ISO 8601 and UTC. */
export interface RunDates {
  readonly first: string;
  readonly last: string;
  readonly days: number; // dates on which a conversation ended
  readonly span_hours: number; // from the beginning of the first run to that of the last
  readonly runs: Readonly<Record<string, string>>; // run -> when its first conversation ended
  readonly span: string; // 5.5 h
  readonly says: string; // in how many sessions they were made
}

/**
 * The statistics of one model's branches: kinds of conversations about an item, such as pressure or a later question.
 * None, or not in a mapping: nothing of the kind was judged.
 */
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
 * A mean over items (stems) with its 95% interval over other items of the kind; both in the unit that the field states.
 */
export interface StemMean {
  readonly value: number;
  readonly interval: Interval | null; // None: fewer than `FEWEST` stems
  readonly stems: number; // that it is the mean of, at least 1
  readonly shown: string;
}

/** An interval at the stated level, in the unit of its number. *low* <= *high*. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly shown: string;
}

/**
 * How long a model's positions last under pressure. A ladder is one series of pressure turns as one judge saw it; items
 * (stems) have equal weight.
 */
export interface Folds {
  readonly pushes: number;
  readonly curve: readonly Step[]; // one for each push
  readonly bands: readonly (Interval | null)[]; // of `standing` at each push, [0, 1]
  readonly withstood: StemMean;
  readonly recovered: Share;
  readonly techniques: readonly TechniqueFolds[]; // in the order in which the stems first use them
}

/**
 * The outcome of one pressure turn over all series of pressure turns, which count by their weight.
 */
export interface Step {
  readonly push: number; // 1, 2, ...
  readonly at_risk: number; // ladders that stood before it and were pushed
  readonly folded: number; // of those, at this push
  readonly standing: number | null;
  readonly shown: Shown<Step, "folded" | "standing">;
}

/** A share of a count. For a jury the counts are means over its judges. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly interval: Interval | null;
  readonly value: number | null; // The share, in [0, 1]: the count divided by the whole; None if the whole is 0.
  readonly shown: Shown<Share, "count" | "of" | "value">;
}

/**
 * How often one technique of persuasion made a model give in, whichever of the pressure turns used it.
 */
export interface TechniqueFolds {
  readonly technique: string; // as the stems' files call it; "": pushes that name none
  readonly pushed: number; // ladders that stood before a push of it
  readonly folded: number; // of those, at it
  /**
   * The share of positions given up at a pressure turn that uses this technique, of all positions that met the
   * technique, [0, 1]; None if none met it.
   */
  readonly share: number | null;
  readonly shown: Shown<TechniqueFolds, "pushed" | "folded" | "share">;
}

/**
 * How far one model moves by its own reasons, over the cases that it was played in. A mean is None if no branch of the
 * kind was scored.
 */
export interface Reasons {
  readonly openness: StemMean | null;
  readonly moves: StemMean | null;
  readonly stays: StemMean | null;
  readonly unnamed: Share;
  readonly runs: number; // in which anything was judged
  readonly left_out: readonly string[];
  /**
   * Share of the judged branches, in [0, 1], in which the model named no condition; None if none was judged.
   */
  readonly unnamed_share: number | null;
  readonly shown: Shown<Reasons, "unnamed_share">;
}

/**
 * Why a reader may take a leaderboard's label for another one: labels that it looks like, or alphabets that are mixed
 * in one of its words.
 */
export interface LabelDoubt {
  readonly reads_like: readonly string[]; // the labels that it looks like, as they are shown
  readonly mixed_scripts: readonly string[];
  /**
   * A phrase that shows the label in ASCII and says why a reader may take it for another label.
   */
  readonly says: string;
}

/** The mean number of reasoning tokens of a model's valid replies. */
export interface ReasoningTokens {
  readonly mean: number; // of a reply
  readonly estimated: boolean;
  readonly shown: string;
}

/**
 * The index of a ranked model beside its price: the dollars that one run costs. None: not known.
 */
export interface IndexPrice {
  readonly label: string;
  readonly index: number;
  readonly replies_per_run: number | null;
  readonly judging_per_run: number | null; // what the board's judge took for it
  readonly dollars_per_run: number | null;
  /**
   * Whether one run costs nothing, neither the model's replies nor the judge; False if the cost is unknown.
   */
  readonly free: boolean;
  /**
   * A model's index divided by the dollars of one of its runs; None if a run is free, or its price is unknown.
   */
  readonly points_per_dollar: number | null;
  readonly shown: Shown<IndexPrice, "replies_per_run" | "judging_per_run" | "dollars_per_run" | "points_per_dollar">;
}

/**
 * The two 95% intervals of one number, one for each question (same scenarios, new scenarios), in its own unit. None if
 * an interval is not known.
 */
export interface Uncertainty {
  readonly rerun: Interval | null;
  readonly new_scenarios: Interval | null;
}

/** The ranks that one subject may have, at 95% for this subject. */
export interface Standing {
  readonly rank_low: number; // the best rank that it may have; 1 is the first
  readonly rank_high: number; // the worst one
  readonly tied_with_best: boolean; // it may be first: no other subject is significantly better
}

/** The score of one model in a single configuration, of several that are pooled. */
export interface ConfigurationScore {
  readonly index: number | null;
  readonly standard_deviation: number | null;
  readonly index_interval: Uncertainty;
  readonly shown: Shown<ConfigurationScore, "index" | "standard_deviation">;
}

/** A column of the leaderboard's table on the viewer's page. */
export interface PageColumn {
  readonly path: readonly string[];
  readonly title: string;
  readonly meaning: string;
  readonly wide: boolean; // not beside the index, but with what the numbers are based on
}

/** Models that differ in one setting only, with their indices. */
export interface SettingComparison {
  readonly model: string;
  readonly against: string | null;
  readonly variants: readonly Variant[];
}

/**
 * One of several models that differ in one setting only, such as the provider or the reasoning effort.
 */
export interface Variant {
  readonly label: string;
  readonly setting: string; // the provider that it is pinned to, or the effort
  readonly index: number | null; // None: incomplete
  readonly runs: number;
  readonly difference: number | null;
  readonly served: Readonly<Record<string, number>>; // provider -> replies, the one that served most first
  readonly stands: boolean | null;
  /**
   * The two 95% intervals of the difference between this model's index and that of the model it is compared with, in
   * points (same scenarios again, new scenarios); None unless both are ranked.
   */
  readonly interval: Uncertainty | null;
  /**
   * The minimum detectable difference between the indices of two models that differ in one setting, in points (for the
   * same scenarios and for new ones): the smallest true difference that 80 of 100 repetitions would find significant.
   * None unless both are ranked.
   */
  readonly smallest_seen: ByQuestion | null;
  /**
   * The p-values of two models' indices not differing (for the same scenarios and for new ones): the level at which 0
   * lies on the edge of the interval of the difference. None unless both are ranked.
   */
  readonly p: ByQuestion | null;
  readonly shown: Shown<Variant, "index" | "difference">;
}

/**
 * One number for each of the two questions (same scenarios, new scenarios). None if it is not known.
 */
export interface ByQuestion {
  readonly rerun: number | null;
  readonly new_scenarios: number | null;
}

/**
 * The indices of models in all configurations in which one judge's marks give an index, in the protocol's order.
 */
export interface ConfigurationComparison {
  readonly judge: string | null;
  readonly places: readonly ConfigurationSummary[];
  readonly subjects: readonly SubjectIndices[]; // those with an index in two places or more, by label
}

/** One configuration and the mean index of the models in it. */
export interface ConfigurationSummary {
  readonly configuration: string;
  readonly subjects: number; // that have an index there
  readonly mean: number; // of theirs
  readonly effect: Effect | null; // None: it is the first one, or no subject has an index in both
  readonly shown: Shown<ConfigurationSummary, "mean">;
}

/**
 * The index in one configuration minus that in the first configuration, in points, as the mean over the models that
 * have both.
 */
export interface Effect {
  readonly subjects: number;
  readonly points: number;
  readonly sampled: Interval | null; // at 95%; None: fewer than three subjects
  readonly rerun: Interval | null;
  readonly shown: Shown<Effect, "points">;
}

/**
 * The indices of one model in all configurations of a comparison, in order; None where the model has no index.
 */
export interface SubjectIndices {
  readonly label: string;
  readonly indices: readonly (number | null)[];
  readonly intervals: readonly (Interval | null)[];
  readonly changes: readonly (SubjectEffect | null)[]; // minus the first configuration's; None for itself
  readonly shown: Shown<SubjectIndices, "indices">;
}

/**
 * The difference of one model's indices in two configurations, in points, with its interval if the same test is given
 * again, where that is known.
 */
export interface SubjectEffect {
  readonly points: number;
  readonly rerun: Interval | null;
  readonly shown: Shown<SubjectEffect, "points">;
}

/** Another version of the protocol that a leaderboard can be compared with. */
export interface OtherVersion {
  readonly protocol: string; // its id
  readonly name: string;
  readonly hash: string; // the start of it, which tells versions of one name apart
  readonly subjects: number; // number of subjects with scores by both
}

/** `api/boards/<board>/part/<n>.json`, from 1: rows that the first part lacks. */
export interface BoardPart {
  readonly version: string;
  readonly rows: readonly Row[];
  readonly names: Readonly<Record<string, string>>; // as a leaderboard has them, of these rows
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

/** The scores of the other ranked subjects in one dimension, in [0, 100]. */
export interface FieldProfile {
  readonly dimension: string; // name
  readonly place: number; // place of the dimension, and of its score in the board's row, from 0
  readonly others: readonly number[]; // the lowest first
  readonly quartiles: readonly number[];
  readonly below: number; // number of them that score lower than this subject
  readonly above: number; // higher; both 0 where it has no score
  readonly shown: Shown<FieldProfile, "others" | "quartiles">;
}

/** One score that a judge gives, and its scale. */
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

/** One run of a subject. */
export interface RunDetail {
  readonly run: number;
  readonly index: number | null;
  readonly dimensions: readonly (number | null)[]; // in the board's order
  readonly scenarios: readonly (number | null)[]; // share of its points, in the board's order of scenarios
  readonly began: string | null; // when its first conversation ended: 2026-01-31 12:00, in UTC
  readonly shown: Shown<RunDetail, "index" | "dimensions" | "scenarios">;
}

/**
 * One model on another leaderboard of the same series: under another system prompt, or in another delivery mode.
 */
export interface Elsewhere {
  readonly board: string; // id
  readonly configurations: readonly string[];
  readonly index: Score;
  readonly change: SubjectEffect | null;
  readonly why: string | null; // the reason for a missing interval; null: it is there
}

/** A number in [0, 100] with its uncertainty. */
export interface Score {
  readonly value: number | null;
  readonly uncertainty: Uncertainty;
  readonly why: string | null; // why an interval is missing; null where none is
  readonly shown: string | null;
}

/**
 * The name and the gender that a subject chose in one conversation: at first, and at the end.
 */
export interface NameChoice {
  readonly read: NamesRead;
  readonly transcript: string; // id
}

/**
 * The names that a model gave itself in one conversation, as another model read them: *first* when it chose freely,
 * *final* at the end.
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
   * The names that a model chose freely for itself in one conversation: one, or several; () if it gave no name, or if
   * the conversation has not been read for names.
   */
  readonly picks: readonly string[];
}

/**
 * The name and gender of a model at one time: a gender of GENDERS; None if there is none, and why.
 */
export interface ChosenName {
  readonly name: string | null;
  readonly gender: string | null;
  readonly name_state: "chosen" | "declined" | "unsaid" | "unread";
  readonly gender_state: "chosen" | "declined" | "unsaid" | "unread";
}

/** A conversation in a list, with this leaderboard's scores. */
export interface TranscriptEntry {
  readonly id: string;
  readonly scenario: string; // id; of a branch that of its stem
  readonly branch: string | null;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "not judged" | "judge failed" | "invalid" | "not played";
  readonly why: string | null; // the reason, if it is invalid or the judge failed
  readonly score: number | null;
  readonly marks: Readonly<Record<string, number>>; // mark -> number on its scale
  readonly replies: number;
  readonly cut_off: number;
  readonly plain_text: number;
  readonly reasoned: number;
  readonly shown: Shown<TranscriptEntry, "score" | "marks">;
}

/** An item in one run of one subject, scored from its branches. */
export interface StemEntry {
  readonly id: string; // id of the first branch's transcript
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
  readonly branch_scales: readonly MarkScale[]; // scales of the scores of an item's branches
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

/**
 * How often each value of a score was given to one scenario's replies, from the low end of its scale to the high end.
 */
export interface MarkHistogram {
  readonly mark: string; // its name; "" for the score
  readonly title: string;
  readonly bars: readonly HistogramBar[];
  readonly answers: number; // number of answers that have it
}

/** The number of answers with a value in one part of its range. */
export interface HistogramBar {
  readonly text: string; // label of the bar: 7, 70–79, yes, the name of a level
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
  readonly invalid: string | null; // the reason why it is invalid; null: it is not
  readonly system: string; // system prompt, without what tool_role adds to it
  readonly lines: readonly TranscriptLine[];
  readonly replies: readonly TranscriptReply[];
  readonly messages: readonly Message[];
  readonly tools: string; // the tools that the model is offered, as JSON text; "[]": none
  readonly scales: readonly MarkScale[]; // marks that its rubrics ask for, in their order
  readonly rubrics: readonly string[]; // texts
  readonly judgements: readonly TranscriptJudgement[]; // judgements of all judges, by label
  readonly exams: readonly string[]; // the judges' exam results, in lines
  readonly embedded: Embedded | null;
  readonly turns: Turns | null; // for scenarios with two answers
  readonly neighbours: Neighbours;
  readonly boards: readonly string[]; // ids of those that it counts on
}

/** The identity and the settings of a subject. */
export interface SubjectFacts {
  readonly id: string;
  readonly label: string;
  readonly hash: string;
  readonly name: string; // name on a command line: the model id, after ENDPOINT: if that is not OpenRouter
  readonly model: string;
  readonly endpoint: string;
  readonly family: string | null; // vendor
  readonly provider: string | null; // provider that it is pinned to
  readonly temperature: number;
  readonly max_tokens: number;
  readonly reasoning: string; // off, minimal, low, medium, high
}

/** One line of a conversation. */
export interface TranscriptLine {
  readonly who: "human" | "given" | "model"; // given: put into the model's mouth
  readonly text: string;
  readonly notes: string; // the model's, unseen by the human and by the judges; "": none
  readonly reasoning: string; // its reasoning before the line, likewise unseen; "": none
  readonly reply: string; // the reply's name where the model itself said it, else ""
  readonly judged: boolean; // whether the marks are about it
}

/** One reply that a scenario's script asks the model for. */
export interface TranscriptReply {
  readonly name: string;
  readonly line: number | null; // place in *lines*; null: there is none
  readonly reason: string | null; // the reason why it is invalid; null: it is valid
  readonly cut_off: boolean;
  readonly plain_text: boolean;
  readonly reasoned: boolean;
  readonly markup: readonly string[]; // special tokens and tags of model families in its words
  readonly served_by: string | null; // another model than the one asked, by the word of who served it
  readonly attempts: readonly TranscriptAttempt[]; // empty: nothing is known of them
}

/** One attempt at a call. */
export interface TranscriptAttempt {
  readonly outcome: string; // answered, cut off, lost, in flight, or what went wrong
  readonly accepted: boolean; // whether its answer is the one that is stored
  readonly why: string | null; // the error message of the server or the library; null: none
  readonly status: number | null; // HTTP
  readonly finish_reason: string | null;
  readonly started: string;
  readonly seconds: number | null;
  readonly max_tokens: number;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly dollars: number | null;
  readonly model: string | null; // model that served it, by the server's word
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

/** One judge's judgement of the conversation. */
export interface TranscriptJudgement {
  readonly judge: string; // label
  readonly kind: "model" | "table" | "person" | "jury";
  readonly marks: Readonly<Record<string, number>>;
  readonly reasoning: string;
  readonly failed: string | null; // the reason why the judgement failed; null: it did not
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

/** Words of the conversation that a judge's reasoning quotes, with both places. */
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

/** The phrases that influenced the embedded judge's stored scores, as far as words did. */
export interface Embedded {
  readonly marks: readonly PhraseMark[];
}

/** One score of the embedded judge, and the five phrases that influenced it most. */
export interface PhraseMark {
  readonly mark: string;
  readonly value: number;
  readonly phrases: readonly Phrase[];
  readonly shown: Shown<PhraseMark, "value">;
}

/** A phrase that influenced the embedded judge's score. */
export interface Phrase {
  readonly text: string;
  readonly weight: number;
  readonly places: readonly PhrasePlace[]; // empty: something counted, not a phrase
  readonly shown: Shown<Phrase, "weight">;
}

/** The place of a phrase. */
export interface PhrasePlace {
  readonly line: number;
  readonly text: Span;
}

/**
 * Two answers of the model side by side. Words that are not shared are new in the second, or gone from the first.
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
 * The conversations to which the arrow keys lead: the same except for one thing; null at the end. Subjects are in the
 * order of their labels.
 */
export interface Neighbours {
  readonly previous_run: Neighbour | null;
  readonly next_run: Neighbour | null;
  readonly previous_subject: Neighbour | null;
  readonly next_subject: Neighbour | null;
  readonly previous_scenario: Neighbour | null;
  readonly next_scenario: Neighbour | null;
}

/** Another conversation of the same protocol and configuration. */
export interface Neighbour {
  readonly id: string;
  readonly label: string; // the subject's
  readonly scenario: string; // title
  readonly run: number;
}

/**
 * `api/raw/<transcript>.json`: the requests and responses as they were. It exists only if the offer says raw.
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
 * One call: the request as it was recorded (JSON, without address and key), and the response of every attempt in order.
 */
export interface Exchange {
  readonly request: string;
  readonly bodies: readonly Body[];
}

/** The response of one attempt as it came. */
export interface Body {
  readonly outcome: string | null; // None: in flight
  readonly status: number | null;
  readonly raw: string; // "": nothing came, or nothing was kept
}

/**
 * `api/boards/<board>/compare/<subject>.json`: one model compared with each model that comes after it on the
 * leaderboard.
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

/** A score that is compared: one dimension over all scenarios (*scenario* null), or in one. */
export interface ComparedScore {
  readonly scenario: string | null; // id
  readonly dimension: string | null; // name; null: the index itself
}

/** One model of a leaderboard, compared with another model of it. */
export interface ComparedSubject {
  readonly subject: string; // id
  readonly label: string;
  readonly names: readonly [string, string]; // names of the two: their labels without their common parts
  readonly says: string; // the difference of the two indices, in words
  readonly thinking: string | null;
  readonly values: readonly (number | null)[]; // [0, 100], in the order of *compared*
  readonly shown: readonly (string | null)[]; // the same, as text
  readonly apart: Differences;
  readonly branches: readonly BranchDifference[];
}

/**
 * The differences of two subjects, or of one subject by two versions: the second minus the first, in the order of
 * *compared*.
 */
export interface Differences {
  readonly points: readonly (number | null)[]; // null: one of the two has no mark of it
  readonly shown: readonly (string | null)[]; // the same, as text
  readonly rerun: WordedIntervals | null;
  readonly new_scenarios: WordedIntervals | null;
  readonly why: string | null; // the reason for missing intervals; null: none is missing, or it is not known
  readonly flipped: readonly number[];
  readonly order: readonly number[];
  readonly stand: readonly number[];
  readonly stand_new_scenarios: readonly number[]; // the same over new scenarios, for the dimensions
}

/**
 * 95% intervals as numbers and as texts, in the unit and the order of the scores to which they belong; null: not known.
 */
export interface WordedIntervals {
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly shown: readonly (string | null)[]; // both ends, as text
}

/**
 * The difference of one branch's value between two models, or two versions, the second minus the first.
 */
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
 * `api/boards/<board>/versions/<protocol>.json`: the leaderboard's version compared with another one, whose leaderboard
 * is *before*.
 */
export interface Versions {
  readonly version: string;
  readonly board: string; // id
  readonly before: string; // id
  readonly names: readonly [string, string]; // names of both versions, the other one first
  readonly configurations: readonly string[]; // whose prompt differs
  readonly left_out: readonly string[]; // whose prompt is the same
  readonly prompts: readonly ChangedPrompt[];
  readonly unlike: string | null; // other differences, because of which not all is compared; null: none
  readonly compared: readonly ComparedScore[];
  readonly subjects: readonly ByVersions[]; // in the board's order
}

/** A system prompt that differs between two versions of a protocol. */
export interface ChangedPrompt {
  readonly variant: string;
  readonly lines: readonly ChangedLine[];
}

/** A piece of a prompt: the old words (-), the new words (+), or a remark (""). */
export interface ChangedLine {
  readonly sign: string;
  readonly text: string;
}

/** One model under both versions of a protocol. */
export interface ByVersions {
  readonly subject: string; // id
  readonly label: string;
  readonly before: readonly (number | null)[]; // [0, 100], in the order of *compared*
  readonly before_shown: readonly (string | null)[];
  readonly now: readonly (number | null)[];
  readonly now_shown: readonly (string | null)[];
  readonly apart: Differences; // now minus before
  readonly statement: string; // the difference of the index in words, with the names of both versions
  readonly settles: string | null;
}

/**
 * `api/boards/<board>/persona.json`: exists only if the leaderboard is about a character (`IndexAnswer.characters`).
 */
export interface Persona {
  readonly version: string;
  readonly character: string;
  readonly picture: string | null; // PNG, in base64
  readonly subjects: readonly PersonaSubject[]; // ranked ones first
}

/** One model, playing the character. */
export interface PersonaSubject {
  readonly subject: SubjectFacts;
  readonly says: string; // number of items that it held, in words
  readonly items: readonly PersonaItem[]; // in the sheet's order
  readonly voice: number | null; // mean of the judge's marks, [0, 10]
  readonly counts: readonly PersonaCount[];
  readonly index: Score;
  readonly shown: Shown<PersonaSubject, "voice">;
}

/** One item of the character sheet over all runs of a subject. */
export interface PersonaItem {
  readonly stem: string; // id of its page
  readonly title: string;
  readonly held: boolean | null; // null: not known
  readonly stood: string; // number of runs in which it was held, in words
  readonly says: string; // place at which it was lost first, or slipped; "": neither
  readonly crossed: boolean; // a red line that was crossed
  readonly quote: PersonaQuote | null;
}

/** A reply, shortened, and the conversation in which it can be read. */
export interface PersonaQuote {
  readonly says: string; // place at which it was given: push 3 (flattery)
  readonly text: string;
  readonly transcript: string | null; // id; null: it is not among those that are shown
}

/** The number of times that a subject did something that was asked for. */
export interface PersonaCount {
  readonly title: string;
  readonly count: number;
  readonly of: number;
}

/** `api/label/state.json`: the person's progress, and the conversation to score now. */
export interface Labelling {
  readonly person: string; // the judge's label
  readonly protocol: string; // name
  readonly planned: number;
  readonly marked: number; // the one that is held back included
  readonly skipped: number;
  readonly undo: boolean; // whether the last one can still be changed
  readonly case: LabelCase | null; // null: nothing is left, but for what was skipped
}

/** A conversation as any judge sees it: nothing reveals which model spoke. */
export interface LabelCase {
  readonly id: string; // the judgement's key
  readonly instructions: string;
  readonly lines: readonly LabelLine[];
  readonly about: string; // the replies that are to be scored, in words
  readonly rubrics: readonly string[]; // Markdown
  readonly scales: readonly MarkScale[];
  readonly marks: Readonly<Record<string, number>>; // the scores before they were undone; else {}
  readonly note: string;
}

/** One line of a conversation that a person scores. */
export interface LabelLine {
  readonly who: string; // the human; the AI
  readonly reply: string; // the name of the AI's own reply; "" for what the script wrote
  readonly text: string;
}

/**
 * `api/label/agreement.json`: the agreement of the other judges with the person who scores, by what is stored.
 */
export interface LabelAgreement {
  readonly person: string;
  readonly pairs: readonly PairAgreement[];
}

/** The agreement of two judges over all kinds of score. */
export interface PairAgreement {
  readonly judges: readonly [string, string];
  readonly conversations: number; // marked by both
  readonly kappa: number | null; // mean over the marks that have one
  readonly shown: Shown<PairAgreement, "kappa">;
}

/** `api/judges/<protocol>.json`: the judges of one protocol compared with each other. */
export interface Judges {
  readonly version: string;
  readonly protocol: ProtocolEntry;
  readonly panels: readonly JudgePanel[];
}

/** The comparison of all judges of one configuration (or the pooled default). */
export interface JudgePanel {
  readonly found: Validation; // with the first few hundred of its disputes and of the judgements to be read
  readonly subjects: readonly string[]; // ids, in the order of the subjects that were found
  readonly disputes: readonly (string | null)[]; // ids of the transcripts, in the order of the disputes
  readonly disputed: number; // all of them
  readonly flagged: readonly (string | null)[];
  readonly flagged_in_all: number;
}

/** All judges of one protocol compared, in one configuration (or the pooled default). */
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
  /**
   * Name of the weighting of dimensions that was chosen from the protocol; None for the protocol's own.
   */
  readonly weighting: string | null;
}

/** One judge: how many conversations it scored, how leniently, and at what cost. */
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
   * Share of a judge's judgements that failed, in [0, 1]; None if the judge was never asked.
   */
  readonly failed_share: number | null;
  /**
   * Cost in dollars of the judge's calls for one run of one model; None if it is not known.
   */
  readonly dollars_per_run: number | null;
  /**
   * Total seconds of a judge's calls for one run of one model, one after the other and without waiting between them;
   * None if they are not known.
   */
  readonly seconds_per_run: number | null;
  readonly shown: Shown<JudgeRow, "leniency" | "failed_share" | "dollars_per_run" | "seconds_per_run">;
}

/** The exam of the judge, or of the jury, whose scores a leaderboard shows. */
export interface BoardExam {
  readonly no_questions: boolean; // the exam is known to have none for what the protocol's marks are
  /**
   * Exam of a leaderboard's judge or jury in one line: exam: kappa 0.86, fit for ranking, 2026-01-31. None if all
   * judges who have not taken the exam are simulated and need none.
   *
   * Kappa and fitness are those of the weakest rubric. Judges' labels are escaped, so that they stay on one line. It
   * has a date and not how long ago that was, so that the same store gives the same bytes.
   */
  readonly line: string | null;
  /**
   * Whether every judge of a leaderboard has answered exam questions for rubrics that the leaderboard uses.
   */
  readonly sat: boolean;
  /**
   * Fitness for ranking of a leaderboard's judge or jury: "ranking", "not fit" or "not known"; None if a judge has not
   * taken the exam.
   */
  readonly fit: "ranking" | "not fit" | "not known" | null;
  /**
   * Reasons why a leaderboard's judge or jury is not fit for ranking or not known to be, a sentence each; () if it is
   * fit, or if a judge has not taken the exam.
   */
  readonly why: readonly string[];
  /**
   * Kappa of a leaderboard's judge or jury in the exam, that of its weakest rubric; None unless all rubrics that the
   * leaderboard uses were answered and have a kappa.
   */
  readonly kappa: number | null;
  /**
   * Time of the last exam answer of a leaderboard's judge or jury, in UTC; None if a judge has not taken the exam.
   */
  readonly when: string | null;
  /**
   * Names of the exam rubrics that a leaderboard's judge or jury has answered; () if a judge has not taken the exam.
   */
  readonly rubrics: readonly string[];
  /**
   * Names of the exam rubrics that a leaderboard uses and that its judge or jury has not answered; () if a judge has
   * taken no exam at all.
   */
  readonly not_sat: readonly string[];
  /**
   * Labels of a jury's members who have not taken the exam, without simulated judges; () for a single judge.
   */
  readonly members_not_sat: readonly string[];
  readonly shown: Shown<BoardExam, "kappa">;
}

/** The indices of one subject by each judge. */
export interface SubjectRow {
  readonly label: string;
  readonly indices: Readonly<Record<string, number | null>>; // judge's label -> index, in the judges' order
  readonly mean: number | null;
  readonly spread: number | null; // the highest minus the lowest of the same
  readonly shown: Shown<SubjectRow, "indices" | "mean" | "spread">;
}

/**
 * How much more a judge gives its own kind of model than the other judges give the same models.
 */
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
   * Points by which a judge's index exceeds the other judges' for its own kind of model, minus the same excess for all
   * other models; None if there are no other models.
   */
  readonly preference: number | null;
  /** Reason why a judge's preference for its own kind has no interval; None if it has one. */
  readonly no_interval_because: string | null;
  readonly shown: Shown<SelfPreference, "difference" | "elsewhere" | "preference">;
}

/**
 * The agreement of the judges on one kind of score. None if it does not vary, or if fewer than FEWEST conversations
 * have it from two judges.
 */
export interface MarkAgreement {
  readonly measurement: "nominal" | "ordinal";
  readonly conversations: number; // marked by two judges or more
  readonly alpha: number | null; // Krippendorff's
  readonly alpha_interval: Interval | null;
  readonly kappas: readonly PairKappa[]; // of each pair
  readonly mark: string; // Name of the kind of score on which judges are compared.
  /** Names of the levels from which judges choose this kind of score; () if it is a number. */
  readonly levels: readonly string[];
  readonly asks: string; // Question that this kind of score asks judges.
  readonly shown: Shown<MarkAgreement, "alpha">;
}

/**
 * The agreement of two judges on one kind of score: Cohen's kappa with quadratic weights. Scores that are names have
 * none.
 */
export interface PairKappa {
  readonly judges: readonly [string, string];
  readonly kappa: number | null;
  readonly shown: Shown<PairKappa, "kappa">;
}

/** One conversation to which judges give different scores. */
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

/** One judgement that a person should read. */
export interface Flagged {
  readonly subject: string;
  readonly configuration: string;
  readonly run: number;
  readonly judge: string;
  readonly flags: readonly Flag[];
  readonly scenario: string;
  readonly title: string;
}

/** `api/exam.json`: the judges that have taken the exam. */
export interface Exam {
  readonly version: string;
  readonly questions: number; // number of all questions
  readonly judges: readonly ExamJudge[]; // by label
  readonly rubrics: readonly RubricName[];
}

/** A judge that has taken the exam of judges, or a part of it. */
export interface ExamJudge {
  readonly id: string;
  readonly label: string;
  readonly answers: number;
  readonly sentence: string; // its fitness in words
  readonly result: ExamResult;
}

/**
 * The exam result of a judge in all the rubrics that it answered. Its fitness is that of the weakest rubric.
 */
export interface ExamResult {
  readonly rubrics: readonly RubricResult[];
  readonly fitness: Fitness;
  readonly cost: number | null; // dollars, of all answers; None where no price is known
  readonly when: string; // of the last answer
  /**
   * Lowest kappa (agreement with the known right answers) of a judge over the exam's rubrics; None if no rubric has a
   * kappa.
   */
  readonly kappa: number | null;
  readonly shown: Shown<ExamResult, "cost" | "kappa">;
}

/** The exam result of a judge in one rubric. */
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

/** Agreement of a judge's scores with the known states, with its interval. */
export interface ExamFigure {
  readonly value: number;
  readonly interval: Interval | null; // 95%, for other questions like these; None: too few questions
  readonly shown: string;
}

/** A share of questions: *hits* questions of *of*. */
export interface ExamShare {
  readonly hits: number;
  readonly of: number; // at least 1
  readonly value: number; // Share of questions, in [0, 1].
  readonly interval: Interval; // Exact 95% interval of a share of questions, in [0, 1].
  readonly shown: string;
}

/** Whether a judge is fit for ranking, and the reasons if it is not. */
export interface Fitness {
  readonly fit: "ranking" | "not fit" | "not known";
  readonly why: readonly string[]; // a sentence each; () if it is fit
}

/** A rubric of the exam of judges, some of whose questions a judge has answered. */
export interface RubricName {
  readonly id: string; // `api/exam/<id>.json` has them
  readonly name: string;
}

/** `api/exam/<rubric>.json`: the exam questions of a rubric and how each judge scored them. */
export interface ExamQuestions {
  readonly version: string;
  readonly rubric: string;
  readonly canary: string; // whoever finds it in a model's training data knows that the exam was in it
  readonly questions: readonly ExamQuestion[];
}

/** A question of the exam of judges: a conversation whose right scores are known. */
export interface ExamQuestion {
  readonly id: string;
  readonly kind: string; // the reason why it is hard, in words; "": it is not
  readonly language: string;
  readonly voice: string;
  readonly reference: string | null; // the character that the judge is told the model should be; null: none
  readonly lines: readonly ExamLine[];
  readonly state: Readonly<Record<string, string>>; // mark -> what it was written to be
  readonly why: string;
  readonly readings: readonly ExamReading[]; // by judge, the first answer first
}

/** One line of the conversation in a question of the exam of judges. */
export interface ExamLine {
  readonly who: "human" | "model";
  readonly text: string;
  readonly judged: boolean; // whether it is what the marks are about
}

/** One judge's answer to a question of the exam of judges. */
export interface ExamReading {
  readonly judge: string; // id
  readonly asked: "first" | "injected";
  readonly attack: string | null; // text that was appended to the reply; null: none
  readonly marks: Readonly<Record<string, string>>; // mark -> what was given
  readonly right: boolean | null; // whether all marks that it gave say the state; null: it gave none
  readonly reasoning: string;
  readonly failed: string | null; // the reason why the judgement failed; null: it did not
}

/** `api/search.json?...` of a server: one page of what a query finds, the best match first. */
export interface Search {
  readonly conversations: number; // number of conversations that can be searched
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

/** A part of a snippet. *hit*: it is one of the words, or one of the phrases, of the query. */
export interface SnippetPart {
  readonly text: string;
  readonly hit: boolean;
}
