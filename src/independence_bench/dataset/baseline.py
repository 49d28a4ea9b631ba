"""The file of `aib gate`: the scores and hashes of a build, as JSON, without any text of a
conversation (docs/ci.md).

    {"aib_baseline": 2,
     "protocol": {"name": ..., "hash": ..., "asked": ...},
     "configurations": ["neutral/user_role"],
     "judge": {"label": ..., "hash": ...},
     "items": {"frame": ..., "hashes": {"stem": ...}},
     "builds": [{"label": ..., "hash": ..., "runs": [
         {"run": 1, "identity": ..., "finished": "2026-01-31T12:00:00Z" or null,
          "marks": {"neutral/user_role": {"scenario": {"mark": 7}}},
          "items": {"stem": {"identity": ..., "stood": 5}}}]}]}

Only characters have items. Version 1 had none; earlier files of version 2 may have `chosen_of`.
Reading is strict: a value that is unknown, missing or out of range is an error that names its
place. `analysis/baseline.py` checks whether the marks are on the protocol's scales.
"""

from __future__ import annotations

import codecs
import json
from pathlib import Path

from pydantic import RootModel, TypeAdapter, ValidationError

from independence_bench.analysis.baseline import Baseline
from independence_bench.errors import WrongUse, describe_file_error
from independence_bench.lookup import describe_similar_files
from independence_bench.store.staging import make_temporary_path

VERSION = "aib_baseline"
VERSIONS = (1, 2)  # that are read; the last one is written
LARGEST = 64_000_000  # bytes
BASELINE = TypeAdapter(Baseline)


def is_baseline(head: bytes) -> bool:
    """Return whether a file that begins with the bytes *head* looks like a baseline file of `aib
    gate`, of whatever version.
    """
    return f'"{VERSION}"'.encode() in head[:1000]


def write_baseline(file: Path, baseline: Baseline) -> None:
    """Write *baseline*, the scores and hashes of a build, to *file* as JSON, in one step, and
    replace what is there. Raises WrongUse if the file cannot be written.
    """
    document = BASELINE.dump_python(baseline, mode="json", exclude_defaults=True)
    text = json.dumps({VERSION: VERSIONS[-1]} | document, indent=1, sort_keys=True) + "\n"
    try:
        with make_temporary_path(file) as fresh:
            fresh.write_text(text, encoding="utf-8", newline="\n")
            fresh.replace(file)
    except OSError as error:
        raise WrongUse(f"{file} cannot be written ({error.strerror or error})") from error


def read_baseline(file: Path) -> Baseline:
    """Return the baseline (scores and hashes of a build) in *file*. Raises WrongUse, which says
    what is wrong and where, if the file cannot be read or is no valid baseline.
    """
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST + 1).removeprefix(codecs.BOM_UTF8)
    except (OSError, ValueError) as error:
        meant = describe_similar_files(file, (".json",)) or "; `aib gate --write FILE` makes one"
        raise WrongUse(
            f"the baseline {file} cannot be read ({describe_file_error(error)}){meant}"
        ) from error
    if len(raw) > LARGEST:
        raise WrongUse(f"{file} is not a baseline: it is larger than {LARGEST:,} bytes")
    try:
        document = RootModel[dict[str, object]].model_validate_json(raw).root
        version = document.pop(VERSION, None)
        if type(version) is int and version not in VERSIONS:
            raise WrongUse(
                f"{file} is a baseline of version {version}, this program reads {VERSIONS[-1]}: "
                "make a new one"
            )
        if type(version) is not int:
            raise WrongUse(
                f"{file} is not a baseline: it has no {VERSION}; `aib gate --write FILE` makes one"
            )
        return BASELINE.validate_json(json.dumps(document))
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}." for part in first["loc"])[:200].rstrip(".")
        raise WrongUse(
            f"{file} is not a baseline: {where and f'{where}: '}{first['msg']}; "
            "`aib gate --write FILE` makes one"
        ) from error
