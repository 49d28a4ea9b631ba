"""`aib exclude`: take a subject off the boards, or keep one on them, and say why."""

from __future__ import annotations

import time

import click

from independence_bench.cli.options import err, open_results, out, store_option, stored_subjects
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.report.terminal import printed
from independence_bench.store import registry
from independence_bench.store.database import Store
from independence_bench.store.registry import COMMAND, MODELS_FILE, Decision, unique_labels

LONGEST = 500  # characters of a reason


@click.command(name="exclude")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("--reason", metavar="TEXT", help="Why; shown beside the subject wherever it is listed.")
@click.option("--keep", is_flag=True, help="Not to be excluded, though too many conversations have no valid reply.")
@click.option("--undo", is_flag=True, help="Forget what was decided.")
@store_option
def command(subjects: tuple[str, ...], reason: str | None, keep: bool, undo: bool, store: str) -> None:
    """Take subjects off every ranking, with a reason that is shown in their place; nothing is deleted.

    SUBJECT is a label, or a part of one that fits a single subject; without any, what was decided is listed. `exclude:
    REASON` at a subject in models.yaml does the same, and what is said here comes before it. A subject is excluded by
    itself where more than a fifth of its conversations have no valid reply in the end; --keep takes that back, and
    its row says so. An index still takes all marks.
    """
    if keep and undo:
        raise WrongUse("--keep and --undo are two things: leave one of them out")
    if reason is not None and (undo or not reason.strip()):
        raise WrongUse("--reason says why a subject is excluded or kept, in some words")
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
                    said = " ".join((reason or "").split())[:LONGEST]
                    decision = Decision("keep" if keep else "exclude", said, COMMAND)
                    registry.decide(connection, subject.hash, decision, time.time())
    done = "is as if nothing had been said" if undo else "is kept" if keep else "is off every ranking"
    for subject in chosen:
        err().print(f"{label_text(labels[subject.hash])} {done}", soft_wrap=True)


def _labels(store: Store) -> dict[str, str]:
    with store.reading() as connection:
        return unique_labels(registry.stored_subjects(connection))


def _list(store: Store) -> None:
    """What was decided, a line each."""
    labels = _labels(store)
    with store.reading() as connection:
        known = registry.decided(connection)
    for subject, one in sorted(known.items(), key=lambda item: labels[item[0]]):
        said = "excluded" if one.verdict == "exclude" else "kept"
        where = " (models.yaml)" if one.origin == MODELS_FILE else ""
        printed(out(), label_text(f"{labels[subject]}: {said}{where}: {one.reason}"))
    if not known:
        err().print("nobody has decided anything about a subject here; --reason excludes one", soft_wrap=True)
