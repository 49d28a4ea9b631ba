"""Equations in TeX -> MathML, by latex2mathml: the page draws what is made here."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

PARTS = {
    "mfrac": 2,
    "msub": 2,
    "msup": 2,
    "msubsup": 3,
    "mover": 2,
    "munder": 2,
    "munderover": 3,
    "msqrt": 1,
}
Drawn = list["str | dict[str, str] | list[Drawn]"]


def equations_json(written: Iterable[str]) -> str:
    """TeX -> its MathML, an equation a line. Raises ValueError for what is no TeX."""
    lines = [
        f"{json.dumps(tex)}: {json.dumps(drawn(tex), ensure_ascii=False)}"
        for tex in dict.fromkeys(written)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def drawn(tex: str) -> Drawn:
    """What is inside its `math`: an element as [name, attributes, text, parts]."""
    (inside,) = convert_to_element(tex, display="block")
    # what it does not know it passes on as letters, and what is missing it leaves out
    if tex.count("{") != tex.count("}"):
        raise ValueError(f"{tex}: a brace is missing")
    for one in inside.iter():
        if set(one.text or "") & set("\\{}") or len(one) != PARTS.get(one.tag, len(one)):
            raise ValueError(f"{tex}: {one.tag} {one.text or ''} is not whole")
    return _plain(inside)


def _plain(one: Element) -> Drawn:
    text = html.unescape(one.text or "")  # it writes characters as entities
    return [one.tag, dict(one.attrib), text, [_plain(part) for part in one]]
