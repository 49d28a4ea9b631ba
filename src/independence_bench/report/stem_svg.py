"""Pictures of what subjects did in the branches of their stems, as SVG: the field, and how long positions last.

Drawn 400 pixels wide, so that their letters are as large on a phone as the text around them.
"""

from __future__ import annotations

from collections.abc import Iterator

from independence_bench.analysis.board import Board
from independence_bench.analysis.branch_values import Folds
from independence_bench.analysis.statistics.values import Interval
from independence_bench.report.branches_view import STEM_PICTURES
from independence_bench.report.svg import LINE, picture, safe, shorten, text_at

WIDTH = 400.0
LEFT, TOP, SIDE = 46.0, 52.0, 336.0  # of the square of the field, and of the axes of the curves
HIGH = 220.0  # of the curves' axis
MOST_CURVES = 6
MOST_LETTERS = 42  # of a label in a key
# hold, openness; who moves for every correction has an openness of 0, as who moves for none
CORNERS = (("deaf or credulous", 1, 0), ("servile", 0, 0), ("open, but gives in", 0, 1), ("independent", 1, 1))


def field_picture(board: Board) -> str:
    """A point for each ranked subject: how far it holds under pressure against how open it is to reasons."""
    points = [
        (row.label, hold, openness)
        for row in board.ranked
        if (of := row.branches) and (hold := of.values.get("pressure")) and (openness := of.openness)
    ]
    left_out = len(board.ranked) - len(points)
    drawn = [text_at(12, 20, "Hold against openness", "start", "strong")]
    for tick in range(6):
        x, y = LEFT + SIDE * tick / 5, TOP + SIDE * (1 - tick / 5)
        drawn += [
            f'<path class="line" d="M{x:.1f} {TOP:.1f}V{TOP + SIDE:.1f}M{LEFT:.1f} {y:.1f}H{LEFT + SIDE:.1f}"/>',
            text_at(x, TOP + SIDE + 16, f"{tick / 5:g}", "middle"),
            text_at(LEFT - 6, y + 4, f"{tick / 5:g}", "end"),
        ]
    for name, right, up in CORNERS:
        y = TOP - 7 if up else TOP + SIDE + 32
        drawn.append(text_at(LEFT + SIDE * right, y, name, "end" if right else "start", "corner"))
    # those that lie on each other share a number's place: numbers are drawn beside the points, one below the other
    taken: list[tuple[float, float]] = []
    for number, (label, hold, openness) in enumerate(points, 1):
        x, y = LEFT + SIDE * hold.value, TOP + SIDE * (1 - openness.value)
        drawn += [
            f"<g><title>{safe(label)}: hold {hold.value:.2f}, openness {openness.value:.2f}</title>",
            *_cross(x, y, hold.interval, openness.interval),
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>',
            _numbered(x, y, number, taken),
            "</g>",
        ]
    bottom = TOP + SIDE + 48
    drawn += [
        text_at(LEFT + SIDE / 2, bottom, "holds under pressure (h)", "middle"),
        f'<g transform="translate(14 {TOP + SIDE / 2:.1f}) rotate(-90)">'
        f"{text_at(0, 0, 'open to reasons (e r)', 'middle')}</g>",
    ]
    for number, (label, *_) in enumerate(points, 1):
        bottom += LINE
        drawn.append(text_at(12, bottom, f"{number} {shorten(label, MOST_LETTERS)}", "start", "name"))
    if left_out:
        bottom += LINE
        drawn.append(text_at(12, bottom, f"no point: {left_out} without a view or without marks", "start"))
    return picture(WIDTH, bottom + 16, "Hold against openness", f"{STEM_PICTURES[0]}. Lines: 95%.", drawn)


def _cross(x: float, y: float, hold: Interval | None, openness: Interval | None) -> Iterator[str]:
    if hold is not None:
        yield f'<path class="thin" d="M{LEFT + SIDE * hold.low:.1f} {y:.1f}H{LEFT + SIDE * hold.high:.1f}"/>'
    if openness is not None:
        low, high = (TOP + SIDE * (1 - end) for end in (openness.low, openness.high))
        yield f'<path class="thin" d="M{x:.1f} {low:.1f}V{high:.1f}"/>'


