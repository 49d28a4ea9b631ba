"""The tasks, scorer and metrics that Inspect finds under the prefix `independence_bench/`, the
entry point of pyproject.toml.

`inspect eval independence_bench/v2`: each protocol is a task. A sample is one scenario, or one item
with all its branches, in one configuration; an epoch is a run.

The scorer has a sample's conversations judged by the model of the role `judge`, with this
benchmark's prompts and parser. It reads the conversations from the sample's store, so `inspect
score` judges a log again, with any judge.

The Independence Index and its parts are metrics over all runs, made from the marks of every sample.
A score has its marks as its value, and its run and place in its metadata; a sample's metadata has
the plan. Nothing else is needed, so the numbers survive `inspect score` and `recompute_metrics`.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from math import nan

from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import RegistryInfo, registry_add, registry_info
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import span

from independence_bench import __version__
from independence_bench.analysis.uncertainty import measure_board
from independence_bench.errors import BenchError
from independence_bench.integrations.inspect.rows import (
    KEY,
    Rows,
    join_rows,
    make_call_rows,
    make_judgement_rows,
    make_model_rows,
)
from independence_bench.integrations.inspect.samples import (
    PLAN,
    ROLE,
    RUN,
    SCORER,
    SLOT,
    choose_configurations,
    encode_protocol_source,
    make_inspect_name,
    make_judging_input,
    make_log_header,
    make_sample_id,
    make_sample_metadata,
    read_protocol_source,
    read_scoring_plan,
    score_sample,
)
from independence_bench.integrations.inspect.solver import (
    ask_model,
    conversations,
    make_chat_messages,
    make_chat_model,
    make_registry_name,
)
from independence_bench.judging.judge import read_judge_reply
from independence_bench.judging.output import NoVerdict
from independence_bench.judging.prompt import JudgingInput, make_judge_request, make_retry_request
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.definition import Configuration, Protocol
from independence_bench.protocol.plan import build_messages, start_scenario
from independence_bench.protocol.scoring import Marks, Slot, SubjectScore, score_model_runs
from independence_bench.store.results import Judgement

__all__ = [
    "conversations",
    "dimensions",
    "independence",
    "independence_index",
    "index_interval",
    "lite",
    "own",
    "v1",
    "v2",
]


Several = str | list[str] | None


@task(name=make_registry_name("v1"))
def v1(variants: Several = None, modes: Several = None) -> Task:
    """Return the Inspect task that plays protocol v1.

    *variants*, *modes*: the system prompts and delivery modes to play, separated by commas; None:
    the protocol's own.
    """
    return make_task("v1", variants, modes)


@task(name=make_registry_name("lite"))
def lite(variants: Several = None, modes: Several = None) -> Task:
    """Return the Inspect task that plays the protocol lite. *variants*, *modes*: the system prompts
    and delivery modes to play, separated by commas; None: the protocol's own.
    """
    return make_task("lite", variants, modes)


@task(name=make_registry_name("v2"))
def v2(variants: Several = None, modes: Several = None) -> Task:
    """Return the Inspect task that plays protocol v2. *variants*, *modes*: the system prompts and
    delivery modes to play, separated by commas; None: the protocol's own.
    """
    return make_task("v2", variants, modes)


@task(name=make_registry_name("own"))
def own(protocol: str, variants: Several = None, modes: Several = None) -> Task:
    """Return the Inspect task that plays a protocol of the user's own: *protocol* is a folder, or
    the sheet of a character (a YAML file). *variants*, *modes*: the system prompts and delivery
    modes to play.
    """
    return make_task(protocol, variants, modes)


def make_task(source: str, variants: Several, modes: Several) -> Task:
    """Return the Inspect task that plays the protocol *source* in each system prompt of *variants*
    and each delivery mode of *modes*; None: the protocol's own.

    Raises PrerequisiteError, which Inspect prints as one line, for an unknown name.
    """
    try:
        protocol, files = read_protocol_source(source)
        configurations = choose_configurations(protocol, variants, modes)
    except BenchError as error:
        raise PrerequisiteError(str(error)) from None
    kept = encode_protocol_source(protocol, files)
    samples = [
        make_dataset_sample(protocol, one, item.id, configurations)
        for one in configurations
        for item in protocol.every_item
    ]
    return Task(
        dataset=MemoryDataset(samples, name=protocol.name),
        solver=conversations(kept),
        scorer=independence(kept),
        epochs=Epochs(protocol.runs),
        metadata=make_log_header(protocol, files),
        version=__version__,
    )


def make_dataset_sample(
    protocol: Protocol,
    configuration: Configuration,
    item_id: str,
    configurations: tuple[Configuration, ...],
) -> Sample:
    """Return the Inspect sample of one item (a scenario, or all branches of an item) in
    *configuration*. Its input is the messages that begin its first conversation.
    """
    about = make_sample_metadata(protocol, configuration, item_id, configurations)
    begun = start_scenario(protocol, configuration, protocol.find_scenario(about["scenarios"][0]))
    shown = build_messages(begun.transcript, configuration.delivery, protocol)
    return Sample(
        id=make_sample_id(configuration, item_id, configurations),
        input=make_chat_messages(shown),
        metadata=about,
    )


@metric(name=make_registry_name("independence_index"), scores="unreduced")
def independence_index() -> Metric:
    """Return a metric of Inspect: the Independence Index over all runs, 0 to 100; NaN if a planned
    mark is missing.
    """

    def measure_index(scores: list[SampleScore]) -> Value:
        subject_scores = score_samples(scores)
        return (
            nan if subject_scores is None or subject_scores.index is None else subject_scores.index
        )

    return measure_index


@metric(name=make_registry_name("dimensions"), scores="unreduced")
def dimensions() -> Metric:
    """Return a metric of Inspect: the score of each dimension over all runs, 0 to 1, where 1 is the
    most independent; NaN if a planned mark is missing.
    """

    def measure_dimensions(scores: list[SampleScore]) -> Value:
        subject_scores = score_samples(scores)
        return (
            {
                name: nan if value is None else value
                for name, value in subject_scores.dimensions.items()
            }
            if subject_scores
            else {}
        )

    return measure_dimensions


@metric(name=make_registry_name("index_interval"), scores="unreduced")
def index_interval() -> Metric:
    """Return a metric of Inspect: the ends of the 95% interval of the Independence Index for the
    same test again; empty if there is no interval (docs/reading-results.md).

    A leaderboard measures its models together, from more data, so its interval can differ.
    """

    def measure_interval(scores: list[SampleScore]) -> Value:
        subject_scores = score_samples(scores)
        if subject_scores is None or subject_scores.index is None:
            return {}
        protocol, configurations, marks = _read_plan_and_marks(scores)
        (row,) = measure_board(protocol, configurations, [marks]).list_row_uncertainties()
        interval = row.index.rerun
        return {} if interval is None else {"index_low": interval.low, "index_high": interval.high}

    return measure_interval


def score_samples(scores: Sequence[SampleScore]) -> SubjectScore | None:
    """Return the index and dimension scores of one model over all runs in *scores*, which are
    scores of Inspect samples; None if *scores* is empty.
    """
    if not scores:
        return None
    return score_model_runs(*_read_plan_and_marks(scores))[1]


def _read_plan_and_marks(
    scores: Sequence[SampleScore],
) -> tuple[Protocol, tuple[Configuration, ...], dict[int, dict[Slot, Marks]]]:
    plans = [sample.sample_metadata[PLAN] for sample in scores if sample.sample_metadata]
    if any(plan != plans[0] for plan in plans):
        raise ValueError(
            "samples of several protocols have no index together; score each log by itself"
        )
    protocol, configurations = read_scoring_plan(plans[0])
    marks: dict[int, dict[Slot, Marks]] = defaultdict(dict)
    for sample in scores:
        place = (sample.score.metadata or {})[KEY]
        system, delivery, item_id = place[SLOT]
        marks[place[RUN]][Configuration(system, delivery), item_id] = dict(sample.score.as_dict())
    return protocol, configurations, dict(sorted(marks.items()))


@scorer(
    metrics=[independence_index(), dimensions(), index_interval()], name=make_registry_name(SCORER)
)
def independence(protocol: str | None = None) -> Scorer:
    """Return an Inspect scorer that has a sample's conversations judged and gives the marks of a
    scenario, or the score of an item.

    *protocol*: the protocol that was played, as a task takes it, or all of its files; None: the
    shipped one that the log names.
    """
    # key -> its judgement, so that nothing is judged twice
    judged: dict[str, tuple[Judgement, Rows]] = {}
    asking: dict[str, asyncio.Lock] = {}

    async def score(state: TaskState, target: Target) -> Score:
        del target
        loaded, _ = read_protocol_source(protocol or state.metadata["protocol"])
        if state.metadata["protocol_hash"] != loaded.hash:
            raise BenchError(
                f"{loaded.name} is not what was played; say -S protocol=FOLDER with what was"
            )
        model = get_model(
            role=ROLE, default=make_inspect_name(loaded.judge.endpoint, loaded.judge.model)
        )
        default = loaded.judge
        judge = make_chat_model(model, model.config, default.temperature, default.max_tokens)
        parts = [make_model_rows("judges", judge)]
        given: dict[str, Judgement] = {}
        for row in state.store.get(KEY, {}).get("transcripts", []):
            case = make_judging_input(loaded, row)
            if case is None:
                continue
            key = case.make_key(judge.hash)
            async with asking.setdefault(key, asyncio.Lock()):
                if key not in judged:
                    async with span(case.scenario.branch or case.scenario.id):
                        judged[key] = await _judge_case(model, judge, case)
            given[row["id"]], rows = judged[key]
            parts.append(rows)
        marks = score_sample(
            loaded, state.metadata, state.epoch, state.store.get(KEY, {}), given, join_rows(parts)
        )
        return Score(
            value=marks.value,
            explanation=marks.explanation,
            reason=marks.reason,
            metadata=marks.metadata,
        )

    return score


# a log names a scorer without its prefix, and `inspect score` looks for that name
registry_add(
    independence,
    RegistryInfo(type="scorer", name=SCORER, metadata=registry_info(independence).metadata),
)


async def _judge_case(model: Model, judge: ChatModel, case: JudgingInput) -> tuple[Judgement, Rows]:
    made = partial(case.make_judgement, judge.hash)
    request = make_judge_request(case, judge)
    outcome = await ask_model(
        model,
        request,
        lambda completion: read_judge_reply(completion, case, made),
        lambda reason: made(NoVerdict(reason)),
        partial(make_retry_request, case, request),
    )
    judgement = outcome.answer
    rows = join_rows(
        [
            make_call_rows(judgement.key, "judgement", judge, outcome.tried),
            make_judgement_rows(judgement, outcome.attempt, time.time()),
        ]
    )
    return judgement, rows
