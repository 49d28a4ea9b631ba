"""An endpoint's list of models, and one model's list of providers. Where the first byte is 0, JSON
is grown.

What cannot be read is left out; prices are sensible or absent; nothing raises.
"""

from __future__ import annotations

import json

from fuzz.json_values import flatten, grow
from independence_bench.models.response import read_model_list, read_provider_names_by_slug
from independence_bench.models.spec import AUTO


def check(data: bytes) -> None:
    """Read *data* as both."""
    try:
        value = grow(data[1:], WORDS) if data[:1] == b"\0" else json.loads(data)
    except (ValueError, RecursionError):
        return  # the client reads it as no list
    for info in read_model_list(value):
        assert isinstance(info.id, str)
        assert info.request_price >= 0
        assert info.prompt_price is None or 0 <= info.prompt_price < 1e6
        assert info.completion_price is None or 0 <= info.completion_price < 1e6
        most = info.compute_cost(1000, 1000)
        assert most is None or 0 <= most < 1e10
        assert len(info.identity) in (0, 16)
        if info.parameters is not None:
            info.choose_effort(AUTO)
    for tag, name in read_provider_names_by_slug(value).items():
        assert isinstance(tag, str)
        assert isinstance(name, str)


WORDS = (
    "data", "id", "pricing", "prompt", "completion", "request", "supported_parameters", "tools",
    "reasoning", "meta", "n_ctx", "root", "digest", "endpoints", "tag", "provider_name", "a/b",
    "-1", "1e999", "0.000001", "\ud800",
)  # fmt: skip
AS_SENT = (
    b'{"data":[{"id":"a/b","pricing":{"prompt":"0.000001","completion":"0.000002","request":"0"},'
    b'"supported_parameters":["tools","reasoning"],"meta":{"n_ctx":1,"size":2},'
    b'"root":"r","digest":"d"}]}',
    b'{"data":[{"id":"a","pricing":{"prompt":"-1","completion":1e999,"request":null}},'
    b'{"id":3},null,[]]}',
    b'{"data":{"id":"a/b","endpoints":[{"tag":"openai","provider_name":"OpenAI"},{"tag":1},null]}}',
    b'{"data":[{"id":"\\ud800","meta":{"x":NaN,"y":[[[["deep"]]]]}}]}',
)
SEEDS = AS_SENT + tuple(b"\0" + flatten(json.loads(sent), WORDS) for sent in AS_SENT)
FOUND: tuple[bytes, ...] = ()
