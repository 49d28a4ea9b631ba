"""What identifies a value is stated, name by name: a field that is added later re-keys nothing that
is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.hashing import (
    Identified,
    hash_content,
    write_canonical_json,
    write_presorted_canonical_json,
)
from independence_bench.models.spec import ChatModel, read_chat_model
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol
from independence_bench.protocol.definition import Protocol, Rubric, Scenario, Weighting
from independence_bench.protocol.loader import load_protocol

# the fields that are part of no hash: whoever adds one to a class has to say here, or in its
# CAUSES, what it is
CAUSING_NOTHING = {
    Scenario: {
        "reply_tokens",
        "techniques",
        "first_label",
        "siblings",
        "shared_reply_count",
        "_marks",
        "_asks",
        "hashes",
    },
    Protocol: {
        "weightings",
        "weights",
        "earlier_form",
        "own_dimensions",
        "_items",
        "_scenarios",
        "_marks",
        "_hash",
    },
    ChatModel: {"own_limit"},
}
OTHER: dict[str, Any] = {
    "low": -5.0,
    "high": 99.0,
    "weight": 1.0,
    "inverted": True,
    "runs": 99,
    "temperature": 1.9,
}
OTHER |= {
    "max_tokens": 7,
    "script": (),
    "judged": (),
    "rubrics": (),
    "marks": (),
    "systems": (),
    "experiments": (),
}
OTHER |= {
    "levels": ("few", "many"),
    "adopted": "none",
    "rules": (),
    "terms": (),
    "positions": (),
}
OTHER |= {
    "value": 0.9,
    "branches": (),
    "branch": "reask",
    "factor": "reask",
}
OTHER |= {"configurations": (), "scenarios": (), "dimensions": (), "judge": None, "tool_role": None}


@pytest.fixture(params=["scenarios", "stems"])
def protocol(request: pytest.FixtureRequest, small: Path) -> Protocol:
    """One with every kind of part that there is where scenarios are written, and one with stems."""
    return load_protocol(small) if request.param == "scenarios" else character()


def character() -> Protocol:
    """One with stems."""
    return make_protocol(load_sheet(EXAMPLES / "companion.yaml"))


def parts(value: Any) -> list[Identified]:
    """*value* and every identified value in it, one of each class."""
    found: dict[type, Identified] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Identified) and type(one) not in found:
            found[type(one)] = one
        if isinstance(one, Identified):
            waiting += one.causes().values()
        elif isinstance(one, tuple):
            waiting += one
    return list(found.values())


def test_every_field_is_a_cause_or_said_to_be_none(protocol: Protocol) -> None:
    """A new field fails here until somebody decides what it is."""
    for part in [*parts(protocol), ChatModel("m", "e", 0.7, 100)]:
        names = {field.name for field in fields(part)}  # type: ignore[arg-type]
        causes = part.causes().keys() | getattr(part, "CAUSES_IF_SET", ())
        assert causes == names - CAUSING_NOTHING.get(type(part), set()), type(part)


def test_every_class_is_looked_at(small: Path) -> None:
    """Of those that have an identity."""
    found = {
        type(part).__name__ for one in (load_protocol(small), character()) for part in parts(one)
    }
    assert found == {subclass.__name__ for subclass in Identified.__subclasses__()} - {"Later"}


def test_each_cause_changes_the_hash(protocol: Protocol) -> None:
    """Of the part that has it, and of the protocol that has the part."""
    for part in parts(protocol):
        for name in part.causes():
            other = (
                replace(part, **{name: OTHER.get(name, "another")})
                if not isinstance(part, Protocol)
                else None
            )
            if other is not None:
                assert hash_content(other) != hash_content(part), (type(part), name)
            else:
                assert hash_content({**part.causes(), name: "another"}) != protocol.hash


def test_a_field_that_is_added_later_changes_no_hash(protocol: Protocol) -> None:
    """With its default or without, as long as it is no cause."""

    @dataclass(frozen=True)
    class Later(Rubric):
        language: str = "en"

    rubric = protocol.scenarios[0].rubrics[0]
    later = [Later(rubric.name, rubric.text, rubric.marks, language) for language in ("en", "de")]
    scenarios = [
        replace(protocol.scenarios[0], rubrics=(one, *protocol.scenarios[0].rubrics[1:]))
        for one in later
    ]

    assert {one.hash for one in later} == {rubric.hash}
    assert {scenario.hash for scenario in scenarios} == {protocol.scenarios[0].hash}


def test_what_causes_nothing_changes_no_hash(protocol: Protocol) -> None:
    """How long replies are expected to be, and other weights for the same marks."""
    scenario = protocol.scenarios[0]
    weighting = Weighting("other", "Other weights", ((protocol.dimensions[0].name, 100.0),))
    weighed = replace(protocol, weightings=(weighting,))

    assert replace(scenario, reply_tokens=999).hash == scenario.hash
    assert weighed.hash == protocol.hash == weighed.choose_weights("other").hash


def test_a_value_that_does_not_say_what_identifies_it_has_no_hash() -> None:
    """Its fields are not taken for it."""
    with pytest.raises(TypeError, match="Weighting has no canonical form"):
        hash_content(Weighting("other", "Other weights", ()))


def test_the_settings_of_a_subject_can_be_read_again() -> None:
    """As a store keeps them, and as an older version kept them that knew fewer settings."""
    model = ChatModel("acme/one", "openrouter", 0.7, 100, own_limit=True)
    known = {
        "model": "acme/one",
        "endpoint": "openrouter",
        "temperature": 0.7,
        "max_tokens": 100,
        "reasoning": "off",
    }

    assert read_chat_model({**model.causes(), "own_limit": True}) == model
    assert (
        read_chat_model(known).hash
        == model.hash
        == "7bf03e1f3dbe6c7e2e26774a340afaeae52b00d17f2cae6696a6ddd6203cfc52"
    )


TEXTS = st.text(st.characters(exclude_categories=())) | st.none() | st.integers()


@given(st.lists(TEXTS | st.lists(TEXTS) | st.dictionaries(st.sampled_from("abcd"), TEXTS)))
def test_the_fast_way_to_canonical_json_is_the_same_text(value: list[Any]) -> None:
    """Control characters, lone surrogates and large numbers included: a key that differed would buy
    a reply twice.
    """
    value = [dict(sorted(one.items())) if isinstance(one, dict) else one for one in value]

    assert write_presorted_canonical_json(value) == write_canonical_json(value)
    assert write_presorted_canonical_json(tuple(value)) == write_canonical_json(value)
