"""Judges compared with each other, on a terminal and for programs. Both get the same values;
nothing is computed here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.judge_agreement import (
    JudgedConversation,
    MarkAgreement,
    Validation,
)
from independence_bench.analysis.statistics.agreement import FEWEST_MARKED, FEWEST_NAMED
from independence_bench.escape import escape_line
from independence_bench.figures import (
    format_cost,
    format_count,
    format_difference,
    format_difference_interval,
    format_interval,
    format_mark_value,
    format_number,
    format_seconds_without_unit,
    format_share,
)
from independence_bench.protocol.definition import format_mark_name
from independence_bench.report.board_view import describe_exams
from independence_bench.report.encode import format_json
from independence_bench.report.format import format_scale
from independence_bench.report.table import (
    Block,
    Bullets,
    Cells,
    Column,
    Legend,
    Name,
    Note,
    Prose,
    Table,
    Title,
    make_columns,
)

ACROSS = 8  # numbers in one table: what fits next to a name at 80 columns
Letters = Mapping[str, str]  # judge's label -> its letter
MOST = 10  # conversations listed to be read; all of them are in the JSON


def render_validation(validation: Validation) -> Iterator[Block]:
    """Yield the output blocks that compare the judges of one protocol and configuration: their
    costs, indices, agreement and exam results, and the conversations that a person should read.
    """
    labels = [row.label for row in validation.judges]
    letters = dict(zip(labels, make_judge_letters(len(labels)), strict=True))
    where = " + ".join(str(c) for c in validation.configurations)
    conversations = format_count(validation.conversations, "conversation")
    aside = f" · {where} · {conversations} judged" + ("" if validation.main else "\n")
    yield Title(("Judges of ", Prose(validation.protocol.name_with_weights)), aside=aside)
    yield Note((Prose(_describe_judges(validation)), "\n"), "")
    yield _build_judges_table(validation, letters)
    if lines := describe_exams([(letters[row.label], row.exam) for row in validation.judges]):
        yield Title("What the exam says of them")
        yield Bullets([Prose(line) for line in lines])
    yield from _render_run_costs(validation, letters)
    if len(validation.judges) > 1:
        yield from _render_indices(validation, letters)
        yield from _render_self_preference(validation, letters)
        yield from _render_agreement(validation, letters)
        if validation.disputes:
            yield from _render_disputes(validation, letters)
    if validation.flagged:
        yield from _render_flagged_verdicts(validation, letters)


def _describe_judges(validation: Validation) -> str:
    """Say in a sentence or two which judge is the main one, and how to add another if there is only
    one.
    """
    main = validation.main
    if len(validation.judges) == 1 and main in (None, validation.judges[0].label):
        return (
            f"{validation.judges[0].label} is the only judge. "
            "Add another: `aib judge -j MODEL`. Add a person: `aib label NAME`."
        )
    of = f", one of {len(validation.judges)} judges" if len(validation.judges) > 1 else ""
    named = "No judge is the main one." if main is None else f"{main} is the main judge{of}."
    return f"{named} The leaderboard uses the main judge if you name no other."


def make_judge_letters(judges: int) -> list[str]:
    """Return A, B, ... Z, AA, AB, ...: a letter as the column heading of each of so many judges."""
    letters = [chr(ord("A") + place) for place in range(26)]
    return (letters + [first + second for first in letters for second in letters])[:judges]


def _build_judges_table(validation: Validation, letters: Letters) -> Table:
    """Return a table of judges: how many conversations each has judged, how often it failed, and
    how lenient it is compared with the others.
    """
    sampled = any(row.leniency_interval for row in validation.judges)
    rows: list[Cells] = [
        (
            letters[row.label],
            Name(row.label),
            "embedded" if row.kind == "table" else row.kind,
            f"{row.judged:,}",
            "–" if row.failed_share is None else format_share(row.failed_share),
            format_difference(row.leniency),
            *([format_difference_interval(row.leniency_interval)] if sampled else []),
            format_share(row.flagged / row.judged) if row.judged else "–",
        )
        for row in validation.judges
    ]
    at = ["95% CI"] if sampled else []
    return Table(
        make_columns(
            "", "judge", "kind", "judged", "failed", "lenient", *at, "flagged", word_column_count=3
        ),
        rows,
        "judged: conversations with a judgement; failed: share of those asked for that it gave "
        "none on; lenient: its index minus the mean of the others', over the models that all "
        "have one for, and where that lies if the models are a sample (from three on), each by "
        "itself; flagged: share of its judgements that a person should read (below).",
        brief="judged: conversations with a judgement; lenient: its index minus the mean of the "
        "others'; flagged: share "
        "of its judgements that a person should read.",
    )


def _render_run_costs(validation: Validation, letters: Letters) -> Iterator[Block]:
    """Yield a title and a table with the dollars and seconds that each judge takes for one run of
    one model.
    """
    yield Title("What judging one run costs")
    yield Table(
        make_columns("", "judge", "$ a run", "seconds a run", word_column_count=2),
        [
            (
                letters[row.label],
                Name(row.label),
                format_cost(row.run_cost.dollars),
                format_seconds_without_unit(row.run_cost.seconds),
            )
            for row in validation.judges
        ],
        "One run of one model: the mean judgement of each scenario, failed attempts included, "
        "added up; seconds: of its calls one after the other, as the endpoint took them. A dash: "
        "not known of every scenario.",
        brief="One run of one model, failed attempts included.",
    )


def _render_indices(validation: Validation, letters: Letters) -> Iterator[Block]:
    """Yield a title, tables and a legend of the index that each model has under each judge, with
    the mean and the spread over judges.
    """
    if not validation.subjects:
        yield Note("\nNo model has an index under any judge yet.", "yellow")
        return
    yield Title("Index of each model under each judge")
    rows: list[Cells] = [
        (
            Name(row.label),
            *(format_number(n, 1) for n in (*row.indices.values(), row.mean, row.spread)),
        )
        for row in validation.subjects
    ]
    subject = Column("Model", words=True, labels=True)
    yield from _split_table(subject, [*letters.values(), "mean", "spread"], rows, long=True)
    yield Legend(
        "mean and spread (highest minus lowest) are over the judges that have an index for half "
        "of the models or more (-j chooses judges); where one of those lacks this model, "
        "there is neither.",
        "spread: highest minus lowest.",
    )


def _split_table(
    first: Column, titles: Sequence[str], rows: Sequence[Cells], long: bool = False
) -> Iterator[Table]:
    """Yield *rows* as one table, or as several below each other if they have more than `ACROSS`
    columns; each table begins with the *first* column.
    """
    for start in range(0, len(titles), ACROSS):
        there = slice(start, start + ACROSS)
        parts = [(cells[0], *cells[1:][there]) for cells in rows]
        yield Table([first, *make_columns(*titles[there], word_column_count=0)], parts, long=long)


def _render_self_preference(validation: Validation, letters: Letters) -> Iterator[Block]:
    """Yield the output blocks that show whether each judge scores models of its own vendor higher
    than the other judges do.
    """
    if not validation.favours:
        yield Note(
            "\nNo judge is also a model here, or of a model's family, so there is no "
            "self-preference to measure."
        )
        return
    reasons = sorted(
        {
            f"{letters[favour.judge]}: {favour.why_no_interval}"
            for favour in validation.favours
            if favour.why_no_interval
        }
    )
    why_no_interval = f" No interval: {'; '.join(reasons)}." if reasons else ""
    yield Title("What judges give themselves")
    yield Table(
        make_columns(
            "judge", "of", "n", "diff", "elsewhere", "prefers", "95% CI", word_column_count=2
        ),
        [
            (
                letters[favour.judge],
                "itself"
                if favour.whom == "itself"
                else Prose(f"its family ({favour.family or ''})"),
                str(favour.subjects),
                format_difference(favour.difference),
                format_difference(favour.elsewhere),
                format_difference(favour.preference),
                format_difference_interval(favour.interval),
            )
            for favour in validation.favours
        ],
        "diff: the mean index that it gives n models of its own model, or of its vendor "
        "without itself, minus what the other judges give the same; elsewhere: the same "
        "difference for all other models; prefers: diff minus elsewhere, and where that lies "
        "if the models are a sample. A judge favours its own if all of it is above 0; of forty "
        f"that do not, one seems to.{why_no_interval}",
        brief="prefers: diff, less the same elsewhere (for all other models); it favours its "
        "own where the interval "
        f"is above 0.{why_no_interval}",
    )


def _render_agreement(validation: Validation, letters: Letters) -> Iterator[Block]:
    """Yield two tables of the agreement of judges on each score: alpha of all judges, and kappa of
    each pair of judges.
    """
    yield Title("Agreement on each score")
    yield Table(
        make_columns("score", "scale", "n", "alpha", "95% CI"),
        [
            (
                Prose(format_mark_name(row.mark.name)),
                _format_short_scale(row),
                f"{row.conversations:,}",
                format_number(row.alpha, 2),
                format_interval(row.alpha_interval, 2),
            )
            for row in validation.marks
        ],
        "n: conversations that two judges or more have scored; alpha: Krippendorff's, "
        f"ordinal{_describe_nominal_marks(validation)}, and where it lies if the models are a "
        "sample (from "
        f"{FEWEST_MARKED} on). 1 is perfect, 0 is chance; a dash: fewer than ten conversations, "
        "or scores that do not vary.",
        brief="alpha: Krippendorff's, of all judges. 1 is perfect, 0 is chance.",
    )
    yield Title("Agreement of each pair: kappa")
    pairs = [" ".join(letters[one] for one in pair.judges) for pair in validation.pairs]
    rows: list[Cells] = [
        (
            Prose(format_mark_name(row.mark.name)),
            *(format_number(one.kappa, 2) for one in row.kappas),
        )
        for row in validation.marks
        if row.measurement == "ordinal"
    ]
    rows.append(("mean", *(format_number(pair.kappa, 2) for pair in validation.pairs)))
    yield from _split_table(Column("score", words=True), pairs, rows)
    yield Legend(
        "kappa: Cohen's with quadratic weights. It has no interval: none that was tried is right "
        "often enough where scores pile up at one end.",
        "kappa: Cohen's, quadratic.",
    )


def _render_disputes(validation: Validation, letters: Letters) -> Iterator[Block]:
    """Yield the output blocks that list the conversations on which judges disagree most, with each
    judge's scores and the command that shows the conversation.
    """
    yield Title("Where they disagree most")
    for dispute in validation.disputes[:MOST]:
        yield Note(_format_show_command(dispute, validation), "")
        levels = {mark.name: mark.levels for mark in dispute.scenario.marks}
        for mark, values in dispute.marks.items():
            names = levels[mark]
            shown = [
                f"{letter} {names[int(value)] if names else format_mark_value(value)}"
                for letter, value in zip(letters.values(), values.values(), strict=True)
                if value is not None
            ]
            yield Note(f"    {mark.replace('_', ' ')}: {'  '.join(shown)}")
    many = len(validation.disputes)
    more = f"{MOST} of {many:,} conversations that are not scored alike; " if many > MOST else ""
    yield Note(f"{more}in the order of the mean distance of their scores.")


def _describe_nominal_marks(validation: Validation) -> str:
    """Return a remark that scores without an order are measured as nominal, for a legend; "" if all
    scores have an order.
    """
    if all(row.measurement == "ordinal" for row in validation.marks):
        return ""
    return (
        f" (of names, which have no order: nominal, and its interval takes {FEWEST_NAMED} models)"
    )


def _format_short_scale(row: MarkAgreement) -> str:
    """Return the scale of a score in short, such as "4 levels", because the names of levels do not
    fit in a table.
    """
    kind = "names" if row.measurement == "nominal" else "levels"
    return f"{len(row.mark.levels)} {kind}" if row.mark.levels else format_scale(row.mark)


def _render_flagged_verdicts(validation: Validation, letters: Letters) -> Iterator[Block]:
    """Yield the output blocks that list the judgements that a person should read, with the reasons
    and the command that shows each conversation.
    """
    yield Title("Judgements to read")
    last = ""
    for flagged in validation.flagged[:MOST]:
        if (shown := _format_show_command(flagged, validation)) != last:
            yield Note(shown, "")
        last = shown
        for flag in flagged.flags:
            yield Note((f"    {letters[flagged.judge]}: ", Prose(flag.why)))
    many = len(validation.flagged)
    more = f" {MOST} of {many:,} are listed." if many > MOST else ""
    yield Note(f"A flag changes no score.{more} How far to trust it: docs/judges.md")


def _format_show_command(place: JudgedConversation, validation: Validation) -> str:
    """Return the `aib show` command that prints the conversation at *place*."""
    words = ["aib", "show", escape_line(place.subject), place.scenario.id, "--run", str(place.run)]
    words += ["--protocol", escape_line(validation.protocol.name_with_weights)]
    at = place.configuration
    if validation.protocol.configurations != (at,):
        words += ["--variants", at.system, "--modes", at.delivery]
    return shlex.join(words)


# ---------------------------------------------------------------- for programs


def format_validations_json(validated: Sequence[Validation]) -> str:
    """Return the comparisons of judges as JSON. Indices are in [0, 100], shares in [0, 1], scores
    on their own scales.
    """
    return format_json({"judges": validated})
