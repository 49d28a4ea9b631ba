"""Two subjects or two versions compared: tables for a terminal, values for programs, and one
sentence that sums it up.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from independence_bench.analysis.board import Row
from independence_bench.analysis.compare_settings import EFFORTS, differ_only_in_effort
from independence_bench.analysis.compare_subjects import ScorePair, SubjectComparison
from independence_bench.analysis.compare_versions import (
    VersionChange,
    VersionComparison,
    WordChange,
)
from independence_bench.analysis.statistics.values import UNKNOWN, Interval, ScoreDifference
from independence_bench.escape import escape_line
from independence_bench.figures import (
    COUNT,
    format_count,
    format_difference,
    format_difference_interval,
    format_number,
)
from independence_bench.report.board_view import (
    MEANINGS,
    NEW,
    PUBLISHED,
    SAME,
    describe_foreign_rules,
    describe_judge,
    describe_judges_in_intervals,
    describe_run_effects,
    describe_unfit_judge,
    make_exam_legend,
)
from independence_bench.report.branches_view import build_branch_comparison, format_quantity_title
from independence_bench.report.format import shorten_names
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Legend,
    Name,
    Note,
    Prose,
    Strong,
    Table,
    Text,
    Title,
    make_columns,
)
from independence_bench.report.terminal import stack_heading

STANDS = "*"


@dataclass(frozen=True, slots=True)
class Sides:
    """The names of two compared models or versions, and the direction in which a screen shows their
    differences. The computed value, and the one that programs get, is always the second minus the
    first.
    """

    first: str
    second: str
    first_minus_second: bool

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two compared models, in the order of their columns."""
        return self.first, self.second

    @property
    def difference_heading(self) -> str:
        """The heading of a table's column of differences between two models, such as "A − B"."""
        more, less = self.names if self.first_minus_second else (self.second, self.first)
        return f"{more} − {less}"

    @property
    def difference_sign(self) -> int:
        """The factor, 1 or -1, that turns the second model's score minus the first's into the
        difference that is shown.
        """
        return -1 if self.first_minus_second else 1

    def format_directed_difference(self, points: float | None, digits: int) -> str:
        """Format the difference of two models' scores, given as the second minus the first, in the
        direction that is shown; a dash for None.
        """
        return format_difference(None if points is None else self.difference_sign * points, digits)

    def format_directed_interval(self, interval: Interval | None, digits: int) -> str:
        """Format the interval of the difference of two models' scores, given as the second minus
        the first, in the direction that is shown; a dash for None.
        """
        return format_difference_interval(
            None if interval is None else interval.scale_interval(self.difference_sign), digits
        )


def shorten_side_names(first: Row, second: Row) -> tuple[str, str]:
    """Return the names of two compared models for sentences and tables: their models without the
    maker, or, if these are the same, their labels without what they have in common.
    """
    labels = [first.label, second.label]
    models = [label.partition("@")[0].rpartition("/")[2].partition("+")[0] for label in labels]
    one, other = models if all(models) and len(set(models)) == 2 else shorten_names(labels)
    return one, other


def has_same_scores(comparison: SubjectComparison) -> bool:
    """Whether two compared models have an index and no score of theirs differs."""
    scores = comparison.scores
    differences = [change.difference for change in (*scores.scores.values(), *comparison.branches)]
    return scores.index is not None and not any(round(difference, 9) for difference in differences)


