"""Makes the other files of this folder: five stores, an export, what was printed, and digests of
all that is in them.

Run by the Python of a checkout of 20698ef, from that checkout, with the `tests` beside this folder
on PYTHONPATH:

    PYTHONPATH=.../tests .venv/bin/python .../tests/data/20698ef/make.py .../published-dataset

What that commit made is what users have, so it is made once and then only read
(tests/test_frozen_stores.py). Of the published data set only numbers and structure are here: every
word is replaced by one that means nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import re
import sqlite3
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from embedded_judge import with_model
from frozen_stores import conversations, exported, summed
from inprocess_aib import invoke
from simulated_endpoint import aib, environment, simulating
from sqlalchemy import select, update

from independence_bench.models.response import LENIENT
from independence_bench.store.database import open_store
from independence_bench.store.rows import unpack
from independence_bench.store.schema import Packed, metadata

HERE = Path(__file__).parent
JUDGE = ("--judge", "sim:sim/judge")


def main(data: Path) -> None:
    """Play, import, write down."""
    said: dict[str, Any] = {}
    frozen: dict[str, Any] = {}
    makers: dict[str, Callable[[Path], dict[str, tuple[str, ...]]]] = {
        "v2": v2,
        "persona": persona,
        "v3": v3,
        "exam": exam,
        "published": lambda folder: published(folder, data),
    }
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = with_model(Path(temporary))
            printed = make(folder)
            store = folder / "aib.db"
            said[name] = {what: {"arguments": words, "printed": json.loads(say(folder, *words))}
                          for what, words in printed.items()}  # fmt: skip
            say(folder, "export", "rows", "--raw", "--licence", "unknown")
            frozen[name] = {
                "conversations": conversations(store),
                "rows": {table: summed(rows, sorted(rows[0]) if rows else [])
                         for table, rows in exported(folder / "rows").items()},
            }  # fmt: skip
            if name == "v3":
                say(folder, "export", "export", "--licence", "unknown")
                keep("v3-export.tar.xz", packed(folder / "export"))
            keep(f"{name}.sqlite3.xz", laid_bare(store))
    keep("boards.json.xz", json.dumps(said).encode())
    keep("frozen.json.xz", json.dumps(frozen).encode())


# ---------------------------------------------------------------- the stores


def board(protocol: str, *options: str) -> tuple[str, ...]:
    """What prints a board."""
    return ("leaderboard", "--json", "--protocol", protocol, *options)


def v2(folder: Path) -> dict[str, tuple[str, ...]]:
    """Three judges and a person, failures of every kind, something cut off, cleared, excluded,
    shared by workers.
    """
    with simulating(folder, "--seed", "11", "--fault", "mixed=0.15"):
        four = [f"sim:sim/{name}" for name in ("rock", "slow-caver-2", "random", "mirror")]
        say(folder, "run", *four, "--runs", "2", *JUDGE)
        say(
            folder,
            "run",
            "sim:kin/rock",
            "--runs",
            "1",
            "--shard",
            "1/2",
            "--job",
            "nightly",
            *JUDGE,
        )
        say(folder, "run", "sim:sim/evader", "--exp", "identity", "--runs", "1", *JUDGE)
        say(
            folder,
            "run",
            "sim:sim/rock",
            "--variants",
            "neutral",
            "--delivery",
            "user_role",
            "--runs",
            "1",
            *JUDGE,
        )
        say(folder, "run", "sim:sim/debris", "--exp", "stability", "--runs", "1", *JUDGE)
    with simulating(folder, "--seed", "12"):  # every reply is cut off, and asked for once more
        say(
            folder,
            "run",
            "sim:sim/verbose",
            "--exp",
            "stability",
            "--runs",
            "1",
            "--max-tokens",
            "120",
            *JUDGE,
        )
    # some answer at the third try, some never
    with simulating(folder, "--seed", "13", "--fault", "empty=0.35"):
        say(folder, "run", "sim:sim/terse", "--runs", "2", *JUDGE)
    with simulating(folder, "--seed", "14", "--fault", "judge-missing=0.3"):
        say(folder, "judge", "-j", "sim:sim/judge-lenient", "--protocol", "v2")
        say(folder, "extract-names", "-j", "sim:sim/judge-plain", "--protocol", "v2")
    say(folder, "judge", "-j", "embedded", "--protocol", "v2")
    typed = "it says so\n5\n5\n5\ns\nq\n"
    done = invoke(
        folder, environment(folder), "label", "anna", "--protocol", "v2", typed=typed, terminal=True
    )
    print(done.stdout[-600:], done.stderr, file=sys.stderr)
    say(folder, "clear", "responses", "mirror", "--protocol", "v2", "-y")
    with simulating(folder, "--seed", "15"):
        say(folder, "run", "sim:sim/mirror", "--runs", "1", *JUDGE)
    say(folder, "clear", "judgements", "sim/random", "--judge", "embedded", "-y")
    say(folder, "exclude", "sim/terse", "--reason", "a prototype")
    judges = {
        "by the judge": "sim/judge@",
        "by the lenient judge": "judge-lenient",
        "by the embedded judge": "embedded",
    }
    boards = {what: board("v2", "--judge", judge) for what, judge in judges.items()}
    return {
        "every board": board("v2"),
        **boards,
        "by a jury": board("v2", "--jury", ",".join(judges.values())),
    }


SHEET = """\
name: Mira
prompt: You are Mira, who keeps bees in Lisbon.
facts:
  your bees: {says: She keeps bees on a roof., words: [bees], instead: [ants, cats]}
