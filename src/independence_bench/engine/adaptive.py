"""Plays whole runs in rounds: after each it scores what is stored, and gives the next run to whom it settles most for.

Knows orders, boards and the rules of `statistics.adaptive`; prints nothing. There is no memory but the store: whoever
starts again sees what is there and goes on from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from independence_bench.analysis.leaderboard import Board, Row, boards
from independence_bench.analysis.statistics.dispersion import Measured
from independence_bench.analysis.statistics.ranking import Bools, pairs_of
from independence_bench.analysis.statistics.sequential import FEWEST, look_at_ranking, look_at_width, runs_needed
from independence_bench.analysis.uncertainty import INDEX
from independence_bench.calls.budget import Budget
from independence_bench.engine.player import Engine
from independence_bench.engine.run import Order, Progress, Report
from independence_bench.engine.schedule import Spread, carry_out_spread
from independence_bench.engine.session import Outlook, Wanted, carry_out, outlook_of, settled
from independence_bench.errors import WrongUse
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.plan import groups
from independence_bench.store.database import Store

SETTLED, OPEN, OUT_OF_REACH, ALL_RUNS, INCOMPLETE = "settled", "open", "out of reach", "all runs", "incomplete"
ALL_SPENT = "the budget does not hold another whole run"


@dataclass(frozen=True, slots=True)
class Aim:
    """What is played for."""

    width: float | None  # of the index's interval from end to end, in points; None: until the ranking stands
    most: int  # runs of a subject


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where one subject of the order is."""

    subject: ChatModel
    state: str  # SETTLED, OPEN, OUT_OF_REACH, ALL_RUNS, or INCOMPLETE: it has no index
    runs: int = 0  # begun
    row: Row | None = None  # on the board; None: nothing of it is there
    needed: int | None = None  # runs that the width would take; None: not out of reach, or more than anybody plays
    apart: int = 0  # of a ranking: other subjects that it is apart from
    open: int = 0  # whom another run may tell it from
    alike: int = 0  # whom it cannot be told from with so many runs


@dataclass(frozen=True, slots=True)
class Look:
    """What the store says after a round."""

    standpoints: tuple[Standpoint, ...]  # of the order's subjects, in its order
    next: tuple[ChatModel, ...]  # who is to play one more run, the most worth it first
    widest: float | None  # interval of them in points; None: nobody has one
    open_pairs: int = 0

    @property
    def left(self) -> int:
        """Subjects that are not through."""
        return sum(one.state == OPEN for one in self.standpoints)


@dataclass(slots=True)
class Course:
    """How a command goes; read while it is written to."""

    aim: Aim
    budget: Budget
    round: int = 1  # the first fills what everybody needs
    look: Look | None = None
    progress: list[Progress] = field(default_factory=list)  # of every order that was carried out
    lost: int = 0
    stopped: str | None = None  # why it ended early
    judge: str | None = None  # label

    @property
    def report(self) -> Report:
        """Everything that was carried out, as of one command."""
        return Report(self.progress, self.budget, self.lost, self.stopped, self.judge)


async def play_rounds(
    wanted: Wanted,
    aim: Aim,
    store: Store,
    approve: Callable[[Outlook], bool],
    watch: Callable[[Engine], Awaitable[None]],
    tell: Callable[[Course], None],
    spread: Spread | None = None,
) -> Course | None:
    """Play until *aim* is reached, or nothing that is allowed can bring it nearer; None where *approve* said no.

    *approve* sees what it takes if every subject plays the most runs. *watch* and Ctrl-C as with `conduct`. *tell* is
    called after every look. *spread*: how far apart the runs of a subject are; None: one follows the other. Raises
    WrongUse for what has no ranking of its own.
    """
    group = ranked_together(wanted)
    async with settled(replace(wanted, runs=aim.most)) as (order, clients):
        if not approve(await outlook_of(order, store, clients, wanted.budget)):
            return None
        course = Course(aim, Budget(wanted.budget), judge=order.judge.label if order.judge else None)

        async def play(wishes: Iterable[tuple[ChatModel, int]]) -> None:
            """Fill so many runs of each; one order for all who are to have the same number."""
            by_runs: dict[int, list[ChatModel]] = defaultdict(list)
            for subject, runs in wishes:
                by_runs[runs].append(subject)
            for runs, subjects in sorted(by_runs.items()):
                if course.stopped is None:
                    part = replace(order, subjects=tuple(subjects), runs=runs)
                    if spread is None:
                        report = await carry_out(part, store, clients, course.budget, watch)
                    else:
                        report = await carry_out_spread(part, store, clients, course.budget, watch, spread)
                    course.progress += report.subjects
                    course.lost += report.lost
                    course.stopped = report.stopped

        begun = begun_runs(boards(store, order.protocol), group)
        await play((subject, max(FEWEST, begun.get(subject.hash, 0))) for subject in order.subjects)
        while True:
            course.look = look = take_look(store, order, aim, group)
            tell(course)
            if course.stopped is not None or not look.next:
                return course
            runs = {one.subject: one.runs + 1 for one in look.standpoints}
            chosen = await _affordable([(one, runs[one]) for one in look.next], order, store, clients, course.budget)
            if not chosen:
                course.stopped = ALL_SPENT
                return course
            course.round += 1
            await play(chosen)


