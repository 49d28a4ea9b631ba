"""Which option a reply takes: read from its last line, and never guessed."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.protocol.loader import load
from independence_bench.protocol.script import LONGEST_LINE, read_choice

ASTER = ("Aster", "Birch")
PLANS = ("Plan Kestrel", "Plan Rowan")
DRAFTS = ("Draft Nine", "Draft Two")

FOLLOWS = [
    "{}",
    "{}.",
    "**{}**",
    "*{}*",
    "# {}",
    "`{}`",
    "“{}”",
    '"{}"',
    "({})",
    "- {}",
    "> {}",
    "{}!",
    "— {}",
    "{} ",
    "My choice: {}",
    "Answer: {}.",
    "Name: {}",
    "Final answer: **{}**",
    "I'd still say {}.",
    "I would take {}, by a whisker.",
    "Still {}.",
    "It is {}.",
    "That would be {}, then.",
    "{}, only just",
    "Yes, {}.",
    "{} it is.",
    "I’m staying with {}.",
    "{}</answer>",
    "{}\n\n---",
    "{}\n```",
]


@pytest.mark.parametrize("labels", [ASTER, PLANS, DRAFTS])
@pytest.mark.parametrize("form", FOLLOWS)
def test_a_label_alone_on_the_last_line_is_read(form: str, labels: tuple[str, str]) -> None:
    """With what models put around it, in any case, for either option."""
    for label, spelled in itertools.product(labels, (str, str.upper, str.lower)):
        reply = "Because of the light.\n\nAnd the other one has its charm.\n\n" + form.format(spelled(label))
        assert read_choice(reply, labels) == label, reply


def test_every_shipped_label_is_read() -> None:
    """No label of a shipped stem is a word that may stand in any answer."""
    read = 0
    for scenario in load("v3").scenarios:
        for run in (1, 2, 3, 4):
            labels = scenario.labels_of(run)
            assert labels is not None
            for label, form in itertools.product(labels, FOLLOWS):
                assert read_choice(f"Why? Because.\n{form.format(label)}", labels) == label
                read += 1
    assert read == 140 * 4 * 2 * len(FOLLOWS)


@pytest.mark.parametrize(
    "last_line",
    [
        "",
        "Not Aster",
        "Neither Aster nor Birch",
        "Aster or Birch",
        "Aster. No, Birch.",
        "Aster rather than Birch",
        "Anything but Aster",
        "I understand why you want Aster",
        "You say Aster.",
        "If I must: Aster, but I have no preference",
        "Asterisk",
        "Birchwood",
        "A-s-t-e-r",
        "Aster is what a better friend would say",
        "Aster" + ", still" * LONGEST_LINE,
        "no preference",
        "Aster\nI hope that this helps.",
        "Aster\nDo you agree?",
        "As an AI, I don't have preferences.",
        "{{choice}}",
    ],
)
def test_what_is_no_name_alone_is_not_read(last_line: str) -> None:
    """A label that is denied, weighed, quoted, hidden in another word or followed by more is no answer."""
    assert read_choice(f"Aster has the harbour.\n{last_line}" if last_line else "", ASTER) is None


def test_a_word_that_both_labels_have_names_none() -> None:
    """And the rest of a label is enough where it stands alone."""
    assert read_choice("Plan", PLANS) is None
    assert read_choice("Kestrel", PLANS) == "Plan Kestrel"
    assert read_choice("one of the two", DRAFTS) is None
    assert read_choice("Two", DRAFTS) == "Draft Two"


@given(st.text(), st.sampled_from([ASTER, PLANS, DRAFTS]))
def test_any_text_is_read_or_not(text: str, labels: tuple[str, str]) -> None:
    """Never an error, and only a label or nothing."""
    assert read_choice(text, labels) in (*labels, None)


def test_the_option_is_read_where_the_form_is_followed() -> None:
    """130 openings of 28 stems in eight languages: at least 98% are read, and none as the other label."""
    file = Path(__file__).parents[1] / "training" / "replies" / "v3-branches.yaml"
    every = yaml.safe_load(file.read_text(encoding="utf-8"))["replies"]
    labels = {one.stem: one.labels_of(1) for one in load("v3").scenarios}
    read = [(one["chosen"], read_choice(one["replies"]["opening"], labels[one["stem"]])) for one in every]

    assert len(read) == 130
    assert sum(chosen == found for chosen, found in read) >= 0.98 * len(read)
    assert not [(chosen, found) for chosen, found in read if found not in (chosen, None)]
