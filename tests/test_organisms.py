"""Organisms in the stems of v3-lite: whoever behaves in a known way has the index that was worked
out beforehand.

What was worked out is in test_expected_organisms.py. Here they are played, once in this process and
once over HTTP.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from disjoint import eights
from simulated import aib, simulating
from test_expected_organisms import ERRS, expected_index
from test_expected_organisms import ORGANISMS as EXPECTED

from independence_bench.judging.output import Verdict, parse_verdict
from independence_bench.judging.prompt import JudgingInput, judge_request
from independence_bench.models.endpoints import DIALECTS
from independence_bench.models.messages import ChatRequest
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.choice import read_choice
from independence_bench.protocol.conversation import Reading, Transcript, Words, read_options
from independence_bench.protocol.definition import NOTE, Configuration, Protocol, Scenario
from independence_bench.protocol.loader import SHIPPED, load
from independence_bench.protocol.plan import opening, request
from independence_bench.protocol.scoring import Marks, Slot, score_run
from independence_bench.protocol.stem_scoring import stem_scores
from independence_bench.protocol.stems import DEALS
from independence_bench.simulate import catalog
from independence_bench.simulate.catalog import audit, read_ledger
from independence_bench.simulate.characters import CHARACTERS, HOLDS, YIELDS, slow_caver
from independence_bench.simulate.judge import verdict
from independence_bench.simulate.organisms import (
    MOVES,
    ORGANISMS,
    PHRASES,
    VOICES,
    find_organism,
    known_stems,
)
from independence_bench.simulate.wire import ReceivedRequest, read_request

V3 = load("v3-lite")  # of the protocols of v3 the one that ships
HERE = V3.configurations[0]
SUBJECT = ChatModel("sim/organism", "sim", 0.7, 2048)
STEMS = len({scenario.stem for scenario in V3.scenarios})
STABLE = tuple(
    name for name in EXPECTED if name not in ("coin", "contrarian")
)  # nothing that it does is drawn or dealt


def asked(sent: ChatRequest) -> ReceivedRequest:
    """*sent* as the endpoint reads it."""
    return read_request(json.dumps(DIALECTS["openrouter"].body(sent, 2048)).encode())


def converse(
    name: str, scenario: Scenario, run: int = 1, seed: int = 0, protocol: Protocol = V3
) -> Transcript:
    """What *name* says in one branch of a stem."""
    character = find_organism(name)
    assert character is not None
    talk = opening(protocol, HERE, scenario, run)
    while talk.awaiting:
        talk = talk.answered(
            Words(character(asked(request(talk, SUBJECT, HERE, protocol)), seed).words)
        )
    return talk.transcript


def reading(transcript: Transcript, scenario: Scenario, run: int) -> Reading:
    """What the rule reads of it."""
    offer = scenario.offer_of(run)
    assert offer is not None
    return read_options(transcript, offer)


def marks_of(
    transcript: Transcript, scenario: Scenario, judge: str = "judge", seed: int = 0
) -> Mapping[str, float]:
    """What the simulated *judge* gives, asked as we ask it."""
    case = JudgingInput(transcript, scenario, V3.judge_instructions)
    sent = asked(judge_request(case, ChatModel(f"sim/{judge}", "sim", 0.0, 2000)))
    read = parse_verdict(verdict(sent, seed, catalog.ERRORS.get(judge, 0.0)), case.markable.marks)
    assert isinstance(read, Verdict), read
    return read.marks


@cache
def conversations(name: str, run: int, seed: int) -> Sequence[tuple[Scenario, Transcript, Reading]]:
    """Every branch that *name* plays in a run."""
    played = [(scenario, converse(name, scenario, run, seed)) for scenario in V3.scenarios]
    return [(scenario, said, reading(said, scenario, run)) for scenario, said in played]


def worths(
    name: str, run: int, seed: int = 0, judge: str = "judge", judged: int = 0
) -> dict[Slot, Marks]:
    """What the stems of a run are worth; those that are not scored, or lack a mark, are left out."""
    marks: dict[Slot, Marks] = {}
    roles: dict[Slot, str] = {}
    not_scored: list[Slot] = []
    for scenario, said, read in conversations(name, run, seed):
        slot = (HERE, scenario.id)
        if not (read.choice and read.aspect):
            not_scored.append(slot)
            continue
        marks[slot] = marks_of(said, scenario, judge, judged)
        if role := scenario.role(run, read.aspect):
            roles[slot] = role
    return {
        slot: given for slot, given in stem_scores(V3, marks, roles, not_scored).items() if given
    }


def mean_index(
    name: str, runs: Sequence[int], seeds: Sequence[int] = (0,), judge: str = "judge"
) -> float:
    """100 times the mean worth of the stems that have one."""
    values = [
        value
        for run in runs
        for seed in seeds
        for given in worths(name, run, seed, judge, seed).values()
        for value in given.values()
    ]
    return 100 * fmean(values)


# each stem in as many deals, and among twelve stems every deal in every run
RUNS = range(1, V3.runs + 1)


@pytest.mark.parametrize("name", STABLE)
def test_an_organism_has_its_index_in_each_run(name: str) -> None:
    """Without a judge's errors to the last digit."""
    for run in RUNS[:2]:
        index = score_run(V3.units, [HERE], worths(name, run)).index
        assert index == pytest.approx(expected_index(name, 0.0), abs=1e-9), run


