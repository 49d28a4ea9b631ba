"""A report as Markdown (GitHub's): tables, and under each a sentence that says what its headings mean.

Everything that comes from outside is written so that it cannot be markup: names as code, prose with its
punctuation as character references. Computes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from independence_bench.protocol import Protocol
from independence_bench.report.comparisons import Comparison
from independence_bench.report.contents import Contents, Detail
from independence_bench.report.naming import unique_names
from independence_bench.report.rows import MOST_UNUSABLE, Board, Row
from independence_bench.report.terminal import (
    cautions,
    effect_title,
    incomplete_lines,
    money,
    number,
    plural,
    scale,
    share,
    signed,
    signs,
)
from independence_bench.shown import label_text

MOST_NAMES = 20  # lines of the most popular names
MOST_WHO = 5  # subjects that are listed behind a name
# an underscore inside a word is none to Markdown; what begins an address would be made a link
_MARKUP = re.compile(r"[!\"#$&*+<=>@\[\\\]^`{|}~]|(?<![a-z0-9])_|_(?![a-z0-9])|:(?=/)|(?<=www)\.", re.IGNORECASE)

Cells = Sequence[str]


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
        f"judge {_judge(main)}. The same numbers for programs: [{data}]({data}). Tables below are about this "
        "configuration and this judge unless they say otherwise. Differences are differences of points: none of "
        "them comes with a statement of how sure it is."
    )


def _ranking(contents: Contents, picture: str) -> Iterable[str]:
    board = contents.main
    yield "## Ranking"
    if not board.ranked:
        yield "Nobody is complete yet, so nobody is ranked."
        return
    yield f"![The index of every ranked subject as a dot on a line from 0 to 100]({picture})"
    shown = [d for d in board.protocol.dimensions if d.weight]
    headings = ["#", "Subject", "Index", "SD", "Runs", *(f"{prose(d.title)} ({d.weight:g})" for d in shown)]
    rows = [
        [
            str(row.rank),
            " ".join([code(row.label), *signs(row)]),
            f"**{number(row.score.index, 1)}**",
            number(row.score.deviation, 1),
            str(row.score.runs),
            *(_percent(row.score.dimensions[d.name]) for d in shown),
        ]
        for row in board.ranked
    ]
    yield table(headings, rows, left=(1,))
    yield (
        "Index: 0 to 100, the mean over runs; equal indices share a rank. SD: standard deviation of the runs' indices, "
        "which says how much the same test varies when it is given again. Then the dimensions from 0 to 100, 100 being "
        "the most independent, with their weights in the index."
    )
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
    effects = [[effect_title(effect), str(effect.subjects), signed(effect.points)] for effect in compared.effects]
    if effects:
        yield table(["What it changes", "Subjects", "Points"], effects, left=(0,))
        yield (
            "Points of the index, the mean over the subjects that have all the indices needed, each compared with "
            "itself. Interaction: how much more the tool changes under the one prompt than under the other; 0 means "
            "that prompt and tool simply add up."
        )
    headings = ["Subject", *(code(place.configuration) for place in compared.places)]
    spreads = [[code(s.label), *(number(index, 1) for index in s.indices)] for s in compared.subjects]
    yield table(headings, spreads, left=(0,))
    yield "The index of every subject that has one in two configurations or more; a dash: it has none there."


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
            [str(r.rank), code(r.label), number(r.score.index, 1), number(r.score.deviation, 1), str(r.score.runs)]
            for r in board.ranked
        ]
        yield table(["#", "Subject", "Index", "SD", "Runs"], rows, left=(1,))
        yield f"Columns as in the ranking above; {plural(len(board.incomplete), 'subject')} incomplete."


def _providers(comparisons: Sequence[Comparison]) -> Iterable[str]:
    yield "## Providers of one model"
    if not comparisons:
        yield "No model was played under more than one provider setting."
        return
    rows = [
        [code(c.model), prose(v.setting), number(v.index, 1), signed(v.difference), str(v.runs), _served(v.served)]
        for c in comparisons
        for v in c.variants
    ]
    yield table(["Model", "Provider", "Index", "Difference", "Runs", "Served by"], rows, left=(0, 1, 5))
    yield (
        "Subjects that differ in nothing but the provider that they are pinned to. Difference: points against the "
        "first line of the model that has an index, which is the unpinned one where it has one. Served by: who said "
        "that it answered, with its number of answers."
    )


def _efforts(comparisons: Sequence[Comparison]) -> Iterable[str]:
    yield "## Reasoning efforts"
    if not comparisons:
        yield "No model was played with more than one reasoning effort."
        return
    rows = [
        [code(v.label), prose(v.setting), number(v.index, 1), signed(v.difference), str(v.runs)]
        for c in comparisons
        for v in c.variants
    ]
    yield table(["Subject", "Effort", "Index", "Difference", "Runs"], rows, left=(0, 1))
    yield (
        "Subjects that differ in nothing but how much they were told to think. Difference: points against the lowest "
        "effort of the same model that has an index."
    )


def _prices(contents: Contents) -> Iterable[str]:
    yield "## Index per dollar"
    if not contents.prices:
        yield "Nobody is ranked."
        return
    rows = [
        [
            code(p.label),
            number(p.index, 1),
            _dollars(p.dollars_per_run),
            _per_dollar(p.dollars_per_run, p.index_per_dollar),
        ]
        for p in contents.prices
    ]
    yield table(["Subject", "Index", "Dollars a run", "Points a dollar"], rows, left=(0,))
    yield (
        "Dollars a run: what the replies of one run cost, attempts that were thrown away included and judges not; a "
        "dash: not known for all of them. Points a dollar: the index divided by that. A cheap subject leads here "
        "however it behaves."
    )


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
        f"{plural(naming.conversations, 'conversation')} in which the model was free to choose a name: "
        f"{naming.declined:,} went by none, {naming.unsure:,} could not be told by rule (`aib extract-names -j` asks a "
        "model)."
    )
    if not naming.counts:
        return
    rows = [[prose(c.name), str(len(c.subjects)), str(c.times), _who(c.subjects)] for c in naming.counts[:MOST_NAMES]]
    yield table(["Name", "Subjects", "Times", "Who"], rows, left=(0, 3))
    yield (
        f"The names that most subjects chose, out of {len(naming.counts):,}. Times: in so many conversations, of all "
        "subjects together. Case does not matter."
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
            number(facts.discrimination, 2),
        ]
        for facts in complexity.scenarios
    ]
    headings = ["Scenario", "Title", "Experiment", "Points", "Difficulty", "Discrimination"]
    yield table(headings, rows, left=(0, 1, 2))
    yield (
        f"Over {plural(len(complexity.scores), 'ranked subject')}. Points: how many of the index's 100 can be had in "
        "this scenario. Difficulty: the share of them, in percent, that subjects lose on average. Discrimination: the "
        "correlation, over subjects, of the points had here with the points had everywhere else, -1 to 1; near 0 or "
        "below, the scenario says little about the rest. A dash: everybody did the same, or fewer than three subjects."
    )
    yield f"![The share of points that every subject had in every scenario]({picture})"
    yield (
        "One line for each ranked subject, one column for each scenario; in the cells the percent of the points that "
        "it had, 100 being the independent end."
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
                share(health.unusable_share),
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
        "Unusable",
        "Cut off",
        "Plain text",
        "With reasoning",
        "Judge failed",
    ]
    yield table(headings, rows, left=(0,))
    yield (
        "Judged: transcripts with their marks, of those planned for the runs that were begun. Invalid: replies that in "
        "the end were none (empty, debris, stopped by a filter). Unusable: the share of attempts that brought no "
        f"answer and were asked again; over {MOST_UNUSABLE:.0%} of them exclude a subject. Cut off: ended by the token "
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
    facts = [f"Dollars: {_dollars(detail.spent.dollars)}"]
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
    return (code(board.judge) if board.judge else "none yet") + (" (embedded, for demos)" if board.by_table else "")


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, 0)


def _dollars(dollars: float | None) -> str:
    return "–" if dollars is None else "free" if dollars == 0 else money(dollars)


def _per_dollar(dollars: float | None, points: float | None) -> str:
    return "free" if dollars == 0 else "–" if points is None else f"{points:,.{1 if points < 100 else 0}f}"


def _served(served: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{prose(name)} ({count:,})" for name, count in served) or "–"


def _who(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - MOST_WHO} more" if len(labels) > MOST_WHO else ""
    return ", ".join(code(label) for label in labels[:MOST_WHO]) + more


# ---------------------------------------------------------------- Markdown


def table(headings: Cells, rows: Sequence[Cells], left: Sequence[int] = ()) -> str:
    """A table; columns stand to the right, those in *left* to the left. Cells must be Markdown already, on one line."""
    rule = [":---" if column in left else "---:" for column in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))


def code(text: str) -> str:
    """A name as code, where nothing is markup. What would end the code, or the cell that it is in, is written out."""
    shown = label_text(text).replace("`", "\\u{60}").replace("|", "\\u{7c}")
    return f"`{shown or '–'}`"


def prose(text: str) -> str:
    """*text* on one line, as words: whatever Markdown or HTML would take for markup is a character reference."""
    return _MARKUP.sub(lambda match: f"&#{ord(match.group())};", label_text(text))
