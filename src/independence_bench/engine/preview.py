"""Forecasts what a run will send and cost, and lists what its models are known not to support. It
is shown before anything is sent.

The words of the scripts are counted. The length of replies and judgements is that of the same or
similar subjects in this store, else what a typical model needs according to the protocol.
Reads the store and the endpoints' lists; asks no model. Prints nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from sqlalchemy import Connection

from independence_bench.analysis.exam.standing import BoardExam, read_examined_judges
from independence_bench.analysis.health import format_utc_day_and_minute
from independence_bench.calls.budget import CHARACTERS_A_TOKEN, PROMPT_OVERHEAD
from independence_bench.engine.run import Session
from independence_bench.engine.session import (
    estimate_opening_tokens,
    find_pending,
    list_model_remarks,
)
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.prompt import JudgingInput, hash_planned_rubric, make_judge_request
from independence_bench.models.endpoints import Dialect, find_relative_reply_tokens
from independence_bench.models.messages import BYTES_A_TOKEN, ChatRequest, Measured
from independence_bench.models.response import ModelInfo
from independence_bench.models.spec import ChatModel
from independence_bench.protocol.conversation import Words
from independence_bench.protocol.definition import Configuration, Protocol, Scenario
from independence_bench.protocol.plan import (
    Job,
    build_request,
    find_jobs_with_paid_opening,
    is_next_reply_shared,
    start_scenario,
)
from independence_bench.store import attempts, tokens, usage
from independence_bench.store.tokens import Used, UsualReplies, UsualUse, average_use

# From a hundred published subjects (half of them thinking, at low effort) and their 5,307
# judgements. What a typical one needs for a reply the scenarios say; between the tenth of subjects
# that takes the least and the tenth that takes the most lies the range.
THOUGHT_TOKENS = 160  # on top of a reply, when told to think
VERDICT_TOKENS = 150  # of three marks
MARK_TOKENS = 12  # of each further one
RANGE = (0.7, 2.0)  # a subject's completions, as a share of what is expected
RANGE_THINKING = (0.45, 1.55)
# from the shortest of three small models to the longest tenth of published subjects
RANGE_CHARACTER = (0.3, 5.0)
RANGE_AGAIN = (0.9, 1.1)  # a run's, as a share of its own subject's mean
RANGE_PILOT = (0.7, 1.65)  # all of a subject's, as a share of what one of its scenarios lets expect
RANGE_VERDICT = (0.8, 1.25)
# of one whose `verbosity` is known, in scenarios that it is not known from
RANGE_KNOWN = (0.7, 1.35)


def _average_branch_reply_tokens(
    usual: UsualReplies, protocol: Protocol
) -> Mapping[tuple[str, int], Used]:
    """Return (branch of an item, position of a reply from 0) -> mean tokens of the replies at that
    position in the items that were played, prompts left out. They are separate by branch and
    position because a pressure turn is answered in fewer words than a question. Empty for a
    protocol without items.
    """
    heard: dict[tuple[str, int], list[Used]] = defaultdict(list)
    for id_, replies in usual.by_scenario.items():
        if branch := protocol.find_scenario(id_).branch:
            for turn, used in enumerate(replies):
                heard[branch, turn].append(replace(used, prompt=0.0))
    return {place: average_use(used) for place, used in heard.items()}


def estimate_typical_reply(subject: ChatModel, scenario: Scenario) -> Used:
    """Estimate the tokens of one reply in *scenario*: those of a typical model, adjusted if it is
    known how verbose *subject* is, and at most the token limit of *subject*. Prompt tokens are 0.
    """
    taken, said = find_relative_reply_tokens(subject) or (1.0, 1.0)
    words, most = scenario.reply_tokens, subject.most_tokens
    return Used(
        0, min(taken * (words + THOUGHT_TOKENS * subject.may_think), most), min(said * words, most)
    )


def compute_judgement_length_ratio(
    verdicts: Mapping[str, float], protocol: Protocol, configurations: Iterable[Configuration]
) -> float:
    """Return how many times as long, in tokens, as a typical judge's a judge's stored judgements
    are; 1 if none is stored. *verdicts*: rubric's hash -> mean completion tokens of the judge's
    judgements by that rubric.
    """
    if not verdicts:
        return 1.0
    known = [
        (taken, estimate_verdict_tokens(scenario))
        for way in configurations
        for scenario in protocol.scenarios
        if (taken := verdicts.get(hash_planned_rubric(protocol, way, scenario))) is not None
    ]
    return sum(taken for taken, _ in known) / sum(typical for _, typical in known) if known else 1.0


def scale_typical_reply(
    typical: Used, typical_real_pairs: Sequence[tuple[Used, Used]], most: float
) -> Used:
    """Return *typical*, the expected tokens of a reply, multiplied by the ratio of real to typical
    tokens in stored replies to other scenarios.

    *typical_real_pairs*: pairs (typical tokens, real tokens), one for each of the stored replies;
    if it is empty, *typical* is returned. *most*: the token limit of a reply.
    """
    if not typical_real_pairs:
        return typical
    completion = sum(used.completion for _, used in typical_real_pairs) / sum(
        usual.completion for usual, _ in typical_real_pairs
    )
    words = sum(used.said for _, used in typical_real_pairs) / sum(
        usual.said for usual, _ in typical_real_pairs
    )
    return Used(0, min(typical.completion * completion, most), min(typical.said * words, most))


def estimate_verdict_tokens(scenario: Scenario) -> float:
    """Estimate how many tokens a typical judge writes in its judgement of one conversation of
    *scenario*.
    """
    return VERDICT_TOKENS + MARK_TOKENS * (len(scenario.marks) - 3)


@dataclass(frozen=True, slots=True)
class Preview:
    """The forecast of what a command will send and cost, shown before anything is sent."""

    # `asyncio.run` writes down what it returns, and this has all of a protocol
    session: Session = field(repr=False)
    forecast: Forecast
    spent_before: attempts.Spending
    remarks: tuple[str, ...]  # limits of the forecast and of the budget
    estimates: tuple[Estimate, ...] = ()  # one a subject; *forecast* is their sum
    exam: BoardExam | None = None  # the exam of the session's judge; None: no judge


async def make_preview(
    session: Session, forecast_judgements: set[tuple[str, str]] | None = None
) -> Preview:
    """Return a forecast of the calls, tokens and dollars that are left of *session*, with what the
    store has cost so far and remarks on the models. Reads the store and the endpoints' lists of
    models; asks no model.

    *forecast_judgements*: (hash of the words, hash of the rubric) of each judgement that earlier
    sessions of the same command will have made, which is not counted again; the judgements of this
    session are added to the set.
    """
    judging = set() if forecast_judgements is None else forecast_judgements
    bounded = session.budget.limit is not None
    infos = await _read_model_infos(session)
    estimates = []
    with session.store.open_snapshot() as connection:
        foresight = Foresight.load_foresight(connection, session, infos)
        spent = attempts.sum_spending(connection)
        exam = (
            read_examined_judges(connection, session.protocol, session.judge).find_or_make_exam(
                [session.judge.hash]
            )
            if session.judge
            else None
        )
        for subject in session.subjects:
            pending = find_pending(connection, session, subject)
            once = dict(zip(pending.judged_as, pending.to_judge, strict=True))
            pending.to_judge = [job for key, job in once.items() if key not in judging]
            judging.update(once)
            estimates.append(foresight.estimate_subject(subject, pending.to_play, pending.to_judge))
    free, kept, clients = foresight.free, foresight.kept, session.clients
    remarks = [*session.notes]
    remarks += [
        f"the list of models was not read: {client.unlisted}"
        for client in clients.values()
        if client.unlisted
    ]
    unknown = [
        chat_model
        for chat_model, info in infos.items()
        if chat_model not in free | kept.keys() and info.compute_cost(1, 1) is None
    ]
    remarks += list_model_remarks(session, infos, unknown, bounded)
    for model, (_, then) in kept.items():
        listed = format_utc_day_and_minute(then)
        remarks.append(f"the price of {model.name} is what its endpoint listed on {listed}")
    whole = sum((part.model_and_judge_forecast for part in estimates), Forecast())
    if sum(part.judge.calls > 0 for part in estimates) > 1:
        whole = replace(whole, at_most=True)  # subjects that say the same are judged once
    return Preview(session, whole, spent, tuple(remarks), tuple(estimates), exam)


async def _read_model_infos(session: Session) -> dict[ChatModel, ModelInfo]:
    """Return model -> what its endpoint lists about it, such as prices and context length, for
    every model that *session* will ask: the models under test if any run is played, and the judge
    if it is a model.
    """
    models = [*session.subjects] if session.runs else []
    if isinstance(session.judge, ModelJudge):
        models.append(session.judge.model)
    clients = session.clients
    return {model: await clients[model.endpoint].find_model_info(model.model) for model in models}


@dataclass(frozen=True, slots=True)
class ConversationCost:
    """The cost of one conversation, in dollars."""

    expected: float | None  # None: a price is not known
    dearest: float  # at most one of its calls, about; 0 where no price is known


async def estimate_costs_by_script(
    session: Session, pending: Mapping[ChatModel, tuple[list[Job], list[Job]]]
) -> dict[tuple[str, str, bool], ConversationCost]:
    """Estimate the cost in dollars of each conversation that is left: (model's hash, script's hash,
    whether it is only judged) -> its expected cost and that of its dearest call.

    *pending*: for each model under test, the jobs that are left to play and those that are left to
    judge.
    """
    infos = await _read_model_infos(session)
    costs: dict[tuple[str, str, bool], ConversationCost] = {}
    with session.store.open_snapshot() as connection:
        foresight = Foresight.load_foresight(connection, session, infos)
        for subject, (to_play, to_judge) in pending.items():
            usual = foresight.find_usual_replies(subject, (*to_play, *to_judge))
            for jobs, judged_only in ((to_play, False), (to_judge, True)):
                for job in {job.script_hash: job for job in jobs}.values():
                    parts = ([], [job]) if judged_only else ([job], [])
                    estimate = foresight.estimate_subject(subject, *parts, usual)
                    dearest = max(
                        foresight.find_dearest_call_usd(subject, estimate.candidate),
                        foresight.find_dearest_call_usd(foresight.judge, estimate.judge),
                    )
                    costs[subject.hash, job.script_hash, judged_only] = ConversationCost(
                        estimate.model_and_judge_forecast.dollars, dearest
                    )
    return costs


@dataclass(frozen=True, slots=True)
class Foresight:
    """The data that the calls of *session* are forecast from: prices, and the lengths of earlier
    replies.
    """

    session: Session
    judge: ChatModel | None
    prices: Mapping[ChatModel, ModelInfo]
    free: set[ChatModel]
    # prices that are not listed now, and when they were last
    kept: Mapping[ChatModel, tuple[usage.ListPrice, float]]
    verdicts: Mapping[str, float]
    judge_bytes: float
    usually: UsualUse
    connection: Connection
    sizes: dict[str, ScriptSizes] = field(default_factory=dict)

    @classmethod
    def load_foresight(
        cls,
        connection: Connection,
        session: Session,
        infos: Mapping[ChatModel, ModelInfo],
    ) -> Foresight:
        """Return the data that the calls of *session* are forecast from: prices, and the lengths of
        earlier replies and judgements in the store. *infos* is what the endpoints list about the
        models.
        """
        judge = session.judge.model if isinstance(session.judge, ModelJudge) else None
        free = {model for model in infos if session.clients[model.endpoint].endpoint.free}
        prices = {**infos, **{model: ModelInfo(model.model, 0.0, 0.0) for model in free}}
        kept = {
            model: price
            for model, info in prices.items()
            if info.compute_cost(1, 1) is None
            and (price := usage.find_last_price(connection, model.endpoint, model.model))
        }
        prices |= {
            model: ModelInfo(model.model, *astuple(price)) for model, (price, _) in kept.items()
        }
        ways = session.configurations
        hashes = {
            hash_planned_rubric(session.protocol, way, one)
            for way in ways
            for one in session.protocol.scenarios
        }
        judge_bytes = (
            tokens.measure_judge_bytes_per_token(connection, judge.hash, hashes) if judge else None
        )
        return cls(
            session,
            judge,
            prices,
            free,
            kept,
            tokens.average_completion_tokens_by_rubric(connection, judge.hash) if judge else {},
            judge_bytes or BYTES_A_TOKEN,
            UsualUse(connection, session.protocol, ways),
            connection,
        )

    def find_usual_replies(self, subject: ChatModel, jobs: Sequence[Job]) -> UsualReplies:
        """Return how many tokens the replies of *subject* in *jobs* are expected to take, according
        to the replies in the store; empty if the store has none that are alike.
        """
        ids = [scenario.id for scenario in self.session.protocol.scenarios]
        a_token = (
            tokens.measure_subject_bytes_per_token(self.connection, subject.hash, ids)
            or BYTES_A_TOKEN
        )
        return replace(self.usually.estimate_reply_tokens(subject, jobs), bytes_a_token=a_token)

    def find_dearest_call_usd(self, model: ChatModel | None, forecast: Forecast) -> float:
        """Return the most dollars that a budget reserves for one call of *model*, if all calls of
        *model* are as in *forecast*. 0 without a model, a call or a price.
        """
        if model is None or not forecast.calls:
            return 0.0
        prompt = forecast.prompt_tokens * BYTES_A_TOKEN / CHARACTERS_A_TOKEN + PROMPT_OVERHEAD
        return self.prices[model].compute_cost(prompt, model.max_tokens) or 0.0

    def estimate_subject(
        self,
        subject: ChatModel,
        to_play: Sequence[Job],
        to_judge: Sequence[Job],
        usual: UsualReplies | None = None,
    ) -> Estimate:
        """Estimate the calls, tokens and dollars of playing and judging the jobs *to_play* of the
        model *subject*, and of only judging its jobs *to_judge*. *usual*: the tokens that the
        model's replies are expected to take; None: looked up in the store.
        """
        usual = usual or self.find_usual_replies(subject, (*to_play, *to_judge))
        # none where nothing is played: only judges are asked
        client = self.session.clients.get(subject.endpoint)
        return estimate_jobs(
            self.session.protocol,
            subject,
            to_play,
            to_judge,
            self.judge,
            usual,
            self.verdicts,
            self.judge_bytes,
            self.prices,
            client.dialect if client else None,
            self.sizes,
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected calls, tokens and dollars of some jobs. *dollars* is None if a price is not
    known.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = 0.0
    at_most: bool = False  # some of the calls may turn out not to be needed
    # prompt tokens that an earlier call began with, so a cache may have them
    repeated_tokens: int = 0
    # all dollars, if the endpoint's cache has those; None: no price is known
    cached_dollars: float | None = 0.0
    paid_calls: int = 0  # calls whose price is not 0, or not known

    def __add__(self, other: Forecast) -> Forecast:
        return Forecast(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            add_dollars(self.dollars, other.dollars),
            self.at_most or other.at_most,
            self.repeated_tokens + other.repeated_tokens,
            add_dollars(self.cached_dollars, other.cached_dollars),
            self.paid_calls + other.paid_calls,
        )

    def multiply_forecast(self, number: int) -> Forecast:
        """Return a forecast with *number* times the calls, tokens and dollars of this one; a price
        that is not known stays None.
        """
        dollars = None if self.dollars is None else number * self.dollars
        cached = None if self.cached_dollars is None else number * self.cached_dollars
        tokens = number * self.prompt_tokens, number * self.completion_tokens
        rest = self.at_most, number * self.repeated_tokens, cached, number * self.paid_calls
        return Forecast(number * self.calls, *tokens, dollars, *rest)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected cost of one subject's part of a run, or of several parts, with the judge counted
    separately. None: a price is not known.
    """

    label: str = "all"
    candidate: Forecast = Forecast()
    judge: Forecast = Forecast()
    low: float | None = 0.0  # dollars of both
    high: float | None = 0.0
    usual: UsualReplies = field(default_factory=UsualReplies)

    @property
    def has_no_known_reply(self) -> bool:
        """Whether the model under test has calls to make while none of its own replies is stored,
        so that the length of its replies is not known.
        """
        return self.candidate.calls > 0 and not self.usual.own

    @property
    def model_and_judge_forecast(self) -> Forecast:
        """The summed forecast (calls, tokens, dollars) of the model under test and its judge."""
        return self.candidate + self.judge

    def __add__(self, other: Estimate) -> Estimate:
        candidate, judge = self.candidate + other.candidate, self.judge + other.judge
        return Estimate(
            "all",
            candidate,
            judge,
            add_dollars(self.low, other.low),
            add_dollars(self.high, other.high),
        )