def describe_comparison(comparison: SubjectComparison, names: tuple[str, str] | None = None) -> str:
    """Say in a sentence or two which of two models is ahead by their indices, and how sure that is.
    *names*: the names of the models; None: their shortened labels.
    """
    scores, index = comparison.scores, comparison.scores.index
    rows = (comparison.first, comparison.second)
    names = names or shorten_side_names(*rows)
    for name, row in zip(names, rows, strict=True):
        if row.index is None:
            return f"{name} is incomplete, so there is no difference of the index."
    if comparison.board.uncertainty is None:
        return (
            "Intervals are computed under our own rules only, so the uncertainty of the "
            "difference is not known."
        )
    if index is None or index.uncertainty.rerun is index.uncertainty.new_scenarios is None:
        return "The uncertainty of the difference is not known."
    if has_same_scores(comparison):
        seen = _describe_detectable_difference(rows, index)
        return f"{names[0]} and {names[1]} are the same in all {len(scores.scores)} scores: {seen}."
    ahead = names[index.difference > 0]
    rerun, new_scenarios = map(
        is_significant, (index.uncertainty.rerun, index.uncertainty.new_scenarios)
    )
    if not rerun and not (rerun is None and new_scenarios):
        parts = [
            pair.dimension.title
            for pair in scores.dimension_scores
            if pair.dimension and pair.dimension.weight and pair.stands
        ]
        parts += [
            format_quantity_title(branch.quantity)
            for branch in comparison.branches
            if branch.stands
        ]
        by, but = (
            (" by their indices", f" They differ in {', '.join(parts)}.") if parts else ("", "")
        )
        on = " on this test" if index.seen_rerun is not None else ""
        return (
            f"The difference between {names[0]} and {names[1]} is not significant{by}{on}: "
            f"{_describe_detectable_difference(rows, index)}.{but}"
        )
    among = _describe_lost_significance(comparison, rerun, new_scenarios)
    by_points = f"by {abs(index.difference):.1f} points"
    ahead = describe_unfit_judge(comparison.board) + ahead
    if rerun is None:
        return f"{ahead} would be ahead on another test like this one, {by_points}.{among}"
    leads = f"{ahead} is ahead {by_points} on this test"
    if new_scenarios is None:
        return f"{leads}. There is no interval for another test like it.{among}"
    if new_scenarios:
        return f"{leads}, and would be ahead on another test like it.{among}"
    return f"{leads}. On another test like it, the difference may be chance.{among}"


def describe_thinking_effect(comparison: SubjectComparison) -> str:
    """Say in one sentence how the higher reasoning effort changed the index, and how many reasoning
    tokens a reply took; "" if the two compared models differ in more than their effort, or one of
    them has no index.
    """
    rows = (comparison.first, comparison.second)
    if not differ_only_in_effort(*(row.subject for row in rows)):
        return ""
    less, more = sorted(rows, key=lambda row: EFFORTS[row.subject.reasoning])
    if less.score.index is None or more.score.index is None:
        return ""
    sure = comparison.scores.index.uncertainty if comparison.scores.index else UNKNOWN
    kind, interval = (NEW, sure.new_scenarios) if sure.rerun is None else (SAME, sure.rerun)
    if interval is None:
        how_sure = "its interval is not known"
    else:
        ends = format_difference_interval(
            interval if more is comparison.second else interval.scale_interval(-1)
        )
        how_sure = f"{kind} {ends}"
        how_sure += "" if is_significant(interval) else ": it may be chance"
    with_more, with_less = (
        row.reasoning_tokens.as_text(COUNT) if row.reasoning_tokens else None
        for row in (more, less)
    )
    efforts = more.subject.effort, less.subject.effort
    took = (
        f", for {with_more} reasoning tokens a reply instead of {with_less}"
        if with_more and with_less
        else f"; reasoning tokens a reply: {with_more or 'not known'} with {efforts[0]}, "
        f"{with_less or 'not known'} with {efforts[1]}"
    )
    return (
        f"Thinking ({efforts[0]} against {efforts[1]}) moved the index by "
        f"{format_difference(more.score.index - less.score.index)} points ({how_sure}){took}."
    )


