"""`aib` commands within printed texts, and their option --store. Imports nothing heavy: errors
are printed before anything else is loaded.
"""

from __future__ import annotations

import re

# between backticks, or after a colon to the end of the line
_COMMAND = re.compile(r"(?:`aib (?P<quoted>[^`]+)|(?<=: )aib (?P<last>[^`\n]+)$)", re.MULTILINE)
# commands without an option --store, and the demo, which has a store of its own
WITHOUT_STORE = frozenset(("check", "demo", "models", "simulate"))
# the same, of commands that have two words; `aib protocols copy` has the option
WITHOUT_STORE_OF_TWO = frozenset(("protocols", "persona check", "persona show", "persona write"))


def list_store_places(text: str) -> list[int]:
    """Return the places in *text* at which a printed command that has the option --store ends, and
    does not name a store yet; [] if there is none.
    """
    return [
        found.end()
        for found in _COMMAND.finditer(text)
        if (words := (found["quoted"] or found["last"]).split())
        and not any(word.startswith("--store") for word in words)
        and words[0] not in WITHOUT_STORE
        and " ".join(words[:2]) not in WITHOUT_STORE_OF_TWO
    ]


def add_store_option(text: str, option: str) -> str:
    """Return *text* with *option*, such as " --store lab.db", at the end of every printed command
    that needs it.
    """
    for place in reversed(list_store_places(text)) if option else ():
        text = text[:place] + option + text[place:]
    return text
