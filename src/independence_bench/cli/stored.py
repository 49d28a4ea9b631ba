"""`aib costs`, `aib exclude`, `aib clear`: what a store has cost, who is ranked, what goes."""

from __future__ import annotations

import time
from collections.abc import Callable

import click
from sqlalchemy import Connection

from independence_bench.api.costs import costs as read_costs
from independence_bench.api.named import (
    find_shipped_or_stored_protocol,
    find_stored_subjects,
    open_store_with_exclusions,
)
from independence_bench.cli.options import (
    FILLED,
    ask_confirmation,
    json_option,
    legend_option,
    make_results_console,
    print_chosen_rows,
    print_remarks,
    shown_options,
    store_option,
)
from independence_bench.errors import NotAllowed, WrongUse
from independence_bench.escape import escape_line
from independence_bench.figures import format_count, format_dollars
from independence_bench.lookup import suggest_names
from independence_bench.models.response import replace_unstorable_characters
from independence_bench.report.stored_view import render_costs
from independence_bench.report.table import RowFilter
from independence_bench.report.terminal import print_views
from independence_bench.store import attempts, deletion, registry
from independence_bench.store.database import Store, open_store
from independence_bench.store.deletion import DeletionPlan
from independence_bench.store.registry import COMMAND, MODELS_FILE, Decision, make_unique_labels


@click.command(name="costs", epilog="Example: aib costs")
@shown_options
@legend_option
@json_option
@store_option
def costs(top: int | None, find: str | None, legend: bool, as_json: bool, store: str) -> None:
    """Show what each command spent, and the same by judge and by model, next to list prices.

    All calls since the store was made are counted, of all protocols, including rejected and cleared
    ones. Dollars are those that the providers reported; where one reported none, they are computed
    from its list price and shown apart.
    """
    answer = read_costs(store)
    if as_json:
        click.echo(answer.json())
    else:
        view = render_costs(answer.costs, answer.store)
        print_chosen_rows(view, shown=RowFilter(top, find), legend=legend)


LONGEST = 500  # characters of a reason


@click.command(
    name="exclude", epilog='Example: aib exclude qwen3-8b --reason "the server was misconfigured"'
)
@click.argument("subjects", nargs=-1, metavar="[MODEL]...")
@click.option("--reason", metavar="TEXT", help="The reason; shown wherever the model is listed.")
@click.option(
    "--keep",
    is_flag=True,
    help="Keep it ranked although too many conversations have no valid reply.",
)
@click.option("--undo", is_flag=True, help="Undo the decision.")
@store_option
def exclude(
    subjects: tuple[str, ...], reason: str | None, keep: bool, undo: bool, store: str
) -> None:
    """Exclude models from every ranking, with a reason that is shown in their place; nothing is
    deleted.

    MODEL is a label, or a part of one that fits a single model; without any, the decisions are
    listed. `exclude: REASON` at a model in models.yaml does the same; a decision made here
    overrides it. A model is excluded automatically if more than a fifth of its conversations have
    no valid reply; --keep reverses that, and its row says so. An index still requires all scores.
    """
    if keep and undo:
        raise WrongUse("--keep and --undo exclude each other: leave one of them out")
    if reason is not None and (undo or not reason.strip()):
        raise WrongUse("--reason needs some words that say why a model is excluded or kept")
    with open_store_with_exclusions(store) as opened:
        if not subjects:
            _print_exclusion_decisions(opened)
            return
        if reason is None and not undo:
            raise WrongUse("say why with --reason, or take it back with --undo")
        chosen = find_stored_subjects(opened, None, subjects)
        labels = _map_model_hashes_to_labels(opened)
        with opened.open_transaction() as connection:
            for subject in chosen:
                if undo:
                    registry.delete_decision(connection, subject.hash)
                else:
                    words = replace_unstorable_characters(" ".join((reason or "").split()))[
                        :LONGEST
                    ]
                    decision = Decision("keep" if keep else "exclude", words, COMMAND)
                    registry.store_decision(connection, subject.hash, decision, time.time())
    done = (
        "no longer has a decision"
        if undo
        else "is kept"
        if keep
        else "is excluded from every ranking"
    )
    for subject in chosen:
        print_remarks(f"{escape_line(labels[subject.hash])} {done}")


def _map_model_hashes_to_labels(store: Store) -> dict[str, str]:
    """Return the hash of each stored model -> its label, which is unique in the store."""
    with store.open_snapshot() as connection:
        return make_unique_labels(registry.read_subjects(connection))


