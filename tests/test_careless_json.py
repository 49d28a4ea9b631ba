"""JSON with a byte order mark in front, or bare control characters in its strings: read, and not
bought again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_model import Answer, Asked, Bench, ScriptedModel, once_each, steady
from simulated_endpoint import aib

from independence_bench.analysis.audit import audit_protocol
from independence_bench.cli.simulate import map_request_numbers_to_faults
from independence_bench.models.endpoints import read_models_file
from independence_bench.models.messages import Completion
from independence_bench.models.response import read_completion
from independence_bench.models.trust import load_env_file
from independence_bench.protocol.definition import Configuration
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.store.database import open_store

MARK = "\ufeff"
MARKS = {"own_voice": 6, "drift": 3, "changed": False, "resistance": 8}
BOTH_WAYS = (Configuration("plain", "tool_role"), Configuration("plain", "user_role"))


def bare(body: str) -> bytes:
    """*body* with its line breaks and tabs as the characters themselves."""
    return body.replace("\\n", "\n").replace("\\t", "\t").encode()


WAYS: dict[str, tuple[Callable[[str], str], Callable[[str], bytes]]] = {
    # what is done to the JSON inside (a call's arguments, a verdict), and to the body around it
    "a mark before the body": (str, lambda body: (MARK + body).encode()),
    "a mark before what is inside": (lambda text: MARK + text, str.encode),
    "control characters in the body": (
        str,
        lambda body: bare(body).replace(b"Acme", b"Ac\x01\x00me"),
    ),
    "control characters inside": (
        lambda text: text.replace("answer", "\n\tanswer").replace("Judged", "\n\tI"),
        bare,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_in_careless_json_is_bought_once_and_read_alike_by_an_audit(
    bench: Callable[..., Bench], way: str
) -> None:
    """Replies and verdicts that are all there: every question is asked once, and the audit reads
    what is stored.
    """
    inner, outer = WAYS[way]
    honest = steady(MARKS)

    def careless(asked: Asked) -> Answer:
        body = honest(asked).body
        message = body["choices"][0]["message"]
        if message.get("tool_calls"):
            function = message["tool_calls"][0]["function"]
            function["arguments"] = inner(function["arguments"])
        elif asked.judging:
            message["content"] = inner(message["content"])
        return Answer(outer(json.dumps(body, ensure_ascii=False)))

    made = bench(careless)
    report = made.play(
        configurations=[one for one in BOTH_WAYS if one.system in dict(made.protocol.systems)]
    )

    server: ScriptedModel = made.endpoints["scripted"]
    assert report.complete, report.troubles
    assert once_each(server.asked)
    assert {outcome for (outcome,) in made.rows("select outcome from attempts")} == {"answered"}
    assert all(
        "{" not in words and MARK not in words for (words,) in made.rows("select text from replies")
    )
    with open_store(made.store) as opened:
        found = audit_protocol(opened, load_protocol_and_files(made.folder)[0])
    assert [
        finding.kind.name for finding in found.findings if finding.kind.severity == "error"
    ] == []


def test_a_bare_nul_in_a_reply_costs_one_character_and_not_the_reply() -> None:
    """No database holds a NUL."""
    read = read_completion(
        b'{"choices": [{"message": {"content": "I\x00 stay."}, "finish_reason": "stop"}]}',
        200,
        None,
    )

    assert isinstance(read, Completion)
    assert read.content == "I� stay."


def test_what_a_person_writes_may_begin_with_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows editors put one in front of models.yaml, of .env, and of a script of faults."""
    monkeypatch.delenv("OPENROUTER_TITLE", raising=False)
    (tmp_path / "models.yaml").write_text(MARK + "subjects:\n- model: acme/one\n", encoding="utf-8")
    (tmp_path / ".env").write_text(MARK + "OPENROUTER_TITLE=value\n", encoding="utf-8")
    (tmp_path / "faults").write_text(MARK + "3 http-500\n", encoding="utf-8")

    assert [spec.model for spec in read_models_file(tmp_path / "models.yaml").specs] == ["acme/one"]
    assert load_env_file(tmp_path / ".env").taken == {"OPENROUTER_TITLE"}
    assert map_request_numbers_to_faults(tmp_path / "faults") == {3: "http-500"}


def test_an_export_and_a_baseline_that_were_saved_with_a_mark_are_read(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    """A data set that went through an editor is the same data set, and so is the file of a gate."""
    made = bench(steady(MARKS))
    made.play()
    out, baseline, other = tmp_path / "out", tmp_path / "baseline.json", str(tmp_path / "other.db")
    exported = aib(
        tmp_path, "export", str(out), "--licence", "unknown", "--raw", "--store", str(made.store)
    )
    written = aib(tmp_path, "gate", "--write", str(baseline), "--store", str(made.store))
    for file in (baseline, *out.glob("*.json*")):
        file.write_text(MARK + file.read_text(encoding="utf-8"), encoding="utf-8")

    brought = aib(tmp_path, "import", str(out), "--store", other)
    gated = aib(tmp_path, "gate", str(baseline), "--store", other)

    assert [one.returncode for one in (exported, written, brought)] == [0, 0, 0], brought.stderr
    assert "is not a baseline" not in gated.stderr
    assert gated.returncode == 0, "the same marks are not worse"
