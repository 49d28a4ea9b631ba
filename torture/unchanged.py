"""What two checkouts say of the same stores: everything that a user reads, compared part by part.

    PYTHONPATH=tests python torture/unchanged.py BEFORE AFTER
        [--store NAME ...] [--keep DIR] [--parallel 2]

BEFORE and AFTER are checkouts with a `.venv`; only their command line is used. BEFORE makes the
stores. Each command runs in a folder of its own, on a copy of the store. The last of the stores,
`scratch`, is made by each by itself: the same commands against its own `aib simulate` with the same
seeds, then exported, so its keys and hashes are compared. With --keep the stores and BEFORE's
answers are kept and used again, and what differs is written to DIR/different-AFTER.

Exports, CSV and exit codes must be the same bytes. JSON, the site's included, must have the same
keys and values once BEFORE's keys are renamed as `renamed.json` says and those that it lists as
gone are left out; their order is free. It has what CHANGELOG.md lists as removed, without names
that JSON still has elsewhere. Other text must have the same facts in the same order:
numbers, names, options, the lines of tables. Where only words differ, that is listed as wording and
counted apart. The exit code is 1 where anything but wording differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from first_stores import restored

from independence_bench.models.local.files import find_data_folder

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT.parent / "shared" / "published-dataset" / "cache.tar.xz"
FEW = "google--gemini-3-flash|google--gemma-3|z-ai--glm-4.6|qwen--qwen3-8b|mistralai--mistral-small"
PREFIX = "aib-unchanged-"
NEW = "export.json"  # a file of exports that older checkouts do not write
DEMO = "run embedded --judge embedded --protocol lite --runs 1"
SAID = {"COLUMNS": "120", "TZ": "UTC", "LANG": "C.UTF-8", "NO_COLOR": "1"}


# what may differ by nature
Norm = tuple[re.Pattern[bytes], bytes]
ALWAYS: tuple[Norm, ...] = (
    # each command has a folder of its own
    (re.compile(rb"[^\s\"']*/" + PREFIX.encode() + rb"[^/\s\"']*"), b"FOLDER"),
    # the simulated endpoint takes a free one
    (re.compile(rb"127\.0\.0\.1:\d+"), b"127.0.0.1:PORT"),
    # of the program, on citations and sites
    (re.compile(rb"(?<![\w.])\d+\.\d+\.\d+(?![\w.]*\d)"), b"VERSION"),
)
# and only where calls are made: when they were, how long they took
OF_CALLS: tuple[Norm, ...] = (
    # progress, a line every ten seconds
    (re.compile(rb"^.* so far(?:, .*)?\n", re.MULTILINE), b""),
    (re.compile(rb'"(\w+_at|seconds|span_hours)": *[0-9.e+-]+'), rb'"\1": TIME'),
    (
        re.compile(rb"\b(?:\d+ h |\d+ min )*\d+(?:\.\d+)? (?:s|min|h)(?= *$)", re.MULTILINE),
        b"DURATION",
    ),
    (re.compile(rb"\b20\d\d-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?"), b"DATE"),
    # a sum in the order in which answers came
    (re.compile(rb'("dollars": *\d+\.\d{8})\d+'), rb"\1"),
    (re.compile(rb"gen-sim-\d+"), b"gen-sim-N"),  # the endpoint counts what it is asked
    # the first of them that failed
    (re.compile(rb", \w+ and (\d+) more: "), rb", SCENARIO and \1 more: "),
    (re.compile(rb"cleared-[0-9a-f-]+"), b"cleared-KEY"),  # drawn anew at each `aib clear`
)
# Beside these: of a site only api/ is compared, since the rest is the page, which is built from
# web/.

# how keys were renamed, which ones are gone
KEYS = json.loads(Path(__file__).with_name("renamed.json").read_text())
HEADED = re.findall(
    r"^\[(.*)\]\n((?:.+\n)*)", Path(__file__).with_suffix(".txt").read_text(), re.MULTILINE
)
COMMANDS: dict[str, list[str]] = {heading: lines.splitlines() for heading, lines in HEADED}


# part (exit code, stdout, stderr, the path of a file that was written) -> content
Answer = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Checkout:
    """One version of the program, by its command line, and where the embedded model lies."""

    folder: Path
    data: Path

    def start(self, work: Path, command: str) -> subprocess.Popen[bytes]:
        """Start `aib` in *work*, with nobody to answer it."""
        environment = SAID | {
            "PATH": os.environ["PATH"],
            "HOME": str(work),
            "AIB_DATA": str(self.data),
        }
        words = [str(self.folder / ".venv/bin/aib"), *shlex.split(command)]
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen(
            words, cwd=work, env=environment, stdin=none, stdout=pipe, stderr=pipe
        )

    def run(self, work: Path, command: str, has_to: bool = False) -> Answer:
        """What the command came to, files excepted; whether it *has_to* do what it says."""
        process = self.start(work, command)
        out, err = process.communicate(timeout=3600)
        assert process.returncode == 0 or not has_to, (command, err)
        return {"exit code": str(process.returncode).encode(), "stdout": out, "stderr": err}

    @contextmanager
    def simulating(self, work: Path, options: str) -> Iterator[None]:
        """`aib simulate`, and models.yaml in *work* to reach it."""
        with self.start(work, f"simulate {options}") as server:
            assert server.stdout is not None
            address = server.stdout.readline().decode().strip()
            text = f"endpoints:\n  sim: {{url: {address}, dialect: openrouter}}\n"
            (work / "models.yaml").write_text(text, encoding="utf-8")
            try:
                yield
            finally:
                server.send_signal(signal.SIGINT)
                server.communicate(timeout=60)


def answer(program: Checkout, given: Path, store: Path | None, command: str) -> Answer:
    """Run a command on a copy of *store*, beside copies of the files in *given*."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        work = Path(shutil.copytree(given, Path(name, "work")))
        if store:
            shutil.copy(store, work / "aib.db")
        before = set(work.rglob("*")) | {work / f"aib.db{end}" for end in ("", "-wal", "-shm")}
        if command.startswith("import results"):
            program.run(work, "export results --licence unknown", has_to=True)
        parts = program.run(work, command)
        for path in sorted(set(work.rglob("*")) - before - set(work.rglob(NEW))):
            if path.is_file() and (
                work / "public" not in path.parents or work / "public/api" in path.parents
            ):
                parts[str(path.relative_to(work))] = path.read_bytes()
        return normal(parts, calls=command.startswith("judge "))


