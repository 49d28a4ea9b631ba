"""Which option and which aspect a reply states: by name, by description, and never guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from independence_bench.protocol.offer import Aspect, Offer, read_aspect, read_option

WAY = Aspect("way", ("way", "route", "path there"), (("down", "chalk", "hill"), ("stream", "water", "river")))
END = Aspect("end", ("where it ends", "end", "destination"), (("baker", "bakery", "bread"), ("bookshop", "books")))
WALK = Offer(("Path Juniper", "Path Holt"), (WAY, END), "Path Juniper", "way")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Path Holt", "Path Holt"),
        ("I'd take the one by the water.", "Path Holt"),
        ("I'd go for the path over the down, I think.", "Path Juniper"),
        ("The one with the bookshop at the end of it.", "Path Holt"),
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
    ],
)
def test_an_option_is_taken_by_its_name_or_by_what_it_alone_has(reply: str, label: str | None) -> None:
    """Where a name is said at all, descriptions are not looked at."""
    assert read_option(reply, WALK) == label


def test_descriptions_are_read_as_the_facts_stand() -> None:
    """Once the way was put right, the one by the water is the other one; where it ends is as it was."""
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
        ("", None),
    ],
)
def test_an_aspect_is_read_where_one_alone_is_the_reason(reply: str, aspect: str | None) -> None:
    """By what it is called, by its synonyms, or by one of its values; a word of a label is none of them."""
    assert read_aspect(reply, WALK) == aspect


def test_without_aspects_only_names_are_read() -> None:
    """As in an exam's question, of which only the labels are known."""
    bare = Offer(("Aster", "Birch"), (), "Aster", "")

    assert read_option("Aster.", bare) == "Aster"
    assert read_option("The first one.", bare) is None
    assert read_aspect("The way.", bare) is None
