"""A report as Markdown (GitHub's): tables, and under each a sentence that says what its headings mean.

Everything that comes from outside is written so that it cannot be markup: names as code, prose with its
punctuation as character references. Computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from independence_bench.analysis.compare_settings import SettingComparison, Variant
from independence_bench.analysis.configurations import ConfigurationComparison
from independence_bench.analysis.item_analysis import ItemAnalysis
from independence_bench.analysis.leaderboard import MOST_UNANSWERED, Board, Row
from independence_bench.analysis.name_counts import unique_names
from independence_bench.analysis.run_times import day_and_hour, run_times_note, span_text
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.protocol.definition import Protocol
from independence_bench.report.contents import Contents, Detail
from independence_bench.report.figures import between, doubts, from_to, made_by, medal, ranks
from independence_bench.report.format import money, number, plural, scale, share, signed
from independence_bench.report.markdown_escape import code, prose, table
from independence_bench.report.reliability_view import about, sections
from independence_bench.report.scenarios_view import percent, percents, remarks, span
from independence_bench.report.terminal import EFFECTS_SURE, cautions, effect_title, incomplete_lines, signs

MOST_NAMES = 20  # lines of the most popular names
MOST_WHO = 5  # subjects that are listed behind a name


def report_markdown(contents: Contents, pictures: tuple[str, str], data: str) -> str:
    """The whole report. *pictures* are the files of the ranking plot and the scenario map, *data* that of the JSON."""
    ranking, scenarios = pictures
    sections = [
        *_head(contents, data),
        *_ranking(contents, ranking),
        *_incomplete(contents.main),
        *_configurations(contents),
        *_others(contents),
        *_providers(contents.providers),
        *_efforts(contents.efforts),
        *_prices(contents),
        *_judges(contents),
        *_names(contents),
        *_scenarios(contents, scenarios),
        *_reliability(contents),
        *_made(contents),
        *_health(contents),
        *_cost(contents),
        *_details(contents),
    ]
    return "\n\n".join(sections) + "\n"


def moment(seconds: float | None) -> str | None:
    """A time as text, in UTC whatever the clock of the machine says: 2026-01-31 12:00:00 UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# ---------------------------------------------------------------- sections


def _head(contents: Contents, data: str) -> Iterable[str]:
    protocol, main = contents.protocol, contents.main
    yield f"# Independence Index: {prose(main.protocol_name)}"
    yield (
        f"{prose(protocol.title)}. {plural(len(main.ranked), 'subject')} ranked, {len(main.incomplete)} incomplete. "
        f"Last updated {moment(contents.updated) or '–'}."
    )
    yield (
        f"Protocol {code(protocol.name)}, hash {code(protocol.hash[:16])}; played as {_configuration(main)}; "
        f"{'; '.join([f'judge {_judge(main)}', *made_by(main)])}. The same numbers for programs: [{data}]({data}). "
        "Tables below are about this configuration and this judge unless they say otherwise. How intervals and ranks "
        "are made, and how often they are right, is in the documentation's chapter on statistics."
    )


def _ranking(contents: Contents, picture: str) -> Iterable[str]:
    board = contents.main
    yield "## Ranking"
    if not board.ranked:
        yield "Nobody is complete yet, so nobody is ranked."
        return
    yield f"![The index of every ranked subject as a dot on a line from 0 to 100]({picture})"
    shown = [d for d in board.protocol.dimensions if d.weight]
    headings = ["#", "Subject", "Index", "Again", "Another", "Ties", "Runs"]
    headings += [f"{prose(d.title)} ({d.weight:g})" for d in shown]
    rows = [
        [
            ranks(row),
            " ".join(filter(None, [medal(row), code(row.label), *signs(row)])),
            f"**{number(row.score.index, 1)}**",
            between(row.certainty.index.again),
            between(row.certainty.index.another),
            row.certainty.standing.groups if row.certainty.standing else "–",
            str(row.score.runs),
            *(_percent(row.score.dimensions[d.name]) for d in shown),
        ]
        for row in board.ranked
    ]
    yield table(headings, rows, left=(1,))
    yield (
        "Index: 0 to 100, the mean over runs. Then the dimensions from 0 to 100, 100 being the most independent, with "
        "their weights in the index. Ties: two subjects that share a letter cannot be told apart on this test. A medal "
        "stands where the rank is certain."
    )
    yield prose(" ".join(doubts(board)))
    if remarks := cautions(board):
        yield prose(" ".join(remarks))


