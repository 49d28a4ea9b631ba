"""`aib run`, `aib rerun`, `aib estimate-cost`: play, judge, rank; more of what is stored; what a
run would take.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import click

from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.api.estimates import forecast_cost_and_detectable_difference
from independence_bench.api.named import find_shipped_or_stored_protocol, find_stored_subjects
from independence_bench.cli import calling
from independence_bench.cli.calling import price_option
from independence_bench.cli.options import (
    FILLED,
    GroupedCommand,
    Number,
    WithSynonyms,
    combine_options,
    configuration_options,
    experiments_option,
    format_recorded_command_line,
    legend_option,
    make_permissions_with_env_folder,
    models_file_option,
    print_blocks,
    print_remarks,
    runs_option,
    split_option,
    store_option,
    weights_option,
)
from independence_bench.cli.selection import add_selection_options, pop_selection
from independence_bench.dataset.published_protocol import NAME_OF_PROTOCOL
from independence_bench.engine.preview import Preview
from independence_bench.engine.run import EFFORTS, Run
from independence_bench.engine.session import list_named_models, resolve_run
from independence_bench.errors import BenchError, NoSubject, ProtocolError, SubjectError
from independence_bench.escape import escape_line
from independence_bench.models.spec import PYTHON, ChatModel, ModelSpec
from independence_bench.models.trust import merge_environment_and_env_file
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.report.estimate_view import describe_preview
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store

# what is to be played and judged, for `aib run` and `aib estimate-cost`
plan_options = combine_options(
    click.argument("models", nargs=-1, metavar="[MODEL]...", callback=split_option),
    click.option(
        "-m",
        "--models",
        "listed",
        metavar="A,B",
        callback=split_option,
        help="The same as MODEL..., with commas.",
    ),
    click.option(
        "--all",
        is_flag=True,
        help="All active models of models.yaml; if it names none, of the shipped list.",
    ),
    models_file_option,
    click.option(
        "--local-url",
        metavar="URL",
        help="A server on this machine or near it, e.g. http://localhost:8080/v1",
    ),
    click.option(
        "--local-model",
        multiple=True,
        metavar="NAME",
        help="A model on that server. May be repeated.",
    ),
    click.option(
        "--protocol",
        default="v2",
        show_default=True,
        metavar="NAME|PATH",
        help="A shipped protocol, or the folder of your own.",
    ),
    experiments_option,
    configuration_options,
    runs_option,
    click.option(
        "-t",
        "--temperature",
        type=Number(0, 2),
        help="For every model.   [default: the protocol's]",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1, 1_000_000),
        help="Token limit of one reply; a reply that is cut off is asked for once more with "
        "twice the limit.",
    ),
    click.option(
        "-r",
        "--reasoning-effort",
        type=click.Choice(EFFORTS),
        help="Reasoning effort of every model; `none` is the same as `off`, `auto` sends none.  "
        "[default: off, where it can be]",
    ),
    click.option(
        "--provider", type=FILLED, metavar="SLUG", help="Use only this provider (OpenRouter)."
    ),
    click.option(
        "-j",
        "--judge",
        cls=WithSynonyms,
        synonyms=("--judge-model",),
        type=FILLED,
        metavar="MODEL",
        help="A model, or `embedded`.  [default: the protocol's; embedded where that is the only "
        "MODEL]",
    ),
    click.option("--no-judge", is_flag=True, help="Play only; `aib judge` can judge later."),
    click.option("--again", is_flag=True, help="Retry what was invalid or could not be judged."),
)


USUAL = (
    "listed all local_url local_model reasoning_effort protocol exp judge runs budget "
    "parallel parallel_tasks yes store help_all"
)


@click.command(name="run", cls=GroupedCommand, usual=USUAL)
@plan_options
@weights_option
@calling.limit_options
@calling.worker_options
@click.option(
    "-y",
    "--yes",
    is_flag=True,
    help="Do not ask before a list of models is played, or it costs much.",
)
@store_option
def run(
    models: tuple[str, ...],
    listed: tuple[str, ...],
    shard: str | None,
    job: str | None,
    on: str | None,
    yes: bool,
    store: str,
    **asked: Any,
) -> None:
    """Play a protocol against models, judge every conversation, and show the ranking.

    \b
    aib run qwen/qwen3-8b                      a model on OpenRouter
    aib run embedded                           a small model here, without a key
    aib run openai:gpt-4o-mini --runs 5        another endpoint, more runs
    aib run qwen/qwen3-8b --budget 2           spend at most two dollars

    MODEL may also be python:MODULE:FUNCTION (docs/local-models.md). Its settings come from
    models.yaml, else from the shipped list of models (docs/choose-a-model.md), else from the
    protocol. Without MODEL, `aib` plays the active models of models.yaml, after showing the cost.

    `aib` never pays twice for a stored reply: the same command does nothing the second time, and
    after Ctrl-C it continues where it stopped. The same command with a larger --runs narrows the
    intervals; runs on another day also show how a model changes from day to day.
    """
    worker = calling.parse_worker(shard, job, on)
    wanted = Run(
        models=(*models, *listed),
        shard=worker.shard,
        job=worker.job,
        allow=make_permissions_with_env_folder(),
        **asked,
    )
    _warn_of_unread_variables(wanted)
    named = list_named_models(wanted)
    try:
        wanted = resolve_run(wanted)
    except ProtocolError as error:
        raise _explain_stored_protocol(error, asked["protocol"], store) from error
    except NoSubject:
        _print_shipped_list_forecast(wanted, store)
        raise
    with open_store(store, command_line=format_recorded_command_line()) as opened:
        ask = not (named or yes)
        work = calling.play_with_progress(wanted, opened, ask, cluster=worker.cluster, yes=yes)
        complete = calling.print_boards_and_show_command(wanted, opened, calling.run_to_end(work))
    if not complete:
        raise SystemExit(1)


def _explain_stored_protocol(error: ProtocolError, name: str, store: str) -> BenchError:
    """Return the error to show after a protocol called *name* was not found among the shipped ones
    and the folders. If *store* has it, or an import would make it, the error says what to type,
    since a protocol is played from files; else it is *error* itself.
    """
    if os.path.exists(name) or error.key:
        return error
    copy = f"{name}-copy" if re.fullmatch(r"[\w-]{1,64}", name) else "mine"
    with suppress(BenchError), open_store(store, create=False) as opened:
        find_shipped_or_stored_protocol(name, opened)
        made = shlex.quote(copy)
        return ProtocolError(
            name,
            "",
            f"it is stored, and played from a copy: `aib protocols copy {shlex.quote(name)} "
            f"{made}`, then `aib run MODEL --protocol {made}`",
        )
    if name == NAME_OF_PROTOCOL:
        return ProtocolError(name, "", "`aib import PATH` makes it of published data")
    return error


# variables that choose a local model for the original, and the options for it here
LOCAL = {"LOCAL_MODEL_URL": "--local-url", "LOCAL_MODEL_ID": "--local-model"}


def _warn_of_unread_variables(wanted: Run) -> None:
    """Print a note on stderr if environment variables are set that choose a local model for the
    original system, since aib does not read them; it names the options to use. Prints nothing if
    *wanted* names a local model.
    """
    given = wanted.local_url or wanted.local_model
    if (
        set_ := []
        if given
        else [name for name in LOCAL if merge_environment_and_env_file().get(name)]
    ):
        options = " and ".join(LOCAL[name] for name in set_)
        are = "are" if len(set_) > 1 else "is"
        print_remarks(f"note: {' and '.join(set_)} {are} not read: use {options}")


def _print_shipped_list_forecast(wanted: Run, store: str) -> None:
    """Print, on stderr, the forecast of a run of all models in the list that ships with aib. Only
    endpoints' lists of models are requested; if the forecast cannot be made, nothing is printed.
    """
    with suppress(BenchError), open_store(store) as opened:
        estimate = asyncio.run(
            forecast_cost_and_detectable_difference(replace(wanted, all=True), opened)
        )
        print_remarks(
            "`aib run --all` plays the shipped list (docs/choose-a-model.md):",
            *describe_preview(estimate.preview),
        )


@click.command(
    name="rerun", cls=GroupedCommand, epilog="Example: aib rerun qwen3-8b --runs 10 --budget 2"
)
@click.argument("subjects", nargs=-1, metavar="[MODEL]...")
@click.option(
    "-m",
    "--models",
    "listed",
    metavar="A,B",
    callback=split_option,
    help="The same as MODEL..., with commas.",
)
@calling.endpoint_options
@runs_option
@click.option(
    "-j",
    "--judge",
    cls=WithSynonyms,
    synonyms=("--judge-model",),
    type=FILLED,
    metavar="MODEL",
    help="A model, or `embedded`.  [default: the main judge of what is stored]",
)
@calling.limit_options
@click.option("-y", "--yes", is_flag=True, help="Do not ask before it costs money.")
@add_selection_options(configuration_options, weights_option)
def rerun(
    subjects: tuple[str, ...],
    listed: tuple[str, ...],
    judge: str | None,
    yes: bool,
    **asked: Any,
) -> None:
    """Play more runs of stored models, and retry invalid replies and failed judgements.

    MODEL is a label, or a part of one that fits a single model; without any, every model that
    was played for the protocol. Each is called exactly as before, and judged by the main judge of
    the store (docs/judges.md). A valid reply is never replaced: if you ask for no more runs than
    are stored, only missing replies are bought.
    """
    subjects, selection = (*subjects, *listed), pop_selection(asked)
    with selection.open_for_marking(format_recorded_command_line()) as (opened, protocol, files):
        chosen = find_stored_subjects(opened, protocol, subjects)
        if not subjects:  # a store from a stranger must not choose what is run here
            functions = [model for model in chosen if model.endpoint == PYTHON]
            chosen = [model for model in chosen if model.endpoint != PYTHON]
            print_remarks(
                *(
                    f"left out: {escape_line(function.label)} is a Python function: name it to "
                    "play it"
                    for function in functions
                )
            )
        played = selection.find_configurations(protocol)
        wanted = Run(
            protocol=(protocol, files),
            models=tuple(make_model_spec(subject) for subject in chosen),
            configurations=played,
            judge=judge or _find_main_judge_name(opened, protocol, played),
            again=True,
            unnamed=not subjects,
            allow=make_permissions_with_env_folder(),
            **asked,
        )
        check = partial(check_same_subjects, stored=chosen)
        work = calling.play_with_progress(wanted, opened, always_ask=not yes, check=check, yes=yes)
        complete = calling.print_boards_and_show_command(wanted, opened, calling.run_to_end(work))
    if not complete:
        raise SystemExit(1)


def make_model_spec(subject: ChatModel) -> ModelSpec:
    """Return a specification from which *subject*, a stored model with its settings, is made again,
    as long as its endpoint serves the same weights under its name.
    """
    return ModelSpec(
        subject.model,
        subject.endpoint,
        subject.temperature,
        subject.max_tokens,
        subject.reasoning.value,
        subject.provider,
        subject.accept_cut_off,
    )


def _find_main_judge_name(store: Store, protocol: Protocol, played: Sequence[Configuration]) -> str:
    """Return the name, as a user types it, of the main judge of the stored conversations in the
    configurations *played*, else in others. If no judge that can be asked has judged, it is the
    judge that *protocol* names. Prints a note if other judges judged too.
    """
    scored = sorted(
        make_leaderboards(store, protocol),
        key=lambda board: not set(board.configurations) & set(played),
    )
    with store.open_snapshot() as connection:
        labels = registry.read_judge_labels(connection)
        typed = {
            labels[judge]: name
            for judge, name in registry.find_selectable_judge_names(connection).items()
        }
    asked = next((judge for board in scored for judge in board.judges if judge in typed), None)
    if asked is None:
        return protocol.judge.model
    if judges := list(
        dict.fromkeys(judge for board in scored for judge in board.judges if judge != asked)
    ):
        others = escape_line(", ".join(judges))
        print_remarks(
            f"judge: {escape_line(asked)}, the main one; {others} judged too (--judge chooses)"
        )
    return typed[asked]


def check_same_subjects(preview: Preview, stored: Sequence[ChatModel]) -> None:
    """Raise SubjectError if a model that is going to be played is none of the *stored* ones, since
    its weights or its code have changed.
    """
    known = {subject.hash for subject in stored}
    for subject in preview.session.subjects:
        if subject.hash not in known:
            if subject.endpoint == PYTHON:
                raise SubjectError(
                    f"{subject.label} is not the version that was played; `aib run` plays it as "
                    "a model of its own"
                )
            raise SubjectError(
                f"{subject.label} no longer has the weights that it had when it was played; "
                "`aib run` plays it as a model of its own"
            )


# ---------------------------------------------------------------- what it would take


@click.command(
    name="estimate-cost",
    cls=GroupedCommand,
    epilog="Example: aib estimate-cost qwen/qwen3-8b --runs 5",
)
@plan_options
@price_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, for programs.")
@legend_option
@store_option
def estimate_cost(
    models: tuple[str, ...],
    listed: tuple[str, ...],
    legend: bool,
    as_json: bool,
    store: str,
    **asked: Any,
) -> None:
    """Estimate the calls, tokens and dollars of `aib run`, and the difference of two models that
    it will show. Only the list of prices is requested, without a key where none is set.

    MODEL and the options are those of `aib run`; without a model, the active models of
    models.yaml, and without that file those of the shipped list. Stored replies cost nothing more.
    The length of replies is estimated from stored ones with the same settings, else of the same
    model; else from published runs of the model, stored ones of others, or the protocol's typical
    model.
    The cost of eight of ten published models lies between `from` and `to`.
    """
    wanted = Run(models=(*models, *listed), allow=make_permissions_with_env_folder(), **asked)
    _warn_of_unread_variables(wanted)
    if not list_named_models(wanted):
        wanted = replace(wanted, all=True)
    try:
        wanted = resolve_run(wanted)
    except ProtocolError as error:
        raise _explain_stored_protocol(error, asked["protocol"], store) from error
    with open_store(store) as opened:
        answer = asyncio.run(forecast_cost_and_detectable_difference(wanted, opened))
    for remark in answer.preview.remarks:
        print_remarks(f"note: {escape_line(remark)}")
    if as_json:
        click.echo(answer.json())
    else:
        print_blocks(*answer.views(), legend=legend)
