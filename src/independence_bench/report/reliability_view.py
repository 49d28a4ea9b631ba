"""Where the noise comes from, in tables: on a terminal, for a report, for programs. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from independence_bench.analysis.reliability import Reliability, ReliabilityRow
from independence_bench.analysis.statistics.d_study import JUDGES, MULTIPLES, RUNS, Coefficients, Option
from independence_bench.analysis.statistics.variance_components import SEVERAL_JUDGES
from independence_bench.report.board_json import head_values
from independence_bench.report.encode import json_text, picked
from independence_bench.report.exam_words import exam_line, exam_values
from independence_bench.report.format import money, number, plural
from independence_bench.report.table import Block, Cells, Note, Prose, Table, Text, Title, columns_of

MOST_OPTIONS = 6
SHORT = {"r:pi": "r", "residual": "rest"}  # headings of components
COEFFICIENTS = (
    "p: differences between subjects, which the test is meant to measure; i: between scenarios; pi: subject by "
    "scenario; r: between runs. Eρ²: reliability of the order of the subjects, 0 to 1; ±: its standard error; Φ: "
    "reliability of the numbers themselves."
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
    yield Title("Where the variance of each mark comes from", level)
    yield _marks(found)
    yield Title("Where the variance of the index comes from", level)
    yield _wholes(found)
    yield Title("What more scenarios or runs would bring", level)
    more = _more(found)
    yield more if more.rows else Note(more.legend)
    yield Title(f"The cheapest test with an Eρ² of {found.target:.2f}", level)
    yield Note(Prose(_why_unknown(found))) if found.played is None else _options(found, found.played)


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


def _marks(found: Reliability) -> Table:
    legend = (
        "Percent of the variance of one conversation's mark. "
        + _ONE_JUDGE
        + (_JUDGES if len(found.judges) > 1 else "")
        + f" n: scenarios that give the mark. Eρ²: how far the order of subjects by the mean of n scenarios, "
        f"{plural(found.runs[1], 'run')} each{_under(found)}, would be the same with other scenarios of the kind, 0 to "
        "1; ±: its standard error, for other subjects; Φ: the same for the numbers themselves, for which the "
        "difficulty of the scenarios matters too." + _signs(found.marks)
    )
    rows = [(Prose(noise.title), *_cells(found, noise)) for noise in found.marks]
    brief = f"p, i, pi, r: percent of a mark's variance. {COEFFICIENTS}{_signs(found.marks)}"
    return Table(columns_of("mark", *_headings(found)), rows, Prose(legend), brief=Prose(brief))


def _wholes(found: Reliability) -> Table:
    every = (found.index, *found.experiments)
    legend = (
        "The same for points: sums over n scenarios that were each played once, so i, pi and r are smaller than in one "
        "conversation. pts: the points that can be reached; re-run: Eρ² if the same scenarios are played again and "
        "no others are of interest." + _errors(found) + _signs(every)
    )
    rows: list[Cells] = []
    for noise in every:
        again = number(noise.played.repeated if noise.played else None, 2)
        rows.append((Prose(noise.title), number(noise.points, 0), *_cells(found, noise), again))
    brief = f"The same for sums of points.{_errors(found)}"
    return Table(columns_of("points", "pts", *_headings(found), "re-run"), rows, Prose(legend), brief=Prose(brief))


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


def _options(found: Reliability, played: Option) -> Table:
    chosen = found.options[:MOST_OPTIONS]
    rows: list[Cells] = [("as played", *map(Prose, _option(found, played)))]
    rows += [("cheapest" if number == 0 else "", *map(Prose, _option(found, one))) for number, one in enumerate(chosen)]
    names = ", ".join(noise.title for noise in found.experiments)
    is_once = chosen and chosen[0].runs == 1
    once = " A test of one run can no longer measure how much runs differ." if is_once else ""
    legend = (
        f"For one subject. scenarios: of {names}. The cheapest for each number of runs, among up to {MULTIPLES[-1]} "
        f"times the scenarios of each, {RUNS[-1]} runs"
        + (f" and {JUDGES[-1]} judges" if len(found.judges) > 1 else "")
        + (". " if chosen else f": none of them reaches {found.target:.2f}. ")
        + "calls: replies and judgements; dollars: from the average cost of the stored ones, a dash where that is not "
        "known." + once
    )
    columns = columns_of("", "scenarios", "runs", "judges", "calls", "dollars", "Eρ²", "Φ", words=2)
    brief = f"For one subject. scenarios: of {names}; calls: replies and judgements.{once}"
    return Table(columns, rows, Prose(legend), brief=Prose(brief if chosen else legend))


# ---------------------------------------------------------------- words and numbers


def _components(found: Reliability) -> Sequence[str]:
    return [name for name in SEVERAL_JUDGES if name in found.index.components.estimates]


def _headings(found: Reliability) -> list[str]:
    return ["n", *(SHORT.get(name, name) for name in _components(found)), "Eρ²", "±", "Φ"]


def _cells(found: Reliability, noise: ReliabilityRow) -> list[Text]:
    """What stands below `_headings`: scenarios, shares of the variance in percent, coefficients."""
    shares, estimates = noise.components.shares, noise.components.estimates
    below = {name: (estimates[name] or 0.0) < 0 for name in shares}
    shown = [Prose(BELOW) if below[name] else _whole(shares[name]) for name in _components(found)]
    played = noise.played
    values = (played.relative, noise.error, played.absolute) if played else (None, None, None)
    return [str(noise.scenarios), *shown, *(number(value, 2) for value in values)]


def _whole(share: float | None) -> str:
    """A share of a variance in percent, as narrow as its column is."""
    return number(None if share is None else 100 * share, 0)


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


def _errors(found: Reliability) -> str:
    """How many points an index is off, in the middle."""
    played = found.index.played
    if played is None or found.spread is None:
        return ""
    relative, absolute = (error**0.5 for error in (played.relative_error, played.absolute_error))
    said = (
        f" The subjects' indices have a standard deviation of {found.spread:.1f} points; an index as played has a "
        f"standard error of {relative:.1f} points relative to the others, {absolute:.1f} by itself."
    )
    if len(found.judges) == 1:
        said += " With one judge, none of these numbers includes how far judges differ."
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


def _option(found: Reliability, one: Option) -> tuple[str, ...]:
    counts = [times * noise.scenarios for times, noise in zip(one.multiples, found.experiments, strict=True)]
    return (
        " + ".join(map(str, counts)),
        str(one.runs),
        str(one.judges),
        f"{one.calls:,.0f}",
        "–" if one.dollars is None else money(one.dollars),
        number(one.coefficients.relative, 2),
        number(one.coefficients.absolute, 2),
    )


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
    return {
        **head_values(found.protocol, found.configurations),
        **picked(found, "judges subjects"),
        "judge_exams": [exam_values(exam) for exam in found.exams],
        "runs": dict(zip(("fewest", "usual", "most"), found.runs, strict=True)),
        "standard_deviation_of_indices": found.spread,
        "marks": [_noise(noise, found) for noise in found.marks],
        "experiments": [_noise(noise, found) for noise in found.experiments],
        "index": _noise(found.index, found),
        "target": found.target,
        "as_played": None if found.played is None else _option_values(found.played, found),
        "options": [_option_values(one, found) for one in found.options],
    }


def _noise(noise: ReliabilityRow, found: Reliability) -> dict[str, Any]:
    shares, errors = noise.components.shares, noise.components.errors
    return {
        "name": noise.title,
        "points": noise.points,
        "counts_in_the_index": noise.counts,
        "scenarios": noise.scenarios,
        "components": {
            name: {"variance": value, "standard_error": errors[name], "share": shares[name]}
            for name, value in noise.components.estimates.items()
        },
        "as_played": None if noise.played is None else _coefficients(noise.played) | {"standard_error": noise.error},
        "designs": [
            {"times_the_scenarios": times, "runs": runs, "judges": len(found.judges), "generalizability": value}
            for (times, runs), value in zip(found.designs, noise.more, strict=True)
        ],
    }


def _coefficients(one: Coefficients) -> dict[str, Any]:
    return {
        "generalizability": one.relative,
        "dependability": one.absolute,
        "generalizability_same_scenarios": one.repeated,
        "variances": {"universe_score": one.universe} | picked(one, "relative_error absolute_error"),
    }


def _option_values(one: Option, found: Reliability) -> dict[str, Any]:
    times = {noise.title: times for noise, times in zip(found.experiments, one.multiples, strict=True)}
    counts = picked(one, "runs judges calls dollars")
    return {"times_the_scenarios": times} | counts | _coefficients(one.coefficients)
