"""estimate-cost, rerun, compare, clear, models and --exp as a user meets them: real processes, a
simulated endpoint.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from embedded_judge import with_model
from simulated_endpoint import aib, simulating

from independence_bench.models.endpoints import SHIPPED, ModelsFile, load_shipped_subjects
from independence_bench.models.spec import ModelSpec, Roster
from independence_bench.protocol import loader as protocols
from independence_bench.protocol.loader import load_protocol
from independence_bench.store import attempts as stored_attempts
from independence_bench.store.attempts import Spending
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

JUDGE = ("--judge", "sim:sim/judge")
PROTOCOLS = protocols.SHIPPED
V2 = load_protocol("v2")
CALLS = V2.configuration_reply_count + len(V2.scenarios)  # of one run, its judgements included


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose models.yaml leads to a simulated endpoint; in `played.db`: three subjects, one
    run each.
    """
    made = with_model(tmp_path_factory.mktemp("user"))
    with simulating(made):
        done = aib(
            made,
            "run",
            *named("stubborn", "random", "agreeable"),
            *JUDGE,
            "--runs",
            "1",
            "--store",
            "played.db",
        )
        assert done.returncode == 0, done.stderr
        yield made


@pytest.fixture
def store(folder: Path) -> Iterator[str]:
    """A copy of `played.db`."""
    with open_store(folder / "played.db"):  # whatever is in the WAL goes into the file
        pass
    shutil.copy(folder / "played.db", folder / "copy.db")
    yield "copy.db"
    for left in folder.glob("copy.db*"):
        left.unlink()


@pytest.fixture
def empty(folder: Path) -> Iterator[str]:
    """The name of a store that is not there yet."""
    yield "empty.db"
    for left in folder.glob("empty.db*"):
        left.unlink()


def named(*characters: str) -> list[str]:
    """The characters as a user types them."""
    return [f"sim:sim/{name}" for name in characters]


def spending(path: Path) -> Spending:
    """What a store has cost."""
    with open_store(path) as opened, opened.open_snapshot() as connection:
        return stored_attempts.sum_spending(connection)


