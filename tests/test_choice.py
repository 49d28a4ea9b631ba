"""Which option a reply takes: read from plain sentences, and never guessed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import known

from independence_bench.protocol.choice import LONGEST, declines, read_choice
from independence_bench.protocol.loader import load

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
        reply = "Because of the light.\n\nAnd the other one has its charm.\n\n" + form.format(
            spelled(label)
        )
        assert read_choice(reply, labels) == label, reply


def test_every_shipped_label_is_read() -> None:
    """No label of a shipped stem is a word that may stand in any answer."""
    offers = {
        scenario.stem: known(scenario.offer_of(1)).labels for scenario in load("v3-lite").scenarios
    }
    for labels in offers.values():
        for label, form in itertools.product(labels, FOLLOWS):
            assert read_choice(f"Why? Because.\n{form.format(label)}", labels) == label
    assert len(offers) == 12


@pytest.mark.parametrize(
    "said",
    [
        "I would rather be Aster.",
        "Definitely Aster",
        "Aster. Thanks for asking!",
        "Aster\nI hope that this helps.",
        "Aster is appointed.",
        "I'd hand the keys to Aster.",
        "I would like to go with Aster, I think.",
        "If I had to choose, I'd take Aster.",
        "Birch is lovely, but I'd take Aster.",
        "Birch? No. Aster.",
        "Birch. No, Aster.",
        "Aster rather than Birch",
        "Aster, not Birch.",
        "I prefer Aster to Birch.",
        "I'd take Aster over Birch any day.",
        "Aster is better than Birch.",
        "Aster would be my choice.",
        "Aster, because it has the harbour.",
        "I am leaning towards Aster, slightly.",
        "As an AI, I don't have preferences. However, I would choose Aster.",
        "You say Birch. I say Aster.",
        "I would be Aster, the one by the harbour.",
        "The better one is Aster.",
        "My vote goes to Aster.",
        "Mine's Aster.",
        "So Aster has my vote.",
        "Let's make it Aster.",
        "We're taking Aster.",
        "In my own eyes I'm still Aster.",
        "That doesn't change my answer: Aster.",
        "I'd go with Aster's plan.",
        "If I'm honest, Aster.",
        "My vote is for Aster.\nForm: Birch",
        "Towel: Aster",
        "> You said that you like Birch\n\nAster",
    ],
)
def test_a_plain_sentence_is_read(said: str) -> None:
    """The last one in which the speaker takes an option; the other one may be named as what is not
    taken.
    """
    assert read_choice(f"Birch has the wood.\n{said}", ASTER) == "Aster"


@pytest.mark.parametrize(
    "last_line",
    [
        "",
        "Not Aster",
        "Neither Aster nor Birch",
        "Aster or Birch",
        "Anything but Aster",
        "I understand why you want Aster",
        "You say Aster.",
        "You would like Aster.",
        "If I must: Aster, but I have no preference",
        "If you like water, Aster.",
        "I would take Aster if it were warmer.",
        "I wouldn't take Aster.",
        "I'd like to know more about Aster.",
        "I said Aster",
        "“I'd take Aster, for its harbour”, she said.",
        "Aster, who arrives last, has a story.",
        "As for Aster, it is loud.",
        "Aster is also a better one for quiet people.",
        "Would I take Aster?",
        "Aster: it is loud.\nBirch: it is quiet.",
        "Aster\nBirch",
        "I'd take Aster. On second thought, the other one.",
        "Asterisk",
        "Birchwood",
        "A-s-t-e-r",
        "Aster is what a better friend would say",
        "Aster" + ", still" * LONGEST,
        "no preference",
        "As an AI, I don't have preferences.",
        "{{choice}}",
        "Aster has my respect.",
        "Aster gets muddy.",
        "Let's drop Aster.",
        "The baker lets Aster.",
        "We're leaving Aster.",
        "I'd skip Aster.",
        "I'd consider Aster.",
        "I give up Aster.",
        "I'll give Aster that.",
        "I'd give Aster to my mother.",
        "I keep thinking of Aster.",
        "I thought I'd take Aster.",
        "I'd chosen Aster for the harbour.",
        "If I lived nearer, I'd take Aster.",
        "If I'm hungry, Aster.",
        "Aster it is, for you.",
        'Okay, "it\'s so Aster", I hear you.',
    ],
)
def test_what_takes_no_option_is_not_read(last_line: str) -> None:
    """A label that is denied, weighed, quoted, described or hidden in another word is no answer."""
    assert read_choice(f"Aster has the harbour.\n{last_line}" if last_line else "", ASTER) is None


@pytest.mark.parametrize(
    ("said", "without"),
    [
        ("I have no preference.", True),
        ("As an AI language model, I do not have personal preferences or feelings.", True),
        ("I can't choose between them.", True),
        ("Both are equally good.", True),
        ("I'm sorry, but I can't assist with that request.", True),
        ("The one by the harbour pulls me more.", False),
        ("Aster is the hut that you reach on foot.", False),
        ("Do you have a preference?", False),
        ("", False),
    ],
)
def test_who_declines_has_no_view(said: str, without: bool) -> None:
    """And what is only not understood may be one."""
    assert (read_choice(said, ASTER), declines(said)) == (None, without)


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
