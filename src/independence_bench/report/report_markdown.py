"""The report: every section's blocks, as Markdown. Computes nothing.

A table is followed by a sentence that says what its titles mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from independence_bench import __version__
from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.health import (
    describe_sessions,
    format_span,
    format_utc_day_and_minute,
)
from independence_bench.analysis.held_stems import format_character_and_depth
from independence_bench.columns import list_table_columns
from independence_bench.escape import escape_line
from independence_bench.figures import format_cost, format_count, format_dollars, format_share
from independence_bench.protocol.scoring import OWN
from independence_bench.report.board_notes import (
    describe_delivery_problems,
    describe_reasoning_mismatches,
    list_interval_notes,
    list_ranking_warnings,
    name_none,
)
from independence_bench.report.board_view import (
    build_marks_table,
    build_ranking_table,
    build_unranked_table,
    describe_foreign_rules,
    describe_unranked_counts,
    list_weighted_dimensions,
    make_exam_legend,
    split_incomplete_and_excluded,
)
from independence_bench.report.branches_view import (
    PUSHES_PICTURE,
    build_branches_table,
    explain_omitted_judge_marks,
    render_branches,
)
from independence_bench.report.contents import Contents
from independence_bench.report.names_view import (
    build_scenario_name_counts_table,
    render_popular_and_unique_names,
)
from independence_bench.report.persona_view import make_sides, render_persona
from independence_bench.report.reasons_view import render_reasons
from independence_bench.report.scenarios_view import build_difficulty_table
from independence_bench.report.settings_view import (
    format_judge,
    format_providers,
    make_report_table,
    render_configurations_report,
    render_prices,
    render_settings,
)
from independence_bench.report.summary import (
    describe_blind_spots,
    describe_leaders,
    describe_task,
)
from independence_bench.report.table import (
    Block,
    Bullets,
    Cells,
    Group,
    Name,
    Note,
    Prose,
    Remark,
    Strong,
    Table,
    Text,
    Title,
    join_texts,
    name_models_in_blocks,
    render_markdown,
)

MOST_OPEN = 20  # models of a section that need not be opened
MOST_NAMES = 20  # lines of the most popular names


def render_report(
    contents: Contents, picture_file_names: Sequence[str], json_file_name: str
) -> str:
    """Return the whole report on a leaderboard as Markdown. *picture_file_names*: the file names of
    the ranking plot, of the scenario map and, for a protocol with items, of the curves over
    pressure turns, or of the map of openness; *json_file_name*: the name of the JSON file.
    """
    plot, heatmap, *of_stems = picture_file_names
    names = contents.name_models()
    with_reasons = any(row.reasons for row in contents.main.ranked)
    lacking, excluded = split_incomplete_and_excluded(contents.main.incomplete)
    incomplete: list[Block] = []
    if lacking:
        lines = (
            Note(Prose(line))
            for line in (
                *explain_omitted_judge_marks(contents.main),
                *describe_reasoning_mismatches(lacking),
                *describe_delivery_problems(lacking),
            )
        )
        incomplete = [*lines, build_unranked_table(contents.main.protocol, lacking)]
    sections: dict[str, Iterable[Block]] = {
        "Ranking": _render_ranking(contents, plot),
        "Moves by its own reasons": render_reasons(contents.main, of_stems),
        "Branches": _render_branches(contents.main, () if with_reasons else of_stems),
        "Incomplete models": incomplete,
        "Excluded models": [build_unranked_table(contents.main.protocol, excluded, "Why")]
        if excluded
        else [],
        "Configurations": render_configurations_report(contents.configurations)
        if contents.configurations
        else [],
        "Other configurations and judges": _render_other_boards(contents),
        "Providers of one model": render_settings(contents.providers, "provider")
        if contents.providers
        else [],
        "Reasoning efforts": render_settings(contents.efforts, "reasoning effort")
        if contents.efforts
        else [],
        "What a run costs": _collapse_blocks(
            render_prices(contents.prices, contents.main), contents.main.ranked
        ),
        "Judges": _render_judges(contents),
        "Names that models give themselves": _render_names(contents),
        "Scenarios: difficulty and discrimination": _render_scenarios(contents, heatmap),
        "When the runs were made": _collapse_blocks(
            _render_run_times(contents), contents.main.rows
        ),
        "Data health": _render_health(contents.main.rows),
        "What it cost": _render_cost(contents),
    }
    character = format_character_and_depth(contents.protocol) or ""
    answer = (
        render_persona(character, make_sides(contents.main, contents.held)) if contents.held else ()
    )
    top, sentences, *head = _render_head(contents, names, json_file_name)
    blocks = [top, sentences, *answer, *head, *_render_scope(contents)]
    for title, section in sections.items():
        if blocks_of := list(section):
            blocks += [Title(title), *blocks_of]
    shown = [
        *name_models_in_blocks(blocks, names),
        Title("Every model in detail"),  # with the whole labels
        *_collapse_blocks(_render_subjects(contents), contents.details),
    ]
    return render_markdown(shown) + "\n"


def _collapse_blocks(blocks: Iterable[Block], models: Sequence[object]) -> Iterator[Block]:
    """Yield *blocks*, inside a part of the page that opens with a click if they are about more than
    `MOST_OPEN` *models*; nothing if there are no blocks.
    """
    if not (found := list(blocks)):
        return
    many = len(models) > MOST_OPEN
    if many:
        yield Note(f"<details>\n<summary>{len(models)} models</summary>")
    yield from found
    if many:
        yield Note("</details>")


def format_time(seconds: float | None) -> str | None:
    """Format a Unix time in UTC, whatever the clock of the machine says: 2026-01-31 12:00:00 UTC;
    None for None.
    """
    return (
        None
        if seconds is None
        else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    )


# ---------------------------------------------------------------- rankings


def _render_head(
    contents: Contents, names: Mapping[str, str], json_file_name: str
) -> Iterator[Block]:
    """Yield the first blocks of a report: its title, the three sentences that answer, and the
    protocol, configurations and judge that it is about. *names*: label -> the name that is shown;
    *json_file_name*: the name of the JSON file.
    """
    protocol, main = contents.protocol, contents.main
    yield Title(("Independence Index: ", Prose(main.shown_protocol_name)), level=1)
    sentences = (describe_task(main), describe_leaders(main, names), describe_blind_spots(main))
    yield Note(Prose(" ".join(sentences)))
    yield Note(
        f"{format_count(len(main.ranked), 'model')} ranked, "
        f"{describe_unranked_counts(main.incomplete)}. "
        f"Last updated {format_time(contents.updated) or '–'}."
    )
    yield Note(
        (
            *("Protocol ", Name(protocol.name), ", hash ", Name(protocol.hash[:16])),
            *(
                "; played as ",
                _format_configurations(main),
                "; judge ",
                format_judge(main),
                *(f"; {by}" for by in describe_foreign_rules(main)),
            ),
            f"; aib {__version__}. "
            f"The same numbers for programs: [{json_file_name}]({json_file_name}). "
            "The tables are about this configuration and this judge unless they say otherwise. "
            "They name a model without its settings unless two models differ by nothing else; "
            "the last section has the whole labels. The "
            "documentation's chapter on statistics explains the intervals and the ranks.",
        )
    )


def _render_scope(contents: Contents) -> Iterator[Block]:
    """Yield notes on the judges, models and experiments to which a report is limited; nothing if it
    is not limited.
    """
    only, main = contents.only, contents.main
    shown = {juror for board in (main, *contents.others) for juror in board.jurors}
    shown |= {board.judge for board in (main, *contents.others) if board.judge}
    if left_out := [judge for judge in main.judges if judge not in shown]:
        yield Note(
            f"Left out: the scores of {format_count(len(left_out), 'other judge')} of the same "
            f"conversations, {', '.join(map(escape_line, left_out))}."
        )
    if only.subjects:
        yield Note(
            f"Shown: {len(main.rows)} of {format_count(contents.of_subjects, 'model')}. The ranks "
            "and the intervals are those of all."
        )
    if only.experiments:
        titles = [
            one.title for one in contents.protocol.experiments if only.has_experiment(one.name)
        ]
        yield Note(
            (
                "Shown: the dimensions, scenarios, scores and names of ",
                Prose(", ".join(titles)),
                ". The index, health and costs are those of all experiments.",
            )
        )


def _list_shown_marks(contents: Contents) -> frozenset[str] | None:
    """Return the names of the scores that a report shows; None if it shows all."""
    return contents.only.list_marks(contents.protocol) if contents.only.experiments else None


def _render_ranking(contents: Contents, picture_file_name: str) -> Iterator[Block]:
    """Yield the report's section on the ranking: a picture, the table and its notes.
    *picture_file_name*: the picture's file name.
    """
    board, marks = contents.main, _list_shown_marks(contents)
    if line := board.exam_line:
        said, command, judges = line.partition(": aib ")
        yield Note(
            Prose(f"{said[0].upper()}{said[1:]}" + (f": `aib {judges}`." if command else "."))
        )
    if not board.ranked:
        yield Note(f"{name_none(board)} is complete yet, so none is ranked.")
        return
    shown = "The index of every ranked model as a dot on a line from 0 to 100"
    yield Note(f"![{shown}]({picture_file_name})")
    yield _build_ranking_without_health(board, marks)
    weighed = [
        (Prose(f"{d.title[:1].lower()}{d.title[1:]}"), f" ({d.weight:g})")
        for d in list_weighted_dimensions(board.protocol, marks)
    ]
    yield Bullets(
        [
            "The index is the mean over the runs, 0 to 100.",
            "In the picture the dot is the index, the thick bar its 95% CI (same scenarios), and "
            "the thin bar its 95% CI (new scenarios)."
            if board.rules == OWN.name
            else "In the picture the dot is the index, and the bar its CI over runs.",
            *(Prose(line) for line in board.interval_method or ()),
            *(Prose(line) for line in list_interval_notes(board)),
            (
                "A dimension is 100 for the most independent model. The weights in the index: ",
                *join_texts(weighed),
                ".",
            ),
            *(Prose(line) for line in list_ranking_warnings(board)),
        ]
    )


def _build_ranking_without_health(board: Board, marks: Collection[str] | None) -> Table:
    """Return the ranking without the columns on the models' data, which stand in the section on
    health if something is wrong with them.
    """
    table = build_ranking_table(board, marks=marks)
    health = {one.column.title for one in list_table_columns(Row) if one.path[0] == "health"}
    kept = [n for n, column in enumerate(table.columns) if column.title not in health]
    rows = [[row[n] for n in kept] for row in table.rows if not isinstance(row, Group | Remark)]
    return replace(table, columns=[table.columns[n] for n in kept], rows=rows)


def _render_branches(board: Board, picture_file_names: Sequence[str]) -> Iterator[Block]:
    """Yield the report's table of each ranked model's scores in the branches of items, and the
    *picture_file_names* (file names); nothing for a protocol without items.
    """
    shown = [row for row in board.ranked if row.branches]
    if not shown:
        return
    yield build_branches_table(shown)
    for name in picture_file_names:
        yield Note(f"![{PUSHES_PICTURE}]({name})")


def _render_other_boards(contents: Contents) -> Iterator[Block]:
    """Yield the rankings of a report's other configurations and judges; nothing without any."""
    if not contents.others:
        return
    yield Note("Each configuration and each judge has its own ranking.")
    for board in contents.others:
        yield Title((_format_configurations(board), ", judge ", format_judge(board)), level=3)
        yield from make_exam_legend(board)
        missing = f"{describe_unranked_counts(board.incomplete)}."
        if not board.ranked:
            yield Note(f"No model is ranked; {missing}")
            continue
        yield replace(
            _build_ranking_without_health(board, _list_shown_marks(contents)),
            legend=f"Columns as in the ranking above; not ranked: {missing}",
        )


