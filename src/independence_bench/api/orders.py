"""What a user names, by command line or from Python, as the engine takes it.

Protocols, configurations, subjects, endpoints and a store are found, or an error says what there is; an order for the
engine is made of them (`RunOptions`). Asks no endpoint and sends nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from independence_bench.analysis.results import results_of
from independence_bench.engine.preview import Forecast, Preview
from independence_bench.engine.session import EMBEDDED, Limits, RunOptions
from independence_bench.errors import ProtocolError, StoreError, WrongUse
from independence_bench.escape import harmless, label_text
from independence_bench.lookup import fit, instead, near
from independence_bench.models.models_file import moved_by, read_models, shipped_subjects
from independence_bench.models.spec import AUTO, ChatModel, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import Allow, check_url
from independence_bench.protocol.definition import DELIVERIES, Configuration, Protocol
from independence_bench.protocol.loader import Files, load_with_files, parse_stored
from independence_bench.protocol.plan import Shard
from independence_bench.report.exam_words import exam_line
from independence_bench.report.format import money, plural
from independence_bench.store import registry
from independence_bench.store.database import Store, open_store
from independence_bench.store.registry import Decision, unique_labels

MODELS_FILE = "models.yaml"


def find_protocol(name: str | None, store: Store) -> tuple[Protocol, Files]:
    """The protocol of that name or path; else the stored one of that name or hash; for None the last one played.

    Raises ProtocolError where there is none of that name, WrongUse where nothing was played yet.
    """
    with store.reading() as connection:
        played = registry.stored_protocols(connection)
    if name is None:
        if not played:
            raise WrongUse(f"nothing is stored in {store.shown}; `aib run` plays and judges")
        _, _, files = played[0]
        return parse_stored(files, where=f"{store.shown}: {played[0][1]}"), files
    try:
        return load_with_files(name)
    except ProtocolError as error:
        for hash_, stored, files in played:
            if stored == name or (len(name) >= 8 and hash_.startswith(name)):
                return parse_stored(files, where=f"{store.shown}: {stored}"), files
        close = [] if os.path.exists(name) else near(name, dict.fromkeys(stored for _, stored, _ in played))
        if close:
            stored_too = f"{store.shown} has {' and '.join(close)}"
            joint = " " if error.problem.endswith("?") else "; "
            raise ProtocolError(error.file, error.key, f"{error.problem}{joint}{stored_too}") from None
        raise error from None


def stored_subjects(store: Store, protocol: Protocol | None, typed: Sequence[str]) -> list[ChatModel]:
    """The subjects that were named, of those that *protocol* was begun with (None: of all); all of them without a name.

    Raises WrongUse where a name fits none or several, or where there is no subject.
    """
    with store.reading() as connection:
        found = registry.stored_subjects(connection)
        if protocol is not None:
            begun = {subject for subject, *_ in registry.begun_runs(connection, protocol.name)}
            found = {hash_: subject for hash_, subject in found.items() if hash_ in begun}
    labels = unique_labels(found)
    if not labels:
        of = f" of {protocol.name}" if protocol else ""
        raise WrongUse(f"no conversations{of} are stored in {store.shown}; `aib run` plays them")
    return [found[subject] for subject in dict.fromkeys(fit(labels, name) for name in typed)] or list(found.values())


def experiments_of(protocol: Protocol, wanted: Sequence[str]) -> tuple[str, ...]:
    """The experiments that were asked for; none for all of them. Raises WrongUse for an unknown one."""
    known = [experiment.name for experiment in protocol.experiments]
    for name in wanted:
        if name not in known:
            raise WrongUse(f"--exp: {protocol.name} has no experiment {name}; {instead(name, known)}")
    return tuple(name for name in known if name in wanted)


def read_roster(models_file: Path | None, local_url: str | None = None) -> Roster:
    """Endpoints and subjects: those built in, and those of models.yaml; `OPENROUTER_BASE_URL` goes before both.

    *local_url*: where the endpoint `local` is.
    """
    listed = models_file is not None or Path(MODELS_FILE).is_file()
    roster = moved_by(os.environ, read_models(models_file or Path(MODELS_FILE)) if listed else Roster())
    return roster.moved("local", check_url(local_url)) if local_url else roster


@contextmanager
def open_results(store: str) -> Iterator[Store]:
    """The store at *store*, which is there; who models.yaml in the working folder excludes is off its boards."""
    with open_store(store, create=False) as opened:
        keep_exclusions(opened, read_roster(None))
        yield opened


def keep_exclusions(store: Store, roster: Roster) -> None:
    """Store which subjects models.yaml excludes, and remove exclusions that it had before and has no more.

    What `aib exclude` said stays. Where the store cannot be written, that is said and no more.
    """
    with store.reading() as connection:
        subjects, known = registry.stored_subjects(connection), registry.decided(connection)
    changes: dict[str, Decision | None] = {}
    for hash_, subject in subjects.items():
        listed = [spec for spec in roster.specs if spec.fits(subject)]
        reason = next((spec.exclude for spec in listed if spec.exclude), None)
        wanted = Decision("exclude", reason, MODELS_FILE) if reason else None
        before = known.get(hash_)
        if listed and wanted != before and (before is None or before.origin == MODELS_FILE):
            changes[hash_] = wanted
    if not changes:
        return
    try:
        with store.writing() as connection:
            for hash_, decision in changes.items():
                if decision is None:
                    registry.undo(connection, hash_)
                else:
                    registry.decide(connection, hash_, decision, time.time())
    except StoreError as error:
        sys.stderr.write(harmless(f"models.yaml's `exclude` is not applied: {error}\n"))


def configurations(protocol: Protocol, variants: Sequence[str], deliveries: Sequence[str]) -> tuple[Configuration, ...]:
    """Each of *variants* in each of *deliveries*; where neither is named, those of *protocol*. Raises WrongUse."""
    if not variants and not deliveries:
        return protocol.configurations
    known = [name for name, _ in protocol.systems]
    wanted = variants or list(dict.fromkeys(c.system for c in protocol.configurations))
    ways = deliveries or list(dict.fromkeys(c.delivery for c in protocol.configurations))
    for name in wanted:
        if name not in known:
            raise WrongUse(f"--variants: {protocol.name} has no variant {name}; {instead(name, known)}")
    for way in ways:
        if way not in DELIVERIES:
            raise WrongUse(f"--delivery: there is no delivery {way}; {instead(way, DELIVERIES, 'there are')}")
        if way not in protocol.deliveries:
            raise WrongUse(f"--delivery: {protocol.name} has no wording for {way}; its protocol.yaml needs `{way}:`")
    return tuple(Configuration(name, way) for name in wanted for way in DELIVERIES if way in ways)


def not_stored(
    protocol: Protocol, wanted: Sequence[Configuration], played: Sequence[Configuration], by: str | None = None
) -> str:
    """Says that nothing of *protocol* is stored in the configurations *wanted*, and in which something is.

    *by*: the judge whose marks were asked for.
    """
    there = f"; there are some in {', '.join(map(str, played))} (--variants, --delivery)" if played else ""
    judged = f" by {by}" if by else ""
    return f"no conversations of {protocol.name} in {' + '.join(map(str, wanted))}{judged} are stored{there}"


def weighed(protocol: Protocol, weights: str | None) -> Protocol:
    """*protocol* with the weights of that name; None: with its own. Raises WrongUse where it names none such."""
    names = [weighting.name for weighting in protocol.weightings]
    if weights is not None and weights not in names:
        there = instead(weights, names) if names else "it has its default weights only: leave --weights out"
        raise WrongUse(f"--weights: {protocol.name} has no weights called {weights}; {there}")
    return protocol.weighed(weights)


NO_EFFORT = "none"  # the published labels' word for off
EFFORTS = (*(effort.value for effort in Reasoning), NO_EFFORT, AUTO)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a user asks to have played and judged, by the names that they use; what they leave open is None, or ()."""

    models: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()  # more of them
    every: bool = False  # without *models*: the subjects of our list where models.yaml has none
    models_file: Path | None = None
    local_url: str | None = None
    local_model: tuple[str, ...] = ()
    protocol: str = "v2"
    weights: str | None = None
    experiments: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    delivery: tuple[str, ...] = ()
    runs: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    provider: str | None = None
    judge: str | None = None
    no_judge: bool = False
    again: bool = False

    @property
    def named(self) -> list[str]:
        """The models that are named, each once, those of a local server included."""
        return [*dict.fromkeys((*self.models, *self.listed)), *(f"local:{name}" for name in self.local_model)]


