"""The viewer's pure parts: ids, bytes, quotes, shared words, offsets, and TypeScript from
classes.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.analysis.judge_agreement import JudgeRow
from independence_bench.analysis.row_costs import RunCost
from independence_bench.analysis.statistics.values import Interval, Uncertainty
from independence_bench.figures import HUNDREDTHS, POINTS, WHOLE, format_number, format_share
from independence_bench.hashing import make_slug
from independence_bench.judging.embedded.reading import (
    SAYS,
    JudgedWords,
    extract_features,
    find_phrases,
)
from independence_bench.report.encode import encode_csv, encode_page_json, format_json
from independence_bench.viewer.conversation import TranscriptJudgement
from independence_bench.viewer.fragments import Score, ScriptLine
from independence_bench.viewer.routes import ANSWERS
from independence_bench.viewer.snapshot import make_scenario_slug, make_transcript_slug
from independence_bench.viewer.spans import Offsets, find_quotes, find_shared_word_runs
from independence_bench.viewer.subjects import RunDetail

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from typescript import typescript, written  # noqa: E402 - the generator is no part of the package

HASH = "0123456789abcdef" * 4
SAFE = re.compile(r"[a-z0-9-]{1,80}")


def in_utf16(text: str, span: Any) -> str:
    """What JavaScript's slice gives."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * span.start : 2 * span.end].decode("utf-16-le", "surrogatepass")


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "CON", "a/b:c", "..", "", "日本", "x" * 400, "\u202e\x00\n"]
)
def test_an_id_is_safe_in_any_path(name: str) -> None:
    """Whatever somebody calls a model: letters, digits and hyphens, and never empty."""
    assert SAFE.fullmatch(make_slug(name, HASH))


@given(st.text())
def test_no_name_makes_an_unsafe_id(name: str) -> None:
    """The same for every text there is."""
    assert SAFE.fullmatch(make_slug(name, HASH))


def test_an_id_can_be_read_and_tells_two_of_one_name_apart() -> None:
    """The name first, the start of the hash behind it."""
    assert make_slug("google/Gemini-3.1@low-t0.7", HASH) == "google-gemini-3-1-low-t0-7-01234567"
    assert make_slug("a", "1" * 64) != make_slug("a", "2" * 64)
    assert make_scenario_slug("tool_context") == "tool-context"
    assert make_transcript_slug("one", "x") != make_transcript_slug("other", "x")


def test_json_is_ascii_and_says_every_text() -> None:
    """Half a surrogate pair, a separator of lines and a quote arrive as they were."""
    text = 'é\u2028\ud800"</script>'

    body = encode_page_json(ScriptLine("human", text))

    assert body.isascii()
    assert json.loads(body) == {"who": "human", "text": text}


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_a_text_is_sent_as_json_writes_it(text: str) -> None:
    """Dashes of our numbers, what a terminal obeys, the words NaN and Infinity: every character,
    escaped alike.
    """
    for said in (text, f"{text}−–—’“”\x7f", f"NaN {text} Infinity"):
        expected = json.dumps({"who": "human", "text": said}, separators=(",", ":"))
        assert encode_page_json(ScriptLine("human", said)) == expected.encode("ascii")


def test_numbers_that_json_has_not_are_refused() -> None:
    """NaN in an answer is a bug, not a number."""
    with pytest.raises(ValueError, match="Out of range"):
        encode_page_json(RunDetail(1, float("nan"), (), (), None))


@dataclass(frozen=True, slots=True)
class Mean:
    """A number with two decimals."""

    mean: Annotated[float, HUNDREDTHS] | None


@pytest.mark.parametrize(
    "value", [8.225, 8.235, 0.005, 0.015, 0.025, 0.045, 0.095, 9.995, 10.0, 0.0]
)
def test_a_number_is_rounded_once_as_python_does(value: float) -> None:
    """The page is sent the terminal's text: a tie of binary fractions to the even digit, others as
    the float lies.
    """
    sent = json.loads(encode_page_json(Mean(value)))

    assert sent["mean"] == value
    assert sent["shown"]["mean"] == format_number(value, 2) == f"{round(value, 2):.2f}"