def _print_exclusion_decisions(store: Store) -> None:
    """Print each decision to exclude a model from the rankings or to keep it in them, with its
    reason, one line each; a remark if there is none.
    """
    labels = _map_model_hashes_to_labels(store)
    with store.open_snapshot() as connection:
        known = registry.read_decisions(connection)
    for subject, decision in sorted(known.items(), key=lambda item: labels[item[0]]):
        verdict = "excluded" if decision.verdict == "exclude" else "kept"
        where = " (models.yaml)" if decision.origin == MODELS_FILE else ""
        print_views(
            make_results_console(),
            escape_line(f"{labels[subject]}: {verdict}{where}: {decision.reason}"),
        )
    if not known:
        print_remarks(
            "no model is excluded or kept here; `aib exclude MODEL --reason TEXT` excludes one"
        )


@click.command(name="clear", epilog="Example: aib clear judgements qwen3-8b")
@click.argument("what", type=click.Choice(["responses", "judgements"]))
@click.argument("subjects", nargs=-1, metavar="[MODEL]...")
@click.option(
    "--protocol",
    "protocol_name",
    metavar="NAME|PATH|HASH",
    help="Only of this protocol.  [default: all]",
)
@click.option(
    "--judge",
    type=FILLED,
    metavar="NAME",
    help="Only judgements by judges whose label contains this.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
@store_option
def clear(
    what: str,
    subjects: tuple[str, ...],
    protocol_name: str | None,
    judge: str | None,
    yes: bool,
    store: str,
) -> None:
    """Delete stored responses (with their judgements) or judgements, after saying how many.

    MODEL is a label, or a part of one that fits a single model; without any, all of them. What
    is deleted is requested and paid for again by the next `aib run` or `aib judge`. Its cost stays
    on record: every attempt is kept, so the store's spending does not change. This cannot be
    undone; make a copy of the store first.
    """
    if what == "responses" and judge:
        raise WrongUse("--judge applies to judgements only: leave it out, or clear judgements")
    with open_store(store, create=False) as opened:
        find = _make_deletion_planner(opened, what, subjects, protocol_name, judge)
        with opened.open_snapshot() as connection:
            plan = find(connection)
        if not plan:
            print_remarks("nothing that could be cleared is stored")
            return
        with opened.open_snapshot() as connection:
            deletion.check_unclaimed(connection, plan, opened.read_time(connection))
            spent = attempts.sum_spending(connection)
        print_remarks(
            f"this deletes {_describe_deletion_counts(plan)} from {escape_line(opened.shown)}"
        )
        print_remarks(
            f"what they cost stays on record: the store's total of {format_dollars(spent.total)} "
            "does not "
            "change"
        )
        if not yes and not ask_confirmation("Delete them?"):
            raise NotAllowed("nothing was deleted")
        with opened.open_transaction() as connection:
            deletion.carry_out_deletion(connection, plan, find, opened.read_time(connection))
    print_remarks(f"deleted {_describe_deletion_counts(plan)}")


def _make_deletion_planner(
    store: Store, what: str, subjects: tuple[str, ...], protocol_name: str | None, judge: str | None
) -> Callable[[Connection], DeletionPlan]:
    """Return a function that, given a connection to the store, plans which responses or judgements
    (*what*) of which models, protocols and judges are deleted. Raises WrongUse for a model that
    does not exist; the function raises it for a judge.
    """
    protocol = find_shipped_or_stored_protocol(protocol_name, store)[0] if protocol_name else None
    of = find_stored_subjects(store, None, subjects)

    def find_plan(connection: Connection) -> DeletionPlan:
        hashes = None
        if protocol is not None:
            stored = registry.read_protocols(connection)
            hashes = [hash_ for hash_, name, _ in stored if name == protocol.name]
        if what == "responses":
            return deletion.plan_conversation_deletion(connection, of, hashes)
        labels = registry.read_judge_labels(connection)
        judges = [hash_ for hash_, label in labels.items() if judge is None or judge in label]
        if not judges:
            raise WrongUse(
                f"no judge is called {judge}; "
                f"{suggest_names(judge or '', labels.values(), 'the store has')}"
            )
        return deletion.plan_judgement_deletion(connection, of, hashes, judges)

    return find_plan


def _describe_deletion_counts(plan: DeletionPlan) -> str:
    """Return a text that says how many conversations, replies and judgements *plan* deletes."""
    parts = [
        format_count(len(found), noun)
        for found, noun in ((plan.transcripts, "conversation"), (plan.judgements, "judgement"))
        if found
    ]
    if plan.replies:
        parts.insert(1, format_count(len(plan.replies), "reply", "replies"))
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
