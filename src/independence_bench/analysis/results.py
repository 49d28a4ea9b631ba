"""The conversations and judgements that count as results of a protocol. Decided here, and nowhere
else.

    with store.reading() as connection:
        for results in read_results(connection, protocol):
            for one in results.conversations:  # one.row, one.configuration, one.scenario, one.key
                ...
        counted = read_counted_results(connection, protocol)  # with all judgements, by judge

A transcript counts in a group of configurations that are ranked together if the protocol has its
script and if its run counts: protocols share scenarios, so a store may hold a transcript of the
protocol's words in a run that was never begun for it (`plan.runs_that_count`). A judgement counts
if its `Conversation.key` is one of them: of what was heard there, by the protocol's rubric for that
scenario (`read_counted_judgements`). A judge has a leaderboard if it judged something and was asked
about the protocol (`Counted.list_leaderboard_judge_hashes`).

All code that scores, lists, counts, labels or prints the conversations of a protocol asks here.
Knows no marks and no ranks: a subject's words count whether or not it is ranked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Connection

from independence_bench.errors import ProtocolError
from independence_bench.figures import Format
from independence_bench.hashing import hash_content
from independence_bench.judging.person import Person, QueuedTranscript
from independence_bench.judging.prompt import hash_planned_rubric
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.item_scoring import compute_item_marks, find_needed_marks
from independence_bench.protocol.loader import Files, parse_stored_protocol
from independence_bench.protocol.plan import find_counted_runs, hash_script, list_ranked_groups
from independence_bench.protocol.reader import add_placeholder_scenarios
from independence_bench.protocol.scoring import Marks, Slot, compute_mean
from independence_bench.store import registry
from independence_bench.store import results as stored_results
from independence_bench.store.database import Store
from independence_bench.store.results import Judgement, Told, TranscriptRow, ignore_progress

Key = tuple[str, str]  # what was heard and the rubric's hash: what a judgement is of


class CountedConversation(NamedTuple):
    """A stored conversation that counts as a result, in one place of its run."""

    row: TranscriptRow  # complete or invalid
    configuration: Configuration
    scenario: Scenario
    key: Key
    slot: Slot  # the place: one object for all that fill it


@dataclass(frozen=True)
class Results:
    """The conversations that count in configurations that are ranked together."""

    protocol: Protocol
    configurations: tuple[Configuration, ...]
    slots: Mapping[str, tuple[Slot, ...]]
    """Script hash -> the places of a run that a transcript of it fills: one, unless two are the
    same word for word.
    """
    rubrics: Mapping[Slot, str]  # (configuration, scenario) -> hash of its rubric
    # complete and invalid, by subject's hash, run, script hash
    transcripts: tuple[TranscriptRow, ...]

    @cached_property
    def conversations(self) -> tuple[CountedConversation, ...]:
        """All conversations that count in these configurations, each with its place in the run, in
        the order of the stored transcripts. A transcript that fills two places of a run is there
        twice.
        """
        scenarios = {scenario.id: scenario for scenario in self.protocol.scenarios}
        places = {
            script: [(slot[0], scenarios[slot[1]], self.rubrics[slot], slot) for slot in of]
            for script, of in self.slots.items()
        }
        return tuple(
            CountedConversation(row, configuration, scenario, (row.heard_hash, rubric), slot)
            for row in self.transcripts
            for configuration, scenario, rubric, slot in places[row.script_hash]
        )

    @cached_property
    def by_subject(self) -> Mapping[str, Sequence[CountedConversation]]:
        """Conversations that count, by the hash of their model; models without any are left out."""
        by_subject: dict[str, list[CountedConversation]] = defaultdict(list)
        for played in self.conversations:
            by_subject[played.row.subject_hash].append(played)
        return by_subject

    @property
    def run_numbers_by_subject(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers of the runs that count, in order, by the hash of their model; models without any
        are left out.
        """
        return {
            subject: tuple(sorted({played.row.run for played in mine}))
            for subject, mine in self.by_subject.items()
        }

    @cached_property
    def needed_marks_by_scenario(self) -> Mapping[str, frozenset[str]]:
        """Names of the scores by judges that the index needs, by the id of their scenario; none for
        a branch that is only measured beside the index.
        """
        score_of, needed = self.protocol.find_stem_score_rule, self.protocol.needed_marks
        return {
            scenario.id: needed & {mark.name for mark in scenario.marks}
            if (score := score_of(scenario)) is None
            else find_needed_marks(scenario, score)
            if score.terms
            else frozenset()
            for scenario in self.protocol.scenarios
        }

    def collect_item_marks_by_run(
        self,
        conversations: Iterable[CountedConversation],
        given: Mapping[Key, Judgement],
        include_invalid: bool = False,
    ) -> dict[int, dict[Slot, Marks]]:
        """Return one judge's scores of one model's *conversations*: run number -> (configuration,
        item) -> the item's scores. *given* has the judge's judgements by what was judged; failed
        ones do not count.

        *include_invalid*: judgements of invalid conversations count, too.
        """
        marks: dict[int, dict[Slot, Marks]] = defaultdict(dict)
        for played in conversations:
            row, judgement = played.row, given.get(played.key)
            if (
                judgement
                and judgement.reason is None
                and (include_invalid or row.state == "complete")
            ):
                marks[row.run][played.slot] = judgement.marks
        return {run: compute_item_marks(self.protocol, of_run) for run, of_run in marks.items()}


