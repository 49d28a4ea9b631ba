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
    read_provider_names_by_slug,
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
from independence_bench.models.trust import (
    MAX_REPLY,
    Allow,
    is_this_machine,
    merge_environment_and_env_file,
)

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
    """A connection to one endpoint of chat completions. Use it as an async context manager."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None = None,
        *,
        connect: float = CONNECT,
        price: tuple[float, float] | None = None,
    ) -> None:
        """Make a client for *endpoint* with its API *key*; *connect* is how many seconds a
        connection may take.

        *price*: dollars a token, prompt and reply, of models whose price the endpoint does not
        list.
        """
        self.endpoint = endpoint
        self.dialect = DIALECTS[endpoint.dialect]
        self._connect, self._price = connect, price
        self._largest = read_reply_byte_limit(os.environ)
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
                limit=0, ssl=make_tls_context(self.endpoint.url), force_close=True
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
        self, abilities: Mapping[str, Abilities], stored_model_hashes: Container[str] = ()
    ) -> None:
        """Take over what earlier commands learned about models: *abilities*, model id -> what the
        model accepts. *stored_model_hashes* are the hashes of the models that the store knows.
        """
        self._abilities |= abilities
        self._stored = stored_model_hashes

    def find_abilities(self, model: str) -> Abilities:
        """Return what the endpoint's model called *model* accepts: what refused requests taught,
        else what families.yaml knows.
        """
        found = self._abilities.get(model)
        if found is None:
            host = urlsplit(self.endpoint.url).hostname or ""
            found = self._abilities[model] = find_known_abilities(host, model)
        return found

    def pop_learned_abilities(self, model: str) -> Abilities | None:
        """Return what *model* accepts, for the store, if something was learned about that since the
        last call for *model*; None if nothing was.
        """
        if model not in self._news:
            return None
        self._news.discard(model)
        return self._abilities[model]

    async def complete(
        self, request: ChatRequest, max_tokens: int, seed: int = 0
    ) -> Completion | Fault:
        """Send *request* to the endpoint once and return the reply, or a `Fault` that says what
        went wrong; nothing is raised or tried again. Reply and fault keep the seconds taken and the
        raw answer.

        *max_tokens* limits the reply. If the endpoint refuses a part of the request, the fault says
        so, and later requests leave that part out. *seed* is sent to the embedded model only.
        """
        model = request.model.model
        abilities = self.find_abilities(model)
        if request.schema and self.dialect.lists_abilities:
            with suppress(EndpointUnusable):
                unlisted = self.dialect.list_unsupported_json_parts(
                    (await self.find_model_info(model)).parameters
                )
                abilities = replace(abilities, without=abilities.without | unlisted)
        providers: Mapping[str, str] = {}
        # asked before, so that a reply is stored the moment it is there
        if request.model.provider is not None:
            with suppress(EndpointUnusable):
                providers = await self.map_provider_slugs_to_names(request.model.model)
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
            cut = self.arrivals.note_tokens_and_describe_cut(request, outcome.usage.prompt_tokens)
            if (
                cut is not None
                and self.endpoint.free
                and await self._has_real_token_counts(request.model)
            ):
                return Fault(Kind.CUT_PROMPT, cut, 200, **outcome.list_facts())
        return _check_pin(request, outcome, providers)

    def _learn_from_fault(self, request: ChatRequest, abilities: Abilities, fault: Fault) -> Fault:
        """Return *fault*, the answer to *request*, and remember which request parts its model
        refused; *abilities* are those that the request was made for. The returned fault is of kind
        `PART_REFUSED` if sending again without the part helps, or names the setting that has to be
        left unset. A fault that refuses no part is returned as it is.
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

    async def _has_real_token_counts(self, model: ChatModel) -> bool:
        """Return whether the prompt token counts that the endpoint gives for *model* may be real
        counts. Asks the model one word, if that is not known yet.

        Some servers give the same number for every prompt, even for one word, which no chat
        template makes so long.
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
        """Return the prompt text that the server's chat template makes of *request*, by asking the
        server (llama.cpp's tells it); None if the server does not tell or cannot be reached.
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
                data = (
                    await _read_body_or_stream(answer, self._largest)
                    if answer.status == 200
                    else None
                )
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
        """Return the models that the endpoint offers: model id -> price, context and parameters;
        empty if the endpoint keeps no list.

        Asks the endpoint at the first call only. Raises EndpointUnusable if nothing answers at its
        address.
        """
        async with self._asked:
            if self._models is None:
                answer = await self._get_json(self.dialect.models_path)
                self._models = {info.id: info for info in read_model_list(answer)}
            return self._models

    def assume_no_list(self, why: EndpointUnusable) -> None:
        """Make this client treat its endpoint as one that keeps no list of models, so that the list
        is never asked for. The text of *why*, the endpoint's failure, is kept in `unlisted`.
        """
        self._models, self.unlisted = {}, str(why)

    @property
    def has_read_list(self) -> bool:
        """Whether this client has read the endpoint's list of models already, or assumes that there
        is none.
        """
        return self._models is not None

    async def find_model_info(self, model: str) -> ModelInfo:
        """Return the price, context and parameters of *model* from the endpoint's list of models,
        which is asked for if it was not read yet; an entry without any if the list lacks *model*. A
        missing price is the client's own, if one was given.
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
        """Return whether the endpoint's list of models has *model*, with or without its route; True
        if the endpoint keeps no list.
        """
        offered = await self.list_models()
        return not offered or model in offered or self.dialect.find_listed_id(model) in offered

    async def resolve_model(
        self, spec: ModelSpec, temperature: float, max_tokens: int, identity: str = ""
    ) -> ChatModel:
        """Return the model to call for *spec*, a model as a user asked for it. Settings that *spec*
        leaves open come from the protocol (*temperature*, *max_tokens*), changed to what the
        endpoint lets a model be told.

        *identity* says which weights are behind the name; without it, a local server's own word
        counts. On a server that runs models itself, ``MODEL`` means ``MODEL:latest`` if only that
        is there. Costs nothing. Raises NotOffered if the endpoint's list lacks the model,
        SubjectError if the model cannot be called as asked for.
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
        """Send *body*, a chat completion request as JSON, to *url* and return the reply, or a
        `Fault` for whatever goes wrong; both have the seconds taken.
        """
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
                    data = await _read_body_or_stream(answer, self._largest)
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
        """Return the JSON that the endpoint has at *path*; None if the answer is an error, too
        large or no JSON. Raises EndpointUnusable if nothing answers.
        """
        try:
            wait = aiohttp.ClientTimeout(total=60, sock_connect=self._connect)
            url = self.endpoint.url + path
            async with self._session.get(
                url, headers=self._login, allow_redirects=False, timeout=wait
            ) as answer:
                data = (
                    await _read_body_or_stream(answer, LARGEST_LIST)
                    if answer.status == 200
                    else None
                )
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

    async def map_provider_slugs_to_names(self, model: str) -> Mapping[str, str]:
        """Return the providers that serve *model* at this endpoint: provider slug -> display name;
        empty if the endpoint does not say.

        Asks the endpoint until a list came, and remembers that. Raises EndpointUnusable if nothing
        answers.
        """
        path = self.dialect.make_providers_path(model)
        if path is not None and not self._providers.get(model):
            self._providers[model] = read_provider_names_by_slug(await self._get_json(path))
        return self._providers.get(model, {})


def describe_error(error: BaseException) -> str:
    """Return the message of the exception *error* in one line of at most 200 characters, without
    API keys; the exception's class name if it has no message.
    """
    return shorten_line(KNOWN.redact_secrets_and_logins(str(error)), 200) or type(error).__name__


def _check_pin(
    request: ChatRequest, completion: Completion, providers: Mapping[str, str]
) -> Completion | Fault:
    """Return *completion*, or a `Fault` if another provider than the one that *request* insists on
    is known to have served it. If that cannot be known, the completion counts.

    A request names a provider by its slug (``openai``, ``moonshotai/int4``), a reply by its display
    name (``OpenAI``): *providers*, slug -> display name, maps one to the other.
    """
    pin, served = request.model.provider, completion.served_provider
    if pin is None or served is None:
        return completion
    meant = {name for tag, name in providers.items() if _is_allowed_by_pin(tag, pin)}
    if (
        not meant
        or served in meant
        or served not in providers.values()
        or _is_allowed_by_pin(served, pin)
    ):
        return completion
    message = f"asked for {pin}, served by {shorten_line(served, 40)}"
    return Fault(Kind.WRONG_PROVIDER, message, 200, **completion.list_facts())


def find_proxy(url: str) -> str | None:
    """Return the proxy through which the environment (HTTPS_PROXY, NO_PROXY, ...) has *url* asked;
    None if it names none, or *url* is on this machine, which no proxy can reach.
    """
    parts = urlsplit(url)
    if is_this_machine(url) or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def make_tls_context(url: str) -> ssl.SSLContext | bool:
    """Return a new TLS context with the certificates that the server at *url* is checked against;
    True if *url* is plain http. aiohttp's own context was made before `SSL_CERT_FILE` may have been
    set.
    """
    if urlsplit(url).scheme != "https":
        return True
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def is_run_locally(endpoint: Endpoint) -> bool:
    """Return whether the models of *endpoint* run on this machine, so that simultaneous calls share
    its cores. False for Python functions.

    False, too, for a server for which models.yaml sets the number of simultaneous calls: it is made
    for them.
    """
    own = (
        DIALECTS[endpoint.dialect].runs_models
        and endpoint.name != PYTHON
        and endpoint.at_once is None
    )
    return endpoint.name == GGUF or (own and is_this_machine(endpoint.url))


def read_reply_byte_limit(variables: Mapping[str, str]) -> int:
    """Return the most bytes that a reply may have after decompression. The environment *variables*
    may set it in megabytes (`MAX_REPLY`); else it is `LARGEST_REPLY`.

    Raises EndpointUnusable unless the variable is a number above 0 and up to `LARGEST_SETTING`.
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
    """Return the API key of *endpoint* from the environment or `.env`, after *allow* has let the
    key go to the endpoint's address; None if the endpoint has no key variable, or needs no key and
    none is set.

    Raises MissingKey if a needed key is absent, EndpointUnusable if the text cannot be a key, and
    what *allow* raises.
    """
    allow(endpoint)
    if endpoint.key_variable is None:
        return None
    key = merge_environment_and_env_file().get(endpoint.key_variable, "").strip()
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


async def _read_body_or_stream(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    """Return the bytes of the HTTP response *answer*; an event stream is joined into the one reply
    that it adds up to. None as soon as the body is larger than *most* bytes. Raises ValueError if a
    stream cannot be read, and ClientError if it breaks off before the reply's end.
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
        return await _read_streamed_reply(answer, b"", most)
    async for piece in answer.content.iter_any():
        head += piece
        if len(head) > most:
            answer.close()
            return None
        if events is None and len(head) <= MOST_HEAD:
            events = is_event_stream(bytes(head))
            if events:
                return await _read_streamed_reply(answer, bytes(head), most)
    return bytes(head)


async def _read_streamed_reply(
    answer: aiohttp.ClientResponse, head: bytes, most: int
) -> bytes | None:
    """Return the reply that an event stream adds up to, as JSON bytes. *head* are the bytes of
    *answer* that were read already, the rest is read here. None as soon as the stream takes more
    than *most* bytes.

    Errors after the reply's end are passed over: the reply may have been paid for. Raises
    ValueError or ClientError for errors before.
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
            if streamed.counted_size > most:
                answer.close()
                return None
    except (aiohttp.ClientError, TimeoutError):
        if not streamed.ended:
            raise
    return _join_stream(streamed, closed)


def _join_stream(streamed: StreamedReply, closed: bool) -> bytes:
    """Return the reply that the pieces in *streamed* add up to, as JSON bytes. *closed*: the
    connection has ended, so the stream's last line is whole. Raises ClientPayloadError if the reply
    did not end.
    """
    if closed and not streamed.done:
        streamed.close()
    if not streamed.ended:
        raise aiohttp.ClientPayloadError("the stream ended before the reply did")
    return streamed.encode_completion()


def _convert_to_utf8(data: bytes, charset: str | None) -> bytes:
    """Return *data*, the bytes of a reply, in UTF-8 if the reply's header names another *charset*;
    unchanged if *charset* is None or unknown or does not fit.
    """
    if charset is None or charset.lower() in ("utf-8", "utf8", "us-ascii", "ascii"):
        return data
    try:
        return data.decode(charset).encode("utf-8", "replace")
    except (LookupError, UnicodeError):
        return data


def _parse_retry_seconds(value: str | None) -> float | None:
    """Return the seconds to wait that *value*, a Retry-After header (seconds or a date), asks for,
    at most `LONGEST_RETRY_AFTER`; None if there is no header, or one that says nothing sensible.
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


def _is_allowed_by_pin(tag: str, pin: str) -> bool:
    """Return whether the provider *tag* is one that *pin* allows, in any case: the same slug, or a
    variant (``slug/variant``) of it if *pin* names no variant.
    """
    tag, pin = tag.lower(), pin.lower()
    return tag == pin or ("/" not in pin and tag.split("/")[0] == pin)
