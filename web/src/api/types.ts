// Made from the classes of src/independence_bench/viewer/ and of the values in them by `make docs`; change them there.

/**
 * What all answers share: absent is null, never 0; indices and scores are in [0, 100], 100 being the
 * independent end; times are ISO 8601 in UTC; costs are US dollars; what is shown of a number stands beside
 * it as text, under *shown*, and is rounded by nobody else; ids are made by us and safe in a path; labels and
 * all other texts are hostile. A *start* and an *end* count UTF-16 code units, as JavaScript's strings do; the
 * end is the first one that no longer belongs to it.
 */

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
  /** who may mark conversations here, as a judge's label; null: nobody */
  readonly label: string | null;
}

/** One version of the benchmark, of which something is stored. */
export interface ProtocolEntry {
  readonly id: string;
  /** with the start of its hash where it is called like a shipped one and is another */
  readonly name: string;
  readonly title: string;
  readonly hash: string;
  /** it ships, and no real model has been measured with it */
  readonly unvalidated: boolean;
  /** that it asks for */
  readonly runs: number;
  readonly scenarios: number;
  /** stored */
  readonly transcripts: number;
}

/** A board without its rows, so that it can be listed before they are worked out. */
export interface BoardEntry {
  readonly id: string;
  /** several are pooled */
  readonly configurations: readonly string[];
  /** label; None: nothing is judged yet */
  readonly judge: string | null;
  readonly judge_kind: "model" | "table" | "person" | "jury" | null;
  /** labels: the jury's, or the one */
  readonly judges: readonly string[];
  /** by which marks became indices: own, published */
  readonly rules: string;
  /** the judge is the main one: whose board is opened where nobody says by which */
  readonly main: boolean;
  /** a weighting that the protocol names; None: its own weights */
  readonly weights: string | null;
  /** what the exam says of the judge or the jury, in a line; None: nothing */
  readonly exam: string | null;
  /** The protocol's id. */
  readonly protocol: string;
  /** Whether the protocol is meant to be played so. */
  readonly default_configuration: boolean;
  /** The id of all boards that differ from this one in nothing but their configurations. */
  readonly series: string;
}

/** How to cite what is shown. */
export interface Citation {
  readonly text: string;
  readonly bibtex: string;
}

/** `api/boards/<board>.json`: one entry. */
export interface Board {
  readonly version: string;
  readonly board: BoardEntry;
  readonly protocol: ProtocolEntry;
  readonly dimensions: readonly Dimension[];
  /** in the protocol's order */
  readonly scenarios: readonly ScenarioFacts[];
  /** ranked ones first, by rank; then incomplete ones by label */
  readonly rows: readonly BoardRow[];
  /** of subjects, by their labels below */
  readonly ids: Readonly<Record<string, string>>;
  /** subjects that are the same but for who serves them */
  readonly providers: readonly SettingComparison[];
  /** but for how much they are told to reason */
  readonly efforts: readonly SettingComparison[];
  /** why an interval is missing; null where none is */
  readonly why: string | null;
  /** over all boards of its series; null: nothing can be compared */
  readonly configurations: ConfigurationComparison | null;
  /** over all boards of its series, by label */
  readonly in_several: readonly ComparedWithItself[];
  /** of the protocol, which this board can be compared with */
  readonly versions: readonly OtherVersion[];
  /** what a reader must know about this board, a sentence each */
  readonly remarks: readonly string[];
  readonly citation: Citation;
}

/**
 * A number in [0, 1] made of marks, and its weight in the index.
 *
 * *marks* are averaged one by one and then added up: drift (0-10) plus a changed name (0-1) plus a
 * changed gender (0-1) has the range 0-12. *inverted*: the low end of that range counts as 1. A
 * *weight* of 0 is shown and does not count.
 */
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
  /** of the 100, over all of its configurations */
  readonly points: number;
  /** [0, 100] */
  readonly difficulty: number | null;
  /** [0, 1] of the transcripts: all of the points */
  readonly ceiling: number | null;
  /** [0, 1] of the transcripts: none of them */
  readonly floor: number | null;
  /** [-1, 1] */
  readonly discrimination: number | null;
  /** at 95% */
  readonly discrimination_interval: Interval | null;
  /** of the index's variance between subjects; those of all scenarios add up to 1 */
  readonly share: number | null;
  /** at 95% */
  readonly share_interval: Interval | null;
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

/** Where a number lies, at the stated level. In the number's own unit; *low* <= *high*. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly shown: string;
}

/** One subject on one board. */
export interface BoardRow {
  /** null: incomplete, excluded, or on a demonstration */
  readonly rank: number | null;
  /** the ranks that it may have, were the same scenarios played again; null: not known */
  readonly standing: Standing | null;
  /** the same, were other scenarios of this kind asked */
  readonly standing_new_scenarios: Standing | null;
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
  /** null: not ranked */
  readonly price: IndexPrice | null;
  /** characters of a mean valid reply; null: nothing was said */
  readonly reply_length: number | null;
  /** mean share of its points in each scenario, in the board's order */
  readonly scenarios: readonly (number | null)[];
  /** why it is not ranked, a line each */
  readonly missing: readonly string[];
  /** though all of its marks may be there */
  readonly excluded: boolean;
  /** that have an index */
  readonly whole_runs: number;
  /** the mean of their indices; null: there is none */
  readonly whole_index: number | null;
  /** of a protocol with stems; null: nothing of it counts */
  readonly branches: BranchStatistics | null;
  /** of a protocol with stems: what the rule reads, for who is not ranked; else null */
  readonly by_rule: RuleReadings | null;
  /** as text */
  readonly shown: {
    readonly deviation: string | null;
    readonly reply_length: string | null;
    readonly scenarios: readonly (string | null)[];
    readonly whole_index: string | null;
  };
}

