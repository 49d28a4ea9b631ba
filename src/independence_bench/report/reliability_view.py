"""Where the noise comes from, in tables: on a terminal, for a report, for programs. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.branch_values import J
from independence_bench.analysis.reliability import (
    INDEX,
    VIEWS,
    AgreementOfForms,
    FormComparison,
    FormDifference,
    Reliability,
    ReliabilityRow,
)
from independence_bench.analysis.statistics.variance_components import SEVERAL_JUDGES
from independence_bench.report.board_view import exam_lines, examined_by, judged_by
from independence_bench.report.encode import json_text
from independence_bench.report.format import from_to, number, plural, signed
from independence_bench.report.keys import HEAD, picked
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Name,
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


# ---------------------------------------------------------------- two forms of a test

SHOWN_ODD = 5  # scenarios that lie farthest from the others of their dimension
NEXT_TO_INDEX = {"pressure": "hold", J: "J", VIEWS: "option"}
FORMS = (
    "CI: 95% interval of B - A over other scenarios of the kind; in the mean over subjects, over other subjects. "
    "Correlation: of the subjects' ranks by both forms. "
    "Hold and option, the share of stems in which one was taken: 0 to 1; J: -1 to 1."
)


def forms_view(comparison: FormComparison) -> Iterator[Block]:
    """Means, agreement by dimension, each subject, and scenarios that do not fit."""
    first, second = comparison.first, comparison.second
    named = [
        name
        if (hash_ := board.protocol.hash[:8]) in (name := board.protocol_name)
        else f"{name} ({hash_})"
        for board in (first, second)
    ]
    yield Title(("A  ", Prose(named[0]), "\nB  ", Prose(named[1])))
    where = " + ".join(map(str, first.configurations))
    yield Note(
        Prose(
            f"{where} · judge: {judged_by(first)} · {plural(len(comparison.subjects), 'subject')} on both"
        )
    )
    yield from examined_by(first)
    yield Note(f"\n{forms_statement(comparison)}\n", "bold")
    titles = {dimension.name: dimension.title for dimension in first.protocol.dimensions}
    rows: list[Cells] = [
        (
            Prose(titles.get(forms.dimension or "", "Index")),
            *_both(forms.mean, 1),
            number(forms.correlation, 2),
        )
        for forms in comparison.agreement
        if forms.mean is not None
    ]
    if rows:
        yield Table(
            columns_of("mean over subjects", "A", "B", "B - A", "CI", "correlation"), rows, FORMS
        )
        yield Note("")
    yield _subjects_by_forms(comparison)
    yield Note(Prose(_further_statement(comparison)))
    yield Note("")
    yield from _odd_blocks(comparison)


def _subjects_by_forms(comparison: FormComparison) -> Table:
    rows: list[Cells] = []
    for subject in comparison.subjects:
        index = subject.numbers.get(INDEX)
        further = [subject.numbers.get(name) for name in NEXT_TO_INDEX]
        shown = [
            number(value, 2)
            for of in further
            for value in ((of.first, of.second) if of else (None, None))
        ]
        rows.append((Name(subject.label), *(_both(index, 1) if index else ("–",) * 4), *shown))
    columns = [Column("subject", words=True, labels=True), *map(Column, ("A", "B", "B - A", "CI"))]
    for place, title in enumerate(NEXT_TO_INDEX.values()):
        columns += [
            Column(f"{title} {form}", short=f"{title}\n{form}", spare=place + 1) for form in "AB"
        ]
    return Table(columns, rows, long=True)


def _both(difference: FormDifference, digits: int) -> tuple[str, str, str, str]:
    first, second = number(difference.first, digits), number(difference.second, digits)
    return (
        first,
        second,
        signed(difference.difference, digits),
        from_to(difference.interval, digits),
    )


def forms_statement(comparison: FormComparison) -> str:
    """What can be said of the two forms, in words."""
    index = comparison.agreement[0]
    if index.mean is None:
        return "No subject is ranked by both forms, so their indices are not compared."
    apart = [
        subject.label
        for subject in comparison.subjects
        if (of := subject.numbers.get(INDEX)) and of.interval and not of.interval.holds(0.0)
    ]
    known = sum(
        bool(s.numbers.get(INDEX) and s.numbers[INDEX].interval) for s in comparison.subjects
    )
    sentence = f"B is {signed(index.mean.difference, 1)} points from A in the mean of {plural(index.subjects, 'subject')}"
    if not known:
        return f"{sentence}; of none of them is an interval known."
    return (
        f"{sentence}; of {known} with an interval {len(apart)} have another index by B than by A."
    )


def _further_statement(comparison: FormComparison) -> str:
    """Who differs in what is shown in addition to the index."""
    apart = [
        f"{title} of {subject.label}"
        for subject in comparison.subjects
        for name, title in NEXT_TO_INDEX.items()
        if (of := subject.numbers.get(name)) and of.interval and not of.interval.holds(0.0)
    ]
    known = sum(
        of.interval is not None
        for one in comparison.subjects
        for name, of in one.numbers.items()
        if name != INDEX
    )
    said = (
        f"Other figures that differ: {', '.join(apart) or 'none'} (95% intervals, each by itself)."
    )
    return said if known else "Of the other figures no interval is known."


def _odd_blocks(comparison: FormComparison) -> Iterator[Block]:
    if not comparison.odd:
        return
    standing = [scenario for scenario in comparison.odd if scenario.stands]
    if comparison.odd[0].stands is None:
        yield Note(
            f"With {plural(comparison.agreement[0].subjects, 'ranked subject')} no scenario can be said not to fit."
        )
    elif not standing:
        yield Note("No scenario lies apart from the others of its dimension (Holm, 5%).")
    else:
        yield Note(
            f"{plural(len(standing), 'scenario')} lie apart from the others of their dimension (Holm, 5%): *."
        )
    yield Table(
        columns_of("farthest from its dimension", "in", "form", "points", "CI", "", words=2),
        [
            (
                Name(scenario.scenario),
                Prose(scenario.dimension),
                "B" if scenario.second else "A",
                signed(scenario.away, 1),
                from_to(scenario.interval, 1),
                "*" * bool(scenario.stands),
            )
            for scenario in (standing or comparison.odd[:SHOWN_ODD])
        ],
        long=True,
    )


def forms_values(comparison: FormComparison) -> dict[str, Any]:
    """All of it; index and dimensions in points of 100."""

    def agreement(of: AgreementOfForms) -> dict[str, Any]:
        return picked(of, "dimension subjects correlation") | (
            _form_values(of.mean) if of.mean else {}
        )

    return {
        "forms": [
            picked(board.protocol, "name hash") for board in (comparison.first, comparison.second)
        ],
        **picked(comparison.first, "configurations judge judge_exam=exam"),
        "statement": forms_statement(comparison),
        "agreement": [agreement(forms) for forms in comparison.agreement],
        "subjects": [
            {
                "label": subject.label,
                "ranked": subject.ranked,
                "numbers": {
                    n: _form_values(difference) for n, difference in subject.numbers.items()
                },
            }
            for subject in comparison.subjects
        ],
        "scenarios": [
            {
                "form": "b" if scenario.second else "a",
                **picked(scenario, "scenario dimension away interval stands"),
            }
            for scenario in comparison.odd
        ],
    }


def _form_values(difference: FormDifference) -> dict[str, Any]:
    return picked(difference, "a=first b=second difference interval")