def _describe_lost_significance(
    comparison: SubjectComparison, rerun: bool | None, new_scenarios: bool | None
) -> str:
    """Say in one sentence which claim about two models no longer holds if all models of the
    leaderboard are compared; "" if all claims hold. *rerun*, *new_scenarios*: whether the
    difference is significant by each kind of interval; None if not known.
    """
    board, index = comparison.board, comparison.scores.index
    numbers = {row.subject.hash: place for place, row in enumerate(board.ranked)}
    if board.uncertainty is None or index is None or len(numbers) < 3:
        return ""
    first, second = (numbers[row.subject.hash] for row in (comparison.first, comparison.second))
    ahead = (first, second) if index.difference < 0 else (second, first)
    survives = board.uncertainty.check_significance_among_all(*ahead)
    lost = [
        said and not holds for said, holds in zip((rerun, new_scenarios), survives, strict=True)
    ]
    if not any(lost):
        return ""
    what = "“Would be ahead on another test like it”" if rerun and not lost[0] else "This"
    return (
        f" {what} holds if you named these two models before you saw the leaderboard: among all "
        f"{len(numbers)} models the difference is not significant."
    )


def is_significant(interval: Interval | None) -> bool | None:
    """Whether a difference with this interval is significant, that is, whether 0 lies outside; None
    if the interval is not known.
    """
    return None if interval is None else interval.low > 0 or interval.high < 0


def _describe_detectable_difference(rows: Sequence[Row], index: ScoreDifference) -> str:
    """Say in a clause which true difference between two models such a comparison detects in 80 of
    100 repetitions: on the same scenarios, or, if no model has two runs, on new ones.
    """
    if index.seen_rerun is None:
        return (
            f"a true difference of {index.seen_new_scenarios or 0:.1f} points is detected in 80 "
            "of 100 tests like this one, and a smaller one less often"
        )
    one, other = (row.runs for row in rows)
    runs = (
        f"{one} and {other} runs"
        if one != other
        else f"{one} runs each"
        if one > 1
        else "single runs"
    )
    return (
        f"{runs} detect a true difference of {index.seen_rerun:.1f} points in 80 of 100 "
        "repetitions, and a smaller one less often"
    )


# ---------------------------------------------------------------- a terminal


def render_comparison(comparison: SubjectComparison, scenarios: bool = False) -> Iterator[Block]:
    """Yield the output blocks that compare two models: a summary, who they are, and their
    differences, those of the model that is ahead minus those of the other. *scenarios*: also show
    dimensions without a weight, and the differences in each scenario.
    """
    names = shorten_side_names(comparison.first, comparison.second)
    yield from _render_sides(comparison, names, escape_line(comparison.board.shown_protocol_name))
    yield Note(("\n", Prose(describe_comparison(comparison))), "bold")
    if decides := describe_needed_runs(comparison, names[1]):
        yield Note(Prose(decides))
    if thinking := describe_thinking_effect(comparison):
        yield Note(Prose(thinking))
    yield Note("")
    yield from _render_differences(comparison, names, scenarios)


def _render_sides(
    comparison: SubjectComparison, names: Sequence[str], *facts: str
) -> Iterator[Block]:
    """Yield the output blocks that say which two models are compared, on which leaderboard.
    *facts*: texts that come first in the line about the leaderboard.
    """
    board = comparison.board
    where = escape_line(" + ".join(map(str, board.configurations)))
    yield Title(
        (
            *_format_name_and_runs(names[0], comparison.first),
            "\n",
            *_format_name_and_runs(names[1], comparison.second),
        )
    )
    yield Note(
        " · ".join(
            (*facts, where, f"judge: {describe_judge(board)}", *describe_foreign_rules(board))
        )
    )
    temperatures = [row.subject.temperature for row in (comparison.first, comparison.second)]
    if len({*temperatures}) > 1:
        first, second = ("its own" if one is None else f"{one:g}" for one in temperatures)
        yield Note(f"They were played at different temperatures, {first} and {second}.")
    yield from make_exam_legend(board)