def counted(path: Path, table: str) -> int:
    """The rows of *table*."""
    with open_store(path) as opened, opened.open_snapshot() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """What a command that failed as it should said."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr.strip().splitlines()[-1]


# ---------------------------------------------------------------- estimate-cost


def estimated(folder: Path, *arguments: str) -> dict[str, object]:
    """`aib estimate-cost --json`."""
    done = aib(folder, "estimate-cost", *arguments, *JUDGE, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


ORDINARY = ("stubborn", "agreeable", "gives-in-at-2", "random", "evader")


@pytest.mark.parametrize(
    ("cast", "options"),
    [
        (("gives-in-at-2",), ("--protocol", "v2")),
        (ORDINARY, ("--protocol", "lite")),
        (("stubborn", "agreeable"), ("--protocol", "v2", "--exp", "identity")),
        (
            ("stubborn", "agreeable"),
            ("--protocol", "v2", "--exp", "resistance", "--reasoning-effort", "low"),
        ),
        (
            ("stubborn", "agreeable"),
            ("--protocol", "v2", "--exp", "stability", "--modes", "user_role"),
        ),
    ],
)
def test_from_an_empty_store_the_estimate_is_within_20_percent(
    folder: Path, empty: str, cast: tuple[str, ...], options: tuple[str, ...]
) -> None:
    """Nothing is known of who speaks as long as a typical model: one alone, all together, and parts
    of a protocol.
    """
    order = (*named(*cast), *options, "--runs", "1", "--store", empty)

    told = estimated(folder, *order)
    assert not (folder / empty).exists()
    done = aib(folder, "run", *order, *JUDGE)

    assert done.returncode == 0, done.stderr
    spent = spending(folder / empty)
    assert told["dollars"] == pytest.approx(spent.total, rel=0.2)
    assert told["candidates"]["dollars"] == pytest.approx(spent.replies, rel=0.2)  # type: ignore[index]
    assert told["judging"]["dollars"] == pytest.approx(spent.judgements, rel=0.2)  # type: ignore[index]
    assert told["low"] < spent.total < told["high"]  # type: ignore[operator]
    # where two say the same words, one judgement is of both
    asked = told["candidates"]["calls"] + told["judging"]["calls"]  # type: ignore[index]
    assert spent.attempts <= asked <= spent.attempts + 2
    assert {one["from"] for one in told["subjects"]} == {"assumed"}  # type: ignore[attr-defined]


def test_who_is_short_by_nature_is_estimated_from_its_own_replies(folder: Path, empty: str) -> None:
    """From an empty store it is taken for a typical model, which costs far more; after one
    experiment it is known.
    """
    order = (*named("terse"), "--runs", "1", "--store", empty)
    assert estimated(folder, *order)["dollars"] == pytest.approx(0.066, rel=0.1)
    assert aib(folder, "run", *order, *JUDGE).returncode == 0
    before = spending(folder / empty)

    told = estimated(
        folder, *named("terse"), "--temperature", "0.5", "--runs", "1", "--store", empty
    )
    done = aib(
        folder,
        "run",
        *named("terse"),
        "--temperature",
        "0.5",
        *JUDGE,
        "--runs",
        "1",
        "--store",
        empty,
    )

    assert done.returncode == 0, done.stderr
    after = spending(folder / empty)
    assert told["dollars"] == pytest.approx(after.total - before.total, rel=0.2)
    assert told["dollars"] < 0.04  # type: ignore[operator]


def test_what_is_known_of_some_scenarios_is_carried_over_to_the_others(
    folder: Path, empty: str
) -> None:
    """The terse one has played resistance only: in the others, too, it will say less than a typical
    model.
    """
    first = (*named("terse"), "--runs", "1", "--store", empty)
    assert aib(folder, "run", *first, *JUDGE, "--exp", "resistance").returncode == 0
    before = spending(folder / empty)

    order = (*named("terse"), "--temperature", "0.5", "--runs", "1", "--store", empty)
    told = estimated(folder, *order)
    assert aib(folder, "run", *order, *JUDGE).returncode == 0

    after = spending(folder / empty)
    assert told["candidates"]["dollars"] == pytest.approx(after.replies - before.replies, rel=0.2)  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "like"),
    [
        # it says the same again: nothing new to judge
        (("sim:sim/stubborn", "--runs", "3", "--no-judge"), "its own"),
        (("sim:sim/stubborn", "--runs", "1", "--temperature", "0.2"), "1 other model"),
        (("sim:sim/evader", "--runs", "1"), "3 other models"),
    ],
)
def test_from_a_similar_subject_the_estimate_is_within_20_percent(
    folder: Path, store: str, options: tuple[str, ...], like: str
) -> None:
    """The same subject with more runs, the same model under other settings, another model: what was
    taken is known.
    """
    before = spending(folder / store)

    told = estimated(folder, *options, "--store", store)
    aib(folder, "run", *options, *JUDGE, "--store", store)

    after = spending(folder / store)
    assert told["subjects"][0]["from"] == like  # type: ignore[index]
    assert told["candidates"]["dollars"] == pytest.approx(after.replies - before.replies, rel=0.2)  # type: ignore[index]
    assert told["judging"]["dollars"] == pytest.approx(
        after.judgements - before.judgements, rel=0.2
    )  # type: ignore[index]
    assert told["spent_before"] == pytest.approx(before.total)


def test_what_is_stored_is_taken_off(folder: Path, store: str) -> None:
    """One subject is there, the other is not: only that one costs, and a subject that is there says
    so.
    """
    before = counted(folder / store, "attempts")

    told = estimated(folder, *named("stubborn", "terse"), "--runs", "1", "--store", store)
    shown = aib(
        folder,
        "estimate-cost",
        *named("stubborn", "terse"),
        "--runs",
        "1",
        *JUDGE,
        "--store",
        store,
    )

    there, new = told["subjects"]  # type: ignore[misc]
    assert (there["candidate"]["calls"], there["dollars"], there["from"]) == (
        0,
        0.0,
        "nothing left",
    )
    assert new["candidate"]["calls"] == V2.configuration_reply_count
    assert told["dollars"] == new["dollars"]
    assert "nothing left" in " ".join(shown.stdout.split())
    assert counted(folder / store, "attempts") == before  # nothing was sent


# ---------------------------------------------------------------- --exp


def test_an_experiment_is_played_alone_and_the_run_stays_partial(folder: Path, empty: str) -> None:
    """Five scenarios of stability, ten replies; the subject is incomplete, and the rest can
    follow.
    """
    some = [scenario for scenario in V2.scenarios if scenario.experiment == "stability"]
    only = ("run", *named("stubborn"), *JUDGE, "--runs", "1", "--store", empty)

    part = aib(folder, *only, "--exp", "stability")
    assert part.returncode == 0, part.stderr
    assert "only stability" in part.stderr
    assert f"{sum(len(s.reply_names) for s in some) + len(some)} calls" in part.stderr
    assert "Incomplete, not ranked" in part.stdout
    assert f"run 1: {len(V2.scenarios) - len(some)} × not played" in part.stdout
    assert re.search(r"mean index +stable +invalid.*\n.*\n.* – +100 +0%", part.stdout), part.stdout
    detailed = aib(folder, "leaderboard", "--detailed", "--store", empty).stdout
    assert re.search(r"consistency +0-10 +10\.00 +10\.00\n", detailed), detailed
    assert re.search(r"resistance +0-10 +– +–\n", detailed), "absent is absent"
    rest = aib(folder, *only)

    assert "Incomplete" not in rest.stdout
    assert spending(folder / empty).attempts == CALLS


def test_only_the_boards_of_what_was_played_are_printed(folder: Path, store: str) -> None:
    """Two configurations that are not the default: two boards, and not the default's."""
    ways = ("--variants", "neutral", "--modes", "user_role,tool_role", "--exp", "stability")

    done = aib(folder, "run", *named("stubborn"), *JUDGE, "--runs", "1", *ways, "--store", store)

    assert done.stdout.count("Independence Index") == 2
    assert "neutral/user_role" in done.stdout
    assert "neutral/tool_role" in done.stdout
    assert "strong_independence" not in done.stdout


