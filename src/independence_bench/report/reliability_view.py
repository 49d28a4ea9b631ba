"""Where the noise comes from, in tables: on a terminal, for a report, for programs. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.reliability import (
    Reliability,
    ReliabilityRow,
)
from independence_bench.analysis.statistics.variance_components import SEVERAL_JUDGES
from independence_bench.report.board_view import exam_lines
from independence_bench.report.encode import json_text
from independence_bench.report.format import number, plural
from independence_bench.report.keys import HEAD, picked
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Note,
    Prose,
    Table,
    Text,
    Title,
    columns_of,
)

HEADS = {  # of components, with where they break on a terminal
    **{
        "p": "sub-\njects",
        "i": "scen-\narios",
        "pi": "subject x\nscenario",
        "r:pi": "\nruns",
        "residual": "\nrest",
    },
    **{"h": "\njudges", "ph": "judge x\nsubject", "ih": "judge x\nscenario", "pih": "all\nthree"},
}
BRIEF = (
    "Percent of the variance that comes from each; the test is meant to measure subjects. Reliability: of the order of "
    "the subjects, 0 to 1."
)
BELOW = "0*"  # a component that was estimated below 0
_ONE_JUDGE = (
    "Subjects: how far they differ, which the test is meant to measure; scenarios: harder for all subjects; subject x "
    "scenario: hard for some subjects and easy for others; runs: the same conversation played again."
)
_JUDGES = (
    " Judges: milder with all subjects; judge x subject, judge x scenario, all three: with some subjects, in some "
    "scenarios, or with some subjects in some scenarios; rest: the variance that none of these explains."
)


def reliability_blocks(reliability: Reliability, level: int = 2) -> Iterator[Block]:
    """Every table with its title, of *level* in a report."""
    if reliability.subjects < 2:
        yield Title("Nothing to compare", level)
        yield Note("Fewer than two subjects are ranked, so there are no differences to analyse.")
        return
    yield Title("Where the variance comes from", level)
    yield _sources(reliability)
    yield Title("What more scenarios or runs would bring", level)
    if reliability.index.played is None:
        yield Note(Prose(_why_unknown(reliability)))
    more = _more(reliability)
    if more.rows:
        yield more


def about(reliability: Reliability) -> str:
    """What was measured, on one line."""
    fewest, usual, most = reliability.runs
    runs = plural(usual, "run") if fewest == most else f"{fewest} to {most} runs (median {usual})"
    judges = "judges" if len(reliability.judges) > 1 else "judge"
    where = " + ".join(map(str, reliability.configurations))
    subjects = plural(reliability.subjects, "ranked subject")
    return f"{where} · {judges}: {', '.join(reliability.judges)} · {subjects}{f', {runs}' if reliability.subjects else ''}"


def exam_notes(reliability: Reliability) -> Iterator[Note]:
    """What the exam says of the judges; of several with their names."""
    yield from (
        Note(Prose(line))
        for line in exam_lines(list(zip(reliability.judges, reliability.exams, strict=True)))
    )


# ---------------------------------------------------------------- sections


def _sources(reliability: Reliability) -> Table:
    """The index, the experiments, the marks."""
    noises = (reliability.index, *reliability.experiments, *reliability.marks)
    legend = (
        "Percent of the variance: of the index and of an experiment of its points over n scenarios that were each "
        "played once, so what comes from scenarios and runs is smaller than of a mark, where it is one conversation's. "
        + _ONE_JUDGE
        + (
            _JUDGES
            if len(reliability.judges) > 1
            else " With one judge, none of it includes how far judges differ."
        )
        + " Points: those that can be reached. Reliability, Eρ²: how far the order of subjects over these "
        f"scenarios, {plural(reliability.runs[1], 'run')} each{_under(reliability)}, would be the same with other "
        "scenarios of the kind, 0 to 1; ±: its standard error, for other subjects." + _signs(noises)
    )
    components = [name for name in SEVERAL_JUDGES if name in reliability.index.components.estimates]
    rows: list[Cells] = [
        (
            *(Prose(noise.title), number(noise.points, 0), str(noise.scenarios)),
            *(number(noise.played, 2), number(noise.error, 2)),
            *(_percent(noise, name) for name in components),
        )
        for noise in noises
    ]
    columns = [
        *(Column("", words=True), Column("Points"), Column("Scenarios", short="scenarios")),
        *(Column("Reliability", short="relia-\nbility"), Column("±", short="±", spare=1)),
        *(Column(_unbroken(HEADS[name]).capitalize(), short=HEADS[name]) for name in components),
    ]
    return Table(columns, rows, Prose(legend), brief=Prose(BRIEF + _signs(noises)))


def _unbroken(head: str) -> str:
    return head.replace("-\n", "").replace("\n", " ").strip()


def _more(reliability: Reliability) -> Table:
    shown = [
        noise
        for noise in (reliability.index, *reliability.experiments, *reliability.marks)
        if noise.counts and None not in noise.more
    ]
    rows: list[Cells] = [
        (Prose(noise.title), *(number(value, 2) for value in noise.more)) for noise in shown
    ]
    times, runs = reliability.designs[-1]
    legend = (
        f"Reliability (Eρ²) with more scenarios and other numbers of runs{_under(reliability)}; {times}x{runs}: "
        f"{times} times the scenarios, {plural(runs, 'run')} each. New scenarios are assumed to be of the "
        "present ones' kind."
    )
    return Table(
        columns_of("", *(f"{times}x{runs}" for times, runs in reliability.designs)),
        rows,
        Prose(legend),
        brief=Prose(legend),
    )


# ---------------------------------------------------------------- words and numbers


def _percent(noise: ReliabilityRow, name: str) -> Text:
    """A component's share of the variance in percent, as narrow as its column is."""
    share, estimate = noise.components.shares[name], noise.components.estimates[name]
    return (
        Prose(BELOW) if (estimate or 0.0) < 0 else number(None if share is None else 100 * share, 0)
    )


