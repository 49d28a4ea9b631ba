"""The options by which commands choose stored results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from independence_bench.api.selection import Selection
from independence_bench.cli.options import (
    FILLED,
    Command,
    combine_options,
    store_option,
    stored_protocol_option,
    weights_option,
)
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN

judge_option = click.option(
    "--judge", type=FILLED, metavar="NAME", help="Only judges whose label contains NAME."
)
rules_option = click.option(
    "--rules",
    type=click.Choice(list(RULES)),
    default=OWN.name,
    show_default=True,
    help="Rules that turn scores into an index; `published`: see docs/data-formats.md.",
)
jury_option = click.option(
    "--jury",
    metavar="A,B,C",
    help="Use the mean of these judges; a score needs a majority of them.",
)
judged_options = combine_options(judge_option, jury_option, weights_option)


def add_selection_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds *options*, --protocol and --store to a command. Their values
    together are the fields of a `Selection`, which says which stored results are meant.
    """
    return combine_options(*options, stored_protocol_option, store_option)


def pop_selection(option_values: dict[str, Any]) -> Selection:
    """Remove the values that choose stored results from *option_values*, the values of a command's
    options, and return them as a `Selection`. What is left in *option_values* are settings of a
    run.
    """
    mine = [field.name for field in fields(Selection) if field.name in option_values]
    return Selection(**{name: option_values.pop(name) for name in mine})