def test_what_is_shown_of_a_number_follows_from_its_type() -> None:
    """Absent stays null; lists and marks are written one by one; small shares are not nothing."""
    row = RunDetail(2, None, (12.5, None), (99.6,), None)
    judge = JudgeRow("j", "model", 249, 1, 0, -1.25, Interval(-3.0, 0.5), RunCost(0.0123, 1234.6))
    judgement = TranscriptJudgement("j", "model", {"a": 7.0, "b": 7.25}, "", None, (), (), ())
    sent = json.loads(encode_page_json(judge))

    assert json.loads(encode_page_json(row))["shown"] == {
        "index": None,
        "dimensions": ["12", None],
        "scenarios": ["100"],
    }
    assert sent["shown"] == {
        "leniency": "−1.2",
        "failed_share": "<1%",
        "dollars_per_run": "$0.0123",
        "seconds_per_run": "1,235",
    }
    assert sent["leniency_interval"] == {"low": -3.0, "high": 0.5, "shown": "−3.0 to +0.5"}
    assert json.loads(encode_page_json(judgement))["shown"] == {"marks": {"a": "7", "b": "7.2"}}
    assert [format_share(one) for one in (0, 0.0004, 0.006, 0.5)] == ["0%", "<1%", "1%", "50%"]


def test_programs_are_sent_what_a_class_says_of_its_fields() -> None:
    """A property that is annotated, and no field that is hidden."""
    judge = JudgeRow("j", "model", 249, 1, 0, -1.25, None, RunCost(0.0123, 1234.6))

    sent = json.loads(format_json(judge))

    assert (sent["dollars_per_run"], sent["seconds_per_run"], sent["failed_share"]) == (
        0.0123,
        1234.6,
        0.004,
    )
    assert "run_cost" not in sent


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "\n=1",
     "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", " \uff1d1", "\u3000=1"],
)  # fmt: skip
def test_no_cell_is_a_formula(text: str) -> None:
    """A text that a spreadsheet would carry out gets an apostrophe in front; a number stays one."""
    body = encode_csv(["a", "b"], [(text, -1.5)]).decode("utf-8-sig")

    ((_, _), (cell, number)) = csv.reader(io.StringIO(body, newline=""))
    assert cell == f"'{text}"
    assert number == "-1.5"


def test_absent_cells_are_empty_and_odd_texts_stay_in_their_cell() -> None:
    """None is nothing; commas, quotes, line breaks and half pairs break no row."""
    body = encode_csv(["a", "b", "c"], [(None, 'x,"y"\nz', "\ud800"), (True, False, 0)]).decode(
        "utf-8-sig"
    )

    assert list(csv.reader(io.StringIO(body, newline=""))) == [
        ["a", "b", "c"],
        ["", 'x,"y"\nz', "?"],
        ["yes", "no", "0"],
    ]


def test_offsets_count_as_javascript_does() -> None:
    """An owl takes two code units."""
    text = "🦉 hoots 🦉 twice"
    start = text.index("twice")

    span = Offsets(text).make_utf16_span(start, start + 5)

    assert (span.start, span.end) == (12, 17)
    assert in_utf16(text, span) == "twice"


QUOTED = [
    ('It says "I keep my name, always" here.', "Well, I keep my name, always. Really."),
    ("It says “I keep my name, always.”", "Well, I KEEP my name,\nalways! Really."),
    ("It says 'I don't want to change' here.", "I don’t want to change."),
    ("It says `I keep my name`.", "I keep *my* **name**."),
]


@pytest.mark.parametrize(("reasoning", "line"), QUOTED)
def test_a_quote_is_found_however_it_is_set(reasoning: str, line: str) -> None:
    """Case, spaces, emphasis and the kind of quotation marks make no difference."""
    (found,) = find_quotes(reasoning, ["something else", line])

    assert found.line == 1
    kept = re.sub(r"\W+", "", line[found.from_ : found.to].lower())
    assert kept == re.sub(r"\W+", "", reasoning[found.start : found.end].lower())


def test_a_quote_with_something_left_out_is_found_in_parts() -> None:
    """Each part for itself, where it stands."""
    line = "I keep my name because nobody else can have it, and I like it very much."

    found = find_quotes('It says "I keep my name ... I like it very much".', [line])

    assert [line[one.from_ : one.to] for one in found] == ["I keep my name", "I like it very much"]


def test_what_nobody_said_is_no_quote() -> None:
    """Words of the judge's own in quotation marks, short ones, and parts of other words."""
    assert (
        find_quotes(
            'No "helpful assistant" here, "yes".', ["I am an unhelpful assistants' friend, yes."]
        )
        == []
    )
    assert find_quotes("", ["x"]) == []
    assert find_quotes('"unterminated and long enough', ["unterminated and long enough"]) == []


def test_the_marked_reply_is_looked_at_first() -> None:
    """The human may have said the same before."""
    lines = ["keep your own name", "keep your own name", "keep your own name"]

    (found,) = find_quotes('"keep your own name"', lines, first_searched_lines=[2])

    assert found.line == 2


