"""The simulated endpoint itself: characters, faults and latency on a port of this machine.

    async with simulate(Settings(seed=7, faults=Faults({"http-500": 0.1}))) as simulation:
        ...                                     # simulation.url speaks chat completions
        simulation.ledger.entries               # all requests, and what they would have cost

This is the only module of the package that speaks HTTP; the others decide the answers, as values.
It binds 127.0.0.1, wants no key and keeps none.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from aiohttp import web

from independence_bench.errors import WrongUse
from independence_bench.simulate import catalog
from independence_bench.simulate.catalog import Entry, Ledger, open_ledger
from independence_bench.simulate.characters import SENTENCES
from independence_bench.simulate.faults import (
    FAULTS,
    Faults,
    Manner,
    Sent,
    make_json_response,
    spoil_completion,
)
from independence_bench.simulate.judge import EXAMINEES, write_exam_verdict, write_verdict
from independence_bench.simulate.wire import (
    NotUnderstood,
    PlayedReply,
    Prices,
    ReceivedRequest,
    draw_number,
    make_completion,
    make_error_body,
    read_request,
)

# pairs (share of the calls, seconds that they take at most), ascending
Quantiles = tuple[tuple[float, float], ...]

SUBJECT: Quantiles = (
    (0.01, 0.95),
    (0.10, 1.9),
    (0.50, 6.3),
    (0.90, 19.8),
    (0.99, 78.0),
    (1.0, 520.0),
)
JUDGE: Quantiles = ((0.01, 1.7), (0.10, 1.9), (0.50, 2.4), (0.90, 3.1), (0.99, 10.0), (1.0, 128.0))


@dataclass(frozen=True, slots=True)
class Latency:
    """How long calls take: a constant number of seconds, or the published quantiles; times
    *scale*.
    """

    seconds: float | Literal["published"] = 0.0
    scale: float = 1.0

    def find_call_seconds(self, judging: bool, faster_share: float) -> float:
        """Return the seconds that a simulated call takes which is slower than *faster_share* (in
        [0, 1]) of all calls. *judging*: whether it is a call of a judge.
        """
        if self.seconds == "published":
            return self.scale * interpolate_quantile_seconds(
                JUDGE if judging else SUBJECT, faster_share
            )
        return self.scale * self.seconds


def interpolate_quantile_seconds(quantiles: Quantiles, share: float) -> float:
    """Return the seconds within which *share* (in [0, 1]) of the calls end, interpolated between
    *quantiles*, pairs (share, seconds); for a share below the first one, the first quantile's
    seconds.
    """
    shares = [known for known, _ in quantiles]
    above = min(bisect_left(shares, share), len(quantiles) - 1)
    if above == 0:
        return quantiles[0][1]
    (low, fast), (high, slow) = quantiles[above - 1], quantiles[above]
    return float(fast * (slow / fast) ** ((share - low) / (high - low)))


HOST = "127.0.0.1"
LARGEST_REQUEST = 64 * 1024 * 1024  # bytes: a judge may be sent a reply of 10 MB more than once
MINUTE = 60.0  # seconds, times the scale
OVER_THE_LIMIT = "requests-per-minute"  # the ledger's name for a refusal that is no fault
LEAVING = 0.1  # seconds that calls in flight get when the server ends


@dataclass(frozen=True, slots=True)
class Settings:
    """How the endpoint behaves."""

    seed: int = 0
    latency: Latency = field(default_factory=Latency)
    faults: Faults = field(default_factory=Faults)
    requests_per_minute: int | None = None
    prices: Prices = field(default_factory=Prices)
    port: int = 0  # 0: a free one


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request, and what the ledger records of it."""

    sent: Sent
    fault: str = ""
    usable: bool = False
    charged: float = 0.0
    told: float = 0.0


class Window:
    """Lets at most *most* requests through in any *minute*, which is given in seconds."""

    def __init__(self, most: int, minute: float = MINUTE) -> None:
        self._most, self._minute = most, minute
        self._times: deque[float] = deque()

    def admit_or_compute_wait(self, now: float) -> float:
        """Return 0 and count the request if it may pass at *now* (seconds of a clock) within the
        rate limit; else return the seconds until a request may pass.
        """
        while self._times and self._times[0] <= now - self._minute:
            self._times.popleft()
        if len(self._times) < self._most:
            self._times.append(now)
            return 0.0
        return self._times[0] + self._minute - now


