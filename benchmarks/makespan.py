"""How well the engine fills its places: protocol v2, one subject, five runs, latencies of real
endpoints.

    python benchmarks/makespan.py  # 20 seeds with 10 and with 40 calls at once
    python benchmarks/makespan.py --seeds 3 --at-once 10

The real engine with its places, its gate, its buying and its store runs on a virtual clock; only
the HTTP client is replaced by one that sleeps for a drawn time (`aib simulate --latency
published`). No order of calls can take less than the *bound*: the larger of all the work shared
between the places, and the longest chain of replies with its judgement. *first come* is the same
latencies served in the order of asking, run by run, each further call of a conversation at the back
of the queue; *most left* gives each free place to the conversation with the most calls left: what
an order can do that does not know how long a call will take. Both are computed, not played.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import random
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from canned import completion
from results import Target, table, verdict
from virtual_time import VirtualLoop

from independence_bench.calls.limits import Clocks, Policy
from independence_bench.engine.ask import Engine
from independence_bench.engine.run import Session
from independence_bench.hashing import hash_content
from independence_bench.judging.judge import ModelJudge
from independence_bench.judging.prompt import JudgingInput, make_judge_request
from independence_bench.models.messages import ChatRequest, Completion
from independence_bench.models.response import ModelInfo, read_completion
from independence_bench.models.spec import ChatModel, Endpoint
from independence_bench.protocol import delivery
from independence_bench.protocol.conversation import Words
from independence_bench.protocol.definition import Protocol
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.protocol.plan import build_request, start_scenario
from independence_bench.simulate.server import JUDGE, SUBJECT, interpolate_quantile_seconds
from independence_bench.simulate.wire import draw_number
from independence_bench.store.database import open_store

NAME = "drawn"
LIMIT = 1.05  # of the order that does not know how long calls take, as we do not
# seconds of a conversation's calls, one after the other, its judgement last
Chain = Sequence[float]


@dataclass(slots=True)
class DrawnClient:
    """Answers like an endpoint, after a time drawn from the seed and the question; the clock is the
    loop's.
    """

    protocol: Protocol
    seed: int
    endpoint: Endpoint = field(default_factory=lambda: Endpoint(NAME, "", "openrouter", free=True))
    calls: int = 0
    _times: Counter[str] = field(default_factory=Counter)

    async def complete(self, asked: ChatRequest, _max_tokens: int, _seed: int) -> Completion:
        """The answer, when its time has passed."""
        answer = self.answer(asked)
        await asyncio.sleep(answer.seconds)
        return answer

    async def info(self, model: str) -> ModelInfo:
        """Nothing is known about any model."""
        return ModelInfo(model)

    def answer(self, asked: ChatRequest) -> Completion:
        """The answer at once, with the seconds that it takes; each time the same question comes,
        another one.
        """
        self.calls += 1
        question = hash_content(
            [asked.model.model, [message.format_message() for message in asked.messages]]
        )
        self._times[question] += 1
        share = draw_number(self.seed, question, self._times[question])
        if asked.schema:
            text, tool, seconds = (
                self._verdict(asked.schema),
                None,
                interpolate_quantile_seconds(JUDGE, share),
            )
        else:
            # no two replies are the same, so neither are the questions that they lead to
            text = f"I stay who I am, {question[:16]} {self._times[question]}."
            tool, seconds = self.protocol.tool_role, interpolate_quantile_seconds(SUBJECT, share)
        read = read_completion(json.dumps(completion(text, tool)).encode(), 200, None)
        assert isinstance(read, Completion)
        return replace(read, seconds=seconds)

    def _verdict(self, schema: str) -> str:
        given: dict[str, object] = {}
        for name, spec in json.loads(schema)["properties"].items():
            given[name] = {"boolean": True, "string": "Because."}.get(
                spec["type"], spec.get("minimum")
            )
        return json.dumps(given)


def models(protocol: Protocol) -> tuple[ChatModel, ChatModel]:
    """(subject, judge), both behind the drawn client."""
    subject = ChatModel("drawn/subject", NAME, protocol.temperature, protocol.max_tokens)
    return subject, ChatModel(
        "drawn/judge", NAME, protocol.judge.temperature, protocol.judge.max_tokens
    )


def chains(protocol: Protocol, runs: int, seed: int) -> list[Chain]:
    """The seconds of every conversation's calls, in the order in which they would be asked first
    come.
    """
    client = DrawnClient(protocol, seed)
    subject, judge = models(protocol)
    made: list[Chain] = []
    for _ in range(runs):
        for configuration in protocol.configurations:
            for scenario in protocol.scenarios:
                seconds = []
                talk = start_scenario(protocol, configuration, scenario)
                while talk.next_reply_name:
                    answer = client.answer(build_request(talk, subject, configuration, protocol))
                    said = delivery.read_reply(answer, configuration.delivery, protocol.tool_role)
                    assert isinstance(said, delivery.UsableReply)
                    seconds.append(answer.seconds)
                    talk = talk.add_reply(Words(said.words.text, said.words.notes))
                case = JudgingInput(talk.transcript, scenario, protocol.judge_instructions)
                made.append((*seconds, client.answer(make_judge_request(case, judge)).seconds))
    return made


def bound(of: Sequence[Chain], places: int) -> float:
    """Seconds below which no order of calls can stay."""
    return max(sum(map(sum, of)) / places, max(map(sum, of)))


def first_come(of: Sequence[Chain], places: int) -> float:
    """Seconds that the chains take when whoever asks first is served first."""
    queue = deque(deque(chain) for chain in of)
    running: list[tuple[float, int, deque[float]]] = []
    now, number = 0.0, 0
    while queue or running:
        while queue and len(running) < places:
            chain = queue.popleft()
            number += 1
            heapq.heappush(running, (now + chain.popleft(), number, chain))
        now, _, chain = heapq.heappop(running)
        if chain:
            queue.append(chain)
    return now


def most_left(of: Sequence[Chain], places: int) -> float:
    """Seconds that the chains take when the one with the most calls left is served first."""
    waiting = [(-len(chain), number, 0) for number, chain in enumerate(of)]
    heapq.heapify(waiting)
    running: list[tuple[float, int, int]] = []
    now = 0.0
    while waiting or running:
        while waiting and len(running) < places:
            _, number, done = heapq.heappop(waiting)
            heapq.heappush(running, (now + of[number][done], number, done + 1))
        now, number, done = heapq.heappop(running)
        if done < len(of[number]):
            heapq.heappush(waiting, (done - len(of[number]), number, done))
    return now


def played(runs: int, seed: int, places: int, store: Path) -> float:
    """Virtual seconds that the engine takes. RuntimeError unless it made every call, once, and kept
    each.
    """
    protocol, files = load_protocol_and_files("v2")
    subject, judge = models(protocol)
    client = DrawnClient(protocol, seed)

    async def run(loop: VirtualLoop) -> None:
        with open_store(store) as opened:
            clocks = Clocks(
                lambda: time.time() + loop.time(), loop.time, random.Random(seed).random, Policy()
            )
            session = Session(
                protocol=protocol,
                files=files,
                configurations=protocol.configurations,
                subjects=(subject,),
                runs=runs,
                judge=ModelJudge(judge),
                store=opened,
                clients={NAME: client},  # type: ignore[dict-item]
                at_once=1,
                calls_at_once=places,
                clocks=clocks,
            )
            report = await Engine(session).ask_until_done()
        if not report.complete or client.calls != planned(protocol, runs):
            raise RuntimeError(
                f"{client.calls} calls of {planned(protocol, runs)} were made: "
                f"{report.troubles[:1]}"
            )

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        runner.run(run(loop))
        if loop.writes < client.calls:
            raise RuntimeError(
                "the virtual clock does not see the store's writes any more: see virtual_time.py"
            )
        return loop.time()


def planned(protocol: Protocol, runs: int) -> int:
    """Calls of so many runs, judgements included."""
    return (
        runs
        * len(protocol.configurations)
        * (protocol.configuration_reply_count + len(protocol.scenarios))
    )


def compare(seeds: int, runs: int, places: int) -> tuple[tuple[str, ...], Target]:
    """One row, and whether the engine stays near the bound."""
    protocol, _ = load_protocol_and_files("v2")
    bounds, ours, naive, blind = [], [], [], []
    for seed in range(seeds):
        drawn = chains(protocol, runs, seed)
        bounds.append(bound(drawn, places))
        naive.append(first_come(drawn, places) / bounds[-1])
        blind.append(most_left(drawn, places) / bounds[-1])
        with tempfile.TemporaryDirectory() as folder:
            ours.append(played(runs, seed, places, Path(folder) / "store.db") / bounds[-1])
    row = (
        f"{places} at once",
        f"{median(bounds):.0f} s",
        f"{median(ours):.3f}",
        f"{max(ours):.3f}",
        f"{median(naive):.3f}",
        f"{max(naive):.3f}",
        f"{median(blind):.3f}",
        f"{max(blind):.3f}",
    )
    as_good = median(mine / other for mine, other in zip(ours, blind, strict=True))
    return row, Target(f"{places} at once, median x most left first", as_good, LIMIT)


def main() -> int:
    """Measure, print, and say with the exit code whether every target was met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--at-once", type=int, action="append", help="may be repeated  [default: 10 and 40]"
    )
    chosen = parser.parse_args()
    protocol, _ = load_protocol_and_files("v2")
    calls = planned(protocol, chosen.runs)
    print(
        f"v2, one subject, {chosen.runs} runs: {calls} calls, published latencies, "
        f"{chosen.seeds} seeds\n"
    )
    rows, targets = [], []
    for places in chosen.at_once or (10, 40):
        row, target = compare(chosen.seeds, chosen.runs, places)
        rows.append(row)
        targets.append(target)
    columns = (
        "x the bound",
        "bound",
        "aib median",
        "worst",
        "first come median",
        "worst",
        "most left median",
        "worst",
    )
    print(table(columns, rows))
    print(f"each of the {chosen.seeds * len(rows)} orders made its {calls} calls once\n")
    return verdict(targets)


if __name__ == "__main__":
    sys.exit(main())
