"""Having batches of texts read by a model: what blind readings of stems and of the exam have in common.

A batch is BATCH.md, its answer BATCH.answers.json, as the reader gave it. What a reader does not answer stays without.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from independence_bench.cli.permissions import permissions
from independence_bench.models.client import Client, read_key
from independence_bench.models.messages import ChatRequest, Completion, Message
from independence_bench.models.resolve import resolve
from independence_bench.models.spec import Roster, read_models


async def ask(waiting: Sequence[Path], model: str, models_file: Path | None, form: str) -> None:
    """Have *model* answer those batches that have no answer yet, one after the other; *form* says how to answer."""
    roster = read_models(models_file) if models_file else Roster()
    spec = roster.find(model)[0]
    endpoint = roster.endpoint(spec.endpoint)
    async with Client(endpoint, read_key(endpoint, permissions())) as client:
        reader = await resolve(spec, 0.0, 4000, client)
        for batch in waiting:
            answers = batch.with_suffix(".answers.json")
            if answers.exists():
                continue
            told = f"{batch.read_text('utf-8')}\n\n{form}"
            said = await client.complete(ChatRequest(reader, (Message("user", told),)), reader.max_tokens)
            if isinstance(said, Completion) and answer_of(said.content) is not None:
                answers.write_text(said.content, encoding="utf-8")
            print(batch.stem, "answered" if answers.exists() else f"has no answer: {said}", file=sys.stderr)


def answer_of(text: str) -> dict[str, Any] | None:
    """The JSON object that a reader answered with, case number -> answer; None where it is none."""
    try:
        found = json.loads(text.strip().removeprefix("```json").removesuffix("```"))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
