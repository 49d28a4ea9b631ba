"""Everything that an endpoint can do wrong, alone and mixed: the run ends, says how, and its books
are right.

Real engine, client, store and server, in simulated time. Each fault meets every request of the
subject, or of the judge, and never heals; then it meets some and heals. The index is the one that
the character is known to have, or there is none. Costs are compared with the endpoint's own ledger.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from simulated_endpoint import CENT, Played, aib, audit, play, read_ledger, simulating

from independence_bench.calls.limits import Policy
from independence_bench.simulate.faults import FAULTS, MIXED, Faults
from independence_bench.simulate.server import Latency, Settings
from independence_bench.store.database import open_store
from independence_bench.store.integrity import check_store

TRANSCRIPTS = 4  # of the small protocol; 7 replies, 4 judgements
REPLIES = 7
# the same tries, and a minute instead of a quarter of an hour
PATIENT = Policy(patience=60.0, first_wait=0.5)
WITHOUT_PATIENCE = Policy(failures=2, first_wait=0.5)  # where each try takes ten minutes
# indices of the small protocol
HOLDS, MIDDLE, YIELDS = 100.0, 20 * 0.5 + 30 * 6 / 11 + 50 * 0.5, 0.0

# How a run ends when every request of its subject meets the fault, for ever.
COMPLETE, FAILED, STOPPED, INVALID = (
    "complete",
    "failed for now",
    "subject stopped",
    "transcripts invalid",
)
OF_SUBJECTS = (
    dict.fromkeys(FAULTS, COMPLETE)
    | dict.fromkeys(("rate-limit", "rate-limit-after", "silence"), FAILED)
    | dict.fromkeys(("http-500", "http-503", "truncated"), FAILED)
    | dict.fromkeys(("error-inside", "no-choices", "reset-inside"), FAILED)
    | dict.fromkeys(("http-402", "reset", "html"), STOPPED)
    | dict.fromkeys(("finish-filter", "empty"), INVALID)
)
# And when every request of its judge does: nothing that a judge does stops a subject.
NOT_JUDGED, JUDGE_FAILED = "not judged, for now", "the judge failed"
OF_JUDGES = (
    {name: NOT_JUDGED if end in (FAILED, STOPPED) else end for name, end in OF_SUBJECTS.items()}
    | dict.fromkeys((name for name in FAULTS if name.startswith("judge-")), JUDGE_FAILED)
    | dict.fromkeys(("finish-filter", "empty"), JUDGE_FAILED)
)
JUDGES_ONLY = {name for name in FAULTS if name.startswith("judge-")}
# met every day: one of each way in which a client reads it and a run ends; the others by `make
# torture`
DAILY = {
    "rate-limit-after",
    "http-402",
    "http-503",
    "reset",
    "truncated",
    "finish-length",
    "finish-filter",
    "usage-missing",
    "judge-missing",
}
SLOW = {"silence"}  # makes each request ten minutes long: met elsewhere
CALM = Settings()


def every_fault(without: set[str]) -> pytest.MarkDecorator:
    """Each fault but those *without*, those that are not in `DAILY` for `make torture`."""
    names = [name for name in FAULTS if name not in without]
    rare = {name: () if name in DAILY else pytest.mark.torture for name in names}
    return pytest.mark.parametrize(
        "fault", [pytest.param(name, marks=marks) for name, marks in rare.items()]
    )


def faulty(fault: str, rate: float = 1.0) -> Settings:
    """An endpoint where *fault* meets that share of the requests."""
    return Settings(faults=Faults({fault: rate}))


def ending(played: Played) -> str:
    """How the run ended, by what its report says of its one subject."""
    (progress,) = played.report.subjects
    planned = progress.planned
    if progress.judged == planned:
        return COMPLETE
    if progress.done == planned:
        return JUDGE_FAILED if progress.unjudged else NOT_JUDGED
    if progress.state == "stopped":
        return STOPPED
    return INVALID if progress.invalid else FAILED


def assert_the_books_agree(played: Played, store: Path) -> None:
    """Dollars by the report, the store and the endpoint, rejected attempts included; and the store
    is sound.
    """
    assert played.spending.total == pytest.approx(played.audit.told, abs=CENT / 100)
    assert played.report.cost == pytest.approx(played.audit.told, abs=CENT / 100)
    assert played.spending.attempts == len(played.entries), (
        "every attempt is on record, and nothing else"
    )
    with open_store(store) as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []


@every_fault(SLOW | JUDGES_ONLY)
def test_a_fault_of_the_subjects_endpoint_that_never_heals(
    fault: str, small: Path, tmp_path: Path
) -> None:
    """The run ends by itself, says what it came to, invents no score, and knows what it cost."""
    store = tmp_path / "store.db"

    played = play(small, store, faulty(fault), CALM, policy=PATIENT)

    assert ending(played) == OF_SUBJECTS[fault], played.report.troubles
    assert played.report.complete == (OF_SUBJECTS[fault] == COMPLETE)
    assert_the_books_agree(played, store)
    (progress,) = played.report.subjects
    if played.report.complete:
        assert played.indices == pytest.approx([HOLDS])
        (row,) = played.boards[0].ranked
        assert row.health.replies_cut_off == (REPLIES if fault == "finish-length" else 0)
        assert played.audit.again == ()
    else:
        assert played.indices == []
        assert progress.invalid + progress.failed == TRANSCRIPTS
        assert len(played.report.troubles) == TRANSCRIPTS
        assert not any(entry.model == "sim/judge" for entry in played.entries), (
            "there is nothing to judge"
        )


@every_fault(SLOW)
def test_a_fault_of_the_judges_endpoint_that_never_heals(
    fault: str, small: Path, tmp_path: Path
) -> None:
    """Every conversation is played to its end; a failing judge costs marks, and no mark is made
    up.
    """
    store = tmp_path / "store.db"

    played = play(small, store, CALM, faulty(fault), policy=PATIENT)

    assert ending(played) == OF_JUDGES[fault], played.report.troubles
    assert_the_books_agree(played, store)
    (progress,) = played.report.subjects
    assert (progress.done, progress.invalid, progress.state) == (TRANSCRIPTS, 0, "done")
    assert played.indices == ([HOLDS] if played.report.complete else [])
    if not played.report.complete:
        (row,) = played.boards[0].incomplete
        assert row.missing
        assert len(played.report.troubles) == TRANSCRIPTS


@pytest.mark.parametrize("who", ["subject", "judge"])
def test_silence_is_waited_for_as_long_as_is_said_and_no_longer(
    who: str, small: Path, tmp_path: Path
) -> None:
    """Ten minutes a try; then the call has failed, for now."""
    bad = faulty("silence")
    settings, judging = (bad, CALM) if who == "subject" else (CALM, bad)

    played = play(small, tmp_path / "store.db", settings, judging, policy=WITHOUT_PATIENCE)

    assert ending(played) == (FAILED if who == "subject" else NOT_JUDGED)
    silent = [entry for entry in played.entries if entry.fault == "silence"]
    assert len(silent) == TRANSCRIPTS * WITHOUT_PATIENCE.failures
    assert all(590 < entry.seconds < 900 for entry in silent)
    assert played.indices == []
    assert_the_books_agree(played, tmp_path / "store.db")


@every_fault(SLOW)
def test_a_fault_that_heals_leaves_the_known_index(fault: str, small: Path, tmp_path: Path) -> None:
    """The first question of every conversation, and the first of every judgement, meets it once.

    The same command, given once more where something was stopped, completes it.
    """
    store = tmp_path / "store.db"
    once = Settings(
        faults=Faults(script=dict.fromkeys(range(1, TRANSCRIPTS + 1), fault)),
        latency=Latency(0.0, 0.5),
    )

    # a judge is asked again at once: one of its judgements may meet the fault every time
    played = play(small, store, once, once, policy=replace(PATIENT, broken=TRANSCRIPTS + 1))
    told = played.audit.told
    if fault in ("http-402", "html"):
        assert not played.report.complete
        assert played.indices == []
        played = play(small, store, CALM, CALM, policy=PATIENT)
        told += played.audit.told

    assert played.report.complete, played.report.troubles
    assert played.indices == [HOLDS], "what came at the second attempt counts like any other reply"
    assert played.audit.again == ()
    assert played.spending.total == pytest.approx(told, abs=CENT / 100)
    with open_store(store) as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in (1, 2))]
)
def test_all_faults_mixed_at_a_fifth_of_the_requests(
    seed: int, small: Path, tmp_path: Path
) -> None:
    """What passes is survived, what does not stops what it must: in the end everything is there
    once.
    """
    store = tmp_path / "store.db"
    names = ("stubborn", "agreeable", "evader")
    faults = Faults({MIXED: 0.195, "http-402": 0.005})
    told, answered = 0.0, 0

    for number in range(20):
        settings = Settings(100 * seed + number, faults=faults, latency=Latency(0.0, 0.2))
        played = play(
            small, store, settings, names=names, again=number > 0, policy=PATIENT, seed=number
        )
        told, answered = told + played.audit.told, answered + played.audit.answered
        assert played.spending.total == pytest.approx(told, abs=CENT / 100)
        assert played.audit.again == (), "no completed reply was bought again"
        if played.report.complete:
            break
        assert played.report.troubles

    assert played.report.complete, played.report.troubles
    assert played.indices == pytest.approx([HOLDS, MIDDLE, YIELDS])
    with open_store(store) as opened, opened.open_snapshot() as connection:
        assert check_store(connection) == []
        (kept,) = connection.exec_driver_sql(
            "select count(*) from attempts where outcome = 'answered'"
        ).one()
    assert kept >= answered, "and none of an earlier command's either"


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("usage-missing", 0, "without a price"),
        ("http-402", 1, "out of credits (HTTP 402)"),
        ("finish-filter", 1, "invalid: "),
        ("judge-prose", 1, "the judge failed: "),
    ],
)
def test_the_commands_exit_code_and_words(
    fault: str, code: int, said: str, small: Path, tmp_path: Path
) -> None:
    """0 where everything is there, 1 where something is not, and the line that says what."""
    with simulating(tmp_path, "--fault", f"{fault}=1", "--ledger", "ledger.jsonl"):
        order = (
            "run",
            "sim:sim/stubborn",
            "--protocol",
            str(small),
            "--judge",
            "sim:sim/judge",
            "--runs",
            "1",
        )
        ran = aib(tmp_path, *order)

    assert ran.returncode == code, ran.stderr
    assert said in ran.stderr
    assert ("100.0" in ran.stdout) == (code == 0)
    told = audit(read_ledger(tmp_path / "ledger.jsonl")).told
    with open_store(tmp_path / "aib.db") as opened, opened.open_snapshot() as connection:
        (stored,) = connection.exec_driver_sql("select coalesce(sum(cost), 0) from attempts").one()
        assert stored == pytest.approx(told, abs=CENT / 100)
        assert check_store(connection) == []
