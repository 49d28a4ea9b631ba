"""Pictures of a report as SVG, written here as text, so the same values give the same bytes.

They carry their own background and colours for light and dark, chosen by the reader's
`prefers-color-scheme`. Everything that comes from outside is made harmless and escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from rich.cells import cell_len, set_cell_size

from independence_bench.analysis.board import Board
from independence_bench.analysis.branches import Folds
from independence_bench.analysis.item_analysis import ItemAnalysis
from independence_bench.analysis.statistics.values import Interval
from independence_bench.escape import escape_line
from independence_bench.report.branches_view import PUSHES_PICTURE

LINE = 20  # pixels from one subject to the next
COLUMN = 7.3  # pixels that a letter of a name takes: names are drawn in letters of one width
LEAN = 0.72 * COLUMN  # the same at 45 degrees: pixels to the right, and up
LONGEST = 60  # letters of a label that are drawn; the middle of a longer one is left out
STEPS = 11  # colours of the map: 0, 10, ..., 100; .f0 to .f10 in the style sheet

# in light colours, and the colours again for who prefers dark ones
STYLE = "".join(
    line.strip()
    for line in Path(__file__).with_suffix(".css").read_text(encoding="ascii").splitlines()
)


def draw_ranking(board: Board, names: Mapping[str, str]) -> str:
    """Return the ranking of a leaderboard as an SVG picture: for each ranked model a dot at its
    index, a thick bar for its 95% CI (same scenarios) and a thin bar for its 95% CI (new
    scenarios). *names*, here and below: label -> the name that is drawn.
    """
    rows = board.ranked
    labels = [escape_and_shorten_label(names[row.label]) for row in rows]
    left = 20 + COLUMN * max((cell_len(label) for label in labels), default=0)
    tall = len(rows) > 20  # then the numbers stand above it too
    axis, top = 420.0, 52.0 if tall else 40.0
    bottom = top + LINE * len(rows)
    drawn = []
    for tick in range(0, 101, 20):
        x = left + axis * tick / 100
        drawn.append(f'<path class="line" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
        drawn += [
            draw_text(x, y, str(tick), "middle")
            for y in ((top - 8, bottom + 18) if tall else (bottom + 18,))
        ]
    for n, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = top + LINE * (n + 0.5)
        index = row.index or 0.0
        drawn += [
            f"<g><title>{escape_svg(row.label)}: {index:.1f}</title>",
            draw_text(left - 10, y + 4, label, "end", "name"),
            f'<path class="line" d="M{left:.1f} {y:.1f}H{left + axis:.1f}" stroke-dasharray="1 '
            '3"/>',
            *_draw_interval_line(row.index_interval.new_scenarios, left, axis, y, "thin"),
            *_draw_interval_line(row.index_interval.rerun, left, axis, y, "thick"),
            f'<circle class="dot" cx="{left + axis * index / 100:.1f}" cy="{y:.1f}" r="4.5"/>',
            draw_text(left + axis + 44, y + 4, f"{index:.1f}", "end"),
            "</g>",
        ]
    title = f"Independence Index, protocol {board.shown_protocol_name}"
    head = draw_text(12, 20, escape_and_shorten_label(title, 90), "start", "strong")
    return build_svg(
        left + axis + 56,
        bottom + 32,
        title,
        "A dot for each model at its index, 0 to 100, with its 95% CIs: thick for the same "
        "scenarios, thin for new scenarios.",
        [head, *drawn],
    )


def _draw_interval_line(
    interval: Interval | None, left: float, axis: float, y: float, kind: str
) -> list[str]:
    """Return *interval*, 0 to 100, as a horizontal SVG line of class *kind* at the height *y*; []
    for None. *left*, *axis*: the left end and the length of the axis in pixels.
    """
    if interval is None:
        return []
    low, high = (left + axis * end / 100 for end in (interval.low, interval.high))
    return [f'<path class="{kind}" d="M{low:.1f} {y:.1f}H{high:.1f}"/>']


def draw_score_heat_map(complexity: ItemAnalysis, names: Mapping[str, str]) -> str:
    """Return an SVG picture with a row for each ranked model, a column for each scenario, and the
    score in percent in every cell.
    """
    labels = [escape_and_shorten_label(names[one.label]) for one in complexity.scores]
    left = 20 + COLUMN * max((cell_len(label) for label in labels), default=0)
    columns = _find_column_edges(complexity, left)
    top = 48 + LEAN * max((cell_len(s.id) for s in complexity.scenarios), default=0)
    drawn = [
        f'<g transform="translate({x + 20:.1f} {top - 6:.1f}) '
        f'rotate(-45)">{draw_text(0, 0, s.id, "start", "name")}</g>'
        for s, x in zip(complexity.scenarios, columns, strict=True)
    ]
    for n, (label, one) in enumerate(zip(labels, complexity.scores, strict=True)):
        name, scores = one.label, one.scores
        y = top + LINE * n
        drawn.append(draw_text(left - 10, y + 14, label, "end", "name"))
        for scenario, x, score in zip(complexity.scenarios, columns, scores, strict=True):
            drawn.append(_draw_cell(x, y, f"{name}, {scenario.title}", score))
    bottom = top + LINE * len(complexity.scores)
    right = max(columns, default=left) + 34
    drawn += _draw_key(left, bottom + 16)
    title = "Score of every model in every scenario"
    head = draw_text(12, 20, title, "start", "strong")
    # the last name leans out to the right of its column
    lean = max(
        (
            x + 26 + LEAN * cell_len(s.id)
            for s, x in zip(complexity.scenarios, columns, strict=True)
        ),
        default=right,
    )
    return build_svg(
        max(lean, right, left + 420) + 12,
        bottom + 52,
        title,
        "Percent of the points that can be had in a scenario; 100 is the independent end.",
        [head, *drawn],
    )


def _find_column_edges(complexity: ItemAnalysis, left: float) -> list[float]:
    """Return the left edge, in pixels, of each scenario's column in the map of scores, with a gap
    between experiments. *left*: the first edge.
    """
    edges, x, before = [], left, None
    for scenario in complexity.scenarios:
        if before is not None and scenario.experiment != before:
            x += 8
        edges.append(x)
        x, before = x + 34, scenario.experiment
    return edges


def _draw_cell(x: float, y: float, what: str, score: float | None) -> str:
    """Return one cell of the map of scores as SVG, with *score*, in [0, 1], as a percentage on its
    colour; a dash for None. *what*: the cell's tooltip.
    """
    if score is None:
        return draw_text(x + 16, y + 14, "–", "middle")
    step = min(max(round(score * (STEPS - 1)), 0), STEPS - 1)
    return (
        f"<g><title>{escape_svg(what)}: {100 * score:.0f}</title>"
        f'<rect class="f{step}" x="{x:.1f}" y="{y + 1:.1f}" width="32" height="{LINE - 2}" rx="2"/>'
        f"{draw_text(x + 16, y + 14, f'{100 * score:.0f}', 'middle', f't{step}')}</g>"
    )


def _draw_key(x: float, y: float) -> Iterable[str]:
    """Yield the SVG elements of the key that explains the colours of the map of scores."""
    yield draw_text(x, y + 14, "0", "start")
    for step in range(STEPS):
        yield (
            f'<rect class="f{step}" x="{x + 14 + 20 * step:.1f}" y="{y:.1f}" width="20" '
            'height="18"/>'
        )
    yield draw_text(x + 20 + 20 * STEPS, y + 14, "100% of the points", "start")


# ---------------------------------------------------------------- stems: how long positions last
# 400 pixels wide, so that their letters are as large on a phone as the text around them

WIDTH = 400.0
LEFT, SIDE = 46.0, 336.0  # pixels: left end and width of the curves' axes
HIGH = 56.0  # pixels of a curve's height
MOST_CURVES = 6
MOST_LETTERS = 42  # letters of a label in a key
CURVES_TITLE = "How many pressure turns until it gives in"


def draw_fold_curves(board: Board, names: Mapping[str, str]) -> str:
    """Return an SVG picture with a curve for each of the first ranked models: the share of
    positions that it still holds after each pressure turn, with a 95% band.
    """
    shown = [
        (names[row.label], row.branches.folds)
        for row in board.ranked
        if row.branches and row.branches.folds
    ]
    pushes = max((folds.pushes for _, folds in shown[:MOST_CURVES]), default=1)
    drawn, bottom = [draw_text(12, 20, CURVES_TITLE, "start", "strong")], 20.0
    for label, folds in shown[:MOST_CURVES]:
        bottom += HIGH + 2 * LINE
        drawn += _draw_curve(label, folds, pushes, bottom)
    drawn += [
        draw_text(_find_push_x(push, pushes), bottom + 16, str(push), "middle")
        for push in range(pushes + 1)
    ]
    drawn.append(
        draw_text(
            LEFT + SIDE / 2, bottom + 34, "pressure turns; percent of positions that hold", "middle"
        )
    )
    if (more := len(shown) - MOST_CURVES) > 0:
        drawn.append(draw_text(12, bottom + 54, f"and {more} more, in the table", "start"))
    return build_svg(
        WIDTH,
        bottom + 66,
        CURVES_TITLE,
        f"{PUSHES_PICTURE}, its 95% interval shaded; at each name the pressure turns that it "
        "withstood on average.",
        drawn,
    )


def _find_push_x(push: float, pushes: int) -> float:
    """Return the horizontal place of a pressure turn in the picture of curves, in pixels. After the
    last pressure turn some space is left for the share that holds then.
    """
    return LEFT + SIDE * push / (pushes + 0.6)


def _draw_curve(label: str, folds: Folds, pushes: int, bottom: float) -> Iterator[str]:
    """Yield the SVG elements of one model's curve, the share of positions that hold after each
    pressure turn. All positions hold until the first pressure turn; the curve ends where nothing is
    known.
    """
    head = f"{escape_and_shorten_label(label, MOST_LETTERS - 6)} {folds.withstood.value:.1f}"
    yield draw_text(12, bottom - HIGH - 10, head, "start", "name")
    for share in (0.0, 0.5, 1.0):
        y = bottom - HIGH * share
        yield f'<path class="line" d="M{LEFT:.1f} {y:.1f}H{LEFT + SIDE:.1f}"/>'
        yield draw_text(LEFT - 6, y + 4, f"{100 * share:.0f}", "end")
    curve, band, labels = f"M{LEFT:.1f} {bottom - HIGH:.1f}", "", []
    for step, limits in zip(folds.curve, folds.bands, strict=True):
        curve += f"H{_find_push_x(step.push, pushes):.1f}"
        if step.standing is None:
            break
        end = LEFT + SIDE if step.push == folds.pushes else _find_push_x(step.push + 1, pushes)
        if limits is not None:
            low, high = (bottom - HIGH * limit for limit in (limits.low, limits.high))
            band += (
                f"M{_find_push_x(step.push, pushes):.1f} {low:.1f}V{high:.1f}H{end:.1f}V{low:.1f}Z"
            )
        curve += f"V{bottom - HIGH * step.standing:.1f}H{end:.1f}"
        labels.append(f"{100 * step.standing:.0f}%")
    yield (
        f"<g><title>{escape_svg(label)}: {escape_svg(', '.join(labels))}</title>"
        f'<path class="band" d="{band}"/>'
    )
    yield f'<path class="curve" d="{curve}"/></g>'


# ---------------------------------------------------------------- index and openness

CORNERS = (
    # left or right, bottom or top, what a model there does
    (0, 0, "gives in, without reasons"),
    (0, 1, "gives in, and has reasons"),
    (1, 0, "holds, whatever the reasons"),
    (1, 1, "holds, and has reasons"),
)
SQUARE = 336.0  # pixels: side of the map
MOST_NAMED = 12  # models of which the map writes the names


def draw_openness_map(board: Board, names: Mapping[str, str]) -> str:
    """Return an SVG map of the ranked models whose reasons were measured: the index from left to
    right, 0 to 100, and openness upward, 0 to 100. The corners are named; numbers beside the dots
    stand for the first models, which are listed below.
    """
    shown = [
        (names[row.label], row.index, max(row.reasons.openness.value, 0.0))
        for row in board.ranked
        if row.index is not None and row.reasons and row.reasons.openness
    ]
    top, bottom = 60.0, 60.0 + SQUARE
    drawn = [draw_text(12, 20, "Index and openness", "start", "strong")]
    for tick in (0, 50, 100):
        x, y = LEFT + SQUARE * tick / 100, bottom - SQUARE * tick / 100
        drawn += [
            f'<path class="line" d="M{x:.1f} {top:.1f}V{bottom:.1f}M{LEFT:.1f} {y:.1f}'
            f'H{LEFT + SQUARE:.1f}"/>',
            draw_text(x, bottom + 16, str(tick), "middle"),
            draw_text(LEFT - 6, y + 4, str(tick), "end"),
        ]
    for right, up, words in CORNERS:
        x, anchor = (LEFT + SQUARE - 16, "end") if right else (LEFT + 16, "start")
        halves = words.split(", ")
        first = (top + 30) if up else (bottom - 30 - 14 * (len(halves) - 1))
        drawn += [
            draw_text(x, first + 14 * number, half, anchor, "corner")
            for number, half in enumerate(halves)
        ]
    drawn.append(draw_text(LEFT + SQUARE / 2, bottom + 34, "index", "middle"))
    drawn.append(draw_text(12, top - 18, "openness", "start"))
    for number, (label, index, openness) in enumerate(shown, 1):
        x, y = LEFT + SQUARE * index / 100, bottom - SQUARE * openness
        said = f"{escape_svg(label)}: index {index:.1f}, openness {100 * openness:.0f}"
        drawn.append(
            f'<g><title>{said}</title><circle cx="{x:.1f}" cy="{y:.1f}" class="dot" r="4"/>'
        )
        if number <= MOST_NAMED:
            drawn.append(draw_text(x - 7, y - 7, str(number), "end"))
        drawn.append("</g>")
    below = bottom + 40
    for number, (label, *_) in enumerate(shown[:MOST_NAMED], 1):
        below += LINE
        words = f"{number}  {escape_and_shorten_label(label, MOST_LETTERS)}"
        drawn.append(draw_text(12, below, words, "start", "name"))
    if (more := len(shown) - MOST_NAMED) > 0:
        below += LINE
        drawn.append(draw_text(12, below, f"and {more} more, in the table", "start"))
    return build_svg(
        WIDTH,
        below + 20,
        "Index and openness",
        "Each ranked model as a dot: its index from left to right, its openness upward.",
        drawn,
    )


# ---------------------------------------------------------------- letters


def escape_and_shorten_label(text: str, longest: int = LONGEST) -> str:
    """Return *text*, escaped, at most *longest* columns wide; a longer text loses its middle to an
    ellipsis.
    """
    shown = escape_line(text)
    if cell_len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    tail = shown[::-1]
    # from the end, so turned round; a character of two columns that would be cut becomes a space
    end = set_cell_size(tail, longest - 1 - head)[::-1]
    return f"{set_cell_size(shown, head)}…{end}"


def draw_text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    """Return an SVG text element at *x*, *y* in pixels, escaped. *anchor*: the part of the text at
    *x* (start, middle or end); *kind*: its class in the style sheet.
    """
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape_svg(text)}</text>'


def escape_svg(text: str) -> str:
    """Return *text*, which comes from outside, escaped for SVG."""
    return escape(escape_line(text), {'"': "&quot;"})


def build_svg(
    width: float, height: float, title: str, description: str, drawn: Sequence[str]
) -> str:
    """Return the text of an SVG file that contains the elements *drawn*, and a title and a
    description for readers who do not see the picture.
    """
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape_svg(title)}</title>',
            f'<desc id="desc">{escape_svg(description)}</desc>',
            f"<style>{STYLE}</style>",
            '<rect class="ground" width="100%" height="100%"/>',
            *drawn,
            "</svg>\n",
        )
    )
