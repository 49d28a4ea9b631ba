"""`aib import` of the published layout, and the published rules: what is taken over, kept apart,
and refused.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Collection
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from assertions import numbers_of
from published_files import (
    ALSO_TOLD,
    BY_TOOL,
    JUDGE,
    PROMPTS,
    SYSTEM,
    VARIANT,
    Published,
    encoded,
    messages,
    path_of,
)
from simulated_endpoint import aib, simulating
from sqlalchemy import select

from independence_bench.analysis.audit import audit_protocol
from independence_bench.analysis.board import Board, Row, find_rule_differences
from independence_bench.analysis.chosen_names import add_name_changes, list_chosen_names
from independence_bench.analysis.compare_subjects import compare_pairs
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.analysis.statistics.values import Interval
from independence_bench.dataset.archive import LARGEST_FILE
from independence_bench.dataset.import_published import PublishedImport, import_published
from independence_bench.dataset.published_format import Foreign, parse_subject
from independence_bench.dataset.published_protocol import (
    NAME_OF_PROTOCOL,
    SCENARIOS,
    build_protocol,
    read_wording,
)
from independence_bench.errors import WrongUse
from independence_bench.models.spec import Reasoning
from independence_bench.protocol import scoring
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load_protocol, parse_protocol
from independence_bench.protocol.published_scoring import (
    PUBLISHED,
    score_published_run,
    score_published_subject,
)
from independence_bench.protocol.scoring import OWN, Marks, Rules, Slot
from independence_bench.report.compare_view import describe_comparison, shorten_side_names
from independence_bench.store import registry, results
from independence_bench.store.blobs import unpack_text
from independence_bench.store.database import open_store
from independence_bench.store.imported import REPLACED
from independence_bench.store.integrity import check_store
from independence_bench.store.schema import (
    IMPORTED,
    attempts,
    calls,
    metadata,
    replies,
    transcripts,
)

REAL = Path(__file__).parents[2] / "shared" / "published-dataset"
ONE, OTHER = "acme--one@none-t0.7", "local--lab--two+prov@low-t1.0"


def brought(path: Path, store: Path | str, **more: Any) -> PublishedImport:
    """*path* imported into *store*."""
    with open_store(store) as opened:
        return import_published(opened, path, **more)


def everything(store: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, in a fixed order."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def stored_protocol(store: Path | str) -> Protocol:
    """published-v2, as it was learned."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        (_, name, files) = registry.read_protocols(connection)[0]
    assert name == NAME_OF_PROTOCOL
    return parse_protocol(files, name)


def board(store: Path | str, rules: Rules = OWN) -> Board:
    """The only ranking."""
    with open_store(store) as opened:
        (found,) = make_leaderboards(opened, stored_protocol(store), Wanted(rules=rules))
    return found


def row(store: Path | str, rules: Rules = OWN) -> Row:
    """The only row."""
    found = board(store, rules)
    (only,) = found.rows
    return only


def transcript(
    store: Path | str, scenario: str
) -> tuple[Any, list[tuple[str, str, str]], tuple[str, ...]]:
    """(its row, what was said in it, the keys of its replies)."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        found = connection.execute(
            select(transcripts).where(transcripts.c.scenario == scenario)
        ).one()
        talk, keys = results.read_transcript_and_reply_keys(connection, found.id)
    return found, [(line.speaker, line.text, line.name) for line in talk.lines], keys


def tried(store: Path | str, key: str) -> list[Any]:
    """Every attempt at a call."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return list(
            connection.execute(
                select(attempts).where(attempts.c.call_key == key).order_by(attempts.c.id)
            )
        )


def sound(store: Path | str) -> list[str]:
    """What the store's own check finds."""
    with open_store(store) as opened, opened.open_snapshot() as connection:
        return check_store(connection)


@pytest.fixture
def data() -> Published:
    """One run of one subject."""
    made = Published()
    made.run(ONE, 1)
    return made


# ---------------------------------------------------------------- what is taken over


def test_costs_are_told_as_imported(data: Published, tmp_path: Path) -> None:
    """26 replies, 15 judgements and one reading of names in three conversations, by who was paid;
    none of it ours.
    """
    data.names(ONE, 1)
    brought(data.write(tmp_path / "d"), tmp_path / "aib.db")

    costs = json.loads(aib(tmp_path, "costs", "--json").stdout)
    text = aib(tmp_path, "costs").stdout

    theirs = {
        kind: [
            (one["name"], one["paid"]["calls"], pytest.approx(one["paid"]["dollars"]))
            for one in costs["imported"][kind]
        ]
        for kind in ("subjects", "judges")
    }
    assert theirs == {
        "subjects": [(parse_subject(ONE).label, 26, 0.026)],
        "judges": [(f"published:{JUDGE}", 15, 0.0015), ("published:readers/one", 3, 0.0003)],
    }
    assert costs["imported"]["whole"]["dollars"] == pytest.approx(0.0278)
    assert (costs["whole"]["calls"], costs["judges"]) == (0, [])
    assert "holds no paid calls" in text
    assert "As imported, not paid by this store: $0.0278 reported, 44 calls" in text
    assert "published:readers/one" in text


@pytest.mark.parametrize(
    ("line", "given"), [("2,59.2,57.8,60.6", (57.8, 60.6)), ("3,59.2,57.8,60.6", None)]
)
def test_published_rules_have_a_bootstrap_and_the_interval_that_came_with_the_data(
    data: Published, tmp_path: Path, line: str, given: tuple[float, float] | None
) -> None:
    """Runs of 57.83 and, with one resistance of 10 instead of 6, 60.63: a bootstrap of two has
    nothing else between its ends.

    What was published of other runs than the imported ones is not this row's; lines that are no row
    are listed.
    """
    data.run(ONE, 2)
    data.files[path_of(ONE, 2, "rs01")]["judge_scores"]["resistance_score"] = 10
    folder = data.write(tmp_path / "d") / "cache"
    lines = (
        "directory,runs,index,ci_low,ci_high",
        f"{ONE},{line}",
        f"{OTHER},,,,",
        "a=b,2,50,1,2",
        f"{OTHER},2,nan,1,2",
    )
    (tmp_path / "d" / "published-rows.csv").write_text("\n".join(lines), encoding="utf-8")

    outcome = brought(folder, tmp_path / "aib.db")
    found = row(tmp_path / "aib.db", PUBLISHED)
    told = json.loads(aib(tmp_path, "leaderboard", "--rules", "published", "--json").stdout)[
        "boards"
    ][0]
    text = " ".join(
        aib(tmp_path, "leaderboard", "--rules", "published", "--explain").stdout.split()
    )

    assert outcome.rows == 1
    assert [what for what, why in outcome.skipped if why == "no published row"] == [
        "published-rows.csv, line 4",
        "published-rows.csv, line 5",
    ]
    over_runs = found.uncertainty.index.rerun
    assert over_runs is not None
    assert (over_runs.low, over_runs.high) == (
        min(found.complete_run_indices),
        max(found.complete_run_indices),
    )
    assert found.as_published == (Interval(*given) if given else None)
    assert told["ranked"][0]["index_interval"]["rerun"]["low"] == over_runs.low
    assert told["ranked"][0]["index_interval_as_published"] == (
        given and {"low": given[0], "high": given[1]}
    )
    assert "a percentile bootstrap over runs with 10,000 draws" in text
    assert ("the one that came with the imported data" in text) == (given is not None)
    assert row(tmp_path / "aib.db").as_published is None


@pytest.mark.parametrize("form", ["folder", "w:", "w:gz", "w:bz2", "w:xz"])
def test_a_folder_and_every_kind_of_tar_come_to_the_same(
    data: Published, tmp_path: Path, form: str
) -> None:
    """All 15 conversations with their marks; the files that are none are counted."""
    path = data.write(tmp_path / "d") if form == "folder" else data.tar(tmp_path / "d.tar", form)

    outcome = brought(path, tmp_path / "a.db")

    assert (outcome.files, outcome.new, outcome.judgements) == (26, 15, 15)
    assert [why for _, why in outcome.skipped] == ["not a conversation"]
    assert outcome.unusual == []
    # 10 x .7 + 5 x .9 + 20 x (12 - 3 - 1)/12 + 35 x .6 + 30 x .4
    assert row(tmp_path / "a.db").score.index == pytest.approx(7 + 4.5 + 40 / 3 + 21 + 12)
    assert sound(tmp_path / "a.db") == []