def _render_differences(
    comparison: SubjectComparison, names: tuple[str, str], scenarios: bool
) -> Iterator[Block]:
    """Yield the tables of differences between two models: overall, branch by branch if the protocol
    has items, and, if *scenarios* is set, in each scenario; nothing if all scores are the same.
    """
    if has_same_scores(comparison):
        return
    index = comparison.scores.index
    sides = Sides(*names, first_minus_second=index is None or index.difference <= 0)
    decided = bool(
        index
        and (
            is_significant(index.uncertainty.rerun)
            or is_significant(index.uncertainty.new_scenarios)
        )
    )
    yield _build_overall_table(comparison, sides, decided, scenarios)
    yield Note("")
    if branches := comparison.branches:
        headings = [*map(stack_heading, (*sides.names, sides.difference_heading))]
        yield build_branch_comparison(
            branches,
            headings,
            sides.difference_sign,
            STANDS,
            _explain_no_significance("branch", len(branches), decided),
        )
        yield Note("")
    if scenarios:
        yield from _render_scenario_differences(comparison.scores.scenario_scores, sides, decided)


def _format_name_and_runs(name: str, row: Row) -> Sequence[Text]:
    """Return the parts of a line about one of two compared models: its name, its label, and how
    many runs it has.
    """
    health = row.health
    thought = (
        f", {health.replies_with_reasoning} of {health.replies} replies with reasoning"
        if health.replies_with_reasoning
        else ""
    )
    facts = (
        f"{format_count(row.runs, 'run')}{thought}{'' if row.index is not None else ', incomplete'}"
    )
    return *(() if name in row.label else (Prose(name), ": ")), Name(row.label), f" ({facts})"


def _build_overall_table(
    comparison: SubjectComparison, sides: Sides, is_index_significant: bool, unscored: bool
) -> Table:
    """Return a table of two models' index and dimensions with their differences and both kinds of
    intervals. *is_index_significant*: whether the difference of the index is significant.
    *unscored*: also dimensions that have no weight in the index.
    """
    one, other = comparison.first.index, comparison.second.index
    difference = sides.format_directed_difference(
        None if one is None or other is None else other - one, 1
    )
    shown = (
        "index",
        format_number(one, 1),
        format_number(other, 1),
        difference,
        *_format_intervals_and_detectable(comparison.scores.index, sides, 1),
    )
    rows: list[Cells] = [[Strong(cell) for cell in shown]]
    for score in comparison.scores.dimension_scores:
        if not unscored and score.dimension and not score.dimension.weight:
            continue
        rerun, new_scenarios, seen = _format_intervals_and_detectable(score.apart, sides, 0)
        rerun += STANDS if score.stands else ""
        new_scenarios += STANDS if score.stands_new_scenarios else ""
        shown = (
            format_score_title(score),
            format_number(score.first, 0),
            format_number(score.second, 0),
        )
        rows.append(
            (
                *shown,
                sides.format_directed_difference(score.difference, 0),
                rerun,
                new_scenarios,
                seen,
            )
        )
    standing, reasons = (
        _describe_significance(
            "dimension", comparison.scores.dimension_scores, is_index_significant
        ),
        comparison.scores.why_no_interval,
    )
    sureness = " ".join(describe_judges_in_intervals(comparison.board))
    legend = (
        f"CI: 95% interval of the difference, each by itself; {SAME}: "
        f"{MEANINGS[SAME]}; {NEW}: {MEANINGS[NEW]}. {standing} "
        "Minimum detectable difference: the smallest true difference that each of the two kinds "
        "detects in 80 of 100 repetitions. Dimensions: from 0 to 100, the independent end. "
        f"{sureness}"
    )
    standing = _cut_sentence_at_colon(standing)
    brief = f"95% CI: of the difference, on the same scenarios. {standing} {sureness}"
    sure = comparison.scores.index is not None
    legend = " ".join([legend] * sure + [f"There is {why}." for why in reasons])
    brief = " ".join(
        [brief] * sure + [f"There is {_cut_sentence_at_colon(why)}" for why in reasons]
    )
    columns = [
        *(
            Column("", words=True),
            *(
                Column(Name(name), short=stack_heading(name))
                for name in (*sides.names, sides.difference_heading)
            ),
        ),
        Column(SAME, short="95% CI\n(same\nscenarios)"),
        *(
            Column(NEW, short="95% CI\n(new\nscenarios)", spare=1),
            Column(
                "Minimum detectable difference",
                short="minimum\ndetectable\ndifference\n(same/new)",
                spare=2,
            ),
        ),
    ]
    return Table(columns, rows, Prose(legend), 1, Prose(brief))