def _under(reliability: Reliability) -> str:
    judges = len(reliability.judges)
    return f" and {judges} judges" if judges > 1 else ""


def _signs(noises: Sequence[ReliabilityRow]) -> str:
    """What a dash and a star in the table mean, if there are any."""
    sentence = ""
    if any(None in noise.components.estimates.values() for noise in noises):
        sentence += " A dash: it cannot be estimated from a single scenario or a single run."
    if any((value or 0.0) < 0 for noise in noises for value in noise.components.estimates.values()):
        sentence += (
            f" {BELOW}: estimated below 0, which is impossible for a variance; it counts as 0."
        )
    return sentence


def _why_unknown(reliability: Reliability) -> str:
    estimates = reliability.index.components.estimates
    alone = [noise.title for noise in reliability.experiments if noise.scenarios < 2]
    if alone:
        return (
            f"Not known: {', '.join(alone)} has a single scenario with points, so its difficulty cannot be "
            "separated from the subjects."
        )
    if estimates.get("r:pi") is None:
        return "Not known: no subject has two runs, so chance cannot be separated from differences between subjects."
    return "Not known: there is too little data."


def reliability_view(reliability: Reliability) -> Iterator[Block]:
    """All tables, under a heading; for a terminal."""
    yield Title(("Where the noise comes from · ", Prose(reliability.protocol_name)))
    yield Note(Prose(about(reliability)))
    yield from exam_notes(reliability)
    yield from reliability_blocks(reliability)


# ---------------------------------------------------------------- for programs


def reliability_json(measured: Sequence[Reliability]) -> str:
    """All of it. Variances of marks in shares squared, of points in points squared."""
    return json_text({"reliability": [reliability_values(reliability) for reliability in measured]})


def reliability_values(reliability: Reliability) -> dict[str, Any]:
    """One study for `json_text`. Estimates of components may be below 0; shares and coefficients
    count those as 0.
    """
    return picked(reliability, f"{HEAD} judges subjects judge_exams=exams") | {
        "runs": dict(zip(("fewest", "usual", "most"), reliability.runs, strict=True)),
        "marks": [_noise(noise, reliability) for noise in reliability.marks],
        "experiments": [_noise(noise, reliability) for noise in reliability.experiments],
        "index": _noise(reliability.index, reliability),
    }


def _noise(noise: ReliabilityRow, reliability: Reliability) -> dict[str, Any]:
    shares, errors = noise.components.shares, noise.components.errors
    played = picked(noise, "generalizability=played standard_error=error")
    return picked(noise, "name=title points counts_in_the_index=counts scenarios") | {
        "components": {
            name: {"variance": value, "standard_error": errors[name], "share": shares[name]}
            for name, value in noise.components.estimates.items()
        },
        "as_played": None if noise.played is None else played,
        "designs": [
            {
                "times_the_scenarios": times,
                "runs": runs,
                "judges": len(reliability.judges),
                "generalizability": value,
            }
            for (times, runs), value in zip(reliability.designs, noise.more, strict=True)
        ],
    }
