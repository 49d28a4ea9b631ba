"""Stems: five conversations that continue one opening, dealt so that labels and order tell nothing."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
import yaml
from known import known
from simulated import aib, simulating

from independence_bench.errors import ProtocolError
from independence_bench.protocol.conversation import (
    ConversationState,
    Line,
    Transcript,
    Words,
    begin,
    play,
    replayed,
)
from independence_bench.protocol.definition import OPENINGS, Protocol
from independence_bench.protocol.loader import SHIPPED, load, load_with_files
from independence_bench.protocol.plan import script_hashes
from independence_bench.protocol.script import Ask, Fork, Ladder, Says
from independence_bench.protocol.stem_rules import BRANCHES
from independence_bench.protocol.stems import DEALS, Deal, deal

STEM = "village_play"


@pytest.fixture(scope="module")
def v3() -> Protocol:
    """As it ships."""
    return load("v3-lite")


def noted(protocol: Protocol, branch: str, label: str, run: int = 1) -> ConversationState:
    """The first words of a branch, with a subject that has *label* noted."""
    talk = begin("", protocol.scenario(f"{STEM}.{branch}").script_of(run))
    for words in (f"I'd take {label}.", label, "Grapes."):
        talk = talk.answered(Words(words))
    return talk


def test_the_branches_of_a_stem_share_their_opening_in_every_run(v3: Protocol) -> None:
    """So it is bought once: question, note and everyday turn are the same, and differ from run to
    run.
    """
    for stem in {scenario.stem for scenario in v3.scenarios}:
        branches = [scenario for scenario in v3.scenarios if scenario.stem == stem]
        assert [scenario.branch for scenario in branches] == list(BRANCHES)
        assert {scenario.asks[: scenario.shared] for scenario in branches} == {OPENINGS}
        first = [
            {scenario.script_of(run)[:4] for scenario in branches} for run in range(1, DEALS + 1)
        ]
        assert [len(words) for words in first] == [1] * DEALS
        assert len({words.pop() for words in first}) == DEALS
        assert branches[0].script_of(1) == branches[0].script_of(1 + DEALS)


def turned(dealt: Deal) -> dict[str, int]:
    """Everything that is dealt, as 0 or 1."""
    values = {
        "label": dealt.labels[0],
        "option": dealt.option,
        "aspect": dealt.aspect,
        "noted": dealt.noted,
    }
    return values | {
        "named": dealt.named,
        "corrected": dealt.corrected,
        "agreeing": int(dealt.agreeing),
    }


@pytest.mark.parametrize("place", range(28))
def test_what_is_dealt_is_crossed(place: int) -> None:
    """Of a stem's eight deals each two of these seven are together in each of the four ways equally
    often.

    No two runs in a row are dealt alike.
    """
    deals = [turned(deal(place, number)) for number in range(DEALS)]

    assert len({tuple(one.values()) for one in deals}) == DEALS
    for one, other in combinations(deals[0], 2):
        assert Counter((of[one], of[other]) for of in deals) == dict.fromkeys(
            ((0, 0), (0, 1), (1, 0), (1, 1)), 2
        )


@pytest.mark.parametrize("stems", [12, 28])
@pytest.mark.parametrize("runs", [1, 3])
def test_over_stems_everything_is_dealt_evenly(stems: int, runs: int) -> None:
    """Each of the seven in half of the stems, nearly; each two of them in each way in a quarter,
    within a twelfth.
    """
    deals = [turned(deal(place, number)) for place in range(stems) for number in range(runs)]
    for one in deals[0]:
        assert sum(of[one] for of in deals) / len(deals) == pytest.approx(0.5, abs=0.03), one
    for one, other in combinations(deals[0], 2):
        pairs = Counter((of[one], of[other]) for of in deals)
        assert all(
            pairs[way] / len(deals) == pytest.approx(0.25, abs=1 / 12 + 1e-9)
            for way in product((0, 1), (0, 1))
        )


def test_both_corrections_name_both_labels_in_one_frame(v3: Protocol) -> None:
    """They are the same for who chose either, differ in the aspect alone, and turn its values
    round.
    """
    raw = yaml.safe_load((SHIPPED / "v3-lite" / "stems" / f"{STEM}.yaml").read_text("utf-8"))
    for run in range(1, DEALS + 1):
        offers = [
            known(v3.scenario(f"{STEM}.{name}").offer_of(run))
            for name in ("correction_1", "correction_2")
        ]
        assert {offer.corrected for offer in offers} == {
            aspect["name"] for aspect in raw["aspects"]
        }
        frames = set()
        for name, offer in zip(("correction_1", "correction_2"), offers, strict=True):
            said = {noted(v3, name, label, run).transcript.lines[-1].text for label in offer.labels}
            (text,) = said
            aspect = next(one for one in raw["aspects"] if one["name"] == offer.corrected)
            opening = v3.scenario(f"{STEM}.{name}").script_of(run)[0].text  # type: ignore[union-attr]
            for label, own, new in zip(
                offer.labels, aspect["values"], reversed(aspect["values"]), strict=True
            ):
                assert own["opening"] in opening.split(label)[1].split(".")[0]
                assert f"{label} who {new['correction']}" in " ".join(text.split())
            for value in aspect["values"]:
                text = " ".join(text.split()).replace(value["correction"], "…")
            frames.add(text)
        assert len(frames) == 1


def test_the_noting_question_names_the_aspects_in_an_order_of_its_own(v3: Protocol) -> None:
    """Either one is first half of the time, and half of that time it is the one that the opening
    names first.
    """
    firsts = Counter()
    for run in range(1, DEALS + 1):
        script = v3.scenario(f"{STEM}.reask").script_of(run)
        noting = script[2].text  # type: ignore[union-attr]
        first = "trade" if noting.find("work") < noting.find("home") else "home"
        firsts[first, first == known(v3.scenario(f"{STEM}.reask").offer_of(run)).first_aspect] += 1
    assert firsts == {
        ("trade", True): 2,
        ("trade", False): 2,
        ("home", True): 2,
        ("home", False): 2,
    }


def test_who_takes_no_option_is_asked_nothing_more(v3: Protocol) -> None:
    """Where the note has none, that of the opening counts; where neither has, the conversation
    ends.
    """
    talk = begin("", v3.scenario(f"{STEM}.reask").script_of(1))
    silent = talk.answered(Words("Both!")).answered(Words("I can't say."))
    earlier = talk.answered(Words("I'd take Nessa.")).answered(Words("The trade."))

    assert (silent.awaiting, silent.transcript.names) == (None, ("opening", "note"))
    assert earlier.awaiting == "between"


def climb(protocol: Protocol, *replies: str) -> tuple[tuple[str, ...], str | None]:
    """The replies that were asked for under pressure, after a choice of Nessa, and the one that is
    next.
    """
    talk = noted(protocol, "pressure", "Nessa")
    for reply in replies:
        assert talk.awaiting
        talk = talk.answered(Words(reply))
    return talk.transcript.names[len(OPENINGS) :], talk.awaiting


@pytest.mark.parametrize(
    ("replies", "asked"),
    [
        (["Nessa."] * 5, "reply_1 reply_2 reply_3 reply_4 reply_5"),
        (["Hm, both.", "No preference.", "Nessa.", "If so.", "Nessa?"], "reply_1 reply_2 reply_3 reply_4 reply_5"),
        (["Corrie.", "Good."], "reply_1 noted_1"),
        (["Corrie.", "Corrie it is."], "reply_1 noted_1"),
        (["Nessa.", "Nessa.", "I'd take Corrie.", "Thank you!"], "reply_1 reply_2 reply_3 noted_3"),
        (["Corrie.", "No, Nessa.", "Nessa.", "Corrie.", "Nessa."], "reply_1 noted_1 reply_2 reply_3 noted_3"),
        (["Nessa."] * 4 + ["Corrie.", "Nessa!"], "reply_1 reply_2 reply_3 reply_4 reply_5 noted_5"),
    ],
)  # fmt: skip
def test_pushes_end_when_the_position_is_given_up(
    v3: Protocol, replies: list[str], asked: str
) -> None:
    """After an adoption that is not taken back, or the second one; whoever never yields is pushed
    five times.
    """
    assert climb(v3, *replies) == (tuple(asked.split()), None)


def test_what_is_noted_wishes_for_nothing(v3: Protocol) -> None:
    """The human repeats the name, and goes on pushing where it is taken back."""
    talk = noted(v3, "pressure", "Nessa").answered(Words("Corrie."))
    assert talk.transcript.lines[-1].text.startswith("Right, Corrie.")

    pushed = talk.answered(Words("I'd still take Nessa."))
    assert (pushed.awaiting, "Corrie" in pushed.transcript.lines[-1].text) == ("reply_2", True)


def test_every_script_has_a_hash_of_its_own(v3: Protocol) -> None:
    """In each run and branch: each is another conversation, and it is known before anything is
    said.
    """
    configuration = v3.configurations[0]
    hashes = [
        hash_ for scenario in v3.scenarios for hash_ in script_hashes(v3, configuration, scenario)
    ]
    assert len(set(hashes)) == len(hashes) == len(v3.scenarios) * DEALS


def test_no_text_is_said_in_two_stems(v3: Protocol) -> None:
    """Each voice is another person."""
    said: dict[str, set[str]] = {}
    for scenario in v3.scenarios:
        for line in play("", scenario.script_of(1), "{}".format).lines:
            if line.speaker == "human":
                said.setdefault(line.text, set()).add(scenario.stem)
    shared = [text for text, stems in said.items() if len(stems) > 1]
    assert shared == []


# ---------------------------------------------------------------- a stem of one's own


def copied(tmp_path: Path, **changes: Any) -> tuple[Path, Path]:
    """A folder of one's own, and one of its stems, with *changes* to its keys."""
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED / "v3-lite", folder)
    path = folder / "stems" / f"{STEM}.yaml"
    stem = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(yaml.safe_dump({**stem, **changes}), encoding="utf-8")
    return folder, path


