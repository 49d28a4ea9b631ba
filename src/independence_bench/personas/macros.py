"""Macros of front ends in a character's texts, such as ``{{char}}``: filled in, or left out and
named.

    filler = MacroFiller("Mira")
    filler.fill("{{char}} greets {{user}}. {{random::Rain::Sun}} {{time}}")
        # "Mira greets the user. Rain"
    filler.notes  # what was decided or left out, one line each

    find_macro(text)  # the first macro in a text that nothing fills in; "" if there is none

A macro stands in double braces, on any number of lines, of any length, also in another macro.
Braces that begin with no word (JSON, for example) are the writer's text and stay. A text is read in
linear time; chance is never drawn, so the same card always becomes the same prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

DEEPEST = 20  # macros inside each other
MOST_NOTES = 12  # macros that are named; the others are counted
LONGEST_SHOWN = 60  # characters of a macro in a note
LONGEST_VALUE = 1_000  # characters of a variable
MOST_FILLED = 200_000  # characters that variables may add to a card
HUMAN = "the user"

_RUN = re.compile(r"\{+|\}+")
# {{ "a": 1 }} is no macro; {{}}, {{char}}, {{// ..}}, {{/if}}, {{#if}} and {{.name}} are
_BEGINS = re.compile(r"\s*+(?:[^\W\d_]|[/#.$!@]|\Z)")
_NAME = re.compile(r"\s*+([^\s:]*+)\s*+:{0,2}")
_USER, _TRIM = "\x01", "\x02"  # places in a text, in which no such character is left by then
_SPEAKS = re.compile(rf"^([ \t]{{0,8}}){_USER}:", re.MULTILINE)
_TAG = re.compile(r"<(user|bot|char|charifnotgroup)>", re.IGNORECASE)
_SINGLE = re.compile(r"(?<!\{)\{(char|user)\}(?!\})", re.IGNORECASE)

_CHARACTER = {"char", "charifnotgroup", "group", "groupnotmuted", "bot"}
_FIELDS = {
    "description",
    "personality",
    "scenario",
    "charprompt",
    "charinstruction",
    "charjailbreak",
    "mesexamples",
    "mesexamplesraw",
    "system",
    "wibefore",
    "wiafter",
    "lorebefore",
    "loreafter",
}


@dataclass(slots=True)
class _Frame:
    """A macro that has begun: the parts of its text, and the single braces that are open in it."""

    parts: list[str] = field(default_factory=list)
    single: int = 0


def _replace_macros(text: str, fill: Callable[[str], str | None]) -> str:
    """Return *text* with every macro replaced by what *fill* returns for the text between its
    braces; None leaves it as it is. Inner macros are filled in first.
    """
    done, whole = _replace_once(text, fill, True)
    # a single brace in a macro that is never closed hides its end: {{// :{ }}
    return done if whole else _replace_once(done, fill, False)[0]


def _replace_once(text: str, fill: Callable[[str], str | None], paired: bool) -> tuple[str, bool]:
    """Return (*text* with its macros replaced, whether every macro is closed). *paired*: single
    braces in a macro are matched, so that a macro may hold JSON.
    """
    outermost: list[str] = []
    frames: list[_Frame] = []
    at, last = 0, text.rfind("}}")
    for run in _RUN.finditer(text):
        if run.start() > last:
            break  # nothing is closed any more
        parts = frames[-1].parts if frames else outermost
        parts.append(text[at : run.start()])
        at = run.end()
        length = len(run[0])
        if run[0][0] == "{":
            begun = min(length // 2, DEEPEST - len(frames))
            plain = length - 2 * begun
            parts.append("{" * plain)
            if frames:
                frames[-1].single += plain
            frames += [_Frame() for _ in range(begun)]
            continue
        while length:
            if not frames:
                outermost.append("}" * length)
                break
            frame = frames[-1]
            single = frame.single if paired else 0
            if length <= single or length < 2:
                frame.parts.append("}" * length)
                frame.single -= min(length, frame.single)
                break
            inside = min(single, length - 2)
            frame.parts.append("}" * inside)
            length -= inside + 2
            frames.pop()
            body = "".join(frame.parts)
            filled = fill(body) if _BEGINS.match(body) else None
            parts = frames[-1].parts if frames else outermost
            parts.append(f"{{{{{body}}}}}" if filled is None else filled)
    (frames[-1].parts if frames else outermost).append(text[at:])
    whole = not frames
    while frames:
        frame = frames.pop()
        (frames[-1].parts if frames else outermost).append("{{" + "".join(frame.parts))
    return "".join(outermost), whole


def _shorten(body: str) -> str:
    """Return the macro with the text *body* as a note shows it."""
    shown = " ".join(body[: 4 * LONGEST_SHOWN].split())
    cut = f"{shown[:LONGEST_SHOWN]}…" if len(shown) > LONGEST_SHOWN else shown
    return f"{{{{{cut}}}}}"


def find_macro(text: str) -> str:
    """Return the first macro in *text*, shortened, except for the two places of a lorebook; "" if
    there is none.
    """
    found: list[str] = []

    def note(body: str) -> None:
        if body not in ("wiBefore", "wiAfter"):
            found.append(_shorten(body))

    if "{{" in text:
        _replace_macros(text, note)
    return found[0] if found else ""


class MacroFiller:
    """Fills in the macros of one card's texts, in the order in which they are given to it.

    *name*: what the character is called; "": the character. *version*: of the card. *card*: whether
    the texts are those of a card, in which front ends also fill in tags such as ``<USER>``.
    """

    def __init__(self, name: str, version: str = "", card: bool = True) -> None:
        self.name = name or "the character"
        self.version, self.card = version, card
        self._variables: dict[str, str] = {}
        self._filled = 0
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided or left out, one line each."""
        listed = list(self._notes)
        more = len(listed) - MOST_NOTES
        return (
            (*listed[:MOST_NOTES], f"{more} more macros were left out or decided")
            if more > 0
            else tuple(listed)
        )

    def fill(self, text: str) -> str:
        """Return *text* without macros; *text* has no control characters but tabs and line
        breaks.
        """
        if "<" in text:
            text = self._fill_tags(text)
        if "{{" in text:
            text = _replace_macros(text, self._fill_macro)
        if self.card and "{" in text:
            text = _SINGLE.sub(self._fill_single, text)
        text = _SPEAKS.sub(r"\1User:", text).replace(_USER, HUMAN)
        if _TRIM in text:
            first, *rest = text.split(_TRIM)
            for part in rest:
                first = first.rstrip("\n") + part.lstrip("\n")
            text = first
        # a space before a line's end makes the text unreadable in a sheet
        return "\n".join(line.rstrip() for line in text.split("\n")).strip()

    def _note(self, says: str) -> None:
        self._notes[says] = None

    def _fill_tags(self, text: str) -> str:
        lowered = text.casefold()

        def fill(tag: re.Match[str]) -> str:
            word = tag[1].lower()
            # a prompt that is no card may have tags of its own; so may any text that closes them
            kept = f"</{word}>" in closed or not (self.card or tag[1].isupper())
            return tag[0] if kept else _USER if word == "user" else self.name

        closed = {f"</{word}>" for word in ("user", "bot", "char") if f"</{word}>" in lowered}
        return _TAG.sub(fill, text)

    def _fill_single(self, found: re.Match[str]) -> str:
        self._note(f"{found[0]} was read as {{{{{found[1].lower()}}}}}")
        return _USER if found[1].lower() == "user" else self.name

    def _fill_macro(self, body: str) -> str:
        """Return what stands in the place of the macro with the text *body*."""
        head = _NAME.match(body)
        assert head is not None  # noqa: S101 - it matches the empty text
        word, given = head[1].lower(), body[head.end() :]
        if word in _CHARACTER:
            return self.name
        if word == "user":
            return _USER
        if word.startswith("//") or word in ("comment", "noop", "original"):
            return ""
        if word in ("trim", "newline", "space"):
            return {"trim": _TRIM, "newline": "\n", "space": " "}[word]
        if word in ("char_version", "charversion") and self.version:
            return self.version
        if word in ("random", "pick"):
            return self._choose_first(body, given)
        if word == "reverse":
            return given[::-1]
        if word in ("setvar", "getvar", "setglobalvar", "getglobalvar"):
            name, _, value = given.partition("::")
            if (filled := self._use_variable(word, name.strip(), value)) is not None:
                return filled
        shown = _shorten(body)
        if word in ("if", "#if"):
            self._note(f"{shown} is not decided: what stands between it and its end stays")
        elif word in _FIELDS:
            self._note(f"{shown} was left out: the prompt has that part in its own place")
        elif word not in ("/if", "else"):
            self._note(f"{shown} cannot be filled in here and was left out")
        return ""

    def _choose_first(self, body: str, given: str) -> str:
        """Return the first of the choices in *given*, as a draw would take one of them."""
        choices = [one.strip() for one in given.split("::" if "::" in given else ",")]
        first = next((choice for choice in choices if choice), "")
        shown = first if len(first) <= LONGEST_SHOWN else f"{first[:LONGEST_SHOWN]}…"
        says = f"is always its first choice, “{' '.join(shown.split())}”" if first else "is empty"
        self._note(f"{_shorten(body)} {says.replace(_USER, HUMAN)}")
        return first

    def _use_variable(self, word: str, name: str, value: str) -> str | None:
        """Return what stands in the place of a macro that sets or gets the variable *name*; None if
        it cannot be filled in.
        """
        if word.startswith("set"):
            if len(value) > LONGEST_VALUE or len(self._variables) >= LONGEST_VALUE:
                return None
            self._variables[name] = value
            return ""
        known = self._variables.get(name)
        if known is None or self._filled + len(known) > MOST_FILLED:
            return None
        self._filled += len(known)
        return known