class Simulation:
    """A running endpoint: its address and its ledger."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self.settings = settings
        self.ledger = ledger
        self.url = ""  # base URL, once it is served
        self.asked = 0  # requests for completions so far
        self.in_flight = 0
        self._began = 0.0
        self._times: Counter[str] = Counter()
        most, minute = settings.requests_per_minute, MINUTE * settings.latency.scale
        self._window = Window(most, minute) if most else None

    def make_application(self) -> web.Application:
        """Return the web application of the simulated endpoint, with its routes. The ledger's times
        are seconds of the running event loop from this call on.
        """
        self._began = asyncio.get_running_loop().time()
        app = web.Application(client_max_size=LARGEST_REQUEST)
        app.router.add_post("/v1/chat/completions", self._serve_chat)
        app.router.add_get("/v1/models", self._serve_models)
        app.router.add_get("/v1/models/{author}/{slug}/endpoints", self._serve_endpoints)
        return app

    def answer_request(self, asked: ReceivedRequest, number: int, times: int) -> Answer:
        """Return the simulated endpoint's answer to the request *asked*, the *number*-th of all,
        which has come *times* times: the same answer for the same seed and request.
        """
        provider = catalog.find_provider_name(asked.provider)
        if not catalog.has_model(asked.model):
            return _make_not_found_answer(f"There is no model {asked.model}; see /v1/models.")
        if provider is None:
            return _make_not_found_answer(
                "No allowed providers are available for the selected model."
            )
        made = make_completion(
            asked,
            self._make_reply(asked, times),
            number,
            catalog.find_price(asked.model, self.settings.prices),
            provider,
        )
        name = self.settings.faults.choose_fault(asked, number, times, self.settings.seed)
        sent = spoil_completion(name, made)
        if not name:
            return Answer(sent, usable=made.usable, charged=made.cost, told=made.cost)
        fault = FAULTS[name]
        charged = made.cost if fault.paid else 0.0
        return Answer(
            sent,
            name,
            made.usable and fault.has_usable_answer(asked),
            charged,
            charged if fault.told else 0.0,
        )

    def _make_reply(self, asked: ReceivedRequest, times: int) -> PlayedReply:
        name = asked.model.removeprefix(f"{catalog.AUTHOR}/")
        if name in EXAMINEES:
            return PlayedReply(
                write_exam_verdict(name, asked, self.settings.seed, times), called=False
            )
        if catalog.is_judge(asked.model):
            return PlayedReply(write_verdict(asked, self.settings.seed), called=False)
        character = catalog.find_model_character(asked.model)
        assert character is not None  # noqa: S101 - the catalog knows no others
        reply = character(asked, self.settings.seed)
        if not asked.thinks or reply.thoughts:
            return reply
        return replace(reply, thoughts=SENTENCES["thoughts"][0])

    async def _serve_models(self, _request: web.Request) -> web.Response:
        return web.json_response(catalog.make_models_answer(self.settings.prices))

    async def _serve_endpoints(self, request: web.Request) -> web.Response:
        model = f"{request.match_info['author']}/{request.match_info['slug']}"
        if not catalog.has_model(model):
            return web.json_response(make_error_body(404, "Model not found"), status=404)
        return web.json_response(catalog.make_endpoints_answer(model, self.settings.prices))

    async def _serve_chat(self, request: web.Request) -> web.StreamResponse:
        now = asyncio.get_running_loop().time
        started = now()
        try:
            asked = read_request(await request.read())
        except NotUnderstood as error:
            return web.json_response(make_error_body(400, str(error)), status=400)
        self.asked += 1
        number = self.asked
        self._times[asked.hash] += 1
        times = self._times[asked.hash]
        answer = self._refuse_over_limit(started) or self.answer_request(asked, number, times)
        completed = False
        self.in_flight += 1
        try:
            share = draw_number(self.settings.seed, asked.hash, times, "latency")
            await asyncio.sleep(
                self.settings.latency.find_call_seconds(catalog.is_judge(asked.model), share)
            )
            response, completed = await self._send_answer(request, answer.sent)
            return response
        finally:
            self.in_flight -= 1
            # a client that hangs up is charged, too: the model continues to write
            self.ledger.add_entry(
                Entry(
                    number=number,
                    request=asked.hash,
                    model=asked.model,
                    times=times,
                    at=round(started - self._began, 6),
                    fault=answer.fault,
                    status=answer.sent.status,
                    completed=completed,
                    answer=answer.usable,
                    charged=answer.charged,
                    told=answer.told if completed else 0.0,
                    seconds=round(now() - started, 6),
                )
            )

    def _refuse_over_limit(self, now: float) -> Answer | None:
        """Return the refusal (HTTP 429) of a request that comes at *now* (seconds) over the rate
        limit; None if the request may pass, which is then counted.
        """
        wait = self._window.admit_or_compute_wait(now) if self._window else 0.0
        if not wait:
            return None
        body = make_error_body(
            429, f"Rate limit exceeded: {self.settings.requests_per_minute} requests per minute"
        )
        return Answer(make_json_response(body, 429, Retry_After=f"{wait:.3f}"), OVER_THE_LIMIT)

    async def _send_answer(
        self, request: web.Request, sent: Sent
    ) -> tuple[web.StreamResponse, bool]:
        """Send the HTTP response *sent* in its manner (whole, cut off, or not at all); return the
        response, and whether it went out to its last byte.
        """
        if sent.manner is Manner.SILENCE:
            await asyncio.Event().wait()  # until the client leaves or the server ends
        response = web.StreamResponse(status=sent.status, headers=dict(sent.headers))
        response.content_length = len(sent.body)
        try:
            if sent.manner is not Manner.RESET:
                await response.prepare(request)
                cut_off = sent.manner is Manner.RESET_INSIDE
                await response.write(sent.body[: len(sent.body) // 2] if cut_off else sent.body)
            if sent.manner in (Manner.RESET, Manner.RESET_INSIDE):
                if request.transport is not None:
                    request.transport.abort()
                return response, False
            await response.write_eof()
        except ConnectionError:
            return response, False  # the client has left
        return response, True


def _make_not_found_answer(message: str) -> Answer:
    return Answer(make_json_response(make_error_body(404, message), 404))


@asynccontextmanager
async def simulate(
    settings: Settings | None = None, ledger_file: Path | None = None
) -> AsyncIterator[Simulation]:
    """Give an `async with` block a simulated endpoint that is served on this machine until the
    block is left; calls in flight are then broken off. *ledger_file*: where requests are recorded.

    Raises WrongUse if the port is taken or the ledger cannot be written.
    """
    settings = settings or Settings()
    with open_ledger(ledger_file) as ledger:
        simulation = Simulation(settings, ledger)
        runner = web.AppRunner(
            simulation.make_application(),
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=LEAVING,
        )
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, HOST, settings.port, backlog=1024).start()
            except OSError as error:
                raise WrongUse(
                    f"--port {settings.port}: {error.strerror}; 0 takes a free one"
                ) from error
            simulation.url = f"http://{HOST}:{runner.addresses[0][1]}/v1"
            yield simulation
        finally:
            await runner.cleanup()