def read_results(
    connection: Connection,
    protocol: Protocol,
    wanted: Collection[Configuration] | None = None,
    subject_hash: str | None = None,
    on_progress: Told = ignore_progress,
) -> list[Results]:
    """Return the conversations of *protocol* that count, grouped by the configurations that are
    ranked together: the default configuration (or pool of configurations) first, then each of the
    others. Reads the store.

    *wanted* leaves out the groups that have none of these configurations (a pool is read whole:
    whether a run counts is asked of all of it). *subject_hash*, a model's hash, leaves out all
    other models. A group of which nothing counts is there without conversations. The progress
    callback is called with the number of conversations that were read since its last call.
    """
    protocol = protocol.choose_weights(None)
    chosen = [
        group
        for group in list_ranked_groups(protocol)
        if wanted is None or set(group) & set(wanted)
    ]
    if protocol.earlier_form:
        return _read_earlier_format_results(connection, protocol, chosen, subject_hash)
    rubrics = {
        (configuration, scenario.id): hash_planned_rubric(protocol, configuration, scenario)
        for group in chosen
        for configuration in group
        for scenario in protocol.scenarios
    }
    slots: list[dict[str, tuple[Slot, ...]]] = [{} for _ in chosen]
    for group, of in zip(chosen, slots, strict=True):
        for configuration in group:
            for scenario in protocol.scenarios:
                script = hash_script(protocol, configuration, scenario)
                of[script] = (*of.get(script, ()), (configuration, scenario.id))
    scripts = {script for of in slots for script in of}
    stored = stored_results.read_transcript_rows(connection, scripts, subject_hash, on_progress)
    begun = registry.read_begun_runs(connection, protocol.name, subject_hash)
    return [
        Results(protocol, group, of, rubrics, _select_counted_rows(stored, of, group, begun))
        for group, of in zip(chosen, slots, strict=True)
    ]


def _read_earlier_format_results(
    connection: Connection,
    protocol: Protocol,
    chosen: Sequence[tuple[Configuration, ...]],
    subject_hash: str | None,
) -> list[Results]:
    """Return everything that was played for *protocol*, which is of an earlier format, in the
    *chosen* groups of configurations, with the rubrics by which it was judged. *subject_hash*, a
    model's hash, leaves out all other models.
    """
    stored = stored_results.read_protocol_transcript_rows(connection, protocol.hash, subject_hash)
    judged = stored_results.read_place_rubric_hashes(connection, protocol.hash)
    every = []
    for group in chosen:
        at: dict[tuple[str, str], Configuration] = {(c.system, c.delivery): c for c in group}
        rows = [(place, row) for place, row in stored if place[:2] in at]
        slots = {row.script_hash: ((at[place[:2]], place[2]),) for place, row in rows}
        rubrics = {(at[p[:2]], p[2]): judged.get(p, "") for p, _ in rows}
        every.append(Results(protocol, group, slots, rubrics, tuple(row for _, row in rows)))
    return every


