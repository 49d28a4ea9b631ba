"""A number reads the same on the page and in a terminal: the same rounding, the same sign for a
small share.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated_endpoint import aib
from viewer_fixtures import played_in
from viewer_store import answering, read

from independence_bench.analysis.statistics.values import Interval
from independence_bench.figures import (
    format_correlation_interval,
    format_difference,
    format_interval,
    format_mark_value,
    format_number,
    format_share,
    format_share_without_unit,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three subjects and two judges, two runs each."""
    made = tmp_path_factory.mktemp("alike")
    shutil.copy(played_in(tmp_path_factory.getbasetemp(), 2), made / "aib.db")
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[dict[str, Any]]:
    """What the page is sent of the board that it opens with."""
    with answering(folder / "aib.db") as answers:
        entry = read(answers, "index.json")["boards"][0]
        board = read(answers, f"boards/{entry['id']}.json")
        first, *_ = (row["subject"]["id"] for row in board["rows"] if row["rank"] is not None)
        yield {
            "board": board,
            "compare": read(answers, f"boards/{entry['id']}/compare/{first}.json"),
            "judges": read(answers, f"judges/{entry['protocol']}.json"),
        }


def cells(printed: str, *words: str) -> list[str]:
    """The cells of the first line of a table in which all *words* stand by themselves."""
    return next(
        cells
        for line in printed.splitlines()
        if set(words) <= set(cells := line.split())
        and sum(bool(re.match(r"[-+−$]?\d", cell)) for cell in cells) >= 2
    )


def plain(text: str) -> str:
    """A text of the page as the terminal writes it."""
    return text.replace("−", "-").replace(" %", "%")


def test_a_board_reads_alike(folder: Path, page: dict[str, Any]) -> None:
    """Index, interval for this test again, possible ranks, runs, dimensions and failed attempts of
    every subject.
    """
    printed = aib(
        folder, "leaderboard", "--wide", "--judge", page["board"]["board"]["judge"]
    ).stdout
    weighted = [one["name"] for one in page["board"]["dimensions"] if one["weight"]]
    ranked = [row for row in page["board"]["rows"] if row["rank"] is not None]
    assert ranked
    for row in ranked:
        line = cells(printed, row["label"])
        standing, rerun = row["ranks"], row["index_interval"]["rerun"]
        shown = [
            row["shown"]["index"],
            row["shown"]["runs"],
            *(row["shown"]["dimensions"][name] for name in weighted),
        ]
        shown += [
            plain(row["health"]["shown"][name])
            for name in ("share_attempts_failed", "share_cut_off")
        ]
        shown += [rerun["shown"]] if rerun else []
        if standing and standing["rank_low"] < standing["rank_high"]:
            shown.append(f"{standing['rank_low']}–{standing['rank_high']}")
        assert set(shown) <= set(line), line


def test_scenarios_read_alike(folder: Path, page: dict[str, Any]) -> None:
    """Points, difficulty, discrimination, and the shares at both ends."""
    printed = aib(folder, "scenarios", "--judge", page["board"]["board"]["judge"]).stdout
    for one in page["board"]["scenarios"]:
        line = cells(printed, one["id"])
        shown = [text for text in one["shown"].values() if text is not None]
        assert {plain(text).removesuffix("%") for text in shown} <= set(line), line


def test_a_comparison_reads_alike(folder: Path, page: dict[str, Any]) -> None:
    """The verdict; both values, the difference and its interval, of the index, the dimensions and
    the scenarios.
    """
    sent = page["compare"]
    titles = {one["name"]: one["title"] for one in page["board"]["dimensions"]}
    for other in sent["others"]:
        asked = (
            "compare",
            "--scenarios",
            sent["label"],
            other["label"],
            "--judge",
            page["board"]["board"]["judge"],
        )
        printed = aib(folder, *asked).stdout
        assert plain(other["says"]) in " ".join(printed.split())
        apart = other["apart"]
        for place, one in enumerate(sent["compared"]):
            if apart["points"][place] is None or not apart["points"][place]:
                continue
            words = (
                [one["scenario"], *titles[one["dimension"]].split()]
                if one["dimension"]
                else ["index"]
            )
            line = " ".join(cells(printed, *(word for word in words if word)))
            interval = apart["rerun"] and apart["rerun"]["shown"][place]
            for text in (sent["shown"][place], other["shown"][place]):
                assert text is None or plain(text) in line, line
            # a command has the model that is ahead minus the other, so only the sign may differ
            for text in (apart["shown"][place], interval):
                assert set(re.findall(r"[\d.]+", text or "")) <= set(re.findall(r"[\d.]+", line))


def test_judges_read_alike(folder: Path, page: dict[str, Any]) -> None:
    """Judged, failed, lenient, and what a run costs."""
    printed = aib(folder, "judges").stdout
    costs = printed[printed.index("What judging one run costs") :]
    (panel,) = page["judges"]["panels"]
    for judge in panel["found"]["judges"]:
        shown = judge["shown"]
        line = cells(printed, judge["label"])
        texts = (f"{judge['judged']:,}", shown["failed_share"], shown["leniency"])
        assert {plain(text) for text in texts if text} <= set(line), line
        assert {
            text for text in (shown["dollars_per_run"], shown["seconds_per_run"]) if text
        } <= set(cells(costs, judge["label"]))


def test_numbers_are_rounded_once() -> None:
    """To the nearest, from the value; nothing is shown as -0, and a share that is not 0 is not
    shown as 0.
    """
    assert [format_number(value, 1) for value in (82.25, 82.249, -0.04, None)] == [
        "82.2",
        "82.2",
        "0.0",
        "–",
    ]
    assert [format_difference(value) for value in (0.04, -0.04, 1.25)] == ["0.0", "0.0", "+1.2"]
    assert [format_share(value) for value in (0, 0.0004, 0.004, 0.006, 0.995, 1)] == [
        "0%",
        "<1%",
        "<1%",
        "1%",
        "100%",
        "100%",
    ]
    assert [format_share_without_unit(value) for value in (0.002, -0.001, -0.02)] == [
        "<1",
        "0",
        "-2",
    ]
    assert (
        format_correlation_interval(Interval(-0.001, 0.5)),
        format_interval(Interval(0.0, 99.96)),
    ) == ("0.00 to 0.50", "0–100")
    assert [format_mark_value(value) for value in (7.0, 7.25)] == ["7", "7.2"]