@dataclass(frozen=True, slots=True)
class ScriptSizes:
    """The sizes of what is sent in one script, with its replies left open. They are the same for
    every subject, but for its settings.
    """

    begun: ChatRequest  # the beginning of each of its requests, to some subject
    asked: tuple[tuple[Measured, bool], ...]  # messages; branches share the reply
    judged: Measured | None  # the judge's request; None: no model judges
    told: str  # the hash of what the judge is told besides

    @classmethod
    def measure_script(cls, protocol: Protocol, job: Job, judge: ChatModel | None) -> ScriptSizes:
        """Return the sizes in bytes of all requests, to the model under test and to *judge*, that
        playing and judging the script of *job* takes, with the replies left open.
        """
        configuration, scenario = job.configuration, job.scenario
        places = [f"zq{turn}qz" for turn in range(len(scenario.reply_names))]
        talk, asked = start_scenario(protocol, configuration, scenario), []
        first = sent = build_request(talk, job.subject, configuration, protocol)
        for place in places:
            size = Measured.measure_text(sent.encoded, places)
            asked.append((size, is_next_reply_shared(scenario, talk)))
            talk = talk.add_reply(Words(place))
            sent = build_request(talk, job.subject, configuration, protocol)
        case = JudgingInput(talk.transcript, scenario, protocol.judge_instructions)
        judged = (
            Measured.measure_text(make_judge_request(case, judge).record, places) if judge else None
        )
        begun = replace(first, messages=first.messages[: first.shared])
        return cls(
            begun, tuple(asked), judged, hash_planned_rubric(protocol, configuration, scenario)
        )