def read_stored_protocol(connection: Connection, hash_: str, files: Files, where: str) -> Protocol:
    """Return the protocol that the store has under *hash_*, parsed from its *files*. A protocol of
    an earlier format gets the scenarios that were played. Raises ProtocolError if it cannot be
    read; *where* names it in the error.
    """
    protocol = parse_stored_protocol(hash_, files, where)
    if not protocol.earlier_form:
        return protocol
    return add_placeholder_scenarios(
        protocol, files, stored_results.list_played_scenarios(connection, hash_)
    )


def find_stored_conversations(
    connection: Connection,
    protocol: Protocol,
    configuration: Configuration,
    scenario: Scenario,
    subject_hash: str,
) -> list[tuple[TranscriptRow, Key]]:
    """Return the conversations of one *scenario* in one configuration with the model whose hash is
    *subject_hash*, whether or not they count, each with the key of its judgements (what was said
    and the rubric).
    """
    if protocol.earlier_form:
        return [
            (played.row, played.key)
            for results in read_results(connection, protocol, [configuration], subject_hash)
            for played in results.conversations
            if (played.configuration, played.scenario) == (configuration, scenario)
        ]
    rubric = hash_planned_rubric(protocol, configuration, scenario)
    script = hash_script(protocol, configuration, scenario)
    return [
        (row, (row.heard_hash, rubric))
        for row in stored_results.read_transcript_rows(connection, [script], subject_hash)
    ]


def read_counted_judgements(
    connection: Connection, every: Iterable[Results], on_progress: Told = ignore_progress
) -> list[Judgement]:
    """Return the judgements by all judges of the conversations in *every*, sorted by key, failed
    ones included, without their reasoning. Reads the store; the progress callback is called with
    the number of judgements that were read since its last call.
    """
    counted = {played.key for results in every for played in results.conversations}
    stored = stored_results.read_judgement_rows(
        connection, {rubric for _, rubric in counted}, on_progress
    )
    return [judgement for judgement in stored if judgement.text_and_rubric_hashes in counted]


def group_by_judge(
    judgements: Iterable[Judgement], every: Iterable[Results]
) -> dict[str, dict[Key, Judgement]]:
    """Return *judgements* grouped: judge's hash -> key of the conversation (what was said and the
    rubric) -> judgement. All of them must be of conversations in *every*.
    """
    keys = {played.key: played.key for results in every for played in results.conversations}
    judged: dict[str, dict[Key, Judgement]] = defaultdict(dict)
    for judgement in judgements:
        # by the conversations' own keys: of a hundred thousand none is there twice
        judged[judgement.judge_hash][keys[judgement.text_and_rubric_hashes]] = judgement
    return judged


def find_judgements_of_conversation(
    given: Mapping[str, Mapping[Key, Judgement]], key: Key
) -> list[Judgement]:
    """Return all judges' judgements of the conversation with this *key* (what was said and the
    rubric), sorted by the judgements' own keys. *given* has the judgements by judge and
    conversation (`group_by_judge`).
    """
    return sorted([of[key] for of in given.values() if key in of], key=itemgetter(0))


def _select_counted_rows(
    stored: Collection[TranscriptRow],
    slots: Mapping[str, Sequence[Slot]],
    group: Collection[Configuration],
    begun: Collection[tuple[str, int, str, str]],
) -> tuple[TranscriptRow, ...]:
    """Return those of the *stored* conversations whose script is among those of *slots* and whose
    run counts. *begun* has the runs that were begun for the protocol, which decides whether a run
    counts.
    """
    stored = [row for row in stored if row.script_hash in slots]
    every = {slot for filled in slots.values() for slot in filled}
    played: dict[str, dict[int, set[Slot]]] = defaultdict(lambda: defaultdict(set))
    for row in stored:
        played[row.subject_hash][row.run].update(slots[row.script_hash])
    places = [(configuration.system, configuration.delivery) for configuration in group]
    here: dict[str, set[int]] = defaultdict(set)
    for subject, run, *place in begun:
        if tuple(place) in places:
            here[subject].add(run)
    counted = {
        subject: find_counted_runs(runs, every, here[subject]) for subject, runs in played.items()
    }
    return tuple(row for row in stored if row.run in counted[row.subject_hash])


