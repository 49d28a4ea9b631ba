"""Frozen dataclasses -> TypeScript interfaces, so that the page's data types have one source.

Knows the types that `viewer/shapes.py` is made of, and refuses every other one. Docstrings and the comments behind the
fields are carried over.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import textwrap
import tokenize
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from independence_bench.viewer.numbers import form_of

PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
WIDTH = 100

Comments = Mapping[int, str]  # line number -> the comment that stands behind code there


def typescript(module: types.ModuleType) -> str:
    """The interfaces of every dataclass in *module*, in its order. Raises TypeError for a type that JSON has not."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    tree = ast.parse(source)
    comments = _comments(source)
    blocks = [_comment(ast.get_docstring(tree) or "", ""), ""]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            blocks += ["", *_interface(getattr(module, node.name), node, comments)]
    head = "// Made from src/independence_bench/viewer/shapes.py by `make docs`; change it there.\n\n"
    return head + "\n".join(blocks).replace("\n\n\n", "\n\n") + "\n"


def _interface(shape: type, node: ast.ClassDef, comments: Comments) -> Iterator[str]:
    if not dataclasses.is_dataclass(shape):
        raise TypeError(f"{shape.__name__} is no dataclass")
    yield _comment(ast.get_docstring(node) or "", "")
    yield f"export interface {shape.__name__} {{"
    hints = get_type_hints(shape, include_extras=True)
    lines = {
        part.target.id: part.lineno
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    for field in dataclasses.fields(shape):
        if said := comments.get(lines[field.name]):
            yield _comment(said, "  ")
        yield f"  readonly {field.name}: {written(hints[field.name])};"
    if texts := [name for name, hint in hints.items() if form_of(hint)]:
        yield _comment("as text", "  ")
        yield "  readonly shown: {"
        yield from (f"    readonly {name}: {written(hints[name]).replace('number', 'string')};" for name in texts)
        yield "  };"
    yield "}"


def written(hint: Any) -> str:
    """*hint* in TypeScript's words."""
    if hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint.__name__
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
    if kind is Mapping and parts[0] is str:
        return f"Readonly<Record<string, {written(parts[1])}>>"
    raise TypeError(f"no TypeScript is known for {hint}")


def _comment(text: str, indent: str) -> str:
    """*text* as a documentation comment."""
    text = text.replace("*/", "* /")
    if "\n" not in text and len(text) + len(indent) + 7 <= WIDTH:
        return f"{indent}/** {text} */"
    paragraphs = text.split("\n\n")
    wrapped = [textwrap.wrap(" ".join(p.split()), WIDTH - len(indent) - 3, break_long_words=False) for p in paragraphs]
    inside = [line for n, lines in enumerate(wrapped) for line in ([""] if n else []) + lines]
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in inside), f"{indent} */"])


def _comments(source: str) -> dict[int, str]:
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }
