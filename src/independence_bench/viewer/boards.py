"""One board as the page is sent it, and as a table for a spreadsheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from independence_bench.analysis.compare_configurations import SubjectInConfigurations, compare_in_configurations
from independence_bench.analysis.compare_settings import SettingComparison
from independence_bench.analysis.configurations import Effect, compare_configurations
from independence_bench.analysis.item_analysis import ScenarioFacts as Measured
from independence_bench.analysis.item_analysis import ScenarioVerdict
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.statistics.intervals import Interval as Ends
from independence_bench.analysis.statistics.ranking import Standing
from independence_bench.analysis.uncertainty import UNKNOWN
from independence_bench.analysis.uncertainty import Uncertainty as Certain
from independence_bench.protocol.scoring import OWN
from independence_bench.report.contents import Contents
from independence_bench.report.figures import of_runs
from independence_bench.report.format import between, from_to, span
from independence_bench.viewer import fragments, shapes
from independence_bench.viewer.encode import Cell, csv_bytes
from independence_bench.viewer.numbers import minus
from independence_bench.viewer.slugs import scenario_slug
from independence_bench.viewer.snapshot import Catalog, Ranking, rows_of, series_id, subject_id

MEDALS = 3
BY_TABLE = (
    "Judged by the embedded judge, a table of weights: for demos and cross-checks, not for publication "
    "(docs/embedded-judge.md)."
)
NO_JUDGE = "Nothing on this board is judged yet."
OTHER_RULES = (
    "By the rules of published numbers, not by our own: marks count though others are missing, and means are rounded "
    "(docs/published-data.md)."
)


def board_answer(catalog: Catalog, ranking: Ranking) -> shapes.Board | None:
    """`api/boards/<board>.json`; None where there is no such board any more."""
    board = catalog.board(ranking)
    if board is None:
        return None
    contents = catalog.contents(ranking, board)
    return shapes.Board(
        version=catalog.version,
        board=fragments.board_entry(ranking),
        protocol=fragments.protocol_entry(catalog, ranking.edition),
        dimensions=tuple(map(fragments.dimension_facts, board.protocol.dimensions)),
        scenarios=scenarios(ranking, contents),
        rows=tuple(rows_by_id(catalog, ranking, board).values()),
        settings=(
            *(_settings(board, "provider", one) for one in contents.providers),
            *(_settings(board, "reasoning", one) for one in contents.efforts),
        ),
        configurations=_configurations(catalog, ranking),
        in_several=tuple(
            shapes.InSeveral(
                subject_id(one.row.subject),
                one.row.label,
                tuple(str(placed.place.configuration) for placed in one.placed),
            )
            for one in in_several(catalog, ranking)
        ),
        remarks=tuple(_remarks(board)),
        citation=fragments.citation(catalog, ranking),
    )


def board_table(answer: shapes.Board) -> bytes:
    """`api/boards/<board>.csv`: a line a row."""
    head = ["rank", "subject", "index", "index_low", "index_high", "standard_deviation", "runs"]
    head += [name for one in answer.dimensions for name in (one.name, f"{one.name}_low", f"{one.name}_high")]
    head += ["invalid_share", "cut_off_share", "reasoned_share", "replies_dollars_per_run"]
    head += ["judging_dollars_per_run", "dollars_per_run", "index_per_dollar"]
    head += ["model", "endpoint", "provider", "reasoning", "temperature", "hash", "missing"]
    return csv_bytes(head, [_line(row) for row in answer.rows])


def scenarios_table(answer: shapes.Board) -> bytes:
    """`api/boards/<board>/scenarios.csv`: a line a scenario."""
    head = ["scenario", "title", "experiment", "points", "difficulty", "ceiling", "floor"]
    head += [name for one in ("discrimination", "share") for name in (one, f"{one}_low", f"{one}_high")]
    return csv_bytes(
        [*head, "verdicts"],
        [
            (one.id, one.title, one.experiment, one.points, one.difficulty, one.ceiling, one.floor,
             one.discrimination, *_ends(one.discrimination_interval), one.share, *_ends(one.share_interval),
             "; ".join(one.verdicts))
            for one in answer.scenarios
        ],
    )  # fmt: skip


def _line(row: shapes.Row) -> list[Cell]:
    health, subject = row.health, row.subject
    return [
        row.rank,
        subject.label,
        *_with_ends(row.index),
        row.deviation,
        row.runs,
        *(cell for one in row.dimensions for cell in _with_ends(one)),
        *(health.invalid_share, health.cut_off_share, health.reasoned_share),
        *(row.replies_dollars_per_run, row.judging_dollars_per_run, row.dollars_per_run, row.index_per_dollar),
        *(subject.model, subject.endpoint, subject.provider, subject.reasoning, subject.temperature, subject.hash),
        "; ".join(row.missing),
    ]


def _with_ends(score: shapes.Score) -> tuple[Cell, Cell, Cell]:
    return (score.value, *_ends(score.uncertainty.again))


def _ends(interval: shapes.Interval | None) -> tuple[Cell, Cell]:
    return (interval.low, interval.high) if interval else (None, None)


def rows_by_id(catalog: Catalog, ranking: Ranking, board: Board) -> dict[str, shapes.Row]:
    """Every row by its subject's id, ranked ones first."""
    contents = catalog.contents(ranking, board)
    return catalog.kept(
        f"rows of {ranking.id}", lambda: {row.subject.id: row for row in _rows(catalog, board, contents)}
    )


