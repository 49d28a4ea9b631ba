"""Tables and texts on a terminal of some width, and in a pipe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from simulated_endpoint import start_aib
from terminal_text import displayed

from independence_bench.cli.progress import format_duration
from independence_bench.report.format import find_shared_ends
from independence_bench.report.table import (
    Block,
    Column,
    Drawn,
    Group,
    Legend,
    Name,
    Note,
    Passage,
    Remark,
    RowFilter,
    Table,
    choose_long_table_rows,
)
from independence_bench.report.terminal import UNBOUNDED, reflow_text

MORE = "`--explain` explains all."
LABELS = ("sim:acme/a-model-with-a-rather-long-name-9b@none-t0.7", "sim:acme/short@low-t0.7")


def shown(*blocks: Block, width: int = 80, legend: bool | None = None, times: int = 1) -> str:
    """What a terminal of that width gets, without colours; every line is looked at."""
    text = displayed(*(iter(blocks) for _ in range(times)), width=width, legend=legend)
    lines = text.splitlines()
    assert [line for line in lines if line != line.rstrip()] == [], "no blanks at the end of a line"
    assert [line for line in lines if cell_len(line) > width] == []
    return text


def table(**more: object) -> Table:
    """Two subjects with numbers, of which two columns can be spared."""
    columns = [
        Column("Subject", words=True, labels=True),
        *(Column("Index"), Column("Runs", spare=1), Column("Errors", spare=2)),
        Column("CI", drawn=(50, 100)),
    ]
    drawn = Drawn(90.0, (80.0, 100.0))
    rows = [(Name(label), "99.5", "12,345", "12,345", drawn) for label in LABELS]
    return Table(columns, rows, **more)  # type: ignore[arg-type]


def test_a_pipe_gets_everything_on_one_line_and_whole_labels() -> None:
    """Nothing is cut, wrapped, shortened or drawn."""
    text = shown(table(), Note("word " * 60), width=UNBOUNDED)

    for label in LABELS:
        (line,) = [line for line in text.splitlines() if label in line]
        assert line.split() == [label, "99.5", "12,345", "12,345"]
    assert ("word " * 60).strip() in text.splitlines()
    assert "├" not in text


def test_what_all_labels_share_stands_in_the_heading() -> None:
    """Endpoint, vendor, settings; not a temperature alone, which says nothing; of one label nothing
    is taken away.
    """
    lines = shown(table()).splitlines()

    assert lines[0].strip() == "all sim:acme/…"
    assert any(line.startswith("a-model-with-a-rather-long-name-9b@none-t0.7 ") for line in lines)
    assert find_shared_ends(set(LABELS[:1])) == ("", "")
    assert find_shared_ends({"a/x@none-t0.7", "a/y@none-t0.7"}) == ("a/", "@none-t0.7")
    assert find_shared_ends({"a/x@none-t0.7", "b/y@none-t1.0"}) == ("", "")
    assert find_shared_ends({"a/xx@low-t0.7#ab12cd", "a/xy@low-t0.7"}) == ("a/", "")


def test_columns_are_left_out_before_a_label_is_broken_up() -> None:
    """First those that can best be spared; which ones is said once."""
    text = shown(table(), width=36, times=2)

    assert "12,345" not in text
    assert " ".join(text.split()).count("No room at 36 columns for: runs, errors.") == 1
    assert "a-model-with-a-rather" in text


def test_a_table_that_cannot_be_spared_a_column_keeps_the_first_ones() -> None:
    """No line is wider than the terminal; which columns are missing is said."""
    columns = [
        Column("scenario", words=True),
        *(Column(f"run {number}") for number in range(1, 7)),
        Column(""),
    ]
    rows = [(Name("a_scenario_with_a_name"), *("12.34",) * 6, "*")]

    lines = shown(Table(columns, rows), width=40).splitlines()

    assert max(map(len, lines)) <= 40
    assert [line.split().count("12.34") for line in lines if "12.34" in line] == [5]
    assert "No room at 40 columns for: run 6." in lines


@pytest.mark.parametrize("width", [24, 30, 38])
def test_a_label_breaks_between_its_words(width: int) -> None:
    """Behind a sign, or before its settings; never inside a word."""
    parts = [
        line.split()[0] for line in shown(table(), width=width).splitlines()[3:] if line.strip()
    ]
    words = {word for label in LABELS for word in re.split(r"[/@:-]", label)}

    found = [
        word
        for part in parts
        for word in re.split(r"[/@:-]", part)
        if not part.startswith(("─", "No"))
    ]
    assert "rather" in found
    assert [word for word in found[: found.index("short")] if word and word not in words] == []


def test_an_interval_is_drawn_where_there_is_room() -> None:
    """The dot at its value between the ends of the axis, which the heading names; nothing on a
    narrow terminal.
    """
    lines = shown(table(), width=100).splitlines()
    (line,) = [line for line in lines if line.startswith("short")]
    heading = next(line for line in lines if "index" in line)

    start, dot, end = (line.index(mark) for mark in "├●┤")
    left, right = heading.index("50"), len(heading) - 1
    assert heading.endswith("100")
    for at, value in ((start, 80), (dot, 90), (end, 100)):
        assert at == pytest.approx(left + (right - left) * (value - 50) / 50, abs=1)
    assert "├" not in shown(table(), width=72)


def test_a_legend_is_told_once_briefly_or_whole() -> None:
    """Brief where the command can say all of it, which is then said; all of it where nobody can ask
    for more.
    """
    explained = table(legend="{Runs}: how many. All that is known.", brief="runs: how many.")

    brief = shown(explained, times=2, legend=False)
    assert brief.count("runs: how many.") == 1
    assert "All that is known" not in brief
    assert brief.count(MORE) == 1
    for whole in (shown(explained, times=2, legend=True), shown(explained, times=2)):
        assert whole.count("All that is known") == 1
        assert MORE not in whole
    assert "all" in shown(Legend("all", ""), legend=True)
    assert shown(Legend("all", ""), legend=False).strip() == MORE
    assert shown(Legend("all", "all"), legend=False).strip() == "all"


def test_columns_move_together_before_a_word_is_broken() -> None:
    """A table that is a little too wide has its gaps narrowed; what is chosen among its rows is
    said.
    """
    wide = table(gap=3)

    assert "a-model-with-a-rather-long-name-9b@none-t0.7  99.5" in shown(wide, width=69)
    (found,) = [
        choose_long_table_rows(
            [table(long=True, total=("all", "1", "2", "3", Drawn(1, None)))],
            RowFilter(find="SHORT"),
        ).blocks
    ]
    text = shown(*found, width=UNBOUNDED)
    assert LABELS[1] in text
    assert LABELS[0] not in text
    assert "all" in text
    assert text.rstrip().endswith("Shown: 1 of 2 rows.")


def test_remarks_and_groups_go_across_all_columns() -> None:
    """However narrow the columns are."""
    text = shown(
        Table(
            [Column("a", words=True), Column("b")],
            [Group("A long title of a group"), ("x", "1"), Remark("y " * 30)],
        )
    )

    assert "A long title of a group" in text.splitlines()
    assert f"    {('y ' * 30).strip()}" in text.splitlines()
    narrow = shown(
        Table(
            [Column("a", words=True), Column("b")], [Group("A long title of a group"), ("x", "1")]
        ),
        width=12,
    )
    assert [line.strip() for line in narrow.splitlines()[2:4]] == ["A long title", "of a group"]


def test_a_filled_text_is_filled_anew_and_a_list_stays_one() -> None:
    """Line breaks of the file would leave half lines on a narrow terminal; others mean
    something.
    """
    begins, rest = (
        "One line that was filled up to some more than sixty characters, all",
        "\n\n- a\n- b\nName: x\n",
    )
    filled = f"{begins}\nof which go on here.{rest}"

    assert reflow_text(filled) == f"{begins} of which go on here.{rest}"
    assert reflow_text("short\nlines\nstay") == "short\nlines\nstay"
    narrow = shown(Passage(filled, reflow=True), width=50).splitlines()
    assert narrow[:2] == [
        "  One line that was filled up to some more than",
        "  sixty characters, all of which go on here.",
    ]
    assert "characters, all\n  of which" in shown(Passage(filled, reflow=True), width=UNBOUNDED)


def test_a_terminal_without_unicode_gets_the_nearest_characters(tmp_path: Path) -> None:
    """One for one, so that columns stay where they are; no interval reads as a question."""
    with start_aib(tmp_path, "protocols", more={"PYTHONIOENCODING": "ascii"}) as process:
        said = process.communicate()[0]

    assert process.returncode == 0
    assert re.search(r"^name +title.*\n-+\nlite ", said)
    assert "?" not in said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (59.4, "59 s"),
        (59.7, "1 min 00 s"),
        (119.7, "2 min 00 s"),
        (200.4, "3 min 20 s"),
        (599.7, "10 min"),
        (2880.0, "48 min"),
        (3599.0, "1 h 00 min"),
        (7500.0, "2 h 05 min"),
    ],
)
def test_a_duration_is_rounded_once(seconds: float, said: str) -> None:
    """Never 60 seconds beside a minute."""
    assert format_duration(seconds) == said