def normal(parts: Answer, calls: bool) -> Answer:
    """The answer without what differs by nature."""
    for pattern, instead in (*ALWAYS, *(OF_CALLS if calls else ())):
        parts = {part: pattern.sub(instead, content) for part, content in parts.items()}
    return parts


def play(program: Checkout, work: Path) -> Answer:
    """Fill `aib.db` in *work* from nothing; what each command said, and the export."""
    said: Answer = {}
    for heading, commands in COMMANDS.items():
        if heading.startswith("simulate"):
            with program.simulating(work, heading.removeprefix("simulate")):
                for command in commands:
                    done = program.run(work, command)
                    said |= {f"{command}: {part}": content for part, content in done.items()}
    export = {str(path.relative_to(work)): path.read_bytes() for path in work.glob("results/*")}
    # which draws some keys anew, by which rows are sorted
    parts = normal(said | export, calls=True)
    unsorted = (".jsonl", "stderr")  # failures are told as they come
    return {
        n: b"".join(sorted(c.splitlines(True))) if n.endswith(unsorted) else c
        for n, c in parts.items()
    }


def published(before: Checkout, work: Path, wanted: str = "") -> None:
    """The published data, or of it what matches *wanted*."""
    with tarfile.open(PUBLISHED) as whole, tarfile.open(work / "some.tar", "w") as some:
        for member in whole:
            if member.isfile() and re.search(wanted, member.name):
                some.addfile(member, whole.extractfile(member))
    before.run(work, "import some.tar", has_to=True)