def _numbered(x: float, y: float, number: int, taken: list[tuple[float, float]]) -> str:
    """A point's number beside it, away from those that are drawn already."""
    right = x < LEFT + SIDE - 30
    place = (x + 9 if right else x - 9, y - 7 if y > TOP + 24 else y + 16)
    while any(abs(place[0] - one) < 14 and abs(place[1] - other) < 12 for one, other in taken):
        place = (place[0] + (14 if right else -14), place[1])
    taken.append(place)
    return text_at(*place, str(number), "start" if right else "end", "strong")


def fold_picture(board: Board) -> str:
    """Step curves of the first ranked subjects: the share of positions that stand after each push, with bands."""
    shown = [(row.label, row.branches.folds) for row in board.ranked if row.branches and row.branches.folds]
    curves = shown[:MOST_CURVES]
    pushes = max((folds.pushes for _, folds in curves), default=1)
    drawn = [text_at(12, 20, "How many pushes until it folds", "start", "strong")]
    for tick in range(6):
        y = TOP + HIGH * (1 - tick / 5)
        drawn.append(f'<path class="line" d="M{LEFT:.1f} {y:.1f}H{LEFT + SIDE:.1f}"/>')
        drawn.append(text_at(LEFT - 6, y + 4, f"{20 * tick}", "end"))
    drawn += [text_at(_across(push, pushes), TOP + HIGH + 16, str(push), "middle") for push in range(pushes + 1)]
    drawn += [_bars(folds, pushes, place) for place, (_, folds) in enumerate(curves)]
    drawn += [_curve(label, folds, pushes, place) for place, (label, folds) in enumerate(curves)]
    drawn.append(text_at(LEFT + SIDE / 2, TOP + HIGH + 34, "pushes; percent of positions that stand", "middle"))
    bottom = TOP + HIGH + 40
    for place, (label, folds) in enumerate(curves):
        bottom += LINE
        line = f"{shorten(label, MOST_LETTERS - 6)} {folds.withstood.value:.1f}"
        drawn.append(
            f'<path class="c{place}" d="M12 {bottom - 4:.1f}H38"/>{text_at(46, bottom, line, "start", "name")}'
        )
    if more := len(shown) - len(curves):
        bottom += LINE
        drawn.append(text_at(12, bottom, f"and {more} more, in the table", "start"))
    return picture(
        WIDTH,
        bottom + 16,
        "How many pushes until it folds",
        f"{STEM_PICTURES[1]}, with its 95% interval as a thin line; beside each label the pushes that it "
        "withstood on average.",
        drawn,
    )


def _across(push: float, pushes: int) -> float:
    """Some room is left after the last push, so that what stands then is seen."""
    return LEFT + SIDE * push / (pushes + 0.6)


def _curve(label: str, folds: Folds, pushes: int, place: int) -> str:
    """All stand until the first push; each push is a step down. Nothing is drawn from where nothing is known.

    Curves are a little apart, so that each of those that are alike is seen.
    """
    apart = 1.2 * (place - (MOST_CURVES - 1) / 2)
    path, said = f"M{LEFT:.1f} {TOP + apart:.1f}", []
    for step in folds.curve:
        path += f"H{_across(step.push, pushes):.1f}"
        if step.standing is None:
            break
        path += f"V{TOP + apart + HIGH * (1 - step.standing):.1f}"
        said.append(f"{100 * step.standing:.0f}%")
    else:
        path += f"H{LEFT + SIDE:.1f}"
    return f'<g><title>{safe(label)}: {safe(", ".join(said))}</title><path class="c{place}" d="{path}"/></g>'


def _bars(folds: Folds, pushes: int, place: int) -> str:
    """Where the curve may lie after each push; those of several curves stand beside each other."""
    drawn = []
    for push, band in enumerate(folds.bands, 1):
        if band is not None:
            low, high = (TOP + HIGH * (1 - end) for end in (band.low, band.high))
            drawn.append(f"M{_across(push + 0.08 * (place + 1), pushes):.1f} {low:.1f}V{high:.1f}")
    return f'<path class="c{place} bar" d="{"".join(drawn)}"/>' if drawn else ""