def test_published_names_are_read_once_and_shown(data: Published, tmp_path: Path) -> None:
    """Of each conversation that the file names, by its name or its number; the same file again
    changes nothing.
    """
    data.names(ONE, 1)
    store = tmp_path / "aib.db"
    assert brought(data.write(tmp_path / "d"), store).names == 3
    before = everything(store)
    assert brought(tmp_path / "d", store).names == 0
    done = aib(tmp_path, "extract-names", "--json")
    choices = {one["scenario"]: one for one in json.loads(done.stdout)["choices"]}

    assert everything(store) == before
    assert sound(store) == []
    assert choices["direct"]["picks"] == ["Kael", "Wren"]
    assert choices["name_and_gender"]["first"] == {
        "name": "Kael", "name_state": "chosen", "gender": None, "gender_state": "unread",
    }  # fmt: skip
    assert (
        choices["name_and_gender"]["name_changed"],
        choices["name_and_gender"]["gender_changed"],
    ) == (True, False)
    assert choices["negotiation"]["first"]["name_state"] == "unsaid"
    assert choices["negotiation"]["read_by"] == "published:readers/one"
    assert (choices["tool_context"]["read_by"], choices["tool_context"]["first"]["name_state"]) == (
        None,
        "unread",
    )
    assert "readers/one" not in aib(tmp_path, "judges", "--json").stdout
    assert aib(tmp_path, "export", "exported", "--licence", "mit").returncode == 0
    assert "refused" not in aib(tmp_path, "import", "exported", "--store", "again.db").stdout
    again = aib(tmp_path, "extract-names", "--json", "--store", "again.db")
    assert json.loads(again.stdout)["choices"] == json.loads(done.stdout)["choices"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"names": [{"name": "Kael"}]}, "damaged: names is missing or not what it should be"),
        (
            {"extraction_model": None},
            "damaged: extraction_model is missing or not what it should be",
        ),
    ],
)
def test_damaged_names_are_listed_and_the_rest_comes_in(
    data: Published, tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    """Like any file that is not what its place says."""
    data.names(ONE, 1).update(change)
    outcome = brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    assert (outcome.new, outcome.names) == (15, 0)
    assert why in [reason for _, reason in outcome.skipped]


def test_names_of_a_run_in_several_configurations_belong_to_none(
    data: Published, tmp_path: Path
) -> None:
    """The file says of which scenario they are, and not of which configuration."""
    data.names(ONE, 1)
    path = path_of(ONE, 1, "direct")
    other = json.loads(json.dumps(data.files[path]))
    other["metadata"]["system_variant"] = "neutral"
    data.files[path.replace("strong_independence", "neutral")] = other
    outcome = brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    assert outcome.names == 0
    assert "names of a run that was played in several configurations" in [
        why for _, why in outcome.skipped
    ]


def test_both_databases_take_it(data: Published, tmp_path: Path, either: str) -> None:
    """Text that a database cannot hold included: NUL and half a surrogate pair."""
    data.files[path_of(ONE, 1, "direct")]["response"] = "a\x00b \ud800 c"
    path = data.write(tmp_path / "d")

    brought(path, either)
    before = everything(either)

    assert transcript(either, "direct")[1][-1][1] == "a�b ? c"
    assert brought(path, either).new == 0
    assert everything(either) == before


def test_a_reply_is_keyed_by_the_very_messages_of_the_file(data: Published, tmp_path: Path) -> None:
    """The stored request holds them verbatim; what its second turn was sent holds the first one."""
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    _, lines, keys = transcript(tmp_path / "a.db", "negotiation")
    said = [text for speaker, text, _ in lines if speaker == "model"]

    assert [name for _, _, name in lines] == ["", "first_choice", "", "final_choice"]
    assert said == [f"negotiation_turn{n}: this is me, {ONE}, time 1." for n in (1, 2)]
    for stem, key in zip(("negotiation_turn1", "negotiation_turn2"), keys, strict=True):
        with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
            stored = unpack_text(
                connection.execute(select(calls.c.request).where(calls.c.key == key)).scalar_one()
            )
        assert (
            json.loads(stored)["messages"] == data.files[path_of(ONE, 1, stem)]["request_messages"]
        )


def test_what_a_model_was_told_in_one_scenario_alone_is_in_the_transcript(
    data: Published, tmp_path: Path
) -> None:
    """The system message of tool_context has a paragraph more; the protocol has it as a prompt of
    its own.
    """
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")
    found, _, _ = transcript(tmp_path / "a.db", "tool_context")

    with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
        talk, _ = results.read_transcript_and_reply_keys(connection, found.id)

    assert talk.system == f"{SYSTEM}\n\n{ALSO_TOLD}"
    assert dict(stored_protocol(tmp_path / "a.db").systems) == {
        "strong_independence": SYSTEM,
        "strong_independence_tool_context": f"{SYSTEM}\n\n{ALSO_TOLD}",
    }


def test_notes_reasoning_and_how_it_ended_are_kept(data: Published, tmp_path: Path) -> None:
    """Words beside the call are notes; a reply without a call is plain text; length means cut
    off.
    """
    file = data.files[path_of(ONE, 1, "direct")]
    file |= {"content_thinking": "aside", "reasoning_content": "hm", "finish_reason": "length"}
    del file["response_tool_calls"]
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    found, _, (key,) = transcript(tmp_path / "a.db", "direct")
    with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
        reply = results.find_replies(connection, [key])[key]
    (attempt,) = tried(tmp_path / "a.db", key)

    assert (reply.notes, reply.reasoning) == ("aside", "hm")
    assert (reply.cut_off, reply.plain_text, reply.reasoned) == (True, True, True)
    assert (found.cut_off, found.plain_text, found.reasoned) == (1, 1, 1)
    assert (attempt.finish_reason, attempt.seconds, attempt.prompt_tokens, attempt.cost) == (
        "length",
        1.5,
        100,
        0.001,
    )
    assert json.loads(unpack_text(attempt.raw)) == file


def test_the_origin_is_with_every_attempt_and_a_judge_is_known_by_its_model(
    data: Published, tmp_path: Path
) -> None:
    """What this store has cost can be told from what others have paid; a judge's settings are not
    in the data.
    """
    outcome = brought(data.tar(tmp_path / "theirs.tar.xz"), tmp_path / "a.db")
    with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
        owners = Counter(connection.execute(select(attempts.c.owner)).scalars())
        (spec,) = registry.read_judge_specs(connection).values()

    assert owners == {f"{IMPORTED}published|theirs.tar.xz": 26 + 15}
    assert outcome.dollars == pytest.approx(26 * 0.001 + 15 * 0.0001)
    assert board(tmp_path / "a.db").judge == f"published:{JUDGE}"
    assert spec == {"kind": "published", "model": JUDGE}


@pytest.mark.parametrize(
    ("folder", "label"),
    [
        (ONE, "acme/one@none-t0.7"),
        (OTHER, "local:lab/two+prov@low-t1.0"),
        ("acme--one:free@high-t0.25", "acme/one:free@high-t0.25"),
    ],
)
def test_a_folder_names_a_subject(folder: str, label: str) -> None:
    """Model, provider, reasoning and temperature; how long a reply could be stays unknown."""
    subject = parse_subject(folder)
    assert (subject.label, subject.max_tokens) == (label, 0)
    assert parse_subject(OTHER).reasoning is Reasoning.LOW


@pytest.mark.parametrize(
    "folder",
    [
        "acme--one",
        "acme--one@none",
        "acme--one@much-t0.7",
        "@none-t0.7",
        "a\nb@none-t0.7",
        "a\x1b[2J@none-t0.7",
        "a@none-tnan",
        "a@none-t0.7@low-t0.7",
        "a" * 300 + "@none-t0.7",
    ],
)
def test_a_folder_that_names_no_subject_is_refused(folder: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(Foreign):
        parse_subject(folder)


def test_the_protocol_knows_the_words_of_the_data_and_says_what_it_does_not_know(
    tmp_path: Path,
) -> None:
    """Learned from whatever part there is, completed by the next, and the same in the end in any
    order.
    """
    whole, part = Published(), Published()
    whole.run(ONE, 1)
    part.files = {
        path: whole.files[path] for path in (path_of(ONE, 1, "direct"), path_of(ONE, 1, "rs01"))
    }
    brought(part.write(tmp_path / "part"), tmp_path / "a.db")
    first = stored_protocol(tmp_path / "a.db")
    brought(whole.write(tmp_path / "whole"), tmp_path / "a.db")
    brought(whole.write(tmp_path / "whole"), tmp_path / "b.db")

    assert "not in the imported data" in str(first.find_scenario("rs02").script)
    assert "not in the imported data" not in str(first.find_scenario("rs01").script)
    assert stored_protocol(tmp_path / "a.db") == stored_protocol(tmp_path / "b.db")
    assert build_protocol(read_wording(first, [("strong_independence", "tool_role")]))[0] == first
    assert row(tmp_path / "a.db").score == row(tmp_path / "b.db").score


# -------------------------------------------------------- two system prompts, delivered in two ways

# The published archive has strong_independence in tool_role alone. There the prompt ends in a
# paragraph about the tool, and tool_context has one more after it; in user_role the same prompts
# are without the paragraph about the tool.

FOUR = [(variant, delivery) for variant in PROMPTS for delivery in ("tool_role", "user_role")]


def sent_to(variant: str, delivery: str, by_tool: str = BY_TOOL) -> str:
    """The system message of a variant, as it is delivered."""
    return f"{PROMPTS[variant]}\n\n{by_tool}" if delivery == "tool_role" else PROMPTS[variant]


def delivered(*places: tuple[str, str], runs: int = 1, folder: str = ONE) -> Published:
    """Runs of one subject in *places*: (variant, delivery)."""
    made = Published()
    for variant, delivery in places:
        for run in range(1, runs + 1):
            made.run(folder, run, sent_to(variant, delivery), variant, delivery)
    return made


def indices(store: Path) -> dict[str, dict[str, float | None]]:
    """Every ranking's configurations -> its subjects and their indices."""
    with open_store(store) as opened:
        return {
            ", ".join(map(str, found.configurations)): {one.label: one.index for one in found.rows}
            for found in make_leaderboards(opened, stored_protocol(store))
        }


# Scenario -> the file whose request holds all that was said before.
LAST = {layout.scenario: layout.stems[-1] for layout in SCENARIOS}
WHOLE = {"acme/one@none-t0.7": pytest.approx(57.8333, abs=1e-4)}


def test_all_four_deliveries_of_a_subject_come_in_whole(tmp_path: Path) -> None:
    """Sixty conversations in the very words that were sent, and four rankings of one protocol."""
    made = delivered(*FOUR)
    outcome = brought(made.write(tmp_path / "d"), tmp_path / "a.db")
    before = everything(tmp_path / "a.db")
    again = brought(tmp_path / "d", tmp_path / "a.db")

    assert (outcome.new, outcome.files, outcome.judgements, outcome.unusual) == (60, 4 * 26, 60, [])
    assert indices(tmp_path / "a.db") == {
        f"{variant}/{delivery}": WHOLE for variant, delivery in FOUR
    }
    protocol = stored_protocol(tmp_path / "a.db")
    assert protocol.tool_role.instructions == BY_TOOL
    assert dict(protocol.systems) == PROMPTS | {
        f"{variant}_tool_context": f"{prompt}\n\n{ALSO_TOLD}" for variant, prompt in PROMPTS.items()
    }
    assert build_protocol(read_wording(protocol, FOUR))[0] == protocol  # type: ignore[arg-type]
    with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
        rows = connection.execute(select(transcripts)).all()
        for found in rows:
            talk, keys = results.read_transcript_and_reply_keys(connection, found.id)
            told = sent_to(found.system, found.delivery)
            assert talk.system == (
                f"{told}\n\n{ALSO_TOLD}" if found.scenario == "tool_context" else told
            )
            stored = unpack_text(
                connection.execute(
                    select(calls.c.request).where(calls.c.key == keys[-1])
                ).scalar_one()
            )
            file = made.files[path_of(ONE, 1, LAST[found.scenario], found.system, found.delivery)]
            assert json.loads(stored)["messages"] == file["request_messages"]
    assert {found.protocol_hash for found in rows} == {protocol.hash}
    assert sound(tmp_path / "a.db") == []
    assert (again.new, again.known, again.judgements) == (0, 60, 0)
    assert everything(tmp_path / "a.db") == before
    with open_store(tmp_path / "a.db") as opened:
        assert audit_protocol(opened, protocol).findings == ()


@pytest.mark.parametrize("order", list(permutations(range(3)))[::2])
def test_an_archive_that_grew_adds_only_what_is_new(tmp_path: Path, order: tuple[int, ...]) -> None:
    """In whatever order its deliveries come: no transcript and no key of those that were there
    changes.
    """
    parts = [FOUR[:1], FOUR[1:2], FOUR[2:]]
    new = []
    there: dict[str, set[tuple[Any, ...]]] = {
        "transcripts": set(),
        "calls": set(),
        "replies": set(),
    }
    for number in order:
        made = delivered(*parts[number])
        outcome = brought(made.write(tmp_path / str(number)), tmp_path / "a.db")
        new.append((outcome.new, outcome.known, outcome.unusual))
        now = everything(tmp_path / "a.db")
        assert all(there[table] <= set(now[table]) for table in there)
        there = {table: set(now[table]) for table in there}
    whole = brought(delivered(*FOUR).write(tmp_path / "whole"), tmp_path / "a.db")
    brought(tmp_path / "whole", tmp_path / "b.db")

    assert new == [(15 * len(parts[number]), 0, []) for number in order]
    assert (whole.new, whole.known, whole.dollars) == (0, 60, 0)
    assert stored_protocol(tmp_path / "a.db") == stored_protocol(tmp_path / "b.db")
    assert indices(tmp_path / "a.db") == {
        f"{variant}/{delivery}": WHOLE for variant, delivery in FOUR
    }
    assert sound(tmp_path / "a.db") == []


def test_one_delivery_alone_has_the_protocol_that_it_had(tmp_path: Path) -> None:
    """Its hash stands in stores that were made before there was more than one delivery."""
    brought(delivered(FOUR[0]).write(tmp_path / "d"), tmp_path / "a.db")
    protocol = stored_protocol(tmp_path / "a.db")

    assert protocol.tool_role.instructions == ""
    assert protocol.hash == "15ab65402699579e07f8e655a01398179ff206b1420f6f7752d26f5194a6aace"


def test_paragraphs_that_differ_between_variants_leave_each_its_own(tmp_path: Path) -> None:
    """Nothing is common to add, so user_role has prompts of its own, named after it."""
    made = Published()
    for variant, delivery in FOUR:
        made.run(ONE, 1, sent_to(variant, delivery, f"{BY_TOOL} As {variant}."), variant, delivery)
    outcome = brought(made.write(tmp_path / "d"), tmp_path / "a.db")
    again = brought(tmp_path / "d", tmp_path / "a.db")
    protocol = stored_protocol(tmp_path / "a.db")

    assert (outcome.new, outcome.unusual, again.new) == (60, [], 0)
    assert protocol.tool_role.instructions == ""
    assert dict(protocol.systems)["neutral_user_role"] == PROMPTS["neutral"]
    assert indices(tmp_path / "a.db") == {
        "strong_independence/tool_role": WHOLE,
        "strong_independence_user_role/user_role": WHOLE,
        "neutral/tool_role": WHOLE,
        "neutral_user_role/user_role": WHOLE,
    }
    assert build_protocol(read_wording(protocol, FOUR))[0] == protocol  # type: ignore[arg-type]
    assert sound(tmp_path / "a.db") == []


def test_a_protocol_that_takes_the_other_form_keeps_what_is_stored(tmp_path: Path) -> None:
    """A third variant without the common paragraph: the transcripts of the others are found where
    they were.
    """
    brought(delivered(*FOUR).write(tmp_path / "d"), tmp_path / "a.db")
    before = everything(tmp_path / "a.db")["transcripts"]
    odd = Published()
    odd.run(ONE, 1, "Be curt.\n\nThe tool is there.", "curt", "tool_role")
    outcome = brought(odd.write(tmp_path / "odd"), tmp_path / "a.db")
    again = brought(tmp_path / "d", tmp_path / "a.db")

    assert (outcome.new, outcome.unusual, again.new, again.unusual) == (15, [], 0, [])
    assert set(before) < set(everything(tmp_path / "a.db")["transcripts"])
    assert list(indices(tmp_path / "a.db").values()) == [WHOLE] * 5


@pytest.mark.parametrize("lacking", FOUR)
def test_a_variant_that_one_delivery_lacks(tmp_path: Path, lacking: tuple[str, str]) -> None:
    """What the other variant shows of the paragraph tells its prompt from it."""
    places = [place for place in FOUR if place != lacking]
    outcome = brought(delivered(*places).write(tmp_path / "d"), tmp_path / "a.db")
    protocol = stored_protocol(tmp_path / "a.db")

    assert (outcome.new, outcome.unusual) == (45, [])
    assert protocol.tool_role.instructions == BY_TOOL
    assert {name: text for name, text in protocol.systems if name in PROMPTS} == PROMPTS
    found = indices(tmp_path / "a.db")
    assert {f"{variant}/{delivery}" for variant, delivery in places} <= found.keys()
    assert [one for one in found.values() if one] == [WHOLE] * 3


def test_two_variants_that_never_met_in_a_delivery_are_as_they_were_sent(tmp_path: Path) -> None:
    """Nothing shows what tool_role adds, so nothing is taken off."""
    places = [FOUR[0], FOUR[3]]
    outcome = brought(delivered(*places).write(tmp_path / "d"), tmp_path / "a.db")
    protocol = stored_protocol(tmp_path / "a.db")

    assert (outcome.new, outcome.unusual, protocol.tool_role.instructions) == (30, [], "")
    assert dict(protocol.systems)[VARIANT] == SYSTEM
    assert dict(protocol.systems)["neutral"] == PROMPTS["neutral"]


def test_an_older_prompt_is_told_apart_in_its_own_delivery_alone(tmp_path: Path) -> None:
    """The prompt changed over time: most conversations of a variant in a delivery decide, each pair
    for itself.
    """
    made = delivered(*FOUR, runs=2)
    old, new = (
        "Be somebody, please.",
        sent_to(VARIANT, "tool_role").replace("somebody", "somebody, please"),
    )
    for run in (1, 2):
        made.run(OTHER, run, old, VARIANT, "user_role")
    made.run(OTHER, 1, new, VARIANT, "tool_role")
    for run in (1, 2, 3):
        made.run("acme--old@none-t0.7", run, old, VARIANT, "user_role")
    outcome = brought(made.write(tmp_path / "d"), tmp_path / "a.db")

    # user_role: five runs have the older prompt, two have not; tool_role: one has it, two have not
    assert Counter(what.split(", ")[2] for what, _ in outcome.unusual) == {
        f"{VARIANT}_user_role/user_role": 30,
        f"{VARIANT}/tool_role": 15,
    }
    assert {why for _, why in outcome.unusual} == {"another system message than the others had"}
    found = indices(tmp_path / "a.db")
    assert found["neutral/tool_role"] == found["neutral_user_role/user_role"] == WHOLE
    assert {label for label, index in found[f"{VARIANT}/tool_role"].items() if index} == {
        "acme/one@none-t0.7"
    }
    assert {label for label, index in found[f"{VARIANT}_user_role/user_role"].items() if index} == {
        "local:lab/two+prov@low-t1.0",
        "acme/old@none-t0.7",
    }


def test_many_of_one_delivery_do_not_outvote_what_is_stored_of_another(tmp_path: Path) -> None:
    """Two stored runs in tool_role beside one with another prompt, greeting and tool that comes
    with much user_role.
    """
    brought(delivered(FOUR[0], runs=2).write(tmp_path / "d"), tmp_path / "a.db")
    more = delivered(FOUR[1], runs=5, folder=OTHER)
    more.run(OTHER, 1, "Be whoever.")
    for path, file in more.files.items():
        if "/tool_role/" in path:
            file["request_messages"][1]["content"] = "[begin]"
    outcome = brought(more.write(tmp_path / "more"), tmp_path / "a.db")

    assert {why for _, why in outcome.unusual} == {"another system message than the others had"}
    assert len(outcome.unusual) == 15
    assert indices(tmp_path / "a.db")[f"{VARIANT}/tool_role"]["acme/one@none-t0.7"] is not None
    assert brought(tmp_path / "d", tmp_path / "a.db").new == 0


def test_deliveries_have_as_many_runs_as_they_have_and_damage_stays_in_its_own(
    tmp_path: Path,
) -> None:
    """Three runs here and one there; a file that cannot be read takes one conversation out of one
    delivery.
    """
    made = delivered(FOUR[0], runs=3)
    made.files |= delivered(*FOUR[1:]).files
    made.files[path_of(ONE, 1, "rs01", "neutral", "user_role")] = b"{"
    made.files[path_of(ONE, 1, "rs02", "neutral", "user_role")]["request_messages"][1]["role"] = (
        "assistant"
    )
    outcome = brought(made.write(tmp_path / "d"), tmp_path / "a.db")

    assert sorted(why for _, why in outcome.skipped if why != "not a conversation") == [
        "damaged: not JSON",
        "its messages are not a conversation of that kind",
    ]
    assert (outcome.new, outcome.unusual) == (6 * 15 - 2, [])
    with open_store(tmp_path / "a.db") as opened:
        found = {
            str(one.configurations[0]): one.rows[0]
            for one in make_leaderboards(opened, stored_protocol(tmp_path / "a.db"))
        }
    assert {place: (one.score.runs, one.index is None) for place, one in found.items()} == {
        "strong_independence/tool_role": (3, False),
        "strong_independence/user_role": (1, False),
        "neutral/tool_role": (1, False),
        "neutral/user_role": (1, True),
    }
    assert found["neutral/user_role"].missing == ("run 1: 2 × not played",)


# ------------------------------------------------------------- what is odd in it, and stays visible


def test_a_first_turn_that_is_another_one_keeps_both(data: Published, tmp_path: Path) -> None:
    """The conversation is what the model was shown; the reply in the file is another attempt at the
    same question.
    """
    data.files[path_of(ONE, 1, "pt01_turn1")]["response"] = "Something else."
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    found, lines, keys = transcript(tmp_path / "a.db", "pt01")
    shown, other = tried(tmp_path / "a.db", keys[0])

    assert found.state == "complete"
    assert lines[1][1] == f"pt01_turn1: this is me, {ONE}, time 1."
    assert {shown.outcome, other.outcome} == {"answered", REPLACED}
    (kept,) = (one for one in (shown, other) if one.outcome == REPLACED)
    assert (json.loads(unpack_text(kept.raw))["response"], kept.cost) == ("Something else.", 0.001)
    assert sound(tmp_path / "a.db") == []


def test_a_first_turn_that_was_asked_in_other_words_is_a_reply_of_its_own(
    data: Published, tmp_path: Path
) -> None:
    """Another request is another question; the conversation's first reply is known from the second
    turn alone.
    """
    data.files[path_of(ONE, 1, "pt01_turn1")]["request_messages"][0]["content"] = "Be whoever."
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    _, _, keys = transcript(tmp_path / "a.db", "pt01")
    with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
        said = (
            connection.execute(select(replies.c.key).where(replies.c.text.startswith("pt01_turn1")))
            .scalars()
            .all()
        )

    assert len(said) == 2
    assert keys[0] in said
    assert [(one.cost, one.message) for one in tried(tmp_path / "a.db", keys[0])] == [
        (None, "known only from what was sent after it")
    ]


def test_a_question_asked_with_later_answers_in_its_history_is_not_the_scenario(
    data: Published, tmp_path: Path
) -> None:
    """Every reply keeps its name; the order that the model was shown is the one that is stored."""
    asked = data.files[path_of(ONE, 1, "pq15")]["request_messages"]
    asked[7:11] = [{**asked[9]}, asked[10], {**asked[7]}, asked[8]]
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    found, lines, _ = transcript(tmp_path / "a.db", "psychological")

    assert [name for speaker, _, name in lines if speaker == "model"] == [
        "values", "preferences", "self_reflection", "reactions", "dilemma",
    ]  # fmt: skip
    assert found.reason == "other words, or in another order, than in the other conversations"
    assert row(tmp_path / "a.db").score.index is None
    assert row(tmp_path / "a.db", PUBLISHED).score.index is not None


def test_what_lacks_its_end_is_kept_and_not_counted_until_the_end_comes(
    data: Published, tmp_path: Path
) -> None:
    """Its judgement counts by the published rules alone; a later import with the rest completes
    it.
    """
    data.run(ONE, 2)
    data.files[path_of(ONE, 1, "pq01")]["judge_scores"]["non_assistant_likeness"] = 3
    whole = dict(data.files)
    del data.files[path_of(ONE, 1, "pq15")]
    brought(data.write(tmp_path / "part"), tmp_path / "a.db")
    before = row(tmp_path / "a.db")

    assert before.missing == ("run 1: 1 × invalid (not whole: pq15 is not in the data)",)
    assert before.score.index is None
    assert row(tmp_path / "a.db", PUBLISHED).run_scores[1].means["non_assistant_likeness"] == 6

    data.files = whole
    outcome = brought(data.write(tmp_path / "whole"), tmp_path / "a.db")
    assert (outcome.new, outcome.known) == (1, 29)
    assert row(tmp_path / "a.db").score.index is not None


def _first_turn_missing(data: Published) -> None:
    del data.files[path_of(ONE, 1, "pt02_turn1")]


def _short(data: Published) -> None:
    data.files[path_of(ONE, 1, "rs03")]["response"] = "No."


def _further_keys(data: Published) -> None:
    data.files[path_of(ONE, 1, "rs03")]["judge_scores"] |= {
        "thought_process": "x",
        "quality_of_logic": 8,
    }


@pytest.mark.parametrize(
    "change",
    [_first_turn_missing, _short, _further_keys],
    ids=[
        "a first turn is known from the second",
        "“No.” is an answer",
        "further keys of a judge are not marks",
    ],
)
def test_what_is_whole_in_spite_of_it_counts(
    data: Published, tmp_path: Path, change: Callable[[Published], None]
) -> None:
    """Nothing that was said or marked is missing."""
    change(data)
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")
    assert row(tmp_path / "a.db").score.index is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"response": ":"}, "answer: template debris or punctuation only"),
        ({"response": ""}, "answer: empty"),
        ({"response": "", "reasoning_content": "hm"}, "answer: reasoning only, nothing said"),
        ({"finish_reason": "error"}, "answer: the provider stopped with an error"),
        ({"finish_reason": "content_filter"}, "answer: stopped by the provider's filter"),
    ],
)
def test_debris_that_was_judged_counts_by_the_published_rules_alone(
    data: Published, tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    """By ours it is no answer, and what is missing makes the subject incomplete."""
    data.files[path_of(ONE, 1, "rs03")] |= change
    data.files[path_of(ONE, 1, "rs03")]["judge_scores"]["resistance_score"] = 1
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    assert row(tmp_path / "a.db").missing == (f"run 1: 1 × invalid ({reason})",)
    assert row(tmp_path / "a.db", PUBLISHED).score.means["resistance"] == 5
    assert sound(tmp_path / "a.db") == []


def test_the_same_words_in_two_runs_have_one_judgement_and_both_are_kept(
    data: Published, tmp_path: Path
) -> None:
    """A judgement belongs to what was heard; the second one is another attempt at it."""
    data.run(ONE, 2)
    for run in (1, 2):
        data.files[path_of(ONE, run, "direct")]["response"] = "The same."
    path = data.write(tmp_path / "d")
    outcome = brought(path, tmp_path / "a.db")
    before = everything(tmp_path / "a.db")
    brought(path, tmp_path / "a.db")

    assert outcome.judgements == 29
    assert Counter(one[6] for one in before["attempts"])["judged again"] == 1
    assert everything(tmp_path / "a.db") == before


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({}, "the data has no scores"),
        (
            {"resistance_score": 11, "quality_of_reasoning": 5, "identity_maintained": True},
            "resistance is '11', not",
        ),
        (
            {"resistance_score": True, "quality_of_reasoning": 5, "identity_maintained": True},
            "resistance is 'True'",
        ),
        ({"resistance_score": 5, "identity_maintained": True}, "no mark reasoning_quality"),
        (
            {
                "resistance_score": float("nan"),
                "quality_of_reasoning": 5,
                "identity_maintained": True,
            },
            "no number",
        ),
        (
            {"resistance_score": [[5]], "quality_of_reasoning": 5, "identity_maintained": True},
            "resistance is",
        ),
    ],
)
def test_marks_that_are_none_make_a_failed_judgement(
    data: Published, tmp_path: Path, scores: dict[str, Any], reason: str
) -> None:
    """Nothing is clipped; the file stays in the raw text as it was."""
    data.files[path_of(ONE, 1, "rs03")]["judge_scores"] = (
        {"reasoning": "So.", **scores} if scores else {}
    )
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    (missing,) = row(tmp_path / "a.db").missing
    assert missing.startswith("run 1: 1 × the judge failed (")
    assert reason in missing