def _incomplete(board: Board) -> Iterable[str]:
    yield "## Incomplete subjects"
    if not board.incomplete:
        yield "None."
        return
    yield "A subject is ranked only if every planned transcript of every run that was begun has its marks."
    lines = [
        [f"- {code(row.label)}", *(f"  - {prose(line)}" for line in incomplete_lines(row))] for row in board.incomplete
    ]
    yield "\n".join(line for of_row in lines for line in of_row)


def _configurations(contents: Contents) -> Iterable[str]:
    yield "## Configurations"
    compared = contents.configurations
    if compared is None:
        yield "No subject has an index in more than one configuration, so there is nothing to compare."
        return
    rows = [
        [code(place.configuration), str(place.subjects), number(place.mean, 1), number(place.paired, 1)]
        for place in compared.places
    ]
    yield table(["Configuration", "Subjects", "Mean index", "Mean index, same subjects"], rows, left=(0,))
    yield (
        f"Mean index: over the subjects that have an index there, who need not be the same. Same subjects: over those "
        f"that have one in every configuration of the table ({compared.paired})."
    )
    effects = [
        [prose(effect_title(e)), str(e.subjects), signed(e.points), from_to(e.sampled), from_to(e.again)]
        for e in compared.effects
    ]
    if effects:
        yield table(["What it changes", "Subjects", "Points", "Others like them", "Again"], effects, left=(0,))
        yield (
            "Points of the index, the mean over the subjects that have all the indices needed, each compared with "
            "itself. Interaction: how much more the tool changes under the one prompt than under the other; 0 means "
            f"that prompt and tool simply add up. {prose(EFFECTS_SURE)}"
        )
    headings = ["Subject", *(code(place.configuration) for place in compared.places)]
    spreads = [
        [code(s.label), *(_index_between(i, sure) for i, sure in zip(s.indices, s.intervals, strict=True))]
        for s in compared.subjects
    ]
    yield table(headings, spreads, left=(0,))
    yield (
        "The index of every subject that has one in two configurations or more, and in brackets where it lies at 95 % "
        "by the same test again; a dash: it has none there."
    )
    yield from _changes(compared)


def _changes(compared: ConfigurationComparison) -> Iterable[str]:
    """What each subject by itself shows of the main effects, or where there are none of all."""
    mains = [place for place, effect in enumerate(compared.effects) if effect.within is None]
    shown = mains or list(range(len(compared.effects)))
    if not shown:
        return
    rows = [
        [code(s.label), *(f"{signed(c.points)} ({from_to(c.again)})" if (c := s.changes[n]) else "–" for n in shown)]
        for s in compared.subjects
    ]
    yield table(["Subject", *(prose(effect_title(compared.effects[n])) for n in shown)], rows, left=(0,))
    yield (
        "The same in each subject by itself, in points of the index, and in brackets where it lies at 95 % by the same "
        "test again: runs of two configurations have nothing in common. Each by itself; of twenty that are 0, one is "
        "expected to seem otherwise."
    )


def _index_between(index: float | None, interval: Interval | None) -> str:
    return number(index, 1) + (f" ({between(interval)})" if interval else "")


def _others(contents: Contents) -> Iterable[str]:
    if not contents.others:
        return
    yield "## Other configurations and judges"
    yield "Rankings of their own: numbers of two configurations or two judges are never mixed."
    for board in contents.others:
        yield f"### {_configuration(board)}, judge {_judge(board)}"
        if not board.ranked:
            yield f"Nobody is ranked; {plural(len(board.incomplete), 'subject')} incomplete."
            continue
        rows = [
            [
                ranks(r),
                code(r.label),
                number(r.score.index, 1),
                between(r.certainty.index.again),
                between(r.certainty.index.another),
                str(r.score.runs),
            ]
            for r in board.ranked
        ]
        yield table(["#", "Subject", "Index", "Again", "Another", "Runs"], rows, left=(1,))
        yield f"Columns as in the ranking above; {plural(len(board.incomplete), 'subject')} incomplete."


