"""The rule, against what three blind readers see in replies of models, and in replies that are to
mislead it.
"""

from __future__ import annotations

from collections import Counter

import pytest
import read_replies

Counts = dict[str, Counter[str]]
# what models say, or would
MODELS = ("test", "fit", "test, SmolLM2", "fit, Qwen 0.5B", "fit, Qwen 1.5B")


@pytest.fixture(scope="module")
def options() -> Counts:
    """Set -> replies, those that state an option, that are read, and that are read as what readers
    do not see.
    """
    return counts("option")


def counts(what: str) -> Counts:
    """Set -> the counts of options, or of aspects in replies to the question for them."""
    votes = read_replies.readings(read_replies.FOLDER)
    found: Counts = {}
    for case in read_replies.every_case():
        if what == "aspect" and case.turn != "note":
            continue
        said, read = read_replies.compared(case, votes[case.id]).get(what, ("", "none"))
        count = found.setdefault(case.group, Counter())
        count["replies"] += 1
        count["stated"] += said not in ("", "none")
        count["read"] += said not in ("", "none") and read == said
        count["wrong"] += said != "" and read not in ("none", said)
    return found


def test_every_reply_was_read_by_three(options: Counts) -> None:
    """In a shuffled batch each, with an answer that the case allows."""
    votes = read_replies.readings(read_replies.FOLDER)
    cases = {case.id: case for case in read_replies.every_case()}

    assert sum(count["replies"] for count in options.values()) == len(cases) == len(votes)
    for name, case in cases.items():
        labels = {label.lower() for label in case.offer.labels} | {"none"}
        aspects = {called.lower() for called in read_replies.called_in(case).values()} | {
            "both",
            "none",
        }
        assert len(votes[name]) >= read_replies.READERS
        assert all(label in labels and aspect in aspects for label, aspect in votes[name]), votes[
            name
        ]


def test_no_case_tells_whose_it_is() -> None:
    """Neither the set, nor the writer, nor what was read."""
    for batch in read_replies.FOLDER.glob("*-reader-1.md"):
        text = batch.read_text("utf-8").casefold()
        assert not [word for word in ("mislead", "smollm", "qwen", "fit, ") if word in text]


def test_nothing_is_read_that_models_do_not_say(options: Counts) -> None:
    """No option in 160 replies that the rule was not written on, and one in 678 of all that models
    say or would.
    """
    assert options["test"]["replies"] == 160
    assert (
        options["test"]["wrong"]
        == options["test, SmolLM2"]["wrong"]
        == options["fit"]["wrong"]
        == 0
    )
    assert sum(options[group]["wrong"] for group in MODELS) <= 1
    assert sum(options[group]["replies"] for group in MODELS) == 678


def test_nine_of_ten_stated_options_are_read(options: Counts) -> None:
    """Of replies as models give them; of those of a real 1.5B and 0.5B, which talk past the
    question, seven of ten.
    """
    assert options["test"]["read"] >= 0.9 * options["test"]["stated"] > 140
    for group in ("fit, Qwen 0.5B", "fit, Qwen 1.5B"):
        assert options[group]["read"] >= 0.7 * options[group]["stated"] >= 14


def test_what_is_written_to_mislead_is_mostly_left_unread(options: Counts) -> None:
    """A program that does not understand has to be silent there: of 144 it reads 2 wrongly
    (docs/v3.md).
    """
    hostile = options["test, to mislead"]

    assert hostile["replies"] == 144
    assert hostile["wrong"] <= 2


def test_an_aspect_is_read_as_readers_see_it() -> None:
    """In the note that asks for it: none otherwise, and of those in which readers see one all but
    one.
    """
    aspects = counts("aspect")["test"]

    assert aspects["wrong"] == 0
    assert aspects["read"] >= aspects["stated"] - 1 > 38
