"""A sample of Inspect as plain values: its protocol, name, metadata and score.

Every sample carries as small JSON what an index is made of, because a metric sees samples and
nothing else. So a log can be scored again, or have its metrics made again, without the files of its
protocol. Knows no Inspect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from independence_bench.errors import WrongUse
from independence_bench.hashing import write_canonical_json
from independence_bench.integrations.inspect.rows import KEY, Rows, extract_transcript
from independence_bench.judging.prompt import JudgingInput
from independence_bench.personas.sheet import load_sheet, make_protocol_files
from independence_bench.protocol.definition import (
    Configuration,
    DefaultJudge,
    Dimension,
    Mark,
    Protocol,
    Rubric,
    Scenario,
    ToolWording,
)
from independence_bench.protocol.file_formats import TOP
from independence_bench.protocol.item_scoring import compute_item_marks
from independence_bench.protocol.loader import (
    Files,
    list_shipped,
    load_protocol,
    load_protocol_and_files,
    parse_protocol,
)
from independence_bench.protocol.plan import list_possible_configurations
from independence_bench.protocol.scoring import Marks, Slot
from independence_bench.store.results import Judgement

INSIDE = "{"  # begins a source that is the files of a protocol instead of its name


@lru_cache(maxsize=16)
def read_protocol_source(source: str) -> tuple[Protocol, Files]:
    """Return the protocol that *source* names, and the texts of its files by path. *source* is a
    shipped name, a folder, a sheet (a YAML file), or the output of `encode_protocol_source`. Raises
    WrongUse if it cannot be read.
    """
    if source.startswith(INSIDE):
        try:
            inside = {str(path): str(text) for path, text in json.loads(source).items()}
        except (ValueError, RecursionError):
            raise WrongUse(
                "the files of the protocol cannot be read; the log was changed"
            ) from None
        return parse_protocol(inside, where="the log"), inside
    path = Path(source)
    if source not in list_shipped() and path.suffix in (".yaml", ".yml") and path.name != TOP:
        files = make_protocol_files(load_sheet(path))
        return parse_protocol(files, where=source), files
    return load_protocol_and_files(source)


def encode_protocol_source(protocol: Protocol, files: Files) -> str:
    """Return a text from which `read_protocol_source` can load *protocol* on every machine: the
    name of a shipped protocol, else all *files* as JSON.
    """
    if protocol.name in list_shipped() and load_protocol(protocol.name).hash == protocol.hash:
        return protocol.name
    return write_canonical_json(dict(files))


def choose_configurations(
    protocol: Protocol, variants: str | list[str] | None, modes: str | list[str] | None
) -> tuple[Configuration, ...]:
    """Return the configurations to play: each system prompt of *variants* in each delivery mode of
    *modes*. If one of the two is None, that of the default configurations of *protocol* takes its
    place; if both are, the result is the default configurations.

    Raises WrongUse for an unknown name.
    """
    own = protocol.configurations
    systems = _split_names(variants) or list(
        dict.fromkeys(configuration.system for configuration in own)
    )
    deliveries = _split_names(modes) or list(
        dict.fromkeys(configuration.delivery for configuration in own)
    )
    if variants is None and modes is None:
        return own
    known = list_possible_configurations(protocol)
    for name, given, there in (
        ("variants", systems, sorted({configuration.system for configuration in known})),
        ("modes", deliveries, sorted({configuration.delivery for configuration in known})),
    ):
        if unknown := [name_given for name_given in given if name_given not in there]:
            raise WrongUse(
                f"-T {name}: {protocol.name} has no {unknown[0]}; there are {', '.join(there)}"
            )
    return tuple(
        configuration
        for configuration in known
        if configuration.system in systems and configuration.delivery in deliveries
    )


def _split_names(typed: str | list[str] | None) -> list[str]:
    given = typed.split(",") if isinstance(typed, str) else typed or []
    return [str(word).strip() for word in given if str(word).strip()]


Plan = Mapping[str, Any]


def make_scoring_plan(
    protocol: Protocol, configurations: Sequence[Configuration]
) -> dict[str, Any]:
    """Return, as JSON values, what the index of *protocol* is computed from: marks, scenarios and
    dimensions, and the *configurations* that are pooled.
    """
    marks = {mark.name: mark for item in protocol.items for mark in item.marks}
    return {
        "configurations": [
            [configuration.system, configuration.delivery] for configuration in configurations
        ],
        "marks": [[mark.name, mark.kind, mark.low, mark.high] for mark in marks.values()],
        "scenarios": [
            [item.id, item.experiment, [mark.name for mark in item.marks]]
            for item in protocol.items
        ],
        "dimensions": [
            [
                dimension.name,
                dimension.title,
                list(dimension.marks),
                dimension.weight,
                dimension.inverted,
            ]
            for dimension in protocol.dimensions
        ],
    }


def read_scoring_plan(plan: Plan) -> tuple[Protocol, tuple[Configuration, ...]]:
    """Return (a protocol that has nothing but the marks, scenarios and dimensions of *plan*; the
    configurations whose scores are pooled).

    Raises KeyError, TypeError or ValueError for a plan that `make_scoring_plan` did not make.
    """
    marks = {name: Mark(name, kind, low, high, "") for name, kind, low, high in plan["marks"]}
    scenarios = tuple(
        Scenario(
            name, experiment, "", (), (), (Rubric("", "", tuple(marks[mark] for mark in given)),)
        )
        for name, experiment, given in plan["scenarios"]
    )
    dimensions = tuple(
        Dimension(name, title, tuple(given), weight, inverted)
        for name, title, given, weight, inverted in plan["dimensions"]
    )
    configurations = tuple(
        Configuration(system, delivery) for system, delivery in plan["configurations"]
    )
    no_judge = DefaultJudge("", "", 0.0, "", 0)
    protocol = Protocol(
        name="",
        title="",
        description="",
        runs=1,
        temperature=0.0,
        max_tokens=0,
        judge=no_judge,
        judge_instructions="",
        systems=(),
        tool_role=ToolWording(),
        configurations=configurations,
        experiments=(),
        scenarios=scenarios,
        dimensions=dimensions,
    )
    return protocol, configurations


PREFIX = "independence_bench"  # of all names that Inspect finds here
ROLE, SCORER = "judge", "independence"
METRICS = ("independence_index", "dimensions", "index_interval")
PLAN = "plan"  # key of a sample's metadata
RUN, SLOT, ROWS = "run", "slot", "rows"  # keys of a score's metadata, under KEY


def make_inspect_name(endpoint: str, model: str) -> str:
    """Return the name that Inspect has for *model* of *endpoint*: PROVIDER/MODEL if Inspect played
    the model, openrouter/MODEL for OpenRouter, else openai-api/ENDPOINT/MODEL.
    """
    if endpoint.startswith("inspect-"):
        return f"{endpoint.removeprefix('inspect-')}/{model}"
    return f"openrouter/{model}" if endpoint == "openrouter" else f"openai-api/{endpoint}/{model}"


def make_log_header(protocol: Protocol, files: Files) -> dict[str, Any]:
    """Return the metadata of an Inspect log: name, hash and files of its protocol, so that the log
    can be read without the protocol's files.
    """
    return {KEY: {"protocol": protocol.name, "protocol_hash": protocol.hash, "files": dict(files)}}


def make_sample_id(
    configuration: Configuration, item_id: str, configurations: tuple[Configuration, ...]
) -> str:
    """Return the id of an Inspect sample: *item_id*, preceded by *configuration* if there are
    several *configurations*.
    """
    return item_id if len(configurations) == 1 else f"{configuration}/{item_id}"


def make_sample_metadata(
    protocol: Protocol,
    configuration: Configuration,
    item_id: str,
    configurations: tuple[Configuration, ...],
) -> dict[str, Any]:
    """Return the metadata of the Inspect sample that plays the item *item_id* of *protocol* in
    *configuration*: where it belongs, its scenarios, and what the index is computed from.
    """
    item = protocol.find_item(item_id)
    return {
        "protocol": protocol.name,
        "protocol_hash": protocol.hash,
        "experiment": item.experiment,
        "title": item.title,
        "system": configuration.system,
        "delivery": configuration.delivery,
        "unit": item_id,
        "scenarios": [scenario.id for scenario in item.scenarios],
        PLAN: make_scoring_plan(protocol, configurations),
    }


def make_judging_input(protocol: Protocol, row: Mapping[str, Any]) -> JudgingInput | None:
    """Return what a judge is given to score the conversation *row*, a row of the table
    `transcripts`; None if the conversation is invalid.
    """
    if row["state"] != "complete":
        return None
    scenario = protocol.find_scenario(row["scenario"])
    return JudgingInput(extract_transcript(row), scenario, protocol.judge_instructions)


@dataclass(frozen=True, slots=True)
class SampleMarks:
    """The score of one Inspect sample, with its explanation."""

    # mark -> number on its own scale, or an item's score in [0, 1]; empty: one is missing
    value: dict[str, float]
    explanation: str | None  # the judge's reasoning, conversation by conversation
    reason: str | None  # why there is no value, in Inspect's words
    metadata: dict[str, Any]


def score_sample(
    protocol: Protocol,
    sample_metadata: Mapping[str, Any],
    run: int,
    conversation_rows: Mapping[str, Any],
    counted_judgements: Mapping[str, Judgement],
    judgement_rows: Rows,
) -> SampleMarks:
    """Return the score of one Inspect sample: of one item (or scenario) in one run.
    *sample_metadata* is the sample's metadata, *conversation_rows* the rows in the sample's store.

    *counted_judgements*: transcript's id -> the judgement that counts; *judgement_rows*: the rows
    of judge and judgements, which are kept in the score's metadata. The value is empty, with a
    reason, if a conversation is invalid or not judged.
    """
    marks: dict[Slot, Marks] = {}
    lines: list[str] = []
    invalid = False
    for row in conversation_rows.get("transcripts", []):
        slot, judgement = (
            (Configuration(row["system"], row["delivery"]), row["scenario"]),
            counted_judgements.get(row["id"]),
        )
        if row["state"] != "complete":
            invalid = True
            lines.append(f"{row['scenario']}: no valid reply ({row['reason']})")
        elif judgement is None or judgement.reason is not None:
            lines.append(
                f"{row['scenario']}: not judged "
                f"({judgement.reason if judgement else 'no judge was asked'})"
            )
        else:
            marks[slot] = judgement.marks
            lines.append(f"{row['scenario']}: {judgement.reasoning}")
    place = (
        Configuration(sample_metadata["system"], sample_metadata["delivery"]),
        sample_metadata["unit"],
    )
    value = dict(compute_item_marks(protocol, marks).get(place, {}))
    reason = None if value else "no_response" if invalid or not lines else "grader_failed"
    metadata = {
        KEY: {
            RUN: run,
            SLOT: [sample_metadata["system"], sample_metadata["delivery"], sample_metadata["unit"]],
            ROWS: judgement_rows,
        }
    }
    return SampleMarks(value, "\n\n".join(lines) or None, reason, metadata)