def ranked_together(wanted: Wanted) -> tuple[object, ...]:
    """The configurations of the one board that is looked at. Raises WrongUse where there is none, or several."""
    if wanted.judge is None:
        raise WrongUse("without a judge there is no index to look at: leave --no-judge out")
    if wanted.experiments:
        raise WrongUse("a part of the experiments has no index: leave --exp out")
    group = next((one for one in groups(wanted.protocol) if set(one) == set(wanted.configurations)), None)
    if group is None:
        raise WrongUse("these configurations are ranked apart from each other: choose one, or the protocol's own")
    return group


def begun_runs(found: Sequence[Board], group: Collection[object]) -> dict[str, int]:
    """Subject's hash -> the number of its last run that counts on a board of *group*."""
    begun: dict[str, int] = {}
    for board in found:
        if set(board.configurations) == set(group):
            for row in (*board.ranked, *board.incomplete):
                begun[row.subject.hash] = max(begun.get(row.subject.hash, 0), *row.runs, 0)
    return begun


def take_look(store: Store, order: Order, aim: Aim, group: Collection[object]) -> Look:
    """Score what is stored, and say how far each of *order*'s subjects is and who is to play on."""
    found = [one for one in boards(store, order.protocol) if set(one.configurations) == set(group)]
    begun = begun_runs(found, group)
    label = order.judge.label if order.judge else None
    board = next((one for one in found if one.judge == label), None)
    rows = {} if board is None else {row.subject.hash: row for row in (*board.ranked, *board.incomplete)}
    without = {
        one.hash: Standpoint(one, INCOMPLETE, begun.get(one.hash, 0), rows.get(one.hash)) for one in order.subjects
    }
    if board is None or board.sureness is None or not board.sureness.measures:
        return Look(tuple(without.values()), (), None)
    measured = board.sureness.measures[INDEX].measured
    # as they were ordered: a stored subject does not know how it was asked for
    ours = [next((one for one in order.subjects if one.hash == row.subject.hash), None) for row in board.ranked]
    look = _at_width if aim.width is not None else _at_ranking
    standpoints, chosen, open_pairs = look(board, measured, ours, aim)
    known = without | {one.subject.hash: one for one in standpoints}
    mine = [row.certainty.index.again for row in board.ranked if row.subject.hash in without]
    return Look(
        tuple(known[one.hash] for one in order.subjects),
        tuple(subject for n in chosen if (subject := ours[n]) is not None),
        max((one.width for one in mine if one), default=None),
        open_pairs,
    )


Found = tuple[list[Standpoint], Sequence[int], int]


def _at_width(board: Board, measured: Measured, ours: Sequence[ChatModel | None], aim: Aim) -> Found:
    wanted = (aim.width or 0.0) / 100
    look = look_at_width(measured, _there(ours), aim.most, wanted)
    needed = runs_needed(measured, wanted)
    standpoints = []
    for n, (row, subject) in enumerate(zip(board.ranked, ours, strict=True)):
        if subject is not None:
            state = SETTLED if look.narrow[n] else OUT_OF_REACH if look.out_of_reach[n] else OPEN
            if state == OPEN and n not in look.next:
                state = ALL_RUNS
            more = needed[n] if state in (OUT_OF_REACH, ALL_RUNS) else None
            standpoints.append(Standpoint(subject, state, max(row.runs), row, more))
    return standpoints, look.next.tolist(), 0


def _at_ranking(board: Board, measured: Measured, ours: Sequence[ChatModel | None], aim: Aim) -> Found:
    look = look_at_ranking(measured, _there(ours), aim.most)
    first, second = pairs_of(len(board.ranked))
    standpoints = []
    for n, (row, subject) in enumerate(zip(board.ranked, ours, strict=True)):
        if subject is not None:
            mine = (first == n) | (second == n)
            apart, open_ = int(look.apart[mine].sum()), int(look.open[mine].sum())
            alike = int(mine.sum()) - apart - open_
            state = OPEN if open_ else OUT_OF_REACH if alike else SETTLED
            standpoints.append(Standpoint(subject, state, max(row.runs), row, apart=apart, open=open_, alike=alike))
    return standpoints, look.next.tolist(), int(look.open.sum())


def _there(ours: Sequence[ChatModel | None]) -> Bools:
    return np.array([subject is not None for subject in ours], dtype=np.bool_)


async def _affordable(
    wishes: Sequence[tuple[ChatModel, int]],
    order: Order,
    store: Store,
    clients: Mapping[str, Client],
    budget: Budget,
) -> list[tuple[ChatModel, int]]:
    """Those of *wishes*, the first ones first, whose runs the budget will hold whole, as far as can be foreseen.

    A run that the budget cuts short leaves its subject without an index.
    """
    if budget.limit is None:
        return list(wishes)
    left = budget.limit - budget.spent
    chosen = []
    for subject, runs in wishes:
        outlook = await outlook_of(replace(order, subjects=(subject,), runs=runs), store, clients, None)
        most = outlook.estimates[0].high or 0.0  # a price that is not known: the budget itself will tell
        if most <= left:
            left -= most
            chosen.append((subject, runs))
    return chosen
