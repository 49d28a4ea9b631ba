"""The leaderboard: every ranking of a protocol, from what is stored, with its uncertainty and the
fitness of its judge.

    for board in make_leaderboards(store, protocol, Wanted(judge="gemini")):
        for row in board.ranked:
            ...

`make_leaderboards` alone makes them. `results` decides which conversations and judgements count;
here they are scored, ranked and measured. Numbers of two configurations or of two judges never
stand in one ranking. Everything that is shown is decided here; formats nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from independence_bench.analysis.board import Board, BoardRecords, Row
from independence_bench.analysis.branches import measure_branches
from independence_bench.analysis.exam.standing import BoardExam, read_examined_judges
from independence_bench.analysis.health import (
    count_left_out_marks,
    describe_missing_marks,
    find_conversation_states,
    make_health,
    make_run_times,
)
from independence_bench.analysis.lookalikes import find_label_doubts
from independence_bench.analysis.reasons import measure_reasons
from independence_bench.analysis.results import (
    Key,
    Results,
    read_counted_results,
)
from independence_bench.analysis.statistics.sample_means import compute_bootstrap_interval
from independence_bench.analysis.statistics.values import Interval, RowUncertainty, Uncertainty
from independence_bench.analysis.uncertainty import measure_board
from independence_bench.errors import WrongUse
from independence_bench.escape import escape_name
from independence_bench.judging.jury import (
    average_jury_by_conversation,
    find_jury_hashes,
    make_jury_label,
)
from independence_bench.lookup import suggest_names
from independence_bench.models.abilities import Part
from independence_bench.models.local import is_embedded_judge
from independence_bench.models.messages import UNUSABLE, Kind
from independence_bench.models.spec import PYTHON, ChatModel, find_vendor
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.scoring import (
    OWN,
    Rules,
    average_judge_marks,
    set_least_independent_marks,
)
from independence_bench.store import registry
from independence_bench.store.database import Store
from independence_bench.store.registry import Decision, PublishedRow, make_unique_labels
from independence_bench.store.reply_checks import (
    count_reply_attempts_with_outcomes,
    find_replies_by_other_models,
    find_replies_with_template_tokens,
    sum_reply_counts_by_transcript,
)
from independence_bench.store.results import Judgement, Told, ignore_progress

# outcomes of an attempt that are no answer
FAILED = UNUSABLE | {Kind.REFUSED_PROMPT, Kind.BAD_REQUEST}
MOST_UNANSWERED = 0.2  # of a subject's conversations; beyond that it is excluded


@dataclass(frozen=True, slots=True)
class Wanted:
    """The choice of leaderboards of a protocol; by default those of all judges, each judge's by
    itself.
    """

    judge: str | None = None  # of judges whose label contains it
    # labels, or parts that fit one each: the mean of these judges, in the place of each by itself
    jury: tuple[str, ...] = ()
    rules: Rules = OWN  # how marks become an index
    weights: str | None = None  # of a weighting of the protocol; None: those that it has
    configurations: Collection[Configuration] = ()  # with one of these; (): in any


ALL = Wanted()


def make_leaderboards(
    source: Store | BoardRecords, protocol: Protocol, wanted: Wanted = ALL
) -> list[Board]:
    """Return the leaderboards of *protocol* that are *wanted*, from a store or from what was read
    of it (`read_board_records`): those of the default configuration first, then those of the
    others.

    In each configuration the main judge's comes first: a judge that ranks a model before one that
    ranks none, a model before the embedded judge and the embedded judge before a person, then the
    judge that ranks most models, then the one that judged first. If the exam found that one not fit
    for ranking, those that it found fit come before it. Models have no ranks by an unfit judge.

    An empty list if nothing was played, or if the protocol is of an earlier format. Raises WrongUse
    for a judge that is not in the store, and for a jury that cannot be made.
    """
    if isinstance(source, Store):
        with source.open_snapshot() as connection:
            source = read_board_records(connection, protocol)
    labels, judge = source.labels.values(), wanted.judge
    if judge and labels and not any(escape_name(judge) in label for label in labels):
        raise WrongUse(f"no judge is called {judge}; {suggest_names(judge, labels, 'there are')}")
    if protocol.earlier_form:
        return []
    if wanted.weights is not None:
        protocol = protocol.choose_weights(wanted.weights)
    made = []
    for board in _score_boards(source, protocol, wanted):
        if wanted.rules.name == OWN.name:
            made.append(_add_branches(_add_uncertainty(board)))
            source.told(len(board.results.conversations))
        else:
            ranked = (
                _add_bootstrap_and_published_intervals(row, board.protocol, source.published)
                for row in board.ranked
            )
            made.append(replace(board, ranked=tuple(ranked)))
    return made


def _add_bootstrap_and_published_intervals(
    row: Row, protocol: Protocol, published: Mapping[str, PublishedRow]
) -> Row:
    """Return the leaderboard *row*, scored by rules other than this benchmark's, with a bootstrap
    interval of its index over its runs, and with the interval that was *published* for the same
    index.

    The first is None if a run lacks a dimension that counts, because it is of another quantity; the
    second is None if nothing was published for this model, or another index or number of runs.
    """
    counted = [dimension.name for dimension in protocol.dimensions if dimension.weight]
    alike = all(
        run.dimensions.get(name) is not None for run in row.run_scores.values() for name in counted
    )
    given = published.get(row.subject.hash)
    same = given is not None and (given.index, given.runs) == (row.index, row.runs)
    return replace(
        row,
        uncertainty=RowUncertainty(
            Uncertainty(compute_bootstrap_interval(row.complete_run_indices) if alike else None)
        ),
        as_published=Interval(given.low, given.high) if given and same else None,
    )


def _add_uncertainty(board: Board) -> Board:
    """Return the leaderboard with the intervals and possible ranks of its models, over all
    configurations together and, if it pools several, for each configuration.
    """
    rows, results = board.ranked, board.results
    marks = [row.marks for row in rows]
    of_jurors = [  # subject's hash -> its marks by this judge
        {
            hash_: results.collect_item_marks_by_run(mine, given)
            for hash_, mine in results.by_subject.items()
        }
        for given in (board.given if board.jurors else ())
    ]
    judged = [[mine.get(row.subject.hash, {}) for row in rows] for mine in of_jurors]
    sittings = [list_run_sessions(row) for row in rows]
    whole = measure_board(board.protocol, board.configurations, marks, judged, sittings)
    pooled = board.configurations if len(board.configurations) > 1 else ()
    alone = {
        of_pool: measure_board(board.protocol, (of_pool,), marks, judged, sittings)
        for of_pool in pooled
    }
    alone_sure = {of_pool: measured.list_row_uncertainties() for of_pool, measured in alone.items()}
    least = [row.index if row.index_if_folded is None else row.index_if_folded for row in rows]
    sure = whole.list_row_uncertainties([index or 0.0 for index in least])
    if board.has_embedded_judge:
        sure = [replace(of_row, standing=None, standing_new_scenarios=None) for of_row in sure]
    measured = {
        row.subject.hash: replace(
            row,
            uncertainty=of_row,
            uncertainty_by_configuration={
                configuration: each[n].index for configuration, each in alone_sure.items()
            },
        )
        for n, (row, of_row) in enumerate(zip(rows, sure, strict=True))
    }
    ranked = tuple(measured.get(row.subject.hash, row) for row in board.ranked)
    return replace(board, ranked=ranked, uncertainty=whole, uncertainty_by_configuration=alone)


def can_vary_by_session(subject: ChatModel) -> bool:
    """Return whether the replies of the model *subject* can change from one session to another.

    A model that is known by a hash of its weights, as a model file is, has no provider and no other
    version; a Python function can vary.
    """
    # a function may call whatever it likes
    return not subject.identity or subject.endpoint == PYTHON


def list_run_sessions(row: Row) -> tuple[int, ...]:
    """Return the session number of each run of the model in this leaderboard *row*, in the order of
    the runs. All are 1 if the sessions are not known; () if the model's replies cannot change from
    one session to another.
    """
    if not can_vary_by_session(row.subject):
        return ()
    times = row.made.session_numbers if row.made else {}
    return (
        tuple(times[run] for run in row.marks)
        if row.marks.keys() <= times.keys()
        else (1,) * len(row.marks)
    )


def _add_branches(board: Board) -> Board:
    """Return the leaderboard with statistics of how each model responds in each branch of its
    conversations, if the protocol has branching items, and of whether it moves by its own reasons,
    if the protocol asks for them; else unchanged.
    """
    if not board.results.protocol.kinds:
        return board

    def add_row_branches(row: Row) -> Row:
        """Return the leaderboard *row* with the statistics of its model's branches; unchanged if
        the model is excluded.
        """
        if row.excluded:
            return row
        of_row = board.results, row.subject.hash, board.given
        return replace(row, branches=measure_branches(*of_row), reasons=measure_reasons(*of_row))

    ranked, incomplete = (
        tuple(map(add_row_branches, rows)) for rows in (board.ranked, board.incomplete)
    )
    return replace(board, ranked=ranked, incomplete=incomplete)


# ---------------------------------------------------------------- scores and ranks


def read_board_records(
    connection: Connection, protocol: Protocol, on_progress: Told = ignore_progress
) -> BoardRecords:
    """Return everything from the store that leaderboards of *protocol* need: models, judges,
    conversations and judgements that count, and the judges' exams.

    The progress callback is called with the number of conversations or judgements that were read,
    scored or measured since its last call.
    """
    counted = read_counted_results(connection, protocol, on_progress)
    failed, with_markup, by_others = sum_reply_counts_by_transcript(
        connection,
        (
            count_reply_attempts_with_outcomes(connection, FAILED),
            dict.fromkeys(find_replies_with_template_tokens(connection), 1),
            dict.fromkeys(find_replies_by_other_models(connection), 1),
        ),
        {script for of in counted.groups for script in of.slots},
    )
    return BoardRecords(
        subjects=registry.read_subjects(connection),
        labels=registry.read_judge_labels(connection),
        counted=counted,
        failed=failed,
        with_markup=with_markup,
        by_others=by_others,
        prompt_in_turn=frozenset(
            (endpoint, model)
            for endpoint, models in registry.read_stored_abilities(connection).items()
            for model, abilities in models.items()
            if not abilities.can_send(Part.SYSTEM)
        ),
        # of a single judge nobody asks
        since=registry.read_judges_first_judgement_times(connection)
        if len(counted.given) > 1
        else {},
        decided=registry.read_decisions(connection),
        people=registry.find_human_judge_hashes(connection),
        vendors={
            judge: find_vendor(str(spec.get("model")))
            for judge, spec in registry.read_judge_specs(connection).items()
        },
        published=registry.read_published_rows(connection),
        examined=read_examined_judges(connection, protocol),
        told=on_progress,
    )


def _score_boards(records: BoardRecords, protocol: Protocol, wanted: Wanted) -> Iterator[Board]:
    """Yield the leaderboards that are *wanted*, scored and ranked but without intervals, in the
    order of `make_leaderboards`.
    """
    rules, chosen = wanted.rules, set(wanted.configurations)
    jury = (
        _make_jury(records, wanted.jury, average_scores=protocol.has_stems) if wanted.jury else None
    )
    for results in records.counted.groups:
        if not results.transcripts or (chosen and chosen.isdisjoint(results.configurations)):
            continue
        if jury is None:
            judges = [
                _make_judge(records, judge)
                for judge in records.counted.list_leaderboard_judge_hashes(results)
            ]
        else:
            keys = {played.key for played in results.conversations}
            judges = [] if keys.isdisjoint(jury.given) else [jury]
        shown = make_unique_labels(
            {run: records.subjects[run] for run in results.run_numbers_by_subject}
        )
        doubts = find_label_doubts(
            {records.subjects[hash_].label: name for hash_, name in shown.items()}
        )
        ranked_by = []
        exams: dict[tuple[str, ...], BoardExam | None] = {}
        for own in judges or [_Judge(None, each=({},))]:
            rows = [
                _apply_exclusion(
                    _make_row(records, results, protocol, hash_, name, own, rules),
                    records.decided.get(hash_),
                    rules,
                )
                for hash_, name in shown.items()
            ]
            rows = (
                [replace(row, doubt=doubts.get(row.subject.label)) for row in rows]
                if doubts
                else rows
            )
            exams[own.hashes] = exam = records.examined.find_or_make_exam(own.hashes)
            fit = exam is None or exam.fit != "not fit"
            ranked_by.append((own, *_rank_rows(rows, with_ranks=fit and not own.by_table)))
        ranked_by.sort(key=lambda ranking: ranking[0].make_sort_key(len(ranking[1])))
        fits = {hashes: exam.fit if exam else None for hashes, exam in exams.items()}
        if ranked_by and fits[ranked_by[0][0].hashes] == "not fit":
            ranked_by.sort(
                key=lambda ranking: not ranking[1] or fits[ranking[0].hashes] != "ranking"
            )
        ordered = () if jury else tuple(own.label for own, *_ in ranked_by if own.label is not None)
        for own, ranked, incomplete in ranked_by:
            if wanted.judge is not None and escape_name(wanted.judge) not in (own.label or ""):
                continue
            vendors = {records.vendors.get(judge) for judge in own.hashes}
            yield Board(
                protocol,
                results.configurations,
                own.label,
                own.by_table,
                ranked,
                incomplete,
                results=results,
                given=own.each,
                rules=rules.name,
                judge_hashes=own.hashes,
                jurors=own.jurors,
                judges=ordered,
                exam=exams[own.hashes],
                vendor=vendors.pop() if len(vendors) == 1 else None,
            )


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge or a jury whose leaderboards are made."""

    label: str | None
    hashes: tuple[str, ...] = ()
    given: Mapping[Key, Judgement] = field(default_factory=dict)  # of a jury the mean of its judges
    each: tuple[Mapping[Key, Judgement], ...] = ()  # of those hashes
    jurors: tuple[str, ...] = ()  # of a jury: the labels of its judges
    apart: bool = False  # a jury's scores are averaged, not its marks
    by_table: bool = False
    is_person: bool = False
    since: float = 0.0  # when it judged first, in seconds since 1970

    @property
    def scored_judgements(self) -> tuple[Mapping[Key, Judgement], ...]:
        """Sets of judgements that are scored one by one before the scores are averaged: each
        judge's own if a jury's scores are averaged, else a single set.
        """
        return self.each if self.apart else (self.given,)

    def make_sort_key(self, ranked_count: int) -> tuple[bool, bool, bool, int, float, str]:
        """Return the key by which the judge's leaderboard is sorted, so that the main judge's comes
        first. *ranked_count* is the number of models that the leaderboard ranks.
        """
        return (
            not ranked_count,
            self.is_person,
            self.by_table,
            -ranked_count,
            self.since,
            self.label or "",
        )


