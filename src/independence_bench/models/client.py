"""One async client for chat completions, and what an endpoint says about its models.

The only module that speaks HTTP. It sends one attempt and says what came of it, as a value; it
retries nothing, stores nothing, and knows no protocol. The API key is here and nowhere else: it is
taken out of every text that comes back before other code sees it.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import ssl
import time
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from independence_bench.errors import EndpointUnusable, MissingKey, NotOffered, SubjectError
from independence_bench.escape import KNOWN, SENT
from independence_bench.lookup import suggest_names
from independence_bench.models.abilities import (
    Abilities,
    Setting,
    find_known_abilities,
    learn_abilities,
)
from independence_bench.models.arrival import MOST_OF_A_WORD, Arrivals
from independence_bench.models.endpoints import DIALECTS
from independence_bench.models.failure import SERVED
from independence_bench.models.messages import (
    ChatRequest,
    Completion,
    Fault,
    Kind,
    Message,
)
from independence_bench.models.response import (
    FIELDS,
    ModelInfo,
    get_nested_value,
    read_completion,
    read_json,
    read_model_list,
    read_providers,
    shorten_line,
)
from independence_bench.models.spec import (
    GGUF,
    LATEST,
    OWN_TEMPERATURE,
    PYTHON,
    ChatModel,
    Endpoint,
    ModelSpec,
)
from independence_bench.models.stream import StreamedReply, is_event_stream
from independence_bench.models.trust import MAX_REPLY, Allow, find_key_variables, is_this_machine

CONNECT = 30.0  # seconds to get a connection
# seconds between two pieces of a reply; a slow reasoning model sends nothing for minutes
SILENCE = 600.0
WHOLE = 1200.0  # seconds for one attempt in all
LARGEST_REPLY = 1  # MB after decompression, unless MAX_REPLY says otherwise
LARGEST_SETTING = 16  # MB
MEGABYTE = 1_000_000
LARGE_BODY = 1024 * 1024
RENDERING = "/apply-template"  # of llama.cpp's server: what a model would be shown
LARGEST_LIST = 64 * 1024 * 1024
LONGEST_RETRY_AFTER = 24 * 3600.0
# Proxies put policies, costs and cookies into headers: 8 KB for one of them, or a hundred of them,
# as aiohttp has it, refuses replies that were paid for
LONGEST_HEADER = 64 * 1024
MOST_HEADERS = 1000
MOST_HEAD = 64 * 1024  # bytes of a body by which it is told whether it is an event stream


class Client:
    """A connection to one endpoint. Use it as an async context manager."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None = None,
        *,
        connect: float = CONNECT,
        price: tuple[float, float] | None = None,
    ) -> None:
        """*connect* is how many seconds a connection may take.

        *price*: dollars a token, prompt and reply, of models whose price the endpoint does not
        list.
        """
        self.endpoint = endpoint
        self.dialect = DIALECTS[endpoint.dialect]
        self._connect, self._price = connect, price
        self._largest = read_size_limit(os.environ)
        SENT.learn_secret(key)
        SENT.learn_proxy_passwords(os.environ)
        # for each request, not for the session: aiohttp shows a session's headers to the proxy as
        # well
        self._login = self.dialect.make_login_headers(key)
        self._models: Mapping[str, ModelInfo] | None = None
        self.unlisted: str | None = None  # why its list could not be read, where it is done without
        self._asked = asyncio.Lock()
        self._providers: dict[str, Mapping[str, str]] = {}
        self.arrivals = Arrivals()
        # of models whose requests were refused, now or in an earlier command
        self._abilities: dict[str, Abilities] = {}
        self._stored: Container[str] = ()
        self._news: set[str] = set()  # models of which something was learned that is not stored

    def __repr__(self) -> str:
        return f"Client({self.endpoint.name})"

    async def __aenter__(self) -> Client:
        headers = {"User-Agent": "ai-independence-bench", "X-Title": self.endpoint.title}
        if self.endpoint.referer:
            headers["HTTP-Referer"] = self.endpoint.referer
        self._session = aiohttp.ClientSession(
            headers=headers,
            # how many at once is the rate limiter's business. Each call has a connection of its
            # own: where one is used again, a response that comes twice, or too late, is read as the
            # answer to the next request
            connector=aiohttp.TCPConnector(
                limit=0, ssl=find_certificates(self.endpoint.url), force_close=True
            ),
            # an endpoint that wants to know us again has the key
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                # of a stream, silence is what means trouble: a small machine may take an hour for a
                # long reply
                total=None if self.dialect.streams else WHOLE,
                sock_connect=self._connect,
                sock_read=SILENCE,
            ),
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            max_headers=MOST_HEADERS,
            # not trust_env: that would also send the logins of ~/.netrc
            proxy=find_proxy(self.endpoint.url),
        )
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self._session.close()

    def load_abilities(
        self, abilities: Mapping[str, Abilities], stored: Container[str] = ()
    ) -> None:
        """Take what earlier commands learned about models, by model id, and the hashes of those
        that are *stored*.
        """
        self._abilities |= abilities
        self._stored = stored

    def find_abilities(self, model: str) -> Abilities:
        """Return the known abilities of the model called *model*, by its family and by what was
        refused.
        """
        found = self._abilities.get(model)
        if found is None:
            host = urlsplit(self.endpoint.url).hostname or ""
            found = self._abilities[model] = find_known_abilities(host, model)
        return found

    def take_news(self, model: str) -> Abilities | None:
        """Return the abilities of *model* if anything was learned since the last call, to be
        stored; None: nothing was.
        """
        if model not in self._news:
            return None
        self._news.discard(model)
        return self._abilities[model]

    async def complete(
        self, request: ChatRequest, max_tokens: int, seed: int = 0
    ) -> Completion | Fault:
        """Send *request* once. Whatever happens comes back as a value, with its time and its raw
        body.

        Where a part of it is refused, the fault says so, and the next request is without that part.
        The embedded model draws its reply by *seed*; no other endpoint is told it.
        """
        model = request.model.model
        abilities = self.find_abilities(model)
        if request.schema and self.dialect.lists_abilities:
            with suppress(EndpointUnusable):
                unlisted = self.dialect.list_missing_parts(
                    (await self.find_model_info(model)).parameters
                )
                abilities = replace(abilities, without=abilities.without | unlisted)
        providers: Mapping[str, str] = {}
        # asked before, so that a reply is stored the moment it is there
        if request.model.provider is not None:
            with suppress(EndpointUnusable):
                providers = await self.list_providers(request.model.model)
        body = self.dialect.encode_body(request, max_tokens, abilities)
        if self.endpoint.ours:
            body = b'%s,"seed":%d}' % (body.removesuffix(b"}"), seed)
        outcome = await self._post_completion(
            self.endpoint.url + self.dialect.completions_path, body
        )
        if isinstance(outcome, Fault):
            return self._learn_from_fault(request, abilities, outcome)
        # a provider does not cut, and a paid reply is not given up for a number
        if self.dialect.runs_models:
            cut = self.arrivals.find_cut(request, outcome.usage.prompt_tokens)
            if (
                cut is not None
                and self.endpoint.free
                and await self._has_token_counts(request.model)
            ):
                return Fault(Kind.CUT_PROMPT, cut, 200, **outcome.list_facts())
        return _check_pin(request, outcome, providers)

    def _learn_from_fault(self, request: ChatRequest, abilities: Abilities, fault: Fault) -> Fault:
        """Return *fault*, and learn from it which parts a model refuses that was asked as its
        *abilities* were known.
        """
        if not fault.refusal.parts:
            return fault
        sent = self.dialect.list_sent_parts(request, abilities)
        found = learn_abilities(abilities, fault.refusal, sent, self.dialect.carriers)
        if found is None:
            return fault
        now, setting = found
        model = request.model.model
        before = self.find_abilities(
            model
        )  # which another call may have changed since this was sent
        without = before.without - (abilities.without - now.without)
        self._abilities[model] = Abilities(
            without | (now.without - abilities.without), now.efforts or before.efforts
        )
        self._news.add(model)
        kind = Kind.PART_REFUSED if setting is None else fault.kind
        return replace(fault, kind=kind, unset=setting)

    async def _has_token_counts(self, model: ChatModel) -> bool:
        """Return whether the number of tokens that the endpoint gives of a prompt may be a real
        count.

        Some servers say the same number of every prompt: of one word, too, which no template makes
        so long.
        """
        if model.model not in self.arrivals.grows:
            word = ChatRequest(model, (Message("user", "Hello."),))
            body = self.dialect.encode_body(word, 1, self.find_abilities(model.model))
            said = await self._post_completion(
                self.endpoint.url + self.dialect.completions_path, body
            )
            if (said.usage.prompt_tokens or 0) >= MOST_OF_A_WORD:
                self.arrivals.grows[model.model] = False
        return self.arrivals.grows.get(model.model, True)

    async def render_prompt(self, request: ChatRequest) -> str | None:
        """Return the prompt of *request* as the model is shown it, if the server tells (llama.cpp's
        does); None: it does not.
        """
        body = json.dumps(
            self.dialect.build_body(request, 1, self.find_abilities(request.model.model))
        )
        url = self.endpoint.url.removesuffix("/v1") + RENDERING
        headers = {**self._login, "Content-Type": "application/json"}
        try:
            async with self._session.post(
                url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                data = await _read_body(answer, self._largest) if answer.status == 200 else None
            prompt = (
                get_nested_value(
                    read_json(SENT.redact_bytes(data).decode("utf-8", "replace")), "prompt"
                )
                if data
                else None
            )
        except (aiohttp.ClientError, OSError, ValueError, RecursionError):
            return None
        return prompt if isinstance(prompt, str) else None

    async def list_models(self) -> Mapping[str, ModelInfo]:
        """Return the models that the endpoint offers, by model id; empty if it keeps no list.

        Raises EndpointUnusable if nothing answers at its address. Asked once, then remembered.
        """
        async with self._asked:
            if self._models is None:
                answer = await self._get_json(self.dialect.models_path)
                self._models = {info.id: info for info in read_model_list(answer)}
            return self._models

    def assume_no_list(self, why: EndpointUnusable) -> None:
        """Assume that the endpoint keeps no list: nothing will be sent to it, and *why* it does not
        answer is kept in `unlisted`.
        """
        self._models, self.unlisted = {}, str(why)

    @property
    def has_read_list(self) -> bool:
        """Whether the endpoint's list was read already."""
        return self._models is not None

    async def find_model_info(self, model: str) -> ModelInfo:
        """Return the price, context and parameters of *model*; an entry without any if the list
        does not have it.
        """
        offered = await self.list_models()
        info = offered.get(model)
        if info is None:
            plain = offered.get(self.dialect.find_listed_id(model))
            # who serves it, and for how much, is what a route changes
            info = ModelInfo(model, parameters=plain.parameters) if plain else ModelInfo(model)
        if self._price is not None and (info.prompt_price is None or info.completion_price is None):
            return replace(info, prompt_price=self._price[0], completion_price=self._price[1])
        return info

    async def has_model(self, model: str) -> bool:
        """Return whether the endpoint's list has *model*; True if it keeps no list."""
        offered = await self.list_models()
        return not offered or model in offered or self.dialect.find_listed_id(model) in offered

    async def resolve_model(
        self, spec: ModelSpec, temperature: float, max_tokens: int, identity: str = ""
    ) -> ChatModel:
        """Return the model to call: *spec*, with the protocol's *temperature* and *max_tokens*, and
        what the endpoint's list says.

        *identity* is what is known of its weights; without one, what a local server says of them. A
        server that runs models itself, and has only ``MODEL:latest``, means that by ``MODEL``.
        Costs nothing. Raises NotOffered if the list lacks the model, SubjectError if it cannot be
        called as asked for.
        """
        if spec.provider and not self.dialect.pins_providers:
            raise SubjectError(
                f"{spec.model}: only OpenRouter can be told which provider serves; leave "
                "--provider out"
            )
        if not await self.has_model(spec.model):
            if not (self.dialect.runs_models and await self.has_model(spec.model + LATEST)):
                meant = suggest_names(spec.model, sorted(await self.list_models()))
                raise NotOffered(spec.model, self.endpoint.name, self.endpoint.url, meant)
            spec = replace(spec, model=spec.model + LATEST)
        info, abilities = await self.find_model_info(spec.model), self.find_abilities(spec.model)
        usual: float | None = temperature if info.takes_temperature else OWN_TEMPERATURE
        if spec.temperature is not None:
            usual = spec.temperature
        if Setting.TEMPERATURE not in spec.asked_for:
            usual = abilities.choose_temperature(usual)
        effort = info.choose_effort(spec.reasoning)
        if Setting.EFFORT not in spec.asked_for:
            effort = abilities.choose_effort(effort, self.dialect.carriers)
        known = identity or (info.identity if self.dialect.identifies_weights else "")
        model = replace(spec, temperature=None).make_model(usual, max_tokens, effort, known)
        if not identity and self.dialect.identifies_weights:
            earlier = replace(model, identity=info.earlier_identity)
            # played as an earlier version identified it, which is bought no second time
            model = earlier if earlier.hash in self._stored else model
        return model

    async def _post_completion(self, url: str, body: bytes) -> Completion | Fault:
        started = time.monotonic()
        begun: int | None = None  # the status of a reply that has begun
        try:
            # BytesIO: bytes of more than a megabyte make aiohttp warn
            sent = io.BytesIO(body) if len(body) > LARGE_BODY else body
            headers = {**self._login, "Content-Type": "application/json"}
            async with self._session.post(
                url, data=sent, headers=headers, allow_redirects=False
            ) as answer:
                # some answer a completion with 201: what came is what counts
                begun = 200 if answer.status in SERVED else answer.status
                if not 300 <= answer.status < 400:
                    data = await _read_body(answer, self._largest)
                    retry_after = _parse_retry_seconds(answer.headers.get("Retry-After"))
                    seconds = time.monotonic() - started
                    if data is not None:
                        body = SENT.redact_bytes(_convert_to_utf8(data, answer.charset))
                        return read_completion(body, begun, retry_after, seconds)
                    larger = f"over {self._largest / MEGABYTE:g} MB; {MAX_REPLY} sets the limit"
                    fault = Fault(Kind.TOO_LARGE, larger, begun)
                else:
                    # followed, it would carry the key and the prompt to wherever the answer points
                    fault = Fault(
                        Kind.BAD_REQUEST,
                        "the endpoint redirects elsewhere; check its address",
                        answer.status,
                    )
        except aiohttp.ConnectionTimeoutError:
            fault = Fault(Kind.CONNECTION, "no connection in time", unsent=True)
        except TimeoutError:
            fault = Fault(Kind.TIMEOUT, "no answer in time")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # it was made, and may have been paid for: not a connection to be waited for
            if begun == 200:
                fault = Fault(
                    Kind.UNAVAILABLE, f"the reply broke off: {describe_error(error)}", begun
                )
            elif isinstance(error, aiohttp.ClientResponseError) and not isinstance(
                error, aiohttp.ClientHttpProxyError
            ):
                fault = Fault(
                    Kind.UNAVAILABLE, f"its answer is no HTTP: {describe_error(error)}", begun
                )
            else:
                unsent = isinstance(error, aiohttp.ClientConnectorError)
                fault = Fault(Kind.CONNECTION, describe_error(error), unsent=unsent)
        return replace(fault, seconds=time.monotonic() - started)

    async def _get_json(self, path: str) -> Any:
        """Return the JSON at *path*; None if there is none. Raises EndpointUnusable if nothing
        answers.
        """
        try:
            wait = aiohttp.ClientTimeout(total=60, sock_connect=self._connect)
            url = self.endpoint.url + path
            async with self._session.get(
                url, headers=self._login, allow_redirects=False, timeout=wait
            ) as answer:
                data = await _read_body(answer, LARGEST_LIST) if answer.status == 200 else None
        except (aiohttp.ClientError, OSError) as error:
            raise EndpointUnusable(
                f"nothing answers at {self.endpoint.url} (endpoint {self.endpoint.name}): "
                f"{describe_error(error).replace(' ssl:default', '')}; check the address and that "
                "the "
                "server runs"
            ) from None
        try:
            return read_json(SENT.redact_bytes(data).decode("utf-8", "replace")) if data else None
        except (ValueError, RecursionError):
            return None

    async def list_providers(self, model: str) -> Mapping[str, str]:
        """Return the providers of *model*: provider slug -> display name; empty if the endpoint
        does not say.

        Raises EndpointUnusable if nothing answers. Remembered once it is known.
        """
        path = self.dialect.make_providers_path(model)
        if path is not None and not self._providers.get(model):
            self._providers[model] = read_providers(await self._get_json(path))
        return self._providers.get(model, {})


def describe_error(error: BaseException) -> str:
    """Return the message of *error* in one line of at most 200 characters, without keys; its type
    if it has none.
    """
    return shorten_line(KNOWN.redact_message(str(error)), 200) or type(error).__name__


def _check_pin(
    request: ChatRequest, completion: Completion, providers: Mapping[str, str]
) -> Completion | Fault:
    """Return *completion*, or a fault if a pinned provider was provably not honoured; where nothing
    is known, it is no fault.

    The pin is a slug (``openai``, ``moonshotai/int4``), the reply names a display name
    (``OpenAI``): the model's list of providers maps one to the other.
    """
    pin, served = request.model.provider, completion.served_provider
    if pin is None or served is None:
        return completion
    meant = {name for tag, name in providers.items() if _is_same_provider(tag, pin)}
    if (
        not meant
        or served in meant
        or served not in providers.values()
        or _is_same_provider(served, pin)
    ):
        return completion
    message = f"asked for {pin}, served by {shorten_line(served, 40)}"
    return Fault(Kind.WRONG_PROVIDER, message, 200, **completion.list_facts())


def find_proxy(url: str) -> str | None:
    """Return the environment's proxy for *url* (HTTPS_PROXY, NO_PROXY); None on this machine, where
    none can reach.
    """
    parts = urlsplit(url)
    if is_this_machine(url) or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def find_certificates(url: str) -> ssl.SSLContext | bool:
    """Return the TLS certificates that *url* is checked against; True for plain http. Made now:
    aiohttp's own were loaded before `SSL_CERT_FILE` may have come to be.
    """
    if urlsplit(url).scheme != "https":
        return True
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def is_run_locally(endpoint: Endpoint) -> bool:
    """Return whether its models run on this machine, so that calls at once share its cores.

    A server of which models.yaml says how many calls it takes at once is made for them.
    """
    own = (
        DIALECTS[endpoint.dialect].runs_models
        and endpoint.name != PYTHON
        and endpoint.at_once is None
    )
    return endpoint.name == GGUF or (own and is_this_machine(endpoint.url))


def read_size_limit(variables: Mapping[str, str]) -> int:
    """Return the most bytes that a reply may have after decompression, as *variables*, an
    environment, say; else `LARGEST_REPLY`.

    Raises EndpointUnusable unless it is a number of megabytes above 0 and up to `LARGEST_SETTING`.
    """
    size = variables.get(MAX_REPLY, "").strip() or str(LARGEST_REPLY)
    try:
        megabytes = float(size)
    except ValueError:
        megabytes = 0.0
    if not 0 < megabytes <= LARGEST_SETTING:
        raise EndpointUnusable(
            f"{MAX_REPLY} is {size[:20]!r}; write megabytes, above 0 and at most {LARGEST_SETTING}"
        )
    return max(1, int(megabytes * MEGABYTE))


def read_key(endpoint: Endpoint, allow: Allow) -> str | None:
    """Return the endpoint's API key from the environment or `.env`, once *allow* has let it go
    there.

    Raises MissingKey if it is needed and absent, EndpointUnusable if it cannot be a key, and what
    *allow* raises.
    """
    allow(endpoint)
    if endpoint.key_variable is None:
        return None
    key = find_key_variables().get(endpoint.key_variable, "").strip()
    if not key:
        if DIALECTS[endpoint.dialect].needs_key:
            raise MissingKey(endpoint.name, endpoint.key_variable)
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise EndpointUnusable(
            f"{endpoint.key_variable} is not a key: it has spaces or odd characters in it"
        )
    if key in FIELDS:
        raise EndpointUnusable(
            f"{endpoint.key_variable} holds a word of the chat-completions format, which cannot "
            "be kept out of what is stored; give the server another key"
        )
    return key


async def _read_body(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    """Read and return the body, an event stream as one answer; None as soon as it is larger than
    *most* bytes. Raises ValueError if a stream cannot be read, and ClientError if it is no whole
    reply.
    """
    served = answer.status in SERVED
    typed = served and answer.content_type == "text/event-stream"
    declared = answer.content_length
    if (
        not typed
        and declared is not None
        and declared <= most
        and "Content-Encoding" not in answer.headers
    ):
        data = await answer.read()
        if not served or not is_event_stream(data[:MOST_HEAD]):
            return data
        streamed = StreamedReply()
        streamed.add_bytes(data)
        return _join_stream(streamed, closed=True)
    # many servers send a stream with the type of JSON, of text, or with none: its first bytes tell
    head, events = bytearray(), True if typed else None if served else False
    if events:
        return await _read_stream(answer, b"", most)
    async for piece in answer.content.iter_any():
        head += piece
        if len(head) > most:
            answer.close()
            return None
        if events is None and len(head) <= MOST_HEAD:
            events = is_event_stream(bytes(head))
            if events:
                return await _read_stream(answer, bytes(head), most)
    return bytes(head)


async def _read_stream(answer: aiohttp.ClientResponse, head: bytes, most: int) -> bytes | None:
    """Read a stream that begins with *head* and return its reply as one answer; None as soon as it
    is larger than *most* bytes.

    What goes wrong once it is whole is no matter: it may have been paid for.
    """
    streamed = StreamedReply()
    closed = False
    try:
        streamed.add_bytes(head)
        while not streamed.done:
            piece = await answer.content.readany()
            if not piece:
                closed = True
                break
            streamed.add_bytes(piece)
            if streamed.size > most:
                answer.close()
                return None
    except (aiohttp.ClientError, TimeoutError):
        if not streamed.ended:
            raise
    return _join_stream(streamed, closed)


def _join_stream(streamed: StreamedReply, closed: bool) -> bytes:
    """Return the reply that *streamed* adds up to; *closed*: nothing more can come, so its last
    line is whole. Raises ClientPayloadError if the reply did not end.
    """
    if closed and not streamed.done:
        streamed.close()
    if not streamed.ended:
        raise aiohttp.ClientPayloadError("the stream ended before the reply did")
    return streamed.encode_completion()


def _convert_to_utf8(data: bytes, charset: str | None) -> bytes:
    """Return *data* in UTF-8, the encoding of JSON, if its header names another *charset*;
    unchanged if that does not fit.
    """
    if charset is None or charset.lower() in ("utf-8", "utf8", "us-ascii", "ascii"):
        return data
    try:
        return data.decode(charset).encode("utf-8", "replace")
    except (LookupError, UnicodeError):
        return data


def _parse_retry_seconds(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which may also be a date; None if it says nothing
    sensible.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(seconds, LONGEST_RETRY_AFTER) if seconds >= 0 else None


def _is_same_provider(tag: str, pin: str) -> bool:
    """Return whether *tag* is what *pin* allows: the same slug, or a variant of it where the pin
    names none.
    """
    tag, pin = tag.lower(), pin.lower()
    return tag == pin or ("/" not in pin and tag.split("/")[0] == pin)
