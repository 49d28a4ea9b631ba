"""`aib costs`, `aib exclude`, `aib clear`: what a store has cost, who is ranked, what goes."""

from __future__ import annotations

import time
from collections.abc import Callable

import click
from sqlalchemy import Connection

from independence_bench.analysis.costs import read_costs
from independence_bench.api.named import find_protocol, open_results, stored_subjects
from independence_bench.cli.options import (
    FILLED,
    confirmed,
    json_option,
    legend_option,
    out,
    say,
    show_chosen,
    shown_options,
    store_option,
)
from independence_bench.errors import NotAllowed, WrongUse
from independence_bench.escape import label_text
from independence_bench.figures import money, plural
from independence_bench.lookup import instead
from independence_bench.models.response import clean_text
from independence_bench.report.stored_view import (
    costs_json,
    costs_view,
)
from independence_bench.report.table import Shown
from independence_bench.report.terminal import printed
from independence_bench.store import attempts, deletion, registry
from independence_bench.store.database import Store, open_store
from independence_bench.store.deletion import DeletionPlan
from independence_bench.store.registry import COMMAND, MODELS_FILE, Decision, unique_labels


@click.command(name="costs")
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
    with open_store(store, create=False) as opened:
        with opened.reading() as connection:
            spending = read_costs(connection)
        if as_json:
            click.echo(costs_json(spending))
        else:
            view = costs_view(spending, opened.shown)
            show_chosen(view, shown=Shown(top, find), legend=legend)


LONGEST = 500  # characters of a reason


@click.command(name="exclude")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("--reason", metavar="TEXT", help="The reason; shown wherever the subject is listed.")
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
    """Exclude subjects from every ranking, with a reason that is shown in their place; nothing is
    deleted.

    SUBJECT is a label, or a part of one that fits a single subject; without any, the decisions are
    listed. `exclude: REASON` at a subject in models.yaml does the same; a decision made here
    overrides it. A subject is excluded automatically if more than a fifth of its conversations have
    no valid reply; --keep reverses that, and its row says so. An index still requires all marks.
    """
    if keep and undo:
        raise WrongUse("--keep and --undo exclude each other: leave one of them out")
    if reason is not None and (undo or not reason.strip()):
        raise WrongUse("--reason needs some words that say why a subject is excluded or kept")
    with open_results(store) as opened:
        if not subjects:
            _list(opened)
            return
        if reason is None and not undo:
            raise WrongUse("say why with --reason, or take it back with --undo")
        chosen = stored_subjects(opened, None, subjects)
        labels = _labels(opened)
        with opened.writing() as connection:
            for subject in chosen:
                if undo:
                    registry.undo(connection, subject.hash)
                else:
                    words = clean_text(" ".join((reason or "").split()))[:LONGEST]
                    decision = Decision("keep" if keep else "exclude", words, COMMAND)
                    registry.decide(connection, subject.hash, decision, time.time())
    done = (
        "no longer has a decision"
        if undo
        else "is kept"
        if keep
        else "is excluded from every ranking"
    )
    for subject in chosen:
        say(f"{label_text(labels[subject.hash])} {done}")


def _labels(store: Store) -> dict[str, str]:
    with store.reading() as connection:
        return unique_labels(registry.stored_subjects(connection))


def _list(store: Store) -> None:
    """Print the decisions about subjects, a line each."""
    labels = _labels(store)
    with store.reading() as connection:
        known = registry.decided(connection)
    for subject, decision in sorted(known.items(), key=lambda item: labels[item[0]]):
        verdict = "excluded" if decision.verdict == "exclude" else "kept"
        where = " (models.yaml)" if decision.origin == MODELS_FILE else ""
        printed(out(), label_text(f"{labels[subject]}: {verdict}{where}: {decision.reason}"))
    if not known:
        say("no subject is excluded or kept here; `aib exclude SUBJECT --reason TEXT` excludes one")


@click.command(name="clear")
@click.argument("what", type=click.Choice(["responses", "judgements"]))
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
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

    SUBJECT is a label, or a part of one that fits a single subject; without any, all of them. What
    is deleted is requested and paid for again by the next `aib run` or `aib judge`. Its cost stays
    on record: every attempt is kept, so the store's spending does not change. This cannot be
    undone; make a copy of the store first.
    """
    if what == "responses" and judge:
        raise WrongUse("--judge applies to judgements only: leave it out, or clear judgements")
    with open_store(store, create=False) as opened:
        find = _finding(opened, what, subjects, protocol_name, judge)
        with opened.reading() as connection:
            plan = find(connection)
        if not plan:
            say("nothing that could be cleared is stored")
            return
        with opened.reading() as connection:
            deletion.check_unclaimed(connection, plan, opened.now(connection))
            spent = attempts.spending(connection)
        say(f"this deletes {_amount(plan)} from {label_text(opened.shown)}")
        say(
            f"what they cost stays on record: the store's total of {money(spent.total)} does not "
            "change"
        )
        if not yes and not confirmed("Delete them?"):
            raise NotAllowed("nothing was deleted")
        with opened.writing() as connection:
            deletion.clear(connection, plan, find, opened.now(connection))
    say(f"deleted {_amount(plan)}")


def _finding(
    store: Store, what: str, subjects: tuple[str, ...], protocol_name: str | None, judge: str | None
) -> Callable[[Connection], DeletionPlan]:
    """Return a function that plans the deletion that the options mean. Raises WrongUse for a
    subject that does not exist; the function raises it for a judge.
    """
    protocol = find_protocol(protocol_name, store)[0] if protocol_name else None
    of = stored_subjects(store, None, subjects)

    def find(connection: Connection) -> DeletionPlan:
        hashes = None
        if protocol is not None:
            stored = registry.stored_protocols(connection)
            hashes = [hash_ for hash_, name, _ in stored if name == protocol.name]
        if what == "responses":
            return deletion.find_responses(connection, of, hashes)
        labels = registry.stored_judges(connection)
        judges = [hash_ for hash_, label in labels.items() if judge is None or judge in label]
        if not judges:
            raise WrongUse(
                f"no judge is called {judge}; "
                f"{instead(judge or '', labels.values(), 'the store has')}"
            )
        return deletion.find_judgements(connection, of, hashes, judges)

    return find


def _amount(plan: DeletionPlan) -> str:
    parts = [
        plural(len(found), noun)
        for found, noun in ((plan.transcripts, "conversation"), (plan.judgements, "judgement"))
        if found
    ]
    if plan.replies:
        parts.insert(1, plural(len(plan.replies), "reply", "replies"))
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
