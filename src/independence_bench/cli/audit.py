"""`aib audit`: every number computed again, and what is wrong with the data."""

from __future__ import annotations

from dataclasses import replace

import click

from independence_bench.analysis.audit.audit import SEVERITIES, Severity
from independence_bench.analysis.audit.audit import audit as audit_of
from independence_bench.cli.options import legend_option, show, weights_option
from independence_bench.cli.selection import Selection, json_option, rules_option, selecting
from independence_bench.errors import WrongUse
from independence_bench.protocol.published_scoring import RULES
from independence_bench.report.audit_view import SHOWN, audit_json, audit_view, chosen, with_word

_HELPER = "aib.helper"  # in click's meta: the process that `cli.main` began


@click.command(name="audit")
@click.argument("path", required=False, metavar="[STORE]")
@click.option(
    "--severity",
    "lowest",
    type=click.Choice(SEVERITIES),
    default="note",
    show_default=True,
    help="The lowest severity to show.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=SHOWN, show_default=True, metavar="N",
    help="The first N places of each finding.",
)  # fmt: skip
@click.option("--find", metavar="WORD", help="Only findings and places with this in them, such as a part of a label.")
@legend_option
@selecting(rules_option, weights_option, json_option)
def audit(selection: Selection, path: str | None, lowest: Severity, top: int, find: str | None, as_json: bool) -> None:
    """Recompute every number from its records, and list problems that a reader should know about.

    STORE is a file or a database URL, as for --store. Nothing is changed, and nothing is sent. The exit code is 0
    where nothing of severity error was found, whatever is shown, else 1.
    """
    context = click.get_current_context()
    if path and context.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE:
        raise WrongUse("the store is named twice: leave --store out, or the argument")
    with replace(selection, store=path or selection.store).opened() as (opened, protocol):
        found = audit_of(opened, protocol, RULES[selection.rules], context.meta.get(_HELPER))
        if not found.conversations and not found.findings:
            raise WrongUse(f"no conversations of {protocol.name} {protocol.hash[:12]} are stored in {opened.shown}")
    if as_json:
        click.echo(audit_json(found, lowest))
    else:
        if find is not None and not with_word(chosen(found, lowest), find):
            raise WrongUse(f"--find: no finding has {find} in it")
        show(audit_view(found, lowest, top, find))
    if found.errors:
        context.exit(1)
