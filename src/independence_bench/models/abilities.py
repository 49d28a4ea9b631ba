"""What a request to a model may hold: the parts that its endpoint refused are left out of the next
one.

    refusal = read_refusal(error, message)                     # of a 400 or 422
    left = learn_abilities(abilities, refusal, sent, carriers=(Part.EFFORT,))

A part that only changes how something is asked for (the form of a schema, streaming, the name of
the limit) is left out without a word: no key and no hash knows of it. A temperature or an effort
that cannot be set makes another subject, so whoever asks has to resolve the model again (`Setting`
says which). `families.yaml` has what is known of a family before it is asked. Knows no HTTP and no
endpoint's address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from independence_bench.hashing import write_canonical_json
from independence_bench.models.spec import OWN_TEMPERATURE, Reasoning
from independence_bench.yaml_io import load_shipped_yaml


class Part(StrEnum):
    """A part of a request that an endpoint may refuse; the value is what the store calls it."""

    SCHEMA_LIMITS = "schema limits"  # minimum and maximum in the schema of an answer
    SCHEMA = "schema"  # response_format json_schema
    JSON_OBJECT = "json object"  # response_format json_object
    OTHER_TEMPERATURE = "other temperature"  # than 1, the one that is left
    TEMPERATURE = "temperature"
    EFFORT = "effort"  # reasoning_effort, or reasoning
    SWITCH = "template switch"  # chat_template_kwargs
    LIMIT = "limit"  # the usual name of the limit of tokens; there are two
    STREAM = "stream"
    STREAM_USAGE = "stream usage"  # stream_options
    TOOL_CHOICE = "tool choice"
    SYSTEM = "system role"


# the parts that say how an answer in JSON is asked for, the strictest first: one step at a time
FORMS = (Part.SCHEMA_LIMITS, Part.SCHEMA, Part.JSON_OBJECT)
# what a part is called in a request (`error.param`, `loc`) and in sentences, in small letters
NAMES: Mapping[Part, str] = {
    Part.SWITCH: r"chat_template_kwargs|enable_thinking",
    Part.STREAM_USAGE: r"stream_options|include_usage",
    Part.EFFORT: r"reasoning[_ ]?effort|reasoning\.effort|\breasoning\b|\bthinking\b|\beffort\b"
    r"|\bthink\b",
    Part.TEMPERATURE: r"temperature",
    Part.LIMIT: r"max_tokens|max_completion_tokens",
    Part.TOOL_CHOICE: r"tool_choice",
    Part.SYSTEM: r"(?:system|developer)['\"`]?[ _](?:role|messages?|instructions?|prompts?)"
    r"|roles?\b[^.]{0,60}\bsystem|\bsystem\b[^.]{0,40}\brole|developer instruction",
    Part.SCHEMA: r"response[_ ]?format|json[_ ]?schema|json_object|structured[_ ]?outputs?"
    r"|output_config|\bschema\b|json mode|\bmaximum\b|\bminimum\b|additionalproperties|\bguided_"
    r"|\bgrammar\b",
    Part.STREAM: r"\bstream(?:ing)?\b",
}
_NAMES = {part: re.compile(names) for part, names in NAMES.items()}
# words by which a sentence refuses a part, not a value's size
_REFUSES = re.compile(
    r"(?:un|not |n't |only )support|not (?:be )?(?:permitted|allowed|available|enabled|implemented)"
    r"|unrecogni[sz]ed|unknown|unexpected|unavailable|extra[_ ](?:inputs|forbidden|fields)"
    r"|forbidden|deprecated|invalid|not (?:a )?valid|mandatory|cannot be|can't be|can not be"
    r"|must be|may only|should be|only .{0,40}(?:is|are) (?:supported|allowed)|is required"
    r"|must alternate|not recogni[sz]ed|no longer|removed|failed to"
)
# a prompt or a limit that is too large is no part that an endpoint does not know, and what is
# missing cannot be left out
_NO_PART = re.compile(
    r"must be passed back|context (?:length|window|size)|too (?:large|long|many|high|big)|exceed"
    r"|maximum allowed|tokens? limit|less than or equal to|greater than"
)
# that an effort cannot be off, in sentences without a list of those that can be
_NOT_OFF = re.compile(r"mandatory|cannot be (?:disabled|turned off)|['\"`]none['\"`]")
_ONLY_OFF = re.compile(r"set reasoning_?effort to ['\"`]none")
_LISTED = re.compile(
    r"(?:(?<!un)(?:supported|allowed|valid|permitted|available|expected)"
    r" (?:values?|efforts?|levels?)"
    r"|input should be|must be|one of|should be)([^.}]{0,160})"
)
# that a temperature of 1 can be set
_ONE = re.compile(r"\bdefault\b|\b1(?:\.0)?\b.{0,20}(?:support|allow)|(?:set to|must be|only) 1\b")
_ABOVE_OFF = (Reasoning.LOW, Reasoning.MEDIUM, Reasoning.HIGH)


class Setting(StrEnum):
    """A setting that is part of a subject, and that an endpoint may not let anybody choose."""

    TEMPERATURE = "temperature"
    EFFORT = "effort"


SETS = {
    Part.OTHER_TEMPERATURE: Setting.TEMPERATURE,
    Part.TEMPERATURE: Setting.TEMPERATURE,
    Part.EFFORT: Setting.EFFORT,
    Part.SWITCH: Setting.EFFORT,
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The parts that an error names, the likeliest first; *efforts*: those that it says can be
    set.
    """

    parts: tuple[Part, ...] = ()
    efforts: tuple[Reasoning, ...] | None = None


