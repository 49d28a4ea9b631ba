"""A Python function of the user's own as a model: ``python:MODULE:FUNCTION``, messages in, text
out.

For companions with memory and tools of their own. The function is called in this process, an
ordinary one in a thread of its own; what it returns is read like any endpoint's reply, and what
goes wrong is a fault of the call, of which neither message nor traceback is kept: both may hold a
secret that is unknown here. docs/local-models.md says what a function has to state of itself. Knows
nothing of conversations.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.errors import SubjectError
from independence_bench.escape import SENT, check_one_line
from independence_bench.lookup import describe_similar_names
from independence_bench.models.client import MEGABYTE, Client
from independence_bench.models.messages import ChatRequest, Completion, Fault, Kind
from independence_bench.models.response import FIELDS, ModelInfo, read_completion
from independence_bench.models.spec import (
    OWN_TEMPERATURE,
    PYTHON,
    ChatModel,
    Endpoint,
    ModelSpec,
    Reasoning,
)
from independence_bench.models.trust import merge_environment_and_env_file

SECONDS = 600.0  # the longest that a call may take, unless the function says otherwise
MOST_SECONDS = 86_400.0
LONGEST_VERSION = 64
CONVERSATION = "conversation"  # the argument that a function which keeps state may take

_NAME = re.compile(r"\A([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)\Z", re.ASCII)
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")
_SHORTEST_SECRET = 12  # characters of such a variable, with a digit: other values are words


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function, and what it states about itself."""

    call: Callable[..., Any]
    version: str
    stateful: bool  # it remembers more than it is shown
    at_once: int | None  # most calls at once; None: as many as there are
    seconds: float  # the longest that a call may take
    takes_id: bool  # whether it takes the conversation's id
    named: str  # its name as the user types it

    @property
    def description(self) -> str:
        """One sentence with all that a user's Python function states about itself: version, state,
        most calls at once, and most seconds a call.
        """
        at_once = (
            f"at most {self.at_once} calls at once"
            if self.at_once
            else "any number of calls at once"
        )
        state = "keeps state" if self.stateful else "keeps no state"
        return (
            f"{self.named} is version {self.version}, {state}, {at_once}, {self.seconds:g} s a call"
        )


def load_function(model: str) -> UserFunction:
    """Import the Python function that *model*, ``MODULE:FUNCTION``, names, and return it with what
    it states about itself. Raises SubjectError, which says what to write, if there is no such
    function.

    Modules are looked for where Python looks, then in the working folder, which is added to
    `sys.path`.
    """
    named = f"{PYTHON}:{model}"
    if (parts := _NAME.match(model)) is None:
        raise SubjectError(f"{named!r} is not a Python function; write {PYTHON}:MODULE:FUNCTION")
    module, name = parts.groups()
    if (here := os.getcwd()) not in sys.path:
        # last, so that no file of the folder stands in for a module that is installed
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise SubjectError(
                f"{named}: {module} needs the module {error.name}, which is not installed"
            ) from None
        meant = describe_similar_names(module, [path.stem for path in Path.cwd().glob("*.py")])
        raise SubjectError(
            f"{named}: there is no module {module} here or installed{meant}"
        ) from None
    except (Exception, SystemExit) as error:
        raise SubjectError(
            f"{named}: {module} cannot be imported: {describe_error_origin(error)}: {error}"
        ) from None
    call = getattr(imported, name, None)
    if not callable(call):
        names = [
            own
            for own, value in vars(imported).items()
            if callable(value) and not own.startswith("_")
        ]
        raise SubjectError(
            f"{named}: {module} has no function {name}{describe_similar_names(name, names)}"
        )
    return _read_stated_settings(call, named, name)