def first(before: Checkout, work: Path) -> None:
    """The store that f7ce088 left, opened by BEFORE."""
    restored(work / "aib.db")
    before.run(work, "costs", has_to=True)


def again(before: Checkout, work: Path, empty: bool = False) -> None:
    """The export of that one in a store of its own; or, *empty*, a store in which nothing was
    played.
    """
    first(before, work)
    before.run(work, "export whole --licence unknown", has_to=True)
    (work / "aib.db").unlink()
    for path in (work / "whole").glob("*.jsonl") if empty else ():
        path.write_bytes(b"")
    before.run(work, "import whole", has_to=True)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of store: how BEFORE makes it, and what is put into the commands that read it."""

    make: Callable[[Checkout, Path], object]
    protocols: tuple[str, ...]
    a: str = "sim/stubborn@none"
    b: str = "sim/agreeable"
    judge: str = "sim/judge@"
    jury: str = "sim/judge@,judge-plain,embedded"
    # how the commands begin that are run: a large store takes minutes for its site
    only: tuple[str, ...] = ("",)

    def commands(self) -> Iterator[str]:
        """All that is read of it."""
        told = {"a": self.a, "b": self.b, "judge": self.judge, "jury": self.jury}
        asked = [
            (command, protocol) for protocol in self.protocols for command in COMMANDS["protocol"]
        ]
        asked += [(command, self.protocols[0]) for command in COMMANDS["store"]]
        for command, protocol in asked:
            weights = "--weights later" if protocol == "v1" else ""
            if command.startswith(self.only):
                yield " ".join(command.format(p=protocol, weights=weights, **told).split())


NOT_A_SITE = tuple(
    {command.split()[0] for command in COMMANDS["protocol"] + COMMANDS["store"]} - {"site"}
)
THEIRS = Kind(
    published,
    ("published-v2",),
    "gemini-3-flash",
    "glm-4.6@none",
    "published",
    "published",
    NOT_A_SITE,
)
SOME = partial(published, wanted=rf"/({FEW})[^/]*/run_[12]/")
KINDS = {
    "first": Kind(first, ("v1", "v2", "lite", "published-v2")),
    "fresh": Kind(play, ("lite",)),
    "published": THEIRS,
    "published-some": replace(THEIRS, make=SOME, only=("site", "show", "compare --by")),
    "imported": Kind(again, ("v2",), only=("leaderboard", "judges", "audit", "costs", "export")),
    "embedded": Kind(
        partial(Checkout.run, command=DEMO, has_to=True), ("lite",), "embedded", "smollm2"
    ),
    "empty": Kind(partial(again, empty=True), ("lite",)),
}
NOTHING, SCRATCH = "no store", "scratch"


def make(before: Checkout, kept: Path, name: str) -> bool:
    """Make the store if it is not there; False where this machine has not what it is made of."""
    store, of = (
        kept / "stores" / f"{name}.db",
        PUBLISHED if name.startswith("published") else before.folder,
    )
    if not of.exists() or (name == "embedded" and not any(before.data.iterdir())):
        print(
            f"{name}: left out; the {'embedded model' if of.exists() else 'published data'} is "
            "not here",
            flush=True,
        )
        return False
    if not store.exists():
        with tempfile.TemporaryDirectory(prefix=PREFIX) as work:
            KINDS[name].make(before, Path(work))
            part = store.with_suffix(".part")
            with (
                closing(sqlite3.connect(Path(work, "aib.db"))) as made,
                closing(sqlite3.connect(part)) as whole,
            ):
                made.backup(whole)
            part.rename(store)
    return True


def differences(command: str, before: Answer, after: Answer) -> Iterator[tuple[bool, str]]:
    """The first that is more than wording, the first that is only wording; True there."""
    found: dict[bool, list[str]] = {False: [], True: []}
    before, after = (
        {name: plain_json(content) for name, content in side.items()} for side in (before, after)
    )
    for part in sorted(before.keys() | after.keys()):
        was, now = before.get(part), after.get(part)
        if was != now:
            may_be_worded = is_text(command, part) or (now or b"")[:1] in (b"{", b"[")
            found[bool(was and now and may_be_worded and facts(was) == facts(now))].append(part)
    for wording, (part, *more) in ((wording, parts) for wording, parts in found.items() if parts):
        where = first_difference(before.get(part), after.get(part))
        yield wording, f"{part}{f' (and {len(more)} more)' if more else ''}, {where}"


def plain_json(content: bytes) -> bytes:
    """JSON with the keys of today, one value a line, in the order of the keys; anything else as it
    is.
    """
    try:
        value = json.loads(content, object_pairs_hook=with_keys_of_today, parse_float=rounded)
    except ValueError:
        return content
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode()


def rounded(number: str) -> float:
    """The number to ten digits: an equal formula may be summed in another order."""
    return float(f"{float(number):.10g}")


def with_keys_of_today(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object without what is gone, its keys renamed."""
    return {KEYS["renamed"].get(key, key): value for key, value in pairs if key not in KEYS["gone"]}


