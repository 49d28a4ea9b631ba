"""What the page is sent of the values of other rooms: the values themselves, and how their numbers are written.

A class that is not named here is sent with all of its fields. Nothing is copied into shapes of our own, so what
`analysis` finds out and a terminal shows is there for the page, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from independence_bench.analysis import configurations
from independence_bench.analysis import judge_agreement as judges
from independence_bench.analysis.compare_settings import IndexPrice, Variant
from independence_bench.analysis.item_analysis import ScenarioFacts, ScenarioVerdict
from independence_bench.analysis.judge_leniency import SelfPreference, SubjectRow
from independence_bench.analysis.leaderboard import Health
from independence_bench.analysis.spending import RunCost
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.analysis.uncertainty import ScoreDifference
from independence_bench.engine.ask_names import NamesRead
from independence_bench.judging.self_names import Choice
from independence_bench.protocol.definition import Configuration, Scenario
from independence_bench.viewer.numbers import (
    AGREEMENT,
    DIFFERENCE,
    DOLLARS,
    HUNDREDTHS,
    MARK,
    POINTS,
    SHARE,
    THOUSANDS,
    WHOLE,
    Form,
    Score,
)
from independence_bench.viewer.snapshot import BoardEntry


@dataclass(frozen=True, slots=True)
class View:
    """What is sent of a class: how which of its numbers are written, what is left out, and which properties are not."""

    forms: Mapping[Form, str] = field(default_factory=dict)  # form -> names of fields and properties
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # properties


def verdict_text(verdict: ScenarioVerdict) -> str:
    """What is wrong with a scenario, and in which dimension."""
    return verdict.kind if verdict.dimension is None else f"{verdict.kind}: {verdict.dimension}"


AS_TEXT: Mapping[type, Callable[[Any], str]] = {
    Configuration: str,
    Scenario: lambda one: str(one.title),
    ScenarioVerdict: verdict_text,
}
"""Sent as a text."""

WORDED: Mapping[type, Callable[[Any, Form], str | None]] = {
    Interval: lambda ends, form: form.ends(ends),
    Score: lambda one, form: None if one.value is None else form.text(one.value),
}
"""Has one text for all of it, under *shown*, in the form of the field that it stands in."""

SHARES = ("invalid_share", "cut_off_share", "failed_share", "reasoned_share", "plain_text_share")

VIEWS: Mapping[type, View] = {
    BoardEntry: View(without=("edition",), also=("protocol", "default_configuration", "series")),
    Health: View({SHARE: " ".join(SHARES)}, also=SHARES),
    IndexPrice: View(
        {
            DOLLARS: "replies_per_run judging_per_run dollars_per_run",
            THOUSANDS: "index_per_dollar",
            POINTS: "uncertainty",
        },
        without=("label", "index"),
        also=("free",),
    ),
    ScenarioFacts: View(
        {
            POINTS: "points",
            WHOLE: "difficulty",
            SHARE: "ceiling floor share",
            HUNDREDTHS: "discrimination discrimination_interval share_interval",
        },
        without=("transcripts", "within", "without"),
    ),
    Variant: View({POINTS: "index", DIFFERENCE: "difference apart"}),
    ScoreDifference: View(without=("difference", "seen_again", "seen_another", "p_again", "p_another")),
    configurations.ConfigurationComparison: View(without=("judge", "paired")),
    configurations.ConfigurationSummary: View({POINTS: "mean paired"}),
    configurations.Effect: View({DIFFERENCE: "points sampled again"}),
    configurations.SubjectEffect: View({DIFFERENCE: "points again"}),
    configurations.SubjectIndices: View({POINTS: "indices intervals"}),
    NamesRead: View(
        without=("subject_hash", "label", "heard_hash", "transcript_id", "several"), also=("picks", "asked")
    ),
    Choice: View(without=("name_state", "gender_state")),
    judges.Validation: View(without=("protocol",)),
    judges.JudgeRow: View({SHARE: "failed_share", DIFFERENCE: "leniency leniency_interval"}, also=("failed_share",)),
    RunCost: View({DOLLARS: "dollars", THOUSANDS: "seconds"}),
    SubjectRow: View({POINTS: "indices mean spread"}),
    SelfPreference: View(
        {POINTS: "own others", DIFFERENCE: "elsewhere interval difference preference"},
        also=("difference", "preference", "unsaid"),
    ),
    judges.MarkAgreement: View({AGREEMENT: "alpha alpha_interval icc kappas"}),
    judges.PairAgreement: View({AGREEMENT: "rank_correlation rank_interval kappa"}),
    judges.JudgedConversation: View(without=("subject_hash",)),
    judges.Dispute: View({SHARE: "spread", MARK: "marks"}),
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a class as it is sent."""

    name: str
    hint: Any
    form: Form | None  # of the numbers and intervals in it; None: that of the field that the whole value stands in
    worded: bool  # whether its numbers stand under *shown*, too


_KNOWN: dict[type, tuple[Attribute, ...]] = {}


def attributes(shape: type) -> tuple[Attribute, ...]:
    """What is sent of a dataclass, in order. Looked up for every value that is written."""
    if shape not in _KNOWN:
        _KNOWN[shape] = _attributes(shape)
    return _KNOWN[shape]


def _attributes(shape: type) -> tuple[Attribute, ...]:
    view = VIEWS.get(shape, View())
    hints = {
        name: hint for name, hint in get_type_hints(shape, include_extras=True).items() if name not in view.without
    }
    fields = {field.name: hints[field.name] for field in dataclasses.fields(shape) if field.name in hints}
    properties = {name: get_type_hints(getattr(shape, name).fget)["return"] for name in view.also}
    every = fields | properties
    told = {name: form for form, names in view.forms.items() for name in names.split()}
    if unknown := told.keys() - every.keys():
        raise TypeError(f"{shape.__name__} has no {', '.join(sorted(unknown))}")
    forms = {name: told.get(name) or _form(hint) for name, hint in every.items()}
    return tuple(
        Attribute(name, hint, forms[name], forms[name] is not None and _is_number(hint)) for name, hint in every.items()
    )


def _form(hint: Any) -> Form | None:
    """How the numbers in a field of this type are written; None where the type does not say so."""
    if get_origin(hint) is Annotated:
        return next((part for part in get_args(hint)[1:] if isinstance(part, Form)), None)
    return next((found for part in get_args(hint) if (found := _form(part))), None)


def _is_number(hint: Any) -> bool:
    """Whether there are numbers in it beside those of other classes."""
    return hint in (int, float) or any(_is_number(part) for part in get_args(hint))