def test_a_board_of_a_judge_that_nobody_asked_for_is_printed_only_where_it_ranks_somebody(
    folder: Path, store: str
) -> None:
    """Three judges have marked v2, which shares scenarios with lite; lite is judged by one of
    them.
    """
    done = aib(
        folder, "judge", "-j", "sim:sim/judge-plain", "-j", "sim:sim/judge-object", "--store", store
    )
    assert done.stdout.count("Independence Index") == 3, done.stderr
    lite = ("--protocol", "lite", "--runs", "1", "--store", store)

    done = aib(folder, "run", *named("stubborn"), *JUDGE, *lite)
    assert done.stdout.count("Independence Index") == 1, done.stdout
    assert "judge: sim:sim/judge@" in done.stdout

    done = aib(
        folder, "judge", "-j", "sim:sim/judge-object", "--protocol", "lite", "--store", store
    )
    assert done.stdout.count("Independence Index") == 2, done.stdout


def test_after_a_command_a_long_leaderboard_shows_its_models_and_their_neighbours(
    folder: Path, empty: str
) -> None:
    """Thirteen models, three of them by the judge's vendor and one told to reason; then one more
    model. Ranks and limits are those of the whole leaderboard, signs those of the rows shown.
    """
    lite = ("--protocol", "lite", "--judge", "sim:kin/judge", "--runs", "1", "--store", empty)
    cast = named(
        *(f"gives-in-at-{pushes}" for pushes in range(1, 6)), "stubborn", "agreeable", "random"
    )
    cast += [*named("verbose"), "sim:kin/stubborn", "sim:kin/agreeable", "sim:kin/evader"]
    assert aib(folder, "run", *cast, *lite).returncode == 0
    assert aib(folder, "run", *named("terse"), "-r", "low", *lite).returncode == 0

    done = aib(folder, "run", *named("evader"), *lite)

    assert done.returncode == 0, done.stderr
    (board,) = json.loads(
        aib(folder, "leaderboard", "--protocol", "lite", "--store", empty, "--json").stdout
    )["boards"]
    ranked = [(str(row["rank"]), row["label"]) for row in board["ranked"]]
    place = [label for _, label in ranked].index("sim:sim/evader@none-t0.7")
    assert 2 <= place < len(ranked) - 2, "it has all four neighbours"
    near = [(rank, label.partition("@")[0]) for rank, label in ranked[place - 2 : place + 3]]
    assert re.findall(r"^ *(\d+) (sim:\S+)", done.stdout, re.MULTILINE) == near
    assert "Shown: 5 of 14 ranked models." in done.stdout
    assert "The judge and 3 of the 14 models are Kin's." in done.stdout
    assert done.stdout.count(f"`aib leaderboard --protocol lite --store {empty}`") == 1
    assert len(done.stdout.splitlines()) < 24

    whole = aib(folder, "run", *cast, *named("evader"), *lite)
    assert "Shown: 14 of" not in whole.stdout
    rows = re.findall(r"^ *\d+ sim:\S+", whole.stdout, re.MULTILINE)
    assert len(rows) == 14, "every model of the command, and no other"
    other = aib(
        folder, "judge", "-j", "sim:sim/judge", "-m", "sim/evader", *lite[:2], "--store", empty
    )
    assert other.stdout.count("Independence Index") == 2, "by both judges"
    assert len(re.findall(r"^ *\d+ sim:sim/evader", other.stdout, re.MULTILINE)) == 2
    assert "with a higher index" in other.stdout, "who leads is not one of the neighbours"
    assert "Incomplete" not in other.stdout, "what the second judge did not mark"


def test_every_difference_of_two_models_is_that_of_the_one_ahead_minus_the_other(
    folder: Path, store: str
) -> None:
    """In every table, however they are named; programs get the second minus the first, as ever."""
    for first, second in (("stubborn", "agreeable"), ("agreeable", "stubborn")):
        asked = ("compare", f"sim/{first}", f"sim/{second}", "--store", store)
        text = aib(folder, *asked, "--scenarios").stdout
        assert "stubborn would be ahead" in text
        assert text.count("stubborn −") == 2, "the heads of both tables"
        rows = re.findall(r" (\d+(?:\.\d)?) +(\d+(?:\.\d)?) +([+-]\d\S*)(.*)", text)
        assert len(rows) > 20, "index, dimensions, and dimensions in scenarios"
        for one, other, difference, sure in rows:
            apart = abs(float(one) - float(other))
            assert float(difference) == pytest.approx(apart, abs=1.01)
            assert difference.startswith("+")
            for low, high in re.findall(r"([+-]?\d\S*) to ([+-]?\d[\d.]*)", sure):
                assert float(low) <= float(difference) <= float(high)
        assert " to " in rows[0][-1], "of the index there is an interval"
        (values,) = json.loads(aib(folder, *asked, "--json").stdout)
        assert values["a"]["label"] == f"sim:sim/{first}@none-t0.7"
        assert values["index"]["difference"] == values["b"]["index"] - values["a"]["index"]
        assert all(
            one["difference"] == one["second"] - one["first"]
            for one in (*values["dimensions"], *values["scenarios"])
        )