def is_text(command: str, part: str) -> bool:
    """Whether the part is for people: prose and tables, so that its words may change."""
    if part.endswith("stdout"):
        return "--json" not in f"{command} {part}"
    return part.endswith("stderr") or (
        part.endswith((".md", ".svg")) and not part.startswith("results/")
    )


def facts(content: bytes) -> list[str]:
    """Everything but plain words: numbers, names with signs in them, options, the lines of tables;
    in their order.
    """
    text = re.sub(r"[─━═-]{3,}", "─", content.decode(errors="replace"))
    tokens = (token.strip(".,;:!?()[]“”\"'`*") for token in text.split())
    return [
        token
        for token in tokens
        if token and not re.fullmatch(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", token)
    ]


def first_difference(was: bytes | None, now: bytes | None) -> str:
    """Its line, and what stands there before and after."""
    if was is None or now is None:
        return "only before" if now is None else "only after"
    old, new = (content.decode(errors="replace").splitlines() for content in (was, now))
    lines = enumerate(zip_longest(old, new, fillvalue="(end)"), 1)
    number, a, b = next(((n, a, b) for n, (a, b) in lines if a != b), (0, "", "line ends"))
    at = max(
        next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        - 40,
        0,
    )
    return f"line {number}: {a[at : at + 100]!r} -> {b[at : at + 100]!r}"


def kept_answer(path: Path, ask: Callable[[], Answer]) -> Answer:
    """The answer that is kept at *path*, else that of *ask*, kept there now."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path.with_suffix(".part"), "w", zipfile.ZIP_DEFLATED) as archive:
            for part, text in ask().items():
                archive.writestr(part, text)
        path.with_suffix(".part").rename(path)
    with zipfile.ZipFile(path) as archive:
        return {part: archive.read(part) for part in archive.namelist()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two checkouts, what of BEFORE's is kept, the files beside each store, and where to write what
    differs.
    """

    before: Checkout
    after: Checkout
    kept: Path
    given: Path
    different: Path

    def of(self, item: tuple[str, str]) -> list[bool]:
        """Ask both for one answer and print what differs; for each line whether it is only
        wording.
        """
        name, command = item
        place = re.sub(r"[^\w@.,=-]+", "_", command)
        was = kept_answer(
            self.kept / "before" / name / f"{place}.zip",
            lambda: self.ask(self.before, name, command),
        )
        now = self.ask(self.after, name, command)
        for side, parts, others in (("before", was, now), ("after", now, was)):
            for part in (part for part in parts if parts[part] != others.get(part)):
                path = self.different / name / place / side / part.replace("/", "_")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(parts[part])
        found = dict(differences(command, was, now))
        for wording, line in found.items():
            print(
                f"{'wording' if wording else 'DIFFERS'}  {name}: aib {command}: {line}", flush=True
            )
        return list(found)

    def ask(self, program: Checkout, name: str, command: str) -> Answer:
        """What one of them says."""
        if name == SCRATCH:
            with tempfile.TemporaryDirectory(prefix=PREFIX) as work:
                return play(program, Path(work))
        return answer(
            program,
            self.given,
            None if name == NOTHING else self.kept / "stores" / f"{name}.db",
            command,
        )


def prepare(folder: Path, kept: Path) -> Checkout:
    """BEFORE, with the files that commands are given; ends where *kept* has the answers of another
    one.
    """
    (data := kept / "data").mkdir(parents=True, exist_ok=True)
    (kept / "stores").mkdir(exist_ok=True)
    sources = b"".join(path.read_bytes() for path in sorted((folder / "src").rglob("*.py")))
    state, mark = hashlib.sha256(sources).hexdigest(), kept / "before.sha256"
    if mark.exists() and mark.read_text() != state:
        sys.exit(
            f"{kept} has the answers of another version than {folder}; name another folder or "
            "delete it"
        )
    mark.write_text(state)
    before = Checkout(folder.resolve(), data)
    if not (given := kept / "given").exists():
        if (own := find_data_folder()).exists():  # of this user, whose weights are used
            for file in own.iterdir():
                (data / file.name).symlink_to(file)
        (lite,) = (path.parent for path in (folder / "src").rglob("lite/protocol.yaml"))
        shutil.copytree(lite, given / "my-protocol")
        damaged = Path(shutil.copytree(lite, given / "damaged"), "protocol.yaml")
        damaged.write_text(damaged.read_text().replace("\nruns: ", "\nruns: many", 1))
        with before.simulating(given, "--seed 1 --fault http-500=0.2 --ledger ledger.jsonl"):
            before.run(
                given,
                "run sim:sim/stubborn --protocol lite --runs 1 --no-judge --store ledger.db",
                has_to=True,
            )
    return before


def main() -> int:
    """Make what is missing, ask both, say what differs."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("before", type=Path)
    options.add_argument("after", type=Path)
    options.add_argument(
        "--store", action="append", choices=(*KINDS, NOTHING, SCRATCH), metavar="NAME"
    )
    options.add_argument("--keep", type=Path, metavar="DIR")
    options.add_argument("--parallel", type=int, default=2)
    wanted = options.parse_args()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX) as name,
        ThreadPoolExecutor(wanted.parallel) as pool,
    ):
        kept = (wanted.keep or Path(name, "kept")).resolve()
        before = prepare(wanted.before, kept)
        after = Checkout(wanted.after.resolve(), before.data)
        given = Path(shutil.copytree(kept / "given", Path(name, "given")))
        shutil.rmtree(different := kept / f"different-{after.folder.name}", ignore_errors=True)
        comparison = Comparison(before, after, kept, given, different)
        names = [
            name for name in (*KINDS, NOTHING, SCRATCH) if not wanted.store or name in wanted.store
        ]
        stores = [name for name in names if name in KINDS]
        made = pool.map(partial(make, before, kept), stores)
        there = [name for name, is_made in zip(stores, made, strict=True) if is_made]
        items = [
            (name, command) for name in there for command in dict.fromkeys(KINDS[name].commands())
        ]
        items += [(NOTHING, command) for command in COMMANDS["nothing"] if NOTHING in names]
        items += [(SCRATCH, "everything")] if SCRATCH in names else []
        with before.simulating(given, "--seed 5"):
            found = [wording for some in pool.map(comparison.of, items) for wording in some]
    seconds, wording = time.monotonic() - began, sum(found)
    print(
        f"{len(items)} commands ({seconds:.0f} s): {len(found) - wording} differ, {wording} only "
        "in words"
    )
    return 1 if len(found) > wording else 0


if __name__ == "__main__":
    sys.exit(main())