# ---------------------------------------------------------------- judges, names, scenarios


def _render_judges(contents: Contents) -> Iterator[Block]:
    """Yield the report's table of judges with their numbers of judgements and failures, and their
    exam results.
    """
    if not contents.judges:
        yield Note("Nothing is judged yet.")
        return
    rows: list[Cells] = [
        (
            (Name(judge.label), " (embedded, a demonstration)" if judge.by_table else ""),
            *(
                str(judge.subjects),
                f"{judge.judged:,}",
                f"{judge.failed:,}",
                format_share(judge.failed_share),
            ),
        )
        for judge in contents.judges
    ]
    yield make_report_table(
        ("Judge", "Models", "Judged", "Failed", "Share failed"),
        rows,
        "Judged: conversations of the configuration above that the judge has scored. Failed: "
        "conversations that it did not score validly in several attempts; a model is incomplete "
        "under a judge if a score is missing.",
    )
    exams = [
        (Name(judge.label), Prose(f": {judge.exam}")) for judge in contents.judges if judge.exam
    ]
    if exams:
        yield Bullets(exams)


def _render_names(contents: Contents) -> Iterator[Block]:
    """Yield the report's tables of the names that models gave themselves; nothing if no
    conversation was about that.
    """
    naming = contents.naming
    if not naming.conversations:
        return
    yield Note(
        f"{format_count(naming.conversations, 'conversation')} in which the model was free to "
        f"choose who to be. It declined to choose a name {naming.declined:,} times. "
        + (
            f"The names in {naming.unread:,} of them are not read yet: "
            f"`aib extract-names --protocol {contents.protocol.name} -j MODEL` reads them."
            if naming.unread
            else "All names are read."
        )
    )
    if naming.unread == naming.conversations:
        return
    if naming.by_scenario:
        yield build_scenario_name_counts_table(naming)
    yield from render_popular_and_unique_names(naming, MOST_NAMES, level=3)