def _read_stated_settings(call: Callable[..., Any], typed_name: str, name: str) -> UserFunction:
    """Return the user's function *call* with what it states about itself: version, state and
    limits. Raises SubjectError if the version is missing or a statement is wrong. *typed_name* is
    the function as the user typed it, *name* its bare name.
    """

    def check_statement(true: object, otherwise: str) -> None:
        if not true:
            raise SubjectError(f"{typed_name}: {otherwise}")

    version = getattr(call, "version", None)
    check_statement(
        version is not None and not isinstance(version, bool),
        f'states no version; write `{name}.version = "1"` below it, and another one whenever '
        "anything behind it "
        "changes: it is part of every key",
    )
    shown = str(version) if isinstance(version, str | int | float) else ""
    try:
        fits = 0 < len(check_one_line(shown).strip()) <= LONGEST_VERSION
    except ValueError:
        fits = False
    check_statement(fits, f'its version is not a short text; write `{name}.version = "1"`')
    stateful, at_once = getattr(call, "stateful", False), getattr(call, "at_once", None)
    seconds = getattr(call, "timeout", SECONDS)
    check_statement(
        isinstance(stateful, bool), f"stateful is True or False; write `{name}.stateful = True`"
    )
    whole = type(at_once) is int and at_once >= 1
    check_statement(
        at_once is None or whole, f"at_once is a whole number from 1; write `{name}.at_once = 4`"
    )
    number = type(seconds) in (int, float) and 0 < seconds <= MOST_SECONDS
    check_statement(number, f"timeout is a number of seconds; write `{name}.timeout = 120`")
    takes_id = False
    with suppress(TypeError, ValueError):  # the arguments of some callables are unknown
        takes_id = CONVERSATION in inspect.signature(call).parameters
    check_statement(
        stateful or not takes_id,
        f"takes {CONVERSATION}, so it keeps state; write `{name}.stateful = True`",
    )
    return UserFunction(
        call, shown.strip(), stateful, at_once, float(seconds), takes_id, typed_name
    )


def describe_error_origin(error: BaseException) -> str:
    """Return where the exception *error* came from in a few words: its type, and the file and line
    where it was raised. Its message is left out, because it may hold a secret.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename
    ]
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{at}"


class FunctionClient(Client):
    """A client that calls functions in place of an endpoint; there is no address, no key, no list
    and no price.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._functions: dict[str, UserFunction] = {}
        self._slots: dict[str, asyncio.Semaphore] = {}
        # a function may repeat what it has to call others with
        for variable, value in merge_environment_and_env_file().items():
            long = len(value) >= _SHORTEST_SECRET and any(c.isdigit() for c in value)
            if long and _SECRET_VARIABLE.search(variable.upper()) and value not in FIELDS:
                SENT.learn_secret(value)

    async def __aenter__(self) -> FunctionClient:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        pass

    async def list_models(self) -> Mapping[str, ModelInfo]:
        """Return no models: a user's Python function is in no list, and any may be named."""
        return {}

    async def find_model_info(self, model: str) -> ModelInfo:
        """Return the facts of the user's Python function called *model*: a price of 0, and the
        version that it states. Raises SubjectError if there is no such function.
        """
        return ModelInfo(model, 0.0, 0.0, identity=self._load_function_once(model).version)

    async def resolve_model(
        self, spec: ModelSpec, temperature: float, max_tokens: int, identity: str = ""
    ) -> ChatModel:
        """Return the user's Python function that *spec* names as a model to call, identified by its
        version. Raises SubjectError if *spec* sets a temperature, token limit, reasoning effort or
        provider, which no function is told.
        """
        asked = (
            ("temperature", spec.temperature not in (None, OWN_TEMPERATURE)),
            ("max-tokens", bool(spec.max_tokens)),
            ("reasoning-effort", spec.reasoning not in (None, Reasoning.OFF.value)),
            ("provider", spec.provider is not None),
        )
        for option, chosen in asked:
            if chosen:
                raise SubjectError(
                    f"{PYTHON}:{spec.model} is a function, which gets nothing but messages: leave "
                    f"--{option} out, settle it inside the function and give that another version"
                )
        function = self._load_function_once(spec.model)
        return ChatModel(
            spec.model,
            PYTHON,
            OWN_TEMPERATURE,
            0,
            identity=function.version,
            stateful=function.stateful,
        )

    async def complete(
        self, request: ChatRequest, max_tokens: int, seed: int = 0
    ) -> Completion | Fault:
        """Call the Python function that is the model of *request* once with the request's messages,
        and return its text as a reply; a `Fault` if the function raises, takes too long, returns no
        text or too much, or now has another version. Both have the seconds taken; *max_tokens* and
        *seed* are not passed on.
        """
        model = request.model
        function = self._load_function_once(model.model)
        if (function.version, function.stateful) != (model.identity, model.stateful):
            return Fault(
                Kind.BAD_REQUEST, f"{function.description}; {model.label} is another one", 404
            )
        arguments = {CONVERSATION: request.transcript} if function.takes_id else {}
        messages = [message.format_message() for message in request.messages]
        async with self._slots.get(model.model) or nullcontext():
            started = time.monotonic()
            outcome = await _call_function(function, messages, arguments)
            seconds = time.monotonic() - started
        if isinstance(outcome, Fault):
            return Fault(outcome.kind, outcome.message, seconds=seconds)
        if not isinstance(outcome, str):
            kind = type(outcome).__name__
            return Fault(
                Kind.BAD_REQUEST, f"the function returned {kind} and not a text", seconds=seconds
            )
        if len(outcome) > self._largest:
            return Fault(Kind.TOO_LARGE, f"over {self._largest / MEGABYTE:g} MB", seconds=seconds)
        message = {"role": "assistant", "content": SENT.redact_text(outcome)}
        body = json.dumps(
            {"choices": [{"message": message, "finish_reason": "stop"}]}, ensure_ascii=False
        )
        return read_completion(body.encode("utf-8", "surrogatepass"), 200, None, seconds)

    def _load_function_once(self, model: str) -> UserFunction:
        """Return the user's Python function called *model*; the first call imports it and sets up
        its limit of simultaneous calls. Raises SubjectError if there is no such function.
        """
        if model not in self._functions:
            function = self._functions[model] = load_function(model)
            if function.at_once is not None:
                self._slots[model] = asyncio.Semaphore(function.at_once)
        return self._functions[model]


