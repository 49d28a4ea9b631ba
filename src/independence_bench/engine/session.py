"""From what a command asks for to what is left to do: opens keys, clients and model files, looks up
subjects and judge.

Between the command line, which says what is wanted, and the engine, which takes a `RunPlan`. What
is left of it is read from the store here, for the preview and for the engine. Prints nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Connection

from independence_bench.analysis.results import results_of
from independence_bench.calls.budget import Budget
from independence_bench.calls.limits import USER_ROLE, advice_on_tools
from independence_bench.engine.delivered import find_hidden
from independence_bench.engine.run import (
    Progress,
    RunPlan,
    Session,
    Trouble,
    invalid_trouble,
    judge_trouble,
)
from independence_bench.errors import EndpointUnusable, MissingKey, SubjectError, WrongUse
from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.judge import EmbeddedJudge, needs_model
from independence_bench.judging.embedded.reading import StateReader
from independence_bench.judging.embedded.weights import Weights
from independence_bench.judging.judge import Judge, ModelJudge, as_judge, spec_to_judge
from independence_bench.judging.prompt import told_hash
from independence_bench.models.abilities import Setting
from independence_bench.models.client import Client, read_key, runs_here
from independence_bench.models.functions import FunctionClient
from independence_bench.models.local import NAME, OLD, files, server
from independence_bench.models.messages import tokens_in
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import (
    GGUF,
    LATEST,
    OWN_TEMPERATURE,
    PYTHON,
    ChatModel,
    ModelSpec,
    Reasoning,
    Roster,
)
from independence_bench.models.trust import Allow, known_only
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import Job, Shard, jobs, shared_openings
from independence_bench.store import registry
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store

OWN_TEMPLATE = (
    "restart it with the model's own chat template (llama.cpp: --jinja), take another model, or "
    f"add {USER_ROLE}"
)
FEW_PRICES = 5  # that are not known, and named one by one
AT_ONCE, CALLS_AT_ONCE = 4, 8  # subjects, and calls within one, where a server is made for many


@dataclass(frozen=True, slots=True)
class Limits:
    """How much at once, and for how much."""

    at_once: int | None = None  # subjects; None: 4, and 1 where one of them runs on this machine
    # within one subject, at each endpoint; None: 8, and 1 on this machine
    calls_at_once: int | None = None
    budget: float | None = None  # dollars that one command may spend, or all workers of its job
    # dollars a token, prompt and reply, where an endpoint lists none
    price: tuple[float, float] | None = None
    job: str | None = None  # what this command is a worker of, with others; None: of nothing


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a command line asks for, before anything is looked up."""

    protocol: Protocol
    files: Mapping[str, str]
    roster: Roster
    judge: str | None  # as typed; None for no judging
    configurations: tuple[Configuration, ...] = ()
    specs: tuple[ModelSpec, ...] = ()
    subjects: tuple[ChatModel, ...] = ()  # resolved already: those of the store, to be judged
    runs: int = 0  # 0: judge what is stored
    again: bool = False  # what was invalid, or failed to be judged, is asked for once more
    limits: Limits = Limits()
    experiments: tuple[str, ...] = ()  # only these; none named: all
    allow: Allow = known_only  # asked before a key is read
    shard: Shard | None = None  # only this part of the plan; None: all of it
    # not named by the user: subjects that are no longer offered are left out, with a remark
    unnamed: bool = False