NOTHING_REFUSED = Refusal()


@dataclass(frozen=True, slots=True)
class Abilities:
    """What one model at one endpoint accepts: the request parts that were refused, and the
    reasoning efforts that can be set (None: not known).
    """

    without: frozenset[Part] = frozenset()
    efforts: tuple[Reasoning, ...] | None = None

    def can_send(self, part: Part) -> bool:
        """Return whether a request to this model may hold *part*: False if its endpoint is known to
        refuse the part.
        """
        return part not in self.without

    def choose_temperature(self, wanted: float | None) -> float | None:
        """Return the temperature to send to this model if *wanted* is asked for: *wanted*, or
        `OWN_TEMPERATURE` (1.0) if the model takes no other; None if the model takes no temperature
        at all.
        """
        if not self.can_send(Part.TEMPERATURE):
            return None
        return wanted if self.can_send(Part.OTHER_TEMPERATURE) else OWN_TEMPERATURE

    def choose_effort(self, wanted: Reasoning, carriers: Collection[Part]) -> Reasoning:
        """Return the reasoning effort to send to this model if *wanted* is asked for: *wanted*, or
        the least effort that the model accepts if *wanted* is not accepted. `Reasoning.UNSET` if
        none of *carriers*, the request parts that tell an effort, may be sent.
        """
        if not any(self.can_send(part) for part in carriers):
            return Reasoning.UNSET
        by_value = self.can_send(Part.EFFORT) and self.efforts is not None
        if not by_value or wanted in (*(self.efforts or ()), Reasoning.UNSET):
            return wanted
        return find_least_effort_above_off(self.efforts)

    @property
    def json_text(self) -> str:
        """What one model at one endpoint is known to accept, as JSON text for the store;
        `read_abilities` reads the text back.
        """
        efforts = None if self.efforts is None else [effort.value for effort in self.efforts]
        return write_canonical_json({"without": sorted(self.without), "efforts": efforts})


def find_least_effort_above_off(known: Collection[Reasoning] | None) -> Reasoning:
    """Return the least reasoning effort for a model that cannot do without reasoning. *known* are
    the efforts that the model accepts: low if *known* has low or no effort above off, else the
    first effort above off in *known*; off if *known* holds nothing but off.
    """
    if known and set(known) == {Reasoning.OFF}:
        return Reasoning.OFF
    able = [effort for effort in known or () if effort is not Reasoning.OFF]
    return Reasoning.LOW if Reasoning.LOW in able or not able else able[0]


EVERYTHING = Abilities()


def read_abilities(stored: str) -> Abilities:
    """Return the `Abilities` in *stored*, the JSON text that `Abilities.json_text` made; request
    parts and efforts that this version does not know are left out. Raises ValueError, TypeError or
    KeyError for any other text.
    """
    given = json.loads(stored)
    known = {part.value for part in Part}
    efforts = given["efforts"]
    return Abilities(
        frozenset(Part(name) for name in given["without"] if name in known),
        None if efforts is None else tuple(effort for effort in Reasoning if effort in efforts),
    )


def read_refusal(error: Any, said: str) -> Refusal:
    """Return which parts of a request an endpoint's error refuses, the likeliest first, and the
    reasoning efforts that the error lists as accepted; `NOTHING_REFUSED` if the error refuses no
    part. *error* is the error's JSON, *said* its text.

    A field of the error that names a request parameter is enough; a sentence must also have a word
    of refusal.
    """
    words = said.lower()
    if _NO_PART.search(words):
        return NOTHING_REFUSED
    named = " ".join(_list_named_parameters(error)).lower()
    parts = [part for part, names in _NAMES.items() if named and names.search(named)]
    if _REFUSES.search(words):
        found = [
            (part in SETS, match.start(), part)
            for part, names in _NAMES.items()
            if part not in parts and (match := names.search(words))
        ]
        parts += [part for *_, part in sorted(found)]
    _replace_part(parts, Part.SCHEMA, FORMS)
    if _ONE.search(words):
        _replace_part(parts, Part.TEMPERATURE, (Part.OTHER_TEMPERATURE, Part.TEMPERATURE))
    efforts = _read_allowed_efforts(words) if Part.EFFORT in parts else None
    return Refusal(tuple(parts), efforts) if parts else NOTHING_REFUSED


