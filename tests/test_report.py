"""`aib generate-report`: its files, what is in them, and that nothing from outside becomes
markup.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from inprocess_aib import invoke
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len
from scripted_model import Answer, Asked, Bench, ScriptedModel, says, verdict
from shared_bench import bench_in
from simulated_endpoint import environment
from test_hostile_names import EVIL, OBEYED, ODD, assert_tame

from independence_bench.analysis.chosen_names import NamesRead
from independence_bench.analysis.leaderboard import Wanted, make_leaderboards
from independence_bench.api.reports import make_report_files
from independence_bench.escape import escape_line
from independence_bench.figures import format_difference
from independence_bench.judging.extraction import UNREAD, ChosenName
from independence_bench.models.spec import Reasoning
from independence_bench.protocol.definition import Configuration
from independence_bench.report.contents import Contents, read_contents
from independence_bench.report.format import name_models
from independence_bench.report.leaderboard_view import format_boards_json
from independence_bench.report.report_markdown import format_time
from independence_bench.report.svg import STYLE, escape_and_shorten_label
from independence_bench.report.table import render_markdown_code, render_markdown_prose
from independence_bench.store.database import open_store

Benches = Callable[..., Bench]
SVG = "{http://www.w3.org/2000/svg}"
FILES = {f"LEADERBOARD{end}" for end in (".md", ".json", "-ranking.svg", "-scenarios.svg")}
NAMES = tuple(value for value in (*OBEYED.values(), *ODD.values()) if "\udcff" not in value)


def answers(asked: Asked) -> Answer:
    """Everybody answers but silent; the judge has no verdict on broken, and marks resistance by the
    text's length.
    """
    if asked.judging:
        marks = {"own_voice": 6, "drift": 3, "changed": False, "resistance": len(asked.text) % 11}
        return says(asked, EVIL) if "signed broken" in asked.text else verdict(asked, marks)
    signed = "broken" if asked.model.endswith("broken") else str(asked.number)
    return says(
        asked, "" if asked.model.endswith("silent") else f"I stay who I am, signed {signed}."
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something for every section: pins, efforts, two configurations, two judges,
    somebody broken.
    """
    with bench_in(tmp_path_factory.mktemp("played"), answers) as made:
        one = made.subject("acme/one")
        others = (
            made.subject("acme/one", provider="fast"),
            made.subject("acme/one", reasoning=Reasoning.HIGH, max_tokens=400),
            made.subject("acme/broken"),
            made.subject("acme/silent"),
        )
        made.play(one, *others, runs=2)
        made.play(one, configurations=[Configuration("neutral", "tool_role")])
        made.play(one, judge="judge/another")
        return made.store


@pytest.fixture
def made(bench: Benches, played: Path) -> Bench:
    """A bench with a copy of that store."""
    made = bench(answers)
    shutil.copy(played, made.store)
    return made


def contents_of(made: Bench, *names: str | None) -> Contents:
    """What the report says, where the first subject has chosen *names*, one after the other; None:
    not read.
    """
    found = made.boards()
    where = found[0].configurations[0]
    row = found[0].ranked[0] if found[0].ranked else found[0].incomplete[0]
    readings = [
        NamesRead(row.subject.hash, row.label, 1, where, "choice", "", "", True, choice, choice)
        for choice in (
            UNREAD if name is None else ChosenName(name, None, "chosen", "declined")
            for name in names
        )
    ]
    with open_store(made.store) as store:
        return read_contents(store, made.protocol, found, readings)


