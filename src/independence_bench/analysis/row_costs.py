"""What a row of a leaderboard cost, and how many tokens of reasoning its replies took.

Rejected answers were paid for and count. There is no cost if the price of an answer is not known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from operator import attrgetter

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, IndexPrice, Row
from independence_bench.analysis.results import (
    Key,
    ReasoningTokens,
    measure_mean_reasoning_tokens,
)
from independence_bench.figures import Count, Dollars
from independence_bench.models.local import JUDGES as EMBEDDED_JUDGES
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.scoring import compute_mean, compute_sum
from independence_bench.store import registry, usage
from independence_bench.store import results as stored_results
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.usage import AttemptCost

NOT_BOUGHT = ("person", *EMBEDDED_JUDGES)  # judges whose marks cost nothing
CAME = (ANSWERED, CUT_OFF)  # outcomes that a provider is paid for


@dataclass(frozen=True, slots=True)
class SubjectCost:
    """The cost of one model on one leaderboard, over all its runs, in dollars. None: the cost, or a
    part of it, is unknown.
    """

    dollars: float | None = None  # its replies
    # the judgements of them by the board's judge, or by all of its jury
    judging: float | None = None
    served: tuple[tuple[str, int], ...] = ()  # (provider, replies), the one that served most first

    @property
    def total(self) -> float | None:
        """The cost of a model's replies and of judging them, together, in dollars; None if one of
        the two is unknown.
        """
        return None if self.dollars is None or self.judging is None else self.dollars + self.judging


def read_subject_costs(
    connection: Connection, board: Board, subjects: Collection[str] | None = None
) -> dict[str, SubjectCost]:
    """Return model's hash -> what its conversations on the leaderboard *board* cost in dollars,
    replies and judgements apart, as the store recorded it. A reply or a judgement that several
    conversations share counts once.

    *subjects*: hashes of the models to read; None: all models of the leaderboard.
    """
    wanted = {
        of: mine
        for of, mine in board.results.by_subject.items()
        if subjects is None or of in subjects
    }
    about = dict.fromkeys(played.key for mine in wanted.values() for played in mine)
    judged = [of_judge[key] for key in about for of_judge in board.given if key in of_judge]
    keys = stored_results.read_transcript_reply_keys(
        connection, (played.row.id for mine in wanted.values() for played in mine)
    )
    called = {key for of in keys.values() for key in of} | {judgement.key for judgement in judged}
    replies, judgements = (
        usage.read_attempt_costs(connection, kind, None if subjects is None else called)
        for kind in ("reply", "judgement")
    )
    specs = registry.read_judge_specs(connection)
    # to the key of each judgement by the board's judge, or its jury
    given: dict[Key, list[str]] = defaultdict(list)
    bought = set()  # of those keys
    for judgement in judged:
        given[judgement.text_and_rubric_hashes].append(judgement.key)
        if specs.get(judgement.judge_hash, {}).get("kind") not in NOT_BOUGHT:
            bought.add(judgement.key)
    costs = {}
    for subject, mine in wanted.items():
        asked_for = dict.fromkeys(key for played in mine for key in keys.get(played.row.id, ()))
        marked = dict.fromkeys(key for played in mine for key in given.get(played.key, ()))
        attempts = [attempt for key in asked_for for attempt in replies.get(key, ())]
        served = Counter(
            attempt.provider for attempt in attempts if attempt.provider and attempt.outcome in CAME
        )
        judging = _sum_attempts([judgements.get(key, ()) for key in marked if key in bought])
        costs[subject] = SubjectCost(
            _sum_attempts([replies.get(key, ()) for key in asked_for]),
            None if board.judge is None else judging,
            tuple(sorted(served.items(), key=lambda item: (-item[1], item[0]))),
        )
    return costs


def add_reasoning_tokens(
    connection: Connection, boards: Sequence[Board], subjects: Collection[str] | None = None
) -> list[Board]:
    """Return copies of the leaderboards *boards*, all of one protocol, with the mean number of
    reasoning tokens in a reply of each row's model, read from the store; None where that is
    unknown.

    *subjects*: hashes of the models to count for; None: all models.
    """
    read: dict[tuple[Configuration, ...], Mapping[str, ReasoningTokens]] = {}
    made = []
    for board in boards:
        if board.configurations not in read:
            wanted = board.results.by_subject.keys() if subjects is None else subjects
            read[board.configurations] = measure_mean_reasoning_tokens(
                connection, board.results, wanted
            )
        found = read[board.configurations]
        ranked, incomplete = (
            tuple(replace(row, reasoning_tokens=found.get(row.subject.hash)) for row in rows)
            for rows in (board.ranked, board.incomplete)
        )
        made.append(replace(board, ranked=ranked, incomplete=incomplete))
    return made


def pair_index_with_run_cost(
    rows: Sequence[Row], spent: Mapping[str, SubjectCost]
) -> list[IndexPrice]:
    """Return, for each of *rows* with an index, in their order, that index beside the mean cost of
    one run in dollars: replies, judging, and both. *spent*: model's hash -> its cost over all runs.
    A cost that is unknown is None.
    """
    prices = []
    for row in rows:
        if row.index is None:
            continue
        mine = spent.get(row.subject.hash, SubjectCost())
        each = (
            None if paid is None else paid / row.runs
            for paid in (mine.dollars, mine.judging, mine.total)
        )
        prices.append(IndexPrice(row.label, row.index, *each))
    return prices


@dataclass(frozen=True, slots=True)
class RunCost:
    """The cost and time of one judge for one run of one model. None: unknown for some scenario."""

    dollars: Dollars | None = None
    seconds: Count | None = None  # of its calls one after the other, without what they waited for


def estimate_judging_cost_per_run(
    by_scenario: Sequence[Sequence[Sequence[AttemptCost]]], configurations: int, bought: bool
) -> RunCost:
    """Return what a judge costs for one run of one model, in dollars, and how long its calls take,
    in seconds: the mean over the judgements of each scenario, added up over scenarios and
    multiplied by the number of *configurations*.

    *by_scenario*: for every scenario, the attempts at each judgement, failed attempts included. A
    judgement whose price or time is unknown is left out of the mean; the result is None if that
    leaves a scenario without any. *bought* False: the judge costs nothing, and the time is None.
    """
    if not bought:
        return RunCost(dollars=0.0)
    totals = []
    for amount in (attrgetter("cost"), attrgetter("seconds")):
        each = [[_sum_attempts([tries], amount) for tries in scenario] for scenario in by_scenario]
        total = compute_sum(
            [compute_mean([of for of in scenario if of is not None]) for scenario in each]
        )
        totals.append(None if total is None or not by_scenario else configurations * total)
    return RunCost(*totals)


def _sum_attempts(
    answers: Iterable[Sequence[AttemptCost]],
    amount: Callable[[AttemptCost], float | None] = attrgetter("cost"),
) -> float | None:
    """Return the sum of *amount* (a cost in dollars or a time in seconds) over *answers*, each
    given as the list of all attempts at it; None if an answer has no attempt, or came by an attempt
    of unknown amount.
    """
    amounts = []
    for tries in answers:
        known = [(amount(attempt), attempt.outcome in CAME) for attempt in tries]
        if not known or (None, True) in known:
            return None
        amounts += [of_attempt or 0.0 for of_attempt, _ in known]
    return fsum(amounts)
