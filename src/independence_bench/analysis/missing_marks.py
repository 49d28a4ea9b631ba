"""Why a subject has no index: what is not played, not judged, or left out by its judge. Values and lines; no scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from independence_bench.analysis.branch_values import Share
from independence_bench.analysis.results import CountedConversation, Key, Results
from independence_bench.protocol.definition import POSITION, Protocol, Scenario
from independence_bench.protocol.scoring import RunScore, Slot, needed_marks
from independence_bench.store.results import Judgement

JUDGED, WITHOUT_VIEW, FAILED_JUDGE = "judged", "no option taken", "the judge failed"  # states of a conversation
NO_GROUNDS = "a mark that this judge has no grounds for"

States = Mapping[int, Mapping[Slot, str]]  # run -> slot -> a state, some of them with a reason


def states_of(
    results: Results, conversations: Iterable[CountedConversation], given: Mapping[Key, Judgement], partial: bool
) -> dict[int, dict[Slot, str]]:
    """What became of each of a subject's *conversations* by one judge; *partial*: invalid ones may be judged."""
    states: dict[int, dict[Slot, str]] = defaultdict(dict)
    for one in conversations:
        row, slot, judgement = one.row, (one.configuration, one.scenario.id), given.get(one.key)
        if row.state == "invalid" and not (partial and judgement and judgement.reason is None):
            states[row.run][slot] = f"invalid ({row.reason})"
        elif results.takes_none(row):
            states[row.run][slot] = WITHOUT_VIEW
        elif judgement is None:
            states[row.run][slot] = "not judged"
        elif judgement.reason is not None:
            states[row.run][slot] = f"{FAILED_JUDGE} ({judgement.reason})"
        else:
            states[row.run][slot] = JUDGED
    return states


def left_out(
    protocol: Protocol, conversations: Iterable[CountedConversation], judges: Sequence[Mapping[Key, Judgement]]
) -> dict[str, Share]:
    """Mark -> the judged conversations in which a judge left it out, of those in which the index needs it.

    What was left out most often comes first; where nothing was, {}. Marks that are given after each reply are one,
    `position`. Of a jury the conversations of each judge count.
    """
    gone: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    by_scenario = {scenario.id: _needed(protocol, scenario) for scenario in protocol.scenarios}
    for one in conversations:
        for given in judges:
            judgement = given.get(one.key)
            if judgement is not None and judgement.reason is None:
                needed = by_scenario[one.scenario.id]
                wanted.update({_called(mark) for mark in needed})
                gone.update({_called(mark) for mark in needed - judgement.marks.keys()})
    ordered = sorted(wanted, key=lambda mark: (-gone[mark] / wanted[mark], mark)) if gone else ()
    return {mark: Share(gone[mark], wanted[mark]) for mark in ordered}


def _called(mark: str) -> str:
    return POSITION if mark.startswith(f"{POSITION}_") else mark


def missing_lines(protocol: Protocol, states: States, runs: Mapping[int, RunScore]) -> tuple[str, ...]:
    """What is missing: a line for each reason, with all runs that miss as many conversations for it."""
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for run, score in runs.items():
        why = Counter(_why(states[run], slot, protocol) for slot in score.missing)
        for reason, count in sorted(why.items()):
            alike[reason, count].append(run)
    return tuple(
        f"run {of[0]}: {count} × {reason}" if len(of) == 1 else f"runs {numbers(of)}: {count} × {reason} in each"
        for (reason, count), of in alike.items()
    )


def numbers(runs: Iterable[int]) -> str:
    """Ascending *runs* as 1, 3-7, 9; of two in a row both are named."""
    spans: list[list[int]] = []
    for run in runs:
        if spans and run == spans[-1][-1] + 1:
            spans[-1].append(run)
        else:
            spans.append([run])
    return ", ".join(f"{span[0]}-{span[-1]}" if len(span) > 2 else ", ".join(map(str, span)) for span in spans)


def _needed(protocol: Protocol, scenario: Scenario) -> frozenset[str]:
    if (score := protocol.score_of(scenario)) is not None:
        return needed_marks(scenario, score)
    return protocol.needed & {mark.name for mark in scenario.marks}


def _why(states: Mapping[Slot, str], slot: Slot, protocol: Protocol) -> str:
    """Why what is scored has no mark there: of a stem, the first reason among its branches."""
    configuration, unit = slot
    played = [one.id for one in protocol.scenarios if unit in (one.id, one.stem)]
    found = [states.get((configuration, name), "not played") for name in played]
    return next((state for state in found if state not in (JUDGED, WITHOUT_VIEW)), NO_GROUNDS)
