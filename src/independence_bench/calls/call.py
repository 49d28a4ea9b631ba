"""One call of an endpoint as a value: what to send, how to read what comes, where the answer is kept.

Knows nothing of how it is carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from independence_bench.models.messages import ChatRequest, Completion
from independence_bench.store.attempts import CallInfo
from independence_bench.store.results import AnswerTable

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Accepted(Generic[A]):
    """A completion that is an answer."""

    answer: A
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """A completion that is no answer, and why."""

    reason: str
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """What to ask of which model, and how to read what comes."""

    info: CallInfo
    request: ChatRequest
    table: AnswerTable[A]  # where the answer is kept
    final: Callable[[A], bool]  # False: a stored answer like that is asked for again
    read: Callable[[Completion], Accepted[A] | Rejected]
    none: Callable[[str], A]  # the answer that there is none, and why
    priority: int  # the length of the chain that waits for it
