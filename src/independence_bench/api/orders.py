"""What is to be played or judged, as the engine takes it: `RunOptions` of what a user names. Sends nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from independence_bench.analysis.results import results_of
from independence_bench.api.named import configurations, experiments_of, not_stored, read_roster
from independence_bench.engine.cost import Forecast
from independence_bench.engine.preview import Preview
from independence_bench.engine.session import EMBEDDED, RunOptions
from independence_bench.errors import WrongUse
from independence_bench.escape import label_text
from independence_bench.models.models_file import shipped_subjects
from independence_bench.models.spec import AUTO, ModelSpec, Reasoning, Roster
from independence_bench.models.trust import Allow
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import Files, load_with_files
from independence_bench.report.exam_words import exam_line
from independence_bench.report.format import money, plural
from independence_bench.store import registry
from independence_bench.store.database import Store

NO_EFFORT = "none"  # the published labels' word for off
EFFORTS = (*(effort.value for effort in Reasoning), NO_EFFORT, AUTO)


def run_options(
    models: Sequence[str],
    *,
    every: bool,
    models_file: Path | None,
    local_url: str | None,
    local_model: Sequence[str],
    protocol: str,
    experiments: Sequence[str],
    variants: Sequence[str],
    modes: Sequence[str],
    runs: int | None,
    reasoning_effort: str | None,
    judge: str | None,
    no_judge: bool,
    again: bool,
    allow: Allow,
    **settings: Any,
) -> RunOptions:
    """What is to be played and judged; *settings* are those of every subject. Raises WrongUse, and what files raise.

    Without *models* it is the active subjects of models.yaml, or with *every* else those of our list.
    """
    loaded, files = load_with_files(protocol)
    roster = read_roster(models_file, local_url)
    if local_model and not local_url:
        raise WrongUse("--local-model needs --local-url, e.g. --local-url http://localhost:8080/v1")
    typed = [*dict.fromkeys(models), *(f"local:{name}" for name in local_model)]
    settings["reasoning"] = Reasoning.OFF.value if reasoning_effort == NO_EFFORT else reasoning_effort
    changes = {name: value for name, value in settings.items() if value is not None}
    return RunOptions(
        protocol=loaded,
        files=files,
        roster=roster,
        judge=None if no_judge else judge or loaded.judge.model,
        configurations=configurations(loaded, variants, modes),
        specs=tuple(replace(spec, **changes) for spec in _specs(typed, every, roster)),
        runs=runs or loaded.runs,
        again=again,
        experiments=experiments_of(loaded, experiments),
        allow=allow,
        unnamed=not typed and not roster.specs,
    )


def judge_options(
    store: Store,
    protocol: Protocol,
    files: Files,
    roster: Roster,
    allow: Allow,
    variants: Sequence[str] = (),
    modes: Sequence[str] = (),
) -> RunOptions:
    """What is stored of *protocol*, to be judged; its judge is still to be named.

    Without *variants* and *modes* the protocol's own configurations; where only others were played, these. Raises
    WrongUse where conversations are stored, and none in what was named.
    """
    where = configurations(protocol, variants, modes)
    with store.reading() as connection:
        subjects = tuple(registry.stored_subjects(connection).values())
        every = [one.configuration for of in results_of(connection, protocol) for one in of.conversations]
    played = tuple(dict.fromkeys(every))
    if played and not set(played) & set(where):
        if variants or modes:
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
        allow=allow,
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