def _rows(catalog: Catalog, board: Board, contents: Contents) -> tuple[shapes.Row, ...]:
    prices = {price.label: price for price in contents.prices}
    scores = dict(contents.complexity.scores)
    why = unsaid(board)
    made = []
    for row in rows_of(board):
        price, shares = prices.get(row.label), scores.get(row.label, ())
        standing = row.certainty.standing
        made.append(
            shapes.Row(
                rank=row.rank,
                rank_low=standing.rank_low if standing else None,
                rank_high=standing.rank_high if standing else None,
                tie_groups=standing.groups if standing else None,
                tied_with_best=standing is not None and standing.tied_with_best,
                medal=standing is not None and standing.certain and standing.rank_low <= MEDALS,
                standing_another=_standing(row.certainty.standing_another),
                subject=fragments.subject_facts(catalog, row.subject),
                thinks=row.thinks,
                index=index_score(row.score.index, row.certainty.index, why),
                deviation=row.score.deviation,
                runs=row.score.runs,
                run_indices=tuple(shapes.RunIndex(run, score.index) for run, score in row.runs.items()),
                dimensions=tuple(
                    dimension_score(row.score.dimensions[name], row.certainty.dimensions.get(name, UNKNOWN), why)
                    for name in (one.name for one in board.protocol.dimensions)
                ),
                health=_health(row),
                replies_dollars_per_run=price.replies_per_run if price else None,
                judging_dollars_per_run=price.judging_per_run if price else None,
                dollars_per_run=price.dollars_per_run if price else None,
                index_per_dollar=price.index_per_dollar if price else None,
                per_dollar_uncertainty=uncertainty(price.uncertainty if price else UNKNOWN, None, between),
                scenarios=tuple(_hundred(share) for share in shares) or (None,) * len(board.protocol.scenarios),
                missing=row.missing,
            )
        )
    return tuple(made)


def index_score(value: float | None, sure: Certain, why: str | None) -> shapes.Score:
    """An index, to one decimal; *why* is told where an interval is missing."""
    shown = None if value is None else f"{value:.1f}"
    return shapes.Score(value, shown, uncertainty(sure, why, between))


def dimension_score(value: float | None, sure: Certain, why: str | None) -> shapes.Score:
    """A dimension, which is in [0, 1], in per cent without decimals."""
    percent = None if value is None else 100 * value
    sure = sure.scaled(100)
    return shapes.Score(
        percent, None if percent is None else f"{percent:.0f}", uncertainty(sure, why, lambda ends: between(ends, 0))
    )


def uncertainty(sure: Certain, why: str | None, text: Callable[[Ends], str]) -> shapes.Uncertainty:
    """How sure a number is; *text* makes an interval readable."""
    whole = sure.again is not None and sure.another is not None
    return shapes.Uncertainty(interval(sure.again, text), interval(sure.another, text), None if whole else why)


def unsaid(board: Board) -> str | None:
    """Why scores of *board* have no intervals; None where nothing is known of why."""
    if board.sureness is None:
        return "no intervals: they are worked out by our own rules only"
    return "; ".join(board.sureness.unsaid()) or None


def _standing(standing: Standing | None) -> shapes.Standing | None:
    if standing is None:
        return None
    return shapes.Standing(standing.rank_low, standing.rank_high, standing.groups, standing.tied_with_best)


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _health(row: Row) -> shapes.Health:
    health = row.health
    return shapes.Health(**{name: getattr(health, name) for name in shapes.Health.__dataclass_fields__})