def _cut_sentence_at_colon(sentence: str) -> str:
    """Return the part of *sentence* before its first colon, as a sentence of its own."""
    return sentence.partition(":")[0].rstrip(".") + "."


def _describe_significance(of: str, pairs: Sequence[ScorePair], is_index_significant: bool) -> str:
    """Say in one sentence whether any of the differences in *pairs* is significant (Holm's
    procedure); "" if that is not known. *of*: what each of them is of, such as "dimension";
    *is_index_significant*: whether the difference of the index is significant.
    """
    if all(pair.stands is None and pair.stands_new_scenarios is None for pair in pairs):
        return ""
    if any(pair.stands or pair.stands_new_scenarios for pair in pairs):
        return (
            f"{STANDS} significant among all {len(pairs)} (Holm): the chance that any of these is "
            "not a real difference is at most 5%, for each kind of interval."
        )
    return _explain_no_significance(of, len(pairs), is_index_significant)


def _explain_no_significance(of: str, count: int, is_index_significant: bool) -> str:
    """Say in one sentence that none of *count* differences, each of one *of* ("dimension"), is
    significant. *is_index_significant*: whether the difference of the index is significant.
    """
    if is_index_significant:
        return f"No {of} alone explains the difference (of {count}, Holm)."
    return f"No {of} differs significantly (of {count}, Holm): the largest may be chance."


def _render_scenario_differences(
    pairs: Sequence[ScorePair], sides: Sides, is_index_significant: bool
) -> Iterator[Block]:
    """Yield a table of two models' scores in each scenario and dimension that differ by half a
    point or more of 100, a note on how many do not, and a legend.
    """
    shown = [pair for pair in pairs if abs(pair.difference) >= 0.5]
    if shown:
        headings = map(stack_heading, (*sides.names, sides.difference_heading))
        columns = make_columns(
            "scenario", "dimension", *headings, "95% CI", "", word_column_count=2
        )
        cells = [
            (
                *(Name(score.scenario or ""), format_score_title(score)),
                *(format_number(score.first, 0), format_number(score.second, 0)),
                sides.format_directed_difference(score.difference, 0),
                sides.format_directed_interval(
                    score.apart.uncertainty.rerun if score.apart else None, 0
                ),
                STANDS if score.stands else "",
            )
            for score in shown
        ]
        yield Table(columns, cells, long=True)
    if same := len(pairs) - len(shown):
        yield Note(f"{'and ' * bool(shown)}{same} without a difference")
    if shown:
        standing = _describe_significance("scenario", pairs, is_index_significant)
        heading = (
            "In a scenario: the mean of its scores over runs, from 0 to 100; the largest "
            "differences first. 95% CI: same scenarios, "
        )
        yield Legend(f"{heading}each by itself. {standing}".rstrip(), standing)


def format_score_title(score: ScorePair) -> Text:
    """Return the title of a compared score: that of its dimension, or "index"."""
    return Prose(score.dimension.title) if score.dimension else "index"


