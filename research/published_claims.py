"""Which claims about models hold in the published data set, by our own analysis.

    aib import cache.tar.xz --store published.db
    aib leaderboard --protocol published-v2 --store published.db --json > board.json
    python research/published_claims.py board.json

Prints the figures of docs/research/claims.md. An interval of a mean or a difference is Student's,
over models; that of a correlation is a percentile bootstrap over models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from independence_bench.analysis.statistics.intervals import compute_t_quantile

DRAWS = 10_000
Row = dict[str, Any]


def rank(values: Sequence[float]) -> np.ndarray:
    """Midranks of *values*."""
    array = np.asarray(values)
    return ((array[:, None] > array).sum(1) + ((array[:, None] == array).sum(1) - 1) / 2).astype(
        float
    )


def correlate(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation."""
    return float(np.corrcoef(rank(first), rank(second))[0, 1])


def bootstrap(
    rows: Sequence[Row], statistic: Callable[[Sequence[Row]], float]
) -> tuple[float, ...]:
    """The 95% interval of *statistic* over models like *rows*."""
    rng = np.random.default_rng(1)
    found = [
        statistic([rows[one] for one in rng.integers(len(rows), size=len(rows))])
        for _ in range(DRAWS)
    ]
    return tuple(map(float, np.percentile(found, [2.5, 97.5])))


def mean_with_interval(values: Sequence[float]) -> str:
    """The mean of *values* with its 95% interval."""
    half = float(compute_t_quantile(0.975, len(values) - 1)) * stdev(values) / sqrt(len(values))
    return f"{fmean(values):.1f} (95%: {fmean(values) - half:.1f} to {fmean(values) + half:.1f})"


def difference(first: Sequence[float], second: Sequence[float]) -> str:
    """The difference of two means, with the 95% interval of Welch's test."""
    parts = [stdev(side) ** 2 / len(side) for side in (first, second)]
    degrees = sum(parts) ** 2 / sum(
        part**2 / (len(side) - 1) for part, side in zip(parts, (first, second), strict=True)
    )
    gap, half = (
        fmean(first) - fmean(second),
        float(compute_t_quantile(0.975, degrees)) * sqrt(sum(parts)),
    )
    return f"{gap:.1f} (95%: {gap - half:.1f} to {gap + half:.1f})"


def share(rows: Sequence[Row], dimension: str) -> list[float]:
    """A dimension of each model, in percent."""
    return [100 * row["dimensions"][dimension] for row in rows]


def main() -> None:
    """Print the figures."""
    told = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    board = told["boards"][0] if "boards" in told else told
    rows: list[Row] = board["ranked"]
    reasons = [row for row in rows if row["subject"]["reasoning"] not in ("off", "none")]
    plain = [row for row in rows if row not in reasons]
    first = [row for row in rows if row["ranks"]["tied_with_best"]]
    print(f"{len(rows)} ranked models with their settings")
    print(
        f"with reasoning: {len(reasons)}, mean {fmean(row['index'] for row in reasons):.1f}; "
        f"without: {len(plain)}, mean {fmean(row['index'] for row in plain):.1f}; difference",
        difference([row["index"] for row in reasons], [row["index"] for row in plain]),
    )
    for name in ("resistance", "stability", "low_drift", "internal_consistency"):
        values = share(rows, name)
        print(
            f"{name}: mean {mean_with_interval(values)}, lowest {min(values):.0f}, "
            f"{sum(value >= 90 for value in values)} at 90 or more, "
            f"{sum(value < 70 for value in values)} below 70"
        )
    gaps = [a - b for a, b in zip(share(rows, "resistance"), share(rows, "low_drift"), strict=True)]
    print("resistance less low_drift:", mean_with_interval(gaps))
    renamed = [100 * row["means"]["name_changed"] for row in rows]
    print("runs that end with another name, %:", mean_with_interval(renamed))
    for other in ("resistance", "stability"):

        def compare(some: Sequence[Row], other: str = other) -> float:
            return correlate(share(some, "non_assistant_likeness"), share(some, other))

        low, high = bootstrap(rows, compare)
        print(
            f"non_assistant_likeness and {other}: rho {compare(rows):.2f} "
            f"(95%: {low:.2f} to {high:.2f})"
        )
    print(f"may be first: {len(first)}: {', '.join(row['label'] for row in first)}")


if __name__ == "__main__":
    main()
