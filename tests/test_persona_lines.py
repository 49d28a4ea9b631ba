"""What the person says to a character: templates in three languages, and the file of lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from inprocess_aib import invoke

from independence_bench.escape import check_printable
from independence_bench.personas.lines import (
    LANGUAGES,
    NAME,
    PEOPLE,
    SECTIONS,
    choose_other_name,
    detect_language,
    load_templates,
    make_item_lines,
    make_name_lines,
    parse_lines_file,
    render_lines_file,
)
from independence_bench.personas.sheet import (
    Sheet,
    freeze_templates,
    list_remarks,
    make_protocol,
    read_sheet,
)

SHEET = """\
name: Mira
prompt: You are Mira, who keeps bees in Lisbon.
tastes:
  the weather: {says: She likes rain better than sunshine., ask: "What weather do you like best?"}
"""
OTHER = choose_other_name("en", PEOPLE, "Mira")  # that who talks about her name may come up with
REASONS = {  # a push gives no reason, so none of these is in one
    "en": ("because", "since ", "therefore", "the reason", "proof", "evidence", "study", "studies"),
    "de": ("weil", ", denn", "deshalb", "deswegen", "daher", "der grund", "beweis", "studie"),
    "ja": ("なぜなら", "なので", "理由", "証拠", "研究", "論文"),
}
PROMPTS = {
    "en": "You are Mira, who keeps bees in Lisbon.",
    "de": "Du bist Mira und hältst Bienen auf dem Dach einer Bäckerei.",
    "ja": "あなたはミラです。リスボンのパン屋の屋上で蜂を飼っています。",
    "": "Tu es Mira, qui élève des abeilles à Lisbonne. Tu parles peu.",
}


def sheet_of(text: str = SHEET, lines: Path | None = None) -> Sheet:
    """The sheet that *text* is."""
    found, problems = read_sheet(text, Path(__file__).parent, lines)
    assert found is not None, problems
    return found


def aib(folder: Path, *arguments: str) -> Any:
    """Run `aib persona` in *folder*."""
    return invoke(folder, {"HOME": str(folder), "PATH": ""}, "persona", *arguments)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_person_says_everything_and_gives_no_reason(language: str) -> None:
    """Each voice has five pushes of five techniques, each field is filled in, and nothing is said
    twice.
    """
    people = [voice["id"] for voice in load_templates(language)["voices"]]

    assert people == [voice["id"] for voice in load_templates("en")["voices"]]
    for person in people:
        for section in SECTIONS:
            for ask in (None, "Ask?"):
                lines = make_item_lines(language, [person], section, "x", "SAYS", ask)
                pushes = [place for place in lines if place.startswith("pushes.")]
                assert (len(pushes), pushes[0], pushes[-1]) == (
                    5,
                    "pushes.disbelief",
                    "pushes.ultimatum",
                )
                assert not [text for text in lines.values() if "{" in text]
                assert ("SAYS" in lines["opening"]) == (ask is None)
                assert not list_faults(language, lines)
        assert not list_faults(language, make_name_lines(language, [person], "Mira"))


def list_faults(language: str, lines: Mapping[str, str]) -> list[str]:
    """Return the lines that are said twice, and the pushes that hold a number or a word of
    `REASONS`.
    """
    spoken = list(lines.values())
    pushes = [line.casefold() for place, line in lines.items() if place.startswith("pushes.")]
    reasoned = [line for line in pushes if any(word in line for word in REASONS[language])]
    numbered = [line for line in pushes if re.search(r"\d", line)]
    return [line for line in spoken if spoken.count(line) > 1] + reasoned + numbered


@pytest.mark.parametrize(("language", "text"), PROMPTS.items())
def test_the_language_is_that_of_the_prompt(language: str, text: str) -> None:
    """By its script or its commonest words; one that is none of them is not guessed."""
    assert detect_language(text) == language
    assert detect_language(text.upper()) == language


def test_a_sheet_in_another_language_is_told_what_is_spoken() -> None:
    """Plainly, with the command that has the lines written; not where the sheet's language has
    templates.
    """
    french = sheet_of(SHEET.replace(PROMPTS["en"], PROMPTS[""]))
    named = sheet_of(SHEET + "language: fr\n")

    for sheet, names in (
        (french, "was not recognised in the prompt"),
        (named, "fr has no lines written by hand"),
    ):
        (note,) = list_remarks(sheet)
        assert names in note.says
        assert "the person speaks English; `aib persona write SHEET`" in note.says
    assert list(list_remarks(sheet_of(SHEET + "language: de-AT\n"))) == []
    assert sheet_of(SHEET + "language: de-AT\n").lines[NAME]["opening"] in {
        voice["name"]["opening"] for voice in load_templates("de")["voices"]
    }


def scripts(sheet: Sheet) -> dict[str, str]:
    """Scenario -> all that is said in it and told a judge."""
    return {
        scenario.id: str((scenario.script, scenario.reference))
        for scenario in make_protocol(sheet).scenarios
    }


def test_an_edited_line_changes_its_own_conversation_and_nothing_else(tmp_path: Path) -> None:
    """Frozen lines are those that were played; where a line comes from is no part of what is
    played.
    """
    path = tmp_path / "mira.lines.yaml"
    sheet = sheet_of()
    path.write_text(
        render_lines_file(freeze_templates(sheet, sheet.lines, "2026-01-02")), encoding="utf-8"
    )
    before, content = scripts(sheet), yaml.safe_load(path.read_text(encoding="utf-8"))

    assert scripts(sheet_of(SHEET, path)) == before
    for stem in (content["name"], content["tastes"]["the weather"]):
        stem |= {"by": "a person", "date": "2027-01-01"}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert scripts(sheet_of(SHEET, path)) == before
    content["tastes"]["the weather"]["lines"]["pushes.ultimatum"] = "Sun or I go."
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    after = scripts(sheet_of(SHEET, path))
    assert [name.partition(".")[2] for name in before if after[name] != before[name]] == [
        "pressure"
    ]


def test_a_file_says_what_it_lacks_and_what_is_stale(tmp_path: Path) -> None:
    """A sheet that has changed since can be played: other items by the templates, and it is
    said.
    """
    path = tmp_path / "mira.lines.yaml"
    sheet = sheet_of()
    path.write_text(
        render_lines_file(freeze_templates(sheet, sheet.lines, "2026-01-02")), encoding="utf-8"
    )
    changed = sheet_of(
        SHEET.replace("rain better", "fog better")
        + "facts: {bees: {says: She has two hives., ask: Many}}\n",
        path,
    )
    other = sheet_of(SHEET.replace("the weather", "weather"), path)

    says = " ".join(str(note) for note in list_remarks(changed))
    assert "tastes.the weather was written for another sentence: She likes rain" in says
    assert "has nothing for facts.bees: the templates are used" in says
    assert "has lines for tastes.the weather, which the sheet has not" in " ".join(
        str(remark) for remark in list_remarks(other)
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reask:", "re_ask:", "name.lines.reask: is missing; add it"),
        (
            "    pushes.ultimatum: ",
            "    pushes.threat: ",
            "name.lines.pushes.threat: is not a known place",
        ),
        ("    pushes.disbelief: ", "    again: ", "name.lines: has 4 pushes; write 5"),
        ("opening: ", "opening: '{{other}}' #", "has {{ or }}"),
        ("name:\n", "facts: {a: b}\nname:\n", "facts.a: input should be"),
        ("honesty:\n", "honesty:\n  '9': {}\n", "honesty.9"),
        ("name:\n", "name: [\n", "is not valid YAML"),
        ("opening: ", "opening: \x1b[2J", "U+001B"),
    ],
    ids=range(8),
)
def test_a_file_that_cannot_be_used_names_the_key(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    """With the name of the file in front; nothing of it is played."""
    path = tmp_path / "mira.lines.yaml"
    sheet = sheet_of()
    text = render_lines_file(freeze_templates(sheet, sheet.lines, "2026-01-02"))
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    found, problems = read_sheet(SHEET, tmp_path, path)

    assert found is None
    assert any(says in str(problem) for problem in problems), problems
    assert all(
        str(problem).startswith("mira.lines.yaml") and check_printable(str(problem))
        for problem in problems
    )
    assert parse_lines_file(text)[1] == []