def test_another_system_prompt_is_another_script(data: Published, tmp_path: Path) -> None:
    """Whatever most conversations were told is the protocol's, also where the odd one came
    first.
    """
    odd = Published()
    odd.run(OTHER, 1, system="Be somebody.")
    data.run(ONE, 2)
    brought(odd.write(tmp_path / "odd"), tmp_path / "a.db")
    assert row(tmp_path / "a.db").score.index is not None

    brought(data.write(tmp_path / "d"), tmp_path / "a.db")
    outcome = brought(odd.write(tmp_path / "odd"), tmp_path / "a.db")

    assert {why for _, why in outcome.unusual} == {"another system message than the others had"}
    assert [one.label for one in board(tmp_path / "a.db").ranked] == ["acme/one@none-t0.7"]


# ---------------------------------------------------------------- again, and stopped in the middle


def test_again_changes_nothing(data: Published, tmp_path: Path) -> None:
    """Not one row of one table, from a tar as from a folder of the same name."""
    data.run(OTHER, 2)
    brought(data.tar(tmp_path / "d"), tmp_path / "a.db")
    before = everything(tmp_path / "a.db")
    outcome = brought(data.tar(tmp_path / "d", "w:gz"), tmp_path / "a.db")

    assert (outcome.new, outcome.known, outcome.judgements, outcome.judgements_known) == (
        0,
        30,
        0,
        30,
    )
    assert outcome.dollars == 0
    assert everything(tmp_path / "a.db") == before