def _render_scenarios(contents: Contents, picture_file_name: str) -> Iterator[Block]:
    """Yield the report's table of each scenario's difficulty, and the map of scores.
    *picture_file_name*: the map's file name.
    """
    complexity = contents.complexity
    if not complexity.scores:
        yield Note("No model is ranked.")
        return
    table = build_difficulty_table(contents.protocol, complexity)
    yield replace(
        table,
        legend=f"Over {format_count(len(complexity.scores), 'ranked model')}. {table.legend}",
    )
    yield Note(
        f"![The share of points that every model had in every scenario]({picture_file_name})"
    )
    yield Note(
        "The picture has a line for each ranked model and a column for each scenario. A cell is "
        "the percent of the points that the model had; 100 is the independent end."
    )


# ---------------------------------------------------------------- what the numbers rest on


def _render_run_times(contents: Contents) -> Iterator[Block]:
    """Yield the report's table of when each model's runs were played."""
    rows: list[Cells] = [
        (
            *(
                Name(row.label),
                str(len(one.runs)),
                format_utc_day_and_minute(one.first),
                format_utc_day_and_minute(one.last),
            ),
            *(str(one.days), format_span(one.first_to_last_run_seconds)),
        )
        for row in contents.main.rows
        if (one := row.made)
    ]
    if not rows:
        yield Note("Nothing was played.")
        return
    note = describe_sessions([row.made for row in contents.main.ranked if row.made])
    legend = (
        "First, last: when the first and the last conversation of its runs ended, in UTC. Days: "
        "dates on which one did. Span: from the beginning of the first run to that of the last. "
        f"{note}".rstrip()
    )
    titles = ("Model", "Runs", "First", "Last", "Days", "Span")
    yield make_report_table(titles, rows, Prose(legend), word_titles="Model First Last")


