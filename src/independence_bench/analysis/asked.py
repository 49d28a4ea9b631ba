"""Which judges were asked about a protocol, though no store keeps for which one a judge was asked. No scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

from sqlalchemy import Connection

from independence_bench.analysis.results import Key, Results, judgements_of, results_of
from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import parse
from independence_bench.protocol.scoring import Slot
from independence_bench.store import registry
from independence_bench.store.results import Judgement


def asked_elsewhere(
    connection: Connection, protocol: Protocol, every: Sequence[Results], judgements: Sequence[Judgement]
) -> frozenset[str]:
    """The judges, by hash, that nobody has asked about *protocol*: what they marked of it, they marked for others.

    Protocols share conversations, and no store keeps for which of them a judge was asked. One was asked about another
    protocol that has judged what only that one has; where all of its judgements here belong to such protocols, it was
    not asked about this one. Who has judged everything here is not looked at: that is a board whatever it was for.
    """
    given: dict[str, set[Key]] = defaultdict(set)
    for judgement in judgements:
        given[judgement.judge_hash].add(judgement.about)
    to_judge = {one.key for of in every for one in of.conversations if one.row.state == "complete"}
    left = {judge: mine for judge, mine in given.items() if not to_judge <= mine}
    explained: dict[str, set[Key]] = defaultdict(set)
    for _, name, files in registry.stored_protocols(connection) if left else ():
        if name == protocol.name:
            continue
        with suppress(ProtocolError):  # of an older version: it explains nothing
            there: dict[str, set[Key]] = defaultdict(set)
            for judgement in judgements_of(connection, results_of(connection, parse(files, where=name))):
                there[judgement.judge_hash].add(judgement.about)
            for judge, mine in left.items():
                if there[judge] - mine:
                    explained[judge] |= there[judge]
    return frozenset(judge for judge, mine in left.items() if mine <= explained[judge])


def has_a_run(results: Results, given: Mapping[Key, Judgement]) -> bool:
    """Whether who has *given* these has judged all of a run of some subject, whatever rules score it."""
    judged: dict[tuple[str, int], set[Slot]] = defaultdict(set)
    for one in results.conversations:
        judgement = given.get(one.key)
        if results.takes_none(one.row) or (judgement and judgement.reason is None and one.row.state == "complete"):
            judged[one.row.subject_hash, one.row.run].add((one.configuration, one.scenario.id))
    return any(len(slots) == len(results.configurations) * len(results.protocol.scenarios) for slots in judged.values())
