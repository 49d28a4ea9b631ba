"""The course of a subject's conversations: counts, why it has no index, and when its runs were
made. Pure.

The spread between the runs of one session does not show what was the same in all of them. The
number of sessions follows from the times of the runs.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from independence_bench.analysis.branches import Share
from independence_bench.analysis.results import CountedConversation, Key, Results
from independence_bench.columns import SENT, Column
from independence_bench.figures import COUNT, SHARE
from independence_bench.protocol.definition import POSITION, Protocol
from independence_bench.protocol.scoring import RunScore, Slot
from independence_bench.store.results import Judgement, TranscriptRow

MUCH_PLAIN_TEXT = 0.1  # share of replies without the tool call from which on it is said


@dataclass(frozen=True, slots=True)
class Health:
    """Counts of one model's conversations on a leaderboard: planned, played and judged, and what
    failed.
    """

    transcripts_planned: int  # for the runs that were begun
    transcripts_complete: int
    transcripts_invalid: int
    transcripts_judged: Annotated[
        int, Column("Judged", COUNT, wide=True, meaning="conversations with a judgement")
    ]
    judgements_failed: Annotated[
        int,
        Column(
            "Judge failed",
            COUNT,
            short="judge\nfailed",
            wide=True,
            wrong_above=0,
            meaning="conversations on which the judge gave no valid judgement",
        ),
    ]
    # that were asked for, invalid ones included
    replies: Annotated[int, Column("Replies", COUNT, wide=True, meaning="that were asked for")]
    replies_cut_off: int  # ended by the token limit
    replies_plain_text: int  # in plain text, without calling the tool
    replies_with_reasoning: int  # whether it was asked for or not
    attempts_failed: int = 0  # without an answer, of which each but the last was made again
    # whose words hold special tokens or tags of a model family
    replies_with_markup: Annotated[
        int,
        Column(
            "Template tokens",
            COUNT,
            short="template\ntokens",
            wide=True,
            spare=3,
            wrong_above=0,
            meaning="replies in which tokens of a chat template remain",
        ),
    ] = 0
    # as the server says
    replies_by_another_model: Annotated[
        int,
        Column(
            "Another model",
            COUNT,
            short="another\nmodel",
            wide=True,
            spare=3,
            wrong_above=0,
            meaning="replies that another model gave than was asked",
        ),
    ] = 0
    # complete conversations that are those of an earlier run in the same place, word for word
    conversations_repeated: Annotated[
        int,
        Column(
            "Repeated",
            COUNT,
            wide=True,
            spare=4,
            meaning="conversations that are those of an earlier run, word for word",
        ),
    ] = 0

    @property
    def attempts(self) -> Annotated[int, SENT]:
        """Number of attempts at getting a model's replies, with or without an answer. Attempts that
        an endpoint postponed are not counted.
        """
        return self.replies - self.transcripts_invalid + self.attempts_failed

    @property
    def share_invalid(
        self,
    ) -> Annotated[
        float,
        Column(
            "Invalid",
            SHARE,
            wide=True,
            spare=1,
            wrong_above=0,
            meaning="replies that are none, of all",
        ),
    ]:
        """Share of invalid replies in all replies that a model was asked for, [0, 1]; 0 if it was
        asked for none.
        """
        return self._divide_by_replies(self.transcripts_invalid)

    @property
    def share_attempts_failed(
        self,
    ) -> Annotated[
        float,
        Column(
            "Failed",
            SHARE,
            short="failed\ncalls",
            spare=4,
            wrong_above=0.05,
            meaning="attempts at replies that brought no answer, of all attempts",
        ),
    ]:
        """Share of attempts that brought no answer in all attempts at a model's replies, [0, 1]; 0
        if there was no attempt.
        """
        return self.attempts_failed / self.attempts if self.attempts else 0.0

    @property
    def share_cut_off(
        self,
    ) -> Annotated[
        float,
        Column(
            "Cut off",
            SHARE,
            short="cut\noff",
            spare=4,
            wrong_above=0.05,
            meaning="replies that the token limit ended, of all",
        ),
    ]:
        """Share of replies that the token limit cut off in all replies that a model was asked for,
        [0, 1]; 0 if it was asked for none.
        """
        return self._divide_by_replies(self.replies_cut_off)

    @property
    def share_plain_text(
        self,
    ) -> Annotated[
        float,
        Column(
            "Plain text",
            SHARE,
            short="plain\ntext",
            wide=True,
            spare=2,
            wrong_above=MUCH_PLAIN_TEXT,
            meaning="replies without calling the tool, of all",
        ),
    ]:
        """Share of replies in plain text, without the tool call, in all replies that a model was
        asked for, [0, 1]; 0 if it was asked for none.
        """
        return self._divide_by_replies(self.replies_plain_text)

    @property
    def share_with_reasoning(
        self,
    ) -> Annotated[
        float,
        Column("Reasoned", SHARE, wide=True, spare=2, meaning="replies with reasoning, of all"),
    ]:
        """Share of replies that came with reasoning in all replies that a model was asked for, [0,
        1]; 0 if it was asked for none.
        """
        return self._divide_by_replies(self.replies_with_reasoning)

    @property
    def share_repeated(self) -> Annotated[float, SHARE]:
        """Share of a model's complete conversations that are word for word those of an earlier run,
        [0, 1); 0 if no conversation is complete.
        """
        complete = self.transcripts_complete
        return self.conversations_repeated / complete if complete else 0.0

    def _divide_by_replies(self, count: int) -> float:
        """Return *count* as a share of all replies that a model was asked for; 0 if it was asked
        for none.
        """
        return count / self.replies if self.replies else 0.0


# ---------------------------------------------------------------- why there is no index

# states of a conversation
JUDGED, FAILED_JUDGE = "judged", "the judge failed"
NO_GROUNDS = "a score that this judge has no grounds for"

States = Mapping[int, Mapping[Slot, str]]  # run -> slot -> a state, some of them with a reason


def find_conversation_states(
    conversations: Iterable[CountedConversation],
    given: Mapping[Key, Judgement],
    accept_invalid: bool,
) -> dict[int, dict[Slot, str]]:
    """Return run -> (configuration, scenario) -> the state of each of one model's *conversations*
    as text: judged, or the reason why not (invalid, not judged, the judge failed). *given*: one
    judge's judgements, by key. *accept_invalid*: invalid conversations may count as judged.
    """
    states: dict[int, dict[Slot, str]] = defaultdict(dict)
    for played in conversations:
        row, slot, judgement = played.row, played.slot, given.get(played.key)
        if row.state == "invalid" and not (
            accept_invalid and judgement and judgement.reason is None
        ):
            states[row.run][slot] = f"invalid ({row.reason})"
        elif judgement is None:
            states[row.run][slot] = "not judged"
        elif judgement.reason is not None:
            states[row.run][slot] = f"{FAILED_JUDGE} ({judgement.reason})"
        else:
            states[row.run][slot] = JUDGED
    return states


def make_health(
    planned: int,
    transcripts: Sequence[TranscriptRow],
    states: States,
    *,
    failed: int,
    with_markup: int,
    by_others: int,
) -> Health:
    """Return the counts of one model's conversations on a leaderboard. *planned*: how many its runs
    should have. *transcripts*: those that were played. *states*: whether each was judged, or why
    not. *failed*: attempts without an answer; *with_markup*: replies with template tokens;
    *by_others*: replies by another model than the one asked.
    """
    complete = [row for row in transcripts if row.state == "complete"]
    ended = Counter(state for of_run in states.values() for state in of_run.values())
    return Health(
        transcripts_planned=planned,
        transcripts_complete=len(complete),
        transcripts_invalid=sum(row.state == "invalid" for row in transcripts),
        transcripts_judged=ended[JUDGED],
        judgements_failed=sum(
            count for state, count in ended.items() if state.startswith(FAILED_JUDGE)
        ),
        replies=sum(row.replies for row in transcripts),
        replies_cut_off=sum(row.cut_off for row in transcripts),
        replies_plain_text=sum(row.plain_text for row in transcripts),
        replies_with_reasoning=sum(row.reasoned for row in transcripts),
        attempts_failed=failed,
        replies_with_markup=with_markup,
        replies_by_another_model=by_others,
        conversations_repeated=len(complete)
        - len({(row.script_hash, row.heard_hash) for row in complete}),
    )


def count_left_out_marks(
    results: Results,
    conversations: Iterable[CountedConversation],
    judges: Sequence[Mapping[Key, Judgement]],
) -> dict[str, Share]:
    """Return name of a mark -> the share of one model's judged conversations in which a judge did
    not give it, of those in which the index needs it; {} if no mark was left out.

    The mark that was left out most often comes first. Marks that are given after each reply count
    as one, `position`. For several *judges* (a jury) the conversations of each judge count.
    """
    by_scenario = results.needed_marks_by_scenario
    gone: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    wanted_and_given = (
        (by_scenario[played.scenario.id], given.get(played.key))
        for played in conversations
        for given in judges
    )
    judged = [
        (needed, judgement.marks.keys())
        for needed, judgement in wanted_and_given
        if judgement is not None and judgement.reason is None
    ]
    for needed, there in () if all(needed <= there for needed, there in judged) else judged:
        wanted.update({_remove_reply_name(mark) for mark in needed})
        gone.update({_remove_reply_name(mark) for mark in needed - there})
    ordered = sorted(wanted, key=lambda mark: (-gone[mark] / wanted[mark], mark)) if gone else ()
    return {mark: Share(gone[mark], wanted[mark]) for mark in ordered}


def _remove_reply_name(mark: str) -> str:
    """Return the name of a mark without the reply that it is given after: `position_` and a reply's
    name becomes `position`; other names stay as they are.
    """
    return POSITION if mark.startswith(f"{POSITION}_") else mark


def describe_missing_marks(
    protocol: Protocol, states: States, runs: Mapping[int, RunScore]
) -> tuple[str, ...]:
    """Return why one model's runs lack marks, as lines of text: for each reason the number of
    conversations or items that lack them, with all runs for which that number is the same. *runs*:
    run -> its score, which says what is missing.
    """
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for run, score in runs.items():
        why = Counter(_find_missing_reason(states[run], slot, protocol) for slot in score.missing)
        for reason, count in sorted(why.items()):
            alike[reason, count].append(run)
    unit = " items" if protocol.has_stems else ""
    return tuple(
        f"run {of[0]}: {count}{unit} × {reason}"
        if len(of) == 1
        else f"runs {format_run_numbers(of)}: {count}{unit} × {reason} in each"
        for (reason, count), of in alike.items()
    )


def format_run_numbers(runs: Iterable[int]) -> str:
    """Return ascending run numbers as text, three or more in a row as a range: "1, 3-7, 9"."""
    spans: list[list[int]] = []
    for run in runs:
        if spans and run == spans[-1][-1] + 1:
            spans[-1].append(run)
        else:
            spans.append([run])
    return ", ".join(
        f"{span[0]}-{span[-1]}" if len(span) > 2 else ", ".join(map(str, span)) for span in spans
    )


def _find_missing_reason(states: Mapping[Slot, str], slot: Slot, protocol: Protocol) -> str:
    """Return why an item has no marks in one run: the reason of its first conversation that is not
    judged ("not played", "invalid", ...), or that the judge has no grounds for a mark. *states*:
    (configuration, scenario) -> state; *slot*: (configuration, item).
    """
    configuration, item = slot
    there = [
        states.get((configuration, scenario.id), "not played")
        for scenario in protocol.find_item(item).scenarios
    ]
    return next((state for state in there if state != JUDGED), NO_GROUNDS)


# ---------------------------------------------------------------- when the runs were made

HOUR, DAY = 3600.0, 86400.0
APART = 12 * HOUR  # between the beginnings of two runs of different sessions
# the end of the year 9999, in seconds since 1970: an imported file may have any number
LAST = 253402300800.0


@dataclass(frozen=True, slots=True)
class RunDates:
    """The dates of a model's runs, in ISO 8601 and UTC."""

    first: str
    last: str
    days: int  # dates on which a conversation ended
    span_hours: float  # from the beginning of the first run to that of the last
    runs: Mapping[int, str]  # run -> when its first conversation ended
    span: str  # 5.5 h
    says: str  # in how many sessions they were made


