"""Coverage under conditions, and from a generator of marks, that no method here was tuned on:
simulation.

    python benchmarks/coverage/untuned.py
        # prints a section of docs/research/coverage.md, some ten minutes
    python benchmarks/coverage/untuned.py --write
        # and writes it, and every cell as untuned.csv

A mark of v2 is binomial, its logit the sum of subject, scenario, both, the conversation and what is
the matter with the run: models.json, which methods were chosen by, is not used but for how many
steps a mark has. Truths are exact.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from cells import covered, wrong_ranks
from draw import Boards, Floats, Generator, models, whole_index
from methods import measured_boards, our_differences, ours
from page import PAGE, PROMISE, markdown, percent, write_rows, write_section
from scipy.special import expit

from independence_bench.analysis.statistics.dispersion import Measured
from independence_bench.analysis.statistics.shared_effects import NOTABLE, SessionEffects
from independence_bench.analysis.statistics.values import Bools

RUNS = (3, 5, 10)
SUBJECTS = 20
PLACES = (0.0, 1.3, 2.6)  # logits of the first three subjects: indices of about 50, 75 and 90
# standard deviations of the logit
SPREADS = {"subject": 1.0, "scenario": 0.7, "both": 0.7, "conversation": 1.0}
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
FEWEST = 30  # boards that print an interval, below which no coverage is given
RANKED = 2  # boards whose ranking is looked at are so many times fewer


@dataclass(frozen=True, slots=True)
class Condition:
    """What is the matter with the runs, in logits."""

    name: str
    spread: float = 0.0  # standard deviation of what shifts a whole run
    serial: float = 0.0  # of that shift, from one run to the next
    repeats: float = 0.0  # the same of each conversation by itself
    common: bool = False  # the same shift for every subject
    collapses: float = 0.0  # how often a run collapses
    drift: float = 0.0  # from the first run to the last
    few: bool = False  # only of the three subjects that are looked at

    def nodes(self, runs: int) -> list[tuple[float, float]]:
        """(shift, chance) of what shifts a run beside the normal part: over all runs that there
        could be.
        """
        drifts = [(float(at), 1 / runs) for at in self.drift * (np.arange(runs) / (runs - 1) - 0.5)]
        fallen = (
            [(0.0, 1 - self.collapses), (FALL, self.collapses)] if self.collapses else [(0.0, 1.0)]
        )
        return [(a + b, p * q) for a, p in drifts for b, q in fallen]


FALL = -4.0
CONDITIONS = (
    Condition("nothing"),
    Condition("serial .3, each conversation", repeats=0.3),
    Condition("serial .6, each conversation", repeats=0.6),
    Condition("serial .3, whole runs", spread=0.25, serial=0.3),
    Condition("serial .6, whole runs", spread=0.25, serial=0.6),
    Condition("shared by all subjects", spread=0.25, common=True),
    Condition("collapses, one run in ten", collapses=0.1),
    Condition("the same, in 3 of 20 subjects", collapses=0.1, few=True),
    Condition("drift, mean of these runs", drift=0.8),
)


def _lasting(rng: Generator, size: tuple[int, ...], serial: float) -> Floats:
    """Standard normal, the last axis autoregressive."""
    fresh = rng.normal(size=size)
    for run in range(1, size[-1]):
        fresh[..., run] = serial * fresh[..., run - 1] + np.sqrt(1 - serial**2) * fresh[..., run]
    return fresh


def play(
    rng: Generator, draws: int, subjects: int, runs: int, what: Condition, equal: bool = False
) -> Boards:
    """The truth of a rerun: over all runs that there could be; of a drift, over those of the time
    that was played.

    In place of the truth of new scenarios: that at the last run.
    """
    test, size = whole_index(models()), (draws, subjects)
    weights = test.design.weights
    places = 1.3 + SPREADS["subject"] * rng.normal(size=size)
    places[:, : len(PLACES)] = PLACES[:subjects] if subjects > 1 else PLACES[1]
    if equal:
        places[:] = PLACES[1]
    shift = what.spread * _lasting(rng, (draws, 1 if what.common else subjects, runs), what.serial)
    shift = shift + what.drift * (np.arange(runs) / (runs - 1) - 0.5)
    falls = FALL * (rng.random((*size, runs)) < what.collapses)
    if what.few:
        falls[:, len(PLACES) :] = 0
    shifted = shift + falls
    own, usual = what.nodes(runs), [(0.0, 1.0)]
    last = [(what.drift / 2, 1.0)]
    cells: dict[tuple[int, int], Floats] = {}
    shares, truth, ended = np.zeros((*size, runs, *weights.shape)), np.zeros(size), np.zeros(size)
    for part in test.parts:
        at = (part.dimension, part.transcript)
        if at not in cells:
            both = SPREADS["both"] * rng.normal(size=(draws, 1 if equal else subjects))
            cells[at] = places + SPREADS["scenario"] * rng.normal(size=(draws, 1)) + both
        said = SPREADS["conversation"] * _lasting(rng, (*size, runs), what.repeats)
        steps = len(part.model.thresholds)
        given = rng.binomial(steps, expit(cells[at][..., None] + shifted + said)) / steps
        shares[..., part.dimension, part.transcript] += part.share * given
        wide = np.sqrt(SPREADS["conversation"] ** 2 + what.spread**2) * NODES
        for which, nodes in (
            (slice(0, len(PLACES)), own),
            (slice(len(PLACES), None), usual if what.few else own),
        ):
            mean = sum(
                chance * expit(cells[at][:, which, None] + wide + by) @ WEIGHTS
                for by, chance in nodes
            )
            truth[:, which] += part.share * weights[at] * mean / WEIGHTS.sum()
        at_end = sum(
            chance * expit(cells[at][..., None] + wide + by) @ WEIGHTS for by, chance in last
        )
        ended += part.share * weights[at] * at_end / WEIGHTS.sum()
    return Boards(shares, truth, ended)


def measured(played: Boards) -> dict[str, list[Measured]]:
    """Every board; with the allowance for one sitting, and without."""
    boards = measured_boards(whole_index(models()).design, played.shares)
    nothing = np.zeros(played.shares.shape[1])
    one_sitting = SessionEffects(nothing, nothing, nothing, nothing + 1)
    return {
        "one sitting": [replace(board, sittings=one_sitting) for board in boards],
        "no allowance": boards,
    }


Row = tuple[str, int, str, str, float]  # condition, runs, on what board, figure, share


def _worst(inside: Bools) -> float:
    """The lowest coverage; NaN where hardly anything is printed."""
    return float(inside.mean(axis=0).min()) if len(inside) >= FEWEST else np.nan


def of_board(rng: Generator, draws: int, runs: int, what: Condition) -> Iterator[Row]:
    """Coverage of what is printed, the worst place; what part is printed, and on how many boards
    something is said.
    """
    for subjects in (SUBJECTS,) if what.few else (SUBJECTS, 1):
        played = play(rng, draws, subjects, runs, what)
        truth, ended = played.rerun, played.new_scenarios
        for allowance, boards in measured(played).items():
            board = f"{subjects}, {allowance}"
            effects = [one.run_effects for one in boards]
            shown = np.array([not effect.is_beyond_validated_range for effect in effects])
            said = [(of.p or 1) < NOTABLE for of in effects]
            yield what.name, runs, board, "said", float(np.mean(said))
            yield what.name, runs, board, "printed", float(shown.mean())
            low, high = ours(boards, "rerun") or (truth, truth)
            inside = (low <= truth) & (truth <= high)
            yield what.name, runs, board, "index", _worst(inside[shown][:, : len(PLACES)])
            if what.drift:
                inside = (low <= ended) & (ended <= high)
                yield (
                    f"{what.name}: as at its end",
                    runs,
                    board,
                    "index",
                    _worst(inside[shown][:, : len(PLACES)]),
                )
            if subjects == 1:
                continue
            first, second = [0, 1, 0], [1, 2, 2]
            below, above = our_differences(boards, "rerun", first, second) or (truth, truth)
            gap = truth[:, first] - truth[:, second]
            inside = (below <= gap) & (gap <= above)
            yield what.name, runs, board, "difference", _worst(inside[shown])
            best = np.array([one.mean.argmax() for one in boards])
            at = np.arange(draws), best
            inside = ((low <= truth) & (truth <= high))[at]
            yield what.name, runs, board, "first place", _worst(inside[shown])
    alike = play(rng, draws // RANKED, SUBJECTS, runs, what, equal=True)
    for allowance, every in measured(alike).items():
        boards = [one for one in every if not one.run_effects.is_beyond_validated_range]
        wrong = [wrong_ranks(board, np.zeros(SUBJECTS), "rerun")[:2] for board in boards]
        yield (
            what.name,
            runs,
            f"{SUBJECTS}, {allowance}",
            "false ranking",
            max(np.mean(wrong, axis=0).tolist()) if wrong else np.nan,
        )


def best_of(rng: Generator, draws: int, runs: int) -> Iterator[Row]:
    """The best of so many equal ones, shown alone, as if the others had not been tried."""
    test = whole_index(models())
    for number in (3, 5):
        played = play(rng, draws, number, runs, Condition(""), equal=True)
        best = np.einsum("dk,njrdk->nj", test.design.weights, played.shares).argmax(axis=1)
        at = np.arange(draws), best
        alone = Boards(
            played.shares[at][:, None], played.rerun[at][:, None], played.rerun[at][:, None]
        )
        for allowance, boards in measured(alone).items():
            limits = ours(boards, "rerun")
            assert limits is not None
            yield (
                f"best of {number}",
                runs,
                f"1, {allowance}",
                "index",
                float(covered(limits, alone.rerun)[0][0]),
            )


HEAD = """\
{draws:,} boards a cell ({ranked:,} for rankings, {many:,} for the best of n), seed {seed}; the
standard error of a coverage of 93% is {error:.1f} points. \
The worst of 3, 5 and 10 runs, in %: the lowest coverage of
the index, a difference and the first place, and in brackets false rankings. \
*Warned*: the fewest boards of 20.
"""
COVERED = ("index", "difference", "first place")


def simulate(draws: int, seed: int, names: tuple[str, ...] = ()) -> list[Row]:
    """Every cell; *names*: of these conditions alone."""
    found: list[Row] = []
    for number, what in enumerate(CONDITIONS):
        for runs in RUNS if not names or what.name in names else ():
            found += of_board(np.random.default_rng([seed, number, runs]), draws, runs, what)
        print(f"{what.name}: done", file=sys.stderr, flush=True)
    if not names:
        for runs in RUNS:
            found += best_of(np.random.default_rng([seed, 100, runs]), 8 * draws, runs)
    return found


def section(found: list[Row], about: dict[str, float]) -> str:
    """What docs/research/coverage.md says of these cells: the worst of each condition and kind of
    board.
    """
    boards = list(dict.fromkeys(row[2] for row in found))

    def worst(name: str, board: str) -> str:
        def of(*figures: str) -> list[float]:
            return [
                p
                for n, _, b, figure, p in found
                if (n, b) == (name, board) and figure in figures and p == p
            ]

        wrong = f" ({percent(max(of('false ranking')))})" if of("false ranking") else ""
        return f"{percent(min(of(*COVERED)))}{wrong}" if of(*COVERED) else "–"

    def warned(name: str) -> str:
        said = [
            row[4] for row in found if row[0] == name and row[2] == boards[0] and row[3] == "said"
        ]
        return percent(min(said)) if said else ""

    names = list(dict.fromkeys(row[0] for row in found))
    rows = [(name, *(worst(name, board) for board in boards), warned(name)) for name in names]
    table = markdown(("condition", *boards, "warned"), rows)
    return "\n".join([HEAD.format(**about), *table])


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=250, help="boards of each cell  [default: 250]"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], choices=[one.name for one in CONDITIONS])
    parser.add_argument(
        "--write", action="store_true", help=f"docs/{PAGE.name} and untuned.csv, too"
    )
    chosen = parser.parse_args()
    found = simulate(chosen.draws, chosen.seed, tuple(chosen.only))
    error = 100 * np.sqrt(PROMISE * (1 - PROMISE) / chosen.draws)
    about = {
        "draws": chosen.draws,
        "ranked": chosen.draws // RANKED,
        "many": 8 * chosen.draws,
        "error": error,
    }
    text = section(found, {**about, "seed": chosen.seed})
    if chosen.write:
        write_section(PAGE, "untuned", text)
        rows = ((*one[:4], "" if np.isnan(one[4]) else percent(one[4])) for one in found)
        write_rows(
            "untuned", ("condition", "runs", "subjects_and_allowance", "figure", "percent"), rows
        )
    print(text)


if __name__ == "__main__":
    main()
