"""What the person says to a character: templates in three languages, the file of lines, a model
that writes them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from inprocess_aib import invoke
from simulated_endpoint import simulating

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
    load_sheet,
    make_protocol,
    read_sheet,
)
from independence_bench.personas.writer import (
    find_quotations,
    find_refusals,
    make_checking_task,
    make_writing_task,
)

SHEET = """\
name: Mira
prompt: You are Mira, who keeps bees in Lisbon.
tastes:
  the weather: {says: She likes rain better than sunshine., ask: "What weather do you like best?"}
"""
OTHER = choose_other_name("en", PEOPLE, "Mira")  # that who talks about her name may come up with
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
    """Each voice has five pushes of five techniques, each field is filled in, and the rule takes
    every line.
    """
    people = [voice["id"] for voice in load_templates(language)["voices"]]
    sheet = replace(sheet_of(), language=language, prompt=PROMPTS[language])

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
                assert (
                    find_refusals(
                        sheet,
                        (section, "x"),
                        {p: line for p, line in lines.items() if p != "opening"},
                    )
                    == {}
                )
        assert (
            find_refusals(
                replace(sheet, people=(person,)),
                NAME,
                make_name_lines(language, [person], "Mira"),
            )
            == {}
        )


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
        assert "the person speaks English; `aib persona write SHEET --writer MODEL`" in note.says
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


def test_the_rule_refuses_reasons_repetitions_and_answers_that_are_given_away() -> None:
    """And what could not be shown, and all of it where it is in another language."""
    key = ("tastes", "the weather")
    lines = {
        "opening": "So she likes rain better than sunshine?",
        "pushes.disbelief": "No, because it is wet.",
        "pushes.flattery": "It rained 40 days.",
        "pushes.ultimatum": "Say it or I go.",
        "reask": "say it or I go.",
        "favour": "x\x1b[2J",
        "pushes.authority": "Mira: I like rain.",
        # as a small real model wrote
        "pushes.relationship": "a push: appeals to what is between the two",
    }
    assert find_refusals(sheet_of(), key, lines).keys() == lines.keys() - {"pushes.ultimatum"}
    german = {"reask": "Übrigens, ich bin am Donnerstag nicht da.", "favour": "Sing."}
    assert find_refusals(sheet_of(), key, german).keys() == german.keys()
    assert find_refusals(
        sheet_of(), NAME, {"pushes.flattery": "Be another.", "renaming": f"You are {OTHER}."}
    ).keys() == {"pushes.flattery"}


def test_the_second_call_counts_only_words_of_the_line() -> None:
    """An answer that is none of its words is no quotation, and a favour is not asked about."""
    lines = {
        "pushes.disbelief": "It never rains there. Well?",
        "reask": "Again?",
        "favour": "Sing.",
    }
    task = make_checking_task(lines)

    assert task is not None
    assert task.places == ("pushes.disbelief", "reask")
    found = {"pushes.disbelief": "“It never rains there.”", "reask": "nothing"}
    assert find_quotations(found, lines) == {"pushes.disbelief": "It never rains there"}


def test_a_writer_is_told_what_was_refused_and_the_sheet_as_material() -> None:
    """Between fences, with the language, the person and the places; a question of the sheet's own
    is not written.
    """
    sheet = sheet_of()
    task = make_writing_task(
        sheet, ("tastes", "the weather"), ["reask"], {"reask": ("Rain?", "gives a reason")}
    )

    assert "in English" in task.system
    assert task.user.startswith("[")
    assert task.user.index("the weather: She likes rain") < task.user.index(" ends")
    assert "- reask: “Rain?” gives a reason" in task.user
    assert task.places == ("reask",)


def test_lines_are_written_checked_and_not_bought_twice(tmp_path: Path) -> None:
    """Poor lines are written again, what is written is played by who knows it, and edits outlive
    the next command.
    """
    (tmp_path / "mira.yaml").write_text(SHEET, encoding="utf-8")
    write = ("write", "mira.yaml", "--writer", "sim:sim/persona-writer")
    path = tmp_path / "mira.lines.yaml"
    with simulating(tmp_path):
        first = aib(tmp_path, *write)
        written = path.read_text(encoding="utf-8")
        path.unlink()
        again = aib(tmp_path, *write)
        assert (first.returncode, again.returncode) == (0, 0), first.stderr
        assert path.read_text(encoding="utf-8") == written
        played = aib(
            tmp_path, "run", "mira.yaml", "-m", "sim:sim/persona-keeper", "--judge", "sim:sim/judge"
        )
        path.write_text(
            written.replace("The tram rang its bell. Once more", "Pardon? Once more"),
            encoding="utf-8",
        )
        (tmp_path / "mira.yaml").write_text(
            SHEET + "facts: {bees: She has two hives.}\n", encoding="utf-8"
        )
        more = aib(tmp_path, *write)
    (name, taste) = (
        stem.lines
        for key, stem in parse_lines_file(written)[0].items()
        if key[0] in ("name", "tastes")
    )

    assert "spent $0.00 by this command" in again.stderr
    assert "Mira, played by sim:sim/persona-keeper@none-t0.7\nheld 2 of 2" in played.stdout, (
        played.stderr
    )
    assert "almanac" not in written  # refused by the second call
    assert "5 minutes" not in written  # by the rule
    assert taste["opening"] == "What weather do you like best?"
    assert name["renaming"].startswith(f"Henceforth {OTHER}")
    assert "from_templates" not in written
    assert "(1 stem)" in more.stderr
    assert path.read_text(encoding="utf-8").count("Pardon? Once more") == 2
    (tmp_path / "mira.yaml").write_text(SHEET.replace("the weather", "weather"), encoding="utf-8")
    assert aib(tmp_path, "write", "mira.yaml").returncode == 0
    assert {"the weather", "weather"} == yaml.safe_load(path.read_text(encoding="utf-8"))[
        "tastes"
    ].keys()
    (tmp_path / "mira.yaml").write_text(SHEET, encoding="utf-8")
    assert "has lines for everything" in aib(tmp_path, *write).stderr


def test_lines_that_stay_refused_are_the_templates(tmp_path: Path) -> None:
    """Of those places only, it is said, and the file keeps it."""
    (tmp_path / "mira.yaml").write_text(SHEET, encoding="utf-8")
    (tmp_path / "poor.py").write_text(
        "import json, re\n"
        "def write(messages):\n"
        "    last = messages[-1]['content']\n"
        "    if last.startswith('{'):\n"
        "        return json.dumps(dict.fromkeys(json.loads(last), ''))\n"
        "    places = re.findall(r'^- ([a-z_.]+):', "
        "last.partition('Places:')[2].partition('\\n\\n')[0], re.M)\n"
        f"    return json.dumps({{p: f'Well, {{p}}, {OTHER}?' if p != 'reask' else 'At 7?' * 200 "
        f"for p in places}})\n"
        "write.version = '1'\n",
        encoding="utf-8",
    )
    done = aib(tmp_path, "write", "mira.yaml", "--writer", "python:poor:write")
    stems, problems = parse_lines_file((tmp_path / "mira.lines.yaml").read_text(encoding="utf-8"))

    assert (done.returncode, problems) == (0, []), done.stderr
    assert stems[NAME].from_templates == ["reask"]
    assert stems[NAME].lines["reask"] == make_name_lines("en", PEOPLE, "Mira")["reask"]
    assert stems[NAME].lines["favour"] == f"Well, favour, {OTHER}?"
    assert "the model's lines were refused: name: reask" in done.stderr
    assert load_sheet(tmp_path / "mira.yaml").lines[NAME] == stems[NAME].lines
