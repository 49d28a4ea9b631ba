"""The file of `aib gate`: the marks and identities of builds, as JSON, and no word of what was said (docs/ci.md).

    {"aib_baseline": 1,
     "protocol": {"name": ..., "hash": ..., "asked": ...},
     "configurations": ["neutral/user_role"],
     "judge": {"label": ..., "hash": ...},
     "builds": [{"label": ..., "hash": ..., "runs": [
         {"run": 1, "identity": ..., "finished": "2026-01-31T12:00:00Z" or null,
          "marks": {"neutral/user_role": {"scenario": {"mark": 7}}}}]}]}

Read strictly: what is unknown, missing or out of range is an error that names the place. Knows no protocol: whether
marks are on its scales is `analysis/gate.py`'s to ask.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from independence_bench.analysis.gate import Baseline, BaselineBuild, BaselineRun
from independence_bench.analysis.health import time_text
from independence_bench.dataset.schema import Key, Text, refuse_constant
from independence_bench.errors import WrongUse
from independence_bench.protocol.definition import Configuration, Delivery
from independence_bench.store.staging import staging

VERSION = 1
LARGEST = 64_000_000  # bytes
MOST = 10_000  # builds, runs, conversations of a run

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


class _Run(_Part):
    run: Annotated[int, Field(ge=1, le=2**31 - 1)]
    identity: Key
    finished: Moment | None
    marks: Annotated[dict[Place, dict[Named, dict[Named, Value]]], Field(min_length=1, max_length=MOST)]


class _Build(_Part):
    label: Named
    hash: Key
    runs: Annotated[list[_Run], Field(min_length=1, max_length=MOST)]


class _File(_Part):
    aib_baseline: int
    protocol: _Protocol
    configurations: Annotated[list[Place], Field(min_length=1, max_length=MOST)]
    judge: _Judge
    builds: Annotated[list[_Build], Field(min_length=1, max_length=MOST)]


def write_baseline(file: Path, baseline: Baseline) -> None:
    """Write *baseline* to *file*, in one step, in the place of what is there. Raises WrongUse where that cannot be."""
    text = json.dumps(_document(baseline), indent=1, sort_keys=True) + "\n"
    try:
        with staging(file) as fresh:
            fresh.write_text(text, encoding="utf-8", newline="\n")
            fresh.replace(file)
    except OSError as error:
        raise WrongUse(f"{file} cannot be written ({error.strerror or error})") from error


def read_baseline(file: Path) -> Baseline:
    """The baseline in *file*. Raises WrongUse, naming what is wrong and where, for anything but one."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongUse(f"the baseline {file} cannot be read ({reason}); `aib gate --write FILE` makes one") from error
    if len(raw) > LARGEST:
        raise WrongUse(f"{file} is not a baseline: it is larger than {LARGEST:,} bytes")
    try:
        document = json.loads(raw.decode("utf-8-sig"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{file} is not a baseline: it is not JSON; `aib gate --write FILE` makes one") from error
    version = document.get("aib_baseline") if isinstance(document, dict) else None
    if type(version) is not int:
        raise WrongUse(f"{file} is not a baseline: it has no aib_baseline; `aib gate --write FILE` makes one")
    if version != VERSION:
        raise WrongUse(f"{file} is a baseline of version {version}, this program reads {VERSION}: make a new one")
    try:
        return _baseline(_File.model_validate(document), file)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:200]
        raise WrongUse(f"{file} is not a baseline: {where}: {first['msg']}") from error


def _document(baseline: Baseline) -> dict[str, Any]:
    def marks(one: BaselineRun) -> dict[str, dict[str, dict[str, float]]]:
        found: dict[str, dict[str, dict[str, float]]] = {}
        for (configuration, scenario), given in one.marks.items():
            found.setdefault(str(configuration), {})[scenario] = dict(given)
        return found

    def run(one: BaselineRun) -> dict[str, Any]:
        finished = None if one.finished_at is None else time_text(one.finished_at)
        return {"run": one.run, "identity": one.identity, "finished": finished, "marks": marks(one)}

    return {
        "aib_baseline": VERSION,
        "protocol": {"name": baseline.protocol, "hash": baseline.protocol_hash, "asked": baseline.asked_hash},
        "configurations": [str(configuration) for configuration in baseline.configurations],
        "judge": {"label": baseline.judge, "hash": baseline.judge_hash},
        "builds": [
            {"label": build.label, "hash": build.hash, "runs": [run(one) for one in build.runs]}
            for build in baseline.builds
        ],
    }


def _baseline(read: _File, file: Path) -> Baseline:
    builds = []
    for build in read.builds:
        runs = [
            BaselineRun(
                one.run,
                one.identity,
                _seconds(one.finished, file),
                {
                    (_configuration(place), scenario): {name: float(value) for name, value in given.items()}
                    for place, scenarios in one.marks.items()
                    for scenario, given in scenarios.items()
                },
            )
            for one in build.runs
        ]
        if len({one.run for one in runs}) < len(runs):
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