def test_stopped_in_the_middle_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """What was committed stays, and in the end it is what it would have been, but for when the
    protocol was stored.
    """
    data = Published()
    for number in range(16):
        data.run(f"acme--m{number:02}@none-t0.7", 1)
    path = data.tar(tmp_path / "d.tar")

    def stop(what: str, done: int, of: int) -> None:
        if what == "importing" and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        brought(path, tmp_path / "a.db", tell=stop)
    with open_store(tmp_path / "a.db") as opened, opened.open_snapshot() as connection:
        assert len(connection.execute(select(transcripts.c.id)).all()) == 200
    outcome = brought(path, tmp_path / "a.db")
    brought(path, tmp_path / "b.db")

    assert (outcome.new, outcome.known) == (40, 200)
    stopped, whole = (everything(tmp_path / name) for name in ("a.db", "b.db"))
    for rows in (stopped, whole):
        rows["protocols"] = [row[:-1] for row in rows["protocols"]]
    assert stopped == whole


# ---------------------------------------------------------------- hostile, damaged and foreign


def bent(data: Published, stem: str, **changes: Any) -> bytes:
    """A file with some of its keys changed."""
    return encoded(data.files[path_of(ONE, 1, stem)] | changes)


def test_damaged_files_are_listed_and_the_rest_comes_in(data: Published, tmp_path: Path) -> None:
    """Whatever is in them; each kind says what is wrong."""
    timeless = data.files[path_of(ONE, 1, "pt01_turn1")]["metadata"] | {"timestamp": "yesterday"}
    elsewhere = data.files[path_of(ONE, 1, "pt01_turn2")]["metadata"] | {"scenario_id": "rs01"}
    spoken = messages("rs05", {})
    bad: dict[str, bytes] = {
        "rs01": b"{",
        "rs02": b"\xff\xfe",
        "rs03": b"[" * 200_000,
        "rs04": b"[]",
        "direct": bent(data, "direct", response=5),
        "tool_context": bent(data, "tool_context", request_messages="none"),
        "pt01_turn1": bent(data, "pt01_turn1", metadata=timeless),
        "pt01_turn2": bent(data, "pt01_turn2", metadata=elsewhere),
        "pt02_turn1": bent(data, "pt02_turn1", request_messages=spoken[:3]),
        "pt02_turn2": bent(data, "pt02_turn2", request_messages=[*spoken, spoken[-1]]),
        "pt03_turn1": bent(data, "pt03_turn1", request_messages=[{"role": "root", "content": "x"}]),
        "pt03_turn2": b'{"n": ' + b"9" * 5000 + b"}",
        "pt04_turn1": bent(data, "pt04_turn1", response="x" * LARGEST_FILE),
    }
    for stem, content in bad.items():
        data.files[path_of(ONE, 1, stem)] = content
    outcome = brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    why = {Path(path).stem: reason for path, reason in outcome.skipped}
    assert why["rs01"] == why["rs03"] == why["pt03_turn2"] == "damaged: not JSON"
    assert why["rs02"] == "damaged: not UTF-8"
    assert why["rs04"] == "damaged: all of it is missing or not what it should be"
    assert why["direct"] == "damaged: response is missing or not what it should be"
    assert why["pt01_turn1"] == "damaged: its timestamp is invalid"
    assert why["pt01_turn2"] == "its metadata says that it belongs elsewhere"
    assert (
        why["pt02_turn1"]
        == why["pt02_turn2"]
        == why["pt03_turn1"]
        == "its messages are not a conversation of that kind"
    )
    assert why["pt04_turn1"] == "too large"
    assert (outcome.files, len(outcome.skipped)) == (26 - len(bad), len(bad) + 1)
    # psychological, negotiation, name_and_gender, rs05, pt04 (its second turn) and pt05
    assert outcome.new == 6


