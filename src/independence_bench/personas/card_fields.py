"""A character card's content -> what a sheet says of the character.

    description = describe_card(content, "card.json", "a character card", name="")
    description.draft  # name, prompt, voice and lorebook
    description.notes  # everything that is not played as it stands

Reads V1 (fields on top), V2 and V3 (in `data`), and the older names of the same fields. A card is
read by its fields alone: `personality` is the voice, and what the prose means is for its maker, or
for a model, to say. Prompt, example dialogue and lorebook are put together as front ends of cards
do. Knows nothing of files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from independence_bench.errors import WrongUse
from independence_bench.escape import TURNING, escape_line
from independence_bench.models.response import read_json
from independence_bench.personas.card_lorebook import read_lorebook
from independence_bench.personas.drafts import LONGEST_SAYS, PartialSheet, Statement
from independence_bench.personas.macros import MacroFiller

LONGEST_NAME = 60
MOST_NAMED = 5  # cards of a list that are named

ORDER = (
    "system_prompt",
    "{{wiBefore}}",
    "description",
    "personality",
    "scenario",
    "{{wiAfter}}",
    "mes_example",
)
LAST = "post_history_instructions"
FIELDS = (*(key for key in ORDER if not key.startswith("{")), LAST)
OLDER_NAMES = {  # of Pygmalion's and TavernAI's first cards
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
}
SPECS = {"chara_card_v2": " V2", "chara_card_v3": " V3"}
# fields that a card has and a sheet, which has a name and a prompt, has not
SIGNS = ("description", "personality", "first_mes", "mes_example", "scenario", "system_prompt")

_UNSEEN = ("Cc", "Cs", "Co")
_JOINERS = "\u200d\u200c"
_START = re.compile(r"<START>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a character, as it was read from a file."""

    kind: str  # the kind of file, in words
    draft: PartialSheet  # without items
    texts: Mapping[str, str]  # field -> its text, with places filled in
    notes: tuple[str, ...] = ()  # remarks on what was left out, decided, or is not played
    picture: bytes = field(default=b"", repr=False)  # a PNG of the character; b"": none


def find_card(content: object) -> dict[str, Any] | None:
    """Return the fields and frame of the character card in *content*, a JSON value: an object, the
    only one of a list, or a text with the JSON of one; None if there is none.

    Raises WrongUse, without the file's name, if there are several.
    """
    for _ in range(2):  # saved as a text once, or twice
        if isinstance(content, str):
            try:
                content = read_json(content)
            except (ValueError, RecursionError):
                return None
    if isinstance(content, list):
        cards = [card for one in content if isinstance(one, dict) and (card := find_card(one))]
        if len(cards) > 1:
            names = [escape_line(_read_text(get_fields(card), "name")[0]) for card in cards]
            shown = ", ".join((name or "without a name")[:40] for name in names[:MOST_NAMED])
            more = ", ..." if len(cards) > MOST_NAMED else ""
            raise WrongUse(
                f"has {len(cards)} character cards in it ({shown}{more}); save the one that you "
                "want as a file of its own"
            )
        return cards[0] if cards else None
    if not isinstance(content, dict):
        return None
    card = _strip_keys(content)
    if isinstance(card.get("data"), str):
        try:
            inside = read_json(card["data"])
        except (ValueError, RecursionError):
            inside = None
        if isinstance(inside, dict) and isinstance(inside.get("data"), dict):
            card = _strip_keys(inside)
        else:
            card["data"] = inside
    fields = get_fields(card)
    named = str(card.get("spec")) in SPECS
    return card if named or any(_read_text(fields, key)[0] for key in ("name", *FIELDS)) else None


def is_card(content: object) -> bool:
    """Return whether *content*, a JSON value, is a character card, and not a sheet as JSON."""
    try:
        card = find_card(content)
    except WrongUse:
        return True
    if card is None or "prompt" in card or "prompt_file" in card:
        return False
    return "spec" in card or any(_read_text(get_fields(card), key)[0] for key in SIGNS)


