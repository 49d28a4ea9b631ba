"""Our statistics against well-known libraries, on drawn numbers: statsmodels, and krippendorff for
its alpha.
"""

from __future__ import annotations

import numpy as np
import pytest
from assertions import known

from independence_bench.analysis.statistics.agreement import (
    compute_krippendorff_alpha,
    compute_quadratic_kappa,
)
from independence_bench.analysis.statistics.exact_binomial import compute_exact_limits
from independence_bench.analysis.statistics.generalization import find_holm_rejections
from independence_bench.analysis.statistics.intervals import compute_score_limits
from independence_bench.analysis.statistics.sample_means import EndedLadder, compute_kaplan_meier

pytestmark = pytest.mark.integration

SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_holm_is_statsmodels(seed: int) -> None:
    """Which of many hypotheses are rejected."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(seed).uniform(0, 0.1, size=40) ** 2

    assert (
        find_holm_rejections(p).tolist()
        == multitest.multipletests(p, alpha=0.05, method="holm")[0].tolist()
    )


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 7), (12, 12), (40, 90)])
def test_limits_of_a_share_are_statsmodels(successes: int, trials: int) -> None:
    """Wilson's, of a dispersion of 1/n; and Clopper and Pearson's."""
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    share = np.array([successes / trials])
    wilson = compute_score_limits(share, 1 / trials, 1.959963984540054)
    exact = compute_exact_limits(share, np.array([float(trials)]), np.array([0.05]))

    for ours, method in ((wilson, "wilson"), (exact, "beta")):
        theirs = proportion.proportion_confint(successes, trials, alpha=0.05, method=method)
        assert [float(limit[0]) for limit in ours] == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_kappa_is_statsmodels(seed: int) -> None:
    """With quadratic weights."""
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 5, size=30)
    second = np.where(rng.random(30) < 0.6, first, rng.integers(0, 5, size=30))
    table = np.zeros((5, 5))
    np.add.at(table, (first, second), 1)

    theirs = inter_rater.cohens_kappa(table, wt="quadratic", return_results=False)
    assert compute_quadratic_kappa(first.tolist(), second.tolist()) == pytest.approx(theirs)


@pytest.mark.parametrize("measurement", ["nominal", "ordinal"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_is_krippendorffs_own(seed: int, measurement: str) -> None:
    """Three judges, a fifth of whose marks are missing."""
    library = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, size=25)
    marks = np.where(rng.random((3, 25)) < 0.5, truth, rng.integers(0, 6, size=(3, 25))).astype(
        float
    )
    marks[rng.random((3, 25)) < 0.2] = np.nan
    given = [[None if np.isnan(mark) else float(mark) for mark in row] for row in marks]

    ours = compute_krippendorff_alpha(given, measurement)  # type: ignore[arg-type]
    assert ours == pytest.approx(
        library.alpha(reliability_data=marks, level_of_measurement=measurement)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_stands_after_each_push_is_statsmodels(seed: int) -> None:
    """The Kaplan-Meier curve of forty ladders, of which some are looked at no longer before they
    fold.
    """
    survival = pytest.importorskip("statsmodels.duration.survfunc")
    rng = np.random.default_rng(seed)
    pushes, folded = rng.integers(1, 6, size=40), rng.random(40) < 0.6
    curve = compute_kaplan_meier(
        [EndedLadder(int(push), bool(fell)) for push, fell in zip(pushes, folded, strict=True)], 5
    )
    theirs = survival.SurvfuncRight(pushes, folded.astype(int))

    assert len(theirs.surv_times) > 1
    for at, share in zip(theirs.surv_times, theirs.surv_prob, strict=True):
        assert known(curve[int(at) - 1].standing) == pytest.approx(share)
