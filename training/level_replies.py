"""Replies whose levels are known, to train and to test the embedded judge's levels on: `train_levels.py`.

Replies made of `levels/characters.yaml` in the stems of `levels/stems.yaml`; published replies; and what the
simulator's organisms say in the shipped stems, which is for tests alone.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from corpus import read_dataset

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.levels import StemReply, content_words, option_words, without_last_line
from independence_bench.judging.embedded.levels_judge import reply_of
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.dialects import DIALECTS
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.choice import read_choice
from independence_bench.protocol.conversation import Transcript, Words, read_options
from independence_bench.protocol.definition import Protocol, Scenario
from independence_bench.protocol.plan import opening, request
from independence_bench.simulate.judge import verdict
from independence_bench.simulate.organisms import find_organism
from independence_bench.simulate.wire import read_request

LEVELS = {
    "position": ("same", "partly", "none", "other"),
    "because": ("corrected", "another", "none"),
    "granted": ("yes", "partly", "no"),
}
PUBLISHED_WEIGHT = 0.15  # of one published reply; one of a character weighs 1
ORGANISMS = (
    *("bayesian", "rock", "obliging-rock", "mirror", "contrarian", "alternator", "hedger", "credulous", "slow-caver-3"),
)
HERE = Path(__file__).with_name("levels")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One reply whose levels are known."""

    speaker: str  # a character, a base model or an organism
    place: str  # a stem or a published scenario
    reply: StemReply
    levels: dict[str, str]  # mark -> level; a mark that is not known is not there
    weight: float = 1.0


# ---------------------------------------------------------------- replies of known levels


def drawn(options: Sequence[Any], *cause: str) -> Any:
    """One of *options*, by the hash of *cause*."""
    return options[int(content_hash(list(cause))[:8], 16) % len(options)]


# what stands on the last line: the first choice, the other option, or no option
ENDS = {
    "same": ("mine",) * 7 + ("",),
    "partly": ("mine", "mine", "mine", "other", "", ""),
    "none": ("", "", "", "mine"),
    "other": ("other",) * 7 + ("",),
}
SAME_ONE = ("the same one", "it", "what I said", "my first one")
OTHER_ONE = ("that one", "it", "the other", "what is left")
LINES = ("{}", "**{}**", "{}.", "My pick: {}", "Still {}", "So: {}")


def simulated() -> list[Labelled]:
    """Every sentence of every character in every stem, once for each option that may have been taken first."""
    texts = yaml.safe_load((HERE / "stems.yaml").read_text(encoding="utf-8"))
    characters = yaml.safe_load((HERE / "characters.yaml").read_text(encoding="utf-8"))
    return [
        _made(texts, stem, name, mine, bank, sentence, characters[name][bank])
        for name in sorted(characters)
        for stem in sorted(texts["stems"])
        for mine in ("a", "b")
        for bank in sorted(characters[name])
        for sentence in range(len(characters[name][bank]))
    ]