def get_fields(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of *card*: those in `data` if there are any, else those on top; older names
    of fields replaced by today's.
    """
    inside = card.get("data")
    data = _strip_keys(inside) if isinstance(inside, dict) else {}
    fields = data if any(data.get(key) for key in ("name", *FIELDS, *OLDER_NAMES)) else card
    older = {new: fields[old] for old, new in OLDER_NAMES.items() if fields.get(old)}
    return older | {key: value for key, value in fields.items() if value or key not in older}


def _strip_keys(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return *content* with its keys without spaces around them; a key that has none wins."""
    return {key.strip(): value for key, value in content.items()} | {
        key: value for key, value in content.items() if key == key.strip()
    }


def describe_card(card: Mapping[str, Any], kind: str, name: str) -> Description:
    """Return the description of a character in *card*, as `find_card` returns it. *name*: what the
    character is called; "": as the card calls it. *kind*: the kind of file, in words.
    """
    fields = get_fields(card)
    notes: list[str] = []

    def read(key: str) -> str:
        """Return the text of the field *key*, and note what of it is no text."""
        text, note = _read_text(fields, key)
        if note:
            notes.append(f"{key} {note}")
        return remove_unprintable_characters(text)

    own_name, nickname = (clean_name(_read_text(fields, key)[0]) for key in ("name", "nickname"))
    called = name or nickname or own_name
    if nickname and not name and nickname != own_name:
        notes.append(
            f"it is called {nickname}, its nickname, as front ends call it, not {own_name}"
        )
    raw = {key: read(key) for key in FIELDS}
    version = clean_name(_read_text(fields, "character_version")[0])
    filler = MacroFiller(called, version)
    lorebook, book_notes = read_lorebook(
        fields.get("character_book"),
        lambda text: filler.fill(remove_unprintable_characters(text)),
    )
    entries = (lorebook or {}).get("entries", ())
    parts = {key: filler.fill(text) for key, text in raw.items()}
    placed = {f"{{{{wi{entry.get('position', 'before').title()}}}}}" for entry in entries}
    listed = [
        _format_part(key, parts, raw, filler) if key in parts else key * (key in placed)
        for key in (*ORDER, LAST)
    ]
    prompt = "\n\n".join(part for part in listed if part)
    voice = parts["personality"]
    if len(voice) > LONGEST_SAYS:
        voice = voice[:LONGEST_SAYS].rpartition(" ")[0] or voice[:LONGEST_SAYS]
        notes.append(
            f"personality has {len(parts['personality']):,} characters; its first {len(voice):,} "
            "are the voice, all of it is in the prompt"
        )
    if "{{original}}" in raw["system_prompt"]:
        notes.append("{{original}} stood for a prompt that the card does not have; it was left out")
    if parts[LAST]:
        notes.append(f"{LAST} stands at the end of the prompt, not behind each message")
    notes += _list_unplayed(fields)
    greetings = fields.get("alternate_greetings")
    first = filler.fill(remove_unprintable_characters(_read_text(fields, "first_mes")[0]))
    others = greetings if isinstance(greetings, list) else [greetings]
    other = "\n".join(one for one in others if isinstance(one, str))
    # of texts that are not played, macros are of no matter
    unheard = MacroFiller(called, version)
    texts = parts | {
        "first_mes": first,
        "alternate_greetings": unheard.fill(remove_unprintable_characters(other)),
        "character_book": "\n".join(entry["text"] for entry in entries),
    }
    statements = (Statement("voice", "voice", voice, "personality"),) if voice else ()
    spec = SPECS.get(str(card.get("spec")), "")
    draft = PartialSheet(called, prompt, statements, lorebook=lorebook)
    return Description(f"{kind}{spec}", draft, texts, (*filler.notes, *book_notes, *notes))


def describe_prompt(text: str, name: str) -> Description:
    """Return the description of a character in *text*, a system prompt. *name*: what the character
    is called; "": unknown.
    """
    filler = MacroFiller(name, card=False)
    prompt = filler.fill(remove_unprintable_characters(text))
    notes = [*filler.notes]
    if "{%" in prompt and "%}" in prompt:
        notes.append("{% ... %} stays as it is: templates are not run; write the text itself")
    return Description("a prompt", PartialSheet(name, prompt), {"prompt": prompt}, tuple(notes))


def _list_unplayed(fields: Mapping[str, Any]) -> list[str]:
    """Return a note for each other field of a card that reaches a model in front ends."""
    notes = [
        f"{key} is not played"
        for key in ("first_mes", "alternate_greetings", "group_only_greetings")
        if fields.get(key)
    ]
    extensions = fields.get("extensions")
    note = extensions.get("depth_prompt") if isinstance(extensions, dict) else None
    if isinstance(note, dict) and _read_text(note, "prompt")[0]:
        notes.append("extensions.depth_prompt, a note among the messages, is not played")
    return notes


def _format_part(
    key: str, parts: Mapping[str, str], raw: Mapping[str, str], filler: MacroFiller
) -> str:
    """Return the part *key* of a character card as it stands in a prompt: example dialogue in
    blocks under a head, any other part unchanged.
    """
    if key != "mes_example":
        return parts[key]
    blocks = (filler.fill(block) for block in _START.split(raw[key]))
    return "\n\n".join(f"[Example Chat]\n{block}" for block in blocks if block)


def _read_text(fields: Mapping[str, Any], key: str) -> tuple[str, str]:
    """Return (the text of the field *key*, "" if there is none; what of it is no text)."""
    value = fields.get(key)
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n").strip(), ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)[:LONGEST_NAME], ""
    if isinstance(value, list) and value:
        texts = [one.strip() for one in value if isinstance(one, str)]
        rest = len(value) - len(texts)
        note = f"has {rest} parts that are no texts; they were left out" if rest else ""
        return "\n".join(texts), note or "is a list; its texts stand below each other"
    return "", "is no text, and was left out" if value not in (None, False, [], {}) else ""


def clean_name(text: str) -> str:
    """Return *text* as a name: on one line, cut, without characters that nobody sees."""
    seen = "".join(c if c.isprintable() or c in _JOINERS else " " * c.isspace() for c in text)
    return " ".join(seen.split())[:LONGEST_NAME].strip()


def remove_unprintable_characters(text: str) -> str:
    """Return *text* without characters that a terminal would obey or a reader would not see; line
    breaks and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(
        c for c in text if c in "\n\t" or not (unicodedata.category(c) in _UNSEEN or c in TURNING)
    )
