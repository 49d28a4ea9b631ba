"""The static site: every answer of the server and the page, as files in a folder.

It is written beside the folder and replaces it when it is complete, so a site that is being served is always complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from independence_bench import __version__
from independence_bench.errors import BenchError, WrongUse
from independence_bench.store.staging import put_in_place, staging
from independence_bench.viewer.app import HOME, Page
from independence_bench.viewer.fragments import Offer
from independence_bench.viewer.routes import Answers

MARK = ".aib-site.json"  # says that a folder is a site of ours
COMPARED = 150  # subjects of a board that have a file of comparisons: it has all others in it, so it is N x N
WORKFLOW = Path(__file__).with_name("pages.yml")  # for GitHub Pages, as `aib site --workflow` prints it
PLAIN = ".nojekyll"  # or GitHub Pages would leave out what it takes for its own

Tell = Callable[[int, int], None]  # files written, files in all


def offer(raw: bool, largest: int) -> Offer:
    """What a frozen site offers. *largest*: rows of its largest board."""
    compared = COMPARED if largest > COMPARED else None
    who = "every pair of subjects" if compared is None else f"the first {compared} subjects of a board with all others"
    says = (
        "A copy made once: nothing in it changes.",
        "One board for each configuration and judge, and for the jury of all judges where there are several, each by "
        "our own rules and by those of published numbers, and by each of the protocol's weightings.",
        f"Comparisons of {who}, and of each subject's configurations.",
        "Every transcript, and a search over all that the models said and the judges wrote.",
        "Requests and responses as they were sent and came." if raw else "Without raw requests and responses.",
    )
    return Offer(frozen=True, raw=raw, compared=compared, says=says)


def freeze(answers: Answers, page: Page | None, out: Path, tell: Tell) -> int:
    """Write the site to *out*, in the place of an earlier one. Returns how many files it has.

    Without a *page*, only the answers. Raises WrongUse where *out* is something else than an empty folder or a site,
    BenchError where it cannot be written. Whatever ends it early, *out* stays as it was.
    """
    out = out.resolve()
    check_place(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with staging(out) as fresh:
            count = _write(answers, page, fresh, tell)
            put_in_place(fresh, out)
    except OSError as error:
        raise BenchError(f"{out} cannot be written ({error.strerror or error}); choose another folder") from error
    return count


def check_place(out: Path) -> None:
    """Raise WrongUse unless *out* is free, empty, or a site of ours with nothing else in it."""
    if not out.exists():
        return
    if not out.is_dir():
        raise WrongUse(f"{out} is a file; name a folder for the site")
    there = {path.name for path in out.iterdir()}
    if not there:
        return
    try:
        mark = json.loads((out / MARK).read_text(encoding="utf-8"))
        ours = set(mark["holds"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WrongUse(f"{out} holds something else than a site; name an empty folder, or a new one") from None
    if others := sorted(there - ours):
        raise WrongUse(f"{out} is a site, but also holds {others[0]}; move that away, for the folder is made anew")


def _write(answers: Answers, page: Page | None, folder: Path, tell: Tell) -> int:
    paths = list(answers.paths())
    files = {} if page is None else dict(page.files)
    written, total = 0, len(paths) + len(files) + 2
    for path in paths:
        body = answers.get(path)
        if body is None:
            raise BenchError("the store was changed while it was read; make the site again")
        _file(folder / "api" / path, body)
        written += 1
        tell(written, total)
    for name, body in files.items():
        _file(folder / name, page.home if page is not None and name == HOME else body)
        written += 1
        tell(written, total)
    _file(folder / PLAIN, b"")
    holds = sorted({path.name for path in folder.iterdir()} | {MARK})
    mark = {"made_by": f"aib site {__version__}", "state": answers.catalog.version, "holds": holds}
    _file(folder / MARK, json.dumps(mark, indent=1).encode("ascii") + b"\n")
    tell(total, total)
    return total


def _file(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
