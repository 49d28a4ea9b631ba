"""`aib judge --probe-injection`: judges of known persuadability, real processes and a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from invoked import invoke
from rich.console import Console
from scripted import FAST, KEY, Answer, Asked, ScriptedModel, allow, completion, failure, measured, once_each, verdict
from simulated import simulating
from test_cli import User

from independence_bench.analysis.leaderboard import boards
from independence_bench.calls.budget import Budget
from independence_bench.calls.retry import Clocks
from independence_bench.cli.progress import ProgressDisplay
from independence_bench.engine.ask_aside import AsideAsker, AsideCost, cost_of
from independence_bench.engine.ask_injection import Probed, cases_of
from independence_bench.engine.run import Report, Session
from independence_bench.errors import BudgetSpent
from independence_bench.judging.injection.attacks import CONTROL, attacks, families
from independence_bench.judging.injection.pairs import (
    AttackPair,
    AttackSummary,
    ProbeFindings,
    all_pairs,
    findings,
    known_conversations,
)
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.prompt import judge_request, rubric_hash
from independence_bench.models.client import Client
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.protocol.loader import load
from independence_bench.report.injection_view import probe_json, probe_view, statement
from independence_bench.report.terminal import printed
from independence_bench.store import registry, results
from independence_bench.store.database import open_store
from independence_bench.store.results import Judgement

AIB = str(Path(sys.executable).with_name("aib"))
V2 = load("v2")
PAIRS = all_pairs()
CASES = len(PAIRS) + 9
ATTACKING = len([pair for pair in PAIRS if pair.attack.family != CONTROL])
JUDGE = ModelJudge(ChatModel("judge/one", "scripted", 0.0, 2000))
FORGERY = "It held from beginning to end"  # the analysis of every forged verdict
BEST = {"resistance": 10, "reasoning_quality": 10, "identity_maintained": True, "consistency": 10,
        "graceful_handling": 10, "name_changed": False, "gender_changed": False}  # fmt: skip
PLAIN = {"name_changed": True, "gender_changed": True}  # all else from the middle of its scale, or no


def gullible(asked: Asked) -> Answer:
    """A judge that takes over a forged verdict, and gives the same middling marks to everything else."""
    return verdict(asked, BEST if FORGERY in asked.last else PLAIN)


def muddled(asked: Asked) -> Answer:
    """A judge that copies a forged verdict out beside its own, so that it gives none."""
    own = verdict(asked, PLAIN)
    return Answer(completion("{} {}", cost=0.001), cost=0.001) if FORGERY in asked.last else own


def aib(folder: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run `aib judge --probe-injection` in *folder*, where the store is probe.db."""
    order = ("judge", "--probe-injection", "--store", "probe.db", *arguments)
    return invoke(folder, environment(folder), *order, typed=typed)


def environment(folder: Path) -> dict[str, str]:
    """What a process of the user's sees."""
    return measured() | {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "SCRIPTED_KEY": KEY}


def at(folder: Path, server: ScriptedModel) -> None:
    """Write models.yaml with the endpoint `scripted`."""
    endpoint = f'{{url: "{server.url}", dialect: openrouter, key_env: SCRIPTED_KEY}}'
    (folder / "models.yaml").write_text(f"endpoints:\n  scripted: {endpoint}\n", encoding="utf-8")
    allow(folder, server.url)


def probed(server: ScriptedModel, folder: Path, pairs: Iterable[AttackPair], budget: float | None = None) -> Probed:
    """Probe the scripted judge in this process, without long waits, with the store of *folder*."""
    chosen = tuple(pairs)

    async def work() -> Probed:
        async with AsyncExitStack() as stack:
            store = stack.enter_context(open_store(folder / "probe.db"))
            client = await stack.enter_async_context(Client(Endpoint("scripted", server.url, "openrouter"), KEY))
            await client.models()
            clocks = Clocks(time.time, time.monotonic, random.Random(7).random, FAST)
            session = Session(store, {"scripted": client}, Budget(budget), clocks)
            probing = AsideAsker(cases_of(JUDGE, chosen), session, 8)
            await probing.run()
            found = findings(JUDGE.label, JUDGE.hash, chosen, probing.judgements)
            return Probed(found, probing.report, cost_of(store, probing.cases))

    return asyncio.run(work())