def _providers(comparisons: Sequence[SettingComparison]) -> Iterable[str]:
    yield "## Providers of one model"
    if not comparisons:
        yield "No model was played under more than one provider setting."
        return
    rows = [
        [code(c.model), prose(v.setting), number(v.index, 1), *_difference(v), str(v.runs), _served(v.served)]
        for c in comparisons
        for v in c.variants
    ]
    headings = ["Model", "Provider", "Index", *DIFFERENCE, "Runs", "Served by"]
    yield table(headings, rows, left=(0, 1, len(headings) - 1))
    yield (
        "Subjects that differ in nothing but the provider that they are pinned to. Difference: points against the "
        "first line of the model that has an index, which is the unpinned one where it has one. Served by: who said "
        f"that it answered, with its number of answers. {_differences_sure(comparisons)}"
    )


def _efforts(comparisons: Sequence[SettingComparison]) -> Iterable[str]:
    yield "## Reasoning efforts"
    if not comparisons:
        yield "No model was played with more than one reasoning effort."
        return
    rows = [
        [code(v.label), prose(v.setting), number(v.index, 1), *_difference(v), str(v.runs)]
        for c in comparisons
        for v in c.variants
    ]
    yield table(["Subject", "Effort", "Index", *DIFFERENCE, "Runs"], rows, left=(0, 1))
    yield (
        "Subjects that differ in nothing but how much they were told to think. Difference: points against the lowest "
        f"effort of the same model that has an index. {_differences_sure(comparisons)}"
    )


DIFFERENCE = ("Difference", "Again", "Another", "Sees")


def _difference(variant: Variant) -> list[str]:
    """A difference in bold where it stands, its two intervals, and what could have been seen of each."""
    shown = f"**{signed(variant.difference)}**" if variant.stands else signed(variant.difference)
    if variant.apart is None:
        return [shown, "–", "–", "–"]
    uncertainty = variant.apart.uncertainty
    seen = " / ".join(number(one, 1) for one in (variant.apart.seen_again, variant.apart.seen_another))
    return [shown, from_to(uncertainty.again), from_to(uncertainty.another), seen]


def _differences_sure(comparisons: Sequence[SettingComparison]) -> str:
    stands = [variant.stands for one in comparisons for variant in one.variants if variant.stands is not None]
    told = (
        f"In bold: stands among all {len(stands)} differences of the table (Holm); the chance that any of these is "
        "none is at most 5 %."
        if any(stands)
        else f"None stands among all {len(stands)} differences of the table (Holm): the largest may be chance."
        if stands
        else ""
    )
    return (
        "Again: where the difference lies at 95 % by the same test again; another: by another test like it; each by "
        "itself. Sees: the smallest true difference that such a comparison tells from none in 80 of 100 repetitions, "
        f"by each of the two. A dash: not ranked, or the ranking has no such intervals. {told}"
    ).rstrip()


def _prices(contents: Contents) -> Iterable[str]:
    yield "## Index per dollar"
    if not contents.prices:
        yield "Nobody is ranked."
        return
    rows = [
        [
            code(p.label),
            number(p.index, 1),
            *(_dollars(dollars) for dollars in (p.replies_per_run, p.judging_per_run, p.dollars_per_run)),
            _points(p.index_per_dollar),
            _between_points(p.uncertainty.again),
            _between_points(p.uncertainty.another),
        ]
        for p in contents.prices
        if not p.free
    ]
    if rows:
        head = ["Subject", "Index", "Replies", "Judge", "Dollars a run", "Points a dollar", "Again", "Another"]
        yield table(head, rows, left=(0,))
        yield (
            f"Dollars a run: what the replies of one run cost, and what {_judge(contents.main)} took for marking them, "
            "attempts that were thrown away included; a dash: not known for all of them. Points a dollar: the index "
            "divided by both together; again, another: the index's intervals at 95 % divided by the same, the price "
            "being what it was. A cheap subject leads here however it behaves."
        )
    if free := [[code(p.label), number(p.index, 1)] for p in contents.prices if p.free]:
        yield "Free, and judged for nothing, so that there is no number of points a dollar; by index:"
        yield table(["Subject", "Index"], free, left=(0,))


