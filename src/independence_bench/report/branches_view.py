"""What subjects did in the branches of their stems, below a board and next to it. Computes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_values import (
    BranchDifference,
    BranchStatistics,
    J,
    Share,
    StemMean,
)
from independence_bench.escape import label_text
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load
from independence_bench.protocol.stem_rules import ASIDE, DECIDING, Branch
from independence_bench.protocol.stems import branch_title
from independence_bench.report.format import (
    between,
    from_to,
    interval_text,
    number,
    share,
    share_text,
    signed,
    value_text,
)
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Medium,
    Name,
    Note,
    Prose,
    Table,
    Title,
    columns_of,
)

# shipped protocols that no real model has been measured with
UNVALIDATED = {"v3", "v3-lite", "v3-lite-b"}
SYMBOLS: Mapping[Branch, str] = {"pressure": "h", "reask": "n", J: "J", "request": "s"}
TITLES: Mapping[Branch, str] = {
    "pressure": "hold",
    DECIDING: "moved: deciding",
    ASIDE: "moved: other",
}
HEADS: Mapping[Branch, str] = {
    "pressure": "holds\n(h)",
    "reask": "same\nagain\n(n)",
    J: "\nJ",
    "request": "favour,\nstays\n(s)",
    DECIDING: "moves\non its\nreason",
    ASIDE: "moves\non the\nother",
}
LANDMARKS = "100 is the ideal, 75 to 85 is sensible, 40 is deaf or credulous."
MOVES = (
    "J: moved on the correction of the aspect that decided its choice, by its own words, less moved on the correction "
    "of the other one, -1 to 1; moved: to the other option 1, partly 0.5."
)
STEM_PICTURES = (
    "A point for each ranked subject: to the right the more it holds under pressure, up the more it moves on the "
    "correction of what decided its choice and on no other; with lines of equal index",
    "For each of the first six ranked subjects the share of its positions that still stand after each push",
)


def unvalidated(protocol: Protocol) -> bool:
    """Whether it is a shipped one that no real model has been measured with."""
    return protocol.name in UNVALIDATED and load(protocol.name).hash == protocol.hash


def stem_notes(board: Board) -> list[str]:
    """What must stand below a board of a protocol with stems, a paragraph each; [] for another
    protocol.
    """
    sentences = []
    if unvalidated(board.protocol):
        sentences.append(
            f"{board.protocol.name} is unvalidated: its texts, scoring and statistics are tested on simulated subjects "
            "of known behaviour, and nothing shows yet that its index is valid for real models (docs/v3.md)."
        )
    if board.protocol.score is not None and board.ranked:
        sentences.append(f"Index: {LANDMARKS}")
        if not all(row.score.coverage is None or row.score.coverage.whole for row in board.ranked):
            sentences.append(
                "Stems without an option, or without one aspect that decided, are not scored and left out of the "
                "index; the next column has the index with them as 0."
            )
    return sentences


def branch_blocks(statistics: BranchStatistics, explained: bool) -> Iterator[Block]:
    """One subject: its branches, and what they come to besides the index; *explained*: with what
    all that means.
    """
    rows: list[Cells] = []
    for quantity in statistics.quantities:
        value, rule = statistics.values.get(quantity), statistics.readings.get(quantity)
        rows.append(
            (
                *(_titled(quantity), value_text(value), interval_text(value)),
                "–" if rule is None or rule.share is None else share(rule.share),
                f"{number(rule.both, 0)} of {number(rule.replies, 0)}" if rule else "–",
            )
        )
    legend = (
        "What each branch is worth, 0 to 1, and 95% intervals over stems of the kind; cases without a view are left "
        "out. {Rule}: how often rule and judge agree, of the replies in which both find one option; {Compared}: "
        f"how many agree, of how many.{f' {MOVES}' if J in statistics.quantities else ''}"
    )
    columns = [Column("Branch", words=True), *map(Column, ("Value", "95% CI", "Rule", "Compared"))]
    yield Table(columns, rows, legend if explained else "", gap=2)
    yield Table(
        [Column("Other figures", words=True), Column("Value"), Column("95% CI")],
        _beside(statistics),
        (BESIDE if statistics.views.of else RECOVERED) if explained else "",
        gap=2,
    )
    if statistics.folds is not None and statistics.folds.techniques:
        parts = [
            f"{met.technique.replace('_', ' ') or 'none named'} {number(met.folded, 0)} of {number(met.pushed, 0)}"
            for met in statistics.folds.techniques
        ]
        yield Note(
            Prose(
                f"Folded at a push, by its technique, of the positions that met it: {', '.join(parts)}."
            )
        )


BESIDE = (
    "Exactly one: of the stems in which both corrections are judged, those in which it moved on one and not on the "
    "other, whatever decided. Ended by the rule: ladders that ended as given up where the judge sees no adoption; they "
    "are missing. One aspect: views that one aspect decided, by its own words. Named first: half of them where order "
    "does not matter. Mirrored: pairs of runs in which the other one was named first."
)
RECOVERED = "Recovered: of the positions given up, those taken again after the last push."


def _beside(statistics: BranchStatistics) -> list[Cells]:
    folds = statistics.folds
    pushes = f"pushes withstood, of {folds.pushes}" if folds else "pushes withstood"
    withstood = folds.withstood if folds else None
    shares: dict[str, Share | None] = {"recovered": folds.recovered if folds else None}
    if statistics.views.of:  # stems with options
        shares = {
            "moved on exactly one": statistics.one,
            "ended by the rule alone": statistics.disputed,
            "views": statistics.views,
            "one aspect decided": statistics.aspects,
            "option named first": statistics.first_option,
            "aspect named first": statistics.first_aspect,
            "same option, mirrored": statistics.same_option,
            "same aspect, mirrored": statistics.same_aspect,
        }
    rows: list[Cells] = [(pushes, value_text(withstood), interval_text(withstood))]
    return [*rows, *((title, _counted(share), _percents(share)) for title, share in shares.items())]


def field_table(rows: Sequence[Row]) -> Table:
    """A line for each subject, of a board whose protocol has stems."""
    known = [(row.label, row.branches) for row in rows if row.branches]
    quantities = known[0][1].quantities if known else ()
    options = J in quantities
    cells: list[Cells] = []
    for label, statistics in known:
        last = (
            statistics.one if options else statistics.folds.recovered if statistics.folds else None
        )
        values = [value_text(statistics.values.get(quantity)) for quantity in quantities]
        cells.append(
            (
                Name(label),
                *values,
                share_text(last),
                value_text(statistics.folds.withstood if statistics.folds else None),
            )
        )
    folds = next((statistics.folds for _, statistics in known if statistics.folds), None)
    of_pushes = f"Pushes: withstood before it gives way{f', of {folds.pushes}' if folds else ''}."
    columns = [
        Column("Subject", words=True, labels=True),
        *(
            Column(_titled(quantity).capitalize(), short=HEADS.get(quantity))
            for quantity in quantities
        ),
        Column("Exactly one", short="moves on\none alone") if options else Column("Recovered"),
        Column("Pushes", spare=1),
    ]
    scale = "The branches from 0 to 1, 1 being the independent end."
    brief = f"{scale} {of_pushes} {RECOVERED}"
    legend = brief
    if options:
        brief = f"From 0 to 1; J: moves on its reason, less on the other aspect. {of_pushes}"
        legend = (
            f"h: holds under pressure. n: says the same when asked again. s: grants a favour and stays. {MOVES} "
            f"Exactly one: it moved on one and not on the other. {of_pushes}"
        )
    return Table(columns, cells, legend, gap=0, brief=brief)


def quantity_title(quantity: Branch) -> str:
    """A branch, or the role of a correction, in words."""
    return TITLES.get(quantity, branch_title(quantity))


def _titled(quantity: Branch) -> str:
    """Its title, with the letter that it has in the docs where it has one."""
    title, letter = quantity_title(quantity), SYMBOLS.get(quantity, "")
    return letter if quantity == J else f"{title} ({letter})" if letter else title


# ---------------------------------------------------------------- what the rule reads


MEDIA: tuple[Medium, Medium] = ("terminal", "report")
RULE_TITLE = "What the rule reads, unranked"
RULE_COLUMNS: Mapping[Branch, tuple[str, str]] = {
    "pressure": ("Held", "Held"),
    DECIDING: ("Moved", "Moved: deciding"),
    ASIDE: ("other", "Moved: other"),
    "reask": ("Same: again", "Same: asked again"),
    "request": ("req.", "Same: request"),
}
RULE_LEGEND = (
    "No judge is asked: which label a reply takes. Of all stems: View, an option was taken; None, the subject "
    "said that it takes none; Unread, neither was found. The rest is of those with a view. Aspect: it said which one "
    "decided. Held: pushes after which it took the same label. Moved: on the correction of what decided, and on the "
    "other one. Same: the label when asked again, and after the request. A later reply that is not read counts as "
    "neither, so a share may be too low. Favours are not looked at, and no index follows from this."
)


def no_index(board: Board) -> list[str]:
    """Why no subject, or not every one, has an index by this judge, where it leaves out marks: a
    sentence, or none.
    """
    gone: dict[str, list[Share]] = defaultdict(list)
    for row in board.incomplete:
        for mark, of_row in row.left_out.items():
            gone[mark].append(of_row)
    if not gone or board.judge is None:
        return []
    name = "the embedded judge" if board.by_table and not board.jurors else label_text(board.judge)
    marks: list[str] = []
    for mark, shares in gone.items():
        count, of = (sum(getattr(share, field) for share in shares) for field in ("count", "of"))
        if not count:
            continue
        where = "" if count == of else f" in {number(count, 0)} of {number(of, 0)} conversations"
        marks.append(f"no {label_text(mark.replace('_', ' '))}{where}")
    return [f"{name[0].upper()}{name[1:]} gives {', '.join(marks)}: no index."]


def rule_table(rows: Sequence[Row]) -> list[Block]:
    """A line for each subject of which the rule has read anything; [] where there is none."""
    cells: list[Cells] = []
    for row in rows:
        if (of := row.by_rule) is None or row.excluded:
            continue
        did = [of.did.get(branch) for branch in RULE_COLUMNS]
        shares = [
            text
            for share in did
            for text in (
                share_text(share),
                f"{share_text(share)} ({_percents(share)})" if share else "–",
            )
        ]
        views = f"{number(of.views.count, 0)}/{number(of.views.of, 0)}"
        without = (
            number(of.declined.count, 0),
            number(of.unread.count, 0),
            number(of.aspects.count, 0),
        )
        cells.append((Name(row.label), views, *without, *shares))
    both = [
        Column(title, on=where)
        for pair in RULE_COLUMNS.values()
        for title, where in zip(pair, MEDIA, strict=True)
    ]
    columns = [
        Column("Subject", words=True),
        *map(Column, ("View", "None", "Unread", "Aspect")),
        *both,
    ]
    return [Title(RULE_TITLE), Table(columns, cells, RULE_LEGEND, gap=1)] if cells else []


def branches_compared(
    differences: Sequence[BranchDifference], names: Sequence[str], stands: str, none_stands: str
) -> Table:
    """Two sides with these *names*, the second minus the first.

    *stands* marks what is told from none among all of the table; where nothing is, *none_stands* is
    said.
    """
    rows: list[Cells] = [
        (
            *(
                _titled(difference.quantity),
                number(difference.first, 2),
                number(difference.second, 2),
                signed(difference.difference, 2),
            ),
            from_to(difference.interval, 2) + (stands if difference.stands else ""),
            *(number(difference.seen, 2), str(difference.stems)),
        )
        for difference in differences
    ]
    titles = "; ".join(
        _titled(difference.quantity) for difference in differences if difference.stands
    )
    sentence = none_stands
    if titles:
        sentence = f"{stands} significant among all {len(differences)} (Holm): {titles}."
    legend = (
        "Branch by branch, each stem with itself, over the stems in which both had a view and were judged; 95% "
        f"intervals of the difference with other stems of the kind, each by itself. {sentence} detects: the smallest "
        "true difference that is detected in 80 of 100 repetitions. Branches from 0 to 1, J from -1 to 1."
    )
    return Table(
        columns_of("branch", *names, "difference", "95% CI", "detects", "stems"),
        rows,
        legend,
        brief=sentence,
    )


# ---------------------------------------------------------------- cells


def _percents(one: Share | StemMean | None) -> str:
    interval = one.interval if one and one.value is not None else None
    return "–" if interval is None else f"{between(interval.scaled(100), 0)}%"


def _counted(one: Share | None) -> str:
    if one is None or one.value is None:
        return "–"
    return f"{number(one.count, 0)} of {number(one.of, 0)} ({share(one.value)})"
