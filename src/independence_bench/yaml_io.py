"""Read YAML that a person wrote as a checked pydantic value, or as one line that names the key and
how to correct it.

    text = read_text_file(path)  # no more than a person writes
    read_yaml(text, ModelsFile, wrong, aliases=False)
        # nothing nested more deeply than our formats are

It knows nothing of what the documents mean. Used for protocols, for models.yaml and for sheets of
characters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from independence_bench.errors import BenchError, WrongUse, describe_file_error
from independence_bench.escape import check_one_line, check_printable
from independence_bench.lookup import describe_similar_files, suggest_names

Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(check_printable)
]
Pair = Annotated[tuple[Text, Text], Field(strict=False)]  # two texts in a list
OneLine = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(check_one_line)
]

# YAML reads a bare off as False; the published labels say none
Effort = Annotated[
    Literal["off", "minimal", "low", "medium", "high", "auto"],
    BeforeValidator(lambda value: "off" if value is False or value == "none" else value),
]


MOST = 50  # mistakes of one document that are reported: a hostile one can have any number
LARGEST = 400_000  # bytes of one file
DEEPEST = 10  # brackets and indents inside each other; no format of ours has more than seven


class Strict(BaseModel):
    """A document or a part of one: unknown keys, NaN, infinities and a number in quotes are
    errors.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True
    )


M = TypeVar("M", bound=Strict)
Unknown = Literal["forbid", "ignore"]


def read_text_file(path: Path, largest: int = LARGEST) -> str:
    """Return the text of the UTF-8 file at *path*, with line feeds as line ends. Raises WrongUse if
    the file does not exist, is not UTF-8, or has more than *largest* bytes.
    """
    try:
        if not path.is_file():
            raise WrongUse(f"{path} does not exist or is not a file{describe_similar_files(path)}")
        with path.open("rb") as file:
            if b"\0" in file.read(1024) and path.stat().st_size > largest:
                raise WrongUse(f"{path} is not a text file")
        if path.stat().st_size > largest:
            raise WrongUse(
                f"{path} has {path.stat().st_size:,} bytes, more than {largest:,}; shorten it"
            )
        return (
            path.read_bytes()[: largest + 1]
            .decode("utf-8-sig")
            .replace("\r\n", "\n")
            .replace("\r", "\n")
        )
    except UnicodeDecodeError as error:
        raise WrongUse(f"{path} is not UTF-8 text ({error.reason}); save it as such") from error
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read ({describe_file_error(error)})") from error


def read_yaml(
    text: str,
    model: type[M],
    make_error: Callable[[str, str], BenchError],
    on_further_error: Callable[[BenchError], object] = lambda other: None,
    aliases: bool = True,
    unknown: Unknown = "forbid",
) -> M:
    """Return the YAML *text* as a checked object of the pydantic class *model*. Raises ``wrong(key,
    problem)`` for the first mistake, and calls *on_further_error* with the error of every further
    mistake. *aliases*: whether YAML aliases are allowed. *unknown*: whether keys that the class
    lacks are mistakes or ignored.
    """
    content = read_yaml_mapping(text, make_error, aliases)
    try:
        return model.model_validate(content, extra=unknown)
    except ValidationError as error:
        # unknown keys first: they may be the missing ones, misspelt
        mistakes = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
        problems = {
            _shorten_to_one_line(".".join(str(part) for part in mistake["loc"])): describe_mistake(
                mistake, model
            )
            for mistake in reversed(mistakes[:MOST])
        }
        (key, problem), *others = reversed(problems.items())
        for other in others:
            on_further_error(make_error(*other))
        raise make_error(key, problem) from error


def read_yaml_mapping(
    text: str, make_error: Callable[[str, str], BenchError], aliases: bool = True
) -> dict[str, Any]:
    """Return the keys and values of the YAML *text*, unchecked. Raises ``wrong(where, problem)`` if
    the text is not valid YAML or not a mapping.

    Without *aliases*, YAML aliases are refused, so that a few lines cannot stand for gigabytes.
    """
    try:
        content = _load_content(text, aliases)
    except yaml.YAMLError as error:
        line, problem = _explain_yaml_error(error, text)
        if not isinstance(error, _RefusedYaml):
            problem = f"is not valid YAML: {problem}"
        raise make_error(f"line {line}" if line else "", problem) from error
    except (RecursionError, ValueError, LookupError, AttributeError) as error:
        # aliases in aliases too deep, a date that does not exist, a tag that does not fit its value
        # (`!!int ""`)
        raise make_error(
            "", f"is not valid YAML: {_shorten_to_one_line(str(error)) or type(error).__name__}"
        ) from error
    if not isinstance(content, dict):
        empty = "is empty; it " if content is None else ""
        raise make_error("", f"{empty}should hold keys and values (`title: ...`)")
    return content