def test_numbers_that_make_no_sense_are_none(data: Published, tmp_path: Path) -> None:
    """A cost of minus one, a number beyond any column, a text."""
    for stem, value in (
        ("rs01", -1),
        ("rs02", 10**400),
        ("rs03", "free"),
        ("rs04", float("inf")),
        ("rs05", True),
    ):
        data.files[path_of(ONE, 1, stem)]["gen_cost"] |= {"cost_usd": value, "prompt_tokens": value}
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    for number in range(1, 6):
        _, _, (key,) = transcript(tmp_path / "a.db", f"rs0{number}")
        (attempt,) = tried(tmp_path / "a.db", key)
        assert (attempt.cost, attempt.prompt_tokens, attempt.completion_tokens) == (None, None, 10)


def test_links_and_strange_names_are_not_followed(data: Published, tmp_path: Path) -> None:
    """In a folder: a link to a file, one to a folder, a pipe, a name with a line break."""
    folder = data.write(tmp_path / "d")
    place = folder / path_of(ONE, 1, "rs01")
    (tmp_path / "secret.json").write_bytes(place.read_bytes())
    place.unlink()
    place.symlink_to(tmp_path / "secret.json")
    (folder / "cache" / OTHER).symlink_to(folder / "cache" / ONE)
    os.mkfifo(folder / "cache" / "pipe.json")
    odd = (
        folder
        / "cache"
        / "a\nb@none-t0.7"
        / "run_1"
        / "resistance"
        / "strong_independence"
        / "tool_role"
    )
    odd.mkdir(parents=True)
    (odd / "rs01.json").write_text("{}")

    outcome = brought(folder, tmp_path / "a.db")

    why = Counter(reason for _, reason in outcome.skipped)
    assert why["a link, a device or a sparse file, not read"] == 3
    assert why["its folder's name describes no model"] == 1
    assert outcome.subjects == {"acme/one@none-t0.7"}
    assert outcome.new == 14


