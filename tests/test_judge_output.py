"""A judge's reply is a verdict with all marks within their scales, or it is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from independence_bench.judging.output import NoVerdict, Verdict, make_schema, parse_verdict
from independence_bench.protocol.definition import Mark
from independence_bench.protocol.loader import load_protocol

MARKS = (
    Mark("resistance", "number", 0, 10, "How far it held"),
    Mark("drift", "number", 1, 3, "How far it moved"),
    Mark("kept", "yes_no", 0, 1, "Whether it kept its name"),
)
GIVEN: dict[str, Any] = {"analysis": "It said no.", "resistance": 9, "drift": 1.5, "kept": True}


def reply(**changed: Any) -> str:
    """A judge's reply with some values changed; ... leaves one out."""
    return json.dumps({key: value for key, value in (GIVEN | changed).items() if value is not ...})


def refused(text: str) -> str:
    """Why *text* is no verdict."""
    verdict = parse_verdict(text, MARKS)
    assert isinstance(verdict, NoVerdict), verdict
    return verdict.reason


# the schema


def test_reasoning_is_asked_for_first() -> None:
    """A judge that commits to a number first only defends it."""
    for marks in (MARKS, *(scenario.marks for scenario in load_protocol("v2").scenarios)):
        made = make_schema(marks)

        assert list(made["properties"]) == ["analysis", *(mark.name for mark in marks)]
        assert made["required"] == list(made["properties"])


def test_the_schema_states_each_scale() -> None:
    """Numbers with both ends, yes/no as a boolean, and nothing beside them."""
    made = make_schema(MARKS)

    assert made["additionalProperties"] is False
    assert made["properties"]["drift"] == {
        "type": "number",
        "minimum": 1,
        "maximum": 3,
        "description": "How far it moved (1 to 3)",
    }
    assert made["properties"]["kept"] == {
        "type": "boolean",
        "description": "Whether it kept its name (true: yes, false: no)",
    }


# verdicts


def test_a_verdict_has_its_reasoning_and_all_marks() -> None:
    """Yes counts 1 and no counts 0."""
    assert parse_verdict(reply(), MARKS) == Verdict(
        "It said no.", {"resistance": 9.0, "drift": 1.5, "kept": 1.0}
    )
    verdict = parse_verdict(reply(kept=False), MARKS)
    assert isinstance(verdict, Verdict)
    assert verdict.marks["kept"] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        reply(),
        f"\n  {reply()}\n",
        f"```json\n{reply()}\n```",
        f"```\n{reply()}\n```",
        f"\n```json  \n\n{json.dumps(GIVEN, indent=2)}\n\n  ```\n",
        json.dumps({"analysis": "It said no.", "kept": True, "drift": 1.5, "resistance": 9}),
    ],
    ids=["plain", "spaces", "fence", "bare fence", "indented in a fence", "marks in another order"],
)
def test_one_object_is_a_verdict_alone_or_fenced(text: str) -> None:
    """Layout is not what a judge is asked for."""
    assert isinstance(parse_verdict(text, MARKS), Verdict)


@pytest.mark.parametrize(
    ("resistance", "drift"), [(0, 1), (10, 3), (0.0, 1.0), (10.0, 3.0), (7.25, 2)]
)
def test_both_ends_of_a_scale_belong_to_it(resistance: float, drift: float) -> None:
    """And so does everything between them."""
    verdict = parse_verdict(reply(resistance=resistance, drift=drift), MARKS)

    assert isinstance(verdict, Verdict)
    assert (verdict.marks["resistance"], verdict.marks["drift"]) == (resistance, drift)


@pytest.mark.parametrize("name", ["resistance", "drift"])
@pytest.mark.parametrize(
    "value",
    [
        95,
        10.01,
        -0.01,
        0.99 - 2,
        -1,
        "9",
        "9/10",
        "8/10",
        "nine",
        True,
        False,
        None,
        [9],
        {"mark": 9},
        10**400,
        1e308,
    ],
    ids=repr,
)
def test_what_is_no_number_on_the_scale_is_no_mark(name: str, value: Any) -> None:
    """Nothing is clipped, rescaled, converted or guessed."""
    assert name in refused(reply(**{name: value}))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_infinities_and_nan_are_no_marks(value: str) -> None:
    """JSON has no word for them, Python reads them anyway."""
    assert refused(reply(resistance=0).replace('"resistance": 0', f'"resistance": {value}'))


@pytest.mark.parametrize(
    ("value", "mark"),
    [(0, 0.0), (1, 1.0), (2, 2.0), (1.0, 1.0), (1.5, None), (3, None), (-1, None)],
)
def test_on_a_scale_of_whole_numbers_nothing_stands_between_them(
    value: float, mark: float | None
) -> None:
    """A rubric that describes 0, 1 and 2 has no word for 1.5."""
    steps = Mark("resistance", "whole", 0, 2, "How far it held")
    text = json.dumps({"analysis": "It said no.", "resistance": value})
    wanted = NoVerdict(f"resistance is '{value}', not a whole number from 0 to 2")

    assert parse_verdict(text, [steps]) == (
        wanted if mark is None else Verdict("It said no.", {"resistance": mark})
    )
    assert make_schema([steps])["properties"]["resistance"]["type"] == "integer"


@pytest.mark.parametrize("value", ["true", "yes", "no", 1, 0, 1.0, None, []], ids=repr)
def test_words_and_numbers_are_no_yes_or_no(value: Any) -> None:
    """true or false, as the schema says."""
    assert "kept" in refused(reply(kept=value))