def _explain_yaml_error(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Return (the number of the line, 0 for none; what is wrong there and what to write) for the
    *error* of a reader of the YAML *text*.
    """
    mark = getattr(error, "problem_mark", None)
    said = _shorten_to_one_line(getattr(error, "problem", None) or str(error).splitlines()[0])
    if mark is None:
        return 0, said
    began = getattr(error, "context_mark", None)
    lines = text.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    key, divided, value = line.partition(": ")
    value = value.strip()
    quoted = f"put it in quotes: {_quote_value(key, value)}" if divided and value else "quote it"
    before = line[: mark.column]
    if "'\\t'" in said or "tab" in said.split():
        return mark.line + 1, "there is a tab in it; YAML indents with spaces, so replace the tab"
    if said == "mapping values are not allowed here":
        if ": " in before:
            return mark.line + 1, f"the text has a colon in it; {quoted}"
        return mark.line + 1, (
            "it is indented as if it went on with the text of the line above; begin it below that "
            "line's key, or put the whole text in quotes"
        )
    if "another document" in said:
        return mark.line + 1, "a second document begins (---); keep one in a file"
    if "end of stream" in said and began is not None:
        return began.line + 1, "the quotes that begin here are not closed"
    if "unknown escape" in said:
        return mark.line + 1, "a backslash in double quotes has a meaning; use single quotes"
    if divided and value[:1] in _NO_BEGINNINGS and not isinstance(error, _RefusedYaml):
        return mark.line + 1, f"a text cannot begin with {value[0]}; {quoted}"
    if "expected ':'" in said:
        return mark.line + 1, "a key and a colon are missing, as in `name: Ada`"
    if said.startswith("expected <block end>") and "'<scalar>'" in said:
        return mark.line + 1, (
            "there is text behind the closing quotes; quote the whole text, with single quotes "
            "around it"
        )
    if said.startswith("expected <block end>") and "'-'" in said:
        return mark.line + 1, "it begins with a dash, but the lines above it are `key: text`"
    if said.startswith("expected <block end>"):
        return mark.line + 1, "it is not indented like the lines that it belongs to"
    return mark.line + 1, said


_NO_BEGINNINGS = tuple("@`%*&![]{}|>,")


def _quote_value(key: str, value: str) -> str:
    """Return a line of YAML in which the text *value* of *key* stands in quotes, shortened."""
    shown = value if len(value) <= 60 else f"{value[:60]}…"
    if '"' not in shown and "\\" not in shown:
        return f'{key.strip()}: "{shown}"'
    return "{}: '{}'".format(key.strip(), shown.replace("'", "''"))


def find_yaml_scalar_and_line(text: str, path: Sequence[str]) -> tuple[str | None, int]:
    """Return (the value at *path*, keys and numbers of list items, as it is written in the valid
    YAML *text*, None for a list or a mapping; the number of its line). A path that leads nowhere is
    followed as far as it goes; 0 for a *path* whose first key is not there.
    """
    try:
        node: Any = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return None, 0
    line = 0
    for part in path:
        inner = None
        if isinstance(node, yaml.MappingNode):
            inner = next(((key, value) for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
            inner = node.value[int(part)], node.value[int(part)]
        if inner is None:
            return None, line
        line, node = inner[0].start_mark.line + 1, inner[1]
    return (node.value if isinstance(node, yaml.ScalarNode) else None), line


def _shorten_to_one_line(text: str) -> str:
    """Return *text* on one line of at most 200 characters."""
    return " ".join(text[:400].split())[:200]


def describe_mistake(error: Any, model: type[BaseModel]) -> str:
    """Return a pydantic *error* about a document of the class *model* in words for its writer, with
    how to correct the mistake if that is known.
    """
    if error["type"] == "extra_forbidden":
        *path, key = error["loc"]
        return (
            "is not a known key; "
            f"{suggest_names(str(key), _list_known_keys(model, path), 'known:')}"
        )
    if error["type"] == "missing":
        return "is missing; add it"
    if "scale" in error["loc"]:
        return "a scale is [low, high], two numbers, or yes_no"
    given = error.get("input")
    # Python refuses to write down an integer of thousands of digits
    unshown = isinstance(given, (dict, list)) or (
        isinstance(given, int) and given.bit_length() > 256
    )
    shown = "" if unshown else f" (it says {str(given)[:60]!r})"
    return f"{error['msg'][0].lower()}{error['msg'][1:]}{shown}"


def _list_known_keys(model: type[BaseModel], path: Sequence[Any]) -> list[str]:
    """Return the keys that are allowed at *path* (keys and list indexes) in a document of the
    pydantic class *model*.
    """
    kinds = [model]
    # the number of an item, or a key that the writer chose, leads to no other kind
    for part in path:
        fields = [kind.model_fields[part] for kind in kinds if part in kind.model_fields]
        kinds = [
            inner for inner_field in fields for inner in _find_models(inner_field.annotation)
        ] or kinds
    return list(dict.fromkeys(name for kind in kinds for name in kind.model_fields))


def _find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield every pydantic class that a type annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _find_models(inner)


class _UniqueKeyConstructor(yaml.constructor.SafeConstructor):
    """A constructor that refuses a key written twice, of which YAML would silently keep the
    last.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the dictionary of the YAML mapping *node*. Raises ConstructorError for a key that
        is not text, or that appears twice.
        """
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                # a key that is a list of aliases of lists of aliases can be too large to be shown
                shown = f" {key_node.value[:60]}" if isinstance(key_node, yaml.ScalarNode) else ""
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"the key{shown} is not a word; put it in quotes",
                    key_node.start_mark,
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key} appears here twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class _RefusedYaml(yaml.MarkedYAMLError):
    """YAML that is valid, but refused here."""


class _BoundedLoader(_UniqueKeyConstructor, yaml.SafeLoader):
    """A loader in Python, whose messages name the line and the problem. It stops if something is
    nested too deeply.
    """

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node of a YAML document. Raises _RefusedYaml if lists and mappings are
        nested more than `DEEPEST` levels deep.
        """
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        inside = isinstance(event, yaml.CollectionStartEvent)
        self._depth += inside
        if self._depth > DEEPEST:
            raise _RefusedYaml(
                problem=f"is nested too deeply; {DEEPEST} levels are read",
                problem_mark=event.start_mark,
            )
        node = super().compose_node(parent, index)
        self._depth -= inside
        return node


class _AliasFreeLoader(_BoundedLoader):
    """A bounded loader that refuses aliases."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node of a YAML document. Raises _RefusedYaml if the node is an alias, or
        is nested too deeply.
        """
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            raise _RefusedYaml(
                problem=f"has a YAML alias (*{event.anchor}); write it out", problem_mark=mark
            )
        return super().compose_node(parent, index)


class _QuickLoader(_UniqueKeyConstructor, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader by libyaml, if it is installed."""


def _load_content(text: str, aliases: bool) -> Any:
    """Return the content of the YAML *text*: by libyaml, which is several times as fast, if nothing
    in the text is to be refused; else by the loader in Python, whose yaml.YAMLError says what is
    wrong and where.

    libyaml takes a tab after a colon for a space, where Python's loader sees an error.
    """
    if yaml.__with_libyaml__:
        try:
            if _can_load_quickly(text, aliases):
                return load_shipped_yaml(text)
        except yaml.YAMLError:
            pass
    return yaml.load(text, Loader=_BoundedLoader if aliases else _AliasFreeLoader)  # noqa: S506 - derive from SafeLoader


def _can_load_quickly(text: str, aliases: bool) -> bool:
    """Whether libyaml may load the YAML *text*: nothing is nested more than `DEEPEST` levels deep,
    and there are no aliases unless *aliases* allows them.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST or (isinstance(event, yaml.AliasEvent) and not aliases):
            return False
    return True


def load_shipped_yaml(text: str) -> Any:
    """Return the content of *text*, a YAML file that ships with the package, by the fastest loader.
    Raises yaml.YAMLError; only `read_yaml` explains mistakes to users.
    """
    return yaml.load(text, Loader=_QuickLoader)  # noqa: S506 - derives from SafeConstructor


class _Dumper(yaml.SafeDumper):
    """A dumper that writes texts of several lines as blocks and nothing by reference, as a person
    would.
    """

    def ignore_aliases(self, data: Any) -> bool:
        """Return True, so that the YAML dumper always writes *data* in full instead of as a
        reference.
        """
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Return *text* as a YAML scalar node, in block style if it has several lines."""
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    )


_Dumper.add_representer(str, _represent_text)


def format_yaml(content: Mapping[str, Any]) -> str:
    """Return the keys and values in *content* as the text of a YAML file."""
    return yaml.dump(dict(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
