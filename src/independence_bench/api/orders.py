"""What a user asks for, by command line or from Python, as the engine takes it: orders made into
`RunOptions`.

Asks no endpoint and sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from independence_bench.analysis.results import results_of
from independence_bench.api.named import (
    configurations,
    experiments_of,
    not_stored,
    read_roster,
    stored_subjects,
    weighed,
)
from independence_bench.engine.preview import Estimate, Forecast, Preview
from independence_bench.engine.session import Limits, RunOptions, as_file
from independence_bench.errors import NoSubject, WrongUse
from independence_bench.escape import label_text, name_text
from independence_bench.figures import money, plural
from independence_bench.models.endpoints import shipped_subjects
from independence_bench.models.local import NAME
from independence_bench.models.local.files import SMOLLM2
from independence_bench.models.spec import AUTO, GGUF, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import Allow
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, load_with_files
from independence_bench.protocol.plan import Shard
from independence_bench.store import registry
from independence_bench.store.database import Store

NO_EFFORT = "none"  # the published labels' word for off
EFFORTS = (
    *(effort.value for effort in Reasoning if effort is not Reasoning.UNSET),
    NO_EFFORT,
    AUTO,
)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a user asks to have played and judged, by the names that they use; what they leave open
    is None, or ().
    """

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
        return [
            *dict.fromkeys(name.strip() for name in (*self.models, *self.listed)),
            *(f"local:{name.strip()}" for name in self.local_model),
        ]


def run_options(
    order: RunOrder, allow: Allow, limits: Limits, shard: Shard | None = None
) -> RunOptions:
    """What is to be played and judged. Raises WrongUse, and what files raise.

    Without named models it is the active subjects of models.yaml, or with *every* else those of our
    list. Where no judge is named it is the protocol's; of the embedded model by itself, the
    embedded one, so that no key is needed.
    """
    loaded, files = load_with_files(order.protocol)
    roster = read_roster(order.models_file, order.local_url)
    if order.local_model and not order.local_url:
        raise WrongUse("--local-model needs --local-url, e.g. --local-url http://localhost:8080/v1")
    effort = Reasoning.OFF.value if order.reasoning_effort == NO_EFFORT else order.reasoning_effort
    specs = _specs(order.named, order.every, roster)
    judge = order.judge or (NAME if order.named == [NAME] else loaded.judge.model)
    return RunOptions(
        protocol=weighed(loaded, order.weights),
        files=files,
        roster=roster,
        judge=None if order.no_judge else judge,
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
    models: Sequence[str] = (),
    experiments: Sequence[str] = (),
) -> RunOptions:
    """What is stored of *protocol*, to be judged; its judge is still to be named.

    Without *variants* and *delivery* the protocol's own configurations; where only others were
    played, these. *models* and *experiments*: only those; none named: all. Raises WrongUse where
    conversations are stored, and none in what was named, and for a name that fits nothing.
    """
    where = configurations(protocol, variants, delivery)
    named = stored_subjects(store, protocol, models) if models else None
    with store.reading() as connection:
        subjects = tuple(named or registry.stored_subjects(connection).values())
        every = [
            one.configuration for of in results_of(connection, protocol) for one in of.conversations
        ]
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
        experiments=experiments_of(protocol, experiments),
        allow=allow,
        shard=shard,
    )


def _specs(typed: Sequence[str], every: bool, roster: Roster) -> list[ModelSpec]:
    """The subjects that were named; without a name those of models.yaml, or with --all else those
    of our list.
    """
    if typed and every:
        raise WrongUse("--all means every subject: leave out the models, or --all")
    if typed:
        return [spec for name in typed for spec in specs_of(name, roster)]
    listed = roster.specs or (shipped_subjects() if every else ())
    specs = [spec for spec in listed if spec.active]
    if not specs:
        raise NoSubject(
            "no subject: name a model (`aib run embedded`), list some in models.yaml, or say --all"
        )
    return specs