def _make_judge(records: BoardRecords, judge_hash: str) -> _Judge:
    """Return the judge whose hash is *judge_hash* as one whose leaderboards are made, with its
    judgements.
    """
    given, label = records.counted.given[judge_hash], records.labels[judge_hash]
    return _Judge(
        label,
        hashes=(judge_hash,),
        given=given,
        each=(given,),
        by_table=is_embedded_judge(label),
        is_person=judge_hash in records.people,
        since=records.since.get(judge_hash, 0.0),
    )


def _make_jury(records: BoardRecords, judge_names: Sequence[str], average_scores: bool) -> _Judge:
    """Return the judges whose labels, or parts of them, are *judge_names* as one jury, with their
    joint judgements. *average_scores*: average the scores made from each judge's judgements and not
    the judgements themselves, because the mean of two levels is no level.
    """
    given, labels = records.counted.given, records.labels
    # an exam leaves judges that judged nothing here: they must not make a name mean several
    chosen = tuple(
        find_jury_hashes({judge: labels[judge] for judge in given} or labels, judge_names)
    )
    jurors, each = (
        tuple(labels[judge] for judge in chosen),
        tuple(given.get(judge, {}) for judge in chosen),
    )
    by_table = any(is_embedded_judge(label) for label in jurors)
    return _Judge(
        make_jury_label(list(jurors)),
        chosen,
        average_jury_by_conversation(list(each)),
        each,
        jurors,
        average_scores,
        by_table,
    )