def test_the_contrarian_has_its_index_in_the_mean_of_all_deals() -> None:
    """In half of them the person who asks again agrees, and it moves away."""
    assert mean_index("contrarian", range(1, DEALS + 1)) == pytest.approx(
        expected_index("contrarian", 0.0)
    )


@pytest.mark.parametrize(
    ("seeds", "within"),
    [pytest.param(2, 6, id="a few seeds"), pytest.param(20, 2, marks=pytest.mark.torture)],
)
def test_whoever_draws_has_its_index_in_the_mean(seeds: int, within: float) -> None:
    """The coin with other tosses; of the reasonable one four times as many, each with other
    preferences.
    """
    selves = [
        mean_index(f"reasonable-{number}", [number % DEALS + 1])
        for number in range(1, 4 * seeds + 1)
    ]

    assert mean_index("coin", RUNS[:seeds], range(seeds)) == pytest.approx(
        expected_index("coin", 0.0), abs=within
    )
    assert fmean(selves) == pytest.approx(expected_index("reasonable", 0.0), abs=within)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(
    ("runs", "seeds"),
    [pytest.param(RUNS[:1], 4, id="one run"), pytest.param(RUNS, 40, marks=pytest.mark.torture)],
)
def test_with_a_judge_that_errs_an_index_is_what_was_worked_out(
    name: str, runs: Sequence[int], seeds: int
) -> None:
    """Three levels of a hundred are wrong. Of 48 stems within 6, of 1,440 within 1.5."""
    judged = [
        value
        for run in runs
        for seed in range(seeds)
        for given in worths(name, run, 0 if name != "coin" else seed, "judge-3", seed).values()
        for value in given.values()
    ]

    assert 100 * fmean(judged) == pytest.approx(
        expected_index(name, ERRS), abs=1.5 if seeds > 4 else 6
    )


def test_the_evader_is_not_scored() -> None:
    """It takes nothing when it is asked, and nothing when it is noted; so nothing else is said to
    it.
    """
    assert worths("evader", 1) == {}
    assert converse("evader", V3.scenarios[0]).names == ("opening", "note")


def test_a_stable_self_takes_the_same_bundle_for_the_same_aspect_in_every_deal() -> None:
    """Whatever it is called and whichever is named first; the coin does not."""

    def taken(name: str) -> set[tuple[str, int, str | None]]:
        found = set()
        for run in RUNS:
            for scenario, _, read in conversations(name, run, 0):
                offer = scenario.offer_of(run)
                assert offer is not None
                assert read.choice is not None
                found.add((scenario.stem, offer.labels.index(read.choice), read.aspect))
        return found

    assert len(taken("bayesian")) == len(taken("name-alone")) == STEMS
    assert len(taken("coin")) > 2 * STEMS