@asynccontextmanager
async def resolved(
    options: RunOptions, store: Store, asking: bool = True
) -> AsyncIterator[tuple[RunPlan, Session]]:
    """The plan of *options*, its subjects and judge looked up, and what it needs: open clients, a
    budget.

    Not *asking*: no call will be sent, so a missing key is none: an endpoint's list may be open to
    everybody. Raises EndpointUnusable where a key is missing or nothing answers, SubjectError for a
    subject that there is not.
    """
    async with AsyncExitStack() as stack:
        judge_spec = None if options.judge in (None, NAME) else judge_spec_of(options)
        try:
            called = [
                *(options.specs if options.runs else ()),
                *([judge_spec] if judge_spec else []),
            ]
            clients = await stack.enter_async_context(_clients(called, options, store, asking))
        except MissingKey as error:
            if error.endpoint in {spec.endpoint for spec in options.specs} or not options.runs:
                raise
            raise EndpointUnusable(
                f"{error}; or judge with --judge embedded, or later with --no-judge"
            ) from None
        asked_for: dict[ChatModel, frozenset[Setting]] = {}
        subjects, notes = await _resolve_all(options, clients, asked_for, asking)
        judge = await resolve_judge(options, clients)
        if judge_spec is not None and isinstance(judge, ModelJudge):
            notes += renamed(judge_spec, judge.model)
        here = any(
            clients[subject.endpoint].endpoint.here
            for subject in subjects
            if subject.endpoint in clients
        )
        plan = RunPlan(
            protocol=options.protocol,
            files=options.files,
            configurations=options.configurations,
            subjects=tuple(dict.fromkeys(subjects)),
            runs=options.runs,
            judge=judge,
            again=options.again,
            at_once=options.limits.at_once or (1 if here else AT_ONCE),
            calls_at_once=options.limits.calls_at_once or (1 if here else CALLS_AT_ONCE),
            experiments=options.experiments,
            notes=tuple(dict.fromkeys(notes)),
            shard=options.shard,
        )
        job = None if plan.shard is None else shared_job(plan, plan.shard.of)
        budget = Budget(options.limits.budget, options.limits.job or job)

        async def settle(plan: RunPlan) -> RunPlan:
            """*plan* with its subjects and its judge as they are called by now."""
            subjects, _ = await _resolve_all(options, clients, asked_for, asking=False)
            judge = await resolve_judge(options, clients)
            return replace(plan, subjects=tuple(dict.fromkeys(subjects)), judge=judge)

        yield plan, Session(store, clients, budget, asked_for=asked_for, settle=settle)


def as_file(spec: ModelSpec) -> ModelSpec:
    """*spec*, whose model is a path or name of a model file, by the name under which the file is
    known.

    A reply that the limit cuts off is taken as it is: a small model would be cut off again. Raises
    LocalModelError.
    """
    name = files.find(spec.model).name
    pin = files.pins().get(name)
    limit = pin.reply_tokens if pin and spec.max_tokens is None else spec.max_tokens
    return replace(spec, model=name, max_tokens=limit, accept_cut_off=True)


def shared_job(plan: RunPlan, parts: int) -> str:
    """One name for all of so many parts of the same plan; 0: however many there are."""
    subjects = sorted(subject.hash for subject in plan.subjects)
    played = [
        plan.protocol.hash,
        list(map(str, plan.configurations)),
        subjects,
        plan.runs,
        plan.experiments,
    ]
    return (
        f"{plan.protocol.name}-{content_hash([played, plan.judge and plan.judge.hash, parts])[:12]}"
    )


async def resolve_judge(options: RunOptions, clients: Mapping[str, Client]) -> Judge | None:
    """The judge of *options* as it marks their protocol, *clients* being open to it; None where
    none was asked for.
    """
    if options.judge == NAME:
        weights = Weights.load()
        path = files.pin_of(files.SMOLLM2).path
        if needs_model(weights, options.protocol):
            path = Path(files.find(files.SMOLLM2).path)  # said before anything is played
        return EmbeddedJudge(StateReader(path), weights)
    if options.judge is None:
        return None
    spec = judge_spec_of(options)
    model = await _resolve(spec, options.protocol, clients)
    return ModelJudge(as_judge(model, spec), options.again)


def judge_spec_of(options: RunOptions) -> ModelSpec:
    """The judge that was named, or the protocol's own, called as the protocol says.

    Raises SubjectError for a protocol whose own judge is a function: a folder must not choose what
    is run here.
    """
    if options.judge == OLD:
        raise SubjectError(f"{OLD} is a part of {NAME} now: judge with --judge {NAME}")
    default = options.protocol.judge
    # what models.yaml says is how a subject is called
    own = options.judge is None or options.judge == default.model
    spec = default if own or options.judge is None else options.roster.find(options.judge)[0]
    if spec.endpoint == PYTHON:
        if own:
            raise SubjectError(
                f"the judge of {options.protocol.name} is a Python function: name it with --judge"
            )
        return ModelSpec(spec.model, spec.endpoint)  # which is told nothing but messages
    model = files.find(spec.model).name if spec.endpoint == GGUF else spec.model
    return spec_to_judge(model, spec.endpoint, default)


