"""`aib clear`: delete what is stored, so that it is asked anew."""

from __future__ import annotations

import time

import click

from independence_bench.cli.options import confirmed, err, find_protocol, store_option, stored_subjects
from independence_bench.errors import StoreError, WrongUse
from independence_bench.escape import label_text
from independence_bench.report.format import money, plural
from independence_bench.store import attempts, deletion, registry
from independence_bench.store.database import Store, open_store
from independence_bench.store.deletion import Doomed


@click.command(name="clear")
@click.argument("what", type=click.Choice(["responses", "judgements"]))
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("--protocol", "protocol_name", metavar="NAME|PATH|HASH", help="Only of this protocol.  [default: all]")
@click.option("--judge", metavar="NAME", help="Only judgements by judges whose label contains this.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
@store_option
def command(
    what: str, subjects: tuple[str, ...], protocol_name: str | None, judge: str | None, yes: bool, store: str
) -> None:
    """Delete stored responses (with their judgements) or judgements, after saying how many.

    SUBJECT is a label, or a part of one that fits a single subject; without any, all of them. What is deleted is
    asked anew, and paid for again, by the next `aib run` or `aib judge`. What it has cost stays on record: every
    attempt is kept, so the store's spending does not change. There is no way back but a copy of the store.
    """
    if what == "responses" and judge:
        raise WrongUse("responses are not a judge's; leave out --judge, or clear judgements")
    with open_store(store, create=False) as opened:
        doomed = _find(opened, what, subjects, protocol_name, judge)
        if not doomed:
            err().print("nothing like that is stored")
            return
        with opened.reading() as connection:
            busy = deletion.held(connection, doomed, time.time())
            spent = attempts.spending(connection)
        if busy:
            raise StoreError(f"another command is at {plural(busy, 'call')} of these just now; let it end first")
        err().print(f"this deletes {_amount(doomed)} from {label_text(opened.shown)}", soft_wrap=True)
        err().print(f"what they cost stays on record: {money(spent.total)} in all, before and after", soft_wrap=True)
        if not yes and not confirmed("Delete them?"):
            raise click.Abort
        with opened.writing() as connection:
            deletion.clear(connection, doomed, time.time())
    err().print(f"deleted {_amount(doomed)}", soft_wrap=True)


def _find(store: Store, what: str, subjects: tuple[str, ...], protocol_name: str | None, judge: str | None) -> Doomed:
    """What is meant. Raises WrongUse for a subject or a judge that is not there."""
    protocol = find_protocol(protocol_name, store)[0] if protocol_name else None
    of = stored_subjects(store, None, subjects)
    with store.reading() as connection:
        hashes = None
        if protocol is not None:
            stored = registry.stored_protocols(connection)
            hashes = [hash_ for hash_, name, _ in stored if name == protocol.name]
        if what == "responses":
            return deletion.find_responses(connection, of, hashes)
        labels = registry.stored_judges(connection)
        judges = [hash_ for hash_, label in labels.items() if judge is None or judge in label]
        if not judges:
            known = ", ".join(labels.values()) or "none"
            raise WrongUse(f"no judge is called {judge}; the store has {known}")
        return deletion.find_judgements(connection, of, hashes, judges)


def _amount(doomed: Doomed) -> str:
    parts = [
        plural(len(found), noun)
        for found, noun in ((doomed.transcripts, "conversation"), (doomed.judgements, "judgement"))
        if found
    ]
    if doomed.replies:
        parts.insert(1, plural(len(doomed.replies), "reply", "replies"))
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
