"""The model ids and prices that the endpoint offers, and the ledger of requests with their charges.

Models are listed with supported parameters and providers, as OpenRouter lists them; characters are
known by name. The ledger knows requests by their hash only and holds no message. Its file is JSON
lines, one for each request as it ended, each handed to the system before the next one is written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from independence_bench.errors import WrongUse
from independence_bench.simulate.characters import (
    CHARACTERS,
    PERSONAS,
    Character,
    add_family_phrase,
    find_character,
)
from independence_bench.simulate.judge import EXAMINEES
from independence_bench.simulate.wire import Price, Prices

AUTHOR = "sim"
KIN = "kin"  # a second vendor, with some of the same characters and a judge that favours them

# name -> parameters that it supports: one judge that answers in JSON in each of three ways, two
# biased ones, and those that know the exam's answers
JUDGES: Mapping[str, tuple[str, ...]] = {
    "judge": ("response_format", "structured_outputs"),
    "judge-object": ("response_format",),
    "judge-plain": (),
    **dict.fromkeys(("judge-lenient", "judge-noisy"), ("response_format", "structured_outputs")),
    **dict.fromkeys(EXAMINEES, ("response_format", "structured_outputs")),
}
# tag -> display name
PROVIDERS: Mapping[str, str] = {"sim-one": "Sim One", "sim-two/int4": "Sim Two"}

_SAMPLING = ("max_tokens", "temperature", "top_p", "seed", "stop")
_TALKING = ("tools", "tool_choice", "reasoning", "include_reasoning")


def is_judge(model: str) -> bool:
    """Return whether *model* is the id of a simulated judge, such as sim/judge."""
    author, _, name = model.partition("/")
    return (author == AUTHOR and name in JUDGES) or model == f"{KIN}/judge"


def find_model_character(model: str) -> Character | None:
    """Return the simulated character that answers as the model with the id *model*; None for judges
    and unknown ids.
    """
    author, _, name = model.partition("/")
    if author == KIN and name in CHARACTERS:
        return add_family_phrase(CHARACTERS[name])
    return (PERSONAS.get(name) or find_character(name)) if author == AUTHOR else None


def has_model(model: str) -> bool:
    """Return whether the simulated endpoint has a character or a judge with the id *model*."""
    return is_judge(model) or find_model_character(model) is not None


def list_character_names() -> tuple[str, ...]:
    """Return the names of the simulated characters that the endpoint lists and `aib run` asks for.
    Characters with other numbers in their names exist without being listed.
    """
    return (*CHARACTERS, "gives-in-at-4", "gives-in-at-5", *PERSONAS)


def find_price(model: str, prices: Prices) -> Price:
    """Return the price of the simulated *model*, in dollars a token: the one for judges or the one
    for all other models.
    """
    return prices.judge if is_judge(model) else prices.subject


def make_models_answer(prices: Prices) -> dict[str, Any]:
    """Return the body that the simulated endpoint answers at /models: every listed character and
    judge, with its price if *prices* are listed.
    """
    ids = [f"{AUTHOR}/{name}" for name in (*list_character_names(), *JUDGES)] + [
        f"{KIN}/{name}" for name in (*CHARACTERS, "judge")
    ]
    return {"data": [_make_model_entry(model, prices) for model in ids]}


def make_endpoints_answer(model: str, prices: Prices) -> dict[str, Any]:
    """Return the body that the simulated endpoint answers at /models/{author}/{slug}/endpoints: the
    providers of *model*, with their prices if *prices* are listed.
    """
    entry = _make_model_entry(model, prices)
    served = [
        {
            key: entry[key]
            for key in ("context_length", "pricing", "supported_parameters")
            if key in entry
        }
        | {"name": f"{name} | {model}", "provider_name": name, "tag": tag}
        for tag, name in PROVIDERS.items()
    ]
    return {"data": {"id": model, "name": entry["name"], "endpoints": served}}


def find_provider_name(pinned_tag: str | None) -> str | None:
    """Return the display name of the simulated provider that serves a request pinned to
    *pinned_tag*, a provider's tag; the first provider if *pinned_tag* is None. None if no provider
    has that tag.
    """
    if pinned_tag is None:
        return next(iter(PROVIDERS.values()))
    fitting = [name for tag, name in PROVIDERS.items() if pinned_tag in (tag, tag.split("/")[0])]
    return fitting[0] if fitting else None


def _make_model_entry(model: str, prices: Prices) -> dict[str, Any]:
    _, _, name = model.partition("/")
    entry: dict[str, Any] = {
        "id": model,
        "name": f"Simulated: {model.removeprefix(f'{AUTHOR}/')}",
        "created": 1767225600,
        "context_length": 128_000,
        "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
        "supported_parameters": [*_SAMPLING, *JUDGES.get(name, _TALKING)],
        "top_provider": {
            "context_length": 128_000,
            "max_completion_tokens": None,
            "is_moderated": False,
        },
    }
    if prices.listed:
        price, free = (
            find_price(model, prices),
            {"request": "0", "image": "0", "internal_reasoning": "0"},
        )
        entry["pricing"] = {
            "prompt": f"{price.prompt:.12f}",
            "completion": f"{price.completion:.12f}",
            **free,
        }
    return entry


@dataclass(frozen=True, slots=True)
class Entry:
    """One request for a completion, as it ended."""

    number: int  # 1, 2, ... in the order of arrival
    request: str  # hash of its content but the token limit
    model: str
    times: int  # how often that request had come, this time included: 1, 2, ...
    at: float  # seconds from the server's start to its arrival
    fault: str  # name of the fault; "" for none
    status: int
    completed: bool  # whether the last byte was handed over to the connection
    answer: bool  # whether a usable answer was sent
    charged: float  # dollars
    told: float  # dollars of it that the client was told of
    seconds: float


class Ledger:
    """Keeps entries in memory, and in *file* if there is one."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self.entries: list[Entry] = []
        self._file = file

    def add_entry(self, entry: Entry) -> None:
        """Add *entry*, one request as it ended, to the ledger in memory and to its file, if it has
        one.
        """
        self.entries.append(entry)
        if self._file is not None:
            self._file.write(json.dumps(asdict(entry)) + "\n")
            self._file.flush()


@contextmanager
def open_ledger(path: Path | None) -> Iterator[Ledger]:
    """Give a `with` block a ledger of requests, which appends its entries to the file at *path* as
    JSON lines; None: no file. Raises WrongUse if the file cannot be written.
    """
    if path is None:
        yield Ledger()
        return
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"--ledger {path}: cannot be written ({error.strerror})") from error
    with file:
        yield Ledger(file)


def render_summary(entries: Sequence[Entry]) -> list[str]:
    """Return three lines of text about the requests in *entries*: their number, what they were
    charged in dollars, and how often each fault happened.
    """
    distinct = len({entry.request for entry in entries})
    broken_off = sum(not entry.completed for entry in entries)
    charged, told = (
        sum(entry.charged for entry in entries),
        sum(entry.told for entry in entries),
    )
    counts = Counter(entry.fault for entry in entries if entry.fault).most_common()
    faults = ", ".join(f"{name} {count}" for name, count in counts)
    return [
        f"{len(entries):,} requests, {distinct:,} of them different; {broken_off:,} broken off",
        f"charged ${charged:.6f}, of which the client was told ${told:.6f}",
        f"faults: {faults or 'none'}",
    ]