def _judges(contents: Contents) -> Iterable[str]:
    yield "## Judges"
    if not contents.judges:
        yield "Nothing is judged yet."
        return
    rows = [
        [
            code(judge.label) + (" (embedded, for demos)" if judge.by_table else ""),
            str(judge.subjects),
            f"{judge.judged:,}",
            f"{judge.failed:,}",
            share(judge.failed_share),
        ]
        for judge in contents.judges
    ]
    yield table(["Judge", "Subjects", "Judged", "Failed", "Share failed"], rows, left=(0,))
    yield (
        "Judged: transcripts of the configuration above with a verdict. Failed: transcripts for which the judge gave "
        "none that fits its form, in several tries; it is no mark, so its subject is incomplete under that judge."
    )


def _names(contents: Contents) -> Iterable[str]:
    naming = contents.naming
    if not naming.conversations:
        return
    yield "## Names that models give themselves"
    yield (
        f"{plural(naming.conversations, 'conversation')} in which the model was free to choose who to be. Of those "
        f"that asked for a name, {naming.declined:,} went by none and {naming.unsure:,} could not be told by rule "
        "(`aib extract-names -j` asks a model)."
    )
    if naming.by_scenario:
        lines = [
            [code(one.scenario), *(f"{n:,}" for n in (one.conversations, one.named, one.picks, one.names))]
            for one in naming.by_scenario
        ]
        yield table(["Scenario", "Conversations", "With a name", "Picks", "Names"], lines, left=(0,))
        yield "Picks: names that were chosen freely, three of a description of three people; names: different ones."
    if not naming.counts:
        return
    rows = [[prose(c.name), str(len(c.subjects)), str(c.times), _who(c.subjects)] for c in naming.counts[:MOST_NAMES]]
    yield table(["Name", "Subjects", "Times", "Who"], rows, left=(0, 3))
    yield (
        f"The names that most subjects chose, out of {len(naming.counts):,}. Times: so often, in all "
        "scenarios and by all subjects together. Case does not matter."
    )
    unique = [[prose(c.name), str(c.times), _who(c.subjects)] for c in unique_names(naming.counts)[:MOST_NAMES]]
    if unique:
        yield table(["Name", "Times", "Only"], unique, left=(0, 2))
        yield "Names that one subject alone chose, those first that it chose most often."


def _scenarios(contents: Contents, picture: str) -> Iterable[str]:
    yield "## Scenarios: difficulty and discrimination"
    complexity = contents.complexity
    if not complexity.scores:
        yield "Nobody is ranked."
        return
    titles = {experiment.name: experiment.title for experiment in contents.protocol.experiments}
    rows = [
        [
            code(facts.id),
            prose(facts.title),
            prose(titles[facts.experiment]),
            number(facts.points, 1),
            number(facts.difficulty, 1),
            percent(facts.ceiling),
            percent(facts.floor),
            number(facts.discrimination, 2),
            span(facts.discrimination_interval),
            percent(facts.share),
        ]
        for facts in complexity.scenarios
    ]
    headings = [
        *("Scenario", "Title", "Experiment", "Points", "Difficulty"),
        *("Ceiling", "Floor", "Discrimination", "at 95%", "Share"),
    ]
    yield table(headings, rows, left=(0, 1, 2))
    yield (
        f"Over {plural(len(complexity.scores), 'ranked subject')}. Points: how many of the index's 100 can be had in "
        "this scenario. Difficulty: the share of them, in percent, that subjects lose on average. Ceiling, floor: "
        "percent of all conversations with all of the points, and with none. Discrimination: the correlation, over "
        "subjects, of the points had here with the points had everywhere else (item-rest), -1 to 1, and where it lies "
        "at 95% if the subjects are taken as a sample, each by itself; near 0 or below, the scenario says little about "
        "the rest. Share: percent of the differences between the subjects' indices that lie in this scenario, 100 over "
        "all of "
        "them. A dash: everybody did the same, or fewer than three subjects, for an interval four."
    )
    yield "\n".join(f"- {remark}" for remark in remarks(contents.protocol, complexity, code, prose))
    yield f"![The share of points that every subject had in every scenario]({picture})"
    yield (
        "One line for each ranked subject, one column for each scenario; in the cells the percent of the points that "
        "it had, 100 being the independent end."
    )
    yield from _in_dimensions(contents.protocol, complexity)
    yield from _left_out(complexity)


