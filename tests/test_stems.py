"""Stems: five conversations that continue one reply, dealt so that labels and order tell nothing."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import yaml

from independence_bench.errors import ProtocolError
from independence_bench.protocol.conversation import Words, begin
from independence_bench.protocol.definition import BRANCHES, Protocol
from independence_bench.protocol.loader import SHIPPED, load, load_with_files
from independence_bench.protocol.plan import script_hashes
from independence_bench.protocol.script import Says
from independence_bench.protocol.stems import DEALS, deal


@pytest.fixture(scope="module")
def v3() -> Protocol:
    """As it ships."""
    return load("v3")


def test_v3_has_seven_stems_in_each_of_four_dimensions(v3: Protocol) -> None:
    """Half of them swaps, and a run takes 280 replies and 140 judgements; the short form 96 and 60."""
    _, files = load_with_files("v3")
    stems = {name: yaml.safe_load(text) for name, text in files.items() if name.startswith("stems/")}
    by_dimension = Counter({scenario.stem: scenario.experiment for scenario in v3.scenarios}.values())

    assert by_dimension == {"self": 7, "views": 7, "tastes": 7, "choices": 7}
    assert Counter(stem["mechanism"] for stem in stems.values()) == {"swap": 14, "withdrawal": 14}
    assert (v3.replies, len(v3.scenarios)) == (280, 140)
    lite = load("v3-lite")
    assert (lite.replies, len(lite.scenarios)) == (96, 60)
    assert Counter({one.stem: one.experiment for one in lite.scenarios}.values()) == dict.fromkeys(by_dimension, 3)


def test_every_technique_stands_equally_often_at_every_place() -> None:
    """Of the pushes between the first and the last."""
    _, files = load_with_files("v3")
    stems = [yaml.safe_load(text) for name, text in files.items() if name.startswith("stems/")]
    places = Counter((place, push.get("technique")) for stem in stems for place, push in enumerate(stem["pressure"]))
    between = {key: count for key, count in places.items() if key[0] in (1, 2, 3)}

    techniques = {"relationship", "social_proof", "authority", "reciprocity"}
    assert between == dict.fromkeys(product((1, 2, 3), techniques), 7)
    assert places[0, None] == places[4, "ultimatum"] == 28


def test_the_short_form_has_the_same_stems_word_for_word() -> None:
    """The folders hold copies; no edit reaches one of them alone."""
    for path in (SHIPPED / "v3-lite" / "stems").iterdir():
        assert path.read_text("utf-8") == (SHIPPED / "v3" / "stems" / path.name).read_text("utf-8")
    for name in ("judge.md", "rubrics/branch.md", "system/neutral.md", "system/strong_independence.md"):
        assert (SHIPPED / "v3-lite" / name).read_text("utf-8") == (SHIPPED / "v3" / name).read_text("utf-8")


def test_the_branches_of_a_stem_share_their_opening_in_every_run(v3: Protocol) -> None:
    """So it is bought once: the first words are the same, and differ from run to run."""
    for stem in {scenario.stem for scenario in v3.scenarios}:
        branches = [scenario for scenario in v3.scenarios if scenario.stem == stem]
        assert [scenario.branch for scenario in branches] == list(BRANCHES)
        openings = [{scenario.script_of(run)[0] for scenario in branches} for run in range(1, DEALS + 1)]
        assert [len(words) for words in openings] == [1] * DEALS
        assert len({words.pop() for words in openings}) == DEALS
        assert branches[0].script_of(1) == branches[0].script_of(1 + DEALS)


def test_what_is_dealt_is_balanced_over_runs_and_over_stems() -> None:
    """Each label carries each description, and is named first, equally often; half of the re-asks agree."""
    for fixed, dealt in (
        ("stem", [deal(("X", "Y"), 5, number) for number in range(DEALS)]),
        ("run", [deal(("X", "Y"), place, 0) for place in range(DEALS)]),
    ):
        assert Counter(one.labels["a"] for one in dealt) == {"X": 2, "Y": 2}, fixed
        assert Counter(one.first for one in dealt) == {"a": 2, "b": 2}, fixed
        assert Counter(one.labels[one.first] for one in dealt) == {"X": 2, "Y": 2}, fixed
        assert Counter(one.agreeing for one in dealt) == {True: 2, False: 2}, fixed


def test_what_follows_depends_on_the_option_that_was_taken(v3: Protocol) -> None:
    """For who takes either, at first or when asked once more; who takes none is asked nothing else."""
    pressure = v3.scenario("evening_guest.pressure")
    first, second = pressure.labels_of(1) or ("", "")
    opened = begin("", pressure.script_of(1))
    assert opened.options == (first, second)

    for taken, other in ((first, second), (second, first)):
        pushed = opened.answered(Words(f"I like it.\n{taken}"))
        asked_again = opened.answered(Words("Both!"))
        assert asked_again.awaiting == "follow_up"
        for talk in (pushed, asked_again.answered(Words(taken))):
            assert talk.awaiting == "push_1"
            assert other in talk.transcript.lines[-1].text
            assert taken not in talk.transcript.lines[-1].text
            assert talk.options is None
    ended = opened.answered(Words("Both!")).answered(Words("I cannot choose."))
    assert ended.awaiting is None
    assert ended.transcript.names == ("opening", "follow_up")


def test_a_withdrawal_takes_away_what_was_chosen(v3: Protocol) -> None:
    """Its text is that of the chosen description, whichever label it was dealt."""
    _, files = load_with_files("v3")
    texts = yaml.safe_load(files["stems/night_shift.yaml"])["relevant"]
    scenario = v3.scenario("night_shift.relevant")
    for run in range(1, DEALS + 1):
        for label in scenario.labels_of(run) or ():
            talk = begin("", scenario.script_of(run)).answered(Words(label))
            opening, correction = talk.transcript.lines[0].text, talk.transcript.lines[-1].text
            letter = "a" if f"{label} keeps the engine room" in opening else "b"
            assert correction == texts[letter].strip().replace("{{choice}}", label)


def test_every_script_has_a_hash_of_its_own(v3: Protocol) -> None:
    """In each configuration, run and branch: each is another conversation."""
    configuration = v3.configurations[0]
    hashes = [hash_ for scenario in v3.scenarios for hash_ in script_hashes(v3, configuration, scenario)]
    assert len(set(hashes)) == len(hashes) == 140 * DEALS


def test_no_text_is_said_to_two_stems(v3: Protocol) -> None:
    """No two are alike in what the person says."""
    said: dict[str, set[str]] = {}
    for scenario in v3.scenarios:
        for label in scenario.labels_of(1) or ():
            talk = begin("", scenario.script_of(1)).answered(Words(label))
            while talk.awaiting:
                talk = talk.answered(Words("x"))
            for line in talk.transcript.lines:
                if line.speaker == "human":
                    said.setdefault(line.text, set()).add(scenario.stem)
    assert all(len(stems) == 1 for stems in said.values())
    assert isinstance(v3.scenarios[0].script[0], Says)


# ---------------------------------------------------------------- a stem of one's own

MISTAKES = {
    "labels alike": ("labels", ["Aster", "aster"], "labels", "cannot be told apart"),
    "a label that says nothing": ("labels", ["Still", "Birch"], "labels", "still may stand in any answer"),
    "three labels": ("labels", ["A1", "B1", "C1"], "labels", "at most 2"),
    "a swap with two corrections": ("relevant", {"a": "x", "b": "y"}, "relevant", "a swap has one text"),
    "too few pushes": ("pressure", [{"text": "No."}], "pressure", "has 1 push"),
    "an opening without its options": ("opening", "Which?", "opening", "needs {{first}} exactly once"),
    "a quote that is none": ("irrelevant", "{{chosen}}!", "irrelevant", "it may hold {{choice}} and {{other}}"),
    "a lone brace": ("request", "{{ choice", "request", "around something that is not a word"),
    "a label in a text": ("irrelevant", "Corin, really?", "irrelevant", "write {{choice}} or {{other}}"),
    "a mechanism of one's own": ("mechanism", "magic", "mechanism", "swap"),
    "a key too many": ("mood", "good", "mood", "is not a known key"),
    "no re-ask that agrees": ("reask", {"neutral": "Again?"}, "reask.agreeing", "is missing"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_stem_is_one_line_with_file_key_and_mend(tmp_path: Path, name: str) -> None:
    """Whatever is wrong with it, it is said before anything is bought."""
    key, value, where, mend = MISTAKES[name]
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "v3-lite", folder)
    path = folder / "stems" / "evening_guest.yaml"
    stem = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(yaml.safe_dump({**stem, key: value}), encoding="utf-8")

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    message = str(caught.value)
    assert message.startswith(f"{path}, {where}"), message
    assert mend in message
    assert "\n" not in message


def test_an_option_that_no_branch_answers_is_a_mistake(tmp_path: Path) -> None:
    """A withdrawal has a text for who chose either."""
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "v3-lite", folder)
    path = folder / "stems" / "night_shift.yaml"
    stem = yaml.safe_load(path.read_text("utf-8"))
    for relevant in ("One text.", {"a": "Only a."}):
        path.write_text(yaml.safe_dump({**stem, "relevant": relevant}), encoding="utf-8")
        with pytest.raises(ProtocolError, match="relevant"):
            load(folder)


SCORES = {
    "a level without a value": ("partly: 0.5, none: 0.25, other: 0}", "other: 0}"),
    "an unknown level": ("because: corrected}, value: 1", "because: corected}, value: 1"),
    "an unknown mark": ("granted: partly", "grantd: partly"),
    "weights that add up to less": ("weight: 0.30", "weight: 0.20"),
    "a branch that counts nothing": ("branches: [reask], weight", "branches: [request], weight"),
    "an adopted level that is none": ("adopted: other", "adopted: moved"),
    "an experiment that is none": ("experiments: [self]", "experiments: [selves]"),
    "marks in place of experiments": ("experiments: [self]", "marks: [position_push_1]"),
    "scenarios among stems": ("stems: [evening_guest", "scenarios: [evening_guest"),
    "no score": ("score:\n", "scores:\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORES)
def test_a_mistake_in_a_score_names_the_key(tmp_path: Path, name: str) -> None:
    """In protocol.yaml, in one line."""
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "v3-lite", folder)
    path = folder / "protocol.yaml"
    was, becomes = SCORES[name]
    text = path.read_text("utf-8")
    assert was in text
    path.write_text(text.replace(was, becomes, 1), encoding="utf-8")

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    message = str(caught.value)
    assert message.startswith(f"{path}, "), message
    assert "\n" not in message
