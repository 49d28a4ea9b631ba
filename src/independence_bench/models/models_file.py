"""models.yaml, the user's and the shipped one: endpoints and subjects, checked; and what the environment changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from independence_bench.errors import SubjectError, WrongUse
from independence_bench.lookup import instead
from independence_bench.models.dialects import DialectName
from independence_bench.models.spec import BUILT_IN, GGUF, PYTHON, TITLED, Endpoint, ModelSpec, Roster
from independence_bench.models.trust import check_url
from independence_bench.yaml_io import Effort, OneLine, Strict, file_text, read_yaml

SHIPPED = Path(__file__).with_name("models.yaml")
BASE_URL = "OPENROUTER_BASE_URL"  # environment variable that moves the endpoint `openrouter`
REFERER, TITLE = "OPENROUTER_HTTP_REFERER", "OPENROUTER_TITLE"  # and those that say who asks it


class EndpointFile(Strict):
    """An endpoint of the user's own: any server that speaks chat completions.

    One with the name of a built-in one moves that, and keeps its key and dialect unless it says others.
    """

    url: OneLine
    key_env: OneLine | None = Field(None, description="environment variable with the API key, if it wants one")
    dialect: DialectName = "local"
    at_once: int | None = Field(None, ge=1, description="most calls in flight that it can serve")
    free: bool = False
    referer: OneLine | None = Field(None, description="address of your application, sent as HTTP-Referer")
    title: OneLine | None = Field(None, description="name of your application, sent as X-Title")


class SubjectFile(Strict):
    """A model to test, with the settings that are not the protocol's."""

    model: OneLine
    endpoint: OneLine = "openrouter"
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    reasoning: Effort | None = Field(None, description="default: off, where the model can be")
    provider: OneLine | None = Field(None, description="provider slug; only it may serve the model")
    accept_cut_off: bool = Field(False, description="take replies cut off by the token limit as they are")
    active: bool = Field(True, description="whether `aib run` without models plays it")
    exclude: OneLine | None = Field(
        None, description="why it is excluded from every ranking; it stays listed, with this reason"
    )
    notes: str = ""


class ModelsFile(Strict):
    """models.yaml"""

    endpoints: dict[str, EndpointFile] = Field(default_factory=dict)
    subjects: list[SubjectFile] = Field(default_factory=list)


# it stands before a colon in what is typed, between commas in --models, and in every label
_ENDPOINT_NAME = re.compile(r"\w[\w.-]{0,63}")


def read_models(path: Path) -> Roster:
    """models.yaml at *path*. Raises SubjectError, which names the file, the key and what to do."""
    try:
        text = file_text(path)
    except WrongUse as error:
        raise SubjectError(f"{error}; --models-file names another") from error
    return parse_models(text, str(path))


@lru_cache
def shipped_subjects() -> tuple[ModelSpec, ...]:
    """The subjects worth testing that ship with the package, as docs/models.md lists them."""
    return read_models(SHIPPED).specs


def parse_models(text: str, where: str) -> Roster:
    """The text of models.yaml as a roster; *where* names the file in errors. Raises SubjectError."""
    raw = read_yaml(
        text,
        ModelsFile,
        lambda key, problem: SubjectError(f"{where}{f', {key}' if key else ''}: {problem}"),
        aliases=False,
    )
    endpoints = dict(BUILT_IN)
    for name, endpoint in raw.endpoints.items():
        if name in (GGUF, PYTHON) or not _ENDPOINT_NAME.fullmatch(name):
            shown = (name if name.isprintable() else ascii(name))[:80]
            raise SubjectError(f"{where}, endpoints.{shown}: choose another name (a word that is not built in)")
        here = f"{where}, endpoints.{name}"
        url = _checked(f"{here}.url", check_url, endpoint.url)
        referer = _checked(f"{here}.referer", check_url, endpoint.referer) if endpoint.referer else None
        title = _checked(f"{here}.title", _header, endpoint.title or TITLED)
        stated = endpoint.model_fields_set - {"url", "referer", "title"}
        if name == "openrouter" and stated:
            raise SubjectError(
                f"{where}, endpoints.openrouter.{min(stated)}: only its url, referer and title can be others"
            )
        moved = BUILT_IN.get(name)
        dialect = endpoint.dialect if moved is None or "dialect" in stated else moved.dialect
        key = endpoint.key_env if moved is None or "key_env" in stated else moved.key_variable
        endpoints[name] = Endpoint(
            name, url, dialect, key, endpoint.at_once, endpoint.free, referer=referer, title=title
        )
    specs = []
    for number, subject in enumerate(raw.subjects):
        if subject.endpoint not in endpoints:
            raise SubjectError(
                f"{where}, subjects.{number}.endpoint: there is no endpoint called {subject.endpoint}; "
                f"{instead(subject.endpoint, endpoints, 'known:')}"
            )
        if subject.endpoint == PYTHON:  # a folder from a stranger must not choose what is run here
            raise SubjectError(
                f"{where}, subjects.{number}.endpoint: a Python function is named on the command line only: "
                "`aib run python:MODULE:FUNCTION`"
            )
        specs.append(ModelSpec(**subject.model_dump(exclude={"notes"})))
    return Roster(endpoints, tuple(specs))


def moved_by(variables: Mapping[str, str], roster: Roster) -> Roster:
    """*roster* with the endpoint ``openrouter`` where *variables*, an environment, say, and asked by whom they say.

    Raises SubjectError.
    """
    changes = {
        name: _checked(variable, check, value)
        for name, (variable, check) in _OF_OPENROUTER.items()
        if (value := variables.get(variable, "").strip())
    }
    moved = replace(roster.endpoints["openrouter"], **changes)  # type: ignore[arg-type]
    return replace(roster, endpoints={**roster.endpoints, "openrouter": moved})


def _header(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise SubjectError(f"{ascii(text)[:80]} cannot be sent as a header; write it in ASCII letters")
    return text


_OF_OPENROUTER = {"url": (BASE_URL, check_url), "referer": (REFERER, check_url), "title": (TITLE, _header)}


def _checked(where: str, check: Callable[[str], str], value: str) -> str:
    """*value*, checked. Raises SubjectError, which says *where* it stands."""
    try:
        return check(value)
    except SubjectError as error:
        raise SubjectError(f"{where}: {error}") from error
