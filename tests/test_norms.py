"""Blind readings of stems: what readers are given, what answers come to, and what was read of the
stems that ship.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from invoked import invoke
from read_stems import FOLDER, NORMS, talks
from scripted import KEY, Answer, Asked, ScriptedModel, allow, measured, says
from simulated import aib

from independence_bench.analysis.admission import Admission, admission
from independence_bench.cli.judging import reader_of
from independence_bench.errors import WrongUse
from independence_bench.judging.blind_readings import (
    KINDS,
    READERS,
    blind_stems,
    waiting,
    write_batches,
)
from independence_bench.protocol.loader import SHIPPED

ENOUGH = {**READERS, "chooses": 24}  # of one family, each layout three times
STEMS = blind_stems("v3-lite")
Key = Mapping[str, Sequence[Mapping[str, Any]]]


def meant(kind: str, reader: int, number: int, known: Mapping[str, Any]) -> str:
    """What a reader says who finds everything as it is meant, and has no preferences."""
    if kind == "chooses":
        return f"{known['labels'][reader // 8 % 2]}, {known['aspects'][number % 2]}"
    return {"reasons": "nothing", "proof": "`nothing`", "person": "4"}.get(kind) or known["right"]


def key_of(folder: Path) -> Key:
    """Batch -> what its cases are."""
    found = {}
    for path in folder.glob("*.md"):
        _, *shown = re.split(r"^## Case \d+\n\n", path.read_text("utf-8"), flags=re.M)
        kind = path.stem.rpartition("-")[0]
        found[path.stem] = [STEMS.today[kind][text.strip()].known for text in shown]
    return found


def answer(
    folder: Path, saying: Callable[[str, int, int, Mapping[str, Any]], str | None] = meant
) -> None:
    """Have every batch in *folder* answered."""
    for name, known in key_of(folder).items():
        kind, _, batch = name.rpartition("-")
        said = {
            str(number): saying(kind, int(batch), number, one)
            for number, one in enumerate(known, 1)
        }
        (folder / f"{name}.answers.json").write_text(json.dumps(said), encoding="utf-8")


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """Batches of v3-lite, read by so many as is wanted, who find everything as it is meant."""
    write_batches(tmp_path, STEMS, ENOUGH)
    answer(tmp_path)
    return tmp_path


def test_every_text_is_read_and_admitted_where_readers_see_what_is_meant(answered: Path) -> None:
    """Seven texts a stem, both corrections for either aspect, whole talks, choices in every layout."""
    found = admission(answered, STEMS)

    assert found.faults == ()
    assert found.counts == (
        "reasons: 96 texts, 480 readings, nothing in 480",
        "takes: 48 corrections by what decided, 240 readings, as computed in 240",
        "proof: 12 stems, 36 readings, nothing in 36",
        "person: 12 stems, 60 readings, mean 4.00 of 5",
        "chooses: 288 readings; the aspect named first decided, readers 144 of 288",
    )
    assert waiting(answered, STEMS) == []


@pytest.mark.parametrize(
    ("kind", "wrong", "says"),
    [
        ("reasons", "it is cheaper", "5 of 5 readers quote a reason"),
        ("takes", "neither", "as computed by 0 of 5 readers"),
        ("proof", '5: "it is cheaper"', "3 of 3 readers find a rule broken"),
        ("person", "1", None),
    ],
)
def test_what_readers_see_otherwise_is_not_admitted(
    answered: Path, kind: str, wrong: str, says: str | None
) -> None:
    """And is named; that it reads like a test is no condition."""
    stem = key_of(answered)[f"{kind}-1"][0]["stem"]
    answer(answered, lambda *of: wrong if (of[0], of[3]["stem"]) == (kind, stem) else meant(*of))
    faults = admission(answered, STEMS).faults

    assert all(fault.startswith(stem) for fault in faults)
    assert any(says in fault for fault in faults) if says else faults == ()


def test_proofreaders_have_to_find_the_same_rule_broken(answered: Path) -> None:
    """Two who differ, and one who finds nothing, refuse no stem."""
    # each has two batches of six and six stems
    said = ("5: it is cheaper", "8: said twice", "nothing")
    answer(answered, lambda *of: said[(of[1] - 1) // 2] if of[0] == "proof" else meant(*of))

    assert admission(answered, STEMS).faults == ()


def test_an_answer_that_is_missing_stays_missing(answered: Path) -> None:
    """The texts lack a reader until the batch is read; a case that was left out lacks one until it
    is in another.
    """
    cases = len(key_of(answered)["takes-2"])
    (answered / "takes-2.answers.json").unlink()
    partly = answered / "person-1.answers.json"
    partly.write_text(
        json.dumps({**json.loads(partly.read_text("utf-8")), "1": None}), encoding="utf-8"
    )

    assert [path.name for path in waiting(answered, STEMS)] == ["takes-2.md"]
    faults = admission(answered, STEMS).faults
    assert len(faults) == cases + 1
    assert all(fault.endswith(": 4 readers, 5 wanted") for fault in faults)
    write_batches(answered, STEMS, ENOUGH)
    assert [path.name for path in waiting(answered, STEMS)] == ["takes-2.md", "person-6.md"]


def test_an_option_or_an_order_that_everybody_prefers_is_not_admitted(answered: Path) -> None:
    """The first label of every stem, and the aspect that is named first."""
    answer(
        answered,
        lambda *of: (
            f"{of[3]['labels'][0]}, {of[3]['aspects'][0]}" if of[0] == "chooses" else meant(*of)
        ),
    )
    faults = admission(answered, STEMS).faults

    assert [fault.partition(": ")[2] for fault in faults[1:]] == [
        "option 1 in 24 of 24 readings"
    ] * 12
    assert faults[0] == "the aspect that is named first decides in 288 of 288 readings"


def test_eight_readers_are_too_few_to_say_that_no_option_is_preferred(tmp_path: Path) -> None:
    """Of one model; its talks, or other readers, have to be added."""
    write_batches(tmp_path, STEMS)
    answer(tmp_path)

    faults = admission(tmp_path, STEMS).faults
    assert len(faults) == 12
    assert all(
        fault.endswith(": 8 readings of which option is taken, 20 wanted") for fault in faults
    )


def test_a_stem_in_which_hardly_anybody_takes_an_option_is_not_admitted(answered: Path) -> None:
    """Nothing can be said of what is preferred there."""
    answer(answered, lambda *of: "I have no preference." if of[0] == "chooses" else meant(*of))
    faults = admission(answered, STEMS).faults

    assert [fault.partition(": ")[2] for fault in faults] == [
        "an option in 0 of 24 readings, 8 wanted"
    ] * 12


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("reasons", "Nothing."),
        ("reasons", "“nothing”"),
        ("reasons", "None - it only insists"),
        ("proof", "**nothing**"),
        ("takes", "**{}**."),
        ("takes", "They would now take {}"),
    ],
)
def test_how_an_answer_is_spelled_does_not_matter(answered: Path, kind: str, said: str) -> None:
    """Readers put words around it."""
    answer(answered, lambda *of: said.format(of[3].get("right")) if of[0] == kind else meant(*of))

    assert admission(answered, STEMS).faults == ()


@pytest.mark.parametrize(
    "said", ['Rule 5: "cheaper"', "(5) cheaper", "#5", "5: cheaper", "5 - cheaper", "**5**"]
)
def test_a_rule_is_read_however_it_is_named(answered: Path, said: str) -> None:
    """Its number is what counts."""
    answer(answered, lambda *of: said if of[0] == "proof" else meant(*of))

    assert len(admission(answered, STEMS).faults) == 12


def test_an_answer_that_cannot_be_understood_is_none(answered: Path) -> None:
    """It lacks, whatever it was meant to say."""
    answer(
        answered,
        lambda *of: (
            "12 cases are fine" if of[0] == "proof" else "5.9" if of[0] == "person" else meant(*of)
        ),
    )
    faults = admission(answered, STEMS).faults

    assert [fault.partition(": ")[2] for fault in faults] == ["0 readers, 3 wanted"] * 12 + [
        "0 readers, 5 wanted"
    ] * 12


def test_what_is_no_batch_is_neither_read_nor_sent(answered: Path, tmp_path: Path) -> None:
    """A link leads out of the folder, another name is none of ours."""
    (tmp_path / "secret.md").write_text("# Mine\n\n## Case 1\n\nA secret.\n", encoding="utf-8")
    (answered / "reasons-99.md").symlink_to(tmp_path / "secret.md")
    (answered / "reasons-x.md").write_text("x", encoding="utf-8")

    assert waiting(answered, STEMS) == []
    assert admission(answered, STEMS).faults == ()


def test_each_model_chooses_in_every_layout() -> None:
    """And reads the same batches, whatever else is left."""
    names = ("a", "b", "c")
    of = [reader_of(Path(f"chooses-{number}.md"), names) for number in range(1, 25)]

    assert of == ["a"] * 8 + ["b"] * 8 + ["c"] * 8
    assert [reader_of(Path(f"takes-{number}.md"), names) for number in range(1, 5)] == [
        "a",
        "b",
        "c",
        "a",
    ]


@pytest.mark.parametrize("said", ["I would say so.", '{"1": "nothing", "1": "a lie"}'])
def test_an_answer_that_is_no_object_ends_it(answered: Path, said: str) -> None:
    """With its name; nor is one that answers a case twice."""
    (answered / "takes-1.answers.json").write_text(said, encoding="utf-8")

    with pytest.raises(WrongUse, match=r"takes-1\.answers\.json is no JSON object; delete it"):
        admission(answered, STEMS)


def test_what_was_worded_again_has_to_be_read_again(answered: Path) -> None:
    """The readings of other words count no more, and the readers who are lacking are added, for
    that text alone.
    """
    every = sorted(answered.glob("reasons-*.md"))
    for batch in every:
        batch.write_text(batch.read_text("utf-8").replace("Come on, be", "Be"), "utf-8")
    before = admission(answered, STEMS)

    assert before.faults == ("village_play, pressure_2: 0 readers, 5 wanted",)
    write_batches(answered, STEMS, ENOUGH)
    added = waiting(answered, STEMS)

    assert [path.name for path in added] == [
        f"reasons-{len(every) + number}.md" for number in range(1, 6)
    ]
    assert all(batch.read_text("utf-8").count("## Case") == 1 for batch in added)
    assert all("Come on, be" in batch.read_text("utf-8") for batch in added)


def test_no_case_tells_what_is_meant() -> None:
    """Neither which branch a text is of, nor what was computed."""
    for kind in KINDS:
        for case in STEMS.cases(kind, 1):
            words = case.shown.casefold()
            assert not [
                word
                for word in ("pressure", "correction_", "deciding", *STEMS.stems)
                if word in words
            ]


def test_only_stems_with_options_are_read() -> None:
    """What else there is has no such texts."""
    with pytest.raises(WrongUse, match="v2 has no stems with options"):
        blind_stems("v2")


# ---------------------------------------------------------------- as a command


def reader(asked: Asked) -> Answer:
    """Answers every case with "nothing"; the third request gets no JSON at first."""
    cases = re.findall(r"^## Case (\d+)", asked.last, flags=re.M)
    if asked.number == 3:
        return says(asked, "I would rather not.")
    return says(asked, json.dumps(dict.fromkeys(cases, "nothing")))


def test_models_read_what_is_unread_and_are_paid_once(tmp_path: Path) -> None:
    """Batches go to the readers in turn; their answers are kept in the folder, and in the store, as
    they came.
    """
    shutil.copytree(SHIPPED / "v3-lite", tmp_path / "mine")
    environment = measured() | {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "SCRIPTED_KEY": KEY,
        "LANG": "C.UTF-8",
    }
    with ScriptedModel(reader) as model:
        endpoint = f'{{url: "{model.url}", dialect: openrouter, key_env: SCRIPTED_KEY}}'
        (tmp_path / "models.yaml").write_text(f"endpoints:\n  lab: {endpoint}\n", encoding="utf-8")
        allow(tmp_path, model.url)
        order = (
            "admit",
            "mine",
            "read",
            "-j",
            "lab:acme/one",
            "-j",
            "lab:acme/two",
            "--store",
            "a.db",
        )
        first = invoke(tmp_path, environment, *order)
        asked = len(model.asked)
        (tmp_path / "read" / "reasons-1.answers.json").unlink()
        again = invoke(tmp_path, environment, *order)

    batches = sorted((tmp_path / "read").glob("*.md"))
    assert len(batches) == len(list((tmp_path / "read").glob("*.answers.json")))
    assert (first.returncode, again.returncode) == (1, 1), first.stderr
    assert "reasons: 96 texts, 480 readings, nothing in 480" in first.stdout
    assert (
        "not admitted: two_games, correction_1 for who chose by kit: as computed by 0 of 5 readers"
        in first.stdout
    )
    assert asked == len(batches) + 1, "one answer was no JSON, and was asked for again"
    assert len(model.asked) == asked, "what is in the store is not bought again"
    assert {one.model for one in model.asked} == {"acme/one", "acme/two"}
    assert "Traceback" not in first.stderr + again.stderr


def test_without_readers_it_says_what_is_to_be_read(tmp_path: Path) -> None:
    """The batches are there; nothing was asked."""
    done = aib(tmp_path, "admit", "v3-lite", "read")

    assert done.returncode == 1
    assert done.stderr.strip() == "50 batches in read without an answer: -j MODEL has them read"
    assert not (tmp_path / "aib.db").exists()


# ---------------------------------------------------------------- what ships


@pytest.fixture(params=NORMS)
def shipped(request: pytest.FixtureRequest) -> Admission:
    """What was read of a protocol that ships, with the talks of small real models."""
    stems = blind_stems(request.param)
    return admission(FOLDER / "norms" / NORMS[request.param], stems, talks(stems.protocol))


def test_what_ships_was_read_and_is_admitted(shipped: Admission) -> None:
    """Readers find no reason in a push, and every correction as computed; that it is a test
    docs/v3.md says.
    """
    reasons, takes, _, person, _ = shipped.counts

    assert shipped.faults == ()
    texts, readings, nothing = map(int, re.findall(r"\d+", reasons))
    assert readings == nothing >= 5 * texts
    corrections, readings, right = map(int, re.findall(r"\d+", takes))
    assert (readings, right) == (5 * corrections, 5 * corrections)
    assert float(re.findall(r"[\d.]+", person)[2]) < 2


def test_planted_faults_are_found_and_good_stems_are_not() -> None:
    """Of 40 by fresh hands at least 36, by `aib check` or by proofreaders; of the stems before that
    at most 4.
    """
    folder = FOLDER / "norms" / "planted"
    planted = json.loads((folder / "planted.json").read_text("utf-8"))
    said: dict[tuple[str, str], list[str]] = {}
    for batch, cases in json.loads((folder / "key.json").read_text("utf-8")).items():
        answers = json.loads((folder / f"{batch}.answers.json").read_text("utf-8"))
        for number, case in enumerate(cases, 1):
            said.setdefault((case["is"], case["stem"]), []).append(answers[str(number)])

    def refused(of: str, stem: str) -> bool:
        rules = [answer[:1] for answer in said[of, stem] if answer != "nothing"]
        return any(2 * rules.count(rule) > len(said[of, stem]) for rule in rules)

    found = [
        name for name, of in planted.items() if of["found_by_check"] or refused("planted", name)
    ]
    good = [stem for of, stem in said if of == "good" and refused(of, stem)]
    assert len(planted) == 40
    assert set(map(len, said.values())) == {3}
    assert len(found) == 37
    assert sorted(good) == ["barge_captain", "comic_strip", "two_stories", "village_play"]
