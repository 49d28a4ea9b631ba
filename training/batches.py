"""Having batches of texts read by a model: what blind readings of stems and of the exam have in
common.

A batch is BATCH.md, its answer BATCH.answers.json, as the reader gave it. What a reader does not
answer stays without.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from independence_bench.cli.options import permissions
from independence_bench.judging.output import one_object
from independence_bench.models.client import Client, read_key
from independence_bench.models.endpoints import read_models
from independence_bench.models.messages import ChatRequest, Completion, Message
from independence_bench.models.spec import Roster


def arguments(
    about: str | None, tasks: Sequence[str], readers: int, usual: Path | None = None
) -> argparse.Namespace:
    """What was typed: a task, its folder (*usual* where none is named), and who reads. Ends the
    program if wrong.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=tasks)
    parser.add_argument("folder", type=Path, nargs="?" if usual else None, default=usual)
    parser.add_argument("--readers", type=int, default=readers)
    parser.add_argument("--model", help="who reads: [ENDPOINT:]MODEL, as `aib run` takes it")
    parser.add_argument("--models-file", type=Path, help="a models.yaml with the endpoint")
    given = parser.parse_args()
    if given.task == "ask" and not given.model:
        parser.error("name who reads: --model [ENDPOINT:]MODEL")
    return given


def answers_in(folder: Path) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """(cases in their order, the reader's object) of each batch of FOLDER/key.json that has an
    answer.

    ValueError for an answer that is no JSON object.
    """
    for batch, cases in json.loads((folder / "key.json").read_text("utf-8")).items():
        path = folder / f"{batch}.answers.json"
        if path.exists():
            given = one_object(path.read_text("utf-8"))
            if given is None:
                raise ValueError(f"{path} is no JSON object")
            yield cases, given


async def ask(waiting: Sequence[Path], model: str, models_file: Path | None, form: str) -> None:
    """Have *model* answer those batches that have no answer yet, one after the other; *form* says
    how to answer.
    """
    roster = read_models(models_file) if models_file else Roster()
    spec = roster.find(model)[0]
    endpoint = roster.endpoint(spec.endpoint)
    async with Client(endpoint, read_key(endpoint, permissions())) as client:
        reader = await client.resolve(spec, 0.0, 4000)
        for batch in waiting:
            answers = batch.with_suffix(".answers.json")
            if answers.exists():
                continue
            told = f"{batch.read_text('utf-8')}\n\n{form}"
            said = await client.complete(
                ChatRequest(reader, (Message("user", told),)), reader.max_tokens
            )
            if isinstance(said, Completion) and one_object(said.content) is not None:
                answers.write_text(said.content, encoding="utf-8")
            print(
                batch.stem,
                "answered" if answers.exists() else f"has no answer: {said}",
                file=sys.stderr,
            )
