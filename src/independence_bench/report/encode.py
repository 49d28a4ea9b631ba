"""Our values as JSON: for programs in full, for the page with their numbers also as text; and
tables as CSV.

Programs get what `FOR_PROGRAMS` says of a class, or every field and the properties that `VIEWS`
adds to them. The page is sent what `VIEWS` says, or all fields. A field that is made of one of the
types below (`Points`, `Share`, ...), or that `VIEWS` gives one of their forms, is sent as a number,
to sort and draw by, and under *shown* as text, rounded as `format.py` does; the page rounds
nothing. JSON is ASCII, so that no proxy, editor or terminal reads anything into the texts of
others, and floats that the page is sent have eight significant digits.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic_core import PydanticSerializationError, to_json

from independence_bench.analysis import branches, compare_settings
from independence_bench.analysis import judge_agreement as judges
from independence_bench.analysis.branches import BranchDifference
from independence_bench.analysis.chosen_names import NamesRead
from independence_bench.analysis.compare_settings import Variant
from independence_bench.analysis.costs import IndexPrice, RunCost
from independence_bench.analysis.exam import result as exam
from independence_bench.analysis.health import Health
from independence_bench.analysis.item_analysis import ScenarioFacts
from independence_bench.analysis.judge_leniency import SelfPreference, SubjectRow
from independence_bench.analysis.results import ReasoningTokens
from independence_bench.analysis.statistics.sample_means import Step
from independence_bench.analysis.statistics.values import Interval, ScoreDifference, Uncertainty
from independence_bench.judging.extraction import ChosenName
from independence_bench.protocol.definition import Configuration, Scenario
from independence_bench.report.format import (
    between,
    from_to,
    given,
    money,
    number,
    paid,
    share,
    signed,
    span,
    tokens_text,
)
from independence_bench.report.keys import KEYS, picked

DIGITS = 8  # of a float: more than any number here deserves, and half the size
AS_IT_IS = frozenset({str, int, bool, type(None)})  # most of what is sent
# in our numbers, and in what models say
OFTEN = {one.encode(): json.dumps(one)[1:-1].encode() for one in "−–—’“”"}
# what a spreadsheet takes for the beginning of a formula (some the full-width signs, too), or for
# another cell
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")

Cell = str | float | int | bool | None
Worded = str | None | list["Worded"] | dict[str, "Worded"]

# ---------------------------------------------------------------- numbers as text


@dataclass(frozen=True, slots=True)
class Form:
    """How a number is written, and how the two ends of an interval of it are."""

    text: Callable[[float], str]
    ends: Callable[[Interval], str]


def minus(text: str) -> str:
    """With the sign that is as wide as a plus."""
    return text.replace("-", "−")


def _of(text: Callable[[float], str], ends: Callable[[Interval], str] | None = None) -> Form:
    both = ends or (lambda interval: f"{text(interval.low)} to {text(interval.high)}")
    return Form(
        lru_cache(4096)(lambda value: minus(text(value))), lambda interval: minus(both(interval))
    )


def _decimals(digits: int) -> Form:
    return _of(lambda value: number(value, digits), lambda interval: between(interval, digits))


def _signed(digits: int) -> Form:
    return _of(lambda value: signed(value, digits), lambda interval: from_to(interval, digits))


POINTS, WHOLE, AGREEMENT = _decimals(1), _decimals(0), _decimals(2)  # 82.2, 82, 0.82 (0.41–0.93)
# +1.2, +0.12
DIFFERENCE, SMALL_DIFFERENCE = _signed(1), _signed(2)
HUNDREDTHS = _of(lambda value: number(value, 2), span)  # 0.82; -0.12 to 0.34
SHARE, DOLLARS, MARK = _of(share), _of(money), _of(given)  # 12%; $0.0123; 7 or 7.5
THOUSANDS = _of(lambda value: f"{value:,.0f}")  # 8,225
PAID, SECONDS = _of(paid), _decimals(1)  # free, or money; 2.3

Points = Annotated[float, POINTS]
Whole = Annotated[float, WHOLE]
SmallDifference = Annotated[float, SMALL_DIFFERENCE]
Thousands = Annotated[float, THOUSANDS]
Share = Annotated[float, SHARE]
Dollars = Annotated[float, DOLLARS]
GivenMark = Annotated[float, MARK]
# a comparison has a million of them, which are sent as they are
Rounded = Annotated[float, "to eight digits or fewer"]


@dataclass(frozen=True, slots=True)
class Score:
    """A number in [0, 100] with its uncertainty."""

    value: float | None
    uncertainty: Uncertainty
    why: str | None  # why an interval is missing; null where none is


# ---------------------------------------------------------------- what is sent of which class


@dataclass(frozen=True, slots=True)
class View:
    """What is sent of a class: how which of its numbers are written, what is left out, and which
    properties are not.
    """

    # form -> names of fields and properties
    forms: Mapping[Form, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # properties


TEXTS: Mapping[type, Callable[[Any], str]] = {Configuration: str, datetime: datetime.isoformat}
"""A text for programs, too."""

AS_TEXT: Mapping[type, Callable[[Any], str]] = {
    **TEXTS,
    Scenario: lambda scenario: str(scenario.title),
}
"""Sent as a text."""

WORDED: Mapping[type, Callable[[Any, Form], str | None]] = {
    Interval: lambda ends, form: form.ends(ends),
    Score: lambda score, form: None if score.value is None else form.text(score.value),
    branches.StemMean: lambda mean, form: form.text(mean.value),
    exam.ExamFigure: lambda figure, form: form.text(figure.value),
    exam.ExamShare: lambda share, form: form.text(share.value),
    ReasoningTokens: lambda tokens, form: tokens_text(tokens),
}
"""Has one text for all of it, under *shown*, in the form of the field that it stands in."""

SHARES = ("invalid_share", "cut_off_share", "failed_share", "reasoned_share", "plain_text_share")

VIEWS: Mapping[type, View] = {
    Health: View({SHARE: " ".join(SHARES)}, also=SHARES),
    IndexPrice: View(
        {DOLLARS: "replies_per_run judging_per_run dollars_per_run"},
        without=("label", "index"),
        also=("free",),
    ),
    ScenarioFacts: View(
        {
            POINTS: "points difficulty",
            SHARE: "ceiling floor",
            HUNDREDTHS: "discrimination",
        },
        without=("transcripts",),
    ),
    Variant: View({POINTS: "index", DIFFERENCE: "difference apart"}),
    ScoreDifference: View(
        without=("difference", "seen_rerun", "seen_new_scenarios", "p_rerun", "p_new_scenarios")
    ),
    compare_settings.ConfigurationComparison: View(without=("judge", "subjects")),
    compare_settings.ConfigurationSummary: View({POINTS: "mean"}),
    compare_settings.Effect: View({DIFFERENCE: "points rerun"}, without=("sampled",)),
    compare_settings.SubjectEffect: View({DIFFERENCE: "points rerun"}),
    NamesRead: View(
        without=("subject_hash", "label", "heard_hash", "transcript_id", "asked", "several"),
        also=("picks",),
    ),
    ChosenName: View(without=("name_state", "gender_state")),
    judges.Validation: View(without=("protocol",)),
    judges.JudgeRow: View(
        {SHARE: "failed_share", DIFFERENCE: "leniency leniency_interval"},
        ("exam",),
        ("failed_share",),
    ),
    exam.ExamShare: View(without=("hits",), also=("value", "interval")),
    exam.RubricResult: View(
        {AGREEMENT: "kappa", SHARE: "failed swayed", PAID: "dollars_a_verdict"}
    ),
    exam.ExamResult: View({PAID: "cost", AGREEMENT: "kappa"}, also=("kappa",)),
    RunCost: View({DOLLARS: "dollars", THOUSANDS: "seconds"}),
    SubjectRow: View({POINTS: "indices mean spread"}),
    SelfPreference: View(
        {DIFFERENCE: "difference elsewhere interval preference"},
        without=("elsewhere_subjects",),
        also=("preference", "why_no_interval"),
    ),
    judges.MarkAgreement: View(
        {AGREEMENT: "alpha alpha_interval kappas"}, without=("measurement",)
    ),
    judges.PairAgreement: View({AGREEMENT: "kappa"}),
    judges.JudgedConversation: View(without=("subject_hash",)),
    judges.Dispute: View({SHARE: "spread", MARK: "marks"}),
    branches.BranchStatistics: View({AGREEMENT: "values"}, without=("stems",)),
    branches.Share: View({WHOLE: "count of", SHARE: "value interval"}, also=("value",)),
    branches.Folds: View({SHARE: "bands", AGREEMENT: "withstood"}),
    Step: View({WHOLE: "folded", SHARE: "standing"}, without=("at_risk",)),
    branches.TechniqueFolds: View({WHOLE: "pushed folded", SHARE: "share"}, also=("share",)),
    BranchDifference: View(
        {AGREEMENT: "first second seen", SMALL_DIFFERENCE: "difference interval"}, without=("p",)
    ),
}


# ---------------------------------------------------------------- for programs


FOR_PROGRAMS: Mapping[type, str | Callable[[Any], Any]] = {**TEXTS, **KEYS}
"""What programs get of a class, where that is not all of its fields: as `picked` takes it, or made
by a function.
"""


# ---------------------------------------------------------------- for the page


class Attribute(NamedTuple):
    """One attribute of a class as it is sent."""

    name: str
    hint: Any
    # of the numbers and intervals in it; None: that of the field that the whole value stands in
    form: Form | None
    worded: bool  # whether its numbers stand under *shown*, too
    as_it_is: bool  # whether it has no numbers but rounded ones, and nothing else but texts


def _view(shape: type) -> View:
    """What `VIEWS` says of it, or it itself, where it is of a layer that comes later."""
    own: View = getattr(shape, "VIEW", View())
    return VIEWS.get(shape, own)


@cache
def attributes(shape: type) -> tuple[Attribute, ...]:
    """What is sent of a dataclass, in order."""
    view = _view(shape)
    hints = {
        name: hint
        for name, hint in get_type_hints(shape, include_extras=True).items()
        if name not in view.without
    }
    fields = {
        field.name: hints[field.name] for field in dataclasses.fields(shape) if field.name in hints
    }
    properties = {name: get_type_hints(getattr(shape, name).fget)["return"] for name in view.also}
    every = fields | properties
    form_of = {name: form for form, names in view.forms.items() for name in names.split()}
    if unknown := form_of.keys() - every.keys():
        raise TypeError(f"{shape.__name__} has no {', '.join(sorted(unknown))}")
    forms = {name: form_of.get(name) or _form(hint) for name, hint in every.items()}
    return tuple(
        Attribute(
            name, hint, forms[name], forms[name] is not None and _is_number(hint), _is_rounded(hint)
        )
        for name, hint in every.items()
    )


def _form(hint: Any) -> Form | None:
    """How the numbers in a field of this type are written; None where the type does not say so."""
    if get_origin(hint) is Annotated:
        return next((part for part in get_args(hint)[1:] if isinstance(part, Form)), None)
    return next((found for part in get_args(hint) if (found := _form(part))), None)


def _is_rounded(hint: Any) -> bool:
    whole = get_origin(hint) in (tuple, Union, UnionType)
    return hint in (Rounded, Ellipsis, *AS_IT_IS) or (
        whole and all(map(_is_rounded, get_args(hint)))
    )


def _is_number(hint: Any) -> bool:
    """Whether there are numbers in it besides those of other classes."""
    return hint in (int, float) or any(_is_number(part) for part in get_args(hint))


# ---------------------------------------------------------------- bytes


def json_text(value: object, indent: int = 2) -> str:
    """*value* for programs, in ASCII, so that a terminal obeys nothing in it; absent is null, never
    0.
    """
    return json.dumps(value, indent=indent, default=fields_of)


def fields_of(value: Any) -> Any:
    """*value* without what is in it: what `FOR_PROGRAMS` says, or an object's fields and added
    properties.
    """
    shape: Any = type(value)
    if chosen := FOR_PROGRAMS.get(shape):
        return picked(value, chosen) if isinstance(chosen, str) else chosen(value)
    if isinstance(value, Mapping):
        return dict(value)
    names = [*(field.name for field in dataclasses.fields(value)), *_view(shape).also]
    return {name: getattr(value, name) for name in names}


def json_bytes(answer: object) -> bytes:
    """*answer*, a dataclass, as JSON. NaN and infinities raise ValueError."""
    plain = _plain(answer)
    with suppress(PydanticSerializationError):  # half of a surrogate pair
        body = to_json(plain)  # in a third of the time of `json`
        if b"NaN" not in body and b"Infinity" not in body:
            return _in_ascii(body)
    return json.dumps(plain, separators=(",", ":"), allow_nan=False).encode("ascii")


def _in_ascii(body: bytes) -> bytes:
    """With what `json` would escape, escaped."""
    for text, escaped in OFTEN.items():
        if body.isascii() and b"\x7f" not in body:
            return body
        body = body.replace(text, escaped)
    return re.sub(
        "[^\x00-~]+", lambda found: json.dumps(found[0])[1:-1], body.decode("utf-8")
    ).encode("ascii")


def csv_bytes(head: Sequence[str], rows: Iterable[Sequence[Cell]], ready: bool = False) -> bytes:
    """A table as CSV (RFC 4180), in UTF-8 with the mark that spreadsheets know it by; None is an
    empty cell.

    No cell is a formula: a text that a spreadsheet would carry out gets an apostrophe in front, as
    OWASP advises.
    *ready*: every cell of *rows* is None or as `cell` makes it.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([cell(name) for name in head])
    writer.writerows(rows if ready else ([cell(value) for value in row] for row in rows))
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace")