@dataclass(frozen=True, slots=True)
class RunTimes:
    """The times at which one model's conversations on one leaderboard ended, in Unix time
    (seconds).
    """

    runs: Mapping[int, float]  # run -> when its first conversation was
    first: float
    last: float
    days: int  # dates, in UTC, on which one was

    def sent(self) -> RunDates:
        """Return the times of a model's runs in the form for JSON: ISO 8601 dates in UTC, the span
        in hours, and a sentence on the sessions.
        """
        return RunDates(
            format_utc_time(self.first),
            format_utc_time(self.last),
            self.days,
            round(self.first_to_last_run_seconds / HOUR, 2),
            {run: format_utc_time(at) for run, at in self.runs.items()},
            format_span(self.first_to_last_run_seconds),
            describe_sessions([self]),
        )

    @property
    def first_to_last_run_seconds(self) -> float:
        """Seconds from the beginning of a model's first run to the beginning of its last run; 0 for
        a single run.
        """
        return max(self.runs.values()) - min(self.runs.values())

    @property
    def session_numbers(self) -> dict[int, int]:
        """Run -> the number of the session that it was made in, from 1. Runs that begin less than
        half a day after each other are of one session.
        """
        return map_runs_to_sessions(self.runs)


def make_run_times(finished: Iterable[tuple[int, float]]) -> RunTimes | None:
    """Return the times of one model's runs from (run, Unix time at which it ended) of every
    conversation; None if there is none. Times beyond the calendar are left out.
    """
    runs: dict[int, float] = {}
    times = []
    for run, at in finished:
        if 0 < at < LAST:
            runs[run] = min(at, runs.get(run, at))
            times.append(at)
    if not times:
        return None
    days = {at // DAY for at in times}
    return RunTimes(dict(sorted(runs.items())), min(times), max(times), len(days))


def map_runs_to_sessions(began: Mapping[int, float]) -> dict[int, int]:
    """Return run -> the number of the session that it was made in, from 1, from *began*: run ->
    Unix time. A new session starts if no run began for half a day. {} for no runs.
    """
    numbers: dict[int, int] = {}
    last, number = -math.inf, 0
    for run, at in sorted(began.items(), key=lambda item: item[1]):
        number += at - last >= APART
        numbers[run], last = number, at
    return numbers


def describe_sessions(made: Sequence[RunTimes]) -> str:
    """Return a sentence that says in how many sessions the runs of several models were made, from
    the times of each model's runs; "" for no models.
    """
    if not made:
        return ""
    numbers = [max(times.session_numbers.values()) for times in made]
    one, every = numbers.count(1), len(numbers)
    several = sorted({number for number in numbers if number > 1})
    between = " to ".join(dict.fromkeys((f"{several[0]}", f"{several[-1]}"))) if several else ""
    if 0 < one < every:
        return (
            f"The runs of {one} of {every} models were made in one session, of the others in "
            f"{between}."
        )
    who = "the model" if every == 1 else "each model"
    return f"The runs of {who} were made in {f'{between} sessions' if several else 'one session'}."


def format_span(seconds: float) -> str:
    """Return a duration in seconds as text: "12 min", "5.5 h" or "3.2 days"; "–" for 0."""
    if not seconds:
        return "–"
    if (minutes := round(seconds / 60)) < 60:
        return f"{minutes} min"
    return f"{seconds / HOUR:.1f} h" if seconds < 2 * DAY else f"{seconds / DAY:.1f} days"


def format_utc_time(seconds: float) -> str:
    """Return a Unix time, in seconds, as ISO 8601 text in UTC, to the second."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def format_utc_day_and_minute(seconds: float) -> str:
    """Return a Unix time, in seconds, as text in UTC with minutes: "2026-01-31 12:00"."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
