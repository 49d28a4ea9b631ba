"""What a plan will send and cost, and what its models are known not to support: said before anything is sent.

Reads the store and the endpoints' lists; asks no model. Prints nothing.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

from independence_bench.analysis.exam.boards import BoardExam, examined_judges
from independence_bench.analysis.health import day_and_hour
from independence_bench.engine.cost import Estimate, Forecast, estimate
from independence_bench.engine.pending import find_pending, usual_replies
from independence_bench.engine.run import RunPlan, Session
from independence_bench.judging.judge import ModelJudge
from independence_bench.models.resolve import takes_temperature
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import OWN_TEMPERATURE, PYTHON, ChatModel
from independence_bench.store import attempts, usage


@dataclass(frozen=True, slots=True)
class Preview:
    """What a command will send and cost, shown before anything is sent."""

    plan: RunPlan
    forecast: Forecast
    spent_before: attempts.Spending
    remarks: tuple[str, ...]  # limits of the forecast and of the budget
    estimates: tuple[Estimate, ...] = ()  # of which the forecast is the sum, subject by subject
    exam: BoardExam | None = None  # what the exam says of the plan's judge; None: nobody judges


async def preview_of(plan: RunPlan, session: Session) -> Preview:
    """What *plan* will take, beside what the store has cost so far."""
    models = [*plan.subjects] if plan.runs else []
    judge = plan.judge.model if isinstance(plan.judge, ModelJudge) else None
    if judge is not None:
        models.append(judge)
    clients, bounded = session.clients, session.budget.limit is not None
    infos = {model: await clients[model.endpoint].info(model.model) for model in models}
    free = {model for model in infos if clients[model.endpoint].endpoint.free}
    prices = infos | {model: ModelInfo(model.model, 0.0, 0.0) for model in free}
    estimates = []
    with session.store.reading() as connection:
        kept = {
            model: price
            for model, info in prices.items()
            if info.most(1, 1) is None and (price := usage.last_price(connection, model.endpoint, model.model))
        }
        prices |= {model: ModelInfo(model.model, *astuple(price)) for model, (price, _) in kept.items()}
        spent = attempts.spending(connection)
        verdicts = usage.verdict_tokens(connection, judge.hash) if judge else {}
        exam = examined_judges(connection, plan.protocol, plan.judge).exam_of([plan.judge.hash]) if plan.judge else None
        for subject in plan.subjects:
            pending = find_pending(connection, plan, subject)
            usual = usual_replies(connection, subject, pending)
            estimates.append(
                estimate(plan.protocol, subject, pending.to_play, pending.to_judge, judge, usual, verdicts, prices)
            )
    remarks = [*plan.left_out]
    remarks += [f"without its list: {client.unlisted}" for client in clients.values() if client.unlisted]
    for model, info in infos.items():
        remarks += _remarks(plan, model, info, model in free or model in kept, bounded)
    for model, (_, then) in kept.items():
        remarks.append(f"the price of {model.name} is what its endpoint listed on {day_and_hour(then)}")
    whole = sum((one.whole for one in estimates), Forecast())
    if sum(one.judge.calls > 0 for one in estimates) > 1:
        whole = replace(whole, at_most=True)  # subjects that say the same are judged once
    return Preview(plan, whole, spent, tuple(remarks), tuple(estimates), exam)


def _remarks(plan: RunPlan, model: ChatModel, info: ModelInfo, free: bool, bounded: bool) -> list[str]:
    """Remarks on *model*: what its endpoint's list does not support, and prices that are not known."""
    said = []
    if not free and info.most(1, 1) is None:
        so = "; the budget counts what its replies say they cost, one call at a time until one has" if bounded else ""
        said.append(f"the price of {model.name} is not known: --price IN OUT sets it{so}")
    if model.endpoint == "local" and not info.identity:
        said.append(f"{model.name} is known by its name only: after putting other weights behind it, use another store")
    if info.always_reasons:
        said.append(f"{model.name} cannot be told not to reason: it is called with effort {model.reasoning}")
    if model.endpoint == PYTHON:
        said.append(f"{model.name} is your own code: what it spends itself is not counted, and no budget limits it")
    if info.parameters is None or model.endpoint == "embedded":
        return said
    if not takes_temperature(info):
        own = model.temperature == OWN_TEMPERATURE
        so = "it is called with 1" if own else f"its label says {model.temperature:g}, but it may ignore that"
        said.append(f"{model.name} does not list temperature: {so}")
    if model.thinks and "reasoning" not in info.parameters:
        said.append(f"{model.name} does not list reasoning: it may not reason, despite its label")
    in_tool_role = any(configuration.delivery == "tool_role" for configuration in plan.configurations)
    if model in plan.subjects and in_tool_role and "tools" not in info.parameters:
        said.append(f"{model.name} does not list tools: tool_role may be refused; --delivery user_role needs none")
    return said