def _rank_rows(rows: Sequence[Row], with_ranks: bool) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the rows of a leaderboard in two tuples: those with an index, with ranks and the best
    first, and those without. Equal indices share a rank; ranks are None if *with_ranks* is false.
    """
    ordered = sorted(rows, key=lambda row: (-(row.index or 0.0), row.label))
    indices = [row.index for row in ordered if row.index is not None]
    ranks = {
        index: rank for rank, index in reversed(list(enumerate(indices, start=1))) if with_ranks
    }
    ranked = tuple(
        replace(row, rank=ranks.get(row.index)) for row in ordered if row.index is not None
    )
    return ranked, tuple(row for row in ordered if row.index is None)


def _apply_exclusion(row: Row, decision: Decision | None, rules: Rules) -> Row:
    """Return the leaderboard *row* without its index and with the reason if its model is excluded;
    else the row as it is. A person's *decision* overrides the rule, and is noted in the row.

    The rule, applied by this benchmark's own scoring only, excludes a model that gave no valid
    reply in a share of more than `MOST_UNANSWERED` of its conversations: the remaining ones would
    be a choice of its best.
    """
    why, health = None, row.health
    ended = health.transcripts_complete + health.transcripts_invalid
    if decision is not None and decision.verdict == "exclude":
        why = f"excluded by a person: {decision.reason}"
    elif rules.name == OWN.name and health.transcripts_invalid > MOST_UNANSWERED * ended:
        share = f"{health.transcripts_invalid} of {ended} conversations have no valid reply"
        why = f"excluded: {share}, over {MOST_UNANSWERED:.0%}"
        if decision is not None:
            return replace(
                row, missing=(f"would be {why}; kept by a person: {decision.reason}", *row.missing)
            )
    if why is None:
        return row
    score = replace(row.score, index=None, deviation=None)
    return replace(
        row,
        index_if_folded=None,
        score=score,
        by_configuration={},
        missing=(why, *row.missing),
        excluded=why,
    )


def _make_row(
    records: BoardRecords,
    results: Results,
    protocol: Protocol,
    subject_hash: str,
    label: str,
    judge: _Judge,
    rules: Rules,
) -> Row:
    """Return the leaderboard row of the model whose hash is *subject_hash*, as scored by *judge*
    and *rules*, before it is decided whether the model is excluded. *protocol* has the weights that
    are used.
    """
    group = results.configurations
    mine, who = results.by_subject[subject_hash], records.subjects[subject_hash]
    records.told(len(mine))
    transcripts = list({conversation.row.id: conversation.row for conversation in mine}.values())
    marks = average_judge_marks(
        [
            results.collect_item_marks_by_run(mine, given, rules.partial)
            for given in judge.scored_judgements
        ]
    )
    states = find_conversation_states(mine, judge.given, rules.partial)
    judged = {run: marks.get(run, {}) for run in sorted(states)}
    runs, whole = rules.score(protocol, group, judged)
    # by other rules a mark at its lowest may not count at all
    lost = rules.name == OWN.name and {
        (played.row.run, (played.configuration, played.scenario.item))
        for played in mine
        if played.row.id in records.failed
    }
    # a run without marks in one configuration of a pool counts as missing there
    pool = group if len(group) > 1 else ()
    return Row(
        rank=None,
        subject=who,
        label=label,
        score=whole,
        run_scores=runs,
        health=make_health(
            len(states) * len(group) * len(protocol.scenarios),
            transcripts,
            states,
            failed=sum(records.failed.get(row.id, 0) for row in transcripts),
            with_markup=sum(records.with_markup.get(row.id, 0) for row in transcripts),
            by_others=sum(records.by_others.get(row.id, 0) for row in transcripts),
        ),
        missing=describe_missing_marks(protocol, states, runs),
        left_out=count_left_out_marks(results, mine, judge.scored_judgements),
        by_configuration={
            of_pool: rules.score(protocol, (of_pool,), judged)[1] for of_pool in pool
        },
        marks=marks,
        made=make_run_times((row.run, row.finished_at) for row in transcripts),
        index_if_folded=rules.score(
            protocol, group, set_least_independent_marks(protocol, judged, lost)
        )[1].index
        if lost
        else None,
        prompt_in_turn=(who.endpoint, who.model) in records.prompt_in_turn,
    )