def _render_health(rows: Sequence[Row]) -> Iterator[Block]:
    """Yield a table of the models with whose data something is wrong, with a column for each number
    that is; only a sentence if nothing is.
    """
    columns = [
        (one, limit)
        for one in list_table_columns(Row)
        if (limit := one.column.wrong_above) is not None
    ]
    wrong = [
        row for row in rows if any((one.find_value(row) or 0) > limit for one, limit in columns)
    ]
    if not wrong:
        yield Note(
            "Nothing is wrong with the data: every reply is a valid one of the model that was "
            "asked, no judgement failed, and few calls failed or were cut off."
        )
        return
    shown = [
        one for one, limit in columns if any((one.find_value(row) or 0) > limit for row in wrong)
    ]
    meanings = " ".join(f"{one.column.title}: {one.column.meaning}." for one in shown)
    others = len(rows) - len(wrong)
    rest = (
        f" Nothing is wrong with the stored replies of the other {format_count(others, 'model')}."
        if others
        else ""
    )
    yield make_report_table(
        ("Model", *(one.column.title for one in shown)),
        [(Name(row.label), *(one.format_cell(row) for one in shown)) for row in wrong],
        meanings + rest,
    )


def _render_cost(contents: Contents) -> Iterator[Block]:
    """Yield the report's table of what the store's calls have cost in dollars."""
    spending, (calls, dollars) = contents.spending, contents.imported
    note = (
        "This report asked no model. The rest was spent since the store was made, on all of its "
        f"protocols: {format_count(spending.attempts, 'call')}, rejected ones included."
    )
    if spending.lost or spending.unpriced:
        note += (
            f" {spending.lost:,} of them were lost in flight and {spending.unpriced:,} were "
            "answered without a price, so the true sum may be higher."
        )
    if calls:
        note += (
            f" {format_count(calls, 'imported call')} cost {format_dollars(dollars)} where they "
            "were made, not included above."
        )
    yield make_report_table(
        ("", "Dollars"),
        [
            ("This report", format_dollars(0.0)),
            ("Models", format_dollars(spending.replies)),
            ("Judges", format_dollars(spending.judgements)),
            (Strong("Total"), Strong(format_dollars(spending.total))),
        ],
        note,
    )