# ---------------------------------------------------------------- rerun


def test_rerun_adds_runs_with_every_setting_as_it_was(folder: Path, empty: str) -> None:
    """The temperature and the judge come from the store; what is there is not asked again."""
    settings = (
        "--temperature",
        "0.3",
        "--judge",
        "sim:sim/judge-object",
        "--runs",
        "1",
        "--store",
        empty,
    )
    assert aib(folder, "run", *named("stubborn"), *settings).returncode == 0

    done = aib(folder, "rerun", "stubborn", "--runs", "2", "-y", "--store", empty)

    assert done.returncode == 0, done.stderr
    assert f"at most {CALLS} calls" in done.stderr
    # it says what it said in the first run, which is judged
    assert f"{V2.configuration_reply_count}/{V2.configuration_reply_count} calls" in done.stderr
    assert "sim:sim/stubborn@none-t0.3" in done.stderr
    assert "judge: sim:sim/judge-object" in done.stdout
    assert (counted(folder / empty, "subjects"), counted(folder / empty, "judges")) == (1, 1)
    # nothing to be done: nothing to be asked
    again = aib(folder, "rerun", "--runs", "2", "--store", empty)
    assert again.returncode == 0, again.stderr
    assert "0/0 calls" in again.stderr


# ---------------------------------------------------------------- clear


def test_cleared_responses_are_asked_anew_and_their_cost_stays(folder: Path, store: str) -> None:
    """One subject goes with its judgements, the others stay; the same command buys it again."""
    path = folder / store
    before = spending(path)
    attempts = counted(path, "attempts")

    done = aib(folder, "clear", "responses", "agreeable", "-y", "--store", store)

    assert done.returncode == 0, done.stderr
    replies = V2.configuration_reply_count
    said = f"this deletes {len(V2.scenarios)} conversations, {replies} replies and"
    assert said in done.stderr
    assert counted(path, "transcripts") == 2 * len(V2.scenarios)
    assert counted(path, "subjects") == 2
    assert spending(path) == before
    assert counted(path, "attempts") == attempts
    rest = aib(folder, "leaderboard", "--json", "--store", store)
    assert [
        row["label"].split("@")[0] for row in json.loads(rest.stdout)["boards"][0]["ranked"]
    ] == named("stubborn", "random")
    assert (
        aib(folder, "run", *named("agreeable"), *JUDGE, "--runs", "1", "--store", store).returncode
        == 0
    )
    assert spending(path).total > before.total
    assert counted(path, "replies") == 3 * V2.configuration_reply_count


def test_a_cleared_call_starts_from_nothing(folder: Path, empty: str) -> None:
    """Three broken attempts made a reply invalid; cleared, it gets three new ones without
    --again.
    """
    debris = (
        "run",
        *named("debris"),
        "--no-judge",
        "--runs",
        "1",
        "--exp",
        "stability",
        "--store",
        empty,
    )
    assert aib(folder, *debris).returncode == 1
    tried = counted(folder / empty, "attempts")
    assert aib(folder, *debris).returncode == 1
    assert counted(folder / empty, "attempts") == tried  # invalid for good

    assert aib(folder, "clear", "responses", "-y", "--store", empty).returncode == 0
    aib(folder, *debris)

    assert counted(folder / empty, "attempts") == 2 * tried


def test_judgements_of_one_judge_are_cleared_and_bought_again(folder: Path, store: str) -> None:
    """The conversations stay."""
    path = folder / store
    given = counted(path, "judgements")

    # the other name
    done = aib(folder, "clear-cache", "judgements", "--judge", "sim/judge", "-y", "--store", store)

    assert done.returncode == 0, done.stderr
    assert (counted(path, "judgements"), counted(path, "transcripts")) == (0, 3 * len(V2.scenarios))
    assert aib(folder, "judge", *JUDGE, "--store", store).returncode == 0
    assert counted(path, "judgements") == given