def cell(value: Cell) -> str | float | int:
    """*value* as it stands in a table."""
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, str):
        return _text_cell(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


@lru_cache
def _text_cell(value: str) -> str:
    """Most texts of a table are names that stand in every row."""
    text = value.replace("\x00", "\ufffd")
    return f"'{text}" if text.lstrip(" \u3000").startswith(FORMULA) else text


def _rounded(number: float) -> float:
    if number.is_integer() and abs(number) < 10**DIGITS:  # most marks are, and have no more digits
        return number
    return float(f"{number:.{DIGITS}g}")


def _plain(value: Any, form: Form | None = None) -> Any:
    """*value* as JSON has it; *form* is that of the field that it stands in."""
    shape: Any = type(value)
    if shape in AS_IT_IS:
        return value
    if isinstance(value, float):
        return _rounded(value)
    if shape is tuple or shape is list:
        return [item if type(item) in AS_IT_IS else _plain(item, form) for item in value]
    if text := AS_TEXT.get(shape):
        return text(value)
    if not hasattr(value, "__dataclass_fields__"):
        if isinstance(value, Mapping):
            return {
                str(name): item if type(item) in AS_IT_IS else _plain(item, form)
                for name, item in value.items()
            }
        return value if isinstance(value, str | int) else [_plain(item, form) for item in value]
    plain, shown = dict[str, Any](), dict[str, Any]()
    for name, _, own, has_text, as_it_is in attributes(shape):
        part = getattr(value, name)
        plain[name] = part if as_it_is or type(part) in AS_IT_IS else _plain(part, own or form)
        if has_text and own is not None:
            shown[name] = worded(part, own)
    if whole := WORDED.get(shape):
        if form is None:
            raise TypeError(f"nothing says how the numbers of a {shape.__name__} are written")
        plain["shown"] = whole(value, form)
    elif shown:
        plain["shown"] = shown
    return plain


def worded(value: Any, form: Form) -> Worded:
    """The numbers in *value* as text, wherever they stand in it; other texts stay."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        return [worded(item, form) for item in value]
    if isinstance(value, Mapping):
        return {str(name): worded(item, form) for name, item in value.items()}
    return form.text(float(value))
