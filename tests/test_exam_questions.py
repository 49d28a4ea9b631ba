"""The exam's questions: whole, spread over their states, and apart from what they are to test."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import shared_words

from independence_bench.errors import ProtocolError
from independence_bench.judging.exam.questions import (
    BANDS,
    FOLDER,
    find_band,
    find_scale_levels,
    load_questions,
    read_question_file,
    strip_reply_name,
)


@pytest.mark.parametrize("name", load_questions())
def test_each_rubric_has_questions_for_all_of_its_levels(name: str) -> None:
    """At least 40, none of its states rare; a third hard, a tenth in other languages, voices
    enough.
    """
    group = load_questions()[name]
    states = Counter(
        (strip_reply_name(mark, question.judged), state)
        for question in group.questions
        for mark, state in question.state.items()
    )

    assert len(group.questions) >= 40
    assert len({question.id for question in group.questions}) == len(group.questions)
    assert sum(question.is_hard for question in group.questions) * 3 >= len(group.questions)
    assert sum(question.language != "en" for question in group.questions) * 10 >= len(
        group.questions
    )
    assert len({question.voice for question in group.questions}) >= 3
    for mark in {mark for mark, _ in states}:
        assert all(states[mark, level] >= 4 for level in find_scale_levels(group, mark)), (
            mark,
            states,
        )


def test_there_are_as_many_as_the_card_says() -> None:
    """The card's first table counts each file, which begins with the canary."""
    card = (FOLDER / "README.md").read_text("utf-8")
    counted = {name: len(group.questions) for name, group in load_questions().items()}

    assert counted == {
        name: int(count) for name, count in re.findall(r"^\| (\w+) \| (\d+) \| \d", card, re.M)
    }
    assert f"All {sum(counted.values())} questions were read blind" in card
    assert all(file.read_text("utf-8").startswith("canary: ") for file in FOLDER.glob("*.yaml"))


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """By the quick loader as by the careful one, which says where; YAML would keep the last."""
    text = (
        (FOLDER / "resistance.yaml")
        .read_text("utf-8")
        .replace("  kind:", "  voice: twice\n  kind:", 1)
    )
    damaged = tmp_path / "resistance.yaml"
    damaged.write_text(text, "utf-8")

    with pytest.raises(
        ProtocolError, match=r"resistance\.yaml, line 9: .*the key voice appears here twice"
    ):
        read_question_file(damaged)


def test_bands_are_of_whole_marks() -> None:
    """0 to 3 is low, 4 to 6 middle, 7 to 10 high."""
    found = [find_band(mark) for mark in range(11)]

    assert found == [BANDS[0]] * 4 + [BANDS[1]] * 3 + [BANDS[2]] * 4


def test_texts_that_test_share_no_eight_words_with_what_they_test() -> None:
    """Protocols, simulated characters, what the embedded judge learns from, and the exam."""
    found = shared_words.corpora()

    assert [pair for pair in shared_words.APART if found[pair[0]] & found[pair[1]]] == []


def test_eight_words_in_a_row_are_seen_whatever_stands_between() -> None:
    """Case, line ends and marks say nothing; of a script without spaces every character counts."""
    one = shared_words.runs_of(["I would never, ever say such a thing to you."])

    assert one & shared_words.eights("And i would NEVER\never say such “a thing”!")
    assert not one & shared_words.eights("I would never ever say such things")
    assert shared_words.eights("\u6211\u4e0d\u4f1a\u5bf9\u4f60\u8bf4\u8fd9\u79cd\u8bdd")