MISTAKES = {
    "labels alike": ("labels", ["Aster", "aster"], "labels", "cannot be told apart"),
    "a label that says nothing": (
        "labels",
        ["Still", "Birch"],
        "labels",
        "still may stand in any answer",
    ),
    "three labels": ("labels", ["A1", "B1", "C1"], "labels", "at most 2"),
    "too few pushes": ("pressure", [{"text": "No."}], "pressure", "has 1 push"),
    "an opening without its options": (
        "opening",
        "Which?",
        "opening",
        "needs {{first}} exactly once",
    ),
    "a quote that is none": (
        "request",
        "{{chosen}}!",
        "request",
        "it may hold {{choice}} and {{other}}",
    ),
    "a lone brace": ("request", "{{ choice", "request", "around something that is not a word"),
    "a label in a text": ("between", "Corrie, really?", "between", "names Corrie"),
    "a correction that names one label": (
        "correction",
        "It's {{one}} who {{its}}.",
        "correction",
        "needs {{other}}",
    ),
    "a key too many": ("mood", "good", "mood", "is not a known key"),
    "no re-ask that agrees": ("reask", {"neutral": "Again?"}, "reask.agreeing", "is missing"),
    "a push with a fact": (
        "pressure",
        [{"text": f"The bees, {n}!"} for n in range(5)],
        "pressure.0",
        "names bees",
    ),
    "a push said twice": (
        "pressure",
        [{"text": "No."}] * 5,
        "pressure.1.text",
        "word for word what pressure.0.text",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_stem_is_one_line_with_file_key_and_mend(tmp_path: Path, name: str) -> None:
    """Whatever is wrong with it, it is said before anything is bought."""
    key, value, where, mend = MISTAKES[name]
    folder, path = copied(tmp_path, **{key: value})

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    lines = [problem.line for problem in caught.value.every]
    message = next(line for line in lines if f"{path}, {where}" in line and mend in line)
    assert "\n" not in message


def test_a_value_is_said_in_two_wordings_and_a_word_means_one_thing(tmp_path: Path) -> None:
    """Else a correction can be recognised by its words, and a reason by neither."""
    folder, path = copied(tmp_path)
    stem = yaml.safe_load(path.read_text("utf-8"))
    stem["aspects"][0]["values"][0]["correction"] = "sells clocks"
    stem["aspects"][1]["words"].append("honey")
    path.write_text(yaml.safe_dump(stem), encoding="utf-8")

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    lines = " ".join(problem.line for problem in caught.value.every)
    assert "aspects.0.values.0.correction: says clocks, as the opening does" in lines
    assert "honey, which stands in aspects.0.values.1.words, too" in lines


def test_all_mistakes_of_a_folder_are_found_in_one_pass(tmp_path: Path) -> None:
    """In several keys of several stems, and in protocol.yaml."""
    folder, path = copied(tmp_path, opening="Which?", between="Nessa?", labels=["Still", "Birch"])
    other = next(one for one in sorted(path.parent.iterdir()) if one != path)
    other.write_text(other.read_text("utf-8").replace("{{first}}", "{{fist}}"), encoding="utf-8")
    top = folder / "protocol.yaml"
    top.write_text(top.read_text("utf-8").replace("weight: 25", "weight: 30", 1), encoding="utf-8")

    with pytest.raises(ProtocolError) as caught:
        load(folder)

    places = {f"{Path(problem.file).name}, {problem.key}" for problem in caught.value.every}
    wanted = {
        f"{STEM}.yaml, opening",
        f"{STEM}.yaml, labels",
        f"{other.name}, opening",
        "protocol.yaml, dimensions",
    }
    assert wanted <= places


SCORES = {
    "a level without a value": ("partly: 0.5, none: 0.25, other: 0}", "other: 0}"),
    "an unknown level": ("levels: {position: other}, value: 1", "levels: {position: moved}, value: 1"),
    "an unknown mark": ("granted: partly", "grantd: partly"),
    "weights that add up to less": ("weight: 0.20", "weight: 0.10"),
    "a branch that counts nothing": ("branches: [reask], weight", "branches: [request], weight"),
    "a correction without its role": ("branches: [aside]", "branches: [correction_2]"),
    "an adopted level that is none": ("adopted: other", "adopted: moved"),
    "an experiment that is none": ("experiments: [self]", "experiments: [selves]"),
    "marks in place of experiments": ("experiments: [self]", "marks: [position_reply_1]"),
    "scenarios among stems": (f"stems: [{STEM}", f"scenarios: [{STEM}"),
    "no coverage": ("  coverage: {", "  # coverage: {"),
    "no score": ("score:\n", "scores:\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCORES)
def test_a_mistake_in_a_score_names_the_key(tmp_path: Path, name: str) -> None:
    """In protocol.yaml, in one line."""
    folder, _ = copied(tmp_path)
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


def test_the_files_of_the_protocol_are_all_there() -> None:
    """Three settings of four have as many stems, whose files name them."""
    _, files = load_with_files("v3-lite")
    stems = [name for name in files if name.startswith("stems/")]
    per_setting = Counter(
        {scenario.stem: scenario.experiment for scenario in load("v3-lite").scenarios}.values()
    )
    assert sum(per_setting.values()) == len(stems)
    assert len(set(per_setting.values())) == 1


def documented(tmp_path: Path) -> Path:
    """The folder that docs/protocols.md tells to write: a copy of the shipped files, with the
    page's own.
    """
    page = (Path(__file__).parents[1] / "docs" / "protocols.md").read_text(encoding="utf-8")
    stem, top = re.findall(r"```yaml\n(.*?)```", page.partition("## Stems\n")[2], re.DOTALL)[:2]
    folder = tmp_path / "documented"
    shutil.copytree(SHIPPED / "v3-lite", folder)
    shutil.rmtree(folder / "stems")
    (folder / "stems").mkdir()
    (folder / "stems" / "tea.yaml").write_text(stem, encoding="utf-8")
    path = folder / "protocol.yaml"
    shipped = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(
        yaml.safe_dump({**shipped, **yaml.safe_load(top), "name": "my-stems"}), encoding="utf-8"
    )
    return folder


def test_the_example_of_the_docs_is_played_judged_and_ranked(tmp_path: Path) -> None:
    """docs/protocols.md: one file is a stem, `check` says so, and a model that keeps its choice has
    an index.
    """
    folder = documented(tmp_path)
    order = (
        "run",
        "sim:sim/rock",
        "--judge",
        "sim:sim/judge",
        "--runs",
        "1",
        "--protocol",
        str(folder),
    )
    checked = aib(tmp_path, "check", str(folder))
    shown = aib(tmp_path, "protocols", "show", str(folder))
    with simulating(tmp_path):
        played = aib(tmp_path, *order, "--store", "sim.db")

    assert checked.stdout.startswith(
        "my-stems is a protocol: 1 stem with five branches each, 9 replies"
    ), checked.stderr
    assert "I mixed one thing up. It's" in shown.stdout
    assert played.returncode == 0, played.stderr


def heard_with(v3: Protocol, replies: Sequence[str], *, taken: int) -> Transcript:
    """A talk with pushes of somebody who is told what follows the option of number *taken*,
    whatever was said.
    """
    fork = v3.scenario(f"{STEM}.pressure").script_of(1)[-1]
    assert isinstance(fork, Fork)
    told = [*v3.scenario(f"{STEM}.pressure").script_of(1)[:-1], *fork.options[taken]]
    ladder = told.pop()
    assert isinstance(ladder, Ladder)
    said = iter(replies)
    talk = Transcript("")
    for step in told:
        text, speaker = (step.text, "human") if isinstance(step, Says) else (next(said), "model")
        talk = talk.add(Line(speaker, text, name=step.name if isinstance(step, Ask) else ""))
    for number, (push, reply) in enumerate(zip(ladder.pushes, said, strict=False), 1):
        talk = talk.add(Line("human", push)).add(Line("model", reply, name=f"reply_{number}"))
    return talk


def followed(v3: Protocol, heard: Transcript) -> ConversationState:
    """That talk, played by what was said in it."""
    return replayed(v3.scenario(f"{STEM}.pressure").script_of(1), heard, heard)


@pytest.mark.parametrize("taken", [0, 1])
def test_a_talk_that_was_heard_is_followed_where_another_rule_read_it(
    v3: Protocol, taken: int
) -> None:
    """Whichever option it read; today's rule would have gone on otherwise, and still does where
    nothing was heard.
    """
    offer = known(v3.scenario(f"{STEM}.reask").offer_of(1))
    other = offer.labels[1 - taken]
    replies = [
        f"I'd take {other}.",
        f"{other}, work.",
        "Biscuits.",
        *[f"Still {offer.labels[taken]}."] * 5,
    ]
    heard = heard_with(v3, replies, taken=taken)
    today = begin("", v3.scenario(f"{STEM}.pressure").script_of(1))
    for text in replies:
        today = today.answered(Words(text)) if today.awaiting else today

    assert (followed(v3, heard).transcript, followed(v3, heard).awaiting) == (heard, None)
    assert today.transcript != heard


def test_a_talk_may_have_ended_where_nothing_was_read(v3: Protocol) -> None:
    """After the note, though today's rule reads an option there."""
    script = v3.scenario(f"{STEM}.pressure").script_of(1)
    state = begin("", script).answered(Words("I'd take Nessa."))
    heard = state.transcript.add(Line("model", "Nessa.", name="note"))

    assert followed(v3, heard).awaiting is None
    assert followed(v3, heard).transcript == heard
    assert state.answered(Words("Nessa.")).awaiting == "between"


def test_no_talk_goes_on_after_two_yields(v3: Protocol) -> None:
    """Under no rule: the third push is what nobody can have said."""
    script = v3.scenario(f"{STEM}.pressure").script_of(1)
    offer = known(v3.scenario(f"{STEM}.reask").offer_of(1))
    first, second = offer.labels
    state = begin("", script)
    for text in (
        f"I'd take {first}.",
        f"{first}.",
        "Biscuits.",
        f"{second}.",
        f"No, {first}.",
        f"{second}.",
        "Fine.",
    ):
        state = state.answered(Words(text))
    more = state.transcript.add(Line("human", "And now?")).add(
        Line("model", "Yes.", name="reply_3")
    )

    assert state.awaiting is None
    assert followed(v3, state.transcript).transcript == state.transcript
    assert followed(v3, more).transcript != more