def with_settings(
    spec: ModelSpec,
    temperature: float | None,
    max_tokens: int | None,
    reasoning: str | None,
    provider: str | None = None,
) -> ModelSpec:
    """*spec* with those of the settings that are not None, which a user has asked for then."""
    said = {"temperature": temperature, "effort": reasoning}
    asked_for = {name for name, value in said.items() if value is not None}
    return replace(
        spec,
        asked_for=spec.asked_for | asked_for,
        temperature=spec.temperature if temperature is None else temperature,
        max_tokens=spec.max_tokens if max_tokens is None else max_tokens,
        reasoning=spec.reasoning if reasoning is None else reasoning,
        provider=spec.provider if provider is None else provider,
    )


def specs_of(typed: str, roster: Roster) -> tuple[ModelSpec, ...]:
    """The subject or subjects that *typed* means. Raises SubjectError."""
    model = f"{GGUF}:{SMOLLM2}" if typed.strip() == NAME else typed
    specs = roster.find(model, shipped_subjects())
    return tuple(as_file(spec) if spec.endpoint == GGUF else spec for spec in specs)


def lines_before(preview: Preview, takes: str = "") -> list[str]:
    """What is about to be done, what it takes and costs, what the store has cost so far, and
    remarks: one line each.

    *takes*: in place of what is said of its cost.
    """
    plan, forecast, before = preview.plan, preview.forecast, preview.spent_before
    lines = []
    if plan.runs:
        who = (
            plan.subjects[0].label if len(plan.subjects) == 1 else f"{len(plan.subjects)} subjects"
        )
        where = " + ".join(str(configuration) for configuration in plan.configurations)
        only = f" · only {', '.join(plan.experiments)}" if plan.experiments else ""
        part = f" · part {plan.shard.number} of {plan.shard.of}" if plan.shard else ""
        lines.append(
            f"{plan.protocol.name} · {name_text(who)} · {plural(plan.runs, 'run')} · "
            f"{where}{only}{part}"
        )
    if forecast.calls:
        lines.append(takes or forecast_line(forecast))
    if before.attempts:
        lost = f", {before.lost} of them lost in flight" if before.lost else ""
        lines.append(
            f"the store has cost {money(before.total)} so far in "
            f"{plural(before.attempts, 'call')}{lost}"
        )
    if forecast.calls and (exam := (preview.exam.line if preview.exam else None)):
        lines.append(f"judge {name_text(plan.judge.label)} · {exam}" if plan.judge else exam)
    return [*lines, *(f"note: {label_text(remark)}" for remark in preview.remarks)]


def forecast_of_all(previews: Sequence[Preview]) -> str:
    """What all of *previews* take together, in one line: the range of its cost, and what a cache
    could save.
    """
    whole = sum((one for preview in previews for one in preview.estimates), Estimate())
    forecast = sum((preview.forecast for preview in previews), Forecast(at_most=len(previews) > 1))
    line = forecast_line(forecast)
    if forecast.dollars and whole.low is not None and whole.high is not None:
        line += f" ({money(whole.low)} to {money(whole.high)})"
    if forecast.prompt_tokens and any(preview.plan.protocol.earlier for preview in previews):
        share = forecast.repeated_tokens / forecast.prompt_tokens
        line += (
            f"; {share:.0%} of what is sent repeats an earlier request, which is cheaper where "
            "it is cached"
        )
        if (
            forecast.cached_dollars
            and forecast.dollars
            and forecast.cached_dollars < forecast.dollars
        ):
            line += f": {money(forecast.cached_dollars)} at best"
    return line


def forecast_line(forecast: Forecast) -> str:
    """12 calls, about 3,400 tokens, about $0.01; at most 12 calls, where fewer may do."""
    dollars = forecast.dollars
    cost = (
        "price not known"
        if dollars is None
        else "free"
        if dollars == 0
        else f"about {money(dollars)}"
    )
    tokens = forecast.prompt_tokens + forecast.completion_tokens
    most = "at most " if forecast.at_most else ""
    return f"{most}{plural(forecast.calls, 'call')}, about {tokens:,} tokens, {cost}"