def _format_intervals_and_detectable(
    apart: ScoreDifference | None, sides: Sides, digits: int
) -> tuple[str, str, str]:
    """Return three texts about the difference of two scores: the interval over the same scenarios,
    the one over new scenarios, and the minimum detectable differences; dashes for what is not
    known.
    """
    if apart is None:
        return "–", "–", "–"
    seen = "/".join(
        format_number(one, digits) for one in (apart.seen_rerun, apart.seen_new_scenarios)
    )
    return (
        sides.format_directed_interval(apart.uncertainty.rerun, digits),
        sides.format_directed_interval(apart.uncertainty.new_scenarios, digits),
        seen,
    )


# ---------------------------------------------------------------- for programs


def build_comparison_values(comparison: SubjectComparison) -> dict[str, Any]:
    """Return the comparison of two models as values for JSON, with every field; scores are in
    points of 100.
    """

    board, names = comparison.board, shorten_side_names(comparison.first, comparison.second)
    first, second = (
        {
            "label": row.label,
            "index": row.index,
            "runs": row.runs,
            "thinks": row.thinks,
            "reasoning_tokens": row.reasoning_tokens,
        }
        for row in (comparison.first, comparison.second)
    )
    return {
        "protocol": board.shown_protocol_name,
        "configurations": board.configurations,
        "judge": board.judge,
        "main_judge": board.main_judge,
        "rules": board.rules,
        "judge_exam": board.exam,
        "judges_in_intervals": board.judges_in_intervals,
        "a": first,
        "b": second,
        "names": names,
        "statement": describe_comparison(comparison),
        "runs_needed": comparison.needed_runs,
        "settles": describe_needed_runs(comparison, names[1]),
        "thinking": describe_thinking_effect(comparison) or None,
        "index": comparison.scores.index,
        "no_intervals_because": comparison.scores.why_no_interval,
        "dimensions": comparison.scores.dimension_scores,
        "scenarios": comparison.scores.scenario_scores,
    } | ({"branches": comparison.branches} if comparison.branches else {})


# ---------------------------------------------------------------- versions of a protocol


MOST_CHANGES = 8  # changes of one prompt; the rest is counted
LONGEST_CHANGE = 240  # characters of one side of a change
NOT_COMPARED = "The index is not compared: over fewer scenarios it is a different quantity."


def describe_versions(version: VersionComparison) -> str:
    """Say in a sentence or two how the index differs between two versions of a protocol, and how
    sure that is.
    """
    if not version.change.can_compare_indices:
        return NOT_COMPARED
    index, names = version.found.scores.index, find_version_names(version)
    if index is None:
        return describe_comparison(version.found, names)
    days = (
        f"{names[index.difference > 0]} is ahead in these runs, by no more than runs of other "
        "days may differ."
    )
    return days if version.by_sittings else describe_comparison(version.found, names)


def find_version_names(version: VersionComparison) -> tuple[str, str]:
    """Return the names of a protocol's old and new version, followed by the starts of their hashes
    if the names are the same.
    """
    old, new = version.change.old, version.change.new
    if old.name != new.name:
        return old.name, new.name
    return f"{old.name} {old.hash[:8]}", f"{new.name} {new.hash[:8]}"


def describe_needed_version_runs(version: VersionComparison) -> str:
    """Say in one sentence how many runs would make the difference of the index between two protocol
    versions significant; "" if there is nothing to say.
    """
    if version.by_sittings:
        return "Runs on other days would tell whether it is the prompt."
    return describe_needed_runs(version.found, find_version_names(version)[1])


