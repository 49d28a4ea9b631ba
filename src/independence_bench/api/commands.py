"""Play and judge: `aib run` and `aib judge` as functions that return a value.

    ended = run(["qwen/qwen3-8b"], runs=2, judge="embedded", budget=0.5)
    ended.complete, ended.cost

The command line and notebooks both come in here. From Python models.yaml of the working folder is
read, but no `.env`: keys come from the environment. The functions can be called where an event loop
runs already, as in a notebook; the work has a thread and a loop of its own then.
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

from independence_bench.analysis.results import read_results
from independence_bench.api.named import (
    ALLOWED_FILE,
    Permissions,
    check_current_form,
    describe_missing_conversations,
    find_shipped_or_stored_protocol,
    find_stored_subjects,
    update_stored_exclusions,
)
from independence_bench.engine import schedule
from independence_bench.engine.ask import Asker
from independence_bench.engine.named import choose_configurations, choose_experiments
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import Report, Run, Trouble
from independence_bench.engine.session import (
    find_judge_spec,
    find_roster,
    list_named_models,
    open_session,
    resolve_judge,
    resolve_run,
)
from independence_bench.errors import (
    EndpointUnusable,
    Interrupted,
    SubjectError,
    WrongUse,
    handle_signals,
    is_typed_signal,
)
from independence_bench.escape import KNOWN
from independence_bench.figures import format_dollars
from independence_bench.integrations.ray_cluster import Cluster, HandedOut, run_on_ray
from independence_bench.lookup import normalize_names
from independence_bench.models.client import read_key
from independence_bench.models.local import NAME
from independence_bench.models.local.files import find_data_folder
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files
from independence_bench.report.estimate_view import describe_preview
from independence_bench.store import registry
from independence_bench.store.database import Store, find_default_store, open_store


async def carry_out_run(
    wanted: Run,
    store: Store,
    approve: Callable[[Preview], bool],
    watch: Callable[[Asker | HandedOut], Awaitable[None]],
    cluster: Cluster | None = None,
    tell: Callable[[str], object] = lambda _line: None,
) -> Report | None:
    """Play and judge the run *wanted* in this process, or on *cluster*, with the results in
    *store*. Returns the report; None if *approve*, which gets the forecast of the calls, says no.

    *watch* runs at the same time, to show the progress, and is cancelled at the end. *tell* gets a
    line if a worker of the cluster is lost. Raises what `open_session` raises, or StoreError.
    """
    if cluster is not None:
        return await run_on_ray(wanted, store, cluster, approve, watch, tell)
    return await schedule.play_run(wanted, store, approve, watch)


def plan_judging(wanted: Run, store: Store, protocol_and_files: tuple[Protocol, Files]) -> Run:
    """Return *wanted* changed to a run that plays nothing and judges the stored conversations of
    the protocol *protocol_and_files*.

    It covers the models and experiments that *wanted* names; if none is named, all. It covers the
    configurations that *wanted* names; if none is named, the protocol's default ones, or all that
    were played if no default one was. Raises WrongUse for a name that fits nothing, and if
    conversations are stored but none in the named configurations.
    """
    protocol, _ = protocol_and_files
    variants, modes = normalize_names(wanted.variants), normalize_names(wanted.modes)
    where = choose_configurations(protocol, variants, modes)
    names = list_named_models(wanted)
    named = find_stored_subjects(store, protocol, names) if names else None
    with store.open_snapshot() as connection:
        subjects = tuple(named or registry.read_subjects(connection).values())
        every = [
            one.configuration
            for of in read_results(connection, protocol)
            for one in of.conversations
        ]
    played = tuple(dict.fromkeys(every))
    if played and not set(played) & set(where):
        if variants or modes:
            raise WrongUse(describe_missing_conversations(protocol, where, played))
        where = played
    return replace(
        wanted,
        protocol=protocol_and_files,
        configurations=where,
        models=subjects,
        exp=choose_experiments(protocol, normalize_names(wanted.exp)),
        judge_only=True,
        again=True,
    )


async def check_judge_names_and_keys(wanted: Run, judges: Sequence[str], store: Store) -> None:
    """Raise SubjectError if one of *judges* does not exist, EndpointUnusable if the API key for one
    of them is missing. An endpoint that does not answer is no error.
    """
    for name in judges:
        one = resolve_run(replace(wanted, judge=name))
        if name == NAME:
            await resolve_judge(one, {})
        else:
            read_key(find_roster(one).find_endpoint(find_judge_spec(one).endpoint), one.allow)
            with contextlib.suppress(EndpointUnusable):  # reported when it is its turn
                async with open_session(one, store):
                    pass


async def run_judges_in_turn(
    wanted: Run,
    judges: Sequence[str],
    run_one_judge: Callable[[Run], Awaitable[Report | None]],
    say: Callable[[str], object],
) -> bool:
    """Have *judges* judge the run *wanted* one after the other, each by a call of *run_one_judge*,
    all on the one budget of *wanted*. Returns whether every judge has judged everything.

    A failing endpoint ends the turn of its own judge only, or is raised if there is a single judge.
    Ctrl-C and a spent budget end all turns. *say* gets each message for the user, one line each.
    """
    complete, spent = True, 0.0
    for number, name in enumerate(judges, start=1):
        # what a job has spent the store knows
        left = (
            None
            if wanted.budget is None
            else wanted.budget - (spent if wanted.job is None else 0.0)
        )
        if len(judges) > 1:
            of_budget = (
                "" if left is None else f", {format_dollars(max(left, 0.0))} of the budget left"
            )
            say(f"judge {number} of {len(judges)}: {name}{of_budget}")
        if left is not None and left <= 0:
            say("stopped: the budget is used up. The same command continues from here.")
            return False
        report = None
        try:
            report = await run_one_judge(replace(wanted, judge=name, budget=left))
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
Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run, or of judging stored conversations. All replies and judgements that were
    bought are in the store.
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
    models: Run | str | Sequence[str],
    *,
    store: str | Path | None = None,
    trust: str | Sequence[str] = (),
    tell: Tell | None = None,
    **settings: Any,
) -> RunOutcome:
    """Play a protocol against *models*, have every conversation judged, and return the outcome, as
    `aib run` does. Stored replies are not asked for again.

    *settings* are those of `Run`, each the option of that name; a `Run` in place of *models* holds
    all of them. *store*: the address of the store; None: the default one. *trust*: NAME=PLACE, to
    let the key in the variable NAME go to the address PLACE. *tell* gets each line that the command
    prints before it begins. The costs are not asked about. The first Ctrl-C waits for calls in
    flight, the second one leaves them.

    Raises WrongUse, ProtocolError or SubjectError for what cannot be asked for, EndpointUnusable if
    a key is missing or nothing answers, StoreError if the store cannot be written.
    """
    wanted = replace(models, **settings) if isinstance(models, Run) else Run(models, **settings)
    wanted.check_settings()
    wanted = resolve_run(replace(wanted, allow=learn_secrets_and_make_permissions(trust)))
    work = Work(tell)
    with open_store(
        str(store or find_default_store()), command_line="independence_bench.run"
    ) as opened:
        ended = _make_outcome([work.run_work(work.play_run(wanted, opened))])
        update_stored_exclusions(opened, find_roster(wanted))
    return ended


def judge(
    judges: str | Sequence[str] = (),
    *,
    store: str | Path | None = None,
    protocol: str | Path | None = None,
    trust: str | Sequence[str] = (),
    tell: Tell | None = None,
    **settings: Any,
) -> RunOutcome:
    """Have *judges* judge the stored conversations of a protocol, one judge after the other on one
    *budget*, as `aib judge` does, and return the outcome.

    Without judges, the protocol's own one judges; without a *protocol*, the one that was played
    last is judged. *models* are labels, or parts of one that fit a single stored model; without
    any, the conversations of all models are judged. Judgements of several judges are kept; only a
    failed judgement is replaced. A judge that does not exist is an error before a call is made. If
    there are several judges, a failing endpoint is recorded as a trouble of its judge. Arguments
    and errors are those of `run`.
    """
    wanted = Run(**settings)
    wanted.check_settings()
    named = normalize_names(judges)
    wanted = replace(
        wanted, roster=find_roster(wanted), allow=learn_secrets_and_make_permissions(trust)
    )
    with open_store(
        str(store or find_default_store()), create=False, command_line="independence_bench.judge"
    ) as opened:
        found = find_shipped_or_stored_protocol(None if protocol is None else str(protocol), opened)
        check_current_form(found[0])
        wanted = plan_judging(wanted, opened, found)
        asked, work = named or (found[0].judge.model,), Work(tell)
        if len(asked) > 1:
            work.run_work(check_judge_names_and_keys(wanted, asked, opened))
        reports, failed = list[Report](), list[tuple[str, Trouble]]()

        async def judge_and_record(of_judge: Run) -> Report | None:
            try:
                reports.append(await work.play_run(of_judge, opened))
            except (EndpointUnusable, SubjectError) as error:
                failed.append((of_judge.judge or "", Trouble("judging", str(error))))
                raise
            return reports[-1]

        complete = work.run_work(
            run_judges_in_turn(wanted, asked, judge_and_record, tell or (lambda _line: None))
        )
        update_stored_exclusions(opened, find_roster(wanted))
    ended = _make_outcome(reports)
    return replace(ended, complete=complete, troubles=(*ended.troubles, *failed))


def learn_secrets_and_make_permissions(trust: str | Sequence[str]) -> Permissions:
    """Return permissions that let an API key be sent to its own provider, to addresses that were
    allowed earlier, and to those in *trust* (NAME=PLACE). Proxy passwords of the environment are
    noted as secrets, so that they are never printed.
    """
    KNOWN.learn_proxy_passwords(environ)
    return Permissions(find_data_folder(environ) / ALLOWED_FILE, normalize_names(trust))


def _make_outcome(reports: Sequence[Report]) -> RunOutcome:
    """Return the outcome of the work that *reports* describe, with their costs, lost calls and
    troubles added up.
    """
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


class Work:
    """The work of one Python function, run in an event loop of its own: in this thread, or in a new
    thread if this one already runs an event loop, as in a notebook.
    """

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._asker: Asker | None = None

    async def play_run(self, wanted: Run, store: Store) -> Report:
        """Play and judge the run *wanted* with the results in *store*, and return the report. The
        costs are not asked about.
        """
        report = await carry_out_run(wanted, store, self._tell_and_approve, self.remember_asker)
        self._asker = None
        assert report is not None  # noqa: S101 - no approval is asked for
        return report

    async def play_protocols(
        self, wanted: Run, protocols: Sequence[tuple[Protocol, Files]], store: Store
    ) -> Report:
        """Play and judge each of *protocols* with the models and settings of *wanted*, and return
        one report of all. The costs are not asked about.
        """
        report = await schedule.play_protocols(
            wanted, protocols, store, self._tell_and_approve_all, self.remember_asker
        )
        self._asker = None
        assert report is not None  # noqa: S101 - no approval is asked for
        return report

    def run_work(self, work: Coroutine[Any, Any, A]) -> A:
        """Run the coroutine *work* to its end in an event loop of its own, and return its result.
        Works also where an event loop runs already. Raises KeyboardInterrupt if a second Ctrl-C
        ended it at once.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._run_loop(work)
        # a notebook's loop runs in this thread, and waits for this call
        with ThreadPoolExecutor(1) as thread, handle_signals(self._schedule_stop_on_signal):
            return thread.submit(self._run_loop, work).result()

    def _run_loop(self, work: Coroutine[Any, Any, A]) -> A:
        try:
            return asyncio.run(self._note_task_and_await(work))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    async def _note_task_and_await(self, work: Coroutine[Any, Any, A]) -> A:
        self._loop, self._task, self._asker = (
            asyncio.get_running_loop(),
            asyncio.current_task(),
            None,
        )
        return await work

    def _tell_and_approve(self, preview: Preview) -> bool:
        """Pass the lines that describe *preview* to the caller's function, if there is one. Always
        returns True: the costs are not asked about.
        """
        if self._tell is not None:
            for line in describe_preview(preview):
                self._tell(line)
        return True

    def _tell_and_approve_all(self, previews: Sequence[Preview]) -> bool:
        """Pass the lines that describe each of *previews* to the caller's function, if there is
        one. Always returns True: the costs are not asked about.
        """
        for preview in previews:
            self._tell_and_approve(preview)
        return True

    async def remember_asker(self, asker: Asker | HandedOut) -> None:
        """Remember the *asker* that is at work, so that a signal can stop it. One that runs on a
        cluster is not remembered.
        """
        self._asker = asker if isinstance(asker, Asker) else None

    def _schedule_stop_on_signal(self, number: int, _frame: object) -> None:
        """Handle the signal *number*, such as of Ctrl-C, by stopping the running work from its own
        event loop. Does nothing if no work was begun.
        """
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop_work, is_typed_signal(number))

    def _stop_work(self, from_keyboard: bool) -> None:
        """Stop the running work: at the first signal no new calls are asked, and calls in flight
        are waited for. The work is cancelled at once if no calls are being asked, or if it was
        stopped before and the signal comes from the keyboard (Ctrl-C).
        """
        if self._asker is not None and self._asker.report.stopped is None:
            self._asker.stop_asking(Interrupted())
        elif (self._asker is None or from_keyboard) and self._task is not None:
            self._task.cancel()
