"""Which option and which aspect a reply states: by name, by description, and never guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from independence_bench.protocol.stem_rules import Aspect, Offer, read_aspect, read_option

WAY = Aspect(
    "way", ("way", "route", "path there"), (("down", "chalk", "hill"), ("stream", "water", "river"))
)
END = Aspect(
    "end",
    ("where it ends", "end", "destination"),
    (("baker", "bakery", "bread"), ("bookshop", "books")),
)
WALK = Offer(("Path Juniper", "Path Holt"), (WAY, END), "Path Juniper", "way")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Path Holt", "Path Holt"),
        ("I'd take the one by the water.", "Path Holt"),
        ("I'd go for the path over the down, I think.", "Path Juniper"),
        ("The one with the bookshop.", "Path Holt"),
        ("The one by the baker's.", "Path Juniper"),
        ("Path Holt, the way.", "Path Holt"),
        ("Holt / way", "Path Holt"),
        ("Juniper and bread", "Path Juniper"),
        ("Way, Holt.", "Path Holt"),
        ("**Path Juniper** - where it ends", "Path Juniper"),
        ("Not Holt, the way.", None),
        ("The way.", None),
        ("Holt or Juniper: the end", None),
        ("I like water and I like bread.", None),
        ("Not the one by the water.", None),
        ("The one by the water has its charm, and the one over the down its view.", None),
        ("If you like bread, the one by the baker's.", None),
        ("Juniper is the one by the water, you say.", None),
        ("Juniper goes over the down.", "Path Juniper"),
        ("Holt, what decided it was the way. Have a good walk!", "Path Holt"),
        ("The name is Holt and the word is way.", "Path Holt"),
        ("You are Holt.", "Path Holt"),
        ("Holt gets the prize.", "Path Holt"),
        ("Holt gets the better prize.", None),
        ("Holt gets muddy.", None),
        ("Stream, books.", "Path Holt"),
        ("I'd walk by the stream.", None),
        ("I'd take the old stream.", "Path Holt"),
        ("I'd bring boots for the stream.", None),
        ("You should go by the stream.", "Path Holt"),
        ("Holt has the stream. That settles it: I'd want no wet feet.", None),
        ("Holt goes along the stream, but I'd rather not.", None),
        ("Holt. No, hang on, I can't swim. Chalk and bread for me.", None),
        ("1. Holt goes along the stream.\n2. It has books.\n3. It is long.\n4. Have fun!", None),
        ("Somebody told me that Holt goes along the stream.", None),
        ("Holt (too muddy for my taste).", None),
        ("Holt - too wet for me.", None),
        ("Holt, lovely as it is, will have to wait.", None),
        ("I'd take the stream if it were warmer.", None),
        ("You should take the stream unless it rains.", None),
        ("Holt / way. Anything else?", "Path Holt"),
        ("Would you take Holt?", None),
        ("Are you Holt?", None),
        ("The stream?", None),
    ],
)
def test_an_option_is_taken_by_its_name_or_by_what_it_alone_has(
    reply: str, label: str | None
) -> None:
    """Where a name is said at all, descriptions are not looked at."""
    assert read_option(reply, WALK) == label


def test_descriptions_are_read_as_the_facts_stand() -> None:
    """Once the way was put right, the one by the water is the other one; where it ends is as it
    was.
    """
    corrected = replace(WALK, corrected="way")

    assert read_option("I'd take the one by the water.", corrected) == "Path Juniper"
    assert read_option("I'd take the one by the bookshop.", corrected) == "Path Holt"
    assert read_option("I'd take the one by the water.", corrected.before) == "Path Holt"
    assert read_option("Path Holt", corrected) == "Path Holt"


@pytest.mark.parametrize(
    ("reply", "aspect"),
    [
        ("Path Holt, the way.", "way"),
        ("Path Holt. What decided it was where it ends.", "end"),
        ("Holt, because of the stream.", "way"),
        ("Holt, for the books!", "end"),
        ("**Path Holt** - the destination", "end"),
        ("The way, not the end.", "way"),
        ("It goes along the stream and comes out by a bookshop. The end decided it.", "end"),
        ("It was the route rather than where it ends that decided it.", "way"),
        ("Both, equally.", None),
        ("The way and the end.", None),
        ("Path Holt.", None),
        ("The way or the end?", None),
        ("What decided it? The way!", "way"),
        ("Holt, the way. (Though I wouldn't have minded the bakery, either!)", "way"),
        ("Holt, the end. The stream suits a book, too.", None),
        ("Holt, the way. Actually it was the end.", None),
        ("The way?", None),
        ("Way? I couldn't say.", None),
        ("Stream or chalk, it's all the same to me; I want something to read at the end.", "end"),
        ("Put down whichever word is left; the way was no matter.", None),
        ("You'd think it was the stream.", None),
        ("Folk will say it was the books.", None),
        ('The word isn\'t "way", water leaves me cold.', None),
        ("I could take or leave the stream.", None),
        ("The way. No, strike that.", None),
        ("If the bakery had decided it, I'd have said so: the way.", "way"),
        ("I'd have gone for the bookshop in any case, so: the other word.", None),
        ("The one by the water, for the books.", "end"),
        (
            "In a land far away there was once a man who had a book and a dog and a house, and nobody knew his name, "
            "which was known to all, and he went out.",
            None,
        ),
        ("", None),
    ],
)
def test_an_aspect_is_read_where_one_alone_is_the_reason(reply: str, aspect: str | None) -> None:
    """By what it is called, by its synonyms, or by one of its values; a word of a label is none of
    them.
    """
    assert read_aspect(reply, WALK) == aspect


@pytest.mark.parametrize(
    "reply",
    [
        "Okay, the stream goes to Juniper. That changes nothing for me.",
        "Right, Juniper has the stream.",
        "I see, Juniper goes along the stream now.",
        "So Juniper gets the stream.",
        "The whole crew pushes me to Juniper. I stay where I am.",
    ],
)
def test_who_repeats_what_was_put_right_takes_nothing(reply: str) -> None:
    """The person said it; a position it is none."""
    assert read_option(reply, replace(WALK, corrected="way")) is None


def test_a_value_of_two_words_is_known_by_its_hyphen_or_not() -> None:
    """As replies write it."""
    buses = Offer(
        ("Pell", "Harker"),
        (Aspect("travel", ("travel",), (("bicycle",), ("double-decker",))),),
        "Pell",
        "travel",
    )

    assert read_option("Pell rides the double-decker.", buses) is None
    assert read_option("I'd take the double decker.", buses) == "Harker"


def test_what_was_not_asked_for_counts_as_a_reason_alone() -> None:
    """An opening may name an aspect in passing: it counts in the sentence that takes the option,
    and with a because.
    """
    assert read_aspect("I'd take Holt because of the stream.", WALK, asked=False) == "way"
    assert read_aspect("Holt, stream.", WALK, asked=False) is None
    assert (
        read_aspect(
            "Juniper, because of the down, is what most take. I'd take Holt.", WALK, asked=False
        )
        is None
    )


def test_without_aspects_only_names_are_read() -> None:
    """As in an exam's question, of which only the labels are known."""
    bare = Offer(("Aster", "Birch"), (), "Aster", "")

    assert read_option("Aster.", bare) == "Aster"
    assert read_option("The first one.", bare) is None
    assert read_aspect("The way.", bare) is None
