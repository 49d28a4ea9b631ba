"""Where the noise comes from, in tables: on a terminal, for a report, for programs. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.reliability import Reliability, ReliabilityRow
from independence_bench.analysis.statistics.variance_components import SEVERAL_JUDGES
from independence_bench.report.board_view import exam_line
from independence_bench.report.encode import json_text, picked
from independence_bench.report.format import number, plural
from independence_bench.report.keys import HEAD
from independence_bench.report.table import Block, Cells, Note, Prose, Table, Text, Title, columns_of

SHORT = {"r:pi": "r", "residual": "rest"}  # headings of components
BRIEF = (
    "Percent of the variance. p: differences between subjects, which the test is meant to measure; i: between "
    "scenarios; pi: subject by scenario; r: between runs. Eρ²: reliability of the order of the subjects, 0 to 1; ±: "
    "its standard error."
)
BELOW = "0*"  # a component that was estimated below 0
_ONE_JUDGE = (
    "p: how far subjects differ, which the test is meant to measure; i: scenarios that are harder for all subjects; "
    "pi: scenarios that are hard for some subjects and easy for others; r: the same conversation played again."
)
_JUDGES = (
    " h: judges that are milder with all subjects; ph, ih, pih: with some subjects, in some scenarios, or with some "
    "subjects in some scenarios; rest: the variance that none of these explains."
)


def reliability_blocks(found: Reliability, level: int = 2) -> Iterator[Block]:
    """Every table with its title, of *level* in a report."""
    if found.subjects < 2:
        yield Title("Nothing to compare", level)
        yield Note("Fewer than two subjects are ranked, so there are no differences to analyse.")
        return
    yield Title("Where the variance comes from", level)
    yield _sources(found)
    yield Title("What more scenarios or runs would bring", level)
    if found.index.played is None:
        yield Note(Prose(_why_unknown(found)))
    more = _more(found)
    if more.rows:
        yield more


def about(found: Reliability) -> str:
    """What was measured, on one line."""
    fewest, usual, most = found.runs
    runs = plural(usual, "run") if fewest == most else f"{fewest} to {most} runs (median {usual})"
    judges = "judges" if len(found.judges) > 1 else "judge"
    where = " + ".join(map(str, found.configurations))
    return f"{where} · {judges}: {', '.join(found.judges)} · {plural(found.subjects, 'ranked subject')}, {runs}"


def exam_notes(found: Reliability) -> Iterator[Note]:
    """What the exam says of each judge, a line; of several with their names."""
    for judge, exam in zip(found.judges, found.exams, strict=True):
        if line := exam_line(exam):
            yield Note(Prose(line if len(found.judges) == 1 else f"{judge}: {line}"))


# ---------------------------------------------------------------- sections


def _sources(found: Reliability) -> Table:
    """The index, the experiments, the marks."""
    noises = (found.index, *found.experiments, *found.marks)
    legend = (
        "Percent of the variance: of the index and of an experiment of its points over n scenarios that were each "
        "played once, so i, pi and r are smaller than of a mark, where it is one conversation's. "
        + _ONE_JUDGE
        + (_JUDGES if len(found.judges) > 1 else " With one judge, none of it includes how far judges differ.")
        + " pts: the points that can be reached. n: scenarios. Eρ²: how far the order of subjects over these n "
        f"scenarios, {plural(found.runs[1], 'run')} each{_under(found)}, would be the same with other scenarios of the "
        "kind, 0 to 1; ±: its standard error, for other subjects." + _signs(noises)
    )
    components = [name for name in SEVERAL_JUDGES if name in found.index.components.estimates]
    rows: list[Cells] = [
        (
            *(Prose(noise.title), number(noise.points, 0), str(noise.scenarios)),
            *(_percent(noise, name) for name in components),
            *(number(noise.played, 2), number(noise.error, 2)),
        )
        for noise in noises
    ]
    columns = columns_of("", "pts", "n", *(SHORT.get(name, name) for name in components), "Eρ²", "±")
    return Table(columns, rows, Prose(legend), brief=Prose(BRIEF + _signs(noises)))


def _more(found: Reliability) -> Table:
    shown = [
        noise for noise in (found.index, *found.experiments, *found.marks) if noise.counts and None not in noise.more
    ]
    rows: list[Cells] = [(Prose(noise.title), *(number(value, 2) for value in noise.more)) for noise in shown]
    times, runs = found.designs[-1]
    legend = (
        f"Eρ² with more scenarios and other numbers of runs{_under(found)}; {times}x{runs}: {times} times the "
        f"scenarios, {plural(runs, 'run')} each. New scenarios are assumed to be of the same kind as the present ones."
    )
    return Table(
        columns_of("", *(f"{times}x{runs}" for times, runs in found.designs)), rows, Prose(legend), brief=Prose(legend)
    )


# ---------------------------------------------------------------- words and numbers


def _percent(noise: ReliabilityRow, name: str) -> Text:
    """A component's share of the variance in percent, as narrow as its column is."""
    share, estimate = noise.components.shares[name], noise.components.estimates[name]
    return Prose(BELOW) if (estimate or 0.0) < 0 else number(None if share is None else 100 * share, 0)


