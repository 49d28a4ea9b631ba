"""How large the project is: lines by kind, modules, functions that are used once, words of docs.

python benchmarks/size.py [CHECKOUT]
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

KINDS = ("statement", "docstring", "import", "comment", "blank")
SHORT = 6  # lines of a function that may say no more than its body
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print the counts."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1])
    names = subprocess.run(
        ["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    files = {
        name: (root / name).read_text(encoding="utf-8")
        for name in filter(measured, names)
        if (root / name).exists()
    }
    python = {
        name: text
        for name, text in files.items()
        if name.startswith("src/") and name.endswith(".py")
    }
    kinds = sum((lines_by_kind(text) for text in python.values()), Counter())
    tests = sum(
        len(text.splitlines()) for name, text in files.items() if re.match(r"tests/.*\.py$", name)
    )
    web = sum(len(text.splitlines()) for name, text in files.items() if name.startswith("web/"))
    words = sum(
        len(text.split())
        for name, text in files.items()
        if re.fullmatch(r"docs/.*\.md|README\.md", name)
    )
    functions, once, short = used_once(python.values())
    for what, count in (
        ("lines in src", sum(kinds.values())),
        *((f"  {kind} lines", kinds[kind]) for kind in KINDS),
        ("modules in src", len(python)),
        ("functions in src", functions),
        ("  private, used once", once),
        (f"  of these, {SHORT} lines or fewer", short),
        ("lines in tests", tests),
        ("lines in web", web),
        ("words in docs and README", words),
    ):
        print(f"{what:<32}{count:>9,}")


def measured(name: str) -> bool:
    """Whether a file of the repository is written by hand and counted."""
    return name.endswith((".py", ".md", ".ts", ".tsx", ".css", ".js", ".mjs"))


def lines_by_kind(text: str) -> Counter[str]:
    """The number of lines of each kind in a module; an empty line is blank, also inside a
    string.
    """
    kinds = ["blank"] * len(text.splitlines())
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            kinds[token.start[0] - 1] = "comment"
        elif token.type not in (
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
        ):
            for line in range(token.start[0], min(token.end[0], len(kinds)) + 1):
                kinds[line - 1] = (
                    "statement" if token.type != tokenize.ENDMARKER else kinds[line - 1]
                )
    for node in ast.walk(ast.parse(text)):
        kind = "import" if isinstance(node, ast.Import | ast.ImportFrom) else ""
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            kind = "docstring"
        if kind and isinstance(node, ast.stmt):
            last = node.end_lineno or node.lineno
            kinds[node.lineno - 1 : last] = [kind] * (last - node.lineno + 1)
    return Counter(
        kind if line.strip() else "blank"
        for line, kind in zip(text.splitlines(), kinds, strict=True)
    )


def used_once(texts: Iterable[str]) -> tuple[int, int, int]:
    """The number of functions; of private ones that one place names; and of those with at most
    SHORT lines.
    """
    modules = [ast.parse(text) for text in texts]
    functions = [
        node for module in modules for node in ast.walk(module) if isinstance(node, Function)
    ]
    once = [f for module in modules for f, uses in private_functions(module) if uses == 1]
    short = [f for f in once if (f.end_lineno or f.lineno) - f.lineno < SHORT]
    return len(functions), len(once), len(short)


def private_functions(module: ast.Module) -> Iterator[tuple[Function, int]]:
    """Each function of a module whose name is private, and how often the module names it."""
    names = Counter(
        n.id if isinstance(n, ast.Name) else n.attr
        for n in ast.walk(module)
        if isinstance(n, ast.Name | ast.Attribute)
    )
    for node in ast.walk(module):
        if (
            isinstance(node, Function)
            and node.name.startswith("_")
            and not node.name.startswith("__")
        ):
            yield node, names[node.name]


if __name__ == "__main__":
    main()
