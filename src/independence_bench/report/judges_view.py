"""Judges beside each other, on a terminal and for programs. The same values; nothing is computed here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.judge_agreement import Dispute, Flagged, JudgedConversation, Validation
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.statistics.jackknife import FEWEST_MARKED, FEWEST_RANKED
from independence_bench.escape import label_text
from independence_bench.report.format import between, from_to, money, number, plural, scale, share

ACROSS = 6  # judges in one table of indices: what fits beside a subject's name at 80 columns
MOST = 10  # conversations listed to be read; all of them are in the JSON


def validation_view(found: Validation) -> RenderableType:
    """All figures of one configuration, and the conversations to read."""
    letters = letters_of(len(found.judges))
    configuration = " + ".join(str(c) for c in found.configurations)
    heading = Text("\n").append(f"Judges of {label_text(found.protocol.called)}", style="bold")
    heading.append(
        f" · {configuration} · {plural(found.conversations, 'conversation')} judged by somebody\n", style="dim"
    )
    if found.main is not None:
        heading.append(f"Main judge: {label_text(found.main)}. It answers where nobody says by which.\n", style="dim")
    parts: list[RenderableType] = [heading, *_judges(found, letters), *_costs(found, letters)]
    if len(found.judges) == 1:
        parts.append(Text("\nOne judge agrees with itself: `aib judge -j MODEL` adds another, `aib label` a person."))
    else:
        parts += [*_indices(found, letters), *_favours(found, letters), *_marks(found), *_pairs(found, letters)]
        parts += _disputes(found, letters)
    return Group(*parts, *_flagged(found, letters))


def letters_of(judges: int) -> list[str]:
    """A, B, ... Z, AA, AB, ...: a column's heading for each judge."""
    letters = [chr(ord("A") + place) for place in range(26)]
    return (letters + [first + second for first in letters for second in letters])[:judges]


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < left else "right", overflow="fold")
    return table


def _section(title: str, table: Table, legend: str) -> list[RenderableType]:
    return [Text(f"\n{title}", style="bold"), table, Text(legend, style="dim")]