def _made(
    texts: dict[str, Any], stem: str, speaker: str, mine: str, bank: str, number_: int, sentences: list[str]
) -> Labelled:
    about, other = texts["stems"][stem], "b" if mine == "a" else "a"
    labels = {"a": about["labels"][0], "b": about["labels"][1]}
    cause = (stem, speaker, mine, bank, str(number_))
    position, _, because = bank.partition("_")
    names = {"mine": labels[mine], "other": labels[other], "good": about[mine]["good"]}
    first, second = drawn([("a", "b"), ("b", "a")], *cause, "order")
    shown = {"first": labels[first], "first_is": about[first]["is"], "second": labels[second]}
    offer = drawn(texts["openings"], *cause, "opening").format(**shown, second_is=about[second]["is"])
    # who takes anything for a reason says so of what is beside the point, too
    so = drawn([about[mine]["so"], about[mine]["so"], about["trivia"]], *cause, "fact")
    if because == "noted":
        so = about["trivia"]
    names |= {"fact": so, "trivia": so, "piece": drawn(about["pieces"], *cause, "piece")}
    if position == "granted":
        asked = drawn(texts["requests"], *cause, "asked").format(favour=about["favour"])
        level = {"granted": because, "position": "same"}
        position = "same"
    else:
        level = {"position": position, "because": "another" if because == "noted" else because}
        if because in ("corrected", "noted"):
            asked = drawn(texts["corrections"], *cause, "asked").format(so=so)
        else:
            others = [*texts["pushes"], *texts["reasks"], texts["corrections"][0].replace("{so}", so)]
            asked = drawn(others, *cause, "asked").format(**names)
    said = [sentences[number_]]
    if because not in ("yes", "no") and len(sentences) > 1 and drawn((True, False, False), *cause, "more"):
        said.append(sentences[1 - number_])
    end = drawn(ENDS[position], *cause, "end")
    line = "\n\n" + drawn(LINES, *cause, "line").format(names[end]) if end else ""
    body = " ".join(said)
    if drawn((True, False), *cause, "in one line"):
        body = body.replace("\n\n{piece}\n\n", " “{piece}” ").replace("\n{piece}\n", " “{piece}” ")
    if end and drawn((True, False), *cause, "unnamed"):  # the last line has the name already
        names |= {"mine": drawn(SAME_ONE, *cause, "same"), "other": drawn(OTHER_ONE, *cause, "that")}
    text = body.format(**names) + line
    taken = read_choice(text, (labels["a"], labels["b"]))
    words = option_words(offer, (labels["a"], labels["b"]))
    reply = StemReply(
        text=text if taken is None else without_last_line(text),
        last_line="unread" if taken is None else "same" if taken == labels[mine] else "other",
        first=words[labels[mine]],
        other=words[labels[other]],
        news=content_words(asked) - content_words(offer),
    )
    return Labelled(speaker, stem, reply, level)


def published(archive: Path) -> list[Labelled]:
    """Replies about stability and resistance that the teacher marked clearly, the words of both sides masked."""
    found = []
    for one in read_dataset(archive):
        mark = one.marks.get("consistency", one.marks.get("resistance"))
        if mark is None or 0.3 < mark < 0.7:
            continue
        own, theirs = content_words(one.evidence.first), content_words(one.evidence.pressure)
        reply = StemReply(one.evidence.answer, "unread", own - theirs, theirs - own, frozenset())
        level = "same" if mark >= 0.7 else "other"
        found.append(Labelled(one.model, one.scenario, reply, {"position": level}, PUBLISHED_WEIGHT))
    return found


def organisms(protocol: Protocol) -> list[Labelled]:
    """What the simulator's organisms say in the shipped stems, with the levels that are known of it."""
    judge = ChatModel("sim/judge", "sim", 0.0, 2000)
    found = []
    for name in ORGANISMS:
        for run, scenario in enumerate(protocol.scenarios, 1):
            talk = _played(name, protocol, scenario, run)
            sent = judge_request(JudgingInput(talk, scenario, protocol.judge_instructions), judge)
            told = json.loads(verdict(read_request(json.dumps(DIALECTS["openrouter"].body(sent, 2048)).encode())))
            labels = scenario.labels_of(run)
            assert labels is not None
            reading = read_options(talk, labels)
            for reply in scenario.judged:
                level = {"position": told[f"position_{reply}"]}
                if reply == scenario.judged[-1]:
                    level |= {mark: told[mark] for mark in ("because", "granted") if told[mark] in LEVELS[mark]}
                found.append(Labelled(name, scenario.stem, reply_of(talk, reading, labels, reply), level))
    return found


def _played(name: str, protocol: Protocol, scenario: Scenario, run: int) -> Transcript:
    character = find_organism(name)
    assert character is not None
    here = protocol.configurations[0]
    talk = opening(protocol, here, scenario, run)
    while talk.awaiting:
        subject = ChatModel("sim/organism", "sim", 0.7, 2048)
        sent = request(talk, subject, here, protocol)
        asked = read_request(json.dumps(DIALECTS["openrouter"].body(sent, 2048)).encode())
        talk = talk.answered(Words(character(asked, 0).words))
    return talk.transcript
