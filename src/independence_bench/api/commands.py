"""`aib run` and `aib judge` as functions: the same plan, the same store, the same rules, and a
value in the end.

    ended = run(["qwen/qwen3-8b"], runs=2, judge="embedded", budget=0.5)
    ended.complete, ended.cost

They read models.yaml of the working folder as the commands do, but no `.env`: keys come from the
environment. They can be called where an event loop runs already, as in a notebook; the work has a
thread and a loop of its own then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from os import environ
from pathlib import Path
from typing import Any, TypeVar

from independence_bench.api.named import (
    ALLOWED_FILE,
    Permissions,
    find_protocol,
    keep_exclusions,
    need_today,
    read_roster,
)
from independence_bench.api.orders import (
    EFFORTS,
    RunOrder,
    judge_options,
    lines_before,
    run_options,
)
from independence_bench.engine.ask import Asker
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report, Trouble
from independence_bench.engine.schedule import run as carry_out
from independence_bench.engine.session import (
    Limits,
    RunOptions,
    judge_spec_of,
    resolve_judge,
    resolved,
)
from independence_bench.errors import (
    EndpointUnusable,
    Interrupted,
    SubjectError,
    WrongUse,
    handling,
    is_typed,
)
from independence_bench.escape import KNOWN
from independence_bench.figures import money
from independence_bench.models.client import read_key
from independence_bench.models.local import NAME
from independence_bench.models.local.files import data_folder
from independence_bench.store.database import Store, default_store, open_store


async def look_up(options: RunOptions, judges: Sequence[str], store: Store) -> None:
    """Raises SubjectError for a judge that there is not, EndpointUnusable where a key is
    missing.
    """
    for name in judges:
        one = replace(options, judge=name)
        if name == NAME:
            await resolve_judge(one, {})
        else:
            read_key(options.roster.endpoint(judge_spec_of(one).endpoint), one.allow)
            with contextlib.suppress(EndpointUnusable):  # reported when it is its turn
                async with resolved(one, store):
                    pass


async def take_turns(
    limits: Limits,
    judges: Sequence[str],
    turn: Callable[[str, Limits], Awaitable[Report | None]],
    say: Callable[[str], object],
) -> bool:
    """Each judge's *turn*, on what is left of the budget; whether all of them were asked
    everything.

    An endpoint that fails ends its own judge's turn; Ctrl-C and a budget that is used up end all of
    them. What a user should know of it is given to *say*, a line each.
    """
    complete, spent = True, 0.0
    for number, name in enumerate(judges, start=1):
        # what a job has spent the store knows
        left = (
            None
            if limits.budget is None
            else limits.budget - (spent if limits.job is None else 0.0)
        )
        if len(judges) > 1:
            of_budget = "" if left is None else f", {money(max(left, 0.0))} of the budget left"
            say(f"judge {number} of {len(judges)}: {name}{of_budget}")
        if left is not None and left <= 0:
            say("stopped: the budget is used up. The same command continues from here.")
            return False
        report = None
        try:
            report = await turn(name, replace(limits, budget=left))
        except (EndpointUnusable, SubjectError) as error:
            if len(judges) == 1:
                raise
            say(f"not judged: {error}")
        complete = complete and report is not None and report.complete
        if report is not None:
            spent += report.budget.spent
            if isinstance(report.stopped, Interrupted):
                return False
    return complete


A = TypeVar("A")
LEAST, MOST = 1e-6, 1e9  # dollars that a budget may be
Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run, or a round of judging, came to. What was bought is in the store, whatever stands
    here.
    """

    complete: bool  # everything that was asked for is stored and judged
    cost: float  # dollars that the endpoints said it took, rejected attempts included
    subjects: tuple[str, ...]  # labels of those that were played or judged
    judges: tuple[str, ...]  # labels of those that were asked
    # (subject's label, what could not be completed and why)
    troubles: tuple[tuple[str, Trouble], ...]
    lost: int  # calls that an earlier process left in flight: at most these are paid for twice
    stopped: str | None  # why it ended early: Ctrl-C, or the budget