def _judges(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    sampled = any(row.leniency_interval for row in found.judges)
    table = _table(
        *("", "judge", "kind", "judged", "failed", "lenient"), *(["at 95 %"] if sampled else []), "flagged", left=3
    )
    for letter, row in zip(letters, found.judges, strict=True):
        failed = "–" if row.failed_share is None else share(row.failed_share)
        lenient = ["–" if row.leniency is None else f"{row.leniency:+.1f}"]
        lenient += [from_to(row.leniency_interval)] if sampled else []
        flagged = share(row.flagged / row.judged) if row.judged else "–"
        kind = {"table": "embedded"}.get(row.kind, row.kind)
        table.add_row(letter, label_text(row.label), kind, f"{row.judged:,}", failed, *lenient, flagged)
    return [
        table,
        Text(
            "judged: conversations with a verdict; failed: share of those asked for that it gave none on; lenient: its "
            "index minus the mean of the others', over the subjects that all have one for, and where that lies if the "
            "subjects are a sample (from three on), each by itself; flagged: share of its verdicts that a person "
            "should read (below).",
            style="dim",
        ),
    ]


def _costs(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    table = _table("", "judge", "$ a run", "seconds a run", left=2)
    for letter, row in zip(letters, found.judges, strict=True):
        cost, seconds = row.run_cost.dollars, row.run_cost.seconds
        dollars = "–" if cost is None else "free" if cost == 0 else money(cost)
        table.add_row(letter, label_text(row.label), dollars, "–" if seconds is None else f"{seconds:,.0f}")
    return _section(
        "What a run takes",
        table,
        "One run of one subject: the mean judgement of each scenario, failed attempts included, added up; seconds: of "
        "its calls one after the other, as the endpoint took them. A dash: not known of every scenario.",
    )


def _indices(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    if not found.subjects:
        return [Text("\nNo subject has an index under any judge yet.", style="yellow")]
    parts: list[RenderableType] = [Text("\nIndex of each subject under each judge", style="bold")]
    for start in range(0, len(letters), ACROSS):
        last = start + ACROSS >= len(letters)
        table = _table("subject", *letters[start : start + ACROSS], *(("mean", "spread") if last else ()))
        for row in found.subjects:
            shown = [number(index, 1) for index in row.indices[start : start + ACROSS]]
            ends = [number(row.mean, 1), number(row.spread, 1)] if last else []
            table.add_row(label_text(row.label), *shown, *ends)
        parts.append(table)
    legend = (
        "mean and spread (highest minus lowest) are over the judges that have an index for half of the subjects or "
        "more (-j chooses judges); where one of those lacks this subject, there is neither."
    )
    return [*parts, Text(legend, style="dim")]


def _favours(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    if not found.favours:
        said = "\nNo judge is a subject here too, nor of the family of one: nothing to say of self-preference."
        return [Text(said, style="dim")]
    of = {row.label: letter for letter, row in zip(letters, found.judges, strict=True)}
    table = _table("judge", "of", "n", "own", "others", "diff", "elsewhere", "prefers", "at 95 %", left=2)
    for favour in found.favours:
        whom = favour.whom if favour.whom == "itself" else f"its family ({label_text(favour.family or '')})"
        elsewhere = "–" if favour.elsewhere is None else f"{favour.elsewhere:+.1f}"
        prefers = "–" if favour.preference is None else f"{favour.preference:+.1f}"
        figures = [number(favour.own, 1), number(favour.others, 1), f"{favour.difference:+.1f}", elsewhere, prefers]
        table.add_row(of[favour.judge], whom, str(favour.subjects), *figures, from_to(favour.interval))
    reasons = sorted({f"{of[one.judge]}: {one.unsaid}" for one in found.favours if one.unsaid})
    unsaid = f" No interval: {'; '.join(reasons)}." if reasons else ""
    return _section(
        "What judges give themselves",
        table,
        "own: the mean index that it gives n subjects of its own model, or of its vendor without itself; others: what "
        "the other judges give the same; diff: own minus others; elsewhere: the same difference for all other "
        "subjects; prefers: diff minus elsewhere, and where that lies if the subjects are a sample, each by itself, so "
        "that to like some more than others is no preference yet. A judge favours its own where all of it is above 0; "
        f"of forty that do not, one seems to.{unsaid}",
    )


def _marks(found: Validation) -> list[RenderableType]:
    table = _table("mark", "scale", "n", "alpha", "at 95 %", "ICC(2,k)", "k", "kappa from", "to")
    for row in found.marks:
        kappas = [kappa for _, _, kappa in row.kappas if kappa is not None]
        lowest, highest = (min(kappas), max(kappas)) if kappas else (None, None)
        of = str(row.icc_judges) if row.icc is not None else "–"
        alpha = [number(row.alpha, 2), between(row.alpha_interval, 2)]
        figures = [*alpha, number(row.icc, 2), of, number(lowest, 2), number(highest, 2)]
        table.add_row(row.mark.name.replace("_", " "), scale(row.mark), f"{row.conversations:,}", *figures)
    return _section(
        "Agreement on each mark",
        table,
        "n: conversations that two judges or more have marked; alpha: Krippendorff's, ordinal, and where it lies if "
        f"the subjects are a sample (from {FEWEST_MARKED} on), each by itself; ICC(2,k): reliability of the mean of "
        "the k judges that marked most of them; kappa: quadratic, from that of the pair that agrees least to that of "
        "the one that agrees most. 1 is perfect, 0 is chance; a dash: fewer than ten conversations, or marks that do "
        "not vary. ICC and "
        "kappa have no interval: none that was tried keeps its promise where marks pile up at an end.",
    )


def _pairs(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    of = {row.label: letter for letter, row in zip(letters, found.judges, strict=True)}
    table = _table("judges", "subjects", "rank correlation", "at 95 %", "conversations", "kappa")
    for pair in found.pairs:
        table.add_row(
            f"{of[pair.one]} {of[pair.other]}",
            str(pair.subjects),
            number(pair.rank_correlation, 2),
            between(pair.rank_interval, 2),
            f"{pair.conversations:,}",
            number(pair.kappa, 2),
        )
    return _section(
        "Agreement of each pair",
        table,
        "rank correlation: Spearman's, of the subjects' indices (from three subjects on), and where it lies if the "
        f"subjects are a sample (from {FEWEST_RANKED} on), each by itself; kappa: the mean of the quadratic kappas of "
        "all marks, without an interval.",
    )


def _disputes(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    if not found.disputes:
        return []
    parts: list[RenderableType] = [Text("\nWhere they disagree most", style="bold")]
    for dispute in found.disputes[:MOST]:
        parts.append(Text(_at(dispute.place, found)))
        for mark, values in dispute.marks:
            given = "  ".join(
                f"{letter} {value:g}" if value == round(value) else f"{letter} {value:.1f}"
                for letter, value in zip(letters, values, strict=True)
                if value is not None
            )
            parts.append(Text(f"    {mark.replace('_', ' ')}: {given}", style="dim"))
    many = len(found.disputes)
    more = f"{MOST} of {many:,} conversations that are not marked alike; " if many > MOST else ""
    return [*parts, Text(f"{more}in the order of the mean distance of their marks.", style="dim")]


def _flagged(found: Validation, letters: Sequence[str]) -> list[RenderableType]:
    if not found.flagged:
        return []
    of = {row.label: letter for letter, row in zip(letters, found.judges, strict=True)}
    parts: list[RenderableType] = [Text("\nVerdicts to read", style="bold")]
    for flagged in found.flagged[:MOST]:
        parts.append(Text(_at(flagged.place, found)))
        parts += [Text(f"    {of[flagged.judge]}: {label_text(flag.why)}", style="dim") for flag in flagged.flags]
    many = len(found.flagged)
    more = f" {MOST} of {many:,} are listed." if many > MOST else ""
    return [*parts, Text(f"A flag changes no mark.{more} How far to trust it: docs/judges.md", style="dim")]


def _at(place: JudgedConversation, found: Validation) -> str:
    """What to type to read it."""
    name = label_text(found.protocol.called)
    protocol = "" if name == "v2" else f" --protocol {shlex.quote(name)}"
    where = ""
    if place.configuration not in found.protocol.configurations or len(found.protocol.configurations) > 1:
        where = f" --variants {place.configuration.system} --modes {place.configuration.delivery}"
    return f"aib show {shlex.quote(label_text(place.subject))} {place.scenario.id} --run {place.run}{protocol}{where}"


# ---------------------------------------------------------------- for programs


def validations_json(found: Sequence[Validation]) -> str:
    """All of it, in ASCII. Indices in [0, 100], shares in [0, 1], marks on their scales; absent is null."""
    return json.dumps({"judges": [_validation(one) for one in found]}, indent=2)


def _validation(found: Validation) -> dict[str, Any]:
    labels = [row.label for row in found.judges]
    return {
        "protocol": {"name": found.protocol.name, "hash": found.protocol.hash},
        "weighting": found.protocol.weights,  # null: its own
        "configurations": [str(configuration) for configuration in found.configurations],
        "main_judge": found.main,
        "conversations": found.conversations,
        "judges": [
            _fields(row, "label", "kind", "judged", "failed", "failed_share", "flagged", "leniency")
            | {"leniency_interval": _interval(row.leniency_interval)}
            | {"dollars_per_run": row.run_cost.dollars, "seconds_per_run": row.run_cost.seconds}
            for row in found.judges
        ],
        "subjects": [
            _fields(row, "label", "mean", "spread") | {"indices": dict(zip(labels, row.indices, strict=True))}
            for row in found.subjects
        ],
        "self_preference": [
            _fields(one, "judge", "whom", "family", "subjects", "own", "others", "difference", "elsewhere")
            | _fields(one, "elsewhere_subjects", "preference")
            | {"preference_interval": _interval(one.interval), "no_interval_because": one.unsaid}
            for one in found.favours
        ],
        "marks": [
            {"mark": row.mark.name}
            | _fields(row, "conversations", "alpha", "icc", "icc_judges", "icc_conversations")
            | {"alpha_interval": _interval(row.alpha_interval)}
            | {"kappas": [{"judges": [a, b], "kappa": kappa} for a, b, kappa in row.kappas]}
            for row in found.marks
        ],
        "pairs": [
            {"judges": [pair.one, pair.other]}
            | _fields(pair, "subjects", "rank_correlation", "conversations", "kappa")
            | {"rank_correlation_interval": _interval(pair.rank_interval)}
            for pair in found.pairs
        ],
        "disputes": [_dispute(one, labels) for one in found.disputes],
        "flagged": [_flag(one) for one in found.flagged],
    }


def _dispute(dispute: Dispute, labels: Sequence[str]) -> dict[str, Any]:
    marks = {mark: dict(zip(labels, values, strict=True)) for mark, values in dispute.marks}
    return _place(dispute.place) | {"spread": dispute.spread, "marks": marks}


def _flag(flagged: Flagged) -> dict[str, Any]:
    flags = [_fields(flag, "kind", "mark", "distance", "why") for flag in flagged.flags]
    return _place(flagged.place) | {"judge": flagged.judge, "flags": flags}


def _place(place: JudgedConversation) -> dict[str, Any]:
    where = {"scenario": place.scenario.id, "configuration": str(place.configuration), "run": place.run}
    return {"subject": place.subject, **where}


def _interval(one: Interval | None) -> dict[str, float] | None:
    return None if one is None else asdict(one)


def _fields(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}