def _under(found: Reliability) -> str:
    judges = len(found.judges)
    return f" and {judges} judges" if judges > 1 else ""


def _signs(noises: Sequence[ReliabilityRow]) -> str:
    """What a dash and a star in the table mean, if there are any."""
    said = ""
    if any(None in noise.components.estimates.values() for noise in noises):
        said += " A dash: it cannot be estimated from a single scenario or a single run."
    if any((value or 0.0) < 0 for noise in noises for value in noise.components.estimates.values()):
        said += f" {BELOW}: estimated below 0, which is impossible for a variance; it counts as 0."
    return said


def _why_unknown(found: Reliability) -> str:
    estimates = found.index.components.estimates
    alone = [noise.title for noise in found.experiments if noise.scenarios < 2]
    if alone:
        return (
            f"Not known: {', '.join(alone)} has a single scenario with points, so its difficulty cannot be "
            "separated from the subjects."
        )
    if estimates.get("r:pi") is None:
        return "Not known: no subject has two runs, so chance cannot be separated from differences between subjects."
    return "Not known: there is too little data."


def reliability_view(found: Reliability) -> Iterator[Block]:
    """All tables, under a heading; for a terminal."""
    yield Title(("Where the noise comes from · ", Prose(found.protocol_name)))
    yield Note(Prose(about(found)))
    yield from exam_notes(found)
    yield from reliability_blocks(found)


# ---------------------------------------------------------------- for programs


def reliability_json(found: Sequence[Reliability]) -> str:
    """All of it. Variances of marks in shares squared, of points in points squared."""
    return json_text({"reliability": [reliability_values(one) for one in found]})


def reliability_values(found: Reliability) -> dict[str, Any]:
    """One study for `json_text`. Estimates of components may be below 0; shares and coefficients count those as 0."""
    return picked(found, f"{HEAD} judges subjects judge_exams=exams") | {
        "runs": dict(zip(("fewest", "usual", "most"), found.runs, strict=True)),
        "marks": [_noise(noise, found) for noise in found.marks],
        "experiments": [_noise(noise, found) for noise in found.experiments],
        "index": _noise(found.index, found),
    }


def _noise(noise: ReliabilityRow, found: Reliability) -> dict[str, Any]:
    shares, errors = noise.components.shares, noise.components.errors
    played = picked(noise, "generalizability=played standard_error=error")
    return picked(noise, "name=title points counts_in_the_index=counts scenarios") | {
        "components": {
            name: {"variance": value, "standard_error": errors[name], "share": shares[name]}
            for name, value in noise.components.estimates.items()
        },
        "as_played": None if noise.played is None else played,
        "designs": [
            {"times_the_scenarios": times, "runs": runs, "judges": len(found.judges), "generalizability": value}
            for (times, runs), value in zip(found.designs, noise.more, strict=True)
        ],
    }
