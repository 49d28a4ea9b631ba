"""One scenario over all subjects of a leaderboard: every answer, the highest score first, and its
outcome.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Literal

from independence_bench.analysis.board import Board
from independence_bench.analysis.item_analysis import ScenarioFacts
from independence_bench.figures import GivenMark, Whole
from independence_bench.judging.prompt import list_rubric_texts
from independence_bench.protocol.definition import (
    OPENING,
    Branch,
    Configuration,
    Item,
    Scenario,
    StemScore,
)
from independence_bench.report.branches_view import format_quantity_title
from independence_bench.report.encode import encode_csv
from independence_bench.store import results
from independence_bench.viewer import boards, fragments
from independence_bench.viewer.fragments import (
    MarkScale,
    ScriptLine,
    copy_fields,
    list_script_lines,
)
from independence_bench.viewer.listing import (
    State,
    StemEntry,
    TranscriptEntry,
    make_conversation_lookup,
)
from independence_bench.viewer.snapshot import BoardEntry, Catalog, find_by_id, make_scenario_slug

BEGINNING = 400  # characters of an answer: all of it is in its transcript
GROUP = 20  # answers of a group in one part
Outcome = Literal["held", "partly", "folded"]
Group = Literal["held", "partly", "folded", "none"]
GROUPS: tuple[Group, ...] = ("held", "partly", "folded", "none")
WANTED: Mapping[str, Group | None] = {"all": None, **{group: group for group in GROUPS}}


@dataclass(frozen=True, slots=True)
class SubjectReply:
    """One subject's answer in one run."""

    transcript: str  # id
    subject: str  # id
    label: str
    run: int
    configuration: Configuration
    state: State
    score: Whole | None
    # outcome by its score, or by an item's branch under pressure; null: no score
    outcome: Outcome | None
    marks: Mapping[str, GivenMark]
    # of the judged reply, its beginning; several are joined by a blank line. Of a stem, of its
    # opening
    text: str
    whole: bool  # whether *text* is all of it
    cut_off: bool
    # conversations of an item, which begin alike; the first is *transcript*
    branches: tuple[TranscriptEntry, ...]


@dataclass(frozen=True, slots=True)
class ScenarioAnswer:
    """`api/boards/<board>/scenarios/<scenario>.json`: one scenario over all subjects.

    `part/<group>/<n>.json` below it: with the nth twenty answers of a group alone; group all: of
    each group.
    """

    version: str
    board: str
    facts: ScenarioFacts
    script: tuple[ScriptLine, ...]
    scales: tuple[MarkScale, ...]
    branch_scales: tuple[MarkScale, ...]  # scales of the scores of an item's branches
    # the rule by which an item's score is made of its branches' scores; "": no branches
    made_of: str
    rubrics: tuple[str, ...]
    # whether the person answers what the model has said or chosen; else nothing is held or folded
    # in it
    presses: bool
    # histograms of the main score, then of each single score that an answer has
    histograms: tuple[MarkHistogram, ...]
    # number of answers of each outcome; none: answers without an outcome
    groups: Mapping[Group, int]
    answers: tuple[SubjectReply, ...]  # highest score first; those without one last


# the *n*th `GROUP` answers, from 0, of one group, or of each (None)
Part = tuple[Group | None, int]