@asynccontextmanager
async def _clients(
    specs: Sequence[ModelSpec], options: RunOptions, store: Store, asking: bool
) -> AsyncIterator[dict[str, Client]]:
    """An open client for each endpoint, with what *store* has learned of its models; raises
    EndpointUnusable where a key is missing or nothing answers.
    """
    async with AsyncExitStack() as stack:
        endpoints = {
            name: options.roster.endpoint(name)
            for name in sorted({spec.endpoint for spec in specs})
        }
        for name, endpoint in endpoints.items():
            if not endpoint.url and not endpoint.ours:
                raise SubjectError(
                    f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1"
                )
        keys: dict[str, str | None] = {}
        for name, endpoint in endpoints.items():
            try:
                keys[name] = read_key(endpoint, options.allow)
            except MissingKey:
                if asking:
                    raise
                keys[name] = None
        clients = {}
        with store.reading() as connection:
            known = registry.stored_abilities(connection)
            stored = {*registry.stored_subjects(connection), *registry.stored_judges(connection)}
        for name, endpoint in endpoints.items():
            if name == GGUF:
                models = [files.find(spec.model) for spec in specs if spec.endpoint == GGUF]
                served = server.serve(
                    list(dict.fromkeys(models)), at_once=options.limits.calls_at_once or 1
                )
                endpoint = replace(endpoint, url=await stack.enter_async_context(served))
            if runs_here(endpoint):
                endpoint = replace(endpoint, here=True, at_once=options.limits.calls_at_once or 1)
            made = (
                FunctionClient(endpoint)
                if name == PYTHON
                else Client(endpoint, keys[name], price=options.limits.price)
            )
            client = await stack.enter_async_context(made)
            client.know(known.get(name, {}), stored)
            try:
                # an endpoint that does not answer fails here, once, not in every call
                await client.models()
            except EndpointUnusable as error:
                if asking:
                    raise
                client.do_without_list(error)
            clients[name] = client
        yield clients


async def _resolve(spec: ModelSpec, protocol: Protocol, clients: Mapping[str, Client]) -> ChatModel:
    identity = files.find(spec.model).identity if spec.endpoint == GGUF else ""
    return await clients[spec.endpoint].resolve(
        spec, protocol.temperature, protocol.max_tokens, identity
    )


async def _resolve_all(
    options: RunOptions,
    clients: Mapping[str, Client],
    asked_for: dict[ChatModel, frozenset[Setting]],
    asking: bool,
) -> tuple[list[ChatModel], list[str]]:
    """The subjects of *options*; with them, a line each, which have another name there and, where
    the user named none, why some are left out.

    *asked_for* is given the settings that the user asked for of each. *asking*: they are going to
    be played, so what a server does not show them is found out.

    Raises SubjectError for one that was named, WrongUse where all are left out.
    """
    subjects, left_out, notes = list(options.subjects), list[SubjectError](), list[str]()
    by_tool = [
        way for way in options.configurations if way.delivery == "tool_role" and options.runs
    ]
    if by_tool and any(spec.endpoint == PYTHON for spec in options.specs):
        raise SubjectError(
            f"a Python function speaks by what it returns, so it is not played in {by_tool[0]}: "
            "say --delivery user_role"
        )
    for spec in options.specs if by_tool else ():
        if spec.endpoint == GGUF and not files.find(spec.model).shows_tools:
            raise SubjectError(
                f"the chat template of {spec.model} shows no tools, so it is not played in "
                f"{by_tool[0]}: say --delivery user_role"
            )
    for spec in options.specs:
        try:
            model = await _resolve(spec, options.protocol, clients)
            if by_tool and asking:
                await _check_tools(clients[spec.endpoint], model, by_tool[0], options.protocol)
            subjects.append(model)
            asked_for[model] = frozenset(map(Setting, spec.asked_for))
            notes += renamed(spec, model)
        except SubjectError as error:
            if not options.unnamed:
                raise
            left_out.append(error)
    if options.specs and not subjects:
        raise WrongUse(f"none of these subjects is offered any more; {left_out[0]}")
    return subjects, [*notes, *(f"left out: {error}" for error in left_out)]


def renamed(spec: ModelSpec, model: ChatModel) -> list[str]:
    """A remark where *spec* is called by another name than it was asked for; else nothing."""
    if model.model != spec.model + LATEST:
        return []
    asked = replace(model, model=spec.model)
    return [f"{asked.name} is {model.name} there, and is called and stored as that"]