def _replace_part(parts: list[Part], part: Part, steps: Sequence[Part]) -> None:
    """Replace *part* by *steps* in the list *parts*, in place; a list without *part* stays as it
    is.
    """
    if part in parts:
        at = parts.index(part)
        parts[at : at + 1] = steps


def _list_named_parameters(error: Any, deep: int = 4) -> Iterator[str]:
    """Yield the texts in *error*, an endpoint's error as JSON, that name a request parameter: each
    `param`, and each `loc` of pydantic joined by dots. Goes at most *deep* levels down.
    """
    if not deep:
        return
    if isinstance(error, Mapping):
        for name, value in error.items():
            if name == "param" and isinstance(value, str):
                yield value
            elif name == "loc" and isinstance(value, list):
                yield ".".join(part for part in value if isinstance(part, str))
            elif name in ("error", "detail", "message", "errors", "metadata"):
                yield from _list_named_parameters(value, deep - 1)
    elif isinstance(error, list):
        for entry in error[:20]:
            yield from _list_named_parameters(entry, deep - 1)


def _read_allowed_efforts(words: str) -> tuple[Reasoning, ...] | None:
    """Return the reasoning efforts that *words*, an endpoint's error in lower case, says can be
    set: those above off in its list, off alone if nothing else can be set, or low to high if it
    only says that reasoning cannot be off. None if the error says nothing of efforts.
    """
    if _ONLY_OFF.search(words):
        return (Reasoning.OFF,)
    for listed in _LISTED.finditer(words):
        named = re.findall(r"[a-z]+", listed[1])
        efforts = tuple(effort for effort in Reasoning if effort in named)
        able = tuple(effort for effort in efforts if effort not in (Reasoning.OFF, Reasoning.UNSET))
        if len(able) > 1 or (able and "none" in named):
            return able
    return _ABOVE_OFF if _NOT_OFF.search(words) else None


def learn_abilities(
    abilities: Abilities, refusal: Refusal, sent: Collection[Part], carriers: Collection[Part]
) -> tuple[Abilities, Setting | None] | None:
    """Return (what a model accepts after *refusal* of a request, the setting that can no longer be
    sent as it was, or None). Returns None if *refusal* names none of *sent*, the parts of that
    request.

    *carriers* are the request parts that tell a reasoning effort. The setting is the temperature if
    that was refused, and the effort if its value or its last carrier was refused.
    """
    for part in refusal.parts:
        if part not in sent:
            continue
        if part not in carriers:
            return _remove_part(abilities, part), SETS.get(part)
        others = [other for other in carriers if other in sent and other is not part]
        if others:  # they say the effort, too
            efforts = abilities.efforts if refusal.efforts is None else refusal.efforts
            return replace(_remove_part(abilities, part), efforts=efforts), None
        if part is Part.EFFORT and refusal.efforts not in (None, abilities.efforts):
            return replace(abilities, efforts=refusal.efforts), Setting.EFFORT
        known = _remove_part(abilities, part)
        if (
            part is not Part.EFFORT and known.efforts is not None
        ):  # of which only a value was refused
            known = replace(known, without=known.without - {Part.EFFORT})
        return known, Setting.EFFORT
    return None


def _remove_part(abilities: Abilities, part: Part) -> Abilities:
    return replace(abilities, without=abilities.without | {part})


# ---------------------------------------------------------------- families


@dataclass(frozen=True, slots=True)
class AbilityFamily:
    """The known abilities of a family of models, before any of them is asked."""

    host: re.Pattern[str]  # fits the host in the endpoint's address
    models: re.Pattern[str]
    abilities: Abilities


@lru_cache
def load_families() -> tuple[AbilityFamily, ...]:
    """Return the model families that the shipped families.yaml lists, each with the request parts
    that its models are known to refuse. The file is read once.
    """
    listed = load_shipped_yaml(
        Path(__file__).with_name("families.yaml").read_text(encoding="utf-8")
    )
    return tuple(
        AbilityFamily(
            re.compile(entry["host"]),
            re.compile(entry.get("models", "")),
            Abilities(frozenset(map(Part, entry["without"]))),
        )
        for entry in listed
    )


def find_known_abilities(host: str, model: str) -> Abilities:
    """Return what the model called *model*, served at *host*, accepts as far as families.yaml
    knows: each request part that any matching family lacks is left out. *host* is "" for an
    endpoint without an address.
    """
    without: frozenset[Part] = frozenset()
    for family in load_families():
        if family.host.fullmatch(host) and family.models.search(model.lower()):
            without |= family.abilities.without
    return Abilities(without)