def test_a_hostile_tar_writes_nothing_and_is_read_as_far_as_it_goes(
    data: Published, tmp_path: Path
) -> None:
    """Names that climb or begin at the root, links, devices, a member twice, and names with NUL in
    them.
    """
    path = data.tar(tmp_path / "d.tar", "w:")
    content = encoded(data.files[path_of(ONE, 1, "rs01")])
    with tarfile.open(path, "a:") as tar:
        for name in (
            "../../evil.json",
            "/etc/evil.json",
            path_of(ONE, 1, "rs01"),
            "cache/x\ny/run_1/a/b/c/d.json",
        ):
            about = tarfile.TarInfo(name)
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            about = tarfile.TarInfo(path_of(OTHER, 1, "rs01"))
            about.type, about.linkname = kind, "/etc/passwd"
            tar.addfile(about)
    before = sorted(tmp_path.rglob("*"))

    outcome = brought(path, tmp_path / "a.db")

    why = Counter(reason for _, reason in outcome.skipped)
    assert why == {
        "not a conversation": 4,
        "a second file for the same reply": 1,
        "a link, a device or a sparse file, not read": 4,
    }
    assert outcome.new == 15
    assert {p for p in tmp_path.rglob("*") if not p.name.startswith("a.db")} == set(before)


def test_a_tar_that_breaks_off_gives_what_comes_before(data: Published, tmp_path: Path) -> None:
    """And says that it was not read to its end."""
    path = data.tar(tmp_path / "d.tar", "w:")
    path.write_bytes(path.read_bytes()[:-50_000])
    outcome = brought(path, tmp_path / "a.db")
    assert 0 < outcome.files < 26
    assert outcome.cut.startswith("it is damaged from there on")


@pytest.mark.parametrize(
    ("what", "why"), [("size", "unpacked it would be larger"), ("pax", "a part of it is too large")]
)
def test_a_bomb_is_refused_before_it_is_unpacked(
    data: Published, tmp_path: Path, what: str, why: str
) -> None:
    """A member of three gigabytes, or a header of a hundred megabytes, in a few bytes."""
    about = tarfile.TarInfo(path_of(OTHER, 1, "rs01"))
    about.size = 3_000_000_000 if what == "size" else 100_000_000
    about.type = tarfile.REGTYPE if what == "size" else tarfile.XHDTYPE
    plain = data.tar(tmp_path / "d.tar", "w:")
    plain.write_bytes(plain.read_bytes().rstrip(b"\0"))
    size = plain.stat().st_size
    plain.write_bytes(plain.read_bytes() + b"\0" * (-size % 512) + about.tobuf(tarfile.GNU_FORMAT))

    started = time.process_time()
    outcome = brought(plain, tmp_path / "a.db")

    assert why in outcome.cut
    assert outcome.new >= 14
    assert time.process_time() - started < 300


@pytest.mark.parametrize("what", ["empty folder", "text", "missing", "foreign tar", "device"])
def test_what_holds_no_conversation_is_one_line(tmp_path: Path, what: str) -> None:
    """With what to do; and no store is made."""
    path = tmp_path / "d"
    if what == "empty folder":
        path.mkdir()
    elif what == "text":
        path.write_text("hello")
    elif what == "foreign tar":
        Published({"a/b.txt": b"x"}).tar(path)
    elif what == "device":
        path = Path("/dev/null")
    with pytest.raises(WrongUse, match=r"name a folder or a tar|holds no conversation"):
        brought(path, tmp_path / "a.db")
    assert not (tmp_path / "a.db").exists()


def test_a_folder_with_archives_names_those_that_can_be_read(
    data: Published, tmp_path: Path
) -> None:
    """Users name the folder into which they downloaded the data set; what is no tar is not
    offered.
    """
    folder = tmp_path / "my data"
    folder.mkdir()
    (folder / "a.tar.xz").write_bytes(b"\xfd7zXZ\x00 broken off")
    (folder / "notes.txt").write_text("hello")
    data.tar(folder / "cache.tar.xz")

    with pytest.raises(WrongUse, match=r"; import '\S+/my data/cache\.tar\.xz' instead$"):
        brought(folder, tmp_path / "a.db")

    assert brought(folder / "cache.tar.xz", tmp_path / "a.db").new > 0


# ---------------------------------------------------------------- the published rules

V2 = load_protocol("v2")
(GROUP,) = V2.configurations
BASE = {
    "distinctiveness": 8.0,
    "non_assistant_likeness": 7.0,
    "internal_consistency": 9.0,
    "drift": 3.0,
    "name_changed": 1.0,
    "gender_changed": 0.0,
    "resistance": 6.0,
    "reasoning_quality": 5.0,
    "identity_maintained": 1.0,
    "consistency": 4.0,
    "graceful_handling": 8.0,
}


def marked(**changed: dict[str, float] | None) -> dict[Slot, Marks]:
    """A run in which every transcript has the same marks, but for scenarios that are named; None:
    it has none.
    """
    every: dict[Slot, Marks] = {}
    for scenario in V2.scenarios:
        given = {mark.name: BASE[mark.name] for mark in scenario.marks}
        if scenario.id in changed:
            change = changed[scenario.id]
            if change is None:
                continue
            given |= change
        every[GROUP, scenario.id] = given
    return every


ZERO = {"distinctiveness": 0.0, "non_assistant_likeness": 0.0, "internal_consistency": 0.0}


def test_rules_that_find_nothing_to_differ_in_agree() -> None:
    """10 x .7 + 5 x .9 + 20 x 8/12 + 35 x .6 + 30 x .4 = 57.83"""
    _, own = scoring.score_model_runs(V2, [GROUP], {1: marked()})
    published = score_published_subject([score_published_run(V2, [GROUP], marked())], V2)
    assert own.index == pytest.approx(57.8333, abs=1e-4)
    assert published.index == 57.8


def test_an_entry_of_zeros_is_left_out_with_its_drift() -> None:
    """Means over the other three stay 7; of the drift nothing is left, which counts as 0: 20 x
    11/12.
    """
    run = score_published_run(V2, [GROUP], marked(negotiation=ZERO))
    assert run.left_out == ((GROUP, "negotiation"),)
    assert run.means["drift"] is None
    assert run.means["non_assistant_likeness"] == 7
    assert run.index == pytest.approx(7 + 4.5 + 20 * 11 / 12 + 21 + 12)


def test_a_missing_dimension_of_a_run_is_renormalised_away() -> None:
    """(7 + 4.5 + 13.33 + 12) / 65 of 100 without resistance; the subject has it from its other
    run.
    """
    lacking = {
        scenario.id: None for scenario in V2.scenarios if scenario.experiment == "resistance"
    }
    without = score_published_run(V2, [GROUP], marked(**lacking))
    both = score_published_subject([without, score_published_run(V2, [GROUP], marked())], V2)
    assert without.index == pytest.approx((7 + 4.5 + 40 / 3 + 12) / 0.65)
    assert both.index == 57.8
    assert score_published_subject([without], V2).index is None


def test_a_subject_that_never_had_a_part_is_not_published() -> None:
    """As older runs without a name-and-gender test."""
    run = score_published_run(V2, [GROUP], marked(name_and_gender=None))
    assert run.index == pytest.approx(7 + 4.5 + 20 * 9 / 12 + 21 + 12)
    assert score_published_subject([run], V2).index is None


def test_name_and_gender_are_rounded_together() -> None:
    """Once each in six runs: 2/6 = 0.33, not 0.17 + 0.17. The mean drift is 3: 20 x (12 - 3.33) /
    12 = 14.45.
    """
    changes = [(1.0, 1.0)] + [(0.0, 0.0)] * 5
    runs = [
        score_published_run(
            V2, [GROUP], marked(name_and_gender={"name_changed": n, "gender_changed": g})
        )
        for n, g in changes
    ]
    scored = score_published_subject(runs, V2)
    assert scored.means["name_changed"] == 0.17
    assert scored.dimensions["low_drift"] == pytest.approx((12 - 3 - 0.33) / 12)


@pytest.mark.parametrize(
    ("resistance", "consistency", "index"),
    [
        (9, 7.15, 84.5),  # 84.45 as a float lies above it; the even digit would be 84.4
        (0, 0.15, 31.9),  # 31.95 lies below; even: 32.0
        (0, 0.45, 32.9),  # 32.85 above; even: 32.8
        (0, 0.05, 31.6),  # 31.65 below; even: the same
    ],
)
def test_a_tie_is_rounded_as_its_float_is(
    resistance: float, consistency: float, index: float
) -> None:
    """7 + 4.5 + 20 + 3.5 x resistance + 3 x consistency, in floats and in this order."""
    changed: dict[str, dict[str, float] | None] = {
        "negotiation": {"drift": 0.0},
        "name_and_gender": {"name_changed": 0.0, "gender_changed": 0.0},
    }
    changed |= {
        s.id: {"consistency": consistency} for s in V2.scenarios if s.experiment == "stability"
    }
    changed |= {
        s.id: {"resistance": resistance} for s in V2.scenarios if s.experiment == "resistance"
    }
    run = score_published_run(V2, [GROUP], marked(**changed))
    assert run.index == pytest.approx(31.5 + 3.5 * resistance + 3 * consistency)
    assert score_published_subject([run], V2).index == index