def estimate_jobs(
    protocol: Protocol,
    subject: ChatModel,
    to_play: Sequence[Job],
    to_judge: Sequence[Job],
    judge: ChatModel | None,
    usual: UsualReplies,
    verdicts: Mapping[str, float],
    judge_bytes: float,
    prices: Mapping[ChatModel, ModelInfo],
    dialect: Dialect | None,
    sizes: dict[str, ScriptSizes],
) -> Estimate:
    """Estimate the calls, tokens and dollars of playing and judging the jobs *to_play* of the model
    *subject*, and of only judging its jobs *to_judge*; the estimate is empty without jobs.

    *judge*: the model that judges; None: no model is asked for judgements. *usual*: the tokens that
    the replies of *subject* are expected to take. *dialect*: that of the endpoint of *subject*;
    None: nothing is known about its caches. *verdicts*: rubric's hash -> mean completion tokens of
    the judge's judgements by that rubric. *judge_bytes*: bytes of a judge's request that make one
    token.

    *sizes*: measured scripts by hash, for the same protocol and judge; scripts that are measured
    here are added.
    """
    # what is sent in one script is the same in every run that plays it
    alike = Counter((job.script_hash, False) for job in to_play)
    alike.update((job.script_hash, True) for job in to_judge)
    one_of = {job.script_hash: job for job in (*to_play, *to_judge)}
    shared = find_jobs_with_paid_opening(to_play)
    bought = Counter(job.script_hash for job in to_play if job.place not in shared)
    seen = [
        (estimate_typical_reply(subject, protocol.find_scenario(id_)), used)
        for id_, replies in usual.by_scenario.items()
        for used in replies
    ]
    by_turn, bytes_a_token = _average_branch_reply_tokens(usual, protocol), usual.bytes_a_token
    # what was heard in another run, too, is judged once
    twice = judge is not None and any(job.run > 1 for job in (*to_play, *to_judge))
    played, judged = Forecast(), Forecast(at_most=twice)
    # of judged: what was judged at another depth, and is not again if it is said again
    known_words = Forecast()
    quoted = heard = 0.0  # tokens of the subject's own replies in its prompts, and in its judge's
    wordy = compute_judgement_length_ratio(
        verdicts, protocol, {job.configuration for job in one_of.values()}
    )
    begins: dict[Configuration, ChatRequest] = {}
    settings: dict[Configuration, int] = {}  # bytes of a request beside its messages
    for (script, stored), number in alike.items():
        configuration, scenario = one_of[script].configuration, one_of[script].scenario
        known = usual.by_script.get(script)
        expected = scale_typical_reply(
            estimate_typical_reply(subject, scenario), seen, subject.most_tokens
        )
        if (size := sizes.get(script)) is None:
            size = sizes[script] = ScriptSizes.measure_script(protocol, one_of[script], judge)
        if (begun := begins.get(configuration)) is None:
            begun = begins[configuration] = replace(size.begun, model=subject)
            settings[configuration] = len(begun.record.encode()) - len(begun.encoded.encode())
        # an earlier chat and the system prompt begin every conversation, and each request the next
        # one
        before = estimate_opening_tokens(protocol, configuration) * BYTES_A_TOKEN / bytes_a_token
        said, words = 0.0, list[int]()
        for turn, (messages, with_others) in enumerate(size.asked):
            took = known[turn] if known else by_turn.get((scenario.branch or "", turn), expected)
            if not stored:
                prompt = (
                    took.prompt
                    or (messages.count_bytes(words) + settings[configuration]) / bytes_a_token
                )
                repeated = (
                    dialect.count_cacheable_tokens(begun, min(before, prompt)) if dialect else 0.0
                )
                call, before = (
                    _forecast_call(prompt, took.completion, prices[subject], repeated),
                    prompt,
                )
                times = bought[script] if with_others else number
                played, quoted = played + call.multiply_forecast(times), quoted + said * times
            said += took.said
            words.append(int(took.said * bytes_a_token))
        if judge is not None and size.judged is not None:
            written = verdicts.get(size.told, estimate_verdict_tokens(scenario) * wordy)
            call = _forecast_call(
                size.judged.count_bytes(words) / judge_bytes, written, prices[judge]
            ).multiply_forecast(number)
            judged += call
            if usual.own and size.told in verdicts and known and not known[0].prompt:
                known_words += call
            heard += said * number
    spread = _find_completion_share_range(subject, protocol, usual, len(one_of))
    low, high = (
        add_dollars(
            _vary_dollars(played, share, subject, prices, (share - 1) * quoted),
            _vary_dollars(judged, of_verdict, judge, prices, (share - 1) * heard),
        )
        for share, of_verdict in zip(
            spread, RANGE_AGAIN if verdicts else RANGE_VERDICT, strict=True
        )
    )
    if low is not None and played.cached_dollars is not None:  # where the cache holds
        low = max(
            low - ((played.dollars or 0.0) - played.cached_dollars + (known_words.dollars or 0.0)),
            0.0,
        )
    return Estimate(subject.label, played, judged, low, high, usual)