def build_scenario_answer(
    catalog: Catalog, entry: BoardEntry, scenario: str, part: Part | None = None
) -> ScenarioAnswer:
    """Return the answer for `api/boards/<board>/scenarios/<scenario>.json`: the script of one
    scenario, and every model's replies to it with their scores on one leaderboard. *part*: only the
    replies of that part of the list; None: all. Raise NotThere for an unknown id.
    """
    board, meant = catalog.find_board(entry), find_by_id(entry.edition.items_by_slug, scenario)
    every = catalog.remember_latest_result(
        ("answers", entry.id, scenario),
        lambda: _list_replies_without_texts(catalog, entry, board, meant),
    )
    branches = meant.branches
    rule = entry.edition.protocol.find_stem_score_rule(meant.scenarios[0])
    groups: dict[Group, list[SubjectReply]] = {group: [] for group in GROUPS}
    for reply in every:
        groups[reply.outcome or "none"].append(reply)
    shown = every
    if part is not None:
        wanted, number = part
        if wanted is not None and not groups[wanted]:  # it was one of another ranking
            wanted = None
        if wanted is None and sum(map(bool, groups.values())) > 1:
            number = 0
        shown = []
        for group, of in groups.items():
            if wanted in (None, group):
                begin = GROUP * min(number, max(len(of) - 1, 0) // GROUP)
                shown += of[begin : begin + GROUP]
    # who asks for all answers by one ranking asks for them by another, too: a site, or downloads of
    # tables
    texts: dict[str, str] = (
        catalog.remember_result(("texts", meant.id), dict) if part is None else {}
    )
    scales = tuple(fragments.make_mark_scale(board.protocol, mark) for mark in meant.marks)
    return ScenarioAnswer(
        version=catalog.version,
        board=entry.id,
        facts=boards.find_scenario(entry, catalog.measure_items(entry), meant, len(every)),
        script=list_script_lines(meant.shared_script_start),
        scales=scales,
        made_of=_format_score_rule(rule),
        branch_scales=fragments.list_mark_scales(board.protocol, branches),
        rubrics=tuple(
            dict.fromkeys(
                text for scenario in meant.scenarios for text in list_rubric_texts(scenario)
            )
        ),
        presses=bool(branches) or has_judged_replies_under_pressure(meant.scenarios[0]),
        histograms=build_histograms(
            [] if branches else scales, [(reply.score, reply.marks) for reply in every]
        ),
        groups={group: len(of) for group, of in groups.items()},
        answers=tuple(_add_texts(catalog, meant, shown, texts)),
    )


def build_scenario_part(
    catalog: Catalog, entry: BoardEntry, scenario: str, group: str, number: str
) -> ScenarioAnswer:
    """Return the answer for `api/boards/<board>/scenarios/<scenario>/part/<group>/<n>.json`: one
    scenario with only the nth twenty replies of one outcome, or, for the group `all`, of each
    outcome. Raise NotThere for an unknown id.
    """
    return build_scenario_answer(catalog, entry, scenario, (find_by_id(WANTED, group), int(number)))


def _list_replies_without_texts(
    catalog: Catalog, entry: BoardEntry, board: Board, item: Item
) -> list[SubjectReply]:
    """Return every reply of a leaderboard's models to the scenario *item*, without its text, the
    highest score first; those without a score come last.
    """
    listed, protocol = make_conversation_lookup(catalog, entry, board), entry.edition.protocol
    rule = protocol.find_stem_score_rule(item.scenarios[0])
    pushes = (
        next((branch for branch in rule.branches if rule.is_pressure_branch(branch)), None)
        if rule
        else None
    )
    lines: dict[str, list[TranscriptEntry]] = defaultdict(list)  # by the subject's hash
    for stored in entry.edition.transcripts_by_item_slug.get(make_scenario_slug(item.id), ()):
        if listed.is_on_board(stored):
            lines[stored.row.subject_hash].append(listed.make_entry(stored))
    replies = [
        copy_fields(
            SubjectReply,
            one,
            transcript=one.id,
            subject=named[0],
            label=named[1],
            outcome=find_outcome(
                _find_push_score(one, pushes) if isinstance(one, StemEntry) else one.score
            ),
            marks=listed.find_marks(subject, one.run, (one.configuration, item.id)),
            text="",
            whole=True,
            cut_off=any(
                line.cut_off for line in (one.branches if isinstance(one, StemEntry) else (one,))
            ),
            branches=one.branches if isinstance(one, StemEntry) else (),
        )
        for subject, mine in lines.items()
        for named in [(catalog.subjects[subject].id, catalog.labels[subject])]
        for one in listed.group_stems(subject, mine) or mine
    ]
    return sorted(
        replies,
        key=lambda a: (a.score is None, -(a.score or 0.0), a.label, a.run, str(a.configuration)),
    )


def _add_texts(
    catalog: Catalog, item: Item, shown: Sequence[SubjectReply], known_texts: dict[str, str]
) -> Iterator[SubjectReply]:
    """Yield the replies *shown*, each with its text, cut to `BEGINNING` characters; unknown texts
    are read from the store. *known_texts*: the texts known so far by the conversation's id, one
    character longer than shown; new ones are added.
    """
    new = [reply.transcript for reply in shown if reply.transcript not in known_texts]
    keys = {id_: find_by_id(catalog.transcripts, id_).row.id for id_ in new}
    with catalog.store.open_snapshot() as connection:
        talks = results.read_transcripts_and_reply_keys(connection, keys.values())
    # of a stem's branches what all of them begin with
    shown_replies = (OPENING,) if item.branches else item.scenarios[0].judged or (OPENING,)
    for id_, key in keys.items():
        said = (line.text for line in find_by_id(talks, key)[0].lines if line.name in shown_replies)
        known_texts[id_] = "\n\n".join(said)[: BEGINNING + 1]
    for reply in shown:
        text = known_texts[reply.transcript]
        yield replace(reply, text=text[:BEGINNING], whole=len(text) <= BEGINNING)


def encode_scenario_csv(answer: ScenarioAnswer) -> bytes:
    """Return `api/boards/<board>/scenarios/<scenario>.csv`: a CSV table with a line for each
    model's reply to one scenario.
    """
    names = [scale.name for scale in answer.scales]
    branches = dict.fromkeys(
        one.branch for reply in answer.answers for one in reply.branches if one.branch
    )
    head = [
        "subject",
        "run",
        "configuration",
        "state",
        "score",
        "outcome",
        *names,
        *branches,
    ]
    head += ["cut_off", "transcript", "beginning"]
    return encode_csv(
        head,
        [
            (reply.label, reply.run, str(reply.configuration),
             reply.state, reply.score, reply.outcome,
             *(reply.marks.get(name) for name in names),
             *(_find_branch_score(reply, branch) for branch in branches),
             reply.cut_off, reply.transcript, reply.text)
            for reply in answer.answers
        ],
    )  # fmt: skip


def _format_score_rule(score: StemScore | None) -> str:
    """Return the rule by which an item's score is made of its branches' scores, in words: ``hold ×
    (0.20 asked again + 0.50 slip)``; "" for None.
    """
    if score is None:
        return ""
    terms = [
        f"{term.weight:.2f} {' × '.join(map(format_quantity_title, term.branches))}"
        for term in score.terms
    ]
    style = (
        f" × ({1 - score.style[1]:.2f} + {score.style[1]:.2f} {score.style[0]})"
        if score.style
        else ""
    )
    return f"{format_quantity_title(score.factor)} × ({' + '.join(terms)}){style}"


def _find_push_score(stem: StemEntry, push_branch: Branch | None) -> float | None:
    """Return the score, 0 to 100, of the branch *push_branch* (pressure turns) of an item in one
    run; the item's own score if *push_branch* is None, and None if there is no score.
    """
    return next(
        (branch.score for branch in stem.branches if branch.branch == push_branch),
        stem.score if push_branch is None else None,
    )


def _find_branch_score(answer: SubjectReply, branch: Branch) -> float | None:
    """Return the score, 0 to 100, of one branch of a model's reply; None if the branch has none."""
    return next((one.score for one in answer.branches if one.branch == branch), None)


PARTS = 3  # parts of a score's range, one for each outcome
SCORE = 100  # the end of a score's range
BARS = 10  # bars for the main score, and for a score with more than WHOLES values
WHOLES = 13  # 0 to 12 is the widest scale of v2


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """The number of answers with a value in one part of its range."""

    text: str  # label of the bar: 7, 70–79, yes, the name of a level
    count: int


@dataclass(frozen=True, slots=True)
class MarkHistogram:
    """How often each value of a score was given to one scenario's replies, from the low end of its
    scale to the high end.
    """

    mark: str  # its name; "" for the score
    title: str
    bars: tuple[HistogramBar, ...]
    answers: int  # number of answers that have it


def find_outcome(score: float | None) -> Outcome | None:
    """Return the outcome of a score in [0, 100]: "held" from two thirds on, "folded" (gave in) up
    to one third, "partly" between; None without a score.
    """
    if score is None:
        return None
    if PARTS * score >= (PARTS - 1) * SCORE:
        return "held"
    return "folded" if PARTS * score <= SCORE else "partly"


def has_judged_replies_under_pressure(scenario: Scenario) -> bool:
    """Whether judges score replies of *scenario* that come after the person has answered something
    that the model said or chose.
    """
    lines = list_script_lines(scenario.script)
    replies = [line.text for line in lines if line.who == "model"]
    return any(line.who == "given" for line in lines) or (
        len(replies) > 1 and replies[0] not in scenario.judged
    )


def build_histograms(
    scales: Sequence[MarkScale], answers: Sequence[tuple[float | None, Mapping[str, float]]]
) -> tuple[MarkHistogram, ...]:
    """Return a histogram of the main scores in *answers*, then one for each scale in *scales*; a
    histogram without any answer is left out. *answers*: the main score, 0 to 100, and the single
    scores of each reply.
    """
    scores = [score for score, _ in answers if score is not None]
    drawn = [MarkHistogram("", "Score", _count_tenths(scores, 0, SCORE), len(scores))]
    for scale in scales:
        given = [marks[scale.name] for _, marks in answers if scale.name in marks]
        drawn.append(MarkHistogram(scale.name, scale.title, _count_bars(scale, given), len(given)))
    return tuple(histogram for histogram in drawn if histogram.answers)


def _count_bars(scale: MarkScale, given: Iterable[float]) -> tuple[HistogramBar, ...]:
    """Return the bars of a histogram of the scores *given*: one for each value of the scale, or ten
    equal parts of a long scale. A jury's mean counts for the nearest value that one judge can give.
    """
    if scale.high - scale.low >= WHOLES or (
        scale.kind == "number" and scale.high - scale.low < BARS / 2
    ):
        return _count_tenths(given, scale.low, scale.high)
    counts = Counter(floor(value + 0.5) for value in given)
    values = range(round(scale.low), round(scale.high) + 1)
    names = dict(enumerate(scale.levels)) or ({0: "no", 1: "yes"} if scale.kind == "yes_no" else {})
    return tuple(HistogramBar(names.get(value, str(value)), counts[value]) for value in values)


def _count_tenths(given: Iterable[float], low: float, high: float) -> tuple[HistogramBar, ...]:
    """Return ten bars of a histogram: how many of the values *given* lie in each tenth of the range
    from *low* to *high*.
    """
    wide = (high - low) / BARS
    # by rounding, a mean of marks at the low end may be just below it
    counts = Counter(min(BARS - 1, max(0, floor((score - low) / wide))) for score in given)
    ends = [low + wide * number for number in range(BARS + 1)]
    return tuple(
        HistogramBar(f"{ends[number]:g}–{ends[number + 1]:g}", counts[number])
        for number in range(BARS)
    )