def test_what_another_conversation_shares_is_not_cleared(folder: Path, store: str) -> None:
    """The agreeable one and others that give in say the same words: a judgement of them belongs
    to all of them.
    """
    assert (
        aib(
            folder, "run", *named("gives-in-at-1"), "--no-judge", "--runs", "1", "--store", store
        ).returncode
        == 0
    )
    with open_store(folder / store) as opened, opened.open_snapshot() as connection:
        words = connection.exec_driver_sql(
            "SELECT label, heard_hash FROM transcripts JOIN subjects ON hash = subject_hash"
        ).all()
    mine = {heard for label, heard in words if "agreeable" in label}
    others = {heard for label, heard in words if "agreeable" not in label}
    before = counted(folder / store, "judgements")
    assert mine & others
    assert mine - others

    aib(folder, "clear", "judgements", "agreeable", "-y", "--store", store)

    assert counted(folder / store, "judgements") == before - len(mine - others)


def test_clear_asks_and_leaves_everything_where_nobody_answers(folder: Path, store: str) -> None:
    """It says what would go first, and which flag answers."""
    refused = aib(folder, "clear", "responses", "--store", store)

    assert refused.returncode == 2
    assert "Delete them? There is no terminal to answer at; use --yes" in refused.stderr
    assert f"this deletes {3 * len(V2.scenarios)} conversations" in refused.stderr
    assert counted(folder / store, "transcripts") == 3 * len(V2.scenarios)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("clear", "responses", "--judge", "x"), 2, "leave it out"),
        (("clear", "judgements", "--judge", "nobody"), 2, "no judge is called nobody"),
        (("clear", "responses", "nobody"), 2, "no model is called nobody"),
        (
            ("clear", "judgements", "--protocol", "lite"),
            0,
            "nothing that could be cleared is stored",
        ),
        (("compare", "stubborn"), 2, "name two models"),
        (("compare", "stubborn", "stubborn"), 2, "both are sim:sim/stubborn"),
        (("compare", "stubborn", "agreeable", "--by", "provider"), 2, "name one model, or none"),
        (("compare", "stubborn", "nobody"), 2, "no model is called nobody"),
        (
            ("compare", "stubborn", "agreeable", "--judge", "nobody"),
            2,
            "no judge is called nobody; there is sim:sim/judge",
        ),
        (
            ("rerun", "nobody"),
            2,
            "aib: no model is called nobody; there are sim:sim/agreeable@none-t0.7, ",
        ),
        (
            ("run", "sim:sim/stubborn", "--exp", "identity,charm"),
            2,
            "aib: --exp: v2 has no experiment charm; it has identity, resistance, stability",
        ),
    ],
)
def test_what_is_not_there_is_said_so(
    folder: Path, store: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """One line with a next step; nothing is sent or deleted."""
    assert said in one_line(aib(folder, *arguments, "--store", store), code)


# ---------------------------------------------------------------- compare


def test_two_subjects_are_compared_scenario_by_scenario(folder: Path, store: str) -> None:
    """The stubborn one holds and the agreeable one gives in, everywhere: 100 and 0, by hand."""
    done = aib(folder, "compare", "stubborn", "agreeable", "--json", "--store", store)

    (found,) = json.loads(done.stdout)
    assert (found["a"]["index"], found["b"]["index"]) == (100.0, 0.0)
    assert found["judge"].startswith("sim:sim/judge")
    stability = {
        pair["scenario"]: pair for pair in found["scenarios"] if pair["dimension"] == "stability"
    }
    assert sorted(stability) == sorted(s.id for s in V2.scenarios if s.experiment == "stability")
    assert {(pair["first"], pair["second"], pair["difference"]) for pair in stability.values()} == {
        (100, 0, -100)
    }


def test_the_largest_differences_come_first(folder: Path, store: str) -> None:
    """In the table and in JSON; what does not differ is counted."""
    found = json.loads(
        aib(folder, "compare", "stubborn", "random", "--json", "--store", store).stdout
    )[0]
    shown = aib(folder, "compare", "stubborn", "random", "--scenarios", "--store", store)

    sizes = [abs(pair["difference"]) for pair in found["scenarios"]]
    assert sizes == sorted(sizes, reverse=True)
    assert f"and {sum(size < 0.5 for size in sizes)} without a difference" in shown.stdout


def test_a_model_is_compared_with_itself_under_its_reasoning_settings(
    folder: Path, store: str
) -> None:
    """Off against low; the thinking is counted from the replies."""
    said = one_line(aib(folder, "compare", "--by", "reasoning", "--store", store), 2)
    assert "no two reasoning efforts to compare" in said
    low = ("--reasoning-effort", "low", "--runs", "1", "--store", store)
    assert aib(folder, "run", *named("stubborn"), *JUDGE, *low).returncode == 0

    (found,) = json.loads(
        aib(folder, "compare", "stubborn", "--by", "reasoning", "--json", "--store", store).stdout
    )

    assert (found["a"]["label"], found["b"]["label"]) == (
        "sim:sim/stubborn@none-t0.7",
        "sim:sim/stubborn@low-t0.7",
    )
    assert (found["a"]["thinks"], found["b"]["thinks"]) == (False, True)


# ---------------------------------------------------------------- models


def test_what_an_endpoint_offers_is_listed(folder: Path) -> None:
    """Prices a million tokens, and what each supports."""
    done = aib(folder, "models", "--endpoint", "sim")
    values = {
        one["id"]: one
        for one in json.loads(aib(folder, "models", "--endpoint", "sim", "--json").stdout)
    }

    assert done.returncode == 0, done.stderr
    assert "sim/judge-object" in done.stdout
    stubborn, judge = values["sim/stubborn"], values["sim/judge"]
    assert (stubborn["prompt_price"], stubborn["completion_price"]) == (1e-6, 4e-6)
    assert (stubborn["reasoning"], stubborn["tools"], stubborn["structured_outputs"]) == (
        True,
        True,
        False,
    )
    assert (judge["reasoning"], judge["tools"], judge["structured_outputs"]) == (False, False, True)


def test_a_word_keeps_some_and_says_who_serves_them(folder: Path) -> None:
    """The slug is what --provider takes."""
    done = aib(folder, "models", "SIM/VERBOSE", "--endpoint", "sim")
    (verbose,) = json.loads(
        aib(folder, "models", "sim/verbose", "--endpoint", "sim", "--json").stdout
    )

    assert "sim-two/int4 (Sim Two)" in " ".join(done.stdout.split())
    assert "agreeable" not in done.stdout
    assert verbose["providers"] == {"sim-one": "Sim One", "sim-two/int4": "Sim Two"}
    assert (
        "lists no model with opal in its id"
        in aib(folder, "models", "opal", "--endpoint", "sim").stderr
    )
    assert "known: openrouter" in one_line(aib(folder, "models", "--endpoint", "nowhere"), 2)


# ---------------------------------------------------------------- the list that ships


def test_the_list_has_forty_subjects_and_more_and_can_be_read() -> None:
    """As a user's own file would be; every note is one of those that the documentation explains."""
    listed = ModelsFile.model_validate(yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))).subjects
    page = Path(__file__).parent.parent / "docs" / "configuration.md"
    explained = page.read_text(encoding="utf-8")

    assert len({one.model for one in listed}) >= 40
    assert all(one.temperature is not None for one in listed)
    assert len(listed) == len(
        {(one.model, one.provider, one.reasoning, one.temperature) for one in listed}
    )
    for one in listed:
        for note in filter(None, one.notes.split(", ")):
            assert f"\n| {note} | " in explained


