"""Imports the published layout into a store. It reads the files twice (to learn their words, then
to write) and commits in batches.

Every row has the key that it would have if it had been played here, made from what caused it. So
importing the same files again changes nothing, and an import that was stopped continues where it
was. The raw text of an attempt keeps what the store has no column for: every file is in the store
from its first to its last byte.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from independence_bench.dataset.archive import File, Files, find_first_tars, open_files
from independence_bench.dataset.published_conversations import (
    PublishedConversation,
    Source,
    assemble_conversation,
)
from independence_bench.dataset.published_format import (
    NOT_A_CONVERSATION,
    ROWS_FILE,
    CostFile,
    Foreign,
    NamesFile,
    ReplyPath,
    Trajectory,
    parse_names_path,
    parse_reply_path,
    parse_subject,
    read_names_file,
    read_published_rows_by_hash,
    read_trajectory,
)
from independence_bench.dataset.published_protocol import (
    NAME_OF_PROTOCOL,
    SCENARIO_BY_STEM,
    Place,
    Votes,
    Wording,
    build_protocol,
    find_variant,
    merge_wordings,
    read_wording,
)
from independence_bench.errors import WrongUse
from independence_bench.hashing import hash_content, write_canonical_json
from independence_bench.judging.extraction import (
    PUBLISHED,
    make_name_answer_key,
    make_name_count_mark,
    write_published_names_json,
)
from independence_bench.judging.output import read_published_verdict
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.messages import Kind, Usage
from independence_bench.protocol.definition import Delivery, Protocol
from independence_bench.protocol.loader import Files as ProtocolFiles
from independence_bench.protocol.loader import parse_stored_protocol
from independence_bench.protocol.plan import Job, hash_script, list_possible_configurations
from independence_bench.store import imported, registry, results
from independence_bench.store.attempts import ANSWERED, CallInfo, Ended
from independence_bench.store.database import Store
from independence_bench.store.imported import JUDGED_AGAIN, REPLACED, PaidAttempt
from independence_bench.store.results import Judgement, PlayedJob
from independence_bench.store.rows import split_chunks

BATCH = 200  # conversations in one commit
LAYOUT = "published"

Tell = Callable[[str, int, int], None]  # gets the step, the files done, and all files
Conversations = Sequence[PublishedConversation]
# one conversation: folder, run, variant, delivery mode, scenario
Group = tuple[str, int, str, Delivery, str]
SubjectRun = tuple[str, int]  # subject's hash, run
Parts = dict[str, tuple[ReplyPath, File]]  # a conversation's files by their names


@dataclass(slots=True)
class PublishedImport:
    """The result of an import of published conversations: what was stored, known already, or
    skipped.
    """

    subjects: set[str] = field(default_factory=set)  # labels
    files: int = 0  # files that were read as parts of conversations
    new: int = 0  # conversations that were stored
    known: int = 0  # conversations that were there already
    judgements: int = 0  # new judgements
    judgements_known: int = 0
    names: int = 0  # new readings of the names in a conversation
    rows: int = 0  # published leaderboard rows, with their intervals
    dollars: float = 0.0  # cost of what is new, which others paid
    skipped: list[tuple[str, str]] = field(default_factory=list)  # (path, why)
    # conversations that were imported, and why our rules do not count them
    unusual: list[tuple[str, str]] = field(default_factory=list)
    cut: str = ""  # why the source was not read to its end


def import_published(
    store: Store,
    path: Path,
    tell: Tell = lambda what, done, of: None,
) -> PublishedImport:
    """Import the published conversations under *path* (a folder or a tar) into *store*, and return
    what was imported and what was skipped.

    *tell* is told the step, how many files are done, and of how many. Raises WrongUse if *path*
    holds no published conversation, and StoreError if the store cannot be written; what was
    committed stays.
    """
    outcome = PublishedImport()
    with open_files(path) as files:
        groups, names = _group_files_by_conversation(files, outcome)
        if not groups:
            tars = " or ".join(shlex.quote(str(tar)) for tar in find_first_tars(path))
            raise WrongUse(
                f"{path} holds no conversation in a layout that aib reads; "
                + (
                    f"import {tars} instead"
                    if tars
                    else "docs/data-formats.md says which there are"
                )
            )
        votes = _count_texts_and_drop_unreadable(groups, outcome, tell)
        protocol, protocol_files = _build_merged_protocol(store, votes, groups)
        owner = imported.make_import_owner_name(LAYOUT, path.absolute().name)
        writer = _Writer(store, protocol, protocol_files, names, owner, outcome)
        done = 0
        whole = [(group, parts) for group, parts in sorted(groups.items()) if parts]
        for batch in split_chunks(whole, BATCH):
            tell("importing", done, outcome.files)
            writer.write_conversations(
                [_read_conversation(protocol, group, parts.values()) for group, parts in batch]
            )
            done += sum(len(parts) for _, parts in batch)
    rows, wrong = read_published_rows_by_hash(path.absolute().with_name(ROWS_FILE))
    outcome.rows = len(rows)
    outcome.skipped += [(f"{ROWS_FILE}, {line}", "no published row") for line in wrong]
    if rows:
        with store.open_transaction() as connection:
            registry.store_published_rows(connection, rows)
    return outcome


# ---------------------------------------------------------------- what is there


def _group_files_by_conversation(
    files: Files, outcome: PublishedImport
) -> tuple[dict[Group, Parts], dict[SubjectRun, NamesFile]]:
    """Return (conversation -> its reply files, (model's hash, run) -> the names chosen in that
    run). Every other file is listed as skipped in *outcome*, with the reason.
    """
    groups: dict[Group, Parts] = defaultdict(dict)
    names: dict[SubjectRun, tuple[File, NamesFile]] = {}
    outcome.skipped += files.refused
    outcome.cut = files.cut
    for file in files:
        try:
            if named := parse_names_path(file.parts):
                names.setdefault(
                    (parse_subject(named[0]).hash, named[1]), (file, read_names_file(file))
                )
                continue
            path = parse_reply_path(file.parts)
            parse_subject(path.folder)
            if path.stem not in SCENARIO_BY_STEM:
                raise Foreign(f"{NOT_A_CONVERSATION} that the published version 2 has")
        except Foreign as error:
            outcome.skipped.append((file.path, str(error)))
            continue
        scenario = SCENARIO_BY_STEM[path.stem].scenario
        parts = groups[path.folder, path.run, path.variant, path.delivery, scenario]
        if path.stem in parts:
            outcome.skipped.append((file.path, "a second file for the same reply"))
        else:
            parts[path.stem] = (path, file)
    places: dict[SubjectRun, set[tuple[str, str]]] = defaultdict(set)
    for folder, run, variant, delivery, _ in groups:
        places[parse_subject(folder).hash, run].add((variant, delivery))
    for of in names.keys() & places.keys():
        if len(places[of]) > 1:
            file, _ = names.pop(of)
            outcome.skipped.append(
                (file.path, "names of a run that was played in several configurations")
            )
    return groups, {of: read for of, (_, read) in names.items()}


def _count_texts_and_drop_unreadable(
    groups: Mapping[Group, Parts], outcome: PublishedImport, tell: Tell
) -> Votes:
    """Read every file in *groups* once, and return how often each text was sent to models. Files
    that cannot be read are removed from *groups* and listed as skipped in *outcome*.
    """
    votes = Votes()
    every = [(group, stem) for group, parts in groups.items() for stem in parts]
    for number, (group, stem) in enumerate(every):
        if number % 200 == 0:
            tell("reading", number, len(every))
        path, file = groups[group][stem]
        try:
            votes.count_file_texts(read_trajectory(file, path))
        except Foreign as error:
            outcome.skipped.append((file.path, str(error)))
            del groups[group][stem]
    outcome.files = votes.files
    return votes


def _build_merged_protocol(
    store: Store, votes: Votes, groups: Mapping[Group, Parts]
) -> tuple[Protocol, ProtocolFiles]:
    """Return the protocol, with its files, that holds the words of the imported files and those of
    the protocol that earlier imports stored. Stores nothing.
    """
    here = Counter(
        (variant, delivery) for (_, _, variant, delivery, _), parts in groups.items() if parts
    )
    stored, complete = _read_stored_wording(store)
    return build_protocol(merge_wordings(stored, votes.choose_wording(), complete, here))


def _read_stored_wording(store: Store) -> tuple[Wording, Counter[Place]]:
    """Return (the words that the stored protocol of earlier imports knows, variant and delivery
    mode -> how many complete conversations the store has of them). Both are empty before the first
    import.
    """
    with store.open_snapshot() as connection:
        stored = [
            (hash_, files)
            for hash_, name, files in registry.read_protocols(connection)
            if name == NAME_OF_PROTOCOL
        ]
        if not stored:
            return Wording(), Counter()
        protocol = parse_stored_protocol(*stored[0], NAME_OF_PROTOCOL)
        scripts = {
            hash_script(protocol, configuration, scenario)
            for configuration in list_possible_configurations(protocol)
            for scenario in protocol.scenarios
        }
        played, complete = set[Place](), Counter[Place]()
        for (system, delivery, state), count in imported.count_by_configuration_and_state(
            connection, scripts
        ).items():
            place = (find_variant(protocol, system, delivery), delivery)
            played.add(place)
            complete[place] += count if state == "complete" else 0
    return read_wording(protocol, played), complete


def _read_conversation(
    protocol: Protocol, group: Group, parts: Iterable[tuple[ReplyPath, File]]
) -> PublishedConversation:
    read = [read_trajectory(file, path) for path, file in parts]
    return assemble_conversation(
        protocol, parse_subject(group[0]), read, SCENARIO_BY_STEM[read[0].path.stem]
    )


# ---------------------------------------------------------------- into the store


@dataclass(slots=True)
class _Writer:
    store: Store
    protocol: Protocol
    files: ProtocolFiles
    names: Mapping[SubjectRun, NamesFile]
    owner: str
    outcome: PublishedImport
    kept: bool = False  # whether this import has stored the protocol

    def write_conversations(self, conversations: Conversations) -> None:
        """Store all *conversations* that are not stored yet, with their replies, judgements and
        names, in one commit. Conversations whose system message no protocol can hold are listed as
        skipped.
        """
        known = [c for c in conversations if c.configuration.system in dict(self.protocol.systems)]
        self.outcome.skipped += [
            (_describe_conversation(c), "its system message cannot be used in a protocol")
            for c in conversations
            if c not in known
        ]
        with self.store.open_transaction() as connection:
            self._import_transcripts_and_replies(connection, known)
            self._import_judgements(connection, known)
            self._import_chosen_names(connection, known)

    def _import_transcripts_and_replies(
        self, connection: Connection, conversations: Conversations
    ) -> None:
        played = [(self._make_played_job(c), c) for c in conversations]
        stored = imported.read_states_and_text_hashes(
            connection, [conversation.job.transcript_id for conversation, _ in played]
        )
        new = [
            (conversation, c)
            for conversation, c in played
            if _is_worth_storing(stored.get(conversation.job.transcript_id), conversation)
        ]
        self.outcome.new += len(new)
        self.outcome.known += len(played) - len(new)
        self.outcome.subjects |= {c.subject.label for c in conversations}
        self.outcome.unusual += [
            (_describe_conversation(c), c.reason) for c in conversations if c.reason
        ]
        self._import_replies(connection, conversations)
        if new and not self.kept:
            protocol = self.protocol
            registry.store_protocol(
                connection, protocol.hash, protocol.name, self.files, time.time()
            )
            self.kept = True
        for subject in {c.subject for _, c in new}:
            registry.store_subject(connection, subject)
        results.store_transcripts(
            connection, [(conversation, c.last_reply_time) for conversation, c in new]
        )

    def _make_played_job(self, c: PublishedConversation) -> PlayedJob:
        script = hash_script(self.protocol, c.configuration, c.scenario)
        job = Job(c.subject, c.run, c.configuration, c.scenario, script)
        keyed = [(source.make_call_key(c.run), source.reply) for source in c.said]
        return PlayedJob(job, self.protocol.hash, c.transcript, keyed, c.reason)

    def _import_replies(self, connection: Connection, conversations: Conversations) -> None:
        sources = [(s.make_call_key(c.run), s) for c in conversations for s in (*c.said, *c.others)]
        there = imported.find_stored_answer_keys(connection, {key for key, _ in sources})
        attempts = self._store_attempts_and_sum_costs(
            connection, [_make_reply_attempt(key, source, key in there) for key, source in sources]
        )
        # reversed: the reply in the conversation wins over the replies that it replaced
        new = {key: source for key, source in reversed(sources) if key not in there}
        answers = [
            (key, attempts[key, source.at], source.reply, source.at) for key, source in new.items()
        ]
        results.store_replies(connection, answers)

    def _import_judgements(self, connection: Connection, conversations: Conversations) -> None:
        judged = [(self._make_judgement(c, c.judged), c.judged) for c in conversations if c.judged]
        there = imported.find_stored_answer_keys(
            connection, {judgement.key for judgement, _ in judged}
        )
        self.outcome.judgements_known += sum(judgement.key in there for judgement, _ in judged)
        new: dict[str, tuple[Judgement, float]] = {}
        made = []
        for judgement, file in judged:
            again = judgement.key in there or judgement.key in new
            made.append(_make_judging_attempt(judgement, file, again))
            if not again:
                new[judgement.key] = (judgement, file.reply_time)
        self._store_judgements(connection, made, new, {file.judge for _, file in judged})
        self.outcome.judgements += len(new)

    def _import_chosen_names(self, connection: Connection, conversations: Conversations) -> None:
        """Store which names were chosen in *conversations* as judgements of them, one for each text
        of a conversation.
        """
        new: dict[str, tuple[Judgement, float]] = {}
        read_from: dict[str, NamesFile] = {}
        for c in conversations:
            file = self.names.get((c.subject.hash, c.run))
            if file is not None and c.reason is None and c.scenario.id in file.names_by_scenario:
                heard, (judge, _, _) = (
                    c.transcript.heard_hash,
                    _build_judge_hash_label_spec(file.label),
                )
                key = make_name_answer_key(heard, judge, PUBLISHED)
                answer = write_published_names_json(file.names_by_scenario[c.scenario.id])
                mark = make_name_count_mark(answer)
                new.setdefault(
                    key, (Judgement(key, heard, PUBLISHED, judge, mark, answer), c.last_reply_time)
                )
                read_from.setdefault(key, file)
        for key in imported.find_stored_answer_keys(connection, new.keys()):
            del new[key]
        made = [
            _make_names_reading_attempt(one, at, read_from[key]) for key, (one, at) in new.items()
        ]
        self._store_judgements(connection, made, new, {read_from[key].label for key in new})
        self.outcome.names += len(new)

    def _store_judgements(
        self,
        connection: Connection,
        paid_attempts: Sequence[PaidAttempt],
        new: Mapping[str, tuple[Judgement, float]],
        judges: Iterable[str],
    ) -> None:
        attempts = self._store_attempts_and_sum_costs(connection, paid_attempts)
        for name in judges:
            registry.store_judge(connection, *_build_judge_hash_label_spec(name))
        kept = [(key, attempts[key, at], one, at) for key, (one, at) in new.items()]
        results.store_judgements(connection, kept)

    def _make_judgement(self, c: PublishedConversation, file: Trajectory) -> Judgement:
        case = JudgingInput(c.transcript, c.scenario, self.protocol.judge_instructions)
        judge, _, _ = _build_judge_hash_label_spec(file.judge)
        return case.make_judgement(
            judge, read_published_verdict(file.judge_scores or {}, c.scenario.marks)
        )

    def _store_attempts_and_sum_costs(
        self, connection: Connection, paid_attempts: Sequence[PaidAttempt]
    ) -> Mapping[tuple[str, float], int]:
        attempts, new = imported.store_imported_attempts(connection, paid_attempts, self.owner)
        self.outcome.dollars += sum(item.ended.usage.cost or 0.0 for item in new)
        return attempts


def _is_worth_storing(stored_state_and_hash: tuple[str, str] | None, played: PlayedJob) -> bool:
    """Return whether the conversation *played* is to be stored: it is new, or more complete than
    the *stored_state_and_hash* one, given as (state, hash of the words).
    """
    if stored_state_and_hash is None:
        return True
    state, heard = stored_state_and_hash
    return state == "invalid" and (played.reason is None or heard != played.transcript.heard_hash)


def _describe_conversation(c: PublishedConversation) -> str:
    return f"{c.subject.label}, run {c.run}, {c.configuration}, {c.scenario.id}"


def _make_reply_attempt(key: str, source: Source, already_answered: bool) -> PaidAttempt:
    """Return the attempt at the call *key* that *source* came from. If the call is answered in the
    store already (*already_answered*), the attempt counts as replaced.
    """
    file, reply = source.file, source.reply
    if source.replaced or already_answered:
        outcome = REPLACED
        message = "another reply to the same question is the one in the conversation"
    elif reply.reason is not None:
        outcome, message = Kind.BROKEN.value, reply.reason
    else:
        outcome, message = ANSWERED, "" if file else "known only from what was sent after it"
    cost = file.cost if file else CostFile()
    finish_reason, raw = (file.finish_reason, file.raw) if file else (None, "")
    seconds = cost.elapsed_seconds or 0.0
    ended = Ended(outcome, message, cost.usage, seconds, raw, finish_reason=finish_reason)
    model = source.request.model
    call = CallInfo(key, "reply", model.endpoint, model.model, source.request.record)
    return PaidAttempt(call, ended, source.at - seconds, source.at)


def _make_judging_attempt(
    judgement: Judgement, file: Trajectory, already_judged: bool
) -> PaidAttempt:
    if already_judged:
        outcome, message = JUDGED_AGAIN, "the same words were said in another conversation"
    else:
        outcome = ANSWERED if judgement.reason is None else Kind.BROKEN.value
        message = judgement.reason or ""
    seconds, raw = file.judge_cost.elapsed_seconds or 0.0, file.judge_raw_response or ""
    ended = Ended(outcome, message, file.judge_cost.usage, seconds, raw)
    return _make_paid_attempt(judgement.key, file.judge, ended, file.reply_time)


def _make_names_reading_attempt(judgement: Judgement, at: float, file: NamesFile) -> PaidAttempt:
    """Return the attempt in which a model read the chosen names that *judgement* holds. One call
    read the names of a whole run; each conversation in *file* has an equal share of its cost. *at*:
    Unix time.
    """
    cost = file.extraction_cost_usd
    share = None if cost is None else cost / len(file.names_by_scenario)
    ended = Ended(ANSWERED, "", Usage(None, None, cost=share), 0.0, file.raw)
    return _make_paid_attempt(judgement.key, file.label, ended, at)


def _make_paid_attempt(key: str, judge: str, ended: Ended, at: float) -> PaidAttempt:
    """Return an attempt of the judge called *judge* at the call *key*. The data does not have the
    judge's request and its time, so the attempt has the Unix time *at* of the reply.
    """
    call = CallInfo(key, "judgement", "openrouter", judge, write_canonical_json({"model": judge}))
    return PaidAttempt(call, ended, at, at)


def _build_judge_hash_label_spec(name: str) -> tuple[str, str, str]:
    """Return (hash, label, settings) of the judge called *name* in published data, which cannot be
    asked from here.
    """
    spec = write_canonical_json({"kind": LAYOUT, "model": name})
    return hash_content(spec), f"{LAYOUT}:{name}", spec
