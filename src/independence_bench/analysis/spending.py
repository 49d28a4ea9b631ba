"""What the rows of a board have cost: the replies of each subject, and what the board's judge took for marking them.

Reads the store's attempts; formats nothing. Rejected answers were paid for and count. A cost is absent (None) where the
price of an answer is not known; the embedded judge and people cost 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from operator import attrgetter

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, BoardRecords
from independence_bench.analysis.results import Key, judgements_of, results_of
from independence_bench.models.local import JUDGES as EMBEDDED_JUDGES
from independence_bench.protocol.scoring import mean_of, sum_of
from independence_bench.store import registry, usage
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import Judgement
from independence_bench.store.usage import AttemptCost

NOT_BOUGHT = ("person", *EMBEDDED_JUDGES)  # judges whose marks cost nothing
CAME = (ANSWERED, CUT_OFF)  # outcomes that a provider is paid for


@dataclass(frozen=True, slots=True)
class SubjectCost:
    """What a subject cost on one board, in dollars. None: not known, or not of all of it."""

    dollars: float | None = None  # its replies
    judging: float | None = None  # the judgements of them by the board's judge, or by all of its jury
    served: tuple[tuple[str, int], ...] = ()  # (provider, replies), the one that served most first

    @property
    def total(self) -> float | None:
        """Replies and judgements together."""
        return None if self.dollars is None or self.judging is None else self.dollars + self.judging


def subject_costs(connection: Connection, board: Board, records: BoardRecords | None = None) -> dict[str, SubjectCost]:
    """Subject hash -> what its row cost; a reply or a judgement that several transcripts share counts once.

    *records*: what the board was made of, if at hand.
    """
    if records is None:
        (results,) = results_of(connection, board.protocol, board.configurations)
        judged = judgements_of(connection, [results])
    else:
        results = next(of for of in records.every if of.configurations == board.configurations)
        judged = [one for one in records.judgements if one.about in results.keys]
    keys = stored_results.reply_keys(connection, results.slots)
    replies, judgements = (usage.attempt_costs(connection, kind) for kind in ("reply", "judgement"))
    given, bought = _judgements(connection, board, judged)
    found = {}
    for subject, mine in results.by_subject.items():
        said = dict.fromkeys(key for one in mine for key in keys[one.row.id])
        marked = dict.fromkeys(key for one in mine for key in given.get(one.key, ()))
        every = [one for key in said for one in replies.get(key, ())]
        served = Counter(one.provider for one in every if one.provider and one.outcome in CAME)
        judging = _in_all([judgements.get(key, ()) for key in marked if key in bought])
        found[subject] = SubjectCost(
            _in_all([replies.get(key, ()) for key in said]),
            None if board.judge is None else judging,
            tuple(sorted(served.items(), key=lambda item: (-item[1], item[0]))),
        )
    return found


@dataclass(frozen=True, slots=True)
class RunCost:
    """What one run of one subject takes a judge. None: not known of every scenario."""

    dollars: float | None = None
    seconds: float | None = None  # of its calls one after the other, without what they waited for


def judging_cost(by_scenario: Sequence[Sequence[Sequence[AttemptCost]]], configurations: int, bought: bool) -> RunCost:
    """What a run takes: the mean judgement of each scenario, times *configurations*, all together.

    *by_scenario*: of every scenario, the attempts at each judgement, failed ones included; a judgement whose price or
    time nobody told is left out of the mean. *bought* False: the marks cost nothing, and nobody has timed them.
    """
    if not bought:
        return RunCost(dollars=0.0)
    totals = []
    for amount in (attrgetter("cost"), attrgetter("seconds")):
        each = [[_in_all([tries], amount) for tries in scenario] for scenario in by_scenario]
        total = sum_of([mean_of([one for one in scenario if one is not None]) for scenario in each])
        totals.append(None if total is None or not by_scenario else configurations * total)
    return RunCost(*totals)


def _in_all(
    answers: Iterable[Sequence[AttemptCost]], amount: Callable[[AttemptCost], float | None] = attrgetter("cost")
) -> float | None:
    """What *answers* cost, or took, each with all its attempts; None where one has none, or has one of unknown cost."""
    amounts = []
    for attempts in answers:
        known = [(amount(attempt), attempt.outcome in CAME) for attempt in attempts]
        if not known or (None, True) in known:
            return None
        amounts += [one or 0.0 for one, _ in known]
    return fsum(amounts)


def _judgements(
    connection: Connection, board: Board, judged: Iterable[Judgement]
) -> tuple[dict[Key, list[str]], set[str]]:
    """(heard and rubric -> keys of what the board's judge, or its jury, made of it; those keys that were bought)."""
    specs = registry.judge_specs(connection)
    given: dict[Key, list[str]] = defaultdict(list)
    bought = set()
    for one in judged:
        if one.judge_hash in board.judge_hashes:
            given[one.about].append(one.key)
            if specs.get(one.judge_hash, {}).get("kind") not in NOT_BOUGHT:
                bought.add(one.key)
    return given, bought