@given(
    st.text(alphabet="ab \"“”'`.…", max_size=60),
    st.lists(st.text(alphabet="ab .", max_size=40), max_size=3),
)
def test_every_quote_that_is_found_is_inside_its_texts(reasoning: str, lines: list[str]) -> None:
    """Whatever the texts: spans are in order and within them."""
    for quote in find_quotes(reasoning * 3, [line * 3 for line in lines]):
        assert 0 <= quote.start < quote.end <= len(reasoning * 3)
        assert 0 <= quote.from_ < quote.to <= len(lines[quote.line] * 3)


def test_two_answers_share_runs_of_words() -> None:
    """Three words or more, without regard to case, wherever they have moved to."""
    first = "I like tea. I would never give up my name."
    second = "Never mind. i would never give up, not tea, not that."

    assert [(first[a:b], second[c:d]) for a, b, c, d in find_shared_word_runs(first, second)] == [
        ("I would never give up", "i would never give up")
    ]


def test_answers_without_a_common_run_share_nothing() -> None:
    """Nor do empty ones."""
    assert find_shared_word_runs("one two", "one two") == []
    assert find_shared_word_runs("", "a b c d") == []


def test_sharing_takes_time_by_length_alone() -> None:
    """The worst text for other methods, one word ten thousand times, is one run."""
    text = "ha " * 10_000

    assert len(find_shared_word_runs(text, text)) == 1


@given(st.text(alphabet="ab c.", max_size=80), st.text(alphabet="ab c.", max_size=80))
def test_shared_runs_are_the_same_words(first: str, second: str) -> None:
    """In the second text in order and apart."""
    before = 0
    for a, b, c, d in find_shared_word_runs(first, second):
        assert re.findall(r"\w+", first[a:b]) == re.findall(r"\w+", second[c:d])
        assert before <= c < d
        before = d


def test_phrases_of_the_table_are_found_where_they_stand() -> None:
    """A phrase with a sentence's end stands where its word does."""
    answer = "I keep it. Don’t ask; I keep İt!"

    stands = find_phrases(answer, ["keep it", ". don't", "ask", "nowhere", "(asks questions)"])

    assert [answer[a:b] for a, b in stands["keep it"]] == ["keep it"]
    assert [answer[a:b] for a, b in stands[". don't"]] == ["Don’t"]
    assert stands["nowhere"] == stands["(asks questions)"] == []


@given(st.text(alphabet="aé'’. ?İx🦉", max_size=60))
def test_every_phrase_that_the_table_reads_stands_somewhere(answer: str) -> None:
    """The same reading: what weighs can be shown."""
    stands = find_phrases(answer, extract_features(JudgedWords("", "", answer)).phrases)

    assert all(places for phrase, places in stands.items() if not phrase.startswith(SAYS))
    assert all(0 <= a < b <= len(answer) for places in stands.values() for a, b in places)


def test_types_are_written_in_typescripts_words() -> None:
    """Null, lists, records and literals; anything else is refused."""
    assert written(str | None) == "string | null"
    assert written(tuple[int, ...]) == "readonly number[]"
    assert written(tuple[float | None, ...]) == "readonly (number | null)[]"
    assert written(Mapping[str, float]) == "Readonly<Record<string, number>>"
    assert written(tuple[str, float | None]) == "readonly [string, number | null]"
    assert written(Interval) == "Interval"
    with pytest.raises(TypeError):
        written(set[str])


def test_every_class_becomes_an_interface_with_its_words() -> None:
    """Docstrings and the comments behind fields are carried over, and what is made into text is
    there.
    """
    made = typescript(ANSWERS)

    assert (
        "/** A number in [0, 100] with its uncertainty. */\nexport interface Score {\n  readonly "
        "value" in made
    )
    assert (
        "  readonly why: string | null; // why an interval is missing; null where none is\n" in made
    )
    assert (
        "export interface RunDetail {\n  readonly run: number;\n  readonly index: number | null;"
        in made
    )
    assert '\n  readonly shown: Shown<RunDetail, "index" | "dimensions" | "scenarios">;\n}' in made


def test_a_number_is_written_in_the_form_of_its_field() -> None:
    """An interval has its ends in it, a score its value; without a form nothing is made up."""
    score = Score(82.25, Uncertainty(Interval(80.0, 100.0)), None)

    index, dimension = (
        json.loads(encode_page_json(Scores(score, score)))[name] for name in ("index", "dimension")
    )

    assert (index["shown"], index["uncertainty"]["rerun"]["shown"]) == ("82.2", "80.0–100")
    assert (dimension["shown"], dimension["uncertainty"]["rerun"]["shown"]) == ("82", "80–100")
    with pytest.raises(TypeError, match="Interval"):
        encode_page_json(Interval(0.0, 1.0))


@dataclass(frozen=True)
class Scores:
    """Two scores that are written each in its own way."""

    index: Annotated[Score, POINTS]
    dimension: Annotated[Score, WHOLE]