def run_options(order: RunOrder, allow: Allow, limits: Limits, shard: Shard | None = None) -> RunOptions:
    """What is to be played and judged. Raises WrongUse, and what files raise.

    Without named models it is the active subjects of models.yaml, or with *every* else those of our list.
    """
    loaded, files = load_with_files(order.protocol)
    roster = read_roster(order.models_file, order.local_url)
    if order.local_model and not order.local_url:
        raise WrongUse("--local-model needs --local-url, e.g. --local-url http://localhost:8080/v1")
    effort = Reasoning.OFF.value if order.reasoning_effort == NO_EFFORT else order.reasoning_effort
    specs = _specs(order.named, order.every, roster)
    return RunOptions(
        protocol=weighed(loaded, order.weights),
        files=files,
        roster=roster,
        judge=None if order.no_judge else order.judge or loaded.judge.model,
        configurations=configurations(loaded, order.variants, order.delivery),
        specs=tuple(
            with_settings(
                spec,
                temperature=order.temperature,
                max_tokens=order.max_tokens,
                reasoning=effort,
                provider=order.provider,
            )
            for spec in specs
        ),
        runs=order.runs or loaded.runs,
        again=order.again,
        limits=limits,
        experiments=experiments_of(loaded, order.experiments),
        allow=allow,
        shard=shard,
        unnamed=not order.named and not roster.specs,
    )


