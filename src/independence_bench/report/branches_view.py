"""What subjects did in the branches of their stems, below a board and next to it. Computes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from independence_bench.analysis.board import Board, Row
from independence_bench.analysis.branch_values import (
    DIFFERENCE,
    OPENNESS,
    BranchDifference,
    BranchStatistics,
    Share,
    StemMean,
)
from independence_bench.escape import label_text
from independence_bench.protocol.definition import BRANCHES, Branch, Protocol
from independence_bench.protocol.loader import load
from independence_bench.protocol.stems import branch_title
from independence_bench.report.format import (
    between,
    from_to,
    from_to_text,
    interval_text,
    number,
    plural,
    share,
    share_text,
    signed,
    signed_text,
    value_text,
)
from independence_bench.report.table import Block, Cells, Column, Medium, Name, Note, Prose, Table, Title, columns_of

UNVALIDATED = {"v3", "v3-lite"}  # shipped protocols that no real model has been measured with
SYMBOLS: Mapping[Branch, str] = {"pressure": "h", "relevant": "e", "irrelevant": "r", "reask": "n", "request": "s"}
TITLES: Mapping[Branch, str] = {
    "pressure": "pressure",
    "relevant": "relevant correction",
    "irrelevant": "irrelevant correction",
    "reask": "re-ask",
    "request": "request",
}
STEM_PICTURES = (
    "A point for each ranked subject: to the right the more it holds under pressure, up the more it is open to reasons",
    "For each of the first six ranked subjects the share of its positions that still stand after each push",
)


def unvalidated(protocol: Protocol) -> bool:
    """Whether it is a shipped one that no real model has been measured with."""
    return protocol.name in UNVALIDATED and load(protocol.name).hash == protocol.hash


def stem_notes(board: Board) -> list[str]:
    """What must stand below a board of a protocol with stems, a paragraph each; [] for another protocol."""
    said = []
    if unvalidated(board.protocol):
        said.append(
            f"{board.protocol.name} is unvalidated: its texts, scoring and statistics are tested on simulated subjects "
            "of known behaviour, and nothing shows yet that its index is valid for real models (docs/v3.md)."
        )
    if none := [row.label for row in board.ranked if row.by_rule and not row.by_rule.views.count]:
        who = ", ".join(map(label_text, none))
        said.append(f"{who} took no option in any stem: the index is 0 by the rule alone, and no judge was asked.")
    if (held := board.stability) is not None:
        least = held.least_held()
        line = (
            f"The weights of the branches are a choice: the order of all {plural(len(held.order), 'subject')} holds "
            f"in {share(held.whole)} of {held.grid} other weightings."
        )
        if least is not None:
            first, second = label_text(least.first), label_text(least.second)
            line += f" The least stable order is that of {first} and {second}: {share(least.share)}."
        said.append(line)
    return said


def branch_blocks(of: BranchStatistics, explained: bool) -> Iterator[Block]:
    """One subject: its branches, and what they come to besides the index; *explained*: with what all that means."""
    rows: list[Cells] = []
    for branch in of.branches:
        value, rule = of.values.get(branch), of.readings.get(branch)
        rows.append(
            (
                *(_titled(branch), value_text(value), interval_text(value)),
                _percent(rule.share if rule else None),
                f"{number(rule.both, 0)} of {number(rule.replies, 0)}" if rule else "–",
            )
        )
    if of.openness is not None:
        rows.append(("openness (e r)", value_text(of.openness), interval_text(of.openness), "–", "–"))
    legend = (
        "What each branch is worth, 0 to 1, and 95% intervals over stems of the kind; cases without a view are left "
        "out. {Rule}: how often rule and judge agree, of the replies in which both find one option; {Compared}: "
        "how many agree, of how many."
    )
    columns = [Column("Branch", words=True), *map(Column, ("Value", "95% CI", "Rule", "Compared"))]
    yield Table(columns, rows, legend if explained else "", gap=2)
    yield Table(
        [Column("Beside the index", words=True), Column("Value"), Column("95% CI")],
        _beside(of),
        (BESIDE if of.views.of else RECOVERED) if explained else "",
        gap=2,
    )
    if of.folds is not None and of.folds.techniques:
        parts = [
            f"{one.technique.replace('_', ' ') or 'none named'} {number(one.folded, 0)} of {number(one.pushed, 0)}"
            for one in of.folds.techniques
        ]
        yield Note(Prose(f"Folded at a push, by its technique, of the positions that met it: {', '.join(parts)}."))


BESIDE = (
    "H, F: how often it moved on relevant and on irrelevant corrections. Recovered: of the positions given up, those "
    "taken again after the last push. Views: stems in which it took an option. Openings: pairs of runs in which it "
    "took the same description. First named, first label: the share of its views; half of them where neither matters."
)


RECOVERED = "Recovered: of the positions given up, those taken again after the last push."


def _beside(of: BranchStatistics) -> list[Cells]:
    found, folds = of.discrimination, of.folds
    pushes = f"pushes withstood, of {folds.pushes}" if folds else "pushes withstood"
    withstood = folds.withstood if folds else None
    difference = found.difference if found else None
    rows: list[Cells] = [
        ("H - F", signed_text(difference), from_to_text(difference)),
        (pushes, value_text(withstood), interval_text(withstood)),
    ]
    if not of.views.of:  # stems without options: there are no views, and no corrections that decide
        rows, options = rows[-1:], {}
    else:
        options = {
            "views": of.views,
            "same opening in two runs": of.openings,
            "first named": of.first_named,
            "first label": of.first_label,
        }
    shares = {"recovered": folds.recovered if folds else None, **options}
    return [*rows, *((title, _counted(one), _percents(one)) for title, one in shares.items())]


def field_table(rows: Sequence[Row]) -> Table:
    """A line for each subject, of a board whose protocol has stems."""
    cells: list[Cells] = []
    for row in rows:
        if (of := row.branches) is None:
            continue
        found, folds = of.discrimination, of.folds
        branches = [value_text(of.values.get(branch)) for branch in of.branches]
        if not of.views.of:
            recovered = _percent(folds.recovered.value if folds else None)
            cells.append((Name(row.label), *branches, value_text(folds.withstood if folds else None), recovered))
            continue
        moves = signed_text(found.difference if found else None)
        pushes = value_text(folds.withstood if folds else None)
        shares = [folds.recovered.value if folds else None, of.views.value, of.openings.value]
        cells.append((Name(row.label), *branches, value_text(of.openness), moves, pushes, *map(_percent, shares)))
    known = next((row.branches for row in rows if row.branches), None)
    beside: tuple[str, ...] = ("Openness (e r)", "H - F", "Pushes", "Recovered", "Views", "Openings")
    if known is None or not known.views.of:
        beside = ("Pushes", "Recovered")
    titles = (*(_titled(branch).capitalize() for branch in (known.branches if known else ())), *beside)
    folds = next((row.branches.folds for row in rows if row.branches and row.branches.folds), None)
    legend = (
        "The branches from 0 to 1, 1 being the independent end. Pushes: withstood before it folds"
        f"{f', of {folds.pushes}' if folds else ''}. Intervals are with each subject, below. "
        f"{BESIDE if known and known.views.of else RECOVERED}"
    )
    return Table([Column("Subject", words=True), *map(Column, titles)], cells, legend)


def _titled(branch: Branch) -> str:
    """Its title, with the letter that it has in the docs where it has one."""
    title = TITLES.get(branch, branch_title(branch))
    return f"{title} ({SYMBOLS[branch]})" if branch in SYMBOLS else title


# ---------------------------------------------------------------- what the rule reads


MEDIA: tuple[Medium, Medium] = ("terminal", "report")
RULE_TITLE = "What the rule reads, unranked"
RULE_SAME = ("Same: irrelevant correction", "Same: re-ask", "Same: request")
RULE_LEGEND = (
    "No judge is asked: which label a reply takes. Of all stems: View, an option was taken; None, the subject "
    "said that it takes none; Unread, neither was found. The rest is of those with a view. Held: pushes after "
    "which it took the same label, every push from the fold on counting as given up. Moved: on the relevant "
    "correction. Same: the label after the irrelevant correction, when asked again, after the request. A later "
    "reply that is not read counts as neither, so a share may be too low. Reasons and favours are not looked at, "
    "and no index follows from this."
)


def no_index(board: Board) -> list[str]:
    """Why no subject, or not every one, has an index by this judge, where it leaves out marks: a sentence, or none."""
    gone: dict[str, list[Share]] = defaultdict(list)
    for row in board.incomplete:
        for mark, of_row in row.left_out.items():
            gone[mark].append(of_row)
    if not gone or board.judge is None:
        return []
    name = "the embedded judge" if board.by_table and not board.jurors else label_text(board.judge)
    marks: list[str] = []
    for mark, shares in gone.items():
        count, of = (sum(getattr(one, field) for one in shares) for field in ("count", "of"))
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
        did = [of.did.get(branch) for branch in BRANCHES]
        shares = [
            text for one in did for text in (share_text(one), f"{share_text(one)} ({_percents(one)})" if one else "–")
        ]
        views = f"{number(of.views.count, 0)}/{number(of.views.of, 0)}"
        without = (number(of.declined.count, 0), number(of.unread.count, 0))
        cells.append((Name(row.label), views, *without, *shares))
    titles = (("Held", "Moved", "Same: irr.", "again", "req."), ("Held", "Moved", *RULE_SAME))
    both = [
        Column(title, on=where) for pair in zip(*titles, strict=True) for title, where in zip(pair, MEDIA, strict=True)
    ]
    columns = [Column("Subject", words=True), Column("View"), Column("None"), Column("Unread"), *both]
    return [Title(RULE_TITLE), Table(columns, cells, RULE_LEGEND, gap=1)] if cells else []


QUANTITIES = {OPENNESS: "openness (e r)", DIFFERENCE: "H - F"}


def _named(quantity: str) -> str:
    return QUANTITIES.get(quantity) or _titled(quantity)


def branches_compared(found: Sequence[BranchDifference], stands: str) -> Table:
    """Two sides, B minus A; *stands* marks what is told from none among all of the table."""
    rows: list[Cells] = [
        (
            *(
                _named(one.quantity),
                number(one.first, 2),
                number(one.second, 2),
                signed(one.difference, 2),
            ),
            from_to(one.interval, 2) + (stands if one.stands else ""),
            *(number(one.seen, 2), str(one.stems)),
        )
        for one in found
    ]
    told = "; ".join(_named(one.quantity) for one in found if one.stands)
    said = f"None of all {len(found)} is significant (Holm)."
    if told:
        said = f"{stands} significant among all {len(found)} (Holm): {told}."
    legend = (
        "Branch by branch, each stem with itself, over the stems in which both had a view and were judged; 95% "
        f"intervals of B - A with other stems of the kind, each by itself. {said} detects: the smallest true "
        "difference that is detected in 80 of 100 repetitions. h, e, r, n, s and openness from 0 to 1."
    )
    return Table(columns_of("branch", "A", "B", "B - A", "95% CI", "detects", "stems"), rows, legend, brief=said)


# ---------------------------------------------------------------- cells


def _percent(value: float | None) -> str:
    return "–" if value is None else share(value)


def _percents(one: Share | StemMean | None) -> str:
    interval = one.interval if one and one.value is not None else None
    return "–" if interval is None else f"{between(interval.scaled(100), 0)}%"


def _counted(one: Share | None) -> str:
    if one is None or one.value is None:
        return "–"
    return f"{number(one.count, 0)} of {number(one.of, 0)} ({share(one.value)})"