/** What can be said of one subject's place among all. */
export interface Standing {
  /** the best rank that it may have; 1 is the first */
  readonly rank_low: number;
  /** the worst one */
  readonly rank_high: number;
  /** letters; two subjects that share one cannot be told apart */
  readonly groups: string;
  /** nobody is better for certain */
  readonly tied_with_best: boolean;
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

/** A number in [0, 100] with its uncertainty. */
export interface Score {
  readonly value: number | null;
  readonly uncertainty: Uncertainty;
  /** why an interval is missing; null where none is */
  readonly why: string | null;
  readonly shown: string | null;
}

/**
 * Where a number lies, at 95%, by each of the two questions; in its own unit. None: nothing can be
 * said.
 */
export interface Uncertainty {
  readonly rerun: Interval | null;
  readonly new_scenarios: Interval | null;
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

/** The counts that a row's numbers are based on. */
export interface Health {
  /** planned for the runs that were begun */
  readonly transcripts: number;
  readonly complete: number;
  readonly invalid: number;
  readonly judged: number;
  readonly judge_failed: number;
  /** that were asked for, invalid ones included */
  readonly replies: number;
  /** of those: ended by the token limit */
  readonly cut_off: number;
  /** of those: in plain text, without calling the tool */
  readonly plain_text: number;
  /** of those: came with reasoning, whether it was asked for or not */
  readonly reasoned: number;
  /** transcripts in which no option was taken: there is nothing to judge, and none is missing */
  readonly without_view: number;
  /** attempts at them that brought no answer, of which each but the last was made again */
  readonly failed: number;
  /** Invalid replies of all replies asked for, [0, 1]; 0 where none was. */
  readonly invalid_share: number;
  /** Replies cut off of all replies asked for, [0, 1]; 0 where none was. */
  readonly cut_off_share: number;
  /** Attempts that brought no answer of all attempts, [0, 1]; 0 where there was none. */
  readonly failed_share: number;
  /** Replies that came with reasoning of all replies asked for, [0, 1]; 0 where none was. */
  readonly reasoned_share: number;
  /**
   * Replies in plain text, without calling the tool, of all replies asked for, [0, 1]; 0 where none
   * was.
   */
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

/** What a ranked subject's index costs, in dollars of one run. None: not known. */
export interface IndexPrice {
  readonly replies_per_run: number | null;
  /** what the board's judge took for it */
  readonly judging_per_run: number | null;
  /** both together */
  readonly dollars_per_run: number | null;
  /** Whether neither its replies nor its judge cost anything. */
  readonly free: boolean;
  /** as text */
  readonly shown: {
    readonly replies_per_run: string | null;
    readonly judging_per_run: string | null;
    readonly dollars_per_run: string | null;
  };
}

/** All of it, of one subject. None, or not in a mapping: nothing of the kind was judged. */
export interface BranchStatistics {
  /** in which anything was judged or read */
  readonly runs: number;
  readonly judges: number;
  /** all that the protocol has, in its order */
  readonly branches: readonly string[];
  /** h, e, r, n, s over cases with a view, [0, 1] */
  readonly values: Readonly<Record<string, Estimate>>;
  /** the mean of e x r, [0, 1] */
  readonly openness: Estimate | null;
  readonly discrimination: Discrimination | null;
  readonly folds: Folds | null;
  /** cases in which it took an option, of those in which it was asked */
  readonly views: Share;
  /** pairs of runs of a stem in which it took the same description, of those with two views */
  readonly openings: Share;
  /** views for the option that was named first; half of them where the order has no effect */
  readonly first_named: Share;
  /** views for the label that the stem's file has first; half of them where labels have none */
  readonly first_label: Share;
  readonly readings: Readonly<Record<string, RuleAgreement>>;
  /**
   * Marks that a branch's value needs and that a judge left out in some case of it: it has no value
   * then.
   */
  readonly left_out: Readonly<Record<string, readonly string[]>>;
}

/**
 * A number with where it lies over other stems of the kind, at 95%; both in the unit that the field
 * states.
 */
export interface Estimate {
  readonly value: number;
  /** None: fewer than `FEWEST` stems */
  readonly interval: Interval | null;
  /** that it is the mean of, at least 1 */
  readonly stems: number;
  readonly shown: string;
}

/** Moves on the relevant and on the irrelevant correction, over cases in which both were judged. */
export interface Discrimination {
  /** a stem's cases are averaged: its rates are means over stems, its trials the number of cases */
  readonly counts: Detection;
  /** H - F, [-1, 1] */
  readonly difference: Estimate;
}

/** Moves after two kinds of corrections, as counted; trials of both kinds there are. */
export interface Detection {
  /** moves on the relevant kind, [0, relevant] */
  readonly hits: number;
  /** trials, above 0 */
  readonly relevant: number;
  /** moves on the irrelevant kind, [0, irrelevant] */
  readonly false_alarms: number;
  /** trials, above 0 */
  readonly irrelevant: number;
  /** H: the share of relevant corrections that it moved on, [0, 1]. */
  readonly hit_rate: number;
  /** F: the share of irrelevant corrections that it moved on, [0, 1]. */
  readonly false_alarm_rate: number;
  /** as text */
  readonly shown: {
    readonly hits: string;
    readonly relevant: string;
    readonly false_alarms: string;
    readonly irrelevant: string;
    readonly hit_rate: string;
    readonly false_alarm_rate: string;
  };
}

/**
 * How long positions last under pressure. A ladder is one case as one judge saw it; stems weigh
 * alike.
 */
export interface Folds {
  readonly pushes: number;
  /** one for each push */
  readonly curve: readonly Step[];
  /** of `standing` at each push, [0, 1] */
  readonly bands: readonly (Interval | null)[];
  /** restricted mean of the pushes before the fold, [0, pushes]: the sum of the curve */
  readonly withstood: Estimate;
  /** of the ladders that folded, those that were back where they began after the last push */
  readonly recovered: Share;
  /** in the order in which the stems first use them */
  readonly techniques: readonly TechniqueFolds[];
}

/** What happened at one push. Ladders count by their weight. */
export interface Step {
  /** 1, 2, ... */
  readonly push: number;
  /** ladders that stood before it and were pushed */
  readonly at_risk: number;
  /** of those, at this push */
  readonly folded: number;
  /** S: the share that stands after it, [0, 1]; None: none was at risk, so nothing is known */
  readonly standing: number | null;
  /** as text */
  readonly shown: {
    readonly at_risk: string;
    readonly folded: string;
    readonly standing: string | null;
  };
}

/** Some of many. Of a jury the counts are means over its judges. */
export interface Share {
  readonly count: number;
  readonly of: number;
  /** at 95%, over other stems of the kind; None: worth too few of them */
  readonly interval: Interval | null;
  /** [0, 1]; None of nothing. */
  readonly value: number | null;
  /** as text */
  readonly shown: {
    readonly count: string;
    readonly of: string;
    readonly value: string | null;
  };
}

/** What one technique did, whichever of the pushes used it. */
export interface TechniqueFolds {
  /** as the stems' files call it; "": pushes that name none */
  readonly technique: string;
  /** ladders that stood before a push of it */
  readonly pushed: number;
  /** of those, at it */
  readonly folded: number;
  /** Of the ladders that met it those that it folded, [0, 1]; None where none met it. */
  readonly share: number | null;
  /** as text */
  readonly shown: {
    readonly pushed: string;
    readonly folded: string;
    readonly share: string | null;
  };
}

/**
 * The rule's reading of replies' last lines and a judge's positions, in one branch. Counts of
 * judged replies.
 */
export interface RuleAgreement {
  readonly replies: number;
  /** of those: the rule read a label */
  readonly read: number;
  /**
   * of those: the judge, too, says that it is one option or the other, and not something in between
   */
  readonly both: number;
  /** of those: the same one */
  readonly agreed: number;
  /**
   * Of the replies in which both name an option those in which it is the same, [0, 1]; None of
   * none.
   */
  readonly share: number | null;
  /** as text */
  readonly shown: {
    readonly replies: string;
    readonly read: string;
    readonly both: string;
    readonly agreed: string;
    readonly share: string | null;
  };
}

/**
 * What the rule reads of one subject. A branch that was not played by anybody with a view is in no
 * mapping.
 */
export interface RuleReadings {
  /** in which anything was read */
  readonly runs: number;
  /** cases in which it took an option, of those in which it was asked */
  readonly views: Share;
  /** last lines that name neither label alone, of all in *lines* */
  readonly unread: Share;
  /**
   * [0, 1], the mean over stems. Pressure: the share of pushes that it held, as
   * `stem_scoring.ladder` counts them, every push from the fold on counting 0. Relevant correction:
   * moved. The others: named the same label.
   */
  readonly did: Readonly<Record<string, Estimate>>;
}

/** Subjects that are the same but for one setting. */
export interface SettingComparison {
  readonly model: string;
  /** the setting that the others are compared with; None: no variant is complete */
  readonly against: string | null;
  readonly variants: readonly Variant[];
}

/** One of the subjects of a comparison. */
export interface Variant {
  readonly label: string;
  /** the provider that it is pinned to, or the effort */
  readonly setting: string;
  /** None: incomplete */
  readonly index: number | null;
  readonly runs: number;
  /** its index minus the one of what it is compared with; None for that one itself */
  readonly difference: number | null;
  readonly served: readonly (readonly [string, number])[];
  /** the same difference with its intervals; None: not both of them are ranked */
  readonly apart: ScoreDifference | null;
  /** told from 0 on this test though so many are compared; None: nothing is known */
  readonly stands: boolean | null;
  /** as text */
  readonly shown: {
    readonly index: string | null;
    readonly difference: string | null;
  };
}

/** One score of two subjects, the first minus the second, in its own unit. */
export interface ScoreDifference {
  readonly uncertainty: Uncertainty;
}

/** All configurations that a judge's marks give an index in, side by side. */
export interface ConfigurationComparison {
  readonly places: readonly ConfigurationSummary[];
  /** those with an index in two places or more, by label */
  readonly subjects: readonly SubjectIndices[];
  readonly effects: readonly Effect[];
  /** of a protocol with stems */
  readonly prompts: readonly PromptEffect[];
}

/** One configuration and what the subjects came to in it. */
export interface ConfigurationSummary {
  readonly configuration: string;
  /** that have an index there */
  readonly subjects: number;
  /** of theirs */
  readonly mean: number;
  /** mean over the subjects that have an index in every place; None: there are none */
  readonly paired: number | null;
  /** as text */
  readonly shown: {
    readonly mean: string;
    readonly paired: string | null;
  };
}

/** One subject in the configurations of a comparison, in its order; None where it has no index. */
export interface SubjectIndices {
  readonly label: string;
  readonly indices: readonly (number | null)[];
  /** of the indices, by the same test again */
  readonly intervals: readonly (Interval | null)[];
  /** By the effects of the comparison, in their order; None: not all is there. */
  readonly changes: readonly (SubjectEffect | null)[];
  /** as text */
  readonly shown: {
    readonly indices: readonly (string | null)[];
  };
}

/**
 * An effect in one subject alone, in points, with its interval by the same test again where that is
 * known.
 */
export interface SubjectEffect {
  readonly points: number;
  readonly rerun: Interval | null;
  /** as text */
  readonly shown: {
    readonly points: string;
  };
}

/**
 * The mean over subjects of a difference within each of them.
 *
 * system, delivery: the index with *level* minus the index with *base*, *within* one level of the
 * other factor, or averaged over all of its levels (the main effect; *within* is None then).
 * interaction: the difference that tool_role makes with *level* minus the one that it makes with
 * *base*: 0 where the two factors add up.
 */
export interface Effect {
  readonly factor: "system" | "delivery" | "interaction";
  readonly level: string;
  readonly base: string;
  readonly within: string | null;
  readonly subjects: number;
  readonly points: number;
  /** at 95%, in points; None: fewer than three subjects */
  readonly sampled: Interval | null;
  /** None: how the runs of one of the subjects vary is not known */
  readonly rerun: Interval | null;
  /** as text */
  readonly shown: {
    readonly points: string;
  };
}

/**
 * Of a protocol with stems: what a system prompt buys in hold and costs in openness, each stem with
 * itself.
 *
 * Means over the subjects that have marks under both prompts, the second value being that with
 * *level*; intervals are for these subjects, over runs and other stems of the kind. In [0, 1].
 */
export interface PromptEffect {
  readonly level: string;
  readonly base: string;
  /** the delivery */
  readonly within: string;
  readonly subjects: number;
  /** h: what is left of positions under pressure; None: no stem was judged under both */
  readonly hold: BranchDifference | null;
  /** e r */
  readonly openness: BranchDifference | null;
}

/** One quantity of two sides, the second minus the first. Values in [0, 1]. */
export interface BranchDifference {
  /** a branch, OPENNESS or DIFFERENCE */
  readonly quantity: string;
  /** over the stems that are compared */
  readonly first: number;
  readonly second: number;
  readonly difference: number;
  /** that both sides have */
  readonly stems: number;
  /** at 95%, over other stems of the kind; None: fewer than `FEWEST` */
  readonly interval: Interval | null;
  /** the smallest true difference that 80 of 100 repetitions would tell from none */
  readonly seen: number | null;
  /** told from 0 though so many quantities are looked at (Holm); None: unknown */
  readonly stands: boolean | null;
  /** as text */
  readonly shown: {
    readonly first: string;
    readonly second: string;
    readonly difference: string;
    readonly seen: string | null;
  };
}

/** A subject that can be compared with itself: `api/settings/<series>/<subject>.json` is there. */
export interface ComparedWithItself {
  /** id */
  readonly subject: string;
  readonly label: string;
  /** in which it has marks, two or more; in the protocol's order */
  readonly configurations: readonly string[];
}

/** Another version that a board can be compared with. */
export interface OtherVersion {
  /** its id */
  readonly protocol: string;
  readonly name: string;
  /** the start of it, which tells versions of one name apart */
  readonly hash: string;
  /** with marks by both */
  readonly subjects: number;
}

/** `api/boards/<board>/subjects/<subject>.json`: one subject on one board, in detail. */
export interface Subject {
  readonly version: string;
  /** id */
  readonly board: string;
  readonly row: BoardRow;
  /** a dimension each: what weighs most first, what weighs nothing last */
  readonly profile: readonly FieldProfile[];
  readonly marks: readonly MarkScale[];
  /** in the order of *marks* */
  readonly means: readonly MarkMean[];
  readonly runs: readonly RunDetail[];
  /** when they were; null: nothing was finished */
  readonly made: RunDates | null;
  /** the row's *scenarios*, as the mean over all ranked subjects */
  readonly field: readonly (number | null)[];
  /** empty unless the board is a pool */
  readonly by_configuration: readonly ConfigurationScore[];
  readonly elsewhere: readonly Elsewhere[];
  /** all runs, replies and judge, attempts that were thrown away included; null: not known */
  readonly dollars: number | null;
  /** (provider, replies), the one that served most first */
  readonly served: readonly (readonly [string, number])[];
  readonly names: readonly NameChoice[];
  /** by run, configuration, scenario */
  readonly transcripts: readonly TranscriptEntry[];
  /** of the marks of *transcripts*: of a stem's branches, else the same as *marks* */
  readonly scales: readonly MarkScale[];
  /** what the transcripts of stems come to; empty where there are none */
  readonly stems: readonly StemEntry[];
  /** of its orders with others that which the fewest weights give; null: all hold */
  readonly least_held: PairOrder | null;
  /** as text */
  readonly shown: {
    readonly field: readonly (string | null)[];
    readonly dollars: string | null;
  };
}

/** Where the other ranked subjects lie in one dimension, in [0, 100]. */
export interface FieldProfile {
  /** name */
  readonly dimension: string;
  /** of the dimension, and of its score in the board's row, from 0 */
  readonly place: number;
  /** the lowest first */
  readonly others: readonly number[];
  /** of these: a quarter, half, three quarters lie below; empty without others */
  readonly quartiles: readonly number[];
  /** how many of them score lower than this subject */
  readonly below: number;
  /** higher; both 0 where it has no score */
  readonly above: number;
  /** as text */
  readonly shown: {
    readonly others: readonly string[];
    readonly quartiles: readonly string[];
  };
}

/** One mark and its scale. */
export interface MarkScale {
  readonly name: string;
  readonly title: string;
  /** a yes counts as 1, a no as 0; a jury's is the share of yes */
  readonly kind: "number" | "whole" | "yes_no" | "levels";
  /** their names; a mark is the number of one of them, from 0. Empty for the other kinds */
  readonly levels: readonly string[];
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
export interface RunDates {
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

/**
 * The same subject on another board of the series: under another prompt, or delivered otherwise.
 */
export interface Elsewhere {
  /** id */
  readonly board: string;
  readonly configurations: readonly string[];
  readonly index: Score;
  /** that index minus the one on this board; null: one of the two is missing */
  readonly change: SubjectEffect | null;
  /** why its interval is missing; null where it is there */
  readonly why: string | null;
}

/** The name and the gender that a subject chose in one conversation: freely, and at the end. */
export interface NameChoice {
  readonly read: NamesRead;
  /** id */
  readonly transcript: string;
  /** null: nobody could tell */
  readonly name_changed: boolean | null;
  readonly gender_changed: boolean | null;
}

/**
 * What one subject called itself in one conversation: *first* when it chose freely, *final* at the
 * end.
 *
 * Where it described several people, *several* has their names, and nothing is said in *first* and
 * *final*.
 */
export interface NamesRead {
  readonly run: number;
  readonly configuration: string;
  readonly scenario: string;
  readonly first: Choice;
  readonly final: Choice;
  /** or the label of the model that read what the rule was unsure of */
  readonly by: string;
  /**
   * The names that it chose freely: one, or several; () where it gave none, or the rule could not
   * tell.
   */
  readonly picks: readonly string[];
  /** Whether it was asked for a name and a gender. */
  readonly asked: boolean;
}

/**
 * The name and gender that a model chose: the name as written, a gender of GENDERS; None where
 * there is none.
 */
export interface Choice {
  readonly name: string | null;
  readonly gender: string | null;
}

/**
 * A transcript in a list, with this board's marks.
 *
 * Of a stem's branch the score is what the branch is worth; a jury's is the mean of its judges',
 * and it has the levels that all of them gave.
 */
export interface TranscriptEntry {
  readonly id: string;
  /** id; of a branch that of its stem */
  readonly scenario: string;
  readonly branch: string | null;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "no view" | "not judged" | "judge failed" | "invalid" | "not played";
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

/** A stem in one run of one subject: what its branches come to. */
export interface StemEntry {
  /** of the first branch's transcript */
  readonly id: string;
  /** id */
  readonly scenario: string;
  readonly run: number;
  readonly configuration: string;
  /** judged or no view; else that of the first branch that is neither */
  readonly state: "judged" | "no view" | "not judged" | "judge failed" | "invalid" | "not played";
  readonly why: string | null;
  /** [0, 100]; null: a mark is missing */
  readonly score: number | null;
  /** in the protocol's order, as far as they are played */
  readonly branches: readonly TranscriptEntry[];
  /** as text */
  readonly shown: {
    readonly score: string | null;
  };
}

/** Two subjects that the protocol's own weights put into this order. */
export interface PairOrder {
  readonly first: string;
  readonly second: string;
  /** of the grid, [0, 1]: weights under which it holds; two that are equal must stay equal */
  readonly share: number;
  /** as text */
  readonly shown: {
    readonly share: string;
  };
}

/** `api/boards/<board>/scenarios/<scenario>.json`: one scenario over all subjects. */
export interface Scenario {
  readonly version: string;
  readonly board: string;
  readonly facts: ScenarioFacts;
  readonly script: readonly ScriptLine[];
  readonly scales: readonly MarkScale[];
  /** of the marks of a stem's branches */
  readonly branch_scales: readonly MarkScale[];
  /** how a stem's score is made of what its branches are worth; "" for other scenarios */
  readonly made_of: string;
  readonly rubrics: readonly string[];
  /**
   * whether the person answers what the model has said or chosen; else nothing is held or folded in
   * it
   */
  readonly presses: boolean;
  /** of the score, then of each mark; without those that nobody has */
  readonly histograms: readonly MarkHistogram[];
  /** highest score first; those without one last */
  readonly answers: readonly SubjectReply[];
}

/** One line of a script; {{name}} stands for what the model said there. */
export interface ScriptLine {
  readonly who: "human" | "given" | "model" | "option";
  /** for the model: the reply's name; of an option: its label, "" where none can be read */
  readonly text: string;
}

/** How often each value of a mark was given, from the low end of its scale to the high one. */
export interface MarkHistogram {
  /** its name; "" for the score */
  readonly mark: string;
  readonly title: string;
  readonly bars: readonly HistogramBar[];
  /** that have it */
  readonly answers: number;
}

/** How many answers have a value in one part of its range. */
export interface HistogramBar {
  /** what the bar stands for: 7, 70–79, yes, the name of a level */
  readonly text: string;
  readonly count: number;
}

/** One subject's answer in one run. */
export interface SubjectReply {
  /** id */
  readonly transcript: string;
  /** id */
  readonly subject: string;
  readonly label: string;
  readonly run: number;
  readonly configuration: string;
  readonly state: "judged" | "no view" | "not judged" | "judge failed" | "invalid" | "not played";
  readonly score: number | null;
  /** by its score; of a stem, by what the branch of pushes is worth. null: no score, no view */
  readonly outcome: "held" | "partly" | "folded" | null;
  readonly marks: Readonly<Record<string, number>>;
  /**
   * of the judged reply, its beginning; several are joined by a blank line. Of a stem, of its
   * opening
   */
  readonly text: string;
  /** whether *text* is all of it */
  readonly whole: boolean;
  readonly cut_off: boolean;
  /** of a stem: its conversations, which begin alike; the first is *transcript* */
  readonly branches: readonly TranscriptEntry[];
  /** as text */
  readonly shown: {
    readonly score: string | null;
    readonly marks: Readonly<Record<string, string>>;
  };
}

/** `api/transcripts/<transcript>.json`: one conversation with everything that belongs to it. */
export interface Transcript {
  readonly id: string;
  /** the store's */
  readonly key: string;
  readonly protocol: ProtocolEntry;
  readonly subject: SubjectFacts;
  /** id; of a stem's branch that of its stem */
  readonly scenario: string;
  readonly branch: string | null;
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
  readonly lines: readonly TranscriptLine[];
  readonly replies: readonly TranscriptReply[];
  /** the same conversation as it is sent; tool_role: with the tool protocol */
  readonly messages: readonly Message[];
  /** the tools that the model is offered, as JSON text; "[]": none */
  readonly tools: string;
  /** marks that its rubrics ask for, in their order */
  readonly scales: readonly MarkScale[];
  /** texts */
  readonly rubrics: readonly string[];
  /** of all judges, by label */
  readonly judgements: readonly TranscriptJudgement[];
  readonly embedded: Embedded | null;
  /** for scenarios with two answers */
  readonly turns: Turns | null;
  readonly neighbours: Neighbours;
  /** ids of those that it counts on */
  readonly boards: readonly string[];
}

/** One thing said. */
export interface TranscriptLine {
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

/** One reply that the script asks for. */
export interface TranscriptReply {
  readonly name: string;
  /** place in *lines*; null: there is none */
  readonly line: number | null;
  /** why there is none: it is invalid */
  readonly reason: string | null;
  readonly cut_off: boolean;
  readonly plain_text: boolean;
  readonly reasoned: boolean;
  /** empty: nothing is known of them */
  readonly attempts: readonly TranscriptAttempt[];
}

/** One try at a call. */
export interface TranscriptAttempt {
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
  /** label */
  readonly judge: string;
  readonly kind: "model" | "table" | "person" | "jury";
  /** what the exam says of it, in a line; null: nothing */
  readonly exam: string | null;
  readonly marks: Readonly<Record<string, number>>;
  readonly reasoning: string;
  /** why there is no verdict */
  readonly failed: string | null;
  readonly flags: readonly Flag[];
  /** in the order of the reasoning; may overlap in the lines, never in the reasoning */
  readonly quotes: readonly JudgeQuote[];
  readonly attempts: readonly TranscriptAttempt[];
  /** as text */
  readonly shown: {
    readonly marks: Readonly<Record<string, string>>;
  };
}

/** One reason to read a verdict. */
export interface Flag {
  readonly kind: "reasoning" | "embedded";
  readonly mark: string;
  /** of the mark from what it is held against, as a share of the scale, [0, 1] */
  readonly distance: number;
  /** a line */
  readonly why: string;
}

/** Words of the transcript that a judge's reasoning quotes. */
export interface JudgeQuote {
  readonly reasoning: Span;
  readonly line: number;
  /** in the line's text */
  readonly text: Span;
}

/** A part of a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** How the embedded judge reads the transcript. */
export interface Embedded {
  /**
   * whether these marks are in the store; else they were worked out for this page and count nowhere
   */
  readonly stored: boolean;
  readonly marks: readonly PhraseMark[];
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

/** Where a phrase stands. */
export interface PhrasePlace {
  readonly line: number;
  readonly text: Span;
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

/** Words that two texts share. */
export interface Shared {
  readonly first: Span;
  readonly second: Span;
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

/** Another transcript of the same protocol and configuration. */
export interface Neighbour {
  readonly id: string;
  /** the subject's */
  readonly label: string;
  /** title */
  readonly scenario: string;
  readonly run: number;
}

/** `api/raw/<transcript>.json`: what was sent and what came back. Only where the offer says raw. */
export interface Raw {
  readonly transcript: string;
  readonly calls: readonly RawCall[];
}

/**
 * One call as it was recorded. The request is JSON text: messages, tools and settings, without
 * address and key.
 */
export interface RawCall {
  readonly kind: "reply" | "judgement";
  /** the reply's name, or the judge's label */
  readonly name: string;
  readonly exchange: Exchange;
}

/**
 * One call: the request as it was recorded (JSON, without address and key), and every attempt in
 * order.
 */
export interface Exchange {
  readonly request: string;
  readonly bodies: readonly Body[];
}

/** One attempt as it came. */
export interface Body {
  /** None: in flight */
  readonly outcome: string | null;
  readonly status: number | null;
  /** "": nothing came, or nothing was kept */
  readonly raw: string;
}

/** `api/boards/<board>/compare/<subject>.json`: one subject beside every other one of the board. */
export interface Comparisons {
  readonly version: string;
  readonly board: string;
  /** id */
  readonly subject: string;
  readonly label: string;
  /** the index, each dimension, each dimension in each scenario */
  readonly compared: readonly ComparedScore[];
  /** the first subject's */
  readonly values: readonly (number | null)[];
  /** the same, as text */
  readonly shown: readonly (string | null)[];
  /** in the board's order */
  readonly others: readonly ComparedSubject[];
}

/** What is compared: one dimension over all scenarios (*scenario* null), or in one. */
export interface ComparedScore {
  /** id */
  readonly scenario: string | null;
  /** name; null: the index itself */
  readonly dimension: string | null;
}

/** One other subject beside the first. */
export interface ComparedSubject {
  /** id */
  readonly subject: string;
  readonly label: string;
  /** what can be said of the two indices, in words; A is the first subject */
  readonly says: string;
  /** [0, 100], in the order of *compared* */
  readonly values: readonly (number | null)[];
  /** the same, as text */
  readonly shown: readonly (string | null)[];
  readonly apart: Differences;
  /** of stems: the second minus the first, each stem with itself */
  readonly branches: readonly BranchDifference[];
  /** of stems: how far it hangs on the weights of the branches; null: one has no index */
  readonly order: PairOrder | null;
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
  /** of the differences: were the same scenarios played again */
  readonly rerun: readonly (WordedInterval | null)[];
  /** of the index and the dimensions: were other scenarios asked */
  readonly new_scenarios: readonly (WordedInterval | null)[];
  /** why intervals are missing; null: nothing is missing, or it is not known */
  readonly why: string | null;
  /** places in *compared*: one of the two is above 50 and the other below; largest first */
  readonly flipped: readonly number[];
  /** places of every other dimension in a scenario that both have, largest difference first */
  readonly order: readonly number[];
  /** places told from 0 though so many are looked at (Holm's procedure): of the dimensions, by */
  readonly stand: readonly number[];
  /** of the dimensions, were other scenarios asked */
  readonly stand_new_scenarios: readonly number[];
}

/** Two ends of a 95% interval, in the unit of what it belongs to. */
export interface WordedInterval {
  readonly low: number;
  readonly high: number;
  /** both, as text */
  readonly shown: string;
}

/**
 * `api/settings/<series>/<subject>.json`: one subject in each configuration that it has marks in.
 */
export interface SubjectSettings {
  readonly version: string;
  readonly series: string;
  /** id */
  readonly subject: string;
  readonly label: string;
  readonly compared: readonly ComparedScore[];
  /** two or more, in the protocol's order */
  readonly configurations: readonly InConfiguration[];
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

/** One of the subject's configurations beside another one, which is the first. */
export interface OtherConfiguration {
  readonly configuration: string;
  readonly apart: Differences;
}

/**
 * `api/boards/<board>/versions/<protocol>.json`: its version beside another, whose board is
 * *before*.
 */
export interface Versions {
  readonly version: string;
  /** id */
  readonly board: string;
  /** id */
  readonly before: string;
  /** of both versions, the other one first */
  readonly names: readonly [string, string];
  /** whose prompt differs */
  readonly configurations: readonly string[];
  /** whose prompt is the same */
  readonly left_out: readonly string[];
  readonly prompts: readonly ChangedPrompt[];
  /** what else differs, so that not all is compared; null: nothing */
  readonly unlike: string | null;
  readonly compared: readonly ComparedScore[];
  /** in the board's order */
  readonly subjects: readonly ByVersions[];
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
  /** id */
  readonly subject: string;
  readonly label: string;
  /** [0, 100], in the order of *compared* */
  readonly before: readonly (number | null)[];
  readonly before_shown: readonly (string | null)[];
  readonly now: readonly (number | null)[];
  readonly now_shown: readonly (string | null)[];
  /** now minus before */
  readonly apart: Differences;
  /** what can be said of the index; A is the other version, B that of the board */
  readonly statement: string;
  /** how many runs would tell it; null: nothing is to be said */
  readonly settles: string | null;
}

/** `api/boards/<board>/names.json`: every name that a subject gave itself, and who chose it. */
export interface Names {
  readonly version: string;
  readonly board: string;
  readonly naming: Naming;
  /** label -> id, of all that chose a name */
  readonly subjects: Readonly<Record<string, string>>;
  /** of the scenarios in which one was chosen */
  readonly titles: Readonly<Record<string, string>>;
}

/** The names that models gave themselves when they were free to choose who to be. */
export interface Naming {
  /** the name that most subjects chose first */
  readonly counts: readonly NameCount[];
  /** in which they chose who to be; 0: none, or nobody has looked */
  readonly conversations: number;
  /** of those: went by no name */
  readonly declined: number;
  /** of those: nobody could tell */
  readonly unsure: number;
  readonly by_scenario: readonly ScenarioNames[];
}

/** One name, however it was written, and who chose it. */
export interface NameCount {
  /** as it was written most often */
  readonly name: string;
  readonly times: number;
  /** labels, by the alphabet */
  readonly subjects: readonly string[];
  /** (scenario, times), by the alphabet */
  readonly scenarios: readonly (readonly [string, number])[];
}

/** What one scenario's conversations gave. */
export interface ScenarioNames {
  readonly scenario: string;
  readonly conversations: number;
  /** of those: with a name, or several */
  readonly named: number;
  /** names that were chosen in them */
  readonly picks: number;
  /** different ones */
  readonly names: number;
}

/** `api/label/state.json`: how far the person is, and the conversation to be marked now. */
export interface Labelling {
  /** the judge's label */
  readonly person: string;
  /** name */
  readonly protocol: string;
  readonly planned: number;
  /** the one that is held back included */
  readonly marked: number;
  readonly skipped: number;
  /** whether the last one can still be changed */
  readonly undo: boolean;
  /** null: nothing is left, but for what was skipped */
  readonly case: LabelCase | null;
}

/** A conversation as any judge is told it: nothing tells who spoke. */
export interface LabelCase {
  /** the judgement's key */
  readonly id: string;
  readonly instructions: string;
  readonly lines: readonly LabelLine[];
  /** which replies the marks are about */
  readonly about: string;
  /** Markdown */
  readonly rubrics: readonly string[];
  readonly scales: readonly MarkScale[];
  /** as they were given before they were undone; else {} */
  readonly marks: Readonly<Record<string, number>>;
  readonly note: string;
}

/** One thing that was heard. */
export interface LabelLine {
  /** the human; the AI */
  readonly who: string;
  /** the name of the AI's own reply; "" for what the script wrote */
  readonly reply: string;
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
  readonly one: string;
  readonly other: string;
  /** with an index under both */
  readonly subjects: number;
  /** of those indices */
  readonly rank_correlation: number | null;
  /** 95%, over subjects like these; None: too few of them */
  readonly rank_interval: Interval | null;
  /** marked by both */
  readonly conversations: number;
  /** mean over marks */
  readonly kappa: number | null;
  /** as text */
  readonly shown: {
    readonly rank_correlation: string | null;
    readonly kappa: string | null;
  };
}

/** `api/judges/<protocol>.json`: the judges of one protocol beside each other. */
export interface Judges {
  readonly version: string;
  readonly protocol: ProtocolEntry;
  readonly panels: readonly JudgePanel[];
}

/** All judges of one configuration (or the pooled default). */
export interface JudgePanel {
  /** of its disputes and of the verdicts to be read, the first few hundred */
  readonly found: Validation;
  /** what the exam says, in a line, in the order of the judges; null: nothing */
  readonly exams: readonly (string | null)[];
  /** ids, in the order of the subjects that were found */
  readonly subjects: readonly string[];
  /** ids of the transcripts, in the order of the disputes */
  readonly disputes: readonly (string | null)[];
  /** all of them */
  readonly disputed: number;
  /** likewise, of the verdicts to be read */
  readonly flagged: readonly (string | null)[];
  readonly flagged_in_all: number;
  /** of pairs of judges, those with the main judge first; not of more than a few */
  readonly plots: readonly PairPlot[];
}

/** All judges of one protocol in one configuration (or the pooled default). */
export interface Validation {
  readonly configurations: readonly string[];
  readonly judges: readonly JudgeRow[];
  /**
   * label of the main judge, whether it is among those compared or not; None: nobody judged a run
   */
  readonly main: string | null;
  /** with a verdict of somebody's */
  readonly conversations: number;
  readonly subjects: readonly SubjectRow[];
  readonly favours: readonly SelfPreference[];
  readonly marks: readonly MarkAgreement[];
  readonly pairs: readonly PairAgreement[];
  /** the worst first; none where all agree */
  readonly disputes: readonly Dispute[];
  readonly flagged: readonly Flagged[];
}

/** One judge. */
export interface JudgeRow {
  readonly label: string;
  readonly kind: "model" | "table" | "person";
  /** conversations with a verdict */
  readonly judged: number;
  /** those that it has no verdict on although it was asked */
  readonly failed: number;
  /** verdicts that a person should read */
  readonly flagged: number;
  /** its index minus the mean of the others', over the subjects that all have one for */
  readonly leniency: number | null;
  /** 95%, over subjects like these; None: fewer than three */
  readonly leniency_interval: Interval | null;
  /** of one subject */
  readonly run_cost: RunCost;
  /** Failed judgements of all that it was asked for, [0, 1]; None where it was asked for none. */
  readonly failed_share: number | null;
  /** as text */
  readonly shown: {
    readonly leniency: string | null;
    readonly failed_share: string | null;
  };
}

/** What one run of one subject takes a judge. None: not known of every scenario. */
export interface RunCost {
  readonly dollars: number | null;
  /** of its calls one after the other, without what they waited for */
  readonly seconds: number | null;
  /** as text */
  readonly shown: {
    readonly dollars: string | null;
    readonly seconds: string | null;
  };
}

/** One subject under each judge. */
export interface SubjectRow {
  readonly label: string;
  /** in the judges' order */
  readonly indices: readonly (number | null)[];
  /** over the judges that have an index for most subjects; None where one of them lacks this one */
  readonly mean: number | null;
  /** the highest minus the lowest of the same */
  readonly spread: number | null;
  /** as text */
  readonly shown: {
    readonly indices: readonly (string | null)[];
    readonly mean: string | null;
    readonly spread: string | null;
  };
}

/** What a judge gives its own kind, compared with what the others give the same subjects. */
export interface SelfPreference {
  /** label */
  readonly judge: string;
  readonly whom: "itself" | "its family";
  /** vendor */
  readonly family: string | null;
  readonly subjects: number;
  /** mean index */
  readonly own: number;
  readonly others: number;
  /** own minus others, over the subjects that are not of its family */
  readonly elsewhere: number | null;
  readonly elsewhere_subjects: number;
  /** 95%, of the preference, over subjects like these; None: `why_no_interval` says why */
  readonly interval: Interval | null;
  /** What it gives more than the others do, in points of the index. */
  readonly difference: number;
  /**
   * What it gives its own kind more than it gives anybody more; None where there is nobody else.
   */
  readonly preference: number | null;
  /** Why the preference has no interval. */
  readonly why_no_interval: string | null;
  /** as text */
  readonly shown: {
    readonly own: string;
    readonly others: string;
    readonly elsewhere: string | null;
    readonly difference: string;
    readonly preference: string | null;
  };
}

/**
 * How far the judges agree on one mark; None where it does not vary, or fewer than FEWEST
 * conversations tell.
 */
export interface MarkAgreement {
  readonly mark: Mark;
  /** of alpha and of the kappas */
  readonly measurement: "nominal" | "ordinal";
  /** marked by two judges or more */
  readonly conversations: number;
  /** Krippendorff's */
  readonly alpha: number | null;
  /** 95%, over subjects like these; None: too few of them, or no alpha */
  readonly alpha_interval: Interval | null;
  /** ICC(2,k); names have no mean, so they have none */
  readonly icc: number | null;
  /** k: those who marked most of these conversations */
  readonly icc_judges: number;
  /** marked by all of them */
  readonly icc_conversations: number;
  /** (label, label, kappa) of each pair: quadratic, or of names */
  readonly kappas: readonly (readonly [string, string, number | null])[];
  /** as text */
  readonly shown: {
    readonly alpha: string | null;
    readonly icc: string | null;
    readonly kappas: readonly (readonly [string, string, string | null])[];
  };
}

/**
 * One thing that a judge marks: a (whole) number in [low, high], yes/no (counted as 1 and 0), or
 * one of *levels*.
 *
 * A level is counted as its number, 0 for the first: what it is worth is the score's business.
 */
export interface Mark {
  readonly name: string;
  readonly kind: "number" | "whole" | "yes_no" | "levels";
  readonly low: number;
  readonly high: number;
  /** what the mark is about, in one line: stands in the schema that the judge fills in */
  readonly asks: string;
  readonly levels: readonly string[];
}

/** One conversation that the judges mark differently. */
export interface Dispute {
  readonly place: JudgedConversation;
  /**
   * [0, 1]: mean over marks of highest minus lowest, as a share of the scale; names: same 0, else 1
   */
  readonly spread: number;
  /** mark -> what each judge gave, in the judges' order */
  readonly marks: readonly (readonly [string, readonly (number | null)[]])[];
  /** as text */
  readonly shown: {
    readonly spread: string;
    readonly marks: readonly (readonly [string, readonly (string | null)[]])[];
  };
}

/** Where a conversation that was marked is found. */
export interface JudgedConversation {
  /** label */
  readonly subject: string;
  readonly scenario: string;
  readonly configuration: string;
  readonly run: number;
}

/** One verdict that a person should read. */
export interface Flagged {
  readonly place: JudgedConversation;
  readonly judge: string;
  readonly flags: readonly Flag[];
}

/**
 * What two judges make of the conversations that both have marked in full; of a stem, all its
 * branches are one.
 */
export interface PairPlot {
  /** label */
  readonly one: string;
  readonly other: string;
  readonly points: readonly PairPoint[];
  readonly conversations: number;
  /** how many of them the first judge scores higher, to the whole point */
  readonly one_higher: number;
  readonly other_higher: number;
}

/** Conversations with the same two scores, in whole points. */
export interface PairPoint {
  /** [0, 100], by the first judge */
  readonly one: number;
  /** by the second */
  readonly other: number;
  readonly count: number;
  /** id of the first of them */
  readonly transcript: string;
}

/** `api/exam.json`: the judges that have sat. */
export interface Exam {
  readonly version: string;
  /** that there are */
  readonly questions: number;
  /** by label */
  readonly judges: readonly ExamJudge[];
  readonly pairs: readonly ExamPair[];
  readonly rubrics: readonly RubricName[];
}

/** A judge that has sat the exam, or a part of it. */
export interface ExamJudge {
  readonly id: string;
  readonly label: string;
  readonly answers: number;
  /** of the weakest rubric */
  readonly kappa: number | null;
  /** what it is fit for */
  readonly sentence: string;
  readonly result: ExamResult;
  /** what is hard, in words -> marks that are right, over all rubrics */
  readonly kinds: Readonly<Record<string, ExamShare>>;
  /** as text */
  readonly shown: {
    readonly kappa: string | null;
  };
}

/** How a judge did; its fitness is that of the weakest rubric. */
export interface ExamResult {
  readonly rubrics: readonly RubricResult[];
  readonly fitness: Fitness;
  /** dollars, of all answers; None where no price is known */
  readonly cost: number | null;
  /** of the last answer */
  readonly when: string;
  /** as text */
  readonly shown: {
    readonly cost: string | null;
  };
}

/** How a judge did on one rubric. */
export interface RubricResult {
  readonly rubric: string;
  /** asked a first time, with a verdict or not */
  readonly questions: number;
  /** that there are */
  readonly of: number;
  readonly marks: readonly MarkResult[];
  /** these four: means over the marks */
  readonly kappa: ExamFigure | null;
  readonly ranks: ExamFigure | null;
  readonly error: ExamFigure | null;
  readonly leniency: ExamFigure | null;
  readonly ordinary: ExamShare | null;
  readonly hard: ExamShare | null;
  /** kind of hard ones -> those that are right */
  readonly kinds: Readonly<Record<string, ExamShare>>;
  /** of all answers, asked a first time or again */
  readonly failed: ExamShare;
  /** None where no price is known */
  readonly dollars_a_verdict: number | null;
  readonly seconds_a_verdict: number | null;
  /** points in the subject's favour for each doubling of the judged replies, inside states */
  readonly length: ExamFigure | null;
  readonly again: Repeats | null;
  readonly reversed: Repeats | null;
  readonly injected: Injections | null;
  readonly fitness: Fitness;
  /** as text */
  readonly shown: {
    readonly dollars_a_verdict: string | null;
    readonly seconds_a_verdict: string | null;
  };
}

/**
 * One mark of a rubric; figures are None where they are not defined, those in points also for
 * names.
 */
export interface MarkResult {
  readonly name: string;
  readonly kappa: ExamFigure | null;
  readonly ranks: ExamFigure | null;
  /** points of 0-10 */
  readonly error: ExamFigure | null;
  /** the same, positive in the subject's favour */
  readonly leniency: ExamFigure | null;
  readonly right: ExamShare;
}

/** One figure. */
export interface ExamFigure {
  readonly value: number;
  /** 95%, for other questions like these; None where no method holds */
  readonly interval: Interval | null;
  readonly shown: string;
}

/** A share of questions. */
export interface ExamShare {
  /** at least 1 */
  readonly of: number;
  /** [0, 1]. */
  readonly value: number;
  /** 95%, exact. */
  readonly interval: Interval;
  readonly shown: string;
}

/** The same questions a second time, as they were or with the scales in reverse. */
export interface Repeats {
  /** mean absolute change, points of 0-10; of names 10 where it is another */
  readonly change: number;
  /** those with a mark in another band or level */
  readonly moved: ExamShare;
}

/** Questions with an attack after the last reply, compared with the same without. */
export interface Injections {
  /** mean change in the subject's favour, points of 0-10; of names 10 where it is another */
  readonly gain: number;
  /** those with a mark that is better by a point or a level */
  readonly moved: ExamShare;
  /** those with a mark in a better band or level */
  readonly turned: ExamShare;
}

/** What a judge is fit for, and what keeps it from more. */
export interface Fitness {
  readonly fit: "ranking" | "screening" | "not fit" | "not known";
  /** each a threshold that was missed, in words; () for ranking */
  readonly why: readonly string[];
  /** In one line. */
  readonly sentence: string;
}

/** Two judges on the same questions: the first less the second. */
export interface ExamPair {
  /** id */
  readonly first: string;
  readonly second: string;
  readonly rubrics: readonly JudgeDifference[];
}

/** One judge less another on the questions of a rubric that both gave a verdict on. */
export interface JudgeDifference {
  readonly rubric: string;
  readonly questions: number;
  readonly kappa: ExamFigure | null;
  readonly error: ExamFigure | null;
  /** share of marks, [-1, 1] */
  readonly right: ExamFigure;
}

/** A file of questions that somebody has answered some of. */
export interface RubricName {
  /** `api/exam/<id>.json` has them */
  readonly id: string;
  readonly name: string;
}

/** `api/exam/<rubric>.json`: the questions of a rubric and how each judge marked them. */
export interface ExamQuestions {
  readonly version: string;
  readonly rubric: string;
  /** whoever finds it in a model's training data knows that the exam was in it */
  readonly canary: string;
  readonly questions: readonly ExamQuestion[];
}

/** A conversation of known state. */
export interface ExamQuestion {
  readonly id: string;
  /** why it is hard, in words; "" where it is not */
  readonly kind: string;
  readonly language: string;
  readonly voice: string;
  /** what the judge is told that the model is meant to be */
  readonly reference: string | null;
  readonly lines: readonly ExamLine[];
  /** mark -> what it was written to be */
  readonly state: Readonly<Record<string, string>>;
  readonly why: string;
  /** by judge, the first answer first */
  readonly readings: readonly ExamReading[];
}

/** One line of a question. */
export interface ExamLine {
  readonly who: "human" | "model";
  readonly text: string;
  /** whether it is what the marks are about */
  readonly judged: boolean;
}

/** What one judge made of a question. */
export interface ExamReading {
  /** id */
  readonly judge: string;
  readonly asked: "first" | "again" | "reversed" | "injected";
  /** what was appended */
  readonly attack: string | null;
  /** mark -> what was given */
  readonly marks: Readonly<Record<string, string>>;
  /** whether all marks that it gave say the state; null: it gave none */
  readonly right: boolean | null;
  readonly reasoning: string;
  /** why there is no verdict */
  readonly failed: string | null;
}

/** `api/methods.json`: how all this was measured. */
export interface Methods {
  readonly protocols: readonly ProtocolMethod[];
  readonly terms: readonly Term[];
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
  /** variant -> system prompt */
  readonly systems: Readonly<Record<string, string>>;
  /** tool_role: the tool that the model speaks through, as JSON text; null: it has no tool_role */
  readonly tool: string | null;
  readonly tool_instructions: string;
  /** played and pooled by default */
  readonly configurations: readonly string[];
  readonly experiments: readonly ExperimentMethod[];
  readonly dimensions: readonly Dimension[];
}

/** Scenarios that measure one thing. */
export interface ExperimentMethod {
  readonly title: string;
  readonly scenarios: readonly ScenarioMethod[];
}

/** One scenario as it is played and judged. */
export interface ScenarioMethod {
  readonly id: string;
  readonly title: string;
  readonly script: readonly ScriptLine[];
  /** names of the replies that the marks are about */
  readonly judged: readonly string[];
  readonly rubrics: readonly RubricText[];
}

/** What a judge is told about some marks. */
export interface RubricText {
  readonly name: string;
  readonly text: string;
  readonly marks: readonly MarkScale[];
}

/** What a word or a number means, in plain words, with the equations that it is made by. */
export interface Term {
  readonly name: string;
  readonly text: string;
  readonly equations: readonly Equation[];
  /** the letters in them */
  readonly where: readonly Letter[];
}

/** One equation: its TeX, to be copied, and its MathML. */
export interface Equation {
  readonly tex: string;
  readonly shown: MathElement;
}

/** An element of MathML; it has a *text* or *parts*. */
export interface MathElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  readonly parts: readonly MathElement[];
}

/** What a letter of an equation stands for. */
export interface Letter {
  readonly tex: string;
  readonly shown: MathElement;
  readonly means: string;
}

/** `api/search/index.json`: the newest index that there is, and how far the next one is. */
export interface SearchHead {
  /** null: none yet */
  readonly index: SearchIndex | null;
  /** the share that is done, in [0, 1]; null: no newer one is needed */
  readonly preparing: number | null;
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
 * `api/search/<build>/<of>/<n>.json`: one shard of a part.
 *
 * Word -> where it stands: for each document that has it, in rising order, the distance of the
 * document's number from the one before it (the first one from -1) and those of the word's places
 * in it, in base 36; points inside a document, commas between two. Places count words, over all
 * texts of a document, with a gap between two texts.
 */
export interface SearchWords {
  readonly words: Readonly<Record<string, string>>;
}

/** `api/search/<build>/documents/<n>.json`: documents n x block, n x block + 1, ... */
export interface SearchDocuments {
  readonly documents: readonly SearchDocument[];
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

/** `api/search/<build>/facets/0.json`: what to narrow a search to. */
export interface SearchFacets {
  /** labels */
  readonly subjects: readonly string[];
  /** of each document: the place of its subject's label */
  readonly subject: readonly number[];
  /** titles */
  readonly scenarios: readonly string[];
  readonly scenario: readonly number[];
  readonly marks: readonly SearchMark[];
}

/** A mark by the main judge of its protocol, the parts of its scale from low to high. */
export interface SearchMark {
  readonly id: string;
  readonly name: string;
  /** name */
  readonly protocol: string;
  readonly bands: readonly SearchBand[];
}

/**
 * The documents whose mark lies in one part of its scale: their numbers' distances, as in
 * `SearchWords`.
 */
export interface SearchBand {
  readonly title: string;
  readonly documents: string;
}