def judge_options(
    store: Store,
    protocol: Protocol,
    files: Files,
    roster: Roster,
    allow: Allow,
    limits: Limits,
    variants: Sequence[str] = (),
    delivery: Sequence[str] = (),
    shard: Shard | None = None,
) -> RunOptions:
    """What is stored of *protocol*, to be judged; its judge is still to be named.

    Without *variants* and *delivery* the protocol's own configurations; where only others were played, these. Raises
    WrongUse where conversations are stored, and none in what was named.
    """
    where = configurations(protocol, variants, delivery)
    with store.reading() as connection:
        subjects = tuple(registry.stored_subjects(connection).values())
        every = [one.configuration for of in results_of(connection, protocol) for one in of.conversations]
    played = tuple(dict.fromkeys(every))
    if played and not set(played) & set(where):
        if variants or delivery:
            raise WrongUse(not_stored(protocol, where, played))
        where = played
    return RunOptions(
        protocol=protocol,
        files=files,
        roster=roster,
        judge=None,
        configurations=where,
        subjects=subjects,
        again=True,
        limits=limits,
        allow=allow,
        shard=shard,
    )


def _specs(typed: Sequence[str], every: bool, roster: Roster) -> list[ModelSpec]:
    """The subjects that were named; without a name those of models.yaml, or with --all else those of our list."""
    if typed and every:
        raise WrongUse("--all means every subject: leave out the models, or --all")
    if typed:
        return [spec for name in typed for spec in specs_of(name, roster)]
    listed = roster.specs or (shipped_subjects() if every else ())
    specs = [spec for spec in listed if spec.active]
    if not specs:
        raise WrongUse("no subject: name a model (`aib run embedded`), list some in models.yaml, or say --all")
    return specs


def with_settings(
    spec: ModelSpec,
    temperature: float | None = None,
    max_tokens: int | None = None,
    reasoning: str | None = None,
    provider: str | None = None,
) -> ModelSpec:
    """*spec* with those of the settings that are not None."""
    return replace(
        spec,
        temperature=spec.temperature if temperature is None else temperature,
        max_tokens=spec.max_tokens if max_tokens is None else max_tokens,
        reasoning=spec.reasoning if reasoning is None else reasoning,
        provider=spec.provider if provider is None else provider,
    )


def specs_of(typed: str, roster: Roster) -> tuple[ModelSpec, ...]:
    """The subject or subjects that *typed* means. Raises SubjectError."""
    if typed in ("embedded", f"embedded:{EMBEDDED.model}"):
        return (EMBEDDED,)
    specs = roster.find(typed, shipped_subjects())
    if specs[0].endpoint == "embedded":
        raise WrongUse(f"the embedded endpoint has one model, {EMBEDDED.model}; write `embedded`")
    return specs


def lines_before(preview: Preview) -> list[str]:
    """What is about to be done, what it takes and costs, what the store has cost so far, and remarks: one line each."""
    plan, forecast, before = preview.plan, preview.forecast, preview.spent_before
    lines = []
    if plan.runs:
        who = plan.subjects[0].label if len(plan.subjects) == 1 else f"{len(plan.subjects)} subjects"
        where = " + ".join(str(configuration) for configuration in plan.configurations)
        only = f" · only {', '.join(plan.experiments)}" if plan.experiments else ""
        part = f" · part {plan.shard.number} of {plan.shard.of}" if plan.shard else ""
        lines.append(f"{plan.protocol.name} · {label_text(who)} · {plural(plan.runs, 'run')} · {where}{only}{part}")
    if forecast.calls:
        lines.append(forecast_line(forecast))
    if before.attempts:
        lost = f", {before.lost} of them lost in flight" if before.lost else ""
        lines.append(f"the store has cost {money(before.total)} so far in {plural(before.attempts, 'call')}{lost}")
    if forecast.calls and (exam := exam_line(preview.exam)):
        lines.append(f"judge {label_text(plan.judge.label)} · {exam}" if plan.judge else exam)
    return [*lines, *(f"note: {label_text(remark)}" for remark in preview.remarks)]


def forecast_line(forecast: Forecast) -> str:
    """12 calls, about 3,400 tokens, about $0.01; at most 12 calls, where fewer may do."""
    dollars = forecast.dollars
    cost = "price not known" if dollars is None else "free" if dollars == 0 else f"about {money(dollars)}"
    tokens = forecast.prompt_tokens + forecast.completion_tokens
    most = "at most " if forecast.at_most else ""
    return f"{most}{plural(forecast.calls, 'call')}, about {tokens:,} tokens, {cost}"