def describe_needed_runs(comparison: SubjectComparison, second_name: str) -> str:
    """Say in one sentence how many runs would make the difference of two models' indices
    significant; "" if there is nothing to say. *second_name*: the name of the second model.
    """
    index, needed = comparison.scores.index, comparison.needed_runs
    if index is None or has_same_scores(comparison):
        return ""
    rerun, new = map(is_significant, (index.uncertainty.rerun, index.uncertainty.new_scenarios))
    if rerun:
        lost = _describe_lost_significance(comparison, rerun, new)
        return (
            ""
            if lost or describe_unfit_judge(comparison.board)
            else "The runs are enough to say so."
        )
    if needed is None:
        return (
            ""
            if index.difference
            else "The indices are equal, so no number of runs would show a difference."
        )
    points = f"{abs(index.difference):.1f} points"
    if needed.both is None:
        return f"If the true difference is {points}, as it is now, no number of runs would show it."
    ways = [f"{needed.both} runs of each"]
    if needed.now is not None:
        more = needed.now - comparison.second.score.runs
        ways.append(f"{format_count(needed.now, 'run')} of {second_name} alone ({more} more)")
    shows = (
        f"If the true difference is {points}, as it is now, {' or '.join(ways)} would show it in "
        "80 of 100 repetitions"
    )
    if comparison.board.protocol.name == PUBLISHED:
        return f"{shows}."
    both = " ".join(shlex.quote(row.label) for row in (comparison.first, comparison.second))
    return f"{shows}: `aib rerun {both} --runs {needed.both}` says the price first."


def describe_changes_beside_prompts(change: VersionChange) -> str:
    """Say in one sentence in which ways other than prompts two versions of a protocol differ; "" if
    they do not.
    """
    if not change.unlike:
        return ""
    return (
        f"They differ in more than prompts ({'; '.join(change.unlike)}). Only what both ask and "
        "score in the same words is compared."
    )


def list_signed_change_lines(changes: tuple[WordChange, ...]) -> Iterator[tuple[str, str]]:
    """Yield (sign, text) for the changes of a system prompt, of which at most `MOST_CHANGES` are
    shown: - for the old words, + for the new words, "" for a remark.
    """
    for change in changes[:MOST_CHANGES]:
        for sign, words in (("-", change.before), ("+", change.after)):
            if words:
                cut = words if len(words) <= LONGEST_CHANGE else f"{words[:LONGEST_CHANGE]} ..."
                parts = ("..." if change.left else "", change.left, f"[{cut}]", change.right)
                yield sign, " ".join(part for part in parts if part)
    if len(changes) > MOST_CHANGES:
        yield "", f"and {len(changes) - MOST_CHANGES} more places"
    if not changes:
        yield "", "only white space differs"


def render_versions(version: VersionComparison, scenarios: bool = False) -> Iterator[Block]:
    """Yield the output blocks that compare two versions of a protocol: the changes in their
    prompts, a summary, and the differences of scores, the largest first. *scenarios*: also those in
    each scenario.
    """
    change, names = version.change, find_version_names(version)
    yield from _render_sides(version.found, names)
    for prompt in change.prompts:
        yield Note(("\nsystem prompt ", Prose(prompt.variant)), "")
        for sign, text in list_signed_change_lines(prompt.changes):
            yield Note(Prose(f"  {sign} {text}"), {"-": "red", "+": "green"}.get(sign, "dim"))
    if change.same:
        yield Note(f"{', '.join(map(str, change.same))}: the same in both, and left out.")
    if unlike := describe_changes_beside_prompts(change):
        yield Note(Prose(unlike))
    yield Note(("\n", Prose(describe_versions(version))), "bold")
    if settles := describe_needed_version_runs(version):
        yield Note(Prose(settles))
    for sentence in describe_run_effects(version.found.board):
        yield Note(sentence)
    yield Note("")
    yield from _render_differences(version.found, names, scenarios)


def build_version_values(version: VersionComparison) -> dict[str, Any]:
    """Return the comparison of two versions of a protocol as values for JSON, with every field;
    scores are in points of 100.
    """
    change = version.change
    return build_comparison_values(version.found) | {
        "versions": (change.old, change.new),
        "prompts": change.prompts,
        "names": find_version_names(version),
        "left_out": change.same,
        "unlike": change.unlike,
        "statement": describe_versions(version),
        "settles": describe_needed_version_runs(version),
        "by_sittings": version.by_sittings,
    }