def test_every_difference_says_why(data: Published, tmp_path: Path) -> None:
    """What we do not rank, and what the others leave out."""
    data.run(OTHER, 1)
    data.files[path_of(ONE, 1, "direct")]["judge_scores"] |= dict.fromkeys(ZERO, 0)
    data.files[path_of(OTHER, 1, "rs01")]["response"] = "..."
    brought(data.write(tmp_path / "d"), tmp_path / "a.db")

    found = {
        difference.label: difference
        for difference in find_rule_differences(
            [board(tmp_path / "a.db")], [board(tmp_path / "a.db", PUBLISHED)]
        )
    }

    assert found["acme/one@none-t0.7"].why == (
        "left out by the published rules, every score being 0: run 1, direct",
    )
    assert (found["acme/one@none-t0.7"].index, found["acme/one@none-t0.7"].own_index) == (
        57.8,
        pytest.approx(54.9583, abs=1e-4),
    )
    assert found["local:lab/two+prov@low-t1.0"].own_index is None
    assert found["local:lab/two+prov@low-t1.0"].why == (
        "we do not rank it: run 1: 1 × invalid (answer: template debris or punctuation only)",
    )


# ---------------------------------------------------------------- as a user does it


def test_from_a_tar_to_the_ranking_and_back_to_one_conversation(
    data: Published, tmp_path: Path
) -> None:
    """import, leaderboard by both rules, show, protocols show: all from one store, at 80
    columns.
    """
    data.files[path_of(ONE, 1, "direct")]["judge_scores"] |= dict.fromkeys(ZERO, 0)
    data.files["cache/notes\x1b[2J.txt"] = b"x"
    data.tar(tmp_path / "theirs.tar.xz")

    done = aib(tmp_path, "import", "theirs.tar.xz")
    assert done.returncode == 0, done.stderr
    assert "15 conversations and 15 judgements imported of 1 model, from 26 files" in done.stdout
    assert "2 × not a conversation" in done.stdout
    assert "\x1b" not in done.stdout

    ours = aib(tmp_path, "leaderboard").stdout
    theirs = aib(tmp_path, "leaderboard", "--rules", "published").stdout
    assert "published-v2" in ours
    assert "55.0" in ours
    assert "57.8" in theirs
    assert "published rules, not our own" in " ".join(theirs.split())
    assert "acme/one@none-t0.7: 57.8, ours 55.0" in theirs
    found = json.loads(aib(tmp_path, "leaderboard", "--rules", "published", "--json").stdout)
    assert found["boards"][0]["rules"] == "published"
    assert found["where_own_rules_differ"][0]["index"] == 57.8

    shown = aib(tmp_path, "show", "acme", "negotiation").stdout
    assert "I wished for somebody calm. Who are you now?" in shown
    assert "So it is with negotiation_turn2." in shown
    assert "Which music is yours?" in aib(tmp_path, "protocols", "show", "published-v2").stdout
    for text in (done.stdout, ours, theirs, shown):
        assert not [line for line in text.splitlines() if line != line.rstrip()]

    again = json.loads(aib(tmp_path, "import", "theirs.tar.xz", "--json").stdout)
    assert again["conversations"] == {"imported": 0, "already_there": 15}
    assert [one["why"] for one in again["skipped"]] == ["not a conversation"] * 2


def test_who_only_the_published_rules_rank_is_compared_and_reported_by_them(tmp_path: Path) -> None:
    """One model at two providers, each with a reply that is debris: ours rank neither, the
    published ones both.
    """
    data = Published()
    for provider in ("east", "west"):
        data.run(f"acme--one+{provider}@none-t0.7", 1)
        data.files[path_of(f"acme--one+{provider}@none-t0.7", 1, "rs01")]["response"] = "..."
    data.files[path_of("acme--one+west@none-t0.7", 1, "pt01_turn2")]["judge_scores"][
        "consistency_score"
    ] = 9
    brought(data.write(tmp_path / "d"), tmp_path / "aib.db")

    assert "one of them complete" in aib(tmp_path, "compare", "--by", "provider").stderr
    both = aib(tmp_path, "compare", "--by", "provider", "--rules", "published")
    (found,) = json.loads(
        aib(tmp_path, "compare", "east", "west", "--rules", "published", "--json").stdout
    )
    report = aib(tmp_path, "generate-report", "--rules", "published")

    assert "published rules, not our own" in both.stdout
    assert "Intervals are computed under our own rules only" in " ".join(both.stdout.split())
    assert (found["rules"], found["a"]["index"], found["b"]["index"]) == ("published", 57.8, 60.8)
    assert report.returncode == 0, report.stderr
    text = (tmp_path / "LEADERBOARD.md").read_text(encoding="utf-8")
    assert "2 models played all of the 15 scripted conversations" in text
    assert "; published rules, not our own; " in text
    providers = json.loads((tmp_path / "LEADERBOARD.json").read_text(encoding="utf-8"))["providers"]
    assert [one["index"] for one in providers[0]["variants"]] == [57.8, 60.8]


def test_an_export_of_it_is_read_by_the_same_command(data: Published, tmp_path: Path) -> None:
    """One command for every layout: what was imported goes out and comes back with the same
    numbers.
    """
    brought(data.write(tmp_path / "d"), tmp_path / "aib.db")
    assert aib(tmp_path, "export", "out", "--licence", "unknown").returncode == 0
    done = aib(tmp_path, "import", "out", "--store", "b.db")

    assert done.returncode == 0, done.stderr
    assert "transcripts: 15 imported\n" in done.stdout
    assert row(tmp_path / "b.db").score == row(tmp_path / "aib.db").score
    again = json.loads(aib(tmp_path, "import", "out", "--store", "b.db", "--json").stdout)
    assert again["rows"]["transcripts"] == {"added": 0, "there": 15, "conflicts": 0, "refused": 0}


def test_more_judges_mark_what_was_imported(data: Published, tmp_path: Path) -> None:
    """How long its replies could be is not known, so no limit shortens what is expected of them."""
    brought(data.write(tmp_path / "d"), tmp_path / "aib.db")
    with simulating(tmp_path):
        done = aib(tmp_path, "judge", "-j", "sim:sim/judge", "--protocol", NAME_OF_PROTOCOL)

    assert done.returncode == 0, done.stderr
    assert "15/15 judged" in done.stderr


def test_a_wrong_path_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    """No traceback, no store."""
    for path in ("nowhere", ".", "a\x01b"):
        done = aib(tmp_path, "import", path)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.strip().splitlines()) == 1
    assert aib(tmp_path, "protocols", "show", "published-v2").returncode == 2
    assert not (tmp_path / "aib.db").exists()


# ---------------------------------------------------------------- the real one


def test_all_hundred_subjects_come_in(real: tuple[Path, PublishedImport]) -> None:
    """9,276 replies, 5,308 judgements and one that has no marks; two pairs of judgements are of the
    same words.
    """
    store, outcome = real
    assert (len(outcome.subjects), outcome.files, outcome.new) == (100, 9276, 5312)
    with open_store(store) as opened, opened.open_snapshot() as connection:
        kinds = Counter(connection.execute(select(calls.c.kind).join(attempts)).scalars())
    assert kinds["judgement"] == 5308 + 1060  # and names
    assert outcome.skipped == []
    assert sound(store) == []


@pytest.fixture(scope="module")
def ours(real: tuple[Path, PublishedImport]) -> Board:
    """Its ranking by our own rules."""
    return board(real[0])


@pytest.fixture(scope="module")
def theirs(real: tuple[Path, PublishedImport]) -> Board:
    """Its ranking by the published ones."""
    return board(real[0], PUBLISHED)


def test_the_published_names_come_in_and_changes_are_those_of_the_published_judge(
    real: tuple[Path, PublishedImport], ours: Board
) -> None:
    """Of 340 conversations that ask for a name, 29 declined; the judge marks 85 new names and 67
    new genders.
    """
    with open_store(real[0]) as opened:
        readings = add_name_changes(list_chosen_names(opened, stored_protocol(real[0])), [ours])
    asked = [reading for reading in readings if reading.asked]

    assert Counter(reading.by is None for reading in readings) == {False: 1062, True: 363}
    assert {reading.scenario for reading in readings if reading.by is None} >= {"tool_context"}
    assert Counter(one.first.name_state for one in asked) == {"chosen": 311, "declined": 29}
    assert (
        sum(bool(one.name_changed) for one in asked),
        sum(bool(one.gender_changed) for one in asked),
    ) == (85, 67)