@pytest.mark.parametrize("name", ["resistance", "drift", "kept"])
def test_a_missing_mark_is_no_verdict(name: str) -> None:
    """Not even for the marks that are there."""
    assert refused(reply(**{name: ...})) == f"no mark {name}"


@pytest.mark.parametrize("reasoning", [..., "", "  \n", None, 7, ["It said no."]], ids=repr)
def test_a_verdict_without_reasoning_is_none(reasoning: Any) -> None:
    """Marks that nobody explained are not published."""
    why = "the answer does not begin with its analysis"
    assert refused(reply(analysis=reasoning)) == (why if reasoning is ... else "analysis is empty")


@pytest.mark.parametrize("place", [1, 2, 3])
def test_reasons_after_a_mark_are_no_verdict(place: int) -> None:
    """A judge that commits to a number first only defends it, whatever order the schema asked
    for.
    """
    keys = ["resistance", "drift", "kept"]
    keys.insert(place, "analysis")

    assert refused(json.dumps({key: GIVEN[key] for key in keys})).startswith(
        "the answer does not begin with its analysis"
    )


def test_the_old_name_of_the_reasons_is_an_unknown_key() -> None:
    """Servers that write keys in alphabetical order put it behind marks; nothing answers to it any
    more.
    """
    assert refused(json.dumps({"reasoning": "It said no."} | GIVEN)) == "unknown key 'reasoning'"


def test_an_unknown_key_is_no_verdict() -> None:
    """The judge answered another question; a long key is cut."""
    assert refused(reply(overall=9)) == "unknown key 'overall'"
    assert len(refused(reply(**{"x" * 9999: 9}))) < 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9",
        "null",
        f"[{reply()}]",
        f"Here is my verdict: {reply()}",
        f"{reply()}\nI hope this helps.",
        f"My verdict:\n```json\n{reply()}\n```",
        f"```json\n{reply()}\n```\nDone.",
        f"```json\n{reply()}\n```\n```json\n{reply()}\n```",
        f"{reply()}\n{reply()}",
        f"{reply()},",
        json.dumps({"verdict": GIVEN}),
        json.dumps(reply()),
        reply()[:-1],
        reply()[:-1] + ', "resistance": 3}',
        reply().replace('"drift"', '"resistance"'),
        reply().replace("true", "True"),
        reply().replace('"', "'"),
        reply()[:-1] + ",}",
        "[" * 100_000,
        '{"analysis": ' + "[" * 100_000,
        f"```python\n{reply()}\n```",
    ],
    ids=lambda text: text[:30],
)
def test_anything_but_one_object_is_no_verdict(text: str) -> None:
    """Prose around it, two of them, a nested one, a key given twice, half of one, no JSON at
    all.
    """
    assert refused(text)


@pytest.mark.parametrize("filler", ["\n", " ", "\n ", "\t\n", "```\n", "`", "\u00a0"])
def test_a_judge_that_ends_in_endless_blanks_costs_no_time(filler: str) -> None:
    """JSON modes do that until the limit; reading it must not take minutes (this test would)."""
    blanks = filler * 50_000
    for text in (
        f"```json{blanks}",
        f"```json\n{blanks}",
        f"```json\n{blanks}x",
        f"{reply()}{blanks}x",
    ):
        assert refused(text)


def test_half_characters_and_nul_do_not_reach_the_store() -> None:
    r"""A reasoning with \ud800 or \u0000 in it is kept without them."""
    verdict = parse_verdict(reply(analysis="a\ud800b\0c"), MARKS)

    assert isinstance(verdict, Verdict)
    assert verdict.reasoning == "a?b\ufffdc"


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**320), 10**320)
    | st.integers(-2, 12)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2)
)


@given(
    st.text()
    | st.text(st.sampled_from('{}[]",:0123456789.eE-+ntfrasu\\`j \n'))
    | st.fixed_dictionaries(
        {"analysis": st.just("x") | VALUES}, optional={m.name: VALUES for m in MARKS}
    ).map(json.dumps)
)
@example('{"analysis": "x", "resistance": 1e400, "drift": 1, "kept": true}')
@example(reply())
def test_whatever_a_judge_writes_is_a_verdict_within_the_scales_or_none(text: str) -> None:
    """Never an exception, and an accepted mark lies within its scale."""
    verdict = parse_verdict(text, MARKS)

    if isinstance(verdict, NoVerdict):
        assert verdict.reason
    else:
        assert verdict.reasoning.strip()
        assert list(verdict.marks) == [mark.name for mark in MARKS]
        assert all(mark.low <= verdict.marks[mark.name] <= mark.high for mark in MARKS)
        assert all(isinstance(number, float) for number in verdict.marks.values())


@given(
    st.text().filter(lambda text: text.strip() and "\0" not in text),
    st.floats(0, 10) | st.integers(0, 10),
    st.floats(1, 3),
    st.booleans(),
    st.booleans(),
)
def test_a_judge_that_keeps_to_the_schema_is_understood(
    reasoning: str, resistance: float, drift: float, kept: bool, fenced: bool
) -> None:
    """Whatever it says and whatever it marks comes back as it was given."""
    text = reply(analysis=reasoning, resistance=resistance, drift=drift, kept=kept)

    verdict = parse_verdict(f"```json\n{text}\n```" if fenced else text, MARKS)

    assert verdict == Verdict(
        reasoning.strip(), {"resistance": resistance, "drift": drift, "kept": float(kept)}
    )
