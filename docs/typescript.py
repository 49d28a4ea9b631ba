"""Classes of values -> TypeScript interfaces, so that the page's data types have one source.

Of every class there is what it says is sent of it (`columns`). The first paragraph of a
docstring and the comments behind the fields are carried over. Two classes of one name, and a type
that JSON has not, are refused.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import textwrap
import tokenize
import types
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from independence_bench.columns import TEXTS, SentPart, list_sent_parts

PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
WIDTH = 120  # as of all of the page's code
HEAD = """\
// Made from the classes of src/independence_bench/viewer/ and of the values in them by \
`make docs`; change them there.

/**
 * What all answers share: absent is null, never 0; indices and scores are in [0, 100], \
100 being the
 * independent end; times are ISO 8601 in UTC; costs are US dollars; \
what is shown of a number stands beside
 * it as text, under *shown*, and is rounded by nobody else; \
ids are made by us and safe in a path; labels and
 * all other texts are hostile. A *start* and an *end* count UTF-16 code units, \
as JavaScript's strings do; the
 * end is the first one that no longer belongs to it.
 */

/** The numbers *Names* of a value as text. */
type Shown<Value, Names extends keyof Value> = { readonly [Name in Names]: AsText<Value[Name]> };
type AsText<Part> = Part extends number
  ? string
  : Part extends object
    ? { readonly [Name in keyof Part]: AsText<Part[Name]> }
    : Part;
"""


def typescript(answers: Sequence[type]) -> str:
    """The interfaces of *answers* and of every class in them, each before what is in it."""
    found: dict[str, type] = {}
    for answer in answers:
        _collect(answer, found)
    return "\n".join([HEAD, *("\n".join(_interface(shape)) + "\n" for shape in found.values())])


def _collect(hint: Any, found: dict[str, type]) -> None:
    if isinstance(hint, type) and hasattr(hint, "sent"):
        _collect(as_sent(hint), found)
        return
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if name_of(hint) in found:
            if found[name_of(hint)] is not hint:
                raise TypeError(
                    f"two classes are called {name_of(hint)}; the page would take one for the other"
                )
            return
        found[name_of(hint)] = hint
        for one in sent_to_page(hint):
            _collect(one.hint, found)
    for part in get_args(hint):
        _collect(part, found)


def sent_to_page(shape: type) -> list[SentPart]:
    """What the page is sent of it."""
    return [part for part in list_sent_parts(shape) if part.on_page]


def as_sent(shape: Any) -> Any:
    """The type of what is sent in place of *shape*."""
    return get_type_hints(shape.sent, vars(inspect.getmodule(shape)), include_extras=True)["return"]


def name_of(shape: type) -> str:
    """What the page calls it: an answer by what it is about."""
    return shape.__name__.removesuffix("Answer")


def _interface(shape: type) -> Iterator[str]:
    said = _comments(shape)
    yield _comment((inspect.getdoc(shape) or "").split("\n\n")[0], "")
    yield f"export interface {name_of(shape)} {{"
    every = sent_to_page(shape)
    for one in every:
        yield from _with_comment(f"  readonly {one.key}: {written(one.hint)};", said.get(one.name))
    texts = [f'"{one.key}"' for one in every if one.worded]
    if hasattr(shape, "as_text"):
        absent = any(type(None) in get_args(one.hint) for one in every[:1])
        yield f"  readonly shown: string{' | null' if absent else ''};"
    elif texts:
        shown = f"  readonly shown: Shown<{name_of(shape)}, {' | '.join(texts)}>;"
        yield "\n".join(textwrap.wrap(shown, WIDTH, subsequent_indent="    "))
    yield "}"


def _with_comment(line: str, said: str | None) -> Iterator[str]:
    """*line* with what is said of it behind it, as in Python, or above it where that does not
    fit.
    """
    if said is None:
        yield line
    elif "\n" not in said and len(line) + len(said) + 4 <= WIDTH:
        yield f"{line} // {said}"
    else:
        yield from (_comment(said, "  "), line)


def written(hint: Any) -> str:
    """*hint* in TypeScript's words."""
    if hint in PLAIN:
        return PLAIN[hint]
    if hint in TEXTS:
        return "string"
    if isinstance(hint, type) and hasattr(hint, "sent"):
        return written(as_sent(hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return " | ".join(f'"{one.value}"' for one in hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return name_of(hint)
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return written(parts[0])
    if kind is Literal:
        return " | ".join(f'"{part}"' for part in parts)
    if kind in (types.UnionType, Union):
        return " | ".join(written(part) for part in parts)
    if kind is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        inner = written(parts[0])
        return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
    if kind is tuple and Ellipsis not in parts:
        return f"readonly [{', '.join(map(written, parts))}]"
    if kind is Mapping and get_origin(parts[0]) is Literal:
        return f"Readonly<Partial<Record<{written(parts[0])}, {written(parts[1])}>>>"
    if kind is Mapping and parts[0] in (str, int):
        return f"Readonly<Record<string, {written(parts[1])}>>"
    raise TypeError(f"no TypeScript is known for {hint}")


def _comment(text: str, indent: str) -> str:
    """*text* as a documentation comment."""
    text = text.replace("*/", "* /")
    if "\n" not in text and len(text) + len(indent) + 7 <= WIDTH:
        return f"{indent}/** {text} */"
    paragraphs = text.split("\n\n")
    wrapped = [
        textwrap.wrap(" ".join(p.split()), WIDTH - len(indent) - 3, break_long_words=False)
        for p in paragraphs
    ]
    inside = [line for n, lines in enumerate(wrapped) for line in ([""] if n else []) + lines]
    return "\n".join(
        [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in inside), f"{indent} */"]
    )


def _comments(shape: type) -> dict[str, str]:
    """Field or property -> what is said of it: behind it, in a text below it, or in its
    docstring.
    """
    source = inspect.getsource(inspect.getmodule(shape) or shape)
    (node,) = [
        n for n in _tree(source).body if isinstance(n, ast.ClassDef) and n.name == shape.__name__
    ]
    behind, said = _behind(source), {}
    for part, below in zip(node.body, (*node.body[1:], None), strict=True):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            if part.lineno in behind:
                said[part.target.id] = behind[part.lineno]
            elif isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                said[part.target.id] = str(below.value.value)
        elif isinstance(part, ast.FunctionDef):
            said[part.name] = ast.get_docstring(part) or ""
    return said


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def _behind(source: str) -> dict[int, str]:
    """Line number -> the comment that stands behind code there."""
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }
