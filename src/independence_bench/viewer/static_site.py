"""The static site: the page, and every answer of the server in compressed packs, as files in a
folder.

A pack has many answers, sorted by path: a text that is in all of them is stored once, and a hundred
thousand conversations are no hundred thousand files. A reader fetches the list of packs once, then
the pack of the answer that is opened. The site is written next to the folder and replaces it when
it is complete, so a site that is being served is always complete.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from independence_bench import __version__
from independence_bench.errors import BenchError, WrongUse
from independence_bench.report.encode import encode_page_json
from independence_bench.store.rows import split_chunks
from independence_bench.store.staging import make_temporary_path, replace_folder
from independence_bench.viewer.app import HOME, Page
from independence_bench.viewer.conversation import build_transcript_answers
from independence_bench.viewer.fragments import Offer
from independence_bench.viewer.routes import Answers
from independence_bench.viewer.snapshot import NotThere

MARK = ".aib-site.json"  # says that a folder is a site of ours
# subjects of a board that have a file of comparisons: it has all others in it, so it is N x N
COMPARED = 150
# for GitHub Pages, as `aib site --workflow` prints it
WORKFLOW = Path(__file__).with_name("pages.yml")
INDEX = "index.json"  # stays a file, for programs
CONVERSATION = "transcripts/"
# Bytes of answers in a pack, of which a sixth or so is left; a reader opens one conversation here
# and one there
PACK, PACKS_OF = 800_000, {"transcripts": 180_000, "raw": 180_000}
LEVEL = 4  # level of compression: half the time of 6, and packs are a tenth larger
PLAIN = ".nojekyll"  # or GitHub Pages would leave out what it takes for its own

Tell = Callable[[int, int], None]  # files written, files in all


def make_offer(raw: bool, largest_board_rows: int) -> Offer:
    """Return what a static site offers: whether it has raw calls, and for how many models of a
    leaderboard there are comparisons. *largest_board_rows*: the number of rows of its largest
    leaderboard.
    """
    return Offer(frozen=True, raw=raw, compared=COMPARED if largest_board_rows > COMPARED else None)


def write_site(answers: Answers, page: Page | None, out: Path, tell: Tell) -> int:
    """Write the static site to the folder *out*, in the place of an earlier site, and return the
    number of files written.

    Without a *page*, only the answers are written. *tell* is called with the numbers of answers
    written and of all answers. Raise WrongUse if *out* is neither an empty folder nor a site,
    BenchError if it cannot be written. If the writing ends early for any reason, *out* stays as it
    was.
    """
    out = out.resolve()
    check_site_folder(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with make_temporary_path(out) as fresh:
            count = _write_folder(answers, page, fresh, tell)
            replace_folder(fresh, out)
    except OSError as error:
        raise BenchError(
            f"{out} cannot be written ({error.strerror or error}); choose another folder"
        ) from error
    return count


def check_site_folder(out: Path) -> None:
    """Raise WrongUse unless the folder *out* does not exist, is empty, or holds a site of ours and
    nothing else. The working folder, and one above it, are refused, since the folder is replaced.
    """
    if not out.exists():
        return
    if Path.cwd().is_relative_to(out):
        raise WrongUse(
            f"{out} is the folder that you are in, or above it, and would be replaced; "
            "name another one, such as `aib site site/`"
        )
    if not out.is_dir():
        raise WrongUse(f"{out} is a file; name a folder for the site")
    there = {path.name for path in out.iterdir()}
    if not there:
        return
    try:
        mark = json.loads((out / MARK).read_text(encoding="utf-8"))
        ours = set(mark["holds"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WrongUse(
            f"{out} holds something else than a site; name an empty folder, or a new one"
        ) from None
    if others := sorted(there - ours):
        raise WrongUse(
            f"{out} is a site, but also holds {others[0]}; move that away, for the folder is "
            "made anew"
        )


def _write_folder(answers: Answers, page: Page | None, folder: Path, tell: Tell) -> int:
    """Write all files of the static site into *folder*, and return the number of files."""
    paths = sorted(path for path in answers.list_paths() if path != INDEX)
    files = {} if page is None else {**page.files, HOME: page.static_site_home}
    files["api/index.json"], files[PLAIN] = answers.get(INDEX) or b"", b""
    packs = []
    for number, pack in enumerate(_group_packs(_encode_pack_lines(answers, paths, tell))):
        packs.append((pack[0][0], pack[-1][0]))
        _write_file(
            folder / "api" / "packs" / f"{number}.gz",
            _compress_bytes(b"".join(line for _, line in pack)),
        )
    files["api/packs/list.gz"] = _compress_bytes(
        json.dumps(_find_first_path_prefixes(packs)).encode("ascii")
    )
    for name, body in files.items():
        _write_file(folder / name, body)
    holds = sorted({path.name for path in folder.iterdir()} | {MARK})
    mark = {"made_by": f"aib site {__version__}", "state": answers.catalog.version, "holds": holds}
    _write_file(folder / MARK, json.dumps(mark, indent=1).encode("ascii") + b"\n")
    return len(packs) + len(files) + 1


def _compress_bytes(body: bytes) -> bytes:
    """Return *body* compressed with gzip, the same bytes each time."""
    # without a time: the same store gives the same files
    return gzip.compress(body, LEVEL, mtime=0)


def _encode_pack_lines(
    answers: Answers, paths: Sequence[str], tell: Tell
) -> Iterator[tuple[str, bytes]]:
    """Yield for each of *paths* the path and a line for a pack (compressed file of many answers):
    path, tab, the answer as JSON; a CSV table is a JSON string. Raise BenchError if an answer is
    gone.
    """
    for written, (path, body) in enumerate(_read_answers(answers, paths), 1):
        if body is None:
            raise BenchError("the store was changed while it was read; make the site again")
        json_ = body if path.endswith(".json") else json.dumps(body.decode("utf-8")).encode("ascii")
        yield path, b"%b\t%b\n" % (path.encode("ascii"), json_)
        tell(written, len(paths))


def _read_answers(answers: Answers, paths: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
    """Yield each of *paths* and its answer as bytes, None if the answer is gone; conversations are
    read from the store many at once.
    """
    for together, some in groupby(paths, lambda path: path.startswith(CONVERSATION)):
        if not together:
            yield from ((path, answers.get(path)) for path in some)
        for chunk in split_chunks(some) if together else ():
            ids = [path.removeprefix(CONVERSATION).removesuffix(".json") for path in chunk]
            try:
                yield from zip(
                    chunk,
                    map(encode_page_json, build_transcript_answers(answers.catalog, ids)),
                    strict=True,
                )
            except NotThere:
                yield chunk[0], None


def _group_packs(lines: Iterator[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Yield *lines*, (path, line), in packs (lists that become one compressed file each), at most
    about `PACK` bytes each; a pack has paths that begin with the same folder.
    """
    for kind, some in groupby(lines, lambda one: one[0].partition("/")[0]):
        pack: list[tuple[str, bytes]] = []
        size = 0
        for path, line in some:
            size += len(line)
            if pack and size > PACKS_OF.get(kind, PACK):
                yield pack
                pack, size = [], len(line)
            pack.append((path, line))
        yield pack


def _find_first_path_prefixes(packs: Sequence[tuple[str, str]]) -> list[str]:
    """Return for each pack of answers the beginning of its first path, as long as needed to
    distinguish its paths from those of the pack before; "" for the first pack. *packs*: the first
    and the last path of each.
    """
    apart = ((last, first) for (_, last), (first, _) in pairwise(packs))
    return [
        "",
        *(
            first[: next(n for n, c in enumerate(first) if last[n : n + 1] != c) + 1]
            for last, first in apart
        ),
    ]


def _write_file(path: Path, body: bytes) -> None:
    """Write *body* to the file *path*, and make its folders if they are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
