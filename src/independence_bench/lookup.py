"""Find what a user means among several: by the whole label, by the name, or by a part of it.

If nothing fits, name what may have been meant.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TypeVar

from independence_bench.errors import WrongUse
from independence_bench.escape import escape_name

A = TypeVar("A")

NEAR = 3  # names that are suggested
SHOWN = 8  # names of a short list that are shown if none is similar
COMPARED = 2000  # names of at most LONGEST characters: a list may be foreign, and comparing is slow
LONGEST = 120
SHORT = 4  # letters of a name that are few
YAML = (".yaml", ".yml")
LIKE_FILE = 0.75  # share of a file's name, without its ending, that has to be the same


def normalize_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return *names*, one name or several, as a tuple of different names without spaces around
    them.
    """
    every = [names] if isinstance(names, str) else names
    return tuple(dict.fromkeys(name.strip() for name in every))


def split_list(listed: str | None) -> list[str]:
    """Return the parts of the comma-separated text *listed*, without empty parts and repetitions;
    [] for None.
    """
    return list(dict.fromkeys(part.strip() for part in (listed or "").split(",") if part.strip()))


def find_similar_names(typed: str, known: Iterable[str]) -> list[str]:
    """Return the names of *known* that are spelt like *typed*, the nearest first; at most three
    (`NEAR`).
    """
    names = list(islice((name for name in known if len(name) <= LONGEST), COMPARED))
    wanted = typed[:LONGEST].lower()
    spelt: dict[str, str] = {}
    for name in names:
        for part in (name, *_list_names_without_settings(name), name.rpartition("/")[2]):
            spelt.setdefault(part.lower(), name)
    alike = 0.5 if len(wanted) < SHORT else 0.6  # v7 has one letter of two in common with v2
    close = [spelt[word] for word in get_close_matches(wanted, spelt, 2 * NEAR, alike)]
    # the right name after another author, or without one
    own = wanted.rpartition("/")[2]
    close += [name for name in names if name.lower().rpartition("/")[2] == own]
    return list(dict.fromkeys(close))[:NEAR]


def suggest_names(typed: str, known: Iterable[str], list_intro: str = "it has") -> str:
    """Return the hint that follows a message about the unknown name *typed*: similar names of
    *known* ("did you mean A or B?"), or else *list_intro* ("it has") and the first known names.
    """
    names = list(known)
    if close := find_similar_names(typed, names):
        return f"did you mean {join_by_or(close)}?"
    more = f", ... ({len(names)} in total)" if len(names) > SHOWN else ""
    if len(names) == 1:
        list_intro = list_intro.replace("there are", "there is")
    return f"{list_intro} {', '.join(names[:SHOWN]) or 'nothing'}{more}"


def join_by_or(names: Sequence[str]) -> str:
    """Return *names*, at least one, as alternatives in a sentence: "A", "A or B", "A, B or C"."""
    *before, last = names
    return f"{', '.join(before)} or {last}" if before else last


def describe_similar_names(typed: str, known: Iterable[str]) -> str:
    """Return `; did you mean A or B?` with the names of *known* that are spelt like the unknown
    name *typed*; "" if no known name is similar.
    """
    close = find_similar_names(typed, known)
    return f"; did you mean {join_by_or(close)}?" if close else ""


def describe_similar_files(path: Path, endings: Collection[str] = YAML) -> str:
    """Return `; did you mean FOLDER/B?` for a *path* that does not exist; "" if the folder has no
    file with a similar name. Only files with the same ending as *path*, or an ending of *endings*,
    are suggested.
    """
    there = find_similar_files(path, endings)
    return f"; did you mean {join_by_or([str(path.parent / n) for n in there])}?" if there else ""


def find_similar_files(
    path: Path, endings: Collection[str] = YAML, min_similarity: float = LIKE_FILE
) -> list[str]:
    """Return the names of files in the folder of *path* that are spelt like its name, the nearest
    first; at most three (`NEAR`). Only files with the same ending as *path*, or an ending of
    *endings*, are considered. *min_similarity* is how similar names without endings have to be, in
    [0, 1].
    """
    stems: dict[str, list[str]] = {}
    with suppress(OSError, ValueError):
        for name in sorted(islice(os.listdir(path.parent), COMPARED)):
            stem, ending = os.path.splitext(name)
            if ending.lower() in {*endings, path.suffix.lower()} and len(name) <= LONGEST:
                stems.setdefault(stem.lower(), []).append(name)
    close = get_close_matches(path.stem[:LONGEST].lower(), stems, NEAR, min_similarity)
    every = [name for stem in close for name in stems[stem] if name != path.name]
    return [name for name in every if (path.parent / name).is_file()][:NEAR]


def _list_names_without_settings(label: str) -> tuple[str, str, str]:
    """Return three names of the model labelled *label*, all without settings (what follows @): with
    the endpoint, without the endpoint, and without the model's author.
    """
    model = label.partition("@")[0]
    return model, model.partition(":")[2], model.rpartition("/")[2]


def find_by_label(
    labels: Mapping[A, str], typed: str, noun: str = "model", list_intro: str = "there are"
) -> A:
    """Return the key in *labels* (key -> label) whose label *typed* means: the equal label, else
    the label of the model with that name, else the only label that contains *typed*, in any case.
    Spaces around *typed* do not count. Raises WrongUse, naming what there is, if no label or
    several fit.
    """
    typed = typed.strip()
    fitting = [key for key, label in labels.items() if label == typed]
    fitting = fitting or [key for key, label in labels.items() if label.partition("@")[0] == typed]
    fitting = fitting or [
        key
        for key, label in labels.items()
        if typed and typed in _list_names_without_settings(label)
    ]
    if not typed:
        hint = suggest_names(typed, sorted(labels.values()), list_intro)
        raise WrongUse(f"the name of a {noun} is empty; {hint}")
    fitting = fitting or [key for key, label in labels.items() if typed.lower() in label.lower()]
    # labels have what is not seen written out
    if not fitting and (shown := escape_name(typed)) != typed:
        return find_by_label(labels, shown, noun, list_intro)
    if not fitting:
        hint = suggest_names(typed, sorted(labels.values()), list_intro)
        raise WrongUse(f"no {noun} is called {typed}; {hint}")
    if len(fitting) > 1:
        named = {labels[key] for key in fitting}
        named |= {label for label in labels.values() if typed.lower() in label.lower()}
        several = ", ".join(sorted(named))
        raise WrongUse(f"{typed} fits several {noun}s: {several}; name one of them")
    return fitting[0]