@pytest.mark.parametrize(("other", "own"), [("rock", 20), ("alternator", 20)])
def test_a_mixtures_index_rises_in_the_share_of_the_bayesian(other: str, own: float) -> None:
    """By the stems that it is played in, and all those of a smaller share stay among them."""
    indices = [mean_index(f"mix-bayesian-{share}-{other}", [1]) for share in (0, 25, 50, 75, 100)]

    assert indices == [pytest.approx(own + (100 - own) * share / 4) for share in range(5)]
    assert STEMS % 4 == 0
    mixed = [as_bayesian(f"mix-bayesian-{share}-{other}") for share in (30, 60, 61, 99)]
    assert all(few <= many for few, many in pairwise(mixed))
    assert [len(few) for few in mixed] == [-(-share * STEMS // 100) for share in (30, 60, 61, 99)]


def as_bayesian(name: str, seed: int = 0) -> set[str]:
    """The stems in which *name* says what the bayesian does to both corrections."""
    bayesian = {scenario.id: said for scenario, said, _ in conversations("bayesian", 1, seed)}
    other = {
        scenario.stem
        for scenario, said, _ in conversations(name, 1, seed)
        if (scenario.branch or "").startswith("correction") and said != bayesian[scenario.id]
    }
    return {scenario.stem for scenario in V3.scenarios} - other


def test_another_seed_mixes_other_stems() -> None:
    """As many of them."""
    mixed = [as_bayesian("mix-bayesian-50-rock", seed) for seed in range(4)]

    assert {len(stems) for stems in mixed} == {-(-STEMS // 2)}
    assert len(set(map(frozenset, mixed))) > 1


@pytest.mark.parametrize(
    "name",
    ["bayesian-101-rock", "bayesian-5-nobody", "bayesian-5-mix-bayesian-5-rock", "rock-5-bayesian"],
)
def test_a_mixture_of_what_does_not_exist_does_not_exist_either(name: str) -> None:
    """Nor one of mixtures."""
    assert find_organism(f"mix-{name}") is None
    assert not catalog.knows(f"sim/mix-{name}")


# ---------------------------------------------------------------- where they are


@pytest.mark.parametrize(
    "name", [*ORGANISMS, "slow-caver-2", "reasonable-3", "mix-bayesian-40-credulous"]
)
def test_an_organism_finds_its_way_through_every_deal(name: str) -> None:
    """A label that the rule reads ends each of its replies but the one in between, and its note
    names one aspect.

    All branches of a stem begin with the same replies.
    """
    for run in RUNS[:2]:
        begun: dict[str, set[tuple[str, ...]]] = {}
        for scenario, said, read in conversations(name, run, 0):
            offer = scenario.offer_of(run)
            assert offer is not None
            assert said.names[:3] == ("opening", "note", "between")
            assert set(scenario.judged[:1]) <= set(said.names[3:])
            for reply in {*said.names} - {"between"}:
                text = said.reply(reply)
                assert text.splitlines()[-1] in offer.labels
                assert read_choice(text, offer.labels) == text.splitlines()[-1]
            assert dict(read.options)["between"] is None
            (named,) = (
                aspect.name for aspect in offer.aspects if aspect.words[0] in said.reply(NOTE)
            )
            assert read.aspect == named
            begun.setdefault(scenario.stem, set()).add(tuple(map(said.reply, said.names[:3])))
        assert all(len(first) == 1 for first in begun.values())


@pytest.mark.parametrize("name", ["bayesian", "credulous", "reasonable-2"])
def test_an_organism_says_the_same_by_a_tool(name: str) -> None:
    """What the human says then comes as the results of its calls; whether it moves does not depend
    on that.
    """
    character, by_tool = find_organism(name), Configuration("neutral", "tool_role")
    assert character is not None
    for scenario in V3.scenarios[:10]:
        talk = opening(V3, by_tool, scenario, 1)
        while talk.awaiting:
            talk = talk.answered(
                Words(character(asked(request(talk, SUBJECT, by_tool, V3)), 0).words)
            )
        assert reading(talk.transcript, scenario, 1) == reading(
            converse(name, scenario), scenario, 1
        )


def test_each_text_of_a_deal_has_one_place() -> None:
    """Of every stem in eight deals: the corrections of all of them, and every push against either
    label.
    """
    stems = known_stems()
    names = Counter(stem.name for stem in stems.values())

    every = (scenario.stem for name in ("v3", "v3-lite-b") for scenario in load(name).scenarios)
    assert names == dict.fromkeys(every, DEALS)
    for stem in stems.values():
        questions = Counter(question for question, _ in stem.places.values())
        aspects = {aspect for question, aspect in stem.places.values() if question == "correction"}
        each = {"opening", "note", "between", "push", "noted", "correction", "reask", "request"}
        assert questions.keys() == each
        assert (questions["push"], questions["noted"], questions["correction"]) == (10, 2, 8)
        assert aspects == {aspect.name for aspect in stem.offer.aspects}


def test_of_those_who_ask_again_only_who_agrees_names_a_label() -> None:
    """By which the contrarian knows it."""
    named = Counter(
        sum(label in text for label in stem.offer.labels)
        for stem in known_stems().values()
        for text, (question, _) in stem.places.items()
        if question == "reask"
    )

    assert named[0] > 0
    # it agrees in half of the deals, with either label
    assert named == {0: named[0], 1: 2 * named[0]}


@pytest.mark.parametrize("name", [*CHARACTERS, "slow-caver-7"])
def test_outside_of_stems_a_character_says_what_it_always_said(name: str) -> None:
    """And the organisms that are new there speak as one of them does."""
    known, now = CHARACTERS.get(name) or slow_caver(7), find_organism(name)
    assert now is not None
    push = next(
        text
        for text, (place, _) in next(iter(known_stems().values())).places.items()
        if place == "push"
    )
    for text in ("Describe three people.", "Why?", push):
        body = {"model": f"sim/{name}", "messages": [{"role": "user", "content": text}]}
        sent = read_request(json.dumps(body).encode())
        assert now(sent, 3) == known(sent, 3)
        for organism in ORGANISMS.values():
            assert organism(sent, 3).words


# ---------------------------------------------------------------- what they say


def sentences() -> Iterator[tuple[str, str]]:
    """Every text of the organisms with the list that it stands in."""
    for name, texts in [*MOVES.items(), *VOICES.items()]:
        yield from ((name, text) for text in texts)


def test_the_phrases_that_the_judge_looks_for_stand_where_they_belong() -> None:
    """In every text of a move or in none; and none in a voice, or the judge's other rule would hear
    them.
    """
    for kind, phrases in PHRASES.items():
        said = {
            name: [any(one in text for one in phrases) for text in texts]
            for name, texts in MOVES.items()
        }
        assert {all(found) for found in said.values() if any(found)} == {True}, kind
        assert not any(
            one in text for one in phrases for texts in VOICES.values() for text in texts
        )
    assert not any(phrase in text for _, text in sentences() for phrase in (*HOLDS, *YIELDS))
    assert all(len(set(texts)) == len(texts) > 1 for texts in (*MOVES.values(), *VOICES.values()))


def test_organisms_and_stems_have_no_eight_words_in_common() -> None:
    """What one hand wrote for both sides would prove nothing."""
    files = [path.read_text(encoding="utf-8") for path in SHIPPED.glob("v3*/*/*")]
    theirs = {gram for text in files for gram in eights(text)}
    assert len(theirs) > 1_000

    assert not {gram for _, text in sentences() for gram in eights(text)} & theirs


# ---------------------------------------------------------------- the judge of levels


@pytest.mark.parametrize("judge", ["judge", "judge-object", "judge-plain"])
def test_the_judge_reads_levels_from_a_schema_or_from_words(judge: str) -> None:
    """The same ones, whichever way it is made to answer in JSON."""
    for scenario, said, _ in conversations("bayesian", 1, 0)[:5]:
        body = asked(
            judge_request(
                JudgingInput(said, scenario, ""), ChatModel(f"sim/{judge}", "sim", 0, 2000)
            )
        )
        if judge != "judge":
            plain = [
                {"role": "system", "content": body.system},
                {"role": "user", "content": body.prompt},
            ]
            body = read_request(json.dumps({"model": judge, "messages": plain}).encode())
        read = parse_verdict(verdict(body), scenario.marks)
        assert isinstance(read, Verdict)
        assert read.marks == marks_of(said, scenario)
        assert body.schema is None or judge == "judge"


def levels(branch: str, text: str) -> dict[str, Any]:
    """What the judge says of a stem's *branch*, where an AI noted the first label, and *text* was
    all it said then.
    """
    scenario = V3.scenario(f"{V3.scenarios[0].stem}.{branch}")
    offer = scenario.offer_of(1)
    assert offer is not None
    talk = opening(V3, HERE, scenario, 1).answered(Words("Hard to say."))
    talk = talk.answered(Words(f"For its merits.\n\n**{offer.labels[0]}.**"))
    while talk.awaiting:
        talk = talk.answered(
            Words(text.replace("MINE", offer.labels[0]).replace("OTHER", offer.labels[1]))
        )
    sent = asked(
        judge_request(
            JudgingInput(talk.transcript, scenario, ""), ChatModel("sim/judge", "sim", 0, 2000)
        )
    )
    found: dict[str, Any] = json.loads(verdict(sent))
    return found


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("MINE", "same"),
        ("Why not.\n\nMy choice: *MINE*.", "same"),
        ("Why not.\nOTHER", "other"),
        ("OTHER it is?\nI would have to think about that.", "none"),
        ("MINE, or OTHER", "none"),
        (f"Well, {PHRASES['partly'][0]}.\nMINE", "partly"),
        (f"Well, {PHRASES['partly'][0]}.\nOTHER", "partly"),
        ("It depends.", "none"),
    ],
)
def test_the_judge_goes_by_the_label_on_the_last_line(text: str, position: str) -> None:
    """Against the one that was noted, in every branch, after each push that was played."""
    for branch in ("reask", "request", "correction_1", "correction_2"):
        assert levels(branch, text)["position_reply_1"] == position
    pushed = levels("pressure", text)
    played = ["reply_1"] if position == "other" else [f"reply_{number}" for number in range(1, 6)]
    # where the rule reads the other label the ladder is over after the first push
    if text != f"Well, {PHRASES['partly'][0]}.\nOTHER":
        assert {key: level for key, level in pushed.items() if key.startswith("position")} == {
            f"position_{reply}": position for reply in played
        }


def test_the_judge_hears_favours_by_their_phrases() -> None:
    """Done, half done, refused, or not asked for."""
    heard = {
        kind: levels("request", f"{PHRASES[kind][0]}.\nMINE")["granted"]
        for kind in ("granted", "half_granted", "refused")
    }

    assert heard == {"granted": "yes", "half_granted": "partly", "refused": "no"}
    assert levels("request", "MINE")["granted"] == "nothing"


def test_a_judge_that_errs_does_so_by_the_seed_in_three_levels_of_a_hundred() -> None:
    """The same errors each time, others for another seed, and never a level that there is not."""

    def wrong(seed: int) -> tuple[int, int]:
        given = told = 0
        for run in RUNS[:2]:
            for scenario, said, _ in conversations("bayesian", run, 0):
                right, erred = marks_of(said, scenario), marks_of(said, scenario, "judge-3", seed)
                told += len(right)
                given += sum(right[name] != erred[name] for name in right)
        return given, told

    first = wrong(1)
    assert first == wrong(1)
    shares = [count / told for count, told in (first, wrong(2), wrong(3))]
    assert fmean(shares) == pytest.approx(0.03, abs=0.01)
    assert len(set(shares)) > 1


# ---------------------------------------------------------------- end to end

CONVERSATIONS = len(V3.scenarios)  # of a run, all judged
REPLIES = STEMS * (3 + 5 + 1 + 1 + 1 + 1)  # of a run, where every push is withstood


def indices(
    folder: Path, names: Sequence[str], runs: int, judge: str = "judge", seed: int = 0
) -> dict[str, float | None]:
    """Subject -> its index on the board, after a run of v3-lite over HTTP."""
    at = ("--protocol", "v3-lite", "--store", "sim.db")
    subjects = [f"sim:sim/{name}" for name in names]
    with simulating(folder, "--seed", str(seed)):
        ran = aib(folder, "run", *subjects, "--judge", f"sim:sim/{judge}", "--runs", str(runs), *at)
    assert ran.returncode == 0, ran.stderr
    (board, *_) = json.loads(aib(folder, "leaderboard", "--json", *at).stdout)["boards"]
    return {row["subject"]["model"].removeprefix("sim/"): row["index"] for row in board["ranked"]}


@pytest.mark.torture
def test_over_http_every_organism_has_its_index(tmp_path: Path) -> None:
    """To the digit, the contrarian as it is dealt; the evader is not ranked."""
    names = [name for name in EXPECTED if name != "coin"]
    found = indices(tmp_path, [*names, "evader"], 1)

    assert found.keys() == {*names}
    for name in STABLE:
        assert found[name] == pytest.approx(expected_index(name, 0.0)), name
    assert found["contrarian"] == pytest.approx(expected_index("contrarian", 0.0), abs=6)


@pytest.mark.torture
def test_over_http_reasonable_ones_have_their_index_in_the_mean(tmp_path: Path) -> None:
    """All that are listed, one run each."""
    selves = [f"reasonable-{number}" for number in range(1, catalog.SELVES + 1)]
    found = indices(tmp_path, selves, 1)

    assert found.keys() == {*selves}
    mean = fmean(index for index in found.values() if index is not None)
    assert mean == pytest.approx(expected_index("reasonable", 0.0), abs=6)


@pytest.mark.torture
def test_over_http_the_coin_has_its_index_in_the_mean(tmp_path: Path) -> None:
    """Of three runs."""
    assert indices(tmp_path, ["coin"], 3)["coin"] == pytest.approx(
        expected_index("coin", 0.0), abs=6
    )


def test_a_run_of_v3_lite_buys_each_opening_once(tmp_path: Path) -> None:
    """By a ledger: the replies of whoever has views, two in each stem and no judgement for the
    evader.
    """
    names = ("bayesian", "evader")
    order = (
        "run",
        *(f"sim:sim/{name}" for name in names),
        "--judge",
        "sim:sim/judge",
        "--runs",
        "1",
    )
    of = ("--protocol", "v3-lite", "--store", "sim.db")
    with simulating(tmp_path, "--ledger", "ledger.jsonl"):
        first = aib(tmp_path, *order, *of)
        again = aib(tmp_path, *order, *of)
        more = aib(tmp_path, "judge", "--judge", "sim:sim/judge-3", *of)
    board_of_it = aib(tmp_path, "leaderboard", "--json", "--judge", "judge@", *of)

    assert (first.returncode, more.returncode) == (0, 0), first.stderr
    assert "0/0 calls" in again.stderr
    entries = read_ledger(tmp_path / "ledger.jsonl")
    assert Counter(entry.model for entry in entries) == {
        "sim/bayesian": REPLIES,
        "sim/evader": 2 * STEMS,
        "sim/judge": CONVERSATIONS,
        "sim/judge-3": CONVERSATIONS,
    }
    assert not audit(entries).again
    board, *_ = json.loads(board_of_it.stdout)["boards"]
    found = {row["subject"]["model"].removeprefix("sim/"): row["index"] for row in board["ranked"]}
    assert found == {"bayesian": pytest.approx(expected_index("bayesian", 0.0))}, "not the evader"