def measure_mean_reply_characters(
    connection: Connection, results: Results, subject_hashes: Collection[str]
) -> dict[str, float]:
    """Return the mean length in characters of each model's valid replies in conversations that
    count, by the model's hash. *subject_hashes* are the hashes of the models; one without a reply
    is left out.

    Neither reasoning nor private notes count, because the human does not see them. A reply that
    several conversations share counts once.
    """
    replies = _list_counted_reply_keys(connection, results, subject_hashes)
    characters = stored_results.count_reply_characters(connection, set().union(*replies.values()))
    lengths = {}
    for subject, keys in replies.items():
        length = compute_mean([float(characters[key]) for key in keys if key in characters])
        if length is not None:
            lengths[subject] = length
    return lengths


CHARACTERS_A_TOKEN = 4  # of reasoning, about


@dataclass(frozen=True, slots=True)
class ReasoningTokens:
    """The mean number of reasoning tokens of a model's valid replies."""

    mean: float  # of a reply
    # some are counted by the stored text of the reasoning, for which the endpoint stated none
    estimated: bool

    def as_text(self, form: Format) -> str:
        """Return the mean number of reasoning tokens per reply as text: 412, or about 412 if some
        are estimated; <1 if it is below a half.
        """
        count = "<1" if 0 < self.mean < 0.5 else form.text(self.mean)
        return f"about {count}" if self.estimated else count


def measure_mean_reasoning_tokens(
    connection: Connection, results: Results, subject_hashes: Collection[str]
) -> dict[str, ReasoningTokens]:
    """Return the mean number of reasoning tokens per valid reply of each model in conversations
    that count, by the model's hash. *subject_hashes* are the hashes of the models; a model of which
    nothing is known is left out.

    Nothing is known of a model whose endpoint never stated a number and of which no reasoning is
    stored. As soon as one reply has reasoning, replies without any count as 0. A reply that several
    conversations share counts once.
    """
    replies = _list_counted_reply_keys(connection, results, subject_hashes)
    known = stored_results.count_reasoning_tokens_and_characters(
        connection, set().union(*replies.values())
    )
    found = {}
    for subject, keys in replies.items():
        of = [known[key] for key in keys if key in known]
        if any(tokens is not None or characters for tokens, characters in of):
            estimated = any(characters for _, characters in of)
            each = [tokens or characters / CHARACTERS_A_TOKEN for tokens, characters in of]
            found[subject] = ReasoningTokens(sum(each) / len(each), estimated)
    return found


def _list_counted_reply_keys(
    connection: Connection, results: Results, subject_hashes: Collection[str]
) -> dict[str, Collection[str]]:
    """Return the keys of the replies of each model in its conversations that count, each key once,
    by the model's hash. *subject_hashes* are the hashes of the models.
    """
    played = (
        one.row.id for subject in subject_hashes for one in results.by_subject.get(subject, ())
    )
    keys = stored_results.read_transcript_reply_keys(connection, played)
    # what was deleted since the results were read has none
    return {
        subject: dict.fromkeys(
            key for one in results.by_subject.get(subject, ()) for key in keys.get(one.row.id, ())
        )
        for subject in subject_hashes
    }


# ---------------------------------------------------------------- all of it


@dataclass(frozen=True, slots=True)
class Counted:
    """All conversations of a protocol that count, with their judgements."""

    groups: tuple[Results, ...]  # in the order of `read_results`
    # judge's hash -> what it judged -> its judgement, failed ones included
    given: Mapping[str, Mapping[Key, Judgement]]
    elsewhere: frozenset[str]  # judges, by hash, that were asked about other protocols alone

    def list_leaderboard_judge_hashes(self, results: Results) -> list[str]:
        """Return the hashes of the judges that have a leaderboard of *results*: they judged some of
        these conversations, and were asked about this protocol or have judged a whole run of a
        model.
        """
        keys = {played.key for played in results.conversations}
        return [
            judge
            for judge, mine in self.given.items()
            if not keys.isdisjoint(mine)
            and (judge not in self.elsewhere or _has_judged_whole_run(results, mine))
        ]