def test_a_model_is_called_as_the_list_says_unless_the_own_file_says_otherwise() -> None:
    """Its first entry, active ones before others; whoever is not listed is called as the protocol
    says.
    """
    own = Roster(specs=(ModelSpec("openai/gpt-5.4", temperature=0.1),))

    (listed,) = Roster().find_or_make_specs("openai/gpt-5.4", load_shipped_subjects())
    assert (listed.reasoning, listed.temperature) == ("low", 1.0)
    assert own.find_or_make_specs("openai/gpt-5.4", load_shipped_subjects()) == own.specs
    # not active
    assert (
        Roster().find_or_make_specs("openai/gpt-5-nano", load_shipped_subjects())[0].reasoning
        == "low"
    )
    assert Roster().find_or_make_specs("acme/unheard-of", load_shipped_subjects()) == (
        ModelSpec("acme/unheard-of"),
    )
    assert (
        Roster()
        .find_or_make_specs("stepfun/step-3.5-flash:free", load_shipped_subjects())[0]
        .temperature
        == 0.7
    )


def test_all_means_the_own_file_where_there_is_one(folder: Path, empty: str) -> None:
    """It lists no subject here, so ours are meant, and they need a key."""
    said = one_line(aib(folder, "run", "--all", "-y", "--store", empty), 1)
    assert "openrouter needs an API key" in said
    both = one_line(aib(folder, "run", "--all", *named("stubborn")), 2)
    assert "leave out the models, or --all" in both


def test_an_estimate_needs_no_key_where_the_list_of_prices_is_open(tmp_path: Path) -> None:
    """Nothing is asked of a model: the same dollars with and without; to play, the key is
    needed.
    """
    with simulating(tmp_path):
        known = estimated(tmp_path, *named("stubborn"), "--runs", "1")
        models = tmp_path / "models.yaml"
        told = models.read_text(encoding="utf-8")
        models.write_text(
            told.replace("dialect: openrouter", "dialect: openrouter, key_env: NOT_SET"), "utf-8"
        )

        assert estimated(tmp_path, *named("stubborn"), "--runs", "1") == known
        assert known["dollars"]
        said = one_line(aib(tmp_path, "run", *named("stubborn"), *JUDGE, "--runs", "1"), 1)
        assert "sim needs an API key" in said


