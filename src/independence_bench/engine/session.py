"""Turns what is asked for into what is left to do: finds what names mean, opens keys, clients and
model files, looks up models and judge, and reads from the store what is there already.

`Run` -> `open_session` -> `Session` -> `find_pending`. Prints nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Connection

from independence_bench.analysis.results import read_results
from independence_bench.calls.budget import Budget
from independence_bench.calls.limits import USER_ROLE, describe_tools_remedy
from independence_bench.engine.delivered import probe_and_describe_hidden_parts
from independence_bench.engine.named import (
    apply_weights,
    choose_configurations,
    choose_experiments,
    read_roster,
)
from independence_bench.engine.run import (
    NO_EFFORT,
    Progress,
    Run,
    Session,
    Trouble,
    describe_failed_judgement,
    describe_invalid_conversation,
)
from independence_bench.errors import (
    EndpointUnusable,
    MissingKey,
    NoSubject,
    SubjectError,
    WrongUse,
)
from independence_bench.hashing import hash_content
from independence_bench.judging.embedded.judge import EmbeddedJudge, needs_small_model_file
from independence_bench.judging.embedded.reading import StateReader
from independence_bench.judging.embedded.weights import Weights
from independence_bench.judging.judge import (
    Judge,
    ModelJudge,
    make_judge_spec,
    set_judge_token_limit,
)
from independence_bench.judging.prompt import hash_planned_rubric
from independence_bench.lookup import normalize_names
from independence_bench.models.abilities import Setting
from independence_bench.models.client import Client, is_run_locally, read_key
from independence_bench.models.endpoints import load_shipped_subjects
from independence_bench.models.functions import FunctionClient
from independence_bench.models.local import NAME, OLD, files, server
from independence_bench.models.messages import estimate_tokens
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import (
    GGUF,
    LATEST,
    OWN_TEMPERATURE,
    PYTHON,
    SIM,
    ChatModel,
    ModelSpec,
    Reasoning,
    Roster,
)
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.loader import Files, load_protocol_and_files
from independence_bench.protocol.plan import Job, find_jobs_with_paid_opening, list_jobs
from independence_bench.simulate.server import simulate
from independence_bench.store import registry
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store

OWN_TEMPLATE = (
    "restart it with the model's own chat template (llama.cpp: --jinja), take another model, or "
    f"add {USER_ROLE}"
)
MILLION = 1_000_000
FEW_PRICES = 5  # that are not known, and named one by one
AT_ONCE, CALLS_AT_ONCE = 4, 8  # subjects, and calls within one, where a server is made for many


# ---------------------------------------------------------------- what names mean


def resolve_run(run: Run) -> Run:
    """Return *run* with every name that a user typed (protocol, models, judge, configurations,
    experiments) replaced by the value that it means. Reads files; asks no endpoint.

    If *run* names no models, they are the active ones of models.yaml; if models.yaml lists none and
    *run* asks for all models, they are those of the shipped list. If *run* names no judge, it is
    the protocol's judge, or the embedded judge if only the embedded model is played, so that no key
    is needed. Raises WrongUse, and the errors of reading files.
    """
    protocol, texts = load_run_protocol(run)
    run = replace(run, protocol=(protocol, texts), roster=find_roster(run))
    if run.judge is None:
        alone = list_named_models(run) == [NAME]
        run = replace(run, judge=NAME if alone else protocol.judge.model)
    run = _resolve_models(run)
    return replace(
        run,
        configurations=run.configurations
        or choose_configurations(
            protocol, normalize_names(run.variants), normalize_names(run.modes)
        ),
        runs=run.runs or protocol.runs,
        exp=choose_experiments(protocol, normalize_names(run.exp)),
    )


def load_run_protocol(run: Run) -> tuple[Protocol, Files]:
    """Return (the protocol that *run* names, with the set of dimension weights that *run* asks for;
    the texts of the protocol's files by path). If *run* holds a loaded protocol already, that is
    returned unchanged.
    """
    if isinstance(run.protocol, tuple):
        return run.protocol
    protocol, texts = load_protocol_and_files(run.protocol)
    return apply_weights(protocol, run.weights), texts


def find_roster(run: Run) -> Roster:
    """Return the roster of *run*: the known endpoints, and the models that models.yaml lists. Reads
    models.yaml unless *run* holds a roster already.
    """
    if run.roster is not None:
        return run.roster
    return read_roster(None if run.models_file is None else Path(run.models_file), run.local_url)


def list_named_models(run: Run) -> list[str]:
    """List the names of the models that *run* asks for, each once; the names of models on a local
    server begin with `local:`. Models that *run* holds as objects are left out.
    """
    typed = [run.models] if isinstance(run.models, str) else run.models
    return [
        *normalize_names([model for model in typed if isinstance(model, str)]),
        *(f"local:{name}" for name in normalize_names(run.local_model)),
    ]


def _resolve_models(run: Run) -> Run:
    """Return *run* with the names of its models replaced by model specs, which carry the settings
    that *run* asks for, such as temperature and effort. Raises WrongUse for options that exclude
    each other, NoSubject if there is no model to play.
    """
    if run.local_model and not run.local_url:
        raise WrongUse("--local-model needs --local-url, e.g. --local-url http://localhost:8080/v1")
    roster, names = find_roster(run), list_named_models(run)
    values = (
        [] if isinstance(run.models, str) else [m for m in run.models if not isinstance(m, str)]
    )
    if run.judge_only and names:
        raise WrongUse("only stored models are judged without playing them: use `judge`")
    if run.all and names:
        raise WrongUse("--all means every model: leave out the models, or --all")
    specs, unnamed = (
        [spec for name in names for spec in find_model_specs(name, roster)],
        run.unnamed,
    )
    if not names and not values and not run.judge_only:
        unnamed = not roster.specs
        listing = roster.specs or (load_shipped_subjects() if run.all else ())
        specs = [spec for spec in listing if spec.active]
        if not specs:
            raise NoSubject(
                "no model: name a model (`aib run embedded`), list some in models.yaml, or say "
                "--all"
            )
    models = (*values, *(_apply_settings(spec, run) for spec in specs))
    return replace(run, models=models, local_model=(), all=False, unnamed=unnamed)


def find_model_specs(typed: str, roster: Roster) -> tuple[ModelSpec, ...]:
    """Return the model specs that *typed*, a name that a user typed, means: one or several.
    *roster* has the endpoints and the models of models.yaml. Raises SubjectError if the name means
    no model.
    """
    model = f"{GGUF}:{files.SMOLLM2}" if typed.strip() == NAME else typed
    specs = roster.find_or_make_specs(model, load_shipped_subjects())
    return tuple(resolve_file_spec(spec) if spec.endpoint == GGUF else spec for spec in specs)


def _apply_settings(spec: ModelSpec, run: Run) -> ModelSpec:
    """Return *spec* with every setting of *run* (temperature, token limit, reasoning effort,
    provider) that is not None. A temperature or an effort from *run* is marked as asked for by the
    user.
    """
    effort = Reasoning.OFF.value if run.reasoning_effort == NO_EFFORT else run.reasoning_effort
    said = {"temperature": run.temperature, "effort": effort}
    return replace(
        spec,
        asked_for=spec.asked_for | {name for name, value in said.items() if value is not None},
        temperature=spec.temperature if run.temperature is None else run.temperature,
        max_tokens=spec.max_tokens if run.max_tokens is None else run.max_tokens,
        reasoning=spec.reasoning if effort is None else effort,
        provider=spec.provider if run.provider is None else run.provider,
    )


# ---------------------------------------------------------------- what is asked for, looked up


@asynccontextmanager
async def open_session(
    run: Run, store: Store, will_ask_models: bool = True
) -> AsyncIterator[Session]:
    """Look up the models and the judge of *run*, open a client for each of their endpoints, and
    yield the session: everything that is needed to play and judge the run, a budget included. The
    clients are closed at the end.

    *will_ask_models* False: no model will be asked, so a missing key and an endpoint that does not
    answer are no errors. Otherwise raises EndpointUnusable if a key is missing or nothing answers.
    Also raises what `resolve_run` raises, and SubjectError for a model that does not exist.
    """
    run = resolve_run(run)
    protocol, texts = load_run_protocol(run)
    runs = 0 if run.judge_only else run.runs or protocol.runs
    async with AsyncExitStack() as stack:
        specs = [model for model in run.models if isinstance(model, ModelSpec)]
        judge_spec = None if run.no_judge or run.judge == NAME else find_judge_spec(run)
        try:
            called = [*(specs if runs else ()), *([judge_spec] if judge_spec else [])]
            clients = await stack.enter_async_context(
                _open_clients(called, run, store, will_ask_models)
            )
        except MissingKey as error:
            if error.endpoint in {spec.endpoint for spec in specs} or not runs:
                raise
            raise EndpointUnusable(f"{error}; or judge with --judge embedded") from None
        asked_for: dict[ChatModel, frozenset[Setting]] = {}
        subjects, notes = await _resolve_subjects(run, clients, asked_for, will_ask_models)
        judge = await resolve_judge(run, clients)
        if judge_spec is not None and isinstance(judge, ModelJudge):
            notes += list_renaming_remarks(judge_spec, judge.model)
        here = any(
            clients[subject.endpoint].endpoint.here
            for subject in subjects
            if subject.endpoint in clients
        )

        async def resolve_again(session: Session) -> Session:
            """Return *session* with its models and its judge looked up again, by what the clients
            have learned about them since.
            """
            subjects, _ = await _resolve_subjects(run, clients, asked_for, will_ask_models=False)
            judge = await resolve_judge(run, clients)
            return replace(session, subjects=tuple(dict.fromkeys(subjects)), judge=judge)

        session = Session(
            protocol=protocol,
            files=texts,
            configurations=run.configurations,
            subjects=tuple(dict.fromkeys(subjects)),
            runs=runs,
            judge=judge,
            store=store,
            clients=clients,
            again=run.again,
            at_once=run.parallel or (1 if here else AT_ONCE),
            calls_at_once=run.parallel_tasks or (1 if here else CALLS_AT_ONCE),
            experiments=normalize_names(run.exp),
            shard=run.shard,
            notes=tuple(dict.fromkeys(notes)),
            asked_for=asked_for,
            settle=resolve_again,
        )
        job = None if run.shard is None else make_job_name(session, run.shard.of)
        yield replace(session, budget=Budget(run.budget, run.job or job))


def resolve_file_spec(spec: ModelSpec) -> ModelSpec:
    """Return *spec*, whose model is the path or the name of a model file, with the name under which
    the file is known.

    Replies that the token limit cuts off are accepted from a model file, because a small model
    would be cut off again. If *spec* sets no token limit, it is the limit that is pinned for a
    known file. Raises LocalModelError if there is no such file or it is not usable.
    """
    name = files.find_model_file(spec.model).name
    pin = files.load_pins().get(name)
    limit = pin.reply_tokens if pin and spec.max_tokens is None else spec.max_tokens
    return replace(spec, model=name, max_tokens=limit, accept_cut_off=True)


def make_job_name(session: Session, parts: int) -> str:
    """Return the name of the job that all *parts* shards of one run share. It is made from the
    protocol, what is played, the judge and *parts*; 0 *parts* stands for any number of shards.
    """
    subjects = sorted(subject.hash for subject in session.subjects)
    played = [
        session.protocol.hash,
        list(map(str, session.configurations)),
        subjects,
        session.runs,
        session.experiments,
    ]
    judge = session.judge and session.judge.hash
    return f"{session.protocol.name}-{hash_content([played, judge, parts])[:12]}"


async def resolve_judge(run: Run, clients: Mapping[str, Client]) -> Judge | None:
    """Return the judge that *run* asks for, ready to score conversations of the run's protocol.
    None if *run* wants no judge. *clients* has the open client of the judge's endpoint.
    """
    if run.no_judge:
        return None
    protocol, _ = load_run_protocol(run)
    if run.judge == NAME:
        weights = Weights.load_shipped()
        path = files.find_pin(files.SMOLLM2).path
        if needs_small_model_file(weights, protocol):
            path = Path(files.find_model_file(files.SMOLLM2).path)  # said before anything is played
        return EmbeddedJudge(StateReader(path), weights)
    spec = find_judge_spec(run)
    model = await _resolve_model(spec, protocol, clients)
    return ModelJudge(set_judge_token_limit(model, spec), run.again)


def find_judge_spec(run: Run) -> ModelSpec:
    """Return the model spec of the judge that *run* names, or else of the protocol's own judge,
    with the settings that the protocol states for judges.

    Raises SubjectError if the protocol's own judge is a Python function, because a protocol's
    folder must not choose what code is run here, and if *run* names a judge that no longer exists.
    """
    if run.judge == OLD:
        raise SubjectError(f"{OLD} is a part of {NAME} now: judge with --judge {NAME}")
    protocol, _ = load_run_protocol(run)
    default = protocol.judge
    # what models.yaml says is how a subject is called
    own = run.judge is None or run.judge == default.model
    spec = (
        default if own or run.judge is None else find_roster(run).find_or_make_specs(run.judge)[0]
    )
    if spec.endpoint == PYTHON:
        if own:
            raise SubjectError(
                f"the judge of {protocol.name} is a Python function: name it with --judge"
            )
        return ModelSpec(spec.model, spec.endpoint)  # which is told nothing but messages
    model = files.find_model_file(spec.model).name if spec.endpoint == GGUF else spec.model
    return make_judge_spec(model, spec.endpoint, default)


@asynccontextmanager
async def _open_clients(
    specs: Sequence[ModelSpec], run: Run, store: Store, will_ask_models: bool
) -> AsyncIterator[dict[str, Client]]:
    """Open a client for each endpoint that *specs* use, and yield the clients by the endpoint's
    name. Each client starts with what *store* has learned about its models, and has read the
    endpoint's list of models. Model files and simulated models are served by servers that are
    started here.

    Raises EndpointUnusable if a key is missing or nothing answers, both only if *will_ask_models*,
    and SubjectError for an endpoint without an address.
    """
    price = None if run.price is None else (run.price[0] / MILLION, run.price[1] / MILLION)
    async with AsyncExitStack() as stack:
        roster = find_roster(run)
        endpoints = {
            name: roster.find_endpoint(name) for name in sorted({spec.endpoint for spec in specs})
        }
        for name, endpoint in endpoints.items():
            if not endpoint.url and not endpoint.ours:
                raise SubjectError(
                    f"the endpoint {name} has no address; say --local-url http://localhost:8080/v1"
                )
        keys: dict[str, str | None] = {}
        for name, endpoint in endpoints.items():
            try:
                keys[name] = read_key(endpoint, run.allow)
            except MissingKey:
                if will_ask_models:
                    raise
                keys[name] = None
        clients = {}
        with store.open_snapshot() as connection:
            known = registry.read_stored_abilities(connection)
            stored = {*registry.read_subjects(connection), *registry.read_judge_labels(connection)}
        for name, endpoint in endpoints.items():
            if name == GGUF:
                models = [
                    files.find_model_file(spec.model) for spec in specs if spec.endpoint == GGUF
                ]
                served = server.serve_models(
                    list(dict.fromkeys(models)), at_once=run.parallel_tasks or 1
                )
                endpoint = replace(endpoint, url=await stack.enter_async_context(served))
            if name == SIM and not endpoint.url:  # the user may run `aib simulate` beside it
                simulation = await stack.enter_async_context(simulate())
                endpoint = replace(endpoint, url=simulation.url)
            if is_run_locally(endpoint):
                endpoint = replace(endpoint, here=True, at_once=run.parallel_tasks or 1)
            made = (
                FunctionClient(endpoint)
                if name == PYTHON
                else Client(endpoint, keys[name], price=price)
            )
            client = await stack.enter_async_context(made)
            client.load_abilities(known.get(name, {}), stored)
            try:
                # an endpoint that does not answer fails here, once, not in every call
                await client.list_models()
            except EndpointUnusable as error:
                if will_ask_models:
                    raise
                client.assume_no_list(error)
            clients[name] = client
        yield clients


async def _resolve_model(
    spec: ModelSpec, protocol: Protocol, clients: Mapping[str, Client]
) -> ChatModel:
    identity = files.find_model_file(spec.model).identity if spec.endpoint == GGUF else ""
    return await clients[spec.endpoint].resolve_model(
        spec, protocol.temperature, protocol.max_tokens, identity
    )


async def _resolve_subjects(
    run: Run,
    clients: Mapping[str, Client],
    asked_for: dict[ChatModel, frozenset[Setting]],
    will_ask_models: bool,
) -> tuple[list[ChatModel], list[str]]:
    """Return (the models under test of *run*, notes of a line each). The notes say which models
    have another name at their endpoint and, if the user named no models, why some are left out.

    The settings that the user asked for are added to *asked_for*, by model. *will_ask_models*: the
    models are going to be played, so it is checked which parts of a conversation in tool_role a
    server does not show them.

    Raises SubjectError if a model that the user named cannot be played, WrongUse if all models are
    left out.
    """
    protocol, _ = load_run_protocol(run)
    specs = [model for model in run.models if isinstance(model, ModelSpec)]
    subjects = [model for model in run.models if isinstance(model, ChatModel)]
    left_out, notes = list[SubjectError](), list[str]()
    by_tool = [
        way for way in run.configurations if way.delivery == "tool_role" and not run.judge_only
    ]
    if by_tool and any(spec.endpoint == PYTHON for spec in specs):
        raise SubjectError(
            f"a Python function speaks by what it returns, so it is not played in {by_tool[0]}: "
            "say --modes user_role"
        )
    for spec in specs if by_tool else ():
        if spec.endpoint == GGUF and not files.find_model_file(spec.model).can_show_tools:
            raise SubjectError(
                f"the chat template of {spec.model} shows no tools, so it is not played in "
                f"{by_tool[0]}: say --modes user_role"
            )
    for spec in specs:
        try:
            model = await _resolve_model(spec, protocol, clients)
            if by_tool and will_ask_models:
                await _check_tools_shown(clients[spec.endpoint], model, by_tool[0], protocol)
            subjects.append(model)
            asked_for[model] = frozenset(map(Setting, spec.asked_for))
            notes += list_renaming_remarks(spec, model)
        except SubjectError as error:
            if not run.unnamed:
                raise
            left_out.append(error)
    if specs and not subjects:
        raise WrongUse(f"none of these models is offered any more; {left_out[0]}")
    return subjects, [*notes, *(f"left out: {error}" for error in left_out)]


def list_renaming_remarks(spec: ModelSpec, model: ChatModel) -> list[str]:
    """Return a list with one remark if *model* has another name at its endpoint than *spec* asks
    for; else [].
    """
    if model.model != spec.model + LATEST:
        return []
    asked = replace(model, model=spec.model)
    return [f"{asked.name} is {model.name} there, and is called and stored as that"]


async def _check_tools_shown(
    client: Client, model: ChatModel, configuration: Configuration, protocol: Protocol
) -> None:
    """Raise SubjectError if a model server of the user's own does not show *model* the tools and
    tool calls of a conversation in tool_role. Other servers are not checked.
    """
    endpoint = client.endpoint
    if endpoint.ours or not endpoint.free or not client.dialect.runs_models:
        return
    if (
        hidden := await probe_and_describe_hidden_parts(client, model, protocol.tool_role)
    ) is not None:
        raise SubjectError(
            f"the server at {endpoint.url} does not show the model {model.model} {hidden}, so "
            f"{configuration} is not played; {describe_tools_remedy(hidden) or OWN_TEMPLATE}"
        )


def list_model_remarks(
    session: Session,
    infos: Mapping[ChatModel, ModelInfo],
    unpriced: Sequence[ChatModel],
    bounded: bool,
) -> list[str]:
    """List remarks on the models of *session*, a line each: prices that are not known, and settings
    that an endpoint does not support. *infos*: what the endpoints list about the models;
    *unpriced*: the models whose prices are not known; *bounded*: whether there is a budget.

    Raises WrongUse if the protocol's earlier chat and a reply do not fit into the context of a
    model under test.
    """
    remarks = _list_unknown_price_remarks(unpriced, bounded)
    for model, info in infos.items():
        remarks += _list_ability_remarks(session, model, info)
        if model in session.subjects:
            _check_context_room(session, model, info)
    return remarks


def _list_unknown_price_remarks(models: Sequence[ChatModel], bounded: bool) -> list[str]:
    """List remarks that the prices of *models* are not known: one for each model, or a single one
    for all if there are more than `FEW_PRICES`. *bounded*: whether there is a budget.
    """
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


def _list_ability_remarks(session: Session, model: ChatModel, info: ModelInfo) -> list[str]:
    """List remarks on what *model* or its endpoint does not support, such as temperature, reasoning
    or tools, a line each; [] if nothing is known to be missing. *info* is what the endpoint lists
    about the model.
    """
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
    if model.is_told_to_think and "reasoning" not in info.parameters:
        remarks.append(
            f"{model.name} does not list reasoning: it may not reason, despite its label"
        )
    in_tool_role = any(
        configuration.delivery == "tool_role" for configuration in session.configurations
    )
    if model in session.subjects and in_tool_role and "tools" not in info.parameters:
        remarks.append(
            f"{model.name} does not list tools: tool_role may be refused; --modes user_role "
            "needs none"
        )
    return remarks


def _check_context_room(session: Session, model: ChatModel, info: ModelInfo) -> None:
    """Raise WrongUse if the protocol's earlier chat and a reply do not fit into the context of
    *model*, whose size in tokens *info* states. Does nothing if the size is unknown or there is no
    earlier chat.
    """
    sent = (
        max(estimate_opening_tokens(session.protocol, way) for way in session.configurations)
        + model.most_tokens
    )
    if session.protocol.earlier and info.context is not None and sent > info.context:
        turns = 2 * len(session.protocol.earlier)
        raise WrongUse(
            f"{model.name} takes {info.context:,} tokens, and about {sent:,.0f} are needed after "
            f"{turns} turns, replies included; say a smaller --after, or --max-tokens"
        )


def estimate_opening_tokens(protocol: Protocol, configuration: Configuration) -> float:
    """Estimate how many tokens every conversation of *protocol* begins with in one configuration:
    those of its system prompt and of the earlier chat.
    """
    return estimate_tokens(protocol.find_system_prompt(configuration.system)) + estimate_tokens(
        "".join(map("".join, protocol.earlier))
    )


# ---------------------------------------------------------------- what is left of it


@dataclass(slots=True)
class Pending:
    """One model's part of a run: its progress, and what is left to play and to judge."""

    progress: Progress
    to_play: list[Job] = field(default_factory=list)  # longest chains first
    to_judge: list[Job] = field(default_factory=list)  # complete and not judged
    # of each of those: the same is judged once
    judged_as: list[tuple[str, str]] = field(default_factory=list)
    # one of each run that was played whole, all for other protocols
    to_begin: list[Job] = field(default_factory=list)


def find_pending(connection: Connection, session: Session, subject: ChatModel) -> Pending:
    """Return what is still to be played and to be judged of one model's part of *session*, and the
    model's progress, both read from the store. If the session has 0 runs, nothing is to be played,
    and the stored conversations without a judgement are to be judged.
    """
    every = _list_jobs(connection, session, subject)
    scripts = {job.script_hash for job in every}
    stored = {
        row.id: row
        for row in stored_results.read_transcript_rows(connection, scripts, subject.hash)
    }
    if not session.runs:
        every = [job for job in every if job.transcript_id in stored]
    progress = Progress(subject.label, planned=len(every))
    pending = Pending(progress)
    complete: list[tuple[Job, str]] = []  # with the hash of what was heard
    for job in every:
        # an id is a hash, and most runs are new
        ending = stored.get(job.transcript_id) if stored else None
        if ending is None or (ending.state == "invalid" and session.again and session.runs):
            pending.to_play.append(job)
        elif ending.state != "invalid":
            complete.append((job, ending.heard_hash))
        else:
            # who only judges has done all that can be done
            trouble = (
                Trouble(job.title, describe_invalid_conversation(ending.reason))
                if session.runs
                else None
            )
            progress.record_ending("invalid", trouble)
    progress.done = len(complete)
    if session.runs and len(pending.to_play) < len(every):
        pending.to_begin = _find_complete_unrecorded_runs(
            connection, session, subject, every, pending.to_play
        )
    pending.to_play.sort(key=lambda job: -len(job.scenario.reply_names))
    bought = find_jobs_with_paid_opening(pending.to_play)
    progress.calls_left = sum(len(job.scenario.reply_names) for job in pending.to_play) - sum(
        job.scenario.shared_reply_count for job in pending.to_play if job.place in bought
    )
    if session.judge is not None:
        verdicts = stored_results.read_text_rubric_failures(
            connection, scripts, subject.hash, session.judge.hash
        )
        _record_judged_and_pending(pending, complete, session, session.judge, verdicts)
    return pending


def _list_jobs(connection: Connection, session: Session, subject: ChatModel) -> list[Job]:
    """List the jobs (conversations, played or not) of one model, *subject*, that *session* covers:
    of its shard only, if it has one. If the session has 0 runs, they are those of all stored runs
    that count for its protocol, whether or not each conversation was played.
    """
    only = session.experiments
    if session.runs:
        numbers = range(1, session.runs + 1)
        every = list(
            list_jobs(session.protocol, session.configurations, subject, numbers, experiments=only)
        )
    else:
        every = []
        for results in read_results(
            connection, session.protocol, session.configurations, subject.hash
        ):
            wanted = [one for one in session.configurations if one in results.configurations]
            runs = results.run_numbers_by_subject.get(subject.hash, ())
            every += list_jobs(session.protocol, wanted, subject, runs, experiments=only)
    return every if session.shard is None else list(session.shard.select_jobs(every))


def _record_judged_and_pending(
    pending: Pending,
    complete_with_hashes: Sequence[tuple[Job, str]],
    session: Session,
    judge: Judge,
    judgement_failures: Mapping[tuple[str, str], str | None],
) -> None:
    """Record in *pending* which of the *complete_with_hashes* conversations *judge* has judged,
    which judgements failed, and which conversations are still to be judged. Each conversation is
    given with the hash of its words. *judgement_failures*: (hash of the words, hash of the rubric)
    of each stored judgement -> why it failed; None if it did not.
    """
    progress = pending.progress
    for job, heard in complete_with_hashes:
        key = (heard, hash_planned_rubric(session.protocol, job.configuration, job.scenario))
        reason = judgement_failures.get(key)
        if key not in judgement_failures or (reason is not None and session.again):
            pending.to_judge.append(job)
            pending.judged_as.append(key)
        elif reason is None:
            progress.record_ending("judged")
        else:
            progress.record_ending(
                "unjudged", Trouble(job.title, describe_failed_judgement(reason, judge.calls))
            )
    progress.to_judge = progress.done + len(pending.to_play)
    progress.calls_left += judge.calls * (len(pending.to_play) + len(pending.to_judge))


def _find_complete_unrecorded_runs(
    connection: Connection,
    session: Session,
    subject: ChatModel,
    every: Sequence[Job],
    to_play: Sequence[Job],
) -> list[Job]:
    """Return one job for each run, in each configuration, of which every conversation is stored and
    which no command has recorded as begun for the session's protocol. *every*: all jobs of the
    model *subject*; *to_play*: those that are not stored.

    A run with something left to play is begun by the first conversation that is played or fails.
    """
    runs = {(job.run, job.configuration): job for job in every}
    for job in to_play:
        runs.pop((job.run, job.configuration), None)
    begun = (
        registry.read_begun_runs(connection, session.protocol.name, subject.hash) if runs else set()
    )
    return [
        job
        for (run, configuration), job in runs.items()
        if (subject.hash, run, configuration.system, configuration.delivery) not in begun
    ]