def _render_subjects(contents: Contents) -> Iterator[Block]:
    """Yield the report's section on each model: its scores run by run, its branches, and its cost
    in dollars.
    """
    scored = "items" if contents.protocol.has_stems else "conversations"
    yield Note(
        "The mean is over all runs, on the scale of the score (yes counts as 1). Scored: "
        f"{scored} that have the score, of those planned for it; a run has no mean if one is "
        "missing. Dollars: the cost of the replies and of the judge."
    )
    for place, detail in enumerate(contents.details):
        row, spent = detail.row, detail.spent
        yield Title(Name(row.label), level=3)
        if row.health.transcripts_judged or not row.excluded:
            yield build_marks_table(contents.protocol, row, detail.scored)
            if row.branches:
                yield from render_branches(row.branches, explained=not place)
        else:
            yield Note(("No scores: ", Prose(", ".join(row.missing[:1])), "."))
        by = ("; served by ", format_providers(spent.served)) if spent.served else ()
        yield Note(
            (
                (
                    f"Dollars: replies {format_cost(spent.dollars)}, judge "
                    f"{format_cost(spent.judging)}"
                ),
                *by,
                ".",
            )
        )


# ---------------------------------------------------------------- cells


def _format_configurations(board: Board) -> Text:
    """Return the configurations of a leaderboard, joined by +."""
    return join_texts([Name(str(configuration)) for configuration in board.configurations], " + ")
