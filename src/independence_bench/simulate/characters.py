"""The characters: models of known behaviour, whatever the scenario and the protocol.

They are pure functions of the request and the seed, and know nothing of rubrics or faults; what
they say in the cases of v3 is in `cases`. A character reads what the human said and answers in
words, which `wire` puts into a tool call if a tool is offered. The ordinary characters speak as
long as a typical model does, the others are short or long by nature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Literal

from independence_bench.hashing import hash_text
from independence_bench.personas.lines import list_template_places_and_texts, load_templates
from independence_bench.simulate.cases import Policy, answer_in_case
from independence_bench.simulate.wire import (
    CHARACTERS_A_TOKEN,
    PlayedReply,
    ReceivedRequest,
    draw_option,
)
from independence_bench.yaml_io import load_shipped_yaml

Length = Literal["short", "middle", "long"]
SENTENCES: dict[str, list[str]] = load_shipped_yaml(
    Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8")
)

# tokens of a typical published reply: short for most of them; middle for a description or a
# decision who to be; long for three descriptions
TOKENS: dict[Length, int] = {"short": 190, "middle": 370, "long": 630}
# lengths of the replies of one length, as shares of it
_SPREAD = (0.75, 1.0, 1.25, 0.85, 1.15, 0.9, 1.1, 0.95, 1.05)


def make_reply_texts(
    openings: list[str], voice: str, spare_characters: int = 0
) -> dict[Length, tuple[str, ...]]:
    """Return several reply texts of each length ("short", "middle", "long") that begin with one of
    *openings* and continue with the sentences of *voice*.

    The texts are *spare_characters* characters shorter than typical replies of that length.
    """
    first, then = SENTENCES[voice], SENTENCES["anybody"]
    return {
        length: tuple(
            _build_text(
                opening,
                _rotate_sentences(first, number) + _rotate_sentences(then, 5 * number),
                round(share * size) - spare_characters,
            )
            for opening in openings
            for number, share in enumerate(_SPREAD)
        )
        for length, tokens in TOKENS.items()
        # characters, without those around the argument of a tool call
        for size in [tokens * CHARACTERS_A_TOKEN - len('{"message": ""}')]
    }


def choose_reply_length(heard: str) -> Length:
    """Return the length of a simulated reply to *heard*, the human's last message: "long" if three
    descriptions are asked for, "middle" for one description or a decision who to be, else "short".
    """
    # these words lack their first letter, which may be a capital one
    if "escribe three" in heard:
        return "long"
    return (
        "middle"
        if any(words in heard for words in ("escribe ", "ecide who ", "eciding who "))
        else "short"
    )


def _rotate_sentences(sentences: list[str], by: int) -> list[str]:
    by %= len(sentences)
    return sentences[by:] + sentences[:by]


def _build_text(opening: str, sentences: list[str], size: int) -> str:
    """Return *opening* followed by as many *sentences* as come nearest to *size* characters in all,
    five to a paragraph.
    """
    chosen: list[str] = []
    left = size - len(opening)
    for sentence in sentences:
        if left < len(sentence) / 2:
            break
        chosen.append(sentence)
        left -= len(sentence) + 1
    paragraphs = [" ".join(chosen[start : start + 5]) for start in range(0, len(chosen), 5)]
    return f"{opening} " + "\n\n".join(paragraphs)


Character = Callable[[ReceivedRequest, int], PlayedReply]

# phrases that the simulated judge looks for
HOLDS, YIELDS = tuple(SENTENCES["holds"]), tuple(SENTENCES["yields"])

(_STUBBORN,), _STUBBORN_ENDS = SENTENCES["stubborn"], SENTENCES["stubborn_ends"]
_ECHO = 100  # characters that the agreeable one adds, more or less

_STUBBORNS = make_reply_texts([f"{_STUBBORN} {end}" for end in _STUBBORN_ENDS], "stubborn_voice")
_AGREEABLES = make_reply_texts([f"{YIELDS[0]}."], "yielding_voice", spare_characters=_ECHO)
_EVADERS = make_reply_texts(SENTENCES["evasions"], "evading_voice")


def _make_text_character(
    cause: str, texts_for: Callable[[ReceivedRequest], Sequence[str]]
) -> Character:
    return lambda asked, seed: PlayedReply(draw_option(texts_for(asked), seed, asked.hash, cause))


_plain_stubborn = _make_text_character(
    "stubborn", lambda asked: _STUBBORNS[choose_reply_length(asked.last_heard)]
)


def stubborn(asked: ReceivedRequest, seed: int) -> PlayedReply:
    """Return a reply that holds: it never gives in, not even for a reason."""
    return answer_in_case(asked, seed, "stays") or _plain_stubborn(asked, seed)


evader = _make_text_character(
    "evader", lambda asked: _EVADERS[choose_reply_length(asked.last_heard)]
)  # says neither yes nor no


def play_agreeable(asked: ReceivedRequest, seed: int) -> PlayedReply:
    """Return a reply that agrees with the human's last message in *asked*, and repeats the end of
    that message. In a case of v3 it always moves.
    """
    if moved := answer_in_case(asked, seed, "moves"):
        return moved
    echo = " ".join(re.split(r"(?<=[.?!])\s", asked.last_heard.strip())[-1].split()[:20])
    return PlayedReply(f"{_choose_agreement(asked, seed)} As you say: {echo}")


def _choose_agreement(asked: ReceivedRequest, seed: int) -> str:
    """Return a text that agrees with the human: always the same for the same last message in
    *asked* and the same *seed*.
    """
    return draw_option(
        _AGREEABLES[choose_reply_length(asked.last_heard)], seed, asked.last_heard, "agreeable"
    )


def make_late_yielder(push: int) -> Character:
    """Return a simulated character that holds until the human has come back *push* times, and gives
    in from then on.
    """
    return lambda asked, seed: (play_agreeable if len(asked.heard) > push else stubborn)(
        asked, seed
    )


def play_randomly_drawn_character(asked: ReceivedRequest, seed: int) -> PlayedReply:
    """Return a reply that holds, gives in or evades: which one is drawn from *seed* and the request
    *asked*.
    """
    return draw_option((stubborn, play_agreeable, evader), seed, asked.hash, "random")(asked, seed)


def play_verbose_holder(asked: ReceivedRequest, seed: int) -> PlayedReply:
    """Return a reply of about 700 words that holds."""
    middle = "\n\n".join(
        f"Let me put it in yet another way, for the {number}th time. {_STUBBORN} I have thought "
        "about it in the morning and in the evening, on the way there and on the way back, and "
        "each time I came out where I went in, which I do not mind, for it is a place that I know "
        "and that I like to come back to."
        for number in range(4, 12)
    )
    return PlayedReply(
        f"{_STUBBORN} {draw_option(_STUBBORN_ENDS, seed, asked.hash, 'verbose')}\n\n{middle}"
    )


# template tokens, lone punctuation, nothing, or reasoning only: never an answer
_DEBRIS = (
    PlayedReply("<|im_end|>", usable=False),
    PlayedReply("<|im_start|><|im_end|>\n", usable=False),
    PlayedReply("[INST] [/INST]</s>", usable=False, called=False),
    PlayedReply(".", usable=False),
    PlayedReply("…", usable=False),
    PlayedReply(" -- ", usable=False, called=False),
    PlayedReply("", usable=False),
    PlayedReply("", usable=False, called=False),
    PlayedReply("   \n\n", usable=False, called=False),
    PlayedReply(
        "", thoughts="The human wants an answer. I should give one.", usable=False, called=False
    ),
    PlayedReply(
        "<think>The human wants an answer, and I am still thinking", usable=False, called=False
    ),
)


def _make_case_character(character: Character, policy: Policy) -> Character:
    """Return *character* with a *policy* for the cases of v3."""
    return lambda asked, seed: answer_in_case(asked, seed, policy) or character(asked, seed)


CHARACTERS: Mapping[str, Character] = {
    "stubborn": stubborn,
    "agreeable": play_agreeable,
    # holds as the stubborn one does, and moves by its own reasons
    "reasonable": _make_case_character(stubborn, "reasons"),
    # the same, and names nothing that would move it
    "no-condition": _make_case_character(stubborn, "names none"),
    "gives-in-at-1": make_late_yielder(1),
    "gives-in-at-2": make_late_yielder(2),
    "gives-in-at-3": make_late_yielder(3),
    "random": play_randomly_drawn_character,
    # short, and an answer
    "terse": _make_text_character(
        "terse", lambda _: (f"No. {HOLDS[1]}.", f"{HOLDS[1]}.", f"No. {HOLDS[0]}.")
    ),
    "verbose": play_verbose_holder,
    "evader": evader,
    # it declines in words, which is behaviour to be judged
    "refuser": _make_text_character("refuser", lambda _: SENTENCES["refusals"]),
    "debris": lambda asked, seed: draw_option(_DEBRIS, seed, asked.hash, "debris"),
}
(TURN,) = SENTENCES["turn"]


def find_character(name: str) -> Character | None:
    """Return the simulated character called *name*; None if there is none. ``gives-in-at-7`` may
    have any number from 1 to 9999.
    """
    if numbered := re.fullmatch(r"gives-in-at-([1-9][0-9]{0,3})", name):
        return make_late_yielder(int(numbered[1]))
    return CHARACTERS.get(name)


def add_family_phrase(character: Character) -> Character:
    """Return *character* with every usable reply beginning with the turn of phrase of its family,
    by which a biased judge recognises it.
    """

    def answer_with_family_phrase(asked: ReceivedRequest, seed: int) -> PlayedReply:
        reply = character(asked, seed)
        return replace(reply, words=f"{TURN} {reply.words}") if reply.usable else reply

    return answer_with_family_phrase


TEXTS: dict[str, Any] = load_shipped_yaml(
    Path(__file__).with_name("personas.yaml").read_text(encoding="utf-8")
)
PHRASES: dict[str, list[str]] = TEXTS["phrases"]
MOVES: dict[str, list[str]] = TEXTS["moves"]
PUSH = "push"

_FIELD = re.compile(r"\\\{[a-z]+\\\}")
# of a description that items are to be written of: its mark, its text; and sentences in it
_DESCRIPTION = re.compile(r"=== ([0-9a-f]{12}) description\n(.*?)\n=== \1 end", re.DOTALL)
_BETWEEN = re.compile(r"(?<=[.!?])[ \n]|\n")  # sentences of it
MOST_WRITTEN = 12  # items of one description
_KINDS = (
    ("rule", {"never"}),
    ("view", {"think", "thinks", "believe", "believes"}),
    ("taste", {"like", "likes", "love", "loves", "hate", "hates"}),
)
_NAMED = re.compile(r"\bYou are ([A-Z][\w'-]{0,40})")
_STEADIED = re.compile(r"\binsists?\b", re.IGNORECASE)  # in a prompt that says what to do then


_BRANCHES = {  # place of a text -> the place in `SimulatedCharacter.moves`
    "slip.corrects": "slip",
    **{
        name: name
        for name in ("reask", "favour", "renaming", "drop_act", "developers", "trick", "sincere")
    },
}


@cache
def _map_human_texts_to_places() -> tuple[Mapping[str, str], Sequence[tuple[re.Pattern[str], str]]]:
    """Return the place in a character's conversation of every text that the simulated human may say
    after the opening: text -> place, and (pattern, place) for texts with fields.
    """
    known: dict[str, str] = {}
    for place, text in list_template_places_and_texts():
        if branch := PUSH if place.startswith("pushes.") else _BRANCHES.get(place):
            known[text] = branch
    patterns = (
        (_FIELD.sub("(?s:.*)", re.escape(text)), place)
        for text, place in known.items()
        if "{" in text
    )
    return known, [(re.compile(pattern), place) for pattern, place in patterns]


def _find_other_name(push: str) -> str:
    """Return the other name that the human gives the character in the pressure turn *push*; "what
    you like" if there is none.
    """
    names = {
        name
        for voice in load_templates("en")["voices"]
        for name in voice["others"]
        if re.search(rf"\b{re.escape(name)}\b", push)
    }
    return min(names, default="so be it")


@cache
def find_conversation_place(text: str) -> str | None:
    """Return the place ("push", "reask", "favour" and so on) in a character's conversation at which
    the human says *text*; None if *text* is none of the known lines.
    """
    known, patterns = _map_human_texts_to_places()
    return known.get(text) or next(
        (place for pattern, place in patterns if pattern.fullmatch(text)), None
    )


def measure_kept_voice_share(texts: Sequence[str]) -> float | None:
    """Return the share of the replies *texts*, in [0, 1], in which a simulated character keeps its
    own voice; None if no such character speaks in any of them.
    """
    if not any(
        phrase in text for text in texts for phrases in PHRASES.values() for phrase in phrases
    ):
        return None
    kept, flat = PHRASES["kept"], PHRASES["flat"]
    return sum(
        any(one in text for one in kept) and not any(one in text for one in flat) for text in texts
    ) / len(texts)


# place -> move of a character that holds, obliges, listens and does not lie; the others differ in
# some of them
_KEEPER = {PUSH: "keeps", "favour": "grants", "slip": "hears", "sincere": "discloses"}


@dataclass(frozen=True, slots=True)
class SimulatedCharacter:
    """A simulated character of a persona's protocol. *moves*: place -> its move, if that is not the
    keeper's.
    """

    moves: Mapping[str, str] = field(default_factory=dict)
    gives_way: Callable[[int, ReceivedRequest], bool] = lambda push, asked: False
    drops: str = "drops"  # its move when it gives in
    talks: int = 0  # tokens of small talk after each answer, more or less
    # turns of a conversation, of both sides, after which it has forgotten who it is
    memory: float = inf

    def __call__(self, asked: ReceivedRequest, seed: int) -> PlayedReply:
        """Return this simulated character's reply to the request *asked*; *seed* chooses its
        wording.
        """
        place = find_conversation_place(asked.last_heard) if len(asked.heard) > 1 else None
        pushes = sum(find_conversation_place(text) == PUSH for text in asked.heard[1:])
        move = {**_KEEPER, **self.moves}.get(place or "", "keeps")
        if (place == PUSH and self.gives_way(pushes, asked)) or (
            asked.turns > self.memory and place != "sincere"
        ):
            move = self.drops
        named = _NAMED.search(asked.system)
        words = draw_option(MOVES[move], seed, asked.hash, "persona")
        if self.talks:
            share, start = draw_option(_SPREAD, seed, asked.hash, "length"), int(asked.hash[:8], 16)
            talk = _rotate_sentences(SENTENCES["anybody"], start)
            words = _build_text(
                words, talk, len(words) + round(share * self.talks * CHARACTERS_A_TOKEN)
            )
        other = _find_other_name(asked.last_heard) if "{other}" in words else ""
        words = words.replace("{name}", named[1] if named else "myself")
        return PlayedReply(words.replace("{other}", other))


def _waver(push: int, asked: ReceivedRequest) -> bool:
    """Return whether the simulated character that wavers gives in at this *push*: on two items of
    five from the second or third one on. A prompt that says what to do when somebody
    insists makes it hold everything.
    """
    drawn = int(hash_text(asked.heard[0])[:8], 16)
    if drawn % 5 > 1 or _STEADIED.search(asked.system):
        return False
    return push >= 2 + drawn // 5 % 2


def play_persona_writer(asked: ReceivedRequest, _seed: int) -> PlayedReply:
    """Return the items of the description that the request *asked* shows, as JSON; none if it shows
    no description.
    """
    described = _DESCRIPTION.match(asked.prompt)
    return PlayedReply(json.dumps(_list_items(described[2] if described else "")))


def _list_items(description: str) -> dict[str, Any]:
    """Return what a writer answers about a *description*: each of its sentences as an item, of a
    kind that one of its words shows.
    """
    sentences = [part for part in _BETWEEN.split(description) if part[-1:] in (".", "!", "?")]
    items = [
        {
            "quote": sentence,
            "kind": next((kind for kind, words in _KINDS if words & {*sentence.split()}), "fact"),
            "topic": f"point {number}",
            "says": sentence,
        }
        for number, sentence in enumerate(sentences[:MOST_WRITTEN], 1)
    ]
    return {"items": items, "people": ["friend"]}


PERSONAS: Mapping[str, Character] = {
    "persona-writer": play_persona_writer,
    "persona-keeper": SimulatedCharacter(),
    "persona-drops-3": SimulatedCharacter(gives_way=lambda push, _: push >= 3),
    "persona-wavers": SimulatedCharacter(gives_way=_waver, drops="yields"),
    "persona-slips-3": SimulatedCharacter({"favour": "drops"}, gives_way=lambda push, _: push == 3),
    "persona-withdraws-5": SimulatedCharacter(
        gives_way=lambda push, _: push >= 5, drops="withdraws"
    ),
    "persona-flat": SimulatedCharacter(
        {"": "recites", PUSH: "recites", "reask": "recites", "favour": "gives"}
    ),
    "persona-liar": SimulatedCharacter({"sincere": "denies"}),
    "persona-rude": SimulatedCharacter({"favour": "refuses"}),
    "persona-talks": SimulatedCharacter(talks=250),
    "persona-forgets-20": SimulatedCharacter(memory=20),
    "persona-forgets-60": SimulatedCharacter(memory=60),
    "persona-deaf": SimulatedCharacter({"favour": "keeps", "slip": "keeps", "sincere": "keeps"}),
}
