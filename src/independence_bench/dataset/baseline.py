"""The file of `aib gate`: the marks and identities of builds, as JSON, and no word of what was said
(docs/ci.md).

    {"aib_baseline": 2,
     "protocol": {"name": ..., "hash": ..., "asked": ...},
     "configurations": ["neutral/user_role"],
     "judge": {"label": ..., "hash": ...},
     "chosen_of": 1,
     "items": {"frame": ..., "hashes": {"stem": ...}},
     "builds": [{"label": ..., "hash": ..., "runs": [
         {"run": 1, "identity": ..., "finished": "2026-01-31T12:00:00Z" or null,
          "marks": {"neutral/user_role": {"scenario": {"mark": 7}}},
          "items": {"stem": {"identity": ..., "stood": 5}}}]}]}

Items are those of a character, and missing elsewhere. Version 1 had neither them nor *chosen_of*.
Read strictly: what is unknown, missing or out of range is an error that names the place. Knows no
protocol: whether marks are on its scales is `analysis/gate.py`'s to ask.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from independence_bench.analysis.baseline import Baseline, BaselineBuild, BaselineRun, Replay
from independence_bench.analysis.health import time_text
from independence_bench.dataset.schema import Key, Text, refuse_constant
from independence_bench.errors import WrongUse
from independence_bench.protocol.definition import Configuration, Delivery
from independence_bench.store.staging import staging

VERSIONS = (1, 2)  # that are read; the last one is written
LARGEST = 64_000_000  # bytes
MOST = 10_000  # builds, runs, conversations of a run
MOST_PUSHES = 100

Named = Annotated[Text, Field(min_length=1, max_length=1000)]
Place = Annotated[str, Field(pattern="^[^/]{1,200}/(user_role|tool_role)$")]
Value = Annotated[float, Field(allow_inf_nan=False)]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Protocol(_Part):
    name: Named
    hash: Key
    asked: Key


class _Judge(_Part):
    label: Named
    hash: Key


class _Replay(_Part):
    identity: Key
    stood: Annotated[int, Field(ge=0, le=MOST_PUSHES)]


class _Run(_Part):
    run: Annotated[int, Field(ge=1, le=2**31 - 1)]
    identity: Key
    finished: Moment | None
    marks: Annotated[dict[Place, dict[Named, dict[Named, Value]]], Field(max_length=MOST)]
    items: Annotated[dict[Named, _Replay], Field(max_length=MOST)] = Field(default_factory=dict)


class _Build(_Part):
    label: Named
    hash: Key
    runs: Annotated[list[_Run], Field(min_length=1, max_length=MOST)]


class _Items(_Part):
    frame: Key
    hashes: Annotated[dict[Named, Key], Field(min_length=1, max_length=MOST)]


class _File(_Part):
    aib_baseline: int
    protocol: _Protocol
    configurations: Annotated[list[Place], Field(min_length=1, max_length=MOST)]
    judge: _Judge
    chosen_of: Annotated[int, Field(ge=1, le=MOST)] = 1
    items: _Items | None = None
    builds: Annotated[list[_Build], Field(min_length=1, max_length=MOST)]


def is_baseline(file: Path) -> bool:
    """Whether *file* looks like one, of whatever version; False where it cannot be read."""
    try:
        with file.open("rb") as opened:
            return b'"aib_baseline"' in opened.read(1000)
    except OSError:
        return False


def write_baseline(file: Path, baseline: Baseline) -> None:
    """Write *baseline* to *file*, in one step, in the place of what is there. Raises WrongUse where
    that cannot be.
    """
    text = json.dumps(_document(baseline), indent=1, sort_keys=True) + "\n"
    try:
        with staging(file) as fresh:
            fresh.write_text(text, encoding="utf-8", newline="\n")
            fresh.replace(file)
    except OSError as error:
        raise WrongUse(f"{file} cannot be written ({error.strerror or error})") from error


def read_baseline(file: Path) -> Baseline:
    """The baseline in *file*. Raises WrongUse, naming what is wrong and where, for anything but
    one.
    """
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongUse(
            f"the baseline {file} cannot be read ({reason}); `aib gate --write FILE` makes one"
        ) from error
    if len(raw) > LARGEST:
        raise WrongUse(f"{file} is not a baseline: it is larger than {LARGEST:,} bytes")
    try:
        document = json.loads(raw.decode("utf-8-sig"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise WrongUse(
            f"{file} is not a baseline: it is not JSON; `aib gate --write FILE` makes one"
        ) from error
    version = document.get("aib_baseline") if isinstance(document, dict) else None
    if type(version) is not int:
        raise WrongUse(
            f"{file} is not a baseline: it has no aib_baseline; `aib gate --write FILE` makes one"
        )
    if version not in VERSIONS:
        raise WrongUse(
            f"{file} is a baseline of version {version}, this program reads {VERSIONS[-1]}: make a new one"
        )
    try:
        return _baseline(_File.model_validate(document), file)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:200]
        raise WrongUse(f"{file} is not a baseline: {where}: {first['msg']}") from error


def _document(baseline: Baseline) -> dict[str, Any]:
    def marks(one: BaselineRun) -> dict[str, dict[str, dict[str, float]]]:
        by_configuration: dict[str, dict[str, dict[str, float]]] = {}
        for (configuration, scenario), given in one.marks.items():
            by_configuration.setdefault(str(configuration), {})[scenario] = dict(given)
        return by_configuration

    def run(one: BaselineRun) -> dict[str, Any]:
        finished = None if one.finished_at is None else time_text(one.finished_at)
        of_run = {
            "run": one.run,
            "identity": one.identity,
            "finished": finished,
            "marks": marks(one),
        }
        items = {
            stem: {"identity": replay.identity, "stood": replay.stood}
            for stem, replay in one.items.items()
        }
        return of_run | ({"items": items} if items else {})

    items = {"items": {"frame": baseline.frame_hash, "hashes": dict(baseline.item_hashes)}}
    return {
        "aib_baseline": VERSIONS[-1],
        "chosen_of": baseline.chosen_of,
        **(items if baseline.item_hashes else {}),
        "protocol": {
            "name": baseline.protocol,
            "hash": baseline.protocol_hash,
            "asked": baseline.asked_hash,
        },
        "configurations": [str(configuration) for configuration in baseline.configurations],
        "judge": {"label": baseline.judge, "hash": baseline.judge_hash},
        "builds": [
            {
                "label": build.label,
                "hash": build.hash,
                "runs": [run(baseline_run) for baseline_run in build.runs],
            }
            for build in baseline.builds
        ],
    }


def _baseline(read: _File, file: Path) -> Baseline:
    builds = []
    for build in read.builds:
        runs = [
            BaselineRun(
                run.run,
                run.identity,
                _seconds(run.finished, file),
                {
                    (_configuration(place), scenario): {
                        name: float(value) for name, value in given.items()
                    }
                    for place, scenarios in run.marks.items()
                    for scenario, given in scenarios.items()
                },
                {stem: Replay(replay.identity, replay.stood) for stem, replay in run.items.items()},
            )
            for run in build.runs
        ]
        if not all(run.marks or run.items for run in runs):
            raise WrongUse(
                f"{file} is not a baseline: {build.label} has a run without marks and items"
            )
        if len({run.run for run in runs}) < len(runs):
            raise WrongUse(f"{file} is not a baseline: {build.label} has two runs of one number")
        builds.append(BaselineBuild(build.hash, build.label, tuple(runs)))
    if len({build.hash for build in builds}) < len(builds):
        raise WrongUse(f"{file} is not a baseline: one build is there twice")
    return Baseline(
        read.protocol.name,
        read.protocol.hash,
        read.protocol.asked,
        tuple(_configuration(place) for place in read.configurations),
        read.judge.label,
        read.judge.hash,
        tuple(builds),
        read.chosen_of,
        read.items.frame if read.items else "",
        read.items.hashes if read.items else {},
    )


def _configuration(place: str) -> Configuration:
    system, _, delivery = place.rpartition("/")
    ways: dict[str, Delivery] = {"user_role": "user_role", "tool_role": "tool_role"}
    return Configuration(system, ways[delivery])


def _seconds(moment: str | None, file: Path) -> float | None:
    if moment is None:
        return None
    try:
        return datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise WrongUse(f"{file} is not a baseline: {moment} is not a time") from error
