"""The routes of `aib view --label`: they exist only there, and take only small bodies.

Host, Origin, token and method are checked before, by `app.Guard`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from independence_bench.errors import BenchError, StoreError
from independence_bench.report.encode import json_bytes
from independence_bench.viewer.labelling import LabelDesk, Stale, asked_case, asked_marks

LARGEST = 64_000  # bytes of a body: a note of the longest length, escaped
POSTED = frozenset({"/api/label/marks", "/api/label/skip", "/api/label/undo"})


def label_routes(desk: LabelDesk) -> list[Route]:
    """The routes of *desk*."""

    def reads(work: Callable[[], object]) -> Callable[[Request], Any]:
        async def answer(_request: Request) -> Response:
            return await _answered(work)

        return answer

    def writes(work: Callable[[Any], object]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return _problem(415, "marks are sent as JSON")
            try:
                body = await _body(request)
                # an integer of 400 digits fits into no float: as one it is infinite, and so on no scale
                given = None if body is None else json.loads(body, parse_int=float)
            except (ValueError, RecursionError):
                return _problem(400, "the body is not JSON")
            except ClientDisconnect:
                return _problem(400, "the body is not whole")
            if body is None:
                return _problem(413, f"the body is larger than {LARGEST:,} bytes")
            return await _answered(lambda: work(given))

        return answer

    return [
        Route("/api/label/state.json", reads(desk.state)),
        Route("/api/label/agreement.json", reads(desk.agreement)),
        Route("/api/label/marks", writes(lambda given: desk.mark(*asked_marks(given))), methods=["POST"]),
        Route("/api/label/skip", writes(lambda given: desk.skip(asked_case(given))), methods=["POST"]),
        Route("/api/label/undo", writes(lambda _: desk.undo()), methods=["POST"]),
    ]


async def _body(request: Request) -> bytes | None:
    """The body; None where it is too large, which is noticed before it is read to its end."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            return None
    return body


async def _answered(work: Callable[[], object]) -> Response:
    """What *work*, in a thread, gives. A change that has begun is carried out, whoever waits for it."""
    try:
        body = json_bytes(await asyncio.to_thread(work))
    except Stale:
        return _problem(409, "another conversation is being marked by now; reload the page")
    except StoreError as error:
        return _problem(503, " ".join(str(error).split()))
    except BenchError as error:
        return _problem(400, " ".join(str(error).split()))
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


def _problem(status: int, said: str) -> Response:
    return Response(json.dumps({"error": said}), status, media_type="application/json")
