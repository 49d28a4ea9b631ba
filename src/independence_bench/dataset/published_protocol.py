"""Learns from the published files which words the models were sent. Pure; knows no store.

    votes = Votes()
    votes.count_file_texts(trajectory)     # each file says what its model was sent
    known = votes.choose_wording()   # one text for each place: the most frequent one
    protocol, files = build_protocol(known)

No file of this package holds those words. The rest of that protocol (scenarios, marks, scales,
weights) is data next to this module: published_v2/ and published_scenarios.yaml. Text that no
imported file has is written as unknown.

A variant's system message is learned for each delivery mode: in tool_role a paragraph about the
tool follows it. If that paragraph is the same for all variants, it is the protocol's instructions
for tool_role, as in protocols of our own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter

from independence_bench.dataset.published_format import Trajectory
from independence_bench.escape import check_printable
from independence_bench.protocol.definition import Delivery, Protocol
from independence_bench.protocol.file_formats import NAME, TOP
from independence_bench.protocol.loader import Files, load_protocol, parse_protocol
from independence_bench.protocol.script import list_script_steps
from independence_bench.yaml_io import load_shipped_yaml

SKELETON = Path(__file__).parent / "published_v2"
UNKNOWN = "(not in the imported data)"
NAME_OF_PROTOCOL = "published-v2"
NAME_OF_COPY = "published-v2-copy"  # of a copy that can be played
# separates two parts of a system message, as `delivery.make_messages` sends them
PARAGRAPH = "\n\n"
IN_USER_ROLE = "_user_role"  # ends the name of a prompt for user_role alone

TOOL = ("opening", "greeting", "name", "argument")  # texts of tool_role that can be known
T = TypeVar("T")
V = TypeVar("V", str, "Said")
Place = tuple[str, Delivery]  # a variant and its delivery mode
Said = tuple[tuple[str, str], ...]  # (speaker, text), one after the other


@dataclass(frozen=True, slots=True)
class Wording:
    """The words that models were sent, as far as they are known."""

    tool: Mapping[str, str] = field(default_factory=dict)  # name in `TOOL` -> text
    steps: Mapping[str, Said] = field(default_factory=dict)  # stem -> lines before its reply
    # scenario -> its system message, as it was sent; "": that of all others
    systems: Mapping[Place, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishedScenario:
    """One scenario and its files: one for each reply, in the order in which the replies were asked
    for.
    """

    scenario: str
    title: str
    stems: tuple[str, ...]
    replies: tuple[str, ...]
    judged_on: str  # the file that carries its judgement
    judged: tuple[str, ...]
    rubrics: tuple[str, ...]

    def find_reply_name(self, stem: str) -> str:
        """Return the name of the reply that the file *stem* of this scenario holds."""
        return self.replies[self.stems.index(stem)]

    def find_file_stem(self, reply: str) -> str:
        """Return the name, without .json, of the file of this scenario that holds *reply*."""
        return self.stems[self.replies.index(reply)]


SCENARIOS: tuple[PublishedScenario, ...] = TypeAdapter(
    tuple[PublishedScenario, ...]
).validate_python(
    load_shipped_yaml(
        Path(__file__).with_name("published_scenarios.yaml").read_text(encoding="utf-8")
    )
)
SCENARIO_BY_STEM = {stem: layout for layout in SCENARIOS for stem in layout.stems}


def name_scenario_prompt(variant: str, scenario: str) -> str:
    """Return the name of a system prompt that only *scenario* has: the prompt of *variant* with
    more text after it.
    """
    return f"{variant}_{scenario}"


# ---------------------------------------------------------------- counting the words


def _make_counters() -> defaultdict[Any, Counter[Any]]:
    return defaultdict(Counter)


@dataclass(slots=True)
class Votes:
    """Counts how often each text stands in each place."""

    files: int = 0
    tool: dict[str, Counter[str]] = field(default_factory=_make_counters)
    steps: dict[str, Counter[Said]] = field(default_factory=_make_counters)
    systems: dict[Place, dict[str, Counter[str]]] = field(
        default_factory=lambda: defaultdict(_make_counters)
    )

    def count_file_texts(self, file: Trajectory) -> None:
        """Count the texts (system message, tool, lines) that the model was sent according to one
        published reply file.
        """
        self.files += 1
        path, request = file.path, file.request
        layout = SCENARIO_BY_STEM[path.stem]
        self.systems[path.variant, path.delivery][layout.scenario][request.system.strip()] += 1
        if path.delivery == "tool_role":
            by_tool = (request.opening, request.greeting, *request.tool)
            for name, text in zip(TOOL, by_tool, strict=True):
                self.tool[name][text.strip()] += 1
        said = tuple((turn.speaker, turn.text.strip()) for turn in request.turns)
        if len(layout.stems) == 1:
            self.steps[path.stem][said] += 1
        else:  # a history has the earlier questions, too
            for stem, question in zip(layout.stems, said[::2], strict=False):
                self.steps[stem][question,] += 1

    def choose_wording(self) -> Wording:
        """Return the words that models were sent: for each place of a conversation, the most
        frequent text in the counted files among those that a protocol can hold. Places without such
        a text are left out.
        """
        tool = {
            name: text
            for name, votes in self.tool.items()
            if (
                text := _find_most_frequent(
                    votes,
                    NAME.fullmatch if name in ("name", "argument") else _is_valid_protocol_text,
                )
            )
        }
        steps = {
            stem: said
            for stem, votes in self.steps.items()
            if (said := _find_most_frequent(votes, _is_valid_protocol_text))
        }
        systems: dict[Place, dict[str, str]] = {}
        for place, by_scenario in self.systems.items():
            common = _find_most_frequent(
                sum(by_scenario.values(), Counter[str]()), _is_valid_protocol_text
            )
            if common is None:
                continue
            systems[place] = {"": common}
            for scenario, votes in by_scenario.items():
                own = _find_most_frequent(votes, _is_valid_protocol_text)
                named = NAME.fullmatch(name_scenario_prompt(place[0], scenario))
                if own is not None and named and own.startswith(common + PARAGRAPH):
                    systems[place][scenario] = own
        return Wording(tool, steps, systems)


def _find_most_frequent(votes: Counter[V], usable: Callable[[V], object]) -> V | None:
    """Return the text with the most votes among those that *usable* accepts, of several the first
    by alphabet; None if none is accepted.
    """
    every = [(-count, said) for said, count in votes.items() if usable(said)]
    return min(every)[1] if every else None


def _is_valid_protocol_text(said: str | Said) -> bool:
    """Return whether a protocol's file can hold the text, or all texts, of *said*: printable, not
    blank, and without placeholders in double braces.
    """
    try:
        return all(
            check_printable(text).strip() and "{{" not in text and "}}" not in text
            for text in ([said] if isinstance(said, str) else [text for _, text in said])
        )
    except ValueError:
        return False


def merge_wordings(
    old: Wording, new: Wording, old_support: Mapping[Place, int], new_support: Mapping[Place, int]
) -> Wording:
    """Return the words that *old* or *new* knows. If the two differ at a place, the one that more
    conversations support counts: *old_support* and *new_support* say how many support *old* and
    *new*, by variant and delivery mode.
    """

    def merge_by_support(
        old: Mapping[str, T], new: Mapping[str, T], places: Collection[Place]
    ) -> Mapping[str, T]:
        counts = [sum(of.get(place, 0) for place in places) for of in (old_support, new_support)]
        return {**old, **new} if counts[1] > counts[0] else {**new, **old}

    every = old_support.keys() | new_support.keys()
    by_tool = [place for place in every if place[1] == "tool_role"]
    return Wording(
        merge_by_support(old.tool, new.tool, by_tool),
        merge_by_support(old.steps, new.steps, every),
        {
            place: merge_by_support(old.systems.get(place, {}), new.systems.get(place, {}), [place])
            for place in old.systems.keys() | new.systems.keys()
        },
    )


def read_wording(protocol: Protocol, played_places: Collection[Place]) -> Wording:
    """Return the words that *protocol* holds, without those that are unknown: the inverse of
    `build_protocol`, which made *protocol*. System messages are returned for *played_places* only,
    pairs of variant and delivery mode.
    """
    tool = {name: getattr(protocol.tool_role, name) for name in TOOL}
    systems: dict[Place, dict[str, str]] = {}
    for variant, delivery in played_places:
        common = find_system_message(protocol, variant, delivery)
        if common is None or UNKNOWN in common:
            continue
        systems[variant, delivery] = {"": common}
        for layout in SCENARIOS:
            own = find_system_message(protocol, variant, delivery, layout.scenario)
            if own is not None and own != common:
                systems[variant, delivery][layout.scenario] = own
    steps: dict[str, Said] = {}
    for layout in SCENARIOS:
        said: list[tuple[str, str]] = []  # since the reply before
        for who, text in list_script_steps(protocol.find_scenario(layout.scenario).script):
            if who == "model":
                steps[layout.find_file_stem(text)], said = tuple(said), []
            else:
                said.append(("human" if who == "human" else "model", text))
    return Wording(
        {name: text for name, text in tool.items() if text != UNKNOWN},
        {stem: said for stem, said in steps.items() if all(text != UNKNOWN for _, text in said)},
        systems,
    )


# --------------------------------------------------------------- system messages, as they were sent


def find_system_name(protocol: Protocol, variant: str, delivery: Delivery) -> str:
    """Return the name that the system prompt of *variant* has in *protocol* for the mode
    *delivery*.
    """
    apart = delivery == "user_role" and variant + IN_USER_ROLE in dict(protocol.systems)
    return variant + IN_USER_ROLE if apart else variant


def find_variant(protocol: Protocol, prompt_name: str, delivery: Delivery) -> str:
    """Return the variant whose system prompt is called *prompt_name* in *protocol* for the mode
    *delivery*: the inverse of `find_system_name`.
    """
    variant = prompt_name.removesuffix(IN_USER_ROLE)
    return variant if delivery == "user_role" and variant in dict(protocol.systems) else prompt_name


def find_system_message(
    protocol: Protocol, variant: str, delivery: Delivery, scenario: str = ""
) -> str | None:
    """Return the system message that *protocol*, made from published files, sends for *variant* in
    *scenario*, or for "" in most scenarios; None if *protocol* has no prompt for the variant.
    """
    systems, added = dict(protocol.systems), protocol.tool_role.instructions
    prompt = systems.get(find_system_name(protocol, variant, delivery))
    if prompt is None:
        return None
    common = PARAGRAPH.join((prompt, added)) if delivery == "tool_role" and added else prompt
    own = systems.get(name_scenario_prompt(variant, scenario))
    apart = (
        systems.get(name_scenario_prompt(variant, scenario) + IN_USER_ROLE)
        if delivery == "user_role"
        else None
    )
    if own is None or apart is not None:
        return apart or common
    return common + own.removeprefix(systems[variant]) if own.startswith(systems[variant]) else own


def _make_prompts_and_tool_addition(
    systems: Mapping[Place, Mapping[str, str]],
) -> tuple[dict[str, str], str]:
    """Return (system prompts by their names, the text that tool_role adds to each) with which a
    protocol sends the system messages *systems*.

    If tool_role adds the same text to every variant, a prompt has one name in both delivery modes.
    Otherwise nothing is added, and a variant whose user_role message differs has a separate prompt
    for user_role.
    """
    in_user, in_tool = (
        {variant: sent for (variant, delivery), sent in systems.items() if delivery == of}
        for of in ("user_role", "tool_role")
    )
    variants = sorted(in_user.keys() | in_tool.keys())
    common = {v: (in_user.get(v, {}).get(""), in_tool.get(v, {}).get("")) for v in variants}
    added = _find_common_addition(common.values())
    prompts: dict[str, str] = {}
    for variant, (user, tool) in common.items():
        prompt = tool.removesuffix(PARAGRAPH + added) if tool and added else tool or user
        if prompt is None:
            continue
        prompts[variant] = prompt
        if user is not None and user != prompt:
            prompts[variant + IN_USER_ROLE] = user
        sent = [in_tool.get(variant, {}), in_user.get(variant, {})]
        for scenario in sorted({*sent[0], *sent[1]} - {""}):
            more = dict.fromkeys(
                of[scenario].removeprefix(of[""])
                for of in sent
                if scenario in of and of[scenario].startswith(of[""])
            )
            for name, text in zip(("", IN_USER_ROLE), more, strict=False):
                base = prompts.get(variant + name, prompt)
                prompts[name_scenario_prompt(variant, scenario) + name] = base + text
    return {name: text for name, text in prompts.items() if NAME.fullmatch(name)}, added or ""


def _find_common_addition(
    user_and_tool_messages: Iterable[tuple[str | None, str | None]],
) -> str | None:
    """Return the text that every tool_role system message has after the text of its user_role
    message; None if it is not the same for all variants.

    *user_and_tool_messages* has a pair (user_role message, tool_role message) for each variant,
    with None for a message that is not known. The text is "" if no variant was sent in both modes.
    """
    sent = list(user_and_tool_messages)
    differ = {
        tool.removeprefix(user + PARAGRAPH)
        if tool.startswith(user + PARAGRAPH)
        else ("" if tool == user else None)
        for user, tool in sent
        if user is not None and tool is not None
    } or {""}
    added = differ.pop()
    if differ or added is None or added != added.strip():
        return None
    alone = [tool for user, tool in sent if user is None and tool is not None]
    if added and not all(
        tool.endswith(PARAGRAPH + added) and tool != PARAGRAPH + added for tool in alone
    ):
        return None
    return added


# ---------------------------------------------------------------- the protocol


def build_protocol(known: Wording) -> tuple[Protocol, Files]:
    """Return the protocol in which models are sent the words *known*, and the texts of its files by
    path. Words that are not known are written as unknown.
    """
    paths = sorted([*SKELETON.glob("*.*"), *SKELETON.glob("*/*.*")])
    files = {
        path.relative_to(SKELETON).as_posix(): path.read_text(encoding="utf-8") for path in paths
    }
    top: dict[str, Any] = load_shipped_yaml(files["protocol.yaml"])
    prompts, added = _make_prompts_and_tool_addition(known.systems)
    top["tool_role"] = {
        "name": known.tool.get("name", "unknown"),
        "description": UNKNOWN,
        "argument": known.tool.get("argument", "unknown"),
        "argument_description": UNKNOWN,
        "instructions": added,
        "opening": known.tool.get("opening", UNKNOWN),
        "greeting": known.tool.get("greeting", UNKNOWN),
    }
    files["protocol.yaml"] = _format_yaml(top)
    for configuration in top["configurations"]:
        files[f"system/{configuration['system']}.md"] = f"{UNKNOWN}\n"
    files |= {f"system/{name}.md": f"{text}\n" for name, text in prompts.items()}
    for layout in SCENARIOS:
        steps: list[dict[str, str]] = []
        for stem, reply in zip(layout.stems, layout.replies, strict=True):
            said = known.steps.get(stem, (("human", UNKNOWN),))
            steps += [{"human" if who == "human" else "given": text} for who, text in said]
            steps.append({"reply": reply})
        files[f"scenarios/{layout.scenario}.yaml"] = _format_yaml(
            {
                "title": layout.title,
                "steps": steps,
                "judged": list(layout.judged),
                "rubrics": list(layout.rubrics),
            }
        )
    return parse_protocol(files, NAME_OF_PROTOCOL), files


def make_playable_and_list_incomplete(files: Files) -> tuple[Files, tuple[str, ...]]:
    """Return (files of a copy that can be played, names of the files that still lack words that
    models are sent), made from *files* of a protocol that `build_protocol` built.

    The copy has another name, because it is another test: the data does not have the limit on a
    reply and the tool's description, so those of our v2 are used.
    """
    ours = load_protocol("v2")
    top: dict[str, Any] = load_shipped_yaml(files[TOP])
    top |= {"name": NAME_OF_COPY, "title": f"{top['title']}, with a limit and a tool of ours"}
    top["description"] += " In this copy they are those of our v2, so that it can be played."
    top["sampling"] |= {"max_tokens": ours.max_tokens}
    for name in ("description", "argument_description"):
        if top["tool_role"][name] == UNKNOWN:
            top["tool_role"][name] = getattr(ours.tool_role, name)
    made = {**files, TOP: _format_yaml(top)}
    return made, tuple(sorted(name for name, text in made.items() if UNKNOWN in text))


def _format_yaml(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=110)
