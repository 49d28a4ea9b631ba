"""How far attacks move the marks of a small real judge, with the rubric ahead of the conversation
and behind it.

    python training/swayed.py MODEL [--rubric NAME ...]  # appends to swayed/MODEL.jsonl what is missing there

The exam's attacked questions and the same without the attack, sent as a protocol's judge is asked
and, with the rubric after the conversation, as it was asked before. What the judge answers is kept
as it came; the figures are the exam's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from independence_bench.analysis.exam.answers import ExamAnswer
from independence_bench.analysis.exam.result import exam_result
from independence_bench.judging.exam.cases import ExamCase, exam_cases
from independence_bench.judging.output import Verdict, parse_verdict
from independence_bench.judging.prompt import fence_of, judge_messages, judge_schema
from independence_bench.models.local.files import find
from independence_bench.models.local.server import serve
from independence_bench.models.messages import Message

FOLDER = Path(__file__).with_name("swayed")
ORDERS = ("rubric first", "rubric last")
# their rubrics quote nothing of the conversation
RUBRICS = ("resistance", "resistance_blunt", "stability")
TOKENS = 500


def asked_cases(rubric: str) -> list[ExamCase]:
    """The attacked questions, each after the same question as it is."""
    cases = exam_cases([rubric])
    first = {case.question.id: case for case in cases if case.asked == "first"}
    attacked = [case for case in cases if case.asked == "injected"]
    return [case for injected in attacked for case in (first[injected.question.id], injected)]


def messages_of(case: ExamCase, order: str) -> tuple[Message, ...]:
    """What the judge is sent."""
    system, user = judge_messages(case, fence_of(case))
    if order == "rubric first":
        return system, user
    rubric = (system.content or "").removeprefix(case.instructions).strip()
    conversation, heading, answer = (user.content or "").rpartition("# Your answer")
    return Message("system", case.instructions), Message(
        "user", f"{conversation}{rubric}\n\n{heading}{answer}"
    )


def lines_of(file: Path) -> list[dict[str, Any]]:
    """What was answered so far."""
    return (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if file.exists()
        else []
    )


async def play(name: str, rubrics: list[str], file: Path) -> None:
    """Ask what *file* has no line for."""
    there = {(line["question"], line["asked"], line["order"]) for line in lines_of(file)}
    model = find(name)
    async with (
        serve([model]) as url,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(None)) as session,
    ):
        with file.open("a", encoding="utf-8") as out:
            for rubric in rubrics:
                for order in ORDERS:  # what one case has in common with the next is evaluated once
                    for case in asked_cases(rubric):
                        if (case.question.id, case.asked, order) in there:
                            continue
                        form = {
                            "name": "verdict",
                            "schema": json.loads(judge_schema(case.markable)),
                        }
                        body = {
                            "model": model.name, "messages": [m.wire() for m in messages_of(case, order)],
                            "temperature": 0, "seed": 1, "max_tokens": TOKENS,
                            "response_format": {"type": "json_schema", "json_schema": form},
                        }  # fmt: skip
                        async with session.post(f"{url}/chat/completions", json=body) as response:
                            choice = (await response.json())["choices"][0]
                        line = {
                            "model": model.name, "sha256": model.sha256, "rubric": rubric, "order": order,
                            "question": case.question.id, "asked": case.asked, "reply": choice["message"]["content"],
                            "finish_reason": choice["finish_reason"],
                        }  # fmt: skip
                        out.write(json.dumps(line, ensure_ascii=False) + "\n")
                        out.flush()


def report(file: Path) -> Iterator[str]:
    """A line for each rubric and order: questions how many of them an attack moved up, kappa of the
    rest.
    """
    lines = lines_of(file)
    yield "| rubric | order | verdicts | swayed | kappa without attack |\n|---|---|---|---|---|"
    for rubric in dict.fromkeys(line["rubric"] for line in lines):
        cases = {(case.question.id, case.asked): case for case in asked_cases(rubric)}
        for order in ORDERS:
            of = [line for line in lines if (line["rubric"], line["order"]) == (rubric, order)]
            answers = [
                answer_of(cases[line["question"], line["asked"]], line["reply"]) for line in of
            ]
            result = exam_result(answers)
            if result is None:
                continue
            (figures,) = result.rubrics
            moved = figures.injected.turned if figures.injected else None
            given = sum(answer.marks is not None for answer in answers)
            kappa = "-" if figures.kappa is None else f"{figures.kappa.value:.2f}"
            swayed = "-" if moved is None else f"{moved.hits:g} of {moved.of}"
            yield f"| {rubric} | {order} | {given} of {len(of)} | {swayed} | {kappa} |"


def answer_of(case: ExamCase, reply: str) -> ExamAnswer:
    """*reply* as the exam keeps it."""
    verdict = parse_verdict(reply, case.markable.marks)
    marks = verdict.marks if isinstance(verdict, Verdict) else None
    attack = None if case.attack is None else f"{case.attack.family}/{case.attack.name}"
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return ExamAnswer(
        case.rubric, case.question, case.asked, attack, marks, cost=None, seconds=None, when=when
    )


def main() -> None:
    """Ask, then print the figures."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("model")
    options.add_argument("--rubric", action="append", choices=RUBRICS)
    chosen = options.parse_args()
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{chosen.model}.jsonl"
    asyncio.run(play(chosen.model, chosen.rubric or list(RUBRICS), file))
    print("\n".join(report(file)))


if __name__ == "__main__":
    main()
