"""What a row of an export says of itself, checked: a hash that its content does not make is refused.

Pure: each function looks at one row and knows nothing of the others or of a store.
"""

from __future__ import annotations

import json
from typing import Any

from independence_bench.dataset.convert import to_store
from independence_bench.dataset.schema import CALLS, PROTOCOLS
from independence_bench.errors import ProtocolError
from independence_bench.hashing import canonical
from independence_bench.models.spec import ChatModel, read_settings
from independence_bench.protocol.loader import LARGEST_FILE, parse
from independence_bench.store.exclusions import COMMAND, MODELS_FILE

Row = dict[str, Any]
LARGEST_COST = 1e6  # dollars of one attempt, as it is read from an endpoint


class Refused(ValueError):
    """A row that says something false, or that hangs in the air."""


def need(true: object, otherwise: str) -> None:
    """Refuse a row unless *true*."""
    if not true:
        raise Refused(otherwise)


def check_protocol(row: Row) -> Row:
    """A protocol that this version reads, whose files make its hash."""
    paths = [file["path"] for file in row["files"]]
    need(all(len(file["text"]) <= LARGEST_FILE for file in row["files"]), "a file of it is too large")
    need(len(set(paths)) == len(paths), "a file stands twice in it")
    try:
        read = parse({file["path"]: file["text"] for file in row["files"]}, where="files")
    except ProtocolError as error:
        raise Refused(f"no protocol that this version can read: {error}") from None
    need((read.hash, read.name) == (row["hash"], row["name"]), "its hash is not that of its files")
    return to_store(PROTOCOLS, row)


def check_subject(row: Row) -> Row:
    """A subject whose settings make its hash and its label."""
    model = model_of(row["spec"])
    need(model, "its settings are not those of a model")
    need(
        model and (model.hash, model.label) == (row["hash"], row["label"]),
        "its hash or label is not that of its settings",
    )
    return row


def check_judge(row: Row) -> Row:
    """A judge; where it is a model, its settings make its hash."""
    model = model_of(row["spec"])
    if model is not None:
        need(model.hash == row["hash"], "its hash is not that of its settings")
    return row


def model_of(spec: str) -> ChatModel | None:
    """The model that *spec* describes; None where it is another kind of judge, or nothing."""
    try:
        given = json.loads(spec)
        model = read_settings(given)
        model.label  # noqa: B018 - a setting of the wrong type shows here
        # a setting that it lacks, of a version before there was such a setting, has its default
        return model if model.spec == canonical(json.loads(model.spec) | given) and _is_typed(model) else None
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
        return None


def _is_typed(model: ChatModel) -> bool:
    texts = (model.model, model.endpoint, model.identity, model.provider or "")
    flags = (model.accept_cut_off, model.own_limit)
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(flag, bool) for flag in flags)
        and type(model.max_tokens) is int
        and type(model.temperature) in (int, float)
    )


def check_call(row: Row) -> Row:
    """A call of a kind that there is."""
    need(row["kind"] in ("reply", "judgement"), "its kind is neither reply nor judgement")
    return to_store(CALLS, row)


def check_attempt(row: Row) -> None:
    """A cost that somebody can have paid."""
    cost = row["cost"]
    need(cost is None or 0 <= cost < LARGEST_COST, f"{cost} is no cost: dollars, from 0 up")


def check_decision(row: Row) -> None:
    """One of the two decisions, said in one of the two places, with a reason in a line."""
    need(row["verdict"] in ("exclude", "keep"), "its verdict is neither exclude nor keep")
    need(row["origin"] in (COMMAND, MODELS_FILE), "its origin is neither the command nor models.yaml")
    need(row["reason"].strip() and row["reason"].isprintable(), "its reason is no line of words")
