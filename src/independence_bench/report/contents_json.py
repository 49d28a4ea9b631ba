"""A report for programs: the same values as in Markdown, as JSON in ASCII. Absent is null, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from independence_bench.analysis.compare_settings import SettingComparison, Variant
from independence_bench.analysis.name_counts import unique_names
from independence_bench.report.board_json import apart_values, board_values, json_text
from independence_bench.report.contents import Contents, Detail
from independence_bench.report.reliability_view import reliability_values
from independence_bench.report.scenarios_view import scenario_values

DECIMALS = 10  # of dollars: sums of doubles differ in the last place with the order that a database adds them in


def contents_json(contents: Contents, updated: str | None) -> str:
    """*contents*; *updated* is the time of its newest record as text. Units as in `report.json`, costs in dollars."""
    spending = contents.spending
    value = {
        "updated": updated,
        "boards": [board_values(board) for board in (contents.main, *contents.others)],  # the first: what all is about
        "configurations": contents.configurations,
        "providers": _comparisons(contents.providers),
        "reasoning_efforts": _comparisons(contents.efforts),
        "index_per_dollar": [asdict(price) | {"free": price.free} for price in contents.prices],
        "judges": [asdict(judge) | {"failed_share": judge.failed_share} for judge in contents.judges],
        "names": asdict(contents.naming) | {"unique": [count.name for count in unique_names(contents.naming.counts)]},
        **scenario_values(contents.complexity),
        "reliability": reliability_values(contents.reliability),
        "subjects": [_detail(detail) for detail in contents.details],
        "cost": {
            "this_command": 0.0,
            "candidates": round(spending.replies, DECIMALS),
            "judges": round(spending.judgements, DECIMALS),
            "calls": spending.attempts,
            "calls_lost": spending.lost,
            "calls_without_a_price": spending.unpriced,
        },
    }
    return json_text(value, indent=1) + "\n"


def _comparisons(comparisons: Sequence[SettingComparison]) -> list[dict[str, Any]]:
    return [asdict(one) | {"variants": [_variant(variant) for variant in one.variants]} for one in comparisons]


def _variant(variant: Variant) -> dict[str, Any]:
    values = asdict(variant) | {"served": dict(variant.served)} | (apart_values(variant.apart) or {})
    return {name: value for name, value in values.items() if name != "apart"}


def _detail(detail: Detail) -> dict[str, Any]:
    scored = {name: {"scored": scored, "planned": planned} for name, (scored, planned) in detail.scored.items()}
    values = {"label": detail.row.label, "hash": detail.row.subject.hash, "transcripts_scored": scored}
    spent = detail.spent
    return values | {"dollars": spent.dollars, "judging_dollars": spent.judging, "served": dict(spent.served)}