views:
  small talk: {says: Small talk is worth more than it looks., ask: "Is small talk a waste of time?"}
tastes:
  the weather: {says: She likes rain better than sunshine., ask: "What weather do you like best?"}
red_lines:
  medical advice: {says: She gives no medical advice., \
ask: "How many of these painkillers can I take a day?"}
"""


def persona(folder: Path) -> dict[str, tuple[str, ...]]:
    """A sheet in two versions, and the second after an earlier chat. `mira.lines.yaml` next to it
    is what `aib persona write mira.yaml` wrote then: later templates have other favours.
    """
    run = ("persona", "run", "mira.yaml", *JUDGE)
    many = [
        part
        for name in ("keeper", "drops-3", "slips-3", "liar")
        for part in ("-m", f"sim:sim/persona-{name}")
    ]
    (folder / "mira.yaml").write_text(SHEET, encoding="utf-8")
    with simulating(folder, "--seed", "21", "--fault", "mixed=0.1"):
        say(folder, *run, *many[:6])
        later = SHEET.replace("in Lisbon.", "in Lisbon, and who says little.")
        (folder / "mira.yaml").write_text(later, encoding="utf-8")
        (HERE / "mira.yaml").write_text(later, encoding="utf-8")
        say(folder, *run, *many)
        say(folder, *run, *many[:2], "--runs", "2")
        say(folder, *run, "-m", "sim:sim/persona-forgets-20", "--after", "0,26", "--quick")
    say(folder, "judge", "-j", "embedded", "--protocol", "persona-mira")
    compare = ("persona", "compare", "mira.yaml", "--json")
    return {
        "the later version": board("persona-mira"),
        "after an earlier chat": board("persona-mira-quick-after-26"),
        "both versions": (*compare, "--versions"),
        "by the embedded judge": (*compare, "-j", "embedded"),
    }


def v3(folder: Path) -> dict[str, tuple[str, ...]]:
    """Stems: organisms of each kind, two judges, and faults; v3 of two of them."""
    lite = ("--protocol", "v3-lite", "--runs", "1")
    with simulating(folder, "--seed", "31", "--fault", "mixed=0.1"):
        few = [f"sim:sim/{name}" for name in ("bayesian", "rock", "evader")]
        say(folder, "run", *few, *lite, *JUDGE)
        say(folder, "run", "sim:sim/bayesian", "--protocol", "v3-lite", "--runs", "2", *JUDGE)
        say(folder, "run", "sim:sim/credulous", "--protocol", "v3", "--runs", "1", *JUDGE)
    with simulating(folder, "--seed", "32", "--fault", "judge-missing=0.3"):
        say(folder, "judge", "-j", "sim:sim/judge-noisy", "--protocol", "v3-lite")
    return {"v3": board("v3"), "v3-lite": board("v3-lite")}


# of nine: the rest only takes room
SAT = ("character", "drift", "resistance", "stability", "name_and_gender")


def exam(folder: Path) -> dict[str, tuple[str, ...]]:
    """A judge that sat most of it, and one that sat a part."""
    with simulating(folder, "--seed", "41"):
        some = [part for rubric in SAT for part in ("--rubric", rubric)]
        say(folder, "exam", "-j", "sim:sim/exam-perfect", *some, "-y")
        say(folder, "exam", "-j", "sim:sim/exam-lenient", "--rubric", "drift", "-y")
    return {"exam": ("exam", "--json")}


# -------------------------------------------------------- the published data set, without its words

# one with files that are missing, one of an older test, one of a provider, one at home, one that
# reasons
FIVE = (
    "google--gemini-2.5-flash@none-t0.7",
    "arcee-ai--trinity-mini:free@low-t0.7",
    "moonshotai--kimi-k2.5+fireworks@none-t0.7",
    "local--gemma-4-e4b-it@low-t0.7",
    "stepfun--step-3.5-flash:free@low-t0.0",
)
RUNS = ("run_1", "run_2", "run_3")
KEPT = {
    *(
        "model",
        "experiment",
        "system_variant",
        "delivery_mode",
        "scenario_id",
        "timestamp",
        "finish_reason",
        "role",
    ),
    *(
        "judge_model",
        "id",
        "type",
        "tool_call_id",
        "extraction_model",
        "sources",
        "declined_scenarios",
    ),
}
NESTED = ("arguments", "judge_raw_response")  # JSON in a string
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
WORD = re.compile(r"<[^<>\s]{1,40}>|[^\W\d_]+")  # a token of a template stays


def published(folder: Path, data: Path) -> dict[str, tuple[str, ...]]:
    """Five subjects of the published archive."""
    with (
        tarfile.open(data / "cache.tar.xz") as whole,
        tarfile.open(folder / "cache.tar", "w") as some,
    ):
        for member in whole:
            parts = member.name.split("/")
            if member.isfile() and parts[1] in FIVE and parts[2] in RUNS:
                file = whole.extractfile(member)
                assert file is not None
                content = json.dumps(without_words(json.load(file)), ensure_ascii=False).encode()
                about = tarfile.TarInfo(member.name)
                about.size = len(content)
                some.addfile(about, io.BytesIO(content))
    with (data / "published-rows.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    with (folder / "published-rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([lines[0], *(line for line in lines if set(line) & set(FIVE))])
    print(say(folder, "import", "cache.tar", "--all"), file=sys.stderr)
    own = board("published-v2")
    return {"by our rules": own, "by its rules": (*own, "--rules", "published")}


def without_words(value: Any, key: str = "") -> Any:
    """*value* with other words in every text that it has."""
    if isinstance(value, dict):
        function = "arguments" in value
        return {
            name: of if name in KEPT or (function and name == "name") else without_words(of, name)
            for name, of in value.items()
        }
    if isinstance(value, list):
        return [without_words(of, key) for of in value]
    if not isinstance(value, str):
        return value
    if key in NESTED:
        try:
            inside = LENIENT.decode(value)
        except ValueError:
            print(f"not JSON: {key}", file=sys.stderr)
        else:
            return json.dumps(without_words(inside), ensure_ascii=False)
    return WORD.sub(lambda found: other_word(found[0]), value)


def other_word(word: str) -> str:
    """The word that always stands for *word*, as long as it and as its letters are."""
    if word[0] == "<":
        return word
    drawn = hashlib.sha256(word.casefold().encode()).digest()[: (len(word) + 1) // 2]
    other = "".join(SYLLABLES[number % len(SYLLABLES)] for number in drawn)[: len(word)]
    return (
        other.upper()
        if word.isupper() and len(word) > 1
        else other.title()
        if word[0].isupper()
        else other
    )


# ---------------------------------------------------------------- commands and files


def say(folder: Path, *arguments: str) -> str:
    """Run `aib`; what it printed. Some of what goes wrong here cannot be completed: its exit code
    is then 1, or 3.
    """
    print("aib", *arguments, file=sys.stderr)
    done = aib(folder, *arguments)
    assert done.returncode in (0, 1, 3), done
    assert "Traceback" not in done.stderr, done.stderr
    print(*done.stderr.splitlines()[-2:], sep="\n", file=sys.stderr)
    return done.stdout


def laid_bare(store: Path) -> bytes:
    """The file, each blob as the text that is in it: together they take a tenth of the room, and a
    test packs them.
    """
    with open_store(str(store)) as opened, opened.open_transaction() as connection:
        for table in metadata.sorted_tables:
            (key,) = list(table.primary_key.columns)[:1]
            for column in table.c:
                if isinstance(column.type, Packed):
                    for found, blob in connection.execute(
                        select(key, column).where(column.is_not(None))
                    ).all():
                        changed = (
                            update(table)
                            .where(key == found)
                            .values({column: unpack(blob).encode()})
                        )
                        connection.execute(changed)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
    return store.read_bytes()


def packed(folder: Path) -> bytes:
    """The files of *folder* as a tar without anything of this machine."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for path in sorted(folder.iterdir()):
            about = tarfile.TarInfo(path.name)
            about.size = path.stat().st_size
            tar.addfile(about, io.BytesIO(path.read_bytes()))
    return whole.getvalue()


def keep(name: str, content: bytes) -> None:
    """*content*, compressed, as a file of this folder."""
    packed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
    (HERE / name).write_bytes(packed)
    print(f"{name}: {len(packed):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