def report(made: Bench, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`aib generate-report`, in the folder of the bench's store."""
    folder = Path(made.store).parent
    said = ("generate-report", "--store", str(made.store), *arguments)
    return invoke(folder, environment(folder) | variables, *said)


def written(folder: Path) -> dict[str, bytes]:
    """The report's files in *folder*."""
    return {path.name: path.read_bytes() for path in folder.glob("LEADERBOARD*")}


# ---------------------------------------------------------------- Markdown, read as GitHub would


def parsed(text: str) -> list[Token]:
    """The tokens of Markdown with tables and raw HTML allowed: what could be markup is."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)


def inline(tokens: list[Token]) -> Iterator[Token]:
    """Every token inside a line of text."""
    for token in tokens:
        yield from token.children or ()


def sections(text: str) -> dict[str, list[list[str]]]:
    """Heading -> the rows of the tables under it; each cell as a reader sees it."""
    found: dict[str, list[list[str]]] = {}
    heading, tokens = "", parsed(text)
    for n, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = seen(tokens[n + 1])
            found[heading] = []
        elif token.type == "tr_open":
            found[heading].append([])
        elif token.type in ("td_open", "th_open"):
            found[heading][-1].append(seen(tokens[n + 1]))
    return found


def seen(token: Token) -> str:
    """The words of a line."""
    return "".join(child.content for child in token.children or ())


def test_the_report_has_every_section_and_each_table_a_sentence(made: Bench) -> None:
    """What a table says in a heading, a sentence under it explains."""
    text = make_report_files(contents_of(made, "Wren", "Ash", None), "LEADERBOARD")[
        "LEADERBOARD.md"
    ]

    tokens = parsed(text)
    headings = [
        seen(tokens[n + 1])
        for n, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    assert headings == [
        "Ranking",
        "Incomplete models",
        "Excluded models",
        "Configurations",
        "Other configurations and judges",
        "Providers of one model",
        "Reasoning efforts",
        "What a run costs",
        "Judges",
        "Names that models give themselves",
        "Scenarios: difficulty and discrimination",
        "When the runs were made",
        "Data health",
        "What it cost",
        "Every model in detail",
    ]
    after = [
        said_after(tokens[n + 1 :]) for n, token in enumerate(tokens) if token.type == "table_close"
    ]
    assert len(after) == 17 + 4  # and one for each subject
    assert min(map(len, after[:13])) > 50
    assert min(map(len, after)) > 0


def said_after(tokens: Sequence[Token]) -> str:
    """What follows a table, up to the next one or the next heading: a paragraph or a list."""
    following = takewhile(lambda token: token.type not in ("table_open", "heading_open"), tokens)
    return " ".join(seen(token) for token in following if token.type == "inline")


def test_every_number_of_the_ranking_is_the_boards(made: Bench) -> None:
    """The Markdown, the JSON and the leaderboard are one set of rows."""
    contents = contents_of(made)
    names = contents.name_models()
    files = make_report_files(contents, "LEADERBOARD")
    told = json.loads(files["LEADERBOARD.json"])
    head, *rows = sections(files["LEADERBOARD.md"])["Ranking"]

    assert head[:6] == [
        "Possible ranks",
        "Model",
        "Index",
        "95% CI (same scenarios)",
        "95% CI (new scenarios)",
        "Own voice",
    ]
    assert head[6:] == ["Low drift", "Resistance", "Runs"]
    for row, r in zip(rows, contents.main.ranked, strict=True):
        again, standing = r.index_interval.rerun, r.ranks
        assert row[0] == f"{standing.rank_low}–{standing.rank_high}"
        assert row[1] == names[r.label] + " ≈" * standing.tied_with_best + " †" * r.thinks
        assert row[2:5] == [f"{r.index:.1f}", f"{again.low:.1f}–{again.high:.1f}", "–"]
        assert row[8] == "2"
    (board, *_) = told["boards"]
    assert [(r["label"], r["index"]) for r in board["ranked"]] == [
        (r.label, r.index) for r in contents.main.ranked
    ]
    assert [r["label"] for r in board["incomplete"]] == [
        "scripted:acme/broken@none-t0.7",
        "scripted:acme/silent@none-t0.7",
    ]
    assert told["updated"] == format_time(contents.updated)
    assert told["cost"]["this_command"] == 0
    assert [one["id"] for one in told["scenarios"]] == [
        scenario.id for scenario in made.protocol.scenarios
    ]


def test_tables_say_what_was_played(made: Bench) -> None:
    """Pins, efforts, configurations, judges, health and marks, as somebody reads them."""
    files = make_report_files(contents_of(made), "LEADERBOARD")
    told = sections(files["LEADERBOARD.md"])

    assert [row[1] for row in told["Providers of one model"][1:]] == ["not pinned", "fast"]
    assert [row[1] for row in told["Reasoning efforts"][1:]] == ["off", "high"]
    assert [row[:2] for row in told["Configurations"][1:3]] == [
        ["neutral/tool_role", "1"],
        ["strong/tool_role", "3"],
    ]
    assert [row[0] for row in told["Judges"][1:]] == [
        "scripted:judge/one@none-t0.0",
        "scripted:judge/another@none-t0.0",
    ]
    head, *rows = told["Data health"]
    health = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert set(health) == {"scripted:acme/broken", "scripted:acme/silent"}
    assert head == ["Model", "Judge failed", "Invalid", "Failed"]
    assert health["scripted:acme/broken"]["Judge failed"] == "8"
    (detail,) = (rows for heading, rows in told.items() if heading == "scripted:acme/one@none-t0.7")
    assert ["drift", "0-10", "3.00", "2 of 2", "3.00", "3.00"] in detail
    assert [row[0] for row in told["What it cost"][1:]] == [
        "This report",
        "Models",
        "Judges",
        "Total",
    ]


def test_what_others_paid_is_told_apart(made: Bench) -> None:
    """Imported calls are in no sum, and the report says what they cost; without any it says nothing
    of them.
    """
    contents = contents_of(made)
    before = make_report_files(contents, "LEADERBOARD")
    after = make_report_files(replace(contents, imported=(3, 1.5)), "LEADERBOARD")

    assert "imported call" not in before["LEADERBOARD.md"]
    assert (
        "3 imported calls cost $1.50 where they were made, not included above."
        in after["LEADERBOARD.md"]
    )
    costs = [json.loads(files["LEADERBOARD.json"])["cost"] for files in (before, after)]
    assert [cost.pop("imported_calls") for cost in costs] == [0, 3]
    assert [cost.pop("imported_dollars") for cost in costs] == [0, 1.5]
    assert costs[0] == costs[1]


def test_an_incomplete_subject_is_told_with_its_reasons_and_no_number(made: Bench) -> None:
    """Nothing of it is in the ranking, the scenarios or the dollars."""
    text = make_report_files(contents_of(made), "LEADERBOARD")["LEADERBOARD.md"]
    label, silent = "scripted:acme/broken", "scripted:acme/silent"
    whole = f"{label}@none-t0.7"

    told = sections(text)

    for heading in ("Ranking", "What a run costs"):
        assert not {label, silent} & {cell for row in told[heading] for cell in row}
    between = text.partition("## Incomplete models")[2].partition("\n## ")[0]
    assert f"`{label}`" in between
    assert "the judge failed" in between
    assert [row[2] for row in told[whole][1:] if row[0] in ("resistance", "index")] == ["–", "–"]
    assert ["resistance", "0-10", "–", "0 of 4", "–", "–"] in told[whole]
    assert silent not in between
    excluded = text.partition("## Excluded models")[2].partition("\n## ")[0]
    assert f"| `{silent}` | 0 of 8 | 0 of 2 |" in excluded
    assert "excluded: 8 of 8 conversations have no valid reply, over 20%" in excluded
    assert label not in excluded
    assert told[f"{silent}@none-t0.7"] == []
    head, *rows = told["Data health"]
    health = {row[0]: row[head.index("Invalid")] for row in rows}
    assert (health[silent], health[label]) == ("100%", "0%")


def test_the_first_three_sentences_say_what_was_asked_who_leads_and_what_is_unknown(
    made: Bench,
) -> None:
    """A reader of the first paragraph alone has the answer and its limits."""
    contents = contents_of(made)
    text = make_report_files(contents, "LEADERBOARD")["LEADERBOARD.md"]
    first = text.split("\n\n")[1]

    assert first.startswith("3 models played all of the 4 scripted conversations of small")
    leader = contents.name_models()[contents.main.ranked[0].label]
    assert f"{render_markdown_prose(leader)} leads with an index of" in first
    assert "The numbers cannot tell whether a model is right or useful" in first


def test_a_model_is_named_without_settings_unless_two_differ_by_them_alone() -> None:
    """A provider or settings stay where they tell two rows apart."""
    assert name_models(
        ["a/x@none-t0.7", "a/x@low-t0.7", "b/k+fast@none", "b/k+slow@none", "c/one+fast@none"]
    ) == {
        "a/x@none-t0.7": "a/x@none-t0.7",
        "a/x@low-t0.7": "a/x@low-t0.7",
        "b/k+fast@none": "b/k+fast",
        "b/k+slow@none": "b/k+slow",
        "c/one+fast@none": "c/one",
    }


def test_health_is_one_sentence_where_nothing_is_wrong_and_empty_sections_are_left_out(
    bench: Benches,
) -> None:
    """No table of zeros, and no heading with nothing below it."""
    made = bench(answers)
    made.play()
    text = make_report_files(contents_of(made), "LEADERBOARD")["LEADERBOARD.md"]

    health = text.partition("## Data health\n\n")[2].partition("\n\n## ")[0]
    assert health.startswith("Nothing is wrong with the data: ")
    assert "|" not in health
    told = sections(text)
    assert not {"Incomplete models", "Configurations", "Reasoning efforts"} & set(told)


def test_nobody_ranked_is_a_report_too(bench: Benches) -> None:
    """No table stands empty, and the pictures are pictures."""
    made = bench(answers)
    made.play(judge=None)

    files = make_report_files(contents_of(made), "LEADERBOARD")

    assert "No model is complete yet" in files["LEADERBOARD.md"]
    assert "Nothing is judged yet." in files["LEADERBOARD.md"]
    assert "](LEADERBOARD-" not in files["LEADERBOARD.md"]
    for name in ("LEADERBOARD-ranking.svg", "LEADERBOARD-scenarios.svg"):
        ElementTree.fromstring(files[name])


# ---------------------------------------------------------------- hostile


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    """Subjects, providers, judges, errors and names that say everything that a page might obey."""
    with bench_in(tmp_path_factory.mktemp("hostile"), answers) as made:
        subjects = [made.subject(name) for name in NAMES]
        subjects += [made.subject(f"{name}broken") for name in NAMES[:3]] + [
            made.subject("a/x|y", provider=EVIL)
        ]
        made.play(
            *subjects, judge="judge/" + ODD["html"] + ODD["pipe"] + ODD["code"], calls_at_once=16
        )
        return contents_of(made, *NAMES)


def test_no_name_becomes_markup(hostile: Contents) -> None:
    """No HTML, no link but to our files, no broken row; every name is there, as it is shown
    everywhere.
    """
    text = make_report_files(hostile, "LEADERBOARD")["LEADERBOARD.md"]
    tokens = parsed(text)

    assert_tame(text)
    made = {t.content for t in tokens if t.type in ("html_block", "fence", "code_block", "hr")}
    assert {re.sub(r"\d+", "N", one) for one in made} == {
        "<details>\n<summary>N models</summary>\n",
        "</details>\n",
    }
    kinds = {t.type for t in inline(tokens)}
    assert kinds <= {
        "text",
        "code_inline",
        "strong_open",
        "strong_close",
        "link_open",
        "link_close",
        "image",
        "softbreak",
    }
    targets = {
        str(t.attrs.get("href") or t.attrs.get("src"))
        for t in inline(tokens)
        if t.type in ("link_open", "image")
    }
    assert targets == FILES - {"LEADERBOARD.md"}
    told = sections(text)
    assert all(
        len({len(row) for row in rows}) == 1
        for heading, rows in told.items()
        if heading == "Ranking"
    )
    labels = {row[1].removesuffix(" !") for row in told["Ranking"][1:]}  # some read like others
    assert labels == {as_code(hostile.name_models()[row.label]) for row in hostile.main.ranked}
    assert len(labels) == len(NAMES) + 1
    assert {row[0] for row in told["Names that most models chose"][1:]} >= {
        "a/x|y",
        "a/<script>alert(1)</script>",
    }


def as_code(label: str) -> str:
    """A label as it stands in code: what would end the code or the cell is written out."""
    return escape_line(label).replace("`", "\\u{60}").replace("|", "\\u{7c}")


@pytest.mark.parametrize(
    "text",
    ["*a* _b_ __c__ ~~d~~ "
        "`e`", "<b>x</b> &lt; &amp;", "[a](http://x) ![b](y)", "http://x.y www.x.y", "a | b \\| c",
     "# h", "$x$ \\(y\\)", "first_choice", "@who #1", *OBEYED.values(), *ODD.values()],
)  # fmt: skip
def test_prose_is_read_as_it_was_written(text: str) -> None:
    """In a cell and in a line of its own."""
    tokens = parsed(
        f"- {render_markdown_prose(text)}\n\n| a |\n| --- |\n| {render_markdown_prose(text)} |\n"
    )

    lines = [seen(token).strip() for token in tokens if token.type == "inline"]
    assert lines == [escape_line(text).strip(), "a", escape_line(text).strip()]
    assert {child.type for child in inline(tokens)} == {"text"}
    assert not re.search(r"https?://|www\.", render_markdown_prose(text))


def test_a_word_with_an_underscore_stays_readable() -> None:
    """Escapes are for what would be markup, and for nothing else."""
    assert (
        render_markdown_prose("run 1: 2 × not played (first_choice, 3 tries)")
        == "run 1: 2 × not played (first_choice, 3 tries)"
    )
    assert render_markdown_code("acme/one@none-t0.7") == "`acme/one@none-t0.7`"
    assert render_markdown_code("") == "`–`"


@pytest.mark.parametrize("which", ["LEADERBOARD-ranking.svg", "LEADERBOARD-scenarios.svg"])
def test_pictures_hold_names_as_text_and_nothing_else(hostile: Contents, which: str) -> None:
    """Well-formed XML of the few elements that we draw with; no script, no link, no attribute from
    outside.
    """
    text = make_report_files(hostile, "LEADERBOARD")[which]
    root = ElementTree.fromstring(text)

    assert_tame(text)
    drawn = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert drawn <= {"svg", "title", "desc", "style", "rect", "g", "text", "path", "circle"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or "href" in name}
    titles = " ".join(element.text or "" for element in root.iter(f"{SVG}title"))
    for row in hostile.main.ranked:
        assert escape_line(row.label) in titles


# ---------------------------------------------------------------- pictures


def test_every_dot_is_at_its_index(made: Bench) -> None:
    """Between the lines of 0 and 100, on its own line, the best on top."""
    contents = contents_of(made)
    root = ElementTree.fromstring(
        make_report_files(contents, "LEADERBOARD")["LEADERBOARD-ranking.svg"]
    )

    lines = [
        float(m.group(1))
        for p in root.iter(f"{SVG}path")
        if (m := re.match(r"M([\d.]+) [\d.]+V", p.attrib["d"]))
    ]
    dots = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{SVG}circle")]

    assert len(lines) == 6
    zero, hundred = lines[0], lines[-1]
    assert [(x - zero) / (hundred - zero) * 100 for x, _ in dots] == [
        pytest.approx(row.index, abs=0.05) for row in contents.main.ranked
    ]
    assert [y for _, y in dots] == sorted(y for _, y in dots)


def test_the_map_has_a_cell_for_every_subject_and_scenario(made: Bench) -> None:
    """With its score in words, for who cannot tell the colours apart."""
    contents = contents_of(made)
    root = ElementTree.fromstring(
        make_report_files(contents, "LEADERBOARD")["LEADERBOARD-scenarios.svg"]
    )

    cells = [g for g in root.iter(f"{SVG}g") if g.find(f"{SVG}rect") is not None]
    told = [(g.find(f"{SVG}text").text, g.find(f"{SVG}rect").attrib["class"]) for g in cells]  # type: ignore[union-attr]

    scores = [
        score for row in contents.complexity.scores for score in row.scores if score is not None
    ]
    assert told == [(f"{100 * score:.0f}", f"f{round(10 * score)}") for score in scores]
    assert len(scores) == 3 * 4


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (#rrggbb) as WCAG 2 defines it, 1 to 21."""

    def luminance(colour: str) -> float:
        shares = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        red, green, blue = (
            s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("part", [0, 1], ids=["light", "dark"])
def test_everything_stands_out_in_light_and_dark(part: int) -> None:
    """WCAG 2: 4.5 for text, on the ground and in every cell, 3 for dots; a higher score stands out
    more.
    """
    rules = STYLE.split("@media (prefers-color-scheme:dark)")[part]
    colours = dict(re.findall(r"(\w+)\{(?:fill|color|stroke):(#\w{6})", rules))
    ground = colours["ground"]

    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    # the well-known grey that just fails
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast(colours["svg"], ground) > 4.5
    assert contrast(colours["dot"], ground) > 3
    assert 1.2 < contrast(colours["line"], ground) < contrast(colours["dot"], ground)
    steps = [colours[f"f{step}"] for step in range(11)]
    assert steps == sorted(set(steps), key=lambda colour: contrast(colour, ground))
    assert all(contrast(colours[f"t{step}"], colour) > 4.5 for step, colour in enumerate(steps))


@pytest.mark.parametrize("name", ODD)
def test_a_long_name_loses_its_middle(name: str) -> None:
    """What tells subjects apart is at both ends; wide characters count twice."""
    text = ODD[name] + "@none-t0.7"

    short = escape_and_shorten_label(text, 40)

    assert cell_len(short) <= 40
    assert short == escape_line(text) or ("…" in short and short.endswith("@none-t0.7"))


# ---------------------------------------------------------------- the command


def test_the_command_writes_four_files_and_says_so(made: Bench) -> None:
    """Into a folder that it makes; stdout names them."""
    folder = Path(made.store).parent / "a" / "b"

    done = report(made, "--out", "a/b")

    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == {f"a/b/{name}" for name in FILES}
    assert set(written(folder)) == FILES


def test_the_boards_are_those_of_the_leaderboard(made: Bench) -> None:
    """The main one first; every number of a row, what it rests on included."""
    contents = contents_of(made)
    written = json.loads(make_report_files(contents, "LEADERBOARD")["LEADERBOARD.json"])

    assert (
        written["boards"]
        == json.loads(format_boards_json([contents.main, *contents.others]))["boards"]
    )
    health = {row["label"]: row["health"] for row in written["boards"][0]["incomplete"]}
    assert health["scripted:acme/silent@none-t0.7"]["share_attempts_failed"] == 1.0
    assert health["scripted:acme/broken@none-t0.7"]["attempts_failed"] == 0


def test_a_report_can_be_about_a_jury(made: Bench) -> None:
    """The mean of two judges, as the leaderboard has it; nothing else stands in it."""
    folder = Path(made.store).parent
    one = made.subject("acme/one")
    made.play(one, runs=2, judge="judge/another")

    done = report(made, "--jury", "judge/one,judge/another")

    assert (done.returncode, done.stderr) == (0, "")
    text = (folder / "LEADERBOARD.md").read_text(encoding="utf-8")
    told = json.loads((folder / "LEADERBOARD.json").read_text(encoding="utf-8"))
    with open_store(made.store) as store:
        shown = make_leaderboards(store, made.protocol, Wanted(jury=("judge/one", "judge/another")))
    assert "jury of 2" in text
    assert [board["judge"] for board in told["boards"]] == [board.judge for board in shown]
    assert (
        [row["index"] for row in told["boards"][0]["ranked"]]
        == [row.index for row in shown[0].ranked]
        != []
    )


def test_the_same_store_gives_the_same_bytes(made: Bench) -> None:
    """In another time zone, with another order of sets, in another folder; and the store is as it
    was.
    """
    folder = Path(made.store).parent
    before = Path(made.store).read_bytes()
    odd = [("Pacific/Kiritimati", "1"), ("America/St_Johns", "2"), ("UTC", "0")]
    for n, (zone, seed) in enumerate(odd):
        assert report(made, "--out", str(n), TZ=zone, PYTHONHASHSEED=seed).returncode == 0

    first, *others = [written(folder / str(n)) for n in range(len(odd))]

    assert set(first) == FILES
    assert all(other == first for other in others)
    assert Path(made.store).read_bytes() == before


def test_a_copy_is_kept_under_the_time_of_the_newest_record(made: Bench) -> None:
    """Its links lead to its own pictures; after a new record there is another one beside it."""
    folder = Path(made.store).parent
    stamp = (
        re.sub(r"[-:]", "", str(format_time(contents_of(made).updated)))
        .removesuffix(" UTC")
        .replace(" ", "T")
    )

    assert report(made, "--keep").returncode == 0

    copies = {name.replace("LEADERBOARD", f"LEADERBOARD-{stamp}Z") for name in FILES}
    files = written(folder)
    assert set(files) == FILES | copies
    text = files[f"LEADERBOARD-{stamp}Z.md"].decode()
    assert text.replace(f"LEADERBOARD-{stamp}Z", "LEADERBOARD") == files["LEADERBOARD.md"].decode()


def test_last_updated_is_the_newest_records_time(made: Bench) -> None:
    """In UTC, and not the time of the report."""
    (newest,) = made.rows(
        "select max(t) from (select max(stored_at) as t from judgements union all "
        "select max(finished_at) from transcripts union all select max(finished_at) from "
        "attempts) as every"
    )[0]

    report(made)

    text = written(Path(made.store).parent)["LEADERBOARD.md"].decode()
    assert f"Last updated {format_time(newest)}." in text
    assert format_time(0.0) == "1970-01-01 00:00:00 UTC"
    assert format_time(None) is None


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--judge", "nobody"], 2, "no judge is called nobody"),
        (["--protocol", "v2"], 2, "no conversations of v2 are stored"),
        (["--protocol", "no-such"], 2, "no-such"),
        (["--out", "taken"], 2, "cannot be written"),
        (["--judge", "one", "--jury", "one,another"], 2, "leave one of them out"),
        (["--jury", ","], 2, "two judges or more"),
        (["--jury", "judge/one,nobody"], 2, "no judge is called nobody"),
        (["--out", "small/protocol.yaml/x"], 2, "cannot be written"),
        (["--store", "missing.db"], 1, "there is no store"),
        (["--out", "\x1b[31m\n" + "x" * 300], 2, "cannot be written"),
    ],
)
def test_what_goes_wrong_is_one_line(
    made: Bench, arguments: list[str], code: int, said: str
) -> None:
    """And no file is left behind."""
    folder = Path(made.store).parent
    (folder / "taken").write_text("a file")

    done = report(made, *arguments)

    assert (done.returncode, done.stdout) == (code, "")
    assert_tame(done.stderr)
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert written(folder) == {}


def test_an_empty_store_is_one_line(tmp_path: Path, serve: Callable[..., ScriptedModel]) -> None:
    """Nothing was played in it yet."""
    with open_store(tmp_path / "store.db") as store, store.open_transaction():
        pass

    done = invoke(tmp_path, environment(tmp_path), "generate-report", "--store", "store.db")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert os.listdir(tmp_path).count("LEADERBOARD.md") == 0


def test_the_leaderboard_compares_configurations_in_80_columns(made: Bench) -> None:
    """The same values in the terminal, short."""
    folder = Path(made.store).parent

    done = invoke(
        folder, environment(folder) | {"COLUMNS": "80"}, "leaderboard", "--store", str(made.store)
    )

    assert done.returncode == 0, done.stderr
    assert_tame(done.stdout, 80)
    below = done.stdout.partition("Configurations compared")[2]
    compared = contents_of(made).configurations
    assert compared is not None
    (line,) = (one for one in below.splitlines() if one.startswith("strong/tool_role "))
    strong = compared.places[1]
    assert strong.effect is not None
    assert line.split()[:4] == [
        "strong/tool_role",
        "3",
        f"{strong.mean:.1f}",
        format_difference(strong.effect.points),
    ]