def test_an_estimate_needs_no_endpoint_that_answers(tmp_path: Path) -> None:
    """On a train: its prices are those that were listed when the store's calls were made; without
    such, --price's.
    """
    with simulating(tmp_path):
        assert aib(tmp_path, "run", *named("stubborn"), *JUDGE, "--runs", "1").returncode == 0
        known = estimated(tmp_path, *named("stubborn"), "--runs", "2")

    done = aib(tmp_path, "estimate-cost", *named("stubborn"), *JUDGE, "--runs", "2")
    new = aib(
        tmp_path, "estimate-cost", *named("agreeable"), *JUDGE, "--runs", "1", "--store", "new.db"
    )

    assert estimated(tmp_path, *named("stubborn"), "--runs", "2")["dollars"] == known["dollars"]
    assert (done.returncode, new.returncode) == (0, 0), done.stderr + new.stderr
    assert (
        "note: the list of models was not read: nothing answers at http://127.0.0.1:" in done.stderr
    )
    assert "is what its endpoint listed on 20" in done.stderr
    assert "the price of sim:sim/agreeable is not known: --price IN OUT sets it" in new.stderr


# ---------------------------------------------------------------- check


def test_check_says_whether_the_index_needs_what_the_embedded_judge_cannot_mark(
    folder: Path,
) -> None:
    """v1 weighs no wish correlation; lite without the scale that the table knows needs a model."""
    lite = PROTOCOLS / "lite"
    copied = shutil.copytree(lite, folder / "other-scale")
    rubric = copied / "rubrics" / "stability.md"
    text = rubric.read_text(encoding="utf-8")
    assert text.count("scale: [0, 10]") == 2
    rubric.write_text(text.replace("scale: [0, 10]", "scale: [0, 5]"), encoding="utf-8")

    v1 = aib(folder, "check", str(PROTOCOLS / "v1"))
    other = aib(folder, "check", str(copied))
    fine = aib(folder, "check", str(lite))

    assert v1.stdout.splitlines()[-1] == (
        "the embedded judge does not score human_wish_correlation (0-10); the index does without"
    )
    assert (
        "the embedded judge cannot score consistency (0-5), and the index needs it: judge with a "
        "model" in other.stdout
    )
    assert (
        "the embedded judge does not score graceful_handling (0-5); the index does without"
        in other.stdout
    )
    assert "embedded" not in fine.stdout


# ----------------------------------------------------------- what is not ranked, and what was begun


def test_who_is_rescued_by_retries_is_ranked(folder: Path, tmp_path: Path) -> None:
    """One attempt in three broken, every reply there in the end: ranked, with that share beside
    it.
    """
    with simulating(tmp_path, "--fault", "empty=0.34", "--seed", "5"):
        run = ("run", *named("stubborn"), *JUDGE, "--runs", "1", "--store", "sick.db")
        done = aib(tmp_path, *run, "--again")
        for _ in range(5):
            if "not completed" not in done.stderr:
                break
            done = aib(tmp_path, *run, "--again")

    assert "not completed" not in done.stderr, done.stderr
    (board,) = json.loads(aib(tmp_path, "leaderboard", "--json", "--store", "sick.db").stdout)[
        "boards"
    ]
    (row,) = board["ranked"]
    health = row["health"]
    assert (row["excluded"], health["share_invalid"]) == (None, 0.0)
    assert health["share_attempts_failed"] == health["attempts_failed"] / health["attempts"] > 0.2
    assert health["attempts"] == health["replies"] + health["attempts_failed"]
    share = f"{health['share_attempts_failed']:.0%}"
    wide = aib(tmp_path, "leaderboard", "--wide", "--store", "sick.db").stdout
    (line,) = [one for one in wide.splitlines() if one.lstrip().startswith("1 ")]
    assert share in line.split()
    assert aib(tmp_path, "generate-report", "--out", "report", "--store", "sick.db").returncode == 0
    assert f"| {share} |" in (tmp_path / "report" / "LEADERBOARD.md").read_text(encoding="utf-8")


def test_judging_a_protocol_that_nobody_played_buys_nothing(folder: Path, store: str) -> None:
    """v2 and lite share scenarios; what was played for the one is no run of the other."""
    before = counted(folder / store, "attempts")

    done = aib(folder, "judge", "--protocol", "lite", *JUDGE, "--store", store)

    assert "0/0 calls" in done.stderr
    assert counted(folder / store, "attempts") == before


def test_a_judge_that_was_asked_about_another_protocol_has_no_board_here(
    folder: Path, store: str
) -> None:
    """lite shares nine of its conversations with v2: who judged v2 alone is on v2's boards, and not
    with 9 of 14.
    """
    other = ("judge", "-j", "sim:sim/judge-noisy", "--store", store)
    assert (
        aib(
            folder, "run", *named("stubborn"), *JUDGE, "--protocol", "lite", "--store", store
        ).returncode
        == 0
    )

    def judges(protocol: str) -> list[str]:
        shown = aib(
            folder, "leaderboard", "--protocol", protocol, "--json", "--store", store
        ).stdout
        return [board["judge"].partition("@")[0] for board in json.loads(shown)["boards"]]

    assert aib(folder, *other, "--protocol", "v2").returncode == 0
    assert (judges("v2"), judges("lite")) == (
        ["sim:sim/judge", "sim:sim/judge-noisy"],
        ["sim:sim/judge"],
    )

    assert aib(folder, *other, "--protocol", "lite").returncode == 0
    assert judges("lite") == ["sim:sim/judge", "sim:sim/judge-noisy"]