def _find_completion_share_range(
    subject: ChatModel, protocol: Protocol, usual: UsualReplies, scripts: int
) -> tuple[float, float]:
    """Return (low, high): the fewest and the most completion tokens that *subject* is likely to
    take, as shares of the expected number. *usual*: its expected tokens, and which replies they are
    taken from; *scripts*: how many scripts are left to play or judge.
    """
    if usual.own:
        return RANGE_AGAIN if len(usual.by_script) == scripts else RANGE_PILOT
    if usual.published:
        return RANGE_KNOWN
    return RANGE_THINKING if subject.may_think else RANGE_CHARACTER if protocol.kinds else RANGE


def _forecast_call(
    prompt: float, completion: float, prices: ModelInfo, repeated: float = 0.0
) -> Forecast:
    dollars, price = prices.compute_cost(prompt, completion), prices.cached_price
    saved = 0.0 if price is None else repeated * ((prices.prompt_price or 0.0) - price)
    cached = None if dollars is None else dollars - saved
    return Forecast(
        1,
        round(prompt),
        round(completion),
        dollars,
        repeated_tokens=round(repeated),
        cached_dollars=cached,
        paid_calls=int(dollars != 0),
    )


def _vary_dollars(
    forecast: Forecast,
    completion_ratio: float,
    model: ChatModel | None,
    prices: Mapping[ChatModel, ModelInfo],
    extra_prompt_tokens: float,
) -> float | None:
    """Return what *forecast* costs in dollars if completions take *completion_ratio* times the
    expected tokens, and all prompts together *extra_prompt_tokens* tokens on top.

    None if a price is not known. Without a model or calls, the dollars of *forecast* are returned
    as they are.
    """
    if model is None or not forecast.calls or forecast.dollars is None:
        return forecast.dollars
    info = prices[model]
    longer = (completion_ratio - 1) * forecast.completion_tokens
    return (
        forecast.dollars
        + longer * (info.completion_price or 0.0)
        + extra_prompt_tokens * (info.prompt_price or 0.0)
    )


def add_dollars(first: float | None, second: float | None) -> float | None:
    """Return *first* plus *second*, two amounts in dollars; None if either is None because a price
    is not known.
    """
    return None if first is None or second is None else first + second