def _in_dimensions(protocol: Protocol, complexity: ItemAnalysis) -> Iterable[str]:
    rows = [
        [
            prose(dimension.title),
            code(facts.id),
            number(one.points, 1),
            number(one.item_rest, 2),
            span(one.item_rest_interval),
            percent(one.share),
            percents(one.share_interval),
            percent(one.explained),
        ]
        for dimension in protocol.dimensions
        for facts in complexity.scenarios
        for one in facts.within
        if one.dimension == dimension.name
    ]
    headings = ["Dimension", "Scenario", "Points", "Item-rest", "at 95%", "Share", "at 95%", "R²"]
    yield "### Each scenario in its dimension"
    yield table(headings, rows, left=(0, 1))
    yield (
        "Item-rest: the correlation, over subjects, of the points had here with those had in the other scenarios of "
        "the dimension. Share: percent of the differences between subjects in this dimension that lie in the scenario, "
        "100 over all of the dimension's. R²: percent of these differences that could be told from this scenario "
        "alone; these add up to nothing. Each but R² with where it lies at 95% if the subjects are taken as a sample, "
        "by itself."
    )


def _left_out(complexity: ItemAnalysis) -> Iterable[str]:
    rows = [
        [
            code(facts.id),
            signed(one.mean_change),
            signed(one.largest_change.points if one.largest_change else None),
            code(one.largest_change.label) if one.largest_change else "–",
            number(one.kendall_tau, 3),
            number(one.spearman, 3),
            "–" if one.most_ranks is None else str(one.most_ranks),
        ]
        for facts in complexity.scenarios
        for one in (facts.without,)
    ]
    yield "### The index without a scenario"
    yield table(["Without", "Mean change", "Largest change", "Of", "Tau", "Rho", "Ranks"], rows, left=(0, 3))
    yield (
        "The index of every subject if the scenario were left out of the means that it is in. Mean change: in points, "
        "over subjects. Largest change: of one subject, and of whom. Tau, rho: Kendall's and Spearman's correlation of "
        "the ranking with the full one, 1 being the same order. Ranks: how many a subject moves at most."
    )


def _reliability(contents: Contents) -> Iterable[str]:
    yield "## Where the noise comes from"
    yield prose(about(contents.reliability)) + "."
    for section in sections(contents.reliability):
        yield f"### {prose(section.title)}"
        if section.rows:
            headings, *rows = ([prose(cell) for cell in cells] for cells in (section.headings, *section.rows))
            yield table(headings, rows, left=range(section.left))
        yield prose(section.legend)


def _made(contents: Contents) -> Iterable[str]:
    rows = [
        [code(row.label), str(len(one.runs)), day_and_hour(one.first), day_and_hour(one.last), str(one.days),
         span_text(one.span)]
        for row in (*contents.main.ranked, *contents.main.incomplete)
        if (one := row.made)
    ]  # fmt: skip
    yield "## When the runs were made"
    if not rows:
        yield "Nothing was played."
        return
    yield table(["Subject", "Runs", "First", "Last", "Days", "Span"], rows, left=(0, 2, 3))
    said = run_times_note([row.made for row in contents.main.ranked if row.made])
    yield prose(
        "First, last: when the first and the last conversation of its runs ended, in UTC; days: dates on which one "
        f"did; span: from the beginning of the first run to that of the last. {said}".rstrip()
    )


def _health(contents: Contents) -> Iterable[str]:
    yield "## Data health"
    rows = []
    for row in (*contents.main.ranked, *contents.main.incomplete):
        health = row.health
        rows.append(
            [
                code(row.label),
                f"{health.judged} of {health.transcripts}",
                f"{health.replies:,}",
                f"{health.invalid:,} ({share(health.invalid_share)})",
                share(health.failed_share),
                f"{health.cut_off:,} ({share(health.cut_off_share)})",
                f"{health.plain_text:,}",
                f"{health.reasoned:,}",
                f"{health.judge_failed:,}",
            ]
        )
    headings = [
        "Subject",
        "Judged",
        "Replies",
        "Invalid",
        "Failed attempts",
        "Cut off",
        "Plain text",
        "With reasoning",
        "Judge failed",
    ]
    yield table(headings, rows, left=(0,))
    yield (
        "Judged: transcripts with their marks, of those planned for the runs that were begun. Invalid: replies that in "
        "the end were none (empty, debris, stopped by a filter). Failed attempts: the share of attempts at "
        "its replies that brought no answer, most of which were asked again and came then. Who has no valid reply in "
        f"over {MOST_UNANSWERED:.0%} of its conversations in the end is excluded. Cut off: ended by the token "
        "limit, twice. Plain text: said beside the tool. With reasoning: came with thoughts, asked for or not. Judge "
        "failed: transcripts without a verdict."
    )