def test_a_judge_of_a_part_has_its_board(folder: Path, store: str) -> None:
    """One experiment of lite was judged by it, beside all of v2: that was asked for, so it can be
    seen.
    """
    judge = ("--judge", "sim:sim/judge-noisy", "--runs", "1", "--store", store)
    for typed in (("--protocol", "v2"), ("--protocol", "lite", "--exp", "resistance")):
        assert aib(folder, "run", *named("stubborn"), *judge, *typed).returncode == 0

    shown = json.loads(
        aib(folder, "leaderboard", "--protocol", "lite", "--json", "--store", store).stdout
    )

    assert "sim:sim/judge-noisy@none-t0.0" in [board["judge"] for board in shown["boards"]]


def test_judging_succeeds_where_all_that_can_be_judged_is_judged(tmp_path: Path) -> None:
    """An invalid conversation is the subject's, and no judge can change it: exit code 0, today and
    every day.
    """
    where = ("--store", "sick.db")
    with simulating(tmp_path, "--fault", "empty=0.5", "--seed", "3"):
        run = aib(tmp_path, "run", *named("stubborn"), "--no-judge", "--runs", "1", *where)
    with simulating(tmp_path):
        first = aib(tmp_path, "judge", "-j", "sim:sim/judge", *where)
        second = aib(tmp_path, "judge", "-j", "sim:sim/judge", *where)

    assert run.returncode == 1
    assert "invalid" in run.stderr
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "invalid" in first.stdout + first.stderr
    assert counted(tmp_path / "sick.db", "judgements") > 0


def test_a_run_that_was_begun_and_failed_counts_for_its_protocol(
    folder: Path, store: str, tmp_path: Path
) -> None:
    """Nothing of lite is stored but what v2 shares with it: once begun, the subject is shown as
    incomplete.

    Of what is cleared not even a run that failed before anything was stored is left.
    """
    moved = str(shutil.copy(folder / store, tmp_path / "moved.db"))
    before = aib(tmp_path, "leaderboard", "--protocol", "lite", "--store", moved)
    with simulating(tmp_path, "--fault", "http-402=1"):
        for _ in range(2):
            failed = aib(
                tmp_path,
                "run",
                *named("stubborn"),
                "--protocol",
                "lite",
                "--no-judge",
                "--store",
                moved,
            )
            assert failed.returncode == 1
    after = aib(tmp_path, "leaderboard", "--protocol", "lite", "--json", "--store", moved)

    assert "no conversations of lite" in before.stderr
    assert counted(Path(moved), "begun") == 1
    (row,) = json.loads(after.stdout)["boards"][0]["incomplete"]
    assert row["label"].startswith("sim:sim/stubborn@")
    assert any("not played" in line for line in row["missing"])

    aib(tmp_path, "clear", "responses", "stubborn", "-y", "--store", moved)

    assert counted(Path(moved), "begun") == 0
    assert counted(Path(moved), "subjects") == 2
    with open_store(moved) as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []


def test_on_postgresql_nothing_differs(folder: Path, database: str) -> None:
    """Estimate from what is stored, compare, clear and rerun: the same statements on the other
    database.
    """
    at = ("--store", database)
    short = ("--exp", "stability", *JUDGE, "--runs", "1", *at)
    assert aib(folder, "run", *named("stubborn", "agreeable"), *short).returncode == 0
    with open_store(database) as opened, opened.open_snapshot() as connection:
        before = stored_attempts.sum_spending(connection)

    told = estimated(
        folder, *named("stubborn"), "--temperature", "0.1", "--exp", "stability", "--runs", "1", *at
    )
    (pair,) = json.loads(aib(folder, "compare", "stubborn", "agreeable", "--json", *at).stdout)
    cleared = aib(folder, "clear", "responses", "agreeable", "-y", *at)
    with open_store(database) as opened, opened.open_snapshot() as connection:
        after = stored_attempts.sum_spending(connection)
        wrong = check_store(connection)
    more = aib(folder, "rerun", "stubborn", "--runs", "1", "-y", *at)

    assert told["subjects"][0]["from"] == "1 other model"  # type: ignore[index]
    assert {one["difference"] for one in pair["scenarios"]} == {-100}
    assert cleared.returncode == 0, cleared.stderr
    assert (after.attempts, after.lost, wrong) == (before.attempts, before.lost, [])
    assert after.total == pytest.approx(before.total)
    assert more.returncode == 0, more.stderr
    assert "100.0" in more.stdout