def run(
    models: str | Sequence[str],
    *,
    store: str | Path | None = None,
    protocol: str | Path = "v2",
    exp: str | Sequence[str] = (),
    variants: str | Sequence[str] = (),
    modes: str | Sequence[str] = (),
    runs: int | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    provider: str | None = None,
    judge: str | None = None,
    no_judge: bool = False,
    again: bool = False,
    models_file: str | Path | None = None,
    local_url: str | None = None,
    parallel: int | None = None,
    parallel_tasks: int | None = None,
    budget: float | None = None,
    price: tuple[float, float] | None = None,
    trust: str | Sequence[str] = (),
    tell: Tell | None = None,
) -> RunOutcome:
    """Play a protocol against *models* and have every conversation judged, as `aib run` does.

    What is stored already is not asked again. Each argument is the option of that name: *budget* in
    dollars, *price* in dollars per million tokens, sent and received. *tell* is given each line
    that the command says before it begins. Nothing is asked: whoever calls this with models wants
    them played. Ctrl-C once waits for what is in flight, twice leaves it.

    Raises WrongUse, ProtocolError or SubjectError for what cannot be asked for, EndpointUnusable
    where a key is missing or nothing answers, StoreError where the store cannot be written.
    """
    _within("runs", runs, 1, 1000)
    _within("temperature", temperature, 0, 2)
    _within("max_tokens", max_tokens, 1, 1_000_000)
    if reasoning_effort not in (None, *EFFORTS):
        raise WrongUse(
            f"reasoning_effort is {reasoning_effort!r}; it should be {', '.join(EFFORTS)} or None"
        )
    limits = _limits(parallel, parallel_tasks, budget, price)
    order = RunOrder(
        models=tuple(_listed(models)),
        models_file=None if models_file is None else Path(models_file),
        local_url=local_url,
        protocol=str(protocol),
        experiments=tuple(_listed(exp)),
        variants=tuple(_listed(variants)),
        delivery=tuple(_listed(modes)),
        runs=runs,
        temperature=temperature,
        max_tokens=max_tokens,
        reasoning_effort=reasoning_effort,
        provider=provider,
        judge=None if judge is None else judge.strip(),
        no_judge=no_judge,
        again=again,
    )
    options = run_options(order, _permissions(trust), limits)
    work = _Work(tell)
    with open_store(str(store or default_store()), typed="independence_bench.run") as opened:
        ended = _outcome([work.done(work.report_on(options, opened))])
        keep_exclusions(opened, options.roster)
    return ended


def judge(
    judges: str | Sequence[str] = (),
    *,
    store: str | Path | None = None,
    protocol: str | Path | None = None,
    models: str | Sequence[str] = (),
    exp: str | Sequence[str] = (),
    variants: str | Sequence[str] = (),
    modes: str | Sequence[str] = (),
    models_file: str | Path | None = None,
    local_url: str | None = None,
    parallel: int | None = None,
    parallel_tasks: int | None = None,
    budget: float | None = None,
    price: tuple[float, float] | None = None,
    trust: str | Sequence[str] = (),
    tell: Tell | None = None,
) -> RunOutcome:
    """Have *judges* judge what is stored, one after the other on one *budget*, as `aib judge` does.

    Without any, the protocol's own; without a *protocol*, the one played last. *models* are labels,
    or parts of one that fit a single stored model; without any, all are judged. Judgements of
    several judges are kept: nothing but a failure is replaced. A judge that there is not is an
    error before a call is made; of several, one whose endpoint fails later is a trouble of its own.
    Arguments and errors are those of `run`.
    """
    named, limits = _listed(judges), _limits(parallel, parallel_tasks, budget, price)
    roster = read_roster(None if models_file is None else Path(models_file), local_url)
    with open_store(
        str(store or default_store()), create=False, typed="independence_bench.judge"
    ) as opened:
        found, files = find_protocol(None if protocol is None else str(protocol), opened)
        need_today(found)
        chosen = _listed(variants), _listed(modes)
        options = judge_options(
            opened, found, files, roster, _permissions(trust), limits, *chosen,
            models=_listed(models), experiments=_listed(exp),
        )  # fmt: skip
        asked, work = named or [found.judge.model], _Work(tell)
        if len(asked) > 1:
            work.done(look_up(options, asked, opened))
        reports, failed = list[Report](), list[tuple[str, Trouble]]()

        async def turn(name: str, limits: Limits) -> Report | None:
            try:
                reports.append(
                    await work.report_on(replace(options, judge=name, limits=limits), opened)
                )
            except (EndpointUnusable, SubjectError) as error:
                failed.append((name, Trouble("judging", str(error))))
                raise
            return reports[-1]

        complete = work.done(take_turns(limits, asked, turn, tell or (lambda _line: None)))
        keep_exclusions(opened, roster)
    ended = _outcome(reports)
    return replace(ended, complete=complete, troubles=(*ended.troubles, *failed))