async def _check_tools(
    client: Client, model: ChatModel, way: Configuration, protocol: Protocol
) -> None:
    """Raises SubjectError where a server of the user's own does not show *model* what tool_role
    consists of.
    """
    endpoint = client.endpoint
    if endpoint.ours or not endpoint.free or not client.dialect.runs_models:
        return
    if (hidden := await find_hidden(client, model, protocol.tool_role)) is not None:
        raise SubjectError(
            f"the server at {endpoint.url} does not show the model {model.model} {hidden}, so "
            f"{way} is not played; {advice_on_tools(hidden) or OWN_TEMPLATE}"
        )


def remarks_on(
    plan: RunPlan,
    infos: Mapping[ChatModel, ModelInfo],
    unpriced: Sequence[ChatModel],
    bounded: bool,
) -> list[str]:
    """Remarks on the models of *plan*, of which their endpoints' lists say what is in *infos*.

    *unpriced*: those whose prices are not known; *bounded*: there is a budget. Raises what
    `_check_room` does.
    """
    remarks = _remarks_on_prices(unpriced, bounded)
    for model, info in infos.items():
        remarks += _remarks_on(plan, model, info)
        if model in plan.subjects:
            _check_room(plan, model, info)
    return remarks


def _remarks_on_prices(models: Sequence[ChatModel], bounded: bool) -> list[str]:
    """That the prices of these *models* are not known; one remark for each of a few."""
    names = list(dict.fromkeys(model.name for model in models))
    so = (
        "; the budget counts what its replies say they cost, one call at a time until one has"
        if bounded
        else ""
    )
    if len(names) > FEW_PRICES:
        return [
            f"the prices of {len(names)} models are not known, among them that of {names[0]}{so}"
        ]
    return [f"the price of {name} is not known: --price IN OUT sets it{so}" for name in names]


def _remarks_on(plan: RunPlan, model: ChatModel, info: ModelInfo) -> list[str]:
    """Remarks on *model*: what its endpoint's list does not support."""
    remarks = []
    if model.endpoint == "local" and not info.identity:
        remarks.append(
            f"{model.name} is known by its name only: after changing its weights, use another store"
        )
    if info.always_reasons:
        remarks.append(
            f"{model.name} cannot be told not to reason: it is called with effort {model.reasoning}"
        )
    if model.temperature is None:
        remarks.append(f"{model.name} takes no temperature: none is sent")
    if model.reasoning is Reasoning.UNSET:
        remarks.append(f"{model.name} is not told how much to reason: it does as it does by itself")
    if model.endpoint == PYTHON:
        remarks.append(
            f"{model.name} is your own code: what it spends itself is not counted, and no budget "
            "limits it"
        )
    if info.parameters is None or model.endpoint == GGUF:
        return remarks
    if not info.takes_temperature:
        so = (
            "it is called with 1"
            if model.temperature in (None, OWN_TEMPERATURE)
            else f"its label says {model.temperature:g}, but it may ignore that"
        )
        remarks.append(f"{model.name} does not list temperature: {so}")
    if model.thinks and "reasoning" not in info.parameters:
        remarks.append(
            f"{model.name} does not list reasoning: it may not reason, despite its label"
        )
    in_tool_role = any(
        configuration.delivery == "tool_role" for configuration in plan.configurations
    )
    if model in plan.subjects and in_tool_role and "tools" not in info.parameters:
        remarks.append(
            f"{model.name} does not list tools: tool_role may be refused; --delivery user_role "
            "needs none"
        )
    return remarks


def _check_room(plan: RunPlan, model: ChatModel, info: ModelInfo) -> None:
    """Raises WrongUse where an earlier chat leaves *model* no room for a reply, as far as its
    endpoint says.
    """
    sent = max(tokens_before(plan.protocol, way) for way in plan.configurations) + model.most_tokens
    if plan.protocol.earlier and info.context is not None and sent > info.context:
        turns = 2 * len(plan.protocol.earlier)
        raise WrongUse(
            f"{model.name} takes {info.context:,} tokens, and about {sent:,.0f} are needed after "
            f"{turns} turns, replies included; say a smaller --after, or --max-tokens"
        )


def tokens_before(protocol: Protocol, way: Configuration) -> float:
    """Tokens that every conversation begins with: the system prompt and the earlier chat."""
    return tokens_in(protocol.system(way.system)) + tokens_in(
        "".join(map("".join, protocol.earlier))
    )


