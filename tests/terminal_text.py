"""What a terminal or a pipe of some width gets of views, as text."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, RenderableType

from independence_bench.report.table import Block
from independence_bench.report.terminal import print_views


def displayed(
    *views: RenderableType | Iterable[Block],
    width: int = 80,
    colour: bool = False,
    legend: bool | None = None,
) -> str:
    """What a terminal of that width gets, without colours; *colour*: of one that has them."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        highlight=False,
        emoji=False,
        markup=False,
        color_system=None,
    )
    print_views(console, *views, legend=legend)
    return out.getvalue()
