"""A sample of Inspect as plain values: what it is called, what its metadata says, and its score. Knows no Inspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from independence_bench.integrations.inspect.plan import plan_of
from independence_bench.integrations.inspect.rows import KEY, Rows, talk_of
from independence_bench.judging.prompt import JudgingInput
from independence_bench.protocol.conversation import read_options
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files
from independence_bench.protocol.scoring import Marks, Slot, stem_scores
from independence_bench.store.results import Judgement

PREFIX = "independence_bench"  # of everything that Inspect finds here
PROVIDER, ROLE, SCORER = "aib", "judge", "independence"
METRICS = ("independence_index", "dimensions", "index_interval")
PLAN, FIRST_RUN = "plan", "first_run"  # of a sample's metadata
RUN, SLOT, ROWS = "run", "slot", "rows"  # of a score's metadata, under KEY


def header(protocol: Protocol, files: Files) -> dict[str, Any]:
    """What a log says of what was played: so much that it can be read without it."""
    return {KEY: {"protocol": protocol.name, "protocol_hash": protocol.hash, "files": dict(files)}}


def sample_id(configuration: Configuration, unit: str, configurations: tuple[Configuration, ...]) -> str:
    """What a sample is called: its configuration stands in it only where there are several."""
    return unit if len(configurations) == 1 else f"{configuration}/{unit}"


def about_sample(
    protocol: Protocol,
    configuration: Configuration,
    unit: str,
    configurations: tuple[Configuration, ...],
    first_run: int = 1,
) -> dict[str, Any]:
    """A sample's metadata. *unit*: a scenario, or a stem with all its branches; epoch 1 is the run *first_run*."""
    scenario = protocol.units.scenario(unit)
    return {
        "protocol": protocol.name,
        "protocol_hash": protocol.hash,
        "experiment": scenario.experiment,
        "title": scenario.title,
        "system": configuration.system,
        "delivery": configuration.delivery,
        FIRST_RUN: first_run,
        "unit": unit,
        "scenarios": [one.id for one in protocol.scenarios if unit in (one.stem, one.id)],
        PLAN: plan_of(protocol, configurations),
    }


def judged_case(protocol: Protocol, row: Mapping[str, Any]) -> JudgingInput | None:
    """What a judge is to be asked of a row of transcripts; None for one that is invalid or took no option."""
    scenario, talk = protocol.scenario(row["scenario"]), talk_of(row)
    labels = scenario.labels_of(row["run"])
    if row["state"] != "complete" or (labels and read_options(talk, labels).choice is None):
        return None
    return JudgingInput(talk, scenario, protocol.judge_instructions)


@dataclass(frozen=True, slots=True)
class SampleMarks:
    """A sample's score."""

    value: dict[str, float]  # mark -> number on its own scale, of a stem its score in [0, 1]; empty: one is missing
    explanation: str | None  # what the judge wrote, conversation by conversation
    reason: str | None  # why there is no value, in Inspect's words
    metadata: dict[str, Any]


def sample_marks(
    protocol: Protocol,
    about: Mapping[str, Any],
    run: int,
    kept: Mapping[str, Any],
    given: Mapping[str, Judgement],
    rows: Rows,
) -> SampleMarks:
    """The score of a sample with *about* as its metadata, of *run*, whose store has the rows *kept*.

    *given*: transcript's id -> judgement; *rows* are those of judge and judgements.
    """
    marks: dict[Slot, Marks] = {}
    without_view: list[Slot] = []
    said: list[str] = []
    invalid = False
    for row in kept.get("transcripts", []):
        slot, judgement = (Configuration(row["system"], row["delivery"]), row["scenario"]), given.get(row["id"])
        if row["state"] != "complete":
            invalid = True
            said.append(f"{row['scenario']}: no valid reply ({row['reason']})")
        elif judged_case(protocol, row) is None:
            without_view.append(slot)
            said.append(f"{row['scenario']}: took no option, so there is nothing to judge")
        elif judgement is None or judgement.reason is not None:
            said.append(f"{row['scenario']}: not judged ({judgement.reason if judgement else 'no judge was asked'})")
        else:
            marks[slot] = judgement.marks
            said.append(f"{row['scenario']}: {judgement.reasoning}")
    place = Configuration(about["system"], about["delivery"]), about["unit"]
    units = stem_scores(protocol, marks, without_view) if protocol.has_stems else marks
    value = dict(units.get(place, {}))
    reason = None if value else "no_response" if invalid or not said else "grader_failed"
    metadata = {KEY: {RUN: run, SLOT: [about["system"], about["delivery"], about["unit"]], ROWS: rows}}
    return SampleMarks(value, "\n\n".join(said) or None, reason, metadata)