def scenarios(ranking: Ranking, contents: Contents) -> tuple[shapes.ScenarioFacts, ...]:
    """What is known of every scenario, in the protocol's order."""
    titles = {one.name: one.title for one in ranking.edition.protocol.experiments}
    return tuple(_facts(one, titles) for one in contents.complexity.scenarios)


def _facts(facts: Measured, titles: dict[str, str]) -> shapes.ScenarioFacts:
    return shapes.ScenarioFacts(
        id=scenario_slug(facts.id),
        title=facts.title,
        experiment=titles[facts.experiment],
        points=facts.points,
        difficulty=facts.difficulty,
        ceiling=facts.ceiling,
        floor=facts.floor,
        discrimination=facts.discrimination,
        discrimination_interval=interval(facts.discrimination_interval, span),
        share=facts.share,
        share_interval=interval(facts.share_interval, span),
        verdicts=tuple(map(_verdict, facts.verdicts)),
    )


def interval(ends: Ends | None, text: Callable[[Ends], str]) -> shapes.Interval | None:
    """Two ends, and both of them as *text*."""
    return None if ends is None else shapes.Interval(ends.low, ends.high, minus(text(ends)))


def _verdict(verdict: ScenarioVerdict) -> str:
    return verdict.kind if verdict.dimension is None else f"{verdict.kind}: {verdict.dimension}"


def _configurations(catalog: Catalog, ranking: Ranking) -> shapes.Configurations | None:
    """What prompt and delivery do, over all boards of its series; None where nothing can be compared."""
    every = catalog.series(ranking)
    found = compare_configurations(every, ranking.judge)
    if found is None:
        return None
    ids = {row.label: subject_id(row.subject) for board in every for row in rows_of(board)}
    return shapes.Configurations(
        places=tuple(shapes.Place(p.configuration, p.subjects, p.mean, p.paired) for p in found.places),
        effects=tuple(map(_effect, found.effects)),
        subjects=tuple(
            shapes.Spread(
                subject=ids[one.label],
                label=one.label,
                indices=one.indices,
                intervals=tuple(interval(ends, between) for ends in one.intervals),
                changes=tuple(
                    None if change is None else shapes.Change(change.points, interval(change.again, from_to))
                    for change in one.changes
                ),
            )
            for one in found.subjects
        ),
    )


def in_several(catalog: Catalog, ranking: Ranking) -> Sequence[SubjectInConfigurations]:
    """Who has marks in two configurations or more, by this ranking's judge, rules and weights."""
    return catalog.kept(
        f"in several by {series_id(ranking)}",
        lambda: compare_in_configurations(catalog.series(ranking), ranking.judge),
    )


def _effect(effect: Effect) -> shapes.Effect:
    return shapes.Effect(
        factor=effect.factor,
        level=effect.level,
        base=effect.base,
        within=effect.within,
        subjects=effect.subjects,
        points=effect.points,
        sampled=interval(effect.sampled, from_to),
        again=interval(effect.again, from_to),
    )


def _settings(board: Board, by: str, group: SettingComparison) -> shapes.Settings:
    ids = {row.label: subject_id(row.subject) for row in rows_of(board)}
    return shapes.Settings(
        by="provider" if by == "provider" else "reasoning",
        model=group.model,
        against=group.against,
        variants=tuple(
            shapes.Variant(
                subject=ids[one.label],
                label=one.label,
                setting=one.setting,
                index=one.index,
                runs=one.runs,
                difference=one.difference,
                uncertainty=uncertainty(one.apart.uncertainty if one.apart else UNKNOWN, unsaid(board), from_to),
                stands=one.stands,
                served=tuple(shapes.Served(provider, replies) for provider, replies in one.served),
            )
            for one in group.variants
        ),
    )


def _remarks(board: Board) -> Sequence[str]:
    remarks = [BY_TABLE] if board.by_table else []
    remarks += [NO_JUDGE] if board.judge is None else []
    remarks += [] if board.rules == OWN.name else [OTHER_RULES]
    remarks += [
        f"By the weights “{one.name}”, not by the protocol's own: {one.title}."
        for one in board.protocol.weightings
        if one.name == board.protocol.weights
    ]
    sure = board.sureness
    return [*remarks, *((*sure.unsaid(), *of_runs(board)) if sure else ())]
