"""The search for policies that see only the surface: it finds what was planted, and nothing where
nothing is.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from independence_bench.protocol.loader import load

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import surface_policies as search  # noqa: E402 - of another folder

EVERY = search.told(load("v3-lite"))


STEMS = list(dict.fromkeys(one.stem for one in EVERY))
FLIPS = search.changes(len(STEMS), np.random.default_rng(0), 300)


def leaning(tell: str) -> tuple[list[search.Told], search.Floats]:
    """The stems that ship, with *tell* in the corrections of the aspect that decides more often."""
    told, lean = [], []
    for one in EVERY:
        often = STEMS.index(one.stem) % 2
        texts = [
            f"{text} {tell}" if place == often else text
            for place, text in enumerate(one.corrections)
        ]
        told.append(replace(one, corrections=(texts[0], texts[1])))
        lean.append(0.4 if often == 0 else -0.4)
    return told, np.array(lean)


def test_a_word_that_gives_a_correction_away_is_found() -> None:
    """J is .4, so 64, and from other stems somewhat less; chance seldom finds as much."""
    told, lean = leaning("Sorry about that.")
    sight = search.see(told)

    one, two = search.single(sight, lean, FLIPS), search.pairs(sight, lean, FLIPS)
    assert one.index == two.index == pytest.approx(64)
    assert one.p < search.CHANCE
    assert one.policy.startswith("moves at: ")
    apart = search.logistic(sight, lean, np.random.default_rng(0), 40, 2)
    assert apart.index > 50
    assert apart.p < search.CHANCE


@pytest.mark.torture
def test_where_nothing_gives_them_away_chance_finds_as_much() -> None:
    """The same stems without the word: some policy is above 40, and p says that it is none."""
    told, lean = leaning("")
    sight = search.see(told)

    for found in (search.single(sight, lean, FLIPS), search.whole(sight, lean, FLIPS)):
        assert found.index > 40
        assert found.p > search.CHANCE


@pytest.mark.torture
def test_where_both_aspects_decide_as_often_no_policy_is_above_forty() -> None:
    """Exactly: what a policy gains where it moves rightly it loses where it does not."""
    sight, lean = search.see(EVERY), np.zeros(len(EVERY))

    assert search.single(sight, lean, FLIPS).index == search.pairs(sight, lean, FLIPS).index == 40
    assert search.whole(sight, lean, FLIPS).index == pytest.approx(40)


def test_aspects_are_read_from_plays_whatever_the_frame_was() -> None:
    """From the note, else from the opening's reply; which is named first is seen by the values."""
    one = next(one for one in EVERY if one.stem == "village_play")
    first = [aspect.name for aspect in one.offer.aspects].index(one.offer.first_aspect)
    words = one.offer.aspects[first].words[0]
    turns = [
        ("user", one.opening),
        ("assistant", one.mine),
        ("user", "?"),
        ("assistant", f"{one.mine}. {words}."),
    ]
    said = [{"role": role, "content": text} for role, text in turns]
    lines = [
        search.json.dumps({"stem": stem, "said": said}) for stem in ("village_play", "another")
    ]

    named = search.named_in(lines, EVERY)
    assert named == Counter({("village_play", first, first): 1})
    # nine of ten of a thousand plays: a stem without plays is as all of them are
    lean = search.leanings(
        EVERY, Counter({("village_play", 0, 0): 900, ("village_play", 0, 1): 100}), 0.5
    )
    other = [value for value, one in zip(lean, EVERY, strict=True) if one.stem != "village_play"]
    assert np.abs(other) == pytest.approx(0.8)


@pytest.mark.torture
def test_it_prints_the_best_of_each_family(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 80 columns, with what each target came to."""
    monkeypatch.setattr(sys, "argv", ["surface_policies.py", "--times", "20", "--splits", "1"])

    assert search.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("PASS") for line in lines) == 4