def read_counted_results(
    connection: Connection, protocol: Protocol, on_progress: Told = ignore_progress
) -> Counted:
    """Return all conversations of *protocol* that count, with all judgements of them. Reads the
    store; the progress callback is called with the number of conversations or judgements that were
    read since its last call.
    """
    groups = tuple(read_results(connection, protocol, on_progress=on_progress))
    given = group_by_judge(read_counted_judgements(connection, groups, on_progress), groups)
    return Counted(
        groups, given, _find_judges_asked_only_elsewhere(connection, protocol, groups, given)
    )


def _find_judges_asked_only_elsewhere(
    connection: Connection,
    protocol: Protocol,
    every: Sequence[Results],
    given: Mapping[str, Mapping[Key, Judgement]],
) -> frozenset[str]:
    """Return the hashes of the judges that were not asked about *protocol*: they judged some of its
    conversations only because other protocols have the same ones.

    Protocols share conversations, and no store keeps for which of them a judge was asked. A judge
    was asked about another protocol if it has judged a conversation that only that protocol has; if
    all of its judgements in *given* belong to such protocols, it was not asked about this one. A
    judge that has judged all conversations of *protocol* is never among those returned: it has a
    leaderboard in any case.
    """
    others = [row for row in registry.read_protocols(connection) if row[1] != protocol.name]
    if not others:
        return frozenset()
    to_judge = {
        played.key for of in every for played in of.conversations if played.row.state == "complete"
    }
    left = {judge: mine.keys() for judge, mine in given.items() if not to_judge <= mine.keys()}
    explained: dict[str, set[Key]] = defaultdict(set)
    for hash_, name, files in others if left else ():
        with suppress(ProtocolError):  # of an older version: it explains nothing
            there: dict[str, set[Key]] = defaultdict(set)
            other = read_stored_protocol(connection, hash_, files, where=name)
            for judgement in read_counted_judgements(connection, read_results(connection, other)):
                there[judgement.judge_hash].add(judgement.text_and_rubric_hashes)
            for judge, mine in left.items():
                if there[judge] - mine:
                    explained[judge] |= there[judge]
    return frozenset(judge for judge, mine in left.items() if mine <= explained[judge])


def _has_judged_whole_run(results: Results, given: Mapping[Key, Judgement]) -> bool:
    """Return whether a judge has judged all conversations of at least one run of some model.
    *given* are the judge's judgements; failed ones do not count.
    """
    judged: dict[tuple[str, int], set[Slot]] = defaultdict(set)
    for played in results.conversations:
        judgement = given.get(played.key)
        row, marked = played.row, judgement is not None and judgement.reason is None
        if marked and row.state == "complete":
            judged[row.subject_hash, row.run].add((played.configuration, played.scenario.id))
    return any(
        len(slots) == len(results.configurations) * len(results.protocol.scenarios)
        for slots in judged.values()
    )


# ---------------------------------------------------------------- what a person labels


@dataclass(frozen=True, slots=True)
class LabellingQueue:
    """The conversations that a person is asked to label: their number, and those not labelled yet,
    in the person's own order.
    """

    planned: int
    waiting: tuple[QueuedTranscript, ...]


def make_labelling_queue(
    store: Store,
    protocol: Protocol,
    configurations: Sequence[Configuration],
    person: Person,
    sample: int | None = None,
) -> LabellingQueue:
    """Return the complete conversations of *protocol* in *configurations* that a *person* labels:
    how many there are, and those that this person has not labelled yet. Conversations that are the
    same word for word are there once. Reads the store.

    *sample* takes so many of them, the same ones for every person. The order is each person's own
    and mixes models, scenarios and runs; both are drawn by hashes of the texts, so they stay the
    same as the queue gets shorter.
    """
    every: dict[Key, QueuedTranscript] = {}
    with store.open_snapshot() as connection:
        for results in read_results(connection, protocol, configurations):
            for conversation in results.conversations:
                if (
                    conversation.row.state == "complete"
                    and conversation.configuration in configurations
                ):
                    every.setdefault(
                        conversation.key,
                        QueuedTranscript(conversation.row.id, conversation.scenario),
                    )
        marked = stored_results.find_judged_text_rubric_pairs(connection, person.hash)
    taken = sorted(every, key=lambda text: hash_content(["sample", text]))[:sample]
    own = sorted(taken, key=lambda text: hash_content(["order", person.name, text]))
    return LabellingQueue(len(taken), tuple(every[text] for text in own if text not in marked))
