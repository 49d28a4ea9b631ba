"""What is written down about questions at work: looked up, claimed and begun, ended. Many of them in one commit.

Each operation takes everything that waits for it at once (`store.commits`), on a connection whose transaction
nobody else writes in. Sends nothing and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from independence_bench.calls.call import Good, Question
from independence_bench.calls.retry import GaveUp, Tries
from independence_bench.models.messages import Completion
from independence_bench.models.response import read_completion
from independence_bench.store import attempts as stored_attempts
from independence_bench.store.attempts import CUT_OFF, Tried
from independence_bench.store.owners import Watch
from independence_bench.store.results import Shelf

A = TypeVar("A")
T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """What a command has bought so far; read while it is being written to."""

    calls: int = 0  # attempts that ended
    in_flight: int = 0
    waiting: int = 0  # calls that wait to be asked again
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # dollars
    unpriced: int = 0  # attempts that a reply came of, readable or not, whose cost nobody told


@dataclass(frozen=True, slots=True)
class Found(Generic[A]):
    """Somebody has bought it already."""

    answer: A


@dataclass(slots=True)
class Case(Generic[A]):
    """One question at work."""

    question: Question[A]
    tally: Tally
    tries: Tries = field(default_factory=Tries)
    spare: tuple[int, A] | None = None  # a cut-off answer and its attempt, should the longer one never come
    ours: bool = False  # the call is claimed

    @property
    def key(self) -> str:
        """What the question is stored under."""
        return self.question.info.key

    @property
    def limit(self) -> int:
        """Tokens that the next attempt may use; after a cut-off reply twice as many."""
        return self.question.request.model.max_tokens * (2 if self.tries.cut_off else 1)

    @property
    def who(self) -> tuple[str, str]:
        """The model and what it is wanted for: what a refusal is remembered by."""
        return self.question.request.model.hash, self.question.info.kind

    def recall(self, before: Tried, answered: bool) -> None:
        """Go on where earlier attempts stopped; *answered*: with an answer that is not final."""
        # what is asked for again after a final no starts from the beginning
        self.tries = Tries(broken=0 if answered else before.broken, cut_off=before.cut_off)
        if before.spare is not None:
            attempt, raw = before.spare
            completion = read_completion(raw.encode("utf-8", "surrogatepass"), 200, None)
            read = self.question.read(completion) if isinstance(completion, Completion) else None
            self.spare = (attempt, read.answer) if isinstance(read, Good) else None


@dataclass(slots=True)
class Step(Generic[A]):
    """What one attempt leads to: an answer to keep (of which attempt), an end, or another try after a wait."""

    outcome: str
    message: str = ""
    answer: tuple[int, A] | None = None
    end: GaveUp | None = None
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Finished(Generic[A]):
    """An attempt that has ended, and what it led to."""

    case: Case[A]
    attempt: int
    ended: stored_attempts.Ended
    step: Step[A]


def _by_shelf(items: Iterable[T], shelf_of: Callable[[T], Shelf[Any]]) -> list[tuple[Shelf[Any], list[T]]]:
    groups: dict[Shelf[Any], list[T]] = {}
    for item in items:
        groups.setdefault(shelf_of(item), []).append(item)
    return list(groups.items())


@dataclass(slots=True)
class Books:
    """The books of one process, which is *owner*."""

    owner: str
    now: Callable[[], float]  # seconds since 1970
    watch: Watch | None = None  # of who works on the store with another clock, where there can be such
    fresh: set[str] = field(default_factory=set)  # calls answered by this command: final, whatever came of them

    def look_up(self, connection: Connection, cases: Sequence[Case[Any]]) -> list[Found[Any] | None]:
        """The stored answers that are final; for the others, what was tried before is taken into account."""
        found: dict[str, Any] = {}
        for shelf, group in _by_shelf(cases, lambda case: case.question.shelf):
            found |= shelf.find(connection, [case.key for case in group])
        results = [self._final(case, found.get(case.key)) for case in cases]
        left = [case for case, result in zip(cases, results, strict=True) if result is None]
        before = stored_attempts.tried(connection, [case.key for case in left]) if left else {}
        for case in left:
            case.recall(before.get(case.key, Tried()), case.key in found)
        return results

    def _final(self, case: Case[A], answer: A | None) -> Found[A] | None:
        final = answer is not None and (case.question.final(answer) or case.key in self.fresh)
        return Found(answer) if final and answer is not None else None

    def start(self, connection: Connection, cases: Sequence[Case[Any]]) -> list[int | Found[Any] | None]:
        """Claim what is not ours yet and write attempts down: their ids; None for what somebody else is at."""
        now = self.now()
        held = stored_attempts.holders(connection, {case.key for case in cases})
        # a process that slept beyond its lease may have lost its claims to another
        ours = {id(case) for case in cases if case.ours and held[case.key].owner == self.owner}
        # what was never asked is stored nowhere
        known = [case for case in cases if id(case) not in ours and case.key in held]
        answers = dict(zip(map(id, known), self.look_up(connection, known), strict=True))
        # two tasks can have the same question: one asks it, the other waits
        asking: dict[str, Case[Any]] = {}
        for case in cases:
            if id(case) not in ours and answers.get(id(case)) is None:
                asking.setdefault(case.key, case)
        got = stored_attempts.claim(
            connection, [case.question.info for case in asking.values()], held, self.owner, now, self.watch
        )
        begun = [c for c in cases if id(c) in ours or (c.key in got and asking.get(c.key) is c)]
        numbers = stored_attempts.begin_attempts(
            connection, [(case.key, case.limit) for case in begun], self.owner, now
        )
        attempts = dict(zip(map(id, begun), numbers, strict=True))
        return [attempts.get(id(case), answers.get(id(case))) for case in cases]

    def finish(self, connection: Connection, finished: Sequence[Finished[Any]]) -> list[None]:
        """Write down how attempts ended, with the answers that they gave, and give those claims back."""
        now = self.now()
        stored_attempts.end_attempts(connection, [(one.attempt, one.ended) for one in finished], now)
        kept = [
            (one.case.question.shelf, (one.case.key, *one.step.answer, now))
            for one in finished
            if one.step.answer is not None and one.step.outcome != CUT_OFF
        ]
        for shelf, group in _by_shelf(kept, lambda one: one[0]):
            shelf.keep(connection, [row for _, row in group])
        if keys := [key for _, (key, *_) in kept]:
            stored_attempts.release(connection, keys, self.owner)
            self.fresh.update(keys)  # here, before another task's write can find the claims free
        return [None] * len(finished)