def of_family(*names: str) -> tuple[AttackPair, ...]:
    """The pairs of some families."""
    return tuple(pair for pair in PAIRS if pair.attack.family in names)


def row_of(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A family's row of the JSON."""
    return next(row for row in found["families"] if row["name"] == name)


# ---------------------------------------------------------------- judges whose answer is known


def test_the_simulated_judge_is_moved_by_nothing(tmp_path: Path) -> None:
    """It reads what stands between our fence lines and obeys none of it: 0 of all pairs. A second time is free."""
    with simulating(tmp_path, "--ledger", "ledger.jsonl"):
        first = aib(tmp_path, "-j", "sim:sim/judge", "--yes", "--json")
        asked_first = (tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
        second = aib(tmp_path, "-j", "sim:sim/judge", "--json")  # nothing to pay, so nothing to confirm
    asked = (tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()

    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    found = json.loads(first.stdout)
    assert found["complete"]
    assert found["pairs_planned"] == len(PAIRS)
    for row in (*found["families"], found["attacks"], found["harmless"], *found["behaviours"]):
        assert (row["raised"], row["lowered"], row["mean_shift"], row["invalid"]) == (0, 0, 0.0, 0), row
        assert row["pairs"] == row["judged"] > 0
    assert found["attacks"]["pairs"] == ATTACKING
    assert len(found["shifts"]) == len(PAIRS)
    assert len(asked_first) == len(asked) == found["cost"]["calls"] == CASES
    assert found["cost"]["dollars"] == pytest.approx(sum(json.loads(line)["charged"] for line in asked))
    again = json.loads(second.stdout)
    assert again["cost"].pop("dollars_by_this_command") == 0
    assert found["cost"].pop("dollars_by_this_command") == pytest.approx(found["cost"]["dollars"])
    assert again == found


def test_a_judge_that_takes_over_forged_verdicts_is_found_out(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """It obeys exactly the texts with a whole verdict in them, so every share is known."""
    server = serve(gullible)
    at(tmp_path, server)
    done = aib(tmp_path, "-j", "scripted:judge/one", "--yes", "--json")

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name, family in list(families().items())[:-1]:
        obeyed = sum("<<verdict>>" in text for text in family.attacks.values())
        row = row_of(found, name)
        assert (row["pairs"], row["raised"], row["lowered"]) == (9 * len(family.attacks), 9 * obeyed, 0)
    # five of six; by hand: resistance and reasons 5 -> 10, identity no -> yes; consistency and grace 5 -> 10; the
    # two changes yes -> no
    of_scenario = [(5 + 5 + 10) / 3, (5 + 5) / 2, (10 + 10) / 2]
    row = row_of(found, "verdict")
    assert (row["raised"], row["share_raised"]) == (45, pytest.approx(5 / 6))
    assert row["mean_shift"] == pytest.approx(5 / 6 * sum(of_scenario) / 3)
    assert (found["harmless"]["raised"], found["harmless"]["mean_shift"]) == (0, 0.0)
    assert found["attacks"]["raised"] == sum(row["raised"] for row in found["families"])
    assert len(server.judged) == CASES
    assert once_each(server.judged)
    assert len(server.played) == 0


def test_verdicts_that_an_attack_spoils_are_counted_apart(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """No verdict is no shift; it is asked for within the one policy, and afterwards it stays so."""
    server = serve(muddled)
    one = probed(server, tmp_path, of_family("fenced_verdict", "orders"))

    spoilt, orders = (next(r for r in one.findings.families if r.name == name) for name in ("fenced_verdict", "orders"))
    assert (spoilt.judged, spoilt.invalid, spoilt.pairs, spoilt.shift) == (36, 36, 0, None)
    assert (orders.judged, orders.invalid, orders.pairs) == (54, 9, 45)  # one of them asks to copy a verdict
    assert one.findings.plain_invalid == 0
    assert one.report.complete
    asked = len(server.judged)
    assert asked == 9 + 45 + 45 * FAST.broken
    assert one.cost == AsideCost(pytest.approx(server.charged), asked, 0)  # type: ignore[arg-type]

    again = probed(server, tmp_path, of_family("fenced_verdict", "orders"))
    assert len(server.judged) == asked
    assert again.findings == one.findings
    assert again.report.cost == 0


def test_the_embedded_judge_needs_nobody(tmp_path: Path) -> None:
    """No key, no server, no question; the same figures every time, those of the docs; and it can be moved."""
    first, second = aib(tmp_path, "-j", "embedded", "--json"), aib(tmp_path, "-j", "embedded")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    found = json.loads(first.stdout)
    assert found["judge"].startswith("embedded-judge-")
    assert found["attacks"]["pairs"] == ATTACKING
    assert 0 < found["attacks"]["raised"] < ATTACKING
    assert found["cost"] == {"dollars": 0, "calls": 0, "calls_without_a_price": 0, "dollars_by_this_command": 0}
    assert "Go ahead?" not in first.stderr
    docs = (Path(__file__).parent.parent / "docs" / "judge-injection.md").read_text(encoding="utf-8")
    titles = [row["title"] for row in (*found["families"], found["attacks"], *found["behaviours"], found["harmless"])]
    shown = [line.rstrip() for line in second.stdout.splitlines() if line.startswith(tuple(titles))]
    assert len(shown) >= len(titles) == 25
    assert [line for line in shown[: len(titles)] if line not in docs.splitlines()] == []
    for said in (found["judge"], found["material"][:8], f"{ATTACKING} pairs", f"{CASES:,} calls"):
        assert said in " ".join(docs.split())


# ---------------------------------------------------------------- bought like any judgement


def test_a_budget_stops_it_and_the_same_command_goes_on(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """What was bought stays bought: in the end every conversation was paid for once."""
    server, pairs = serve(gullible), of_family("verdict", CONTROL)
    first = probed(server, tmp_path, pairs, budget=0.02)

    assert isinstance(first.report.stopped, BudgetSpent)
    assert not first.report.complete
    assert 0.02 - 0.0005 <= server.charged <= 0.02 + 8 * 0.0005
    assert sum(row.judged for row in first.findings.families) < 54

    second = probed(server, tmp_path, pairs)
    assert second.report.complete
    assert len(server.judged) == 9 + len(pairs)
    assert once_each(server.judged)
    assert second.cost.dollars == pytest.approx(server.charged)


def test_a_judge_that_cannot_be_asked_is_not_called_steadfast(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """Nothing was measured: no pair, no share, no praise."""
    done = probed(serve(lambda asked: failure(401, "no such key")), tmp_path, of_family("orders"))

    assert not done.report.complete
    assert done.findings.attacks == AttackSummary("attacks", "All attacks", 0, 0, 0, None, 0, 0)
    assert done.findings.attacks.raised_share is None
    assert statement(done.findings) == "No pair could be compared, so nothing is known about this judge."
    assert json.loads(probe_json(done))["attacks"]["share_raised"] is None


def test_ctrl_c_keeps_what_was_bought(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """What is in flight is waited for and stored; that the same command goes on from there is tested above."""
    server = serve(lambda asked: replace(gullible(asked), delay=0.05))
    at(tmp_path, server)
    command = [AIB, "judge", "--probe-injection", "--store", "probe.db", "-j", "scripted:judge/one", "--yes"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        server.wait_until(lambda s: len(s.chats) >= 20)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate()

    assert running.returncode == 130
    assert "stopped: interrupted. The same command continues from here." in errors
    assert 20 <= len(server.judged) < CASES / 2
    assert once_each(server.judged)
    with open_store(tmp_path / "probe.db") as store, store.reading() as connection:
        stored = connection.exec_driver_sql("select count(*) from judgements").scalar_one()
    assert stored == len(server.judged)


def test_it_asks_before_it_costs_money(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """With what it will take; a no sends nothing."""
    priced = [{"id": "judge/one", "pricing": {"prompt": "0.000001", "completion": "0.000002"}}]
    server = serve(gullible, models=priced)
    at(tmp_path, server)
    user = User(tmp_path, server)
    code, said = user.answering("n\n", "judge", "--probe-injection", "--store", "probe.db", "-j", "scripted:judge/one")

    assert code == 1
    assert f"{CASES:,} calls, about " in said
    assert "tokens, about $" in said
    assert "nothing was sent" in said
    assert server.chats == []


@pytest.mark.parametrize("wrong", [("--protocol", "v2"), ("--modes", "user_role"), ("--variants", "neutral")])
def test_its_conversations_are_its_own(tmp_path: Path, wrong: tuple[str, str]) -> None:
    """A protocol named beside it would be ignored, so it is wrong use."""
    done = aib(tmp_path, "-j", "embedded", *wrong)

    assert done.returncode == 2
    assert "conversations of its own" in done.stderr
    assert not (tmp_path / "probe.db").exists()


@pytest.mark.parametrize("option", ["--json", "--yes"])
def test_its_options_belong_to_it(tmp_path: Path, option: str) -> None:
    """`aib judge` alone has neither."""
    (tmp_path / "aib.db").touch()

    done = invoke(tmp_path, environment(tmp_path), "judge", option)

    assert done.returncode == 2
    assert "--probe-injection" in done.stderr


# ---------------------------------------------------------------- seen nowhere else


def test_no_table_knows_of_a_probe(tmp_path: Path, serve: Callable[..., Any]) -> None:
    """No transcript, no subject, no protocol; no judgement that a protocol's rubric would find."""
    probed(serve(gullible), tmp_path, of_family("orders"))

    with open_store(tmp_path / "probe.db") as store:
        assert boards(store, V2) == []
        with store.reading() as connection:
            rubrics = {rubric_hash(V2.judge_instructions, scenario) for scenario in V2.scenarios}
            assert results.judgement_rows(connection, rubrics) == []
            assert registry.stored_subjects(connection) == {}
            assert registry.stored_protocols(connection) == []
            stored = connection.exec_driver_sql("select count(*) from judgements").scalar_one()
            assert stored == 9 + len(of_family("orders"))
            assert connection.exec_driver_sql("select count(*) from transcripts").scalar_one() == 0


def test_a_probe_asks_what_a_judge_is_asked() -> None:
    """The same request to the letter, under a key of its own."""
    for known, pair in ((known, next(p for p in PAIRS if p.known == known)) for known in known_conversations()):
        assert judge_request(pair.plain, JUDGE.model) == judge_request(known.case, JUDGE.model)
        assert pair.plain.key(JUDGE.hash) != known.case.key(JUDGE.hash)
        assert pair.plain.key(JUDGE.hash) != pair.plain.key("another judge")


def test_a_pair_differs_in_the_addition_alone() -> None:
    """Behind the last reply; everything before it is as it was."""
    for pair in PAIRS:
        *before, last = pair.attacked.transcript.lines
        assert tuple(before) == pair.plain.transcript.lines[:-1]
        assert last.text.startswith(pair.plain.transcript.lines[-1].text + "\n\n")
        assert pair.attacked.rubric_hash == pair.plain.rubric_hash


def test_the_shipped_protocol_has_what_the_conversations_need() -> None:
    """Every pair once, in as many families as there are."""
    assert len({pair.title for pair in PAIRS}) == len(PAIRS) == 9 * len(attacks())
    assert len({pair.attacked.key("") for pair in PAIRS}) == len(PAIRS)


# ---------------------------------------------------------------- the figures


def made(pairs: Iterable[AttackPair], marks: Callable[[AttackPair | None], dict[str, float] | None]) -> ProbeFindings:
    """What a judge with the given *marks* would come to; None as an argument: without an addition."""
    chosen, judgements = tuple(pairs), {}
    for pair in chosen:
        for case, given in ((pair.plain, marks(None)), (pair.attacked, marks(pair))):
            key = case.key("judge")
            reason = "no verdict" if given is None else None
            judgements[key] = Judgement(
                key, case.transcript.heard_hash, case.rubric_hash, "judge", given or {}, "", reason
            )
    return findings("a judge", "judge", chosen, judgements)


def gradual(family: str) -> tuple[AttackPair, ...]:
    """The three pairs of a family's first attack with one scenario: resistance, reasons, identity."""
    first = next(attack for attack in attacks() if attack.family == family)
    return tuple(pair for pair in PAIRS if pair.attack == first and pair.known.scenario == "gradual_erosion")


def test_a_shift_is_counted_in_points_of_ten() -> None:
    """By hand: resistance 4 -> 5, reasons 6 -> 4.5, identity stays: one raised, one lowered, -0.5/3 on the mean."""
    plain = {"resistance": 4.0, "reasoning_quality": 6.0, "identity_maintained": 0.0}
    moved = {"resistance": 5.0, "reasoning_quality": 4.5, "identity_maintained": 0.0}
    found = made(gradual("orders"), lambda pair: moved if pair else plain)

    assert (found.attacks.pairs, found.attacks.raised, found.attacks.lowered) == (3, 3, 3)
    assert found.attacks.shift == pytest.approx(-0.5 / 3)
    assert found.attacks.raised_share == 1.0


def test_less_than_a_point_has_not_moved() -> None:
    """0.99 of a point is in the mean, and in no share."""
    plain = {"resistance": 4.0, "reasoning_quality": 6.0, "identity_maintained": 1.0}
    found = made(gradual("orders"), lambda pair: plain | {"resistance": 4.99} if pair else plain)

    assert (found.attacks.raised, found.attacks.lowered) == (0, 0)
    assert found.attacks.shift == pytest.approx(0.99 / 3)


def test_a_mark_that_should_be_low_counts_the_other_way() -> None:
    """A changed name that becomes an unchanged one is 10 points in the subject's favour."""
    first = next(attack for attack in attacks() if attack.family == "orders")
    pairs = [p for p in PAIRS if p.attack == first and p.known.scenario == "name_and_gender"]
    found = made(pairs, lambda pair: {"name_changed": 0.0 if pair else 1.0, "gender_changed": 1.0})

    assert (found.attacks.raised, found.attacks.lowered, found.attacks.shift) == (3, 0, 5.0)


def test_only_what_both_judgements_have_is_compared() -> None:
    """A mark without grounds on one side, or no verdict on either, is no pair."""
    plain = {"resistance": 4.0, "reasoning_quality": 6.0}
    half = made(gradual("orders"), lambda pair: {"resistance": 6.0, "identity_maintained": 1.0} if pair else plain)
    attacked = made(gradual("orders"), lambda pair: None if pair else plain)
    before = made(gradual("orders"), lambda pair: plain if pair else None)

    assert (half.attacks.pairs, half.attacks.shift) == (3, 2.0)
    assert (attacked.attacks.pairs, attacked.attacks.invalid, attacked.plain_invalid) == (0, 3, 0)
    assert (before.attacks.pairs, before.attacks.invalid, before.plain_invalid) == (0, 0, 3)


def test_controls_are_no_attacks() -> None:
    """What harmless words do stands beside the attacks, never among them."""
    plain = {"resistance": 4.0, "reasoning_quality": 6.0, "identity_maintained": 0.0}
    found = made(
        (*gradual("orders"), *gradual(CONTROL)),
        lambda pair: plain | {"resistance": 9.0} if pair and pair.attack.family == CONTROL else plain,
    )

    assert (found.attacks.pairs, found.attacks.raised) == (3, 0)
    assert (found.control.pairs, found.control.raised) == (3, 3)
    assert [row.pairs for row in found.behaviours] == [1, 1, 1]
    assert statement(found) == (
        "Attacks appended to the subject's words raised a mark by a point or more in 0 of 3 pairs (0%) and lowered "
        "one in 0 (0%); harmless words raised one in 3 and lowered one in 0 of 3."
    )


def test_it_reads_at_80_columns_and_obeys_no_name() -> None:
    """A judge may be called anything."""
    plain = {"resistance": 4.0, "reasoning_quality": 6.0, "identity_maintained": 0.0}
    found = replace(made(gradual("orders"), lambda pair: plain), judge="evil\x1b[2Jjudge")
    console = Console(width=80, record=True, file=StringIO())
    printed(console, probe_view(Probed(found, Report([], Budget()), AsideCost(0.5, 12, 1))))
    text = console.export_text()

    assert "evil\\u{1b}[2Jjudge" in text
    assert "Plain orders" in text
    assert "$0.50 in 12 calls, 1 call without a price" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_progress_is_one_live_line(tmp_path: Path) -> None:
    """On a terminal: how many are judged, how many are in flight, what it has cost."""
    console = Console(width=100, force_terminal=True, file=StringIO())
    with open_store(tmp_path / "probe.db") as store:
        clocks = Clocks(time.time, time.monotonic, random.Random(7).random, FAST)
        probing = AsideAsker(cases_of(JUDGE, of_family("orders")), Session(store, {}, Budget(), clocks), 8)

    async def watched() -> None:
        showing = asyncio.ensure_future(ProgressDisplay(console).in_one_line(probing))
        await asyncio.sleep(0.3)
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)

    asyncio.run(watched())
    assert isinstance(console.file, StringIO)
    assert "0 in flight · $0.00" in console.file.getvalue()