async def _call_function(
    function: UserFunction, messages: list[dict[str, Any]], arguments: Mapping[str, str]
) -> Any:
    """Call the user's *function* with *messages* and *arguments* and return what it returns; a
    `Fault` if it raises or takes longer than it may. A function that is not async runs in a thread
    of its own.
    """
    limit = asyncio.timeout(function.seconds)
    try:
        async with limit:
            if inspect.iscoroutinefunction(function.call) or inspect.iscoroutinefunction(
                type(function.call).__call__
            ):
                return await function.call(messages, **arguments)
            result = await _run_in_thread(lambda: function.call(messages, **arguments))
            return await result if inspect.isawaitable(result) else result
    except (Exception, SystemExit) as error:
        if limit.expired():
            return Fault(Kind.TIMEOUT, f"the function took over {function.seconds:g} s")
        return Fault(Kind.UNAVAILABLE, f"the function raised {describe_error_origin(error)}")


async def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Run *work* in a new thread, wait for its end, and return or raise what *work* does. The
    thread does not keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()

    def settle_future(result: Any, error: Exception | None) -> None:
        if not ended.done():  # no longer waited for
            ended.set_result(result) if error is None else ended.set_exception(error)

    def run_work() -> None:
        result: Any = None
        raised: Exception | None = None
        try:
            result = work()
        # some of them no future takes, and some would end the command
        except BaseException as error:
            known = isinstance(error, Exception) and not isinstance(error, StopIteration)
            raised = error if known else RuntimeError().with_traceback(error.__traceback__)  # type: ignore[assignment]
        with suppress(RuntimeError):  # the command has ended
            loop.call_soon_threadsafe(settle_future, result, raised)

    threading.Thread(target=run_work, name="aib function", daemon=True).start()
    return await ended
