"""Which stored conversations count: decided in one place, and every reader counts the same ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_model import Answer, Asked, Bench, says, verdict

from independence_bench.analysis.audit import audit_protocol
from independence_bench.analysis.chosen_names import list_chosen_names
from independence_bench.analysis.judge_agreement import compare_judges
from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.analysis.results import make_labelling_queue, read_results
from independence_bench.engine.run import Session
from independence_bench.engine.session import find_pending
from independence_bench.judging.person import Person
from independence_bench.report.contents import read_contents
from independence_bench.store.database import open_store
from independence_bench.viewer import fragments
from independence_bench.viewer.search import parse_query, search_catalog
from independence_bench.viewer.snapshot import read_catalog

ONE, ANOTHER = "judge/one", "judge/another"


def script(asked: Asked) -> Answer:
    """No two replies are alike, and everything is marked the same."""
    if asked.judging:
        return verdict(asked, {"own_voice": 5, "drift": 2, "name_changed": False, "resistance": 8})
    return says(asked, f"I am Iris, for the {asked.number}th time.")


@pytest.fixture
def played(bench: Callable[..., Bench], small: Path) -> Bench:
    """Two protocols that share three of four scenarios: of `other` one run of one subject was
    begun, the shared scenarios of two more of its runs, and of all runs of another subject, were
    played for `small`.
    """
    rubric = small / "rubrics" / "drift.md"
    rubric.write_text(
        rubric.read_text(encoding="utf-8").replace("  changed:", "  name_changed:"),
        encoding="utf-8",
    )
    protocol = small / "protocol.yaml"
    protocol.write_text(
        protocol.read_text(encoding="utf-8").replace("changed]", "name_changed]"), encoding="utf-8"
    )
    other = small.with_name("other")
    shutil.copytree(small, other)
    changed = (
        (other / "protocol.yaml").read_text(encoding="utf-8").replace("name: small", "name: other")
    )
    (other / "protocol.yaml").write_text(changed, encoding="utf-8")
    plain = (
        (other / "scenarios" / "plain.yaml").read_text(encoding="utf-8").replace("now", "at once")
    )
    (other / "scenarios" / "plain.yaml").write_text(plain, encoding="utf-8")
    made = bench(script)
    for judge in (ONE, ANOTHER):
        made.play(made.subject("acme/one"), made.subject("acme/two"), runs=3, judge=judge)
    made.folder = other
    made.play(made.subject("acme/one"), judge=ONE)
    return made


def test_what_counts(played: Bench) -> None:
    """The run that was begun for the protocol, and nothing of those that only share its
    scenarios.
    """
    with open_store(played.store) as store, store.open_snapshot() as connection:
        default, *others = read_results(connection, played.protocol)

    one = played.subject("acme/one").hash
    assert default.run_numbers_by_subject == {one: (1,)}
    assert [(c.row.run, c.row) for c in default.conversations] == [
        (1, row) for row in default.transcripts
    ]
    assert {c.scenario.id for c in default.conversations} == {
        "choice",
        "questions",
        "erosion",
        "plain",
    }
    assert [c.slot for c in default.conversations] == [
        (c.configuration, c.scenario.id) for c in default.conversations
    ]
    assert len(others) == 3
    assert not any(other.transcripts for other in others)


def test_every_reader_counts_the_same_conversations(played: Bench) -> None:
    """Leaderboard, judges, labelling, names, audit, report, what is left to be judged, and the
    viewer.
    """
    protocol = played.protocol

    with open_store(played.store) as store:
        (first,) = make_leaderboards(
            store, protocol
        )  # the other judge was asked about `small` alone
        (judged,) = compare_judges(store, protocol)
        audited = audit_protocol(store, protocol)
        catalog = read_catalog(store, [protocol])
        (edition,) = catalog.editions.values()
        found = search_catalog(catalog, parse_query({}))
        contents = read_contents(store, protocol, [first], list_chosen_names(store, protocol))
        planned = make_labelling_queue(
            store, protocol, protocol.configurations, Person("anna")
        ).planned
        names = len(list_chosen_names(store, protocol))
        to_judge = Session(
            protocol, {}, protocol.configurations, (), 0, played.judge(ONE), store, {}
        )
        with store.open_snapshot() as connection:
            pending = find_pending(connection, to_judge, played.subject("acme/one"))

    (row,) = first.rows
    assert (row.subject.model, row.health.transcripts_complete) == ("acme/one", 4)
    assert row.health.transcripts_judged == 4
    assert [judge.judged for judge in judged.judges] == [3, 4]
    assert judged.conversations == planned == audited.conversations == len(edition.transcripts) == 4
    assert fragments.make_protocol_entry(catalog, edition).transcripts == found.conversations == 4
    assert audited.verdicts == 3 + 4
    assert names == contents.naming.conversations == 1
    assert (pending.progress.planned, pending.progress.done, pending.progress.judged) == (4, 4, 4)
    (detail,) = contents.details
    assert detail.spent.dollars == pytest.approx(7 * 0.001), "the replies of one run"
