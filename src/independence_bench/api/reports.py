"""`aib generate-report` as a function: a report on everything that is stored of one protocol, as
files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from independence_bench.analysis.chosen_names import list_chosen_names
from independence_bench.analysis.leaderboard import make_leaderboards, read_board_records
from independence_bench.api.named import find_stored_subjects
from independence_bench.api.selection import Selection, select_results
from independence_bench.engine.named import choose_experiments
from independence_bench.errors import WrongUse, describe_file_error
from independence_bench.protocol.scoring import OWN
from independence_bench.report.contents import (
    Contents,
    ReportScope,
    format_contents_json,
    read_contents,
)
from independence_bench.report.report_markdown import format_time, render_report
from independence_bench.report.svg import (
    draw_fold_curves,
    draw_openness_map,
    draw_ranking,
    draw_score_heat_map,
)

STEM = "LEADERBOARD"


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """A report: the text of each file by its name."""

    texts: Mapping[str, str]
    # whether a copy is among them that is named after the time of the newest record
    kept: bool

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the files into *folder*, over files of these names, and return their paths. Raises
        WrongUse if they cannot be written.
        """
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in self.texts.items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
        except (OSError, ValueError) as error:
            raise WrongUse(
                f"the report cannot be written to {folder} ({describe_file_error(error)}); --out "
                "names another folder"
            ) from error
        return tuple(folder / name for name in self.texts)


def generate_report(
    folder: str | Path = ".",
    *,
    store: str | Path | None = None,
    protocol: str | Path | None = None,
    models: str | Sequence[str] = (),
    exp: str | Sequence[str] = (),
    judge: str | None = None,
    jury: Sequence[str] = (),
    weights: str | None = None,
    rules: str = OWN.name,
    keep: bool = False,
) -> tuple[Path, ...]:
    """Write a report on what is stored into *folder*, as `aib generate-report` does, and return the
    paths of its files: the Markdown first, then the JSON and the plots.

    *models* and *exp* (experiments) limit what is shown. *keep*: also write a copy that is named
    after the time of the newest record. Raises StoreError if there is no store, WrongUse if nothing
    fits or the files cannot be written.
    """
    selection = select_results(
        store,
        protocol,
        weights,
        judge,
        jury,
        rules,
        models=models,
        exp=exp,
    )
    return make_report(selection, keep).write(folder)


def make_report(selection: Selection, keep: bool) -> ReportFiles:
    """Make the report on the results that *selection* means; with *keep* also the copy that is
    named after the time of the newest record.
    """
    contents = _read_selected_contents(selection)
    stems = [STEM]
    if keep and contents.updated is not None:
        stems.append(f"{STEM}-{datetime.fromtimestamp(contents.updated, UTC):%Y%m%dT%H%M%SZ}")
    texts = {
        name: text for stem in stems for name, text in make_report_files(contents, stem).items()
    }
    return ReportFiles(texts, kept=len(stems) > 1)


def _read_selected_contents(selection: Selection) -> Contents:
    with selection.open_for_reading() as (opened, protocol):
        chosen = (
            find_stored_subjects(opened, protocol, selection.models) if selection.models else []
        )
        only = ReportScope(
            frozenset(subject.hash for subject in chosen),
            choose_experiments(protocol, selection.exp),
        )
        with opened.open_snapshot() as connection:
            records = read_board_records(connection, protocol)
        scored = make_leaderboards(records, protocol, selection.wanted_boards)
        if selection.judge and not scored:
            called = f"{protocol.name} by a judge called {selection.judge}"
            raise WrongUse(f"no conversations of {called} are stored in {opened.shown}")
        names = list_chosen_names(opened, protocol, known_results=records.counted.groups)
        return read_contents(opened, protocol, scored, names, only)


def make_report_files(contents: Contents, stem: str) -> dict[str, str]:
    """Return the files of a report as file name -> text: the Markdown text, the same numbers as
    JSON, and the plots as SVG. All names begin with *stem*, and the Markdown links to the other
    files.
    """
    names = contents.name_models()
    pictures = {
        f"{stem}-ranking.svg": draw_ranking(contents.main, names),
        f"{stem}-scenarios.svg": draw_score_heat_map(contents.complexity, names),
    }
    if any(row.branches and row.branches.folds for row in contents.main.ranked):
        pictures[f"{stem}-pushes.svg"] = draw_fold_curves(contents.main, names)
    if any(row.reasons for row in contents.main.ranked):
        pictures[f"{stem}-openness.svg"] = draw_openness_map(contents.main, names)
    data = f"{stem}.json"
    return {
        f"{stem}.md": render_report(contents, tuple(pictures), data),
        data: format_contents_json(contents, format_time(contents.updated)),
        **pictures,
    }