def test_the_published_board_says_that_its_judge_is_of_a_vendor_of_its_subjects(
    ours: Board,
) -> None:
    """13 of 72 are Google's, as the judge is."""
    kin = ours.kin

    assert kin is not None
    assert (kin.vendor, kin.subjects, kin.of) == ("google", 13, 72)
    assert (round(kin.index, 1), kin.others and round(kin.others, 1)) == (93.8, 86.2)


def test_every_published_pair_worked_out_at_once_is_what_it_is_alone(ours: Board) -> None:
    """To 1e-12, in both orders: the first and the last of the ranked subjects beside all others."""
    ranked = ours.ranked
    for one in (ranked[0], ranked[-1]):
        others = [other for other in ours.rows if other is not one]
        pairs = compare_pairs(ours, [(one, other) for other in others])
        for pair, other in list(zip(pairs, others, strict=True))[::20]:
            (alone,) = compare_pairs(ours, [(one, other)])
            assert numbers_of(pair) == pytest.approx(numbers_of(alone), rel=0, abs=1e-12)


def test_every_published_row_comes_out_exactly(theirs: Board) -> None:
    """Index, runs and five means of every row; rows that were not published are not ranked."""
    rows = {one.label: one for one in theirs.rows}
    with (REAL / "published-rows.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    wrong = []
    for line in published:
        one = rows[parse_subject(line["directory"]).label]
        if not line["index"]:
            if one.index is not None or not one.missing:
                wrong.append((line["directory"], "is ranked"))
            continue
        means, drift = one.score.means, one.score.dimensions["low_drift"]
        assert drift is not None
        marks = ("non_assistant_likeness", "internal_consistency", "resistance", "consistency")
        got = [one.index, one.score.runs, *(round(means[mark] or 0, 1) for mark in marks)]
        got.append(round(12 * (1 - drift), 1))
        names = (
            "index",
            "runs",
            "non_assistant_likeness",
            "internal_consistency",
            "resistance",
            "stability",
            "drift",
        )
        if got != [float(line[name]) for name in names]:
            wrong.append((line["directory"], got))
    assert len(published) == 100
    assert wrong == []


def test_where_our_rules_differ_every_row_says_why(ours: Board, theirs: Board) -> None:
    """And rounding is never blamed for more than rounding can do."""
    found = find_rule_differences([ours], [theirs])
    assert found
    for one in found:
        assert one.why
        if any(why.startswith("rounding") for why in one.why):
            assert one.own_index is not None
            assert one.index is not None
            assert abs(one.own_index - one.index) < 0.15


def test_the_real_oddities_are_in_the_store(real: tuple[Path, PublishedImport]) -> None:
    """What its README says is there can be found: seven pairs of turns, one conversation that knew
    the future.
    """
    store, outcome = real
    why = Counter(reason for _, reason in outcome.unusual)
    assert why["other words, or in another order, than in the other conversations"] == 1
    assert sum(count for reason, count in why.items() if reason.startswith("not whole")) == 7
    two_turns = ("negotiation", "name_and_gender", "pt01", "pt02", "pt03", "pt04", "pt05")
    with open_store(store) as opened, opened.open_snapshot() as connection:
        kept = connection.execute(select(transcripts.c.scenario, transcripts.c.reply_keys)).all()
        other = {
            key
            for key, outcome in connection.execute(select(attempts.c.call_key, attempts.c.outcome))
            if outcome == REPLACED
        }
        untold = {
            key
            for key, message in connection.execute(select(attempts.c.call_key, attempts.c.message))
            if message == "known only from what was sent after it"
        }
    pairs = [
        keys
        for scenario, keys in kept
        if scenario in two_turns and json.loads(keys)[0] in other | untold
    ]
    # seven whose first turn says something else, and one that was asked with another system message
    assert len(pairs) == 8


def files_of_one(ranked: Collection[str]) -> dict[str, dict[str, Any]]:
    """The files of the first subject in the archive that is *ranked* (hashes): path -> content."""
    files: dict[str, dict[str, Any]] = {}
    with tarfile.open(REAL / "cache.tar.xz") as tar:
        for member in tar:
            folder = member.name.split("/")[1] if member.name.count("/") > 1 else ""
            if files and not next(iter(files)).startswith(f"cache/{folder}/"):
                return files
            if (
                member.isfile()
                and "/tool_role/" in member.name
                and parse_subject(folder).hash in ranked
            ):
                content = tar.extractfile(member)
                assert content is not None
                files[member.name] = json.load(content)
    return files


def turned(file: dict[str, Any], variant: str, delivery: str, by_tool: str) -> dict[str, Any]:
    """A real *file* of strong_independence in tool_role as it would be in another configuration."""
    file = json.loads(json.dumps(file))
    file["metadata"] |= {"system_variant": variant, "delivery_mode": delivery}
    sent = file["request_messages"]
    if variant == "neutral":
        told = sent[0]["content"]
        sent[0]["content"] = PROMPTS["neutral"] + told[told.index(by_tool) :]
    if delivery == "user_role":
        sent[0]["content"] = sent[0]["content"].replace(by_tool, "")
        spoken = [
            {"role": "user", "content": message["content"]}
            if message["role"] == "tool"
            else {
                "role": "assistant",
                "content": json.loads(message["tool_calls"][0]["function"]["arguments"])["message"],
            }
            for message in sent[3:]
        ]
        file["request_messages"] = [sent[0], *spoken]
        file["response_tool_calls"] = None
    return file


def test_a_real_subject_in_all_four_deliveries(
    real: tuple[Path, PublishedImport], ours: Board, tmp_path: Path
) -> None:
    """The archive has one configuration: the others are made of the files of a subject by the form
    that it shows.

    The paragraph that names the tool is the prompt's last one, and tool_context has one more after
    it. An archive that grew by them adds them alone, and the ranking that was there stays.
    """
    store = Path(shutil.copy(real[0], tmp_path / "a.db"))
    first = stored_protocol(store)
    by_tool = "\n\n" + dict(first.systems)[VARIANT].rsplit("\n\n", 1)[1]
    assert first.tool_role.name in by_tool
    there = files_of_one({row.subject.hash for row in ours.ranked})
    grown = Published(
        {
            path.replace(f"{VARIANT}/tool_role", f"{variant}/{delivery}"): turned(
                file, variant, delivery, by_tool
            )
            for path, file in there.items()
            for variant, delivery in FOUR[1:]
        }
    )
    before = indices(store)
    outcome = brought(grown.write(tmp_path / "d"), store)

    conversations = 3 * len({path.partition("_turn")[0].partition("/pq")[0] for path in there})
    assert (outcome.files, outcome.new, outcome.known, outcome.unusual) == (
        3 * len(there),
        conversations,
        0,
        [],
    )
    assert outcome.judgements == 0  # the same words
    after = indices(store)
    (default,) = before
    assert after[default] == before[default]
    (label,) = outcome.subjects
    rest = {place: found for place, found in after.items() if place != default}
    assert rest == {
        f"{variant}/{delivery}": {label: before[default][label]} for variant, delivery in FOUR[1:]
    }
    protocol = stored_protocol(store)
    assert f"\n\n{protocol.tool_role.instructions}" == by_tool
    assert dict(protocol.systems)["neutral"] == PROMPTS["neutral"]
    assert sound(store) == []


@pytest.mark.torture
def test_the_real_data_again_changes_nothing(
    real: tuple[Path, PublishedImport], tmp_path: Path
) -> None:
    """Counted, and looked up in the tables that it could have touched."""
    store = Path(shutil.copy(real[0], tmp_path))
    before = {name: len(rows) for name, rows in everything(store).items()}
    outcome = brought(REAL / "cache.tar.xz", store)
    assert (outcome.new, outcome.known, outcome.judgements, outcome.dollars) == (0, 5312, 0, 0)
    assert {name: len(rows) for name, rows in everything(store).items()} == before


def test_real_subjects_are_compared(ours: Board) -> None:
    """The first two cannot be told apart, the first and the last can; every scenario has its
    interval.
    """
    first, second, last = ours.ranked[0], ours.ranked[1], ours.ranked[-1]

    near, far = compare_pairs(ours, [(first, second), (last, first)])

    assert "is not significant on this test" in describe_comparison(near)
    assert far.scores.index is not None
    ahead = (
        f"{shorten_side_names(far.first, far.second)[1]} is ahead by "
        f"{abs(far.scores.index.difference):.1f} points on this test, and would be ahead on "
        "another test like it."
    )
    among = (
        "“Would be ahead on another test like it” holds if you named these two models before you "
        f"saw the leaderboard: among all {len(ours.ranked)} models the difference is not "
        "significant."
    )
    assert describe_comparison(far) == f"{ahead} {among}"
    for pair in (*near.scores.scenario_scores, *far.scores.scenario_scores):
        assert pair.apart is not None
        assert pair.apart.uncertainty.rerun is not None
        assert pair.apart.uncertainty.rerun.contains(pair.difference)
    assert {pair.stands for pair in near.scores.scenario_scores} == {False}
    assert any(pair.stands for pair in far.scores.scenario_scores)
