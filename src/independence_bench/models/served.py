"""Whether the model that a server says it used is the one that it was asked for. Pure; knows names
and nothing else.

is_same_model("gpt-4o", "gpt-4o-2024-08-06")    # True: the dated form
is_same_model("gpt-4o", "gpt-4o-mini")          # False
"""

from __future__ import annotations

import re

# What stands before a model's own name: "accounts/them/models/", "us.anthropic." of Bedrock.
_REGION = re.compile(r"(?<![a-z])(?:[a-z]+\.)+(?=[a-z])")
# A release, as makers write it: 2024-08-06, 20240806, 240806, 08-2024, 2024-08, 05-06, 0613, 2407,
# 002.
_RELEASE = re.compile(
    r"[-_@](\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{4}-\d{2}|\d{2}-\d{2}|\d{8}|\d{6}|\d{3,4})\Z"
)
_BEDROCK = re.compile(r"-v\d+:\d+\Z")
_FILE = re.compile(
    r"[/~\\]|\.\.?[/\\]|[a-z]:[/\\]|.*\.(?:gguf|ggml|bin|pt|pth|onnx|safetensors|llamafile|mlx)\Z",
    re.I,
)


def is_same_model(asked: str, served: str) -> bool:
    """Return whether *served*, the name that a server gives of the model that replied, may be a
    name of *asked*, the model that was asked for: the same name, or its dated, tagged or shortened
    form.

    Upper and lower case, a maker or host in front ("anthropic/"), and dots for dashes do not
    matter. Two releases of a model, and two tags, are two models. A file is whatever a local server
    was started with, so it contradicts no name; two files are compared by their names. A server
    that names no model ("") contradicts nothing.
    """
    asked, served = asked.strip(), served.strip()
    if not asked or not served:
        return True
    files = [bool(_FILE.match(name)) for name in (asked, served)]
    if any(files):
        return not all(files) or _find_file_name(asked) == _find_file_name(served)
    (name, tag, release), (other, other_tag, other_release) = (
        _split_name_tag_release(asked),
        _split_name_tag_release(served),
    )
    return (
        name == other
        and _is_same_or_unnamed(tag, other_tag)
        and _is_same_or_unnamed(release, other_release)
    )


def _is_same_or_unnamed(one: str, other: str) -> bool:
    """Return whether two tags, or two releases, of a model are the same, or one of them is not
    named ("").
    """
    return one == other or not one or not other


def _split_name_tag_release(model: str) -> tuple[str, str, str]:
    """Split *model*, a model's name, into (name, tag, release) in lower case, without its maker or
    host; "" for what it does not name.
    """
    name = _BEDROCK.sub("", model.casefold().rstrip("/").rpartition("/")[2])
    name, _, tag = name.partition(":")
    name = _REGION.sub("", name).removesuffix("-latest")
    release = ""
    if found := _RELEASE.search(name):
        name, release = name[: found.start()], found[1].replace("-", "")
    return re.sub(r"[._]", "-", name), tag, release


def _find_file_name(path: str) -> str:
    """Return the last part of *path*, in lower case; parts end at ``/`` or a backslash."""
    return re.split(r"[/\\]", path.casefold().rstrip("/\\"))[-1]