def _listed(named: str | Sequence[str]) -> list[str]:
    """One name, or several, each once, without spaces around it."""
    every = [named] if isinstance(named, str) else named
    return list(dict.fromkeys(name.strip() for name in every))


def _within(name: str, value: float | None, least: float, most: float) -> None:
    """Raises WrongUse unless *value* is None or a number in that range, which NaN is not."""
    if value is not None and not (isinstance(value, int | float) and least <= value <= most):
        raise WrongUse(f"{name} is {value!r}; it should be a number from {least:g} to {most:g}")


def _permissions(trust: str | Sequence[str]) -> Permissions:
    KNOWN.learn_proxies(environ)
    return Permissions(data_folder(environ) / ALLOWED_FILE, _listed(trust))


def _limits(
    at_once: int | None, calls: int | None, budget: float | None, price: tuple[float, float] | None
) -> Limits:
    """The limits of one call; *price* in dollars per million tokens. Raises WrongUse for what none
    can be.
    """
    _within("parallel", at_once, 1, 256)
    _within("parallel_tasks", calls, 1, 4096)
    _within("budget", budget, LEAST, MOST)
    for dollars in price or ():
        _within("price", dollars, 0, MOST)
    return Limits(
        at_once, calls, budget, None if price is None else (price[0] / 1e6, price[1] / 1e6)
    )


def _outcome(reports: Sequence[Report]) -> RunOutcome:
    stopped = next((str(report.stopped) for report in reports if report.stopped), None)
    return RunOutcome(
        complete=all(report.complete for report in reports),
        cost=sum(report.cost for report in reports),
        subjects=tuple(
            dict.fromkeys(progress.label for report in reports for progress in report.subjects)
        ),
        judges=tuple(report.judge for report in reports if report.judge),
        troubles=tuple(trouble for report in reports for trouble in report.troubles),
        lost=sum(report.lost for report in reports),
        stopped=stopped,
    )


# ---------------------------------------------------------------- a loop of its own


class _Work:
    """The work of one call, in an event loop of its own: in this thread, or in another where this
    one runs a loop.
    """

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._asker: Asker | None = None

    async def report_on(self, options: RunOptions, store: Store) -> Report:
        """What came of *options*."""
        report = await carry_out(options, store, self._approve, self._watch)
        self._asker = None
        assert report is not None  # noqa: S101 - no approval is asked for
        return report

    def done(self, work: Coroutine[Any, Any, A]) -> A:
        """The result of *work*. Raises KeyboardInterrupt where a second Ctrl-C ended it at once."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._run(work)
        # a notebook's loop runs in this thread, and waits for this call
        with ThreadPoolExecutor(1) as thread, handling(self._interrupt):
            return thread.submit(self._run, work).result()

    def _run(self, work: Coroutine[Any, Any, A]) -> A:
        try:
            return asyncio.run(self._known(work))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    async def _known(self, work: Coroutine[Any, Any, A]) -> A:
        self._loop, self._task, self._asker = (
            asyncio.get_running_loop(),
            asyncio.current_task(),
            None,
        )
        return await work

    def _approve(self, preview: Preview) -> bool:
        if self._tell is not None:
            for line in lines_before(preview):
                self._tell(line)
        return True

    async def _watch(self, asker: Asker) -> None:
        self._asker = asker

    def _interrupt(self, number: int, _frame: object) -> None:
        """As `engine.run.interruptible` has it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop, is_typed(number))

    def _stop(self, typed: bool) -> None:
        if self._asker is not None and self._asker.report.stopped is None:
            self._asker.stop(Interrupted())
        elif (self._asker is None or typed) and self._task is not None:
            self._task.cancel()