# ---------------------------------------------------------------- what is left of a plan


@dataclass(slots=True)
class Pending:
    """One subject's part of a plan: how far it is, and what is left."""

    progress: Progress
    to_play: list[Job] = field(default_factory=list)  # longest chains first
    to_judge: list[Job] = field(default_factory=list)  # complete and not judged
    # of each of those: the same is judged once
    judged_as: list[tuple[str, str]] = field(default_factory=list)
    # one of each run that was played whole, all for other protocols
    to_begin: list[Job] = field(default_factory=list)


def find_pending(connection: Connection, plan: RunPlan, subject: ChatModel) -> Pending:
    """What is stored of *subject*'s part of *plan* and what is left; for 0 runs: what is stored is
    judged.
    """
    if plan.runs:
        numbers = range(1, plan.runs + 1)
        every = list(
            jobs(plan.protocol, plan.configurations, subject, numbers, experiments=plan.experiments)
        )
    else:
        # the jobs of the runs that count for the plan's protocol, whether or not each of them was
        # played
        every = []
        for results in results_of(connection, plan.protocol, plan.configurations, subject.hash):
            wanted = [
                configuration
                for configuration in plan.configurations
                if configuration in results.configurations
            ]
            runs = results.runs.get(subject.hash, ())
            every += jobs(plan.protocol, wanted, subject, runs, experiments=plan.experiments)
    if plan.shard is not None:
        every = list(plan.shard.part(every))
    scripts = {job.script_hash for job in every}
    stored = {
        row.id: row for row in stored_results.transcript_rows(connection, scripts, subject.hash)
    }
    if not plan.runs:
        every = [job for job in every if job.transcript_id in stored]
    judged = (
        stored_results.verdicts(connection, scripts, subject.hash, plan.judge.hash)
        if plan.judge
        else {}
    )
    progress = Progress(subject.label, planned=len(every))
    pending = Pending(progress)
    for job in every:
        # an id is a hash, and most plans are new
        ending = stored.get(job.transcript_id) if stored else None
        if ending is None or (ending.state == "invalid" and plan.again and plan.runs):
            pending.to_play.append(job)
        elif ending.state == "invalid":
            # who only judges has done all that can be done
            progress.ended(
                "invalid",
                Trouble(job.title, invalid_trouble(ending.reason)) if plan.runs else None,
            )
        else:
            progress.ended("done")
            if plan.judge is None:
                continue
            key = (ending.heard_hash, told_hash(plan.protocol, job.configuration, job.scenario))
            reason = judged.get(key)
            if key not in judged or (reason is not None and plan.again):
                pending.to_judge.append(job)
                pending.judged_as.append(key)
            elif reason is None:
                progress.ended("judged")
            else:
                progress.ended(
                    "unjudged",
                    Trouble(job.title, judge_trouble(reason, plan.judge.calls)),
                )
    if plan.runs and len(pending.to_play) < len(every):
        pending.to_begin = _not_begun(connection, plan, subject, every, pending.to_play)
    pending.to_play.sort(key=lambda job: -len(job.scenario.asks))
    asked = sum(len(job.scenario.asks) for job in pending.to_play)
    bought = shared_openings(pending.to_play)
    progress.calls_left = asked - sum(
        job.scenario.shared for job in pending.to_play if job.place in bought
    )
    if plan.judge is not None:
        progress.to_judge = progress.done + len(pending.to_play)
        progress.calls_left += plan.judge.calls * (len(pending.to_play) + len(pending.to_judge))
    return pending


def _not_begun(
    connection: Connection,
    plan: RunPlan,
    subject: ChatModel,
    every: Sequence[Job],
    to_play: Sequence[Job],
) -> list[Job]:
    """One job of each run and configuration with nothing *to_play* that no command has begun for
    the plan's protocol.

    In the others the first conversation that is played, or fails, begins the run.
    """
    runs = {(job.run, job.configuration): job for job in every}
    for job in to_play:
        runs.pop((job.run, job.configuration), None)
    begun = registry.begun_runs(connection, plan.protocol.name, subject.hash) if runs else set()
    return [
        job
        for (run, configuration), job in runs.items()
        if (subject.hash, run, configuration.system, configuration.delivery) not in begun
    ]
