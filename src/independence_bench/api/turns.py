"""Several judges asked one after the other, on one budget."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from independence_bench.engine.run import Report
from independence_bench.engine.session import Limits, RunOptions, judge_spec_of, resolved
from independence_bench.errors import EndpointUnusable, Interrupted, SubjectError
from independence_bench.models.client import read_key
from independence_bench.models.local import DEEP, NAME, weights
from independence_bench.report.format import money
from independence_bench.store.database import Store


async def look_up(options: RunOptions, judges: Sequence[str], store: Store) -> None:
    """Raises SubjectError for a judge that there is not, EndpointUnusable where a key is missing."""
    for name in judges:
        if name == DEEP:
            weights.require()
        elif name != NAME:
            one = replace(options, judge=name)
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
    """Each judge's *turn*, on what is left of the budget; whether all of them were asked everything.

    An endpoint that fails ends its own judge's turn; Ctrl-C and a budget that is used up end all of them.
    What a user should know of it is given to *say*, a line each.
    """
    complete, spent = True, 0.0
    for number, name in enumerate(judges, start=1):
        # what a job has spent the store knows
        left = None if limits.budget is None else limits.budget - (spent if limits.job is None else 0.0)
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
