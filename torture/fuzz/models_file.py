"""models.yaml: a roster, or one error that names the file; and whatever the roster holds can be
shown and hashed.
"""

from __future__ import annotations

from fuzz.texts import assert_names, assert_one_line, assert_storable
from independence_bench.errors import SubjectError
from independence_bench.models.endpoints import parse_models_file
from independence_bench.models.spec import AUTO, Reasoning


def check(data: bytes) -> None:
    """Read *data* as models.yaml."""
    try:
        roster = parse_models_file(data.decode("utf-8", "surrogateescape"), "models.yaml")
    except SubjectError as error:
        assert_names(error, "models.yaml")
        return
    for name, endpoint in roster.endpoints.items():
        assert_one_line(name, 64)
        assert_one_line(endpoint.url)
        assert endpoint.name == name
        assert not endpoint.url.endswith("/")
        assert_storable(endpoint.key_variable)
    for spec in roster.specs:
        assert spec.endpoint in roster.endpoints
        effort = Reasoning.OFF if spec.reasoning in (None, AUTO) else Reasoning(spec.reasoning)
        model = spec.make_model(0.7, 100, effort)
        assert_one_line(model.label)
        assert_storable(model.label, model.model, model.provider)
        assert len(model.hash) == 64
        assert 0 <= model.temperature <= 2
        assert model.max_tokens >= 1


SEEDS = (
    b"endpoints:\n  lab: {url: 'http://lab:8080/v1/', key_env: LAB_KEY, at_once: 2, free: true, "
    b"dialect: openai}\n"
    b"subjects:\n- {model: a/b, temperature: 0.5, max_tokens: 9, reasoning: off, provider: p, "
    b"active: false}\n"
    b"- {model: c, endpoint: lab, accept_cut_off: true, notes: x}\n",
    b"subjects:\n- model: &m a/b\n- model: *m\n  reasoning: auto\n",
    b"subjects: []\n",
    b'endpoints: {"\\e]0;x\\a": {url: "http://x"}}',
    b"endpoints: {a: {url: 'http://u:p@x'}}",
    b'subjects: [{model: "a/b\\nc"}]',
    b"--- !!python/object:os.system {}\n",
)
FOUND: tuple[bytes, ...] = (
    b"endpoints: {lab: {url: 'http:lab'}}\n",
    b"endpoints: {lab: {url: 'http:\\\\lab'}}\n",
    b'endpoints: {"\\e]0;x\\a": {url: "http://x"}}\n',
    b'subjects: [{model: "a/b\\nc"}]\n',
    b'subjects: [{model: "a/\\u200bb", provider: "p\\tq"}]\n',
)