def _cost(contents: Contents) -> Iterable[str]:
    spending = contents.spending
    yield "## What it cost"
    rows = [
        ["This report", money(0.0)],
        ["Candidates", money(spending.replies)],
        ["Judges", money(spending.judgements)],
        ["**All together**", f"**{money(spending.total)}**"],
    ]
    yield table(["", "Dollars"], rows, left=(0,))
    calls = plural(spending.attempts, "call")
    yield (
        f"This report asked no model. The rest is the store's whole life, every protocol in it, in {calls}, rejected "
        f"ones included; {spending.lost:,} of them were lost in flight and {spending.unpriced:,} were answered without "
        "a price, so the true sum may be higher. Imported results count with what they cost where they were made."
    )


def _details(contents: Contents) -> Iterable[str]:
    yield "## Every subject in detail"
    yield (
        "Mean: over all runs, on the mark's scale (yes counts as 1); then each run by itself. Scored: transcripts that "
        "have the mark, of those planned for it; without all of them a run has no mean. Dollars: what the replies cost."
    )
    for detail in contents.details:
        yield from _detail(contents.protocol, detail)


def _detail(protocol: Protocol, detail: Detail) -> Iterable[str]:
    row = detail.row
    yield f"### {f'{row.rank}. ' if row.rank else ''}{code(row.label)}"
    if row.runs:
        yield _marks(protocol, detail)
    else:
        yield f"No marks: {prose(', '.join(row.missing[:1]))}."
    facts = [f"Dollars: replies {_dollars(detail.spent.dollars)}, judge {_dollars(detail.spent.judging)}"]
    if detail.spent.served:
        facts.append(f"served by {_served(detail.spent.served)}")
    yield "; ".join(facts) + "."


def _marks(protocol: Protocol, detail: Detail) -> str:
    row = detail.row
    runs = list(row.runs.values())
    rows = [
        [
            prose(name.replace("_", " ")),
            scale(protocol.mark(name)),
            number(mean, 2),
            "{} of {}".format(*detail.scored[name]),
            *(number(run.means[name], 2) for run in runs),
        ]
        for name, mean in row.score.means.items()
    ]
    indices = [number(run.index, 1) for run in runs]
    rows.append(["**index**", "0-100", f"**{number(row.score.index, 1)}**", _whole(row), *indices])
    return table(["Mark", "Scale", "Mean", "Scored", *(f"Run {run}" for run in row.runs)], rows, left=(0,))


def _whole(row: Row) -> str:
    return f"{sum(run.index is not None for run in row.runs.values())} of {plural(len(row.runs), 'run')}"


# ---------------------------------------------------------------- cells


def _configuration(board: Board) -> str:
    return " + ".join(code(str(configuration)) for configuration in board.configurations)


def _judge(board: Board) -> str:
    if board.judge is None:
        return "none yet"
    said = ["embedded, for demos"] if board.by_table else []
    if len(board.judges) > 1 and board.judge == board.main_judge:
        said.append(f"the main one of {len(board.judges)}")
    return code(board.judge) + (f" ({'; '.join(said)})" if said else "")


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, 0)


def _dollars(dollars: float | None) -> str:
    return "–" if dollars is None else "free" if dollars == 0 else money(dollars)


def _points(points: float | None) -> str:
    return "–" if points is None else f"{points:,.{1 if points < 100 else 0}f}"


def _between_points(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    digits = 1 if interval.high < 100 else 0
    return f"{interval.low:,.{digits}f}–{interval.high:,.{digits}f}"


def _served(served: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{prose(name)} ({count:,})" for name, count in served) or "–"


def _who(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - MOST_WHO} more" if len(labels) > MOST_WHO else ""
    return ", ".join(code(label) for label in labels[:MOST_WHO]) + more
