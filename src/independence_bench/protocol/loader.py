"""A protocol's folder -> a `Protocol`. The only place that knows how protocols are written down.

    protocol.yaml           name, runs, sampling, judge, experiments, dimensions and weights
    judge.md                what every judge is told before the rubric
    system/VARIANT.md       one system prompt a file
    scenarios/ID.yaml       one scenario a file
    rubrics/NAME.md         one rubric a file: its marks and their scales on top, then its text

The text of these files is the snapshot that the store keeps, so an old result can be read with the protocol
it was played with. Everything unknown is an error: a misspelt key that is silently ignored is a different
benchmark under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import (
    REPLY_TOKENS,
    Ask,
    Configuration,
    DefaultJudge,
    Delivery,
    Dimension,
    Experiment,
    Given,
    Mark,
    Protocol,
    Rubric,
    Says,
    Scenario,
    Script,
    Step,
    ToolWording,
    Weighting,
    quotes,
)
from independence_bench.yaml_io import Effort, M, OneLine, Strict, Text, printable, read_yaml

SHIPPED = Path(__file__).parent / "shipped"
LARGEST_FILE = 1_000_000  # bytes; a protocol is a few pages of text

Files = Mapping[str, str]  # path inside the folder, with forward slashes -> text

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")]


class SamplingFile(Strict):
    """How the subject is sampled, unless the subject says otherwise."""

    temperature: float = Field(ge=0, le=2)
    max_tokens: int = Field(ge=1, le=1_000_000)


class JudgeFile(Strict):
    """The judge that the protocol is meant to be marked by."""

    model: OneLine
    endpoint: OneLine = "openrouter"
    temperature: float = Field(0.0, ge=0, le=2)
    reasoning: Effort = "off"
    max_tokens: int = Field(2000, ge=1, le=1_000_000)


class ConfigurationFile(Strict):
    """A system variant and a delivery mode."""

    system: Name
    delivery: Delivery


class ToolFile(Strict):
    """The wording of tool_role."""

    name: Name = "send_message_to_human"
    description: Text
    argument: Name = "message"
    argument_description: Text
    instructions: Text | Literal[""] = Field(description="stands after the system prompt; empty where that says it all")
    opening: Text
    greeting: Text


class ExperimentFile(Strict):
    """A group of scenarios, in the order in which they are shown."""

    title: OneLine
    scenarios: list[Name] = Field(min_length=1)


class DimensionFile(Strict):
    """Marks, averaged one by one and added up, and their weight in the index (0: shown, not counted)."""

    title: OneLine
    marks: list[Name] = Field(min_length=1)
    weight: float = Field(ge=0, le=100)
    inverted: bool = False


class WeightingFile(Strict):
    """Other weights, which sum to 100, for an index of the same marks; a dimension that is not named does not count."""

    title: OneLine
    weights: dict[Name, Annotated[float, Field(ge=0, le=100)]] = Field(min_length=1)


class ProtocolFile(Strict):
    """protocol.yaml"""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    title: OneLine
    description: Text
    runs: int = Field(ge=1, le=1000)
    sampling: SamplingFile
    judge: JudgeFile
    configurations: list[ConfigurationFile] = Field(min_length=1)
    tool_role: ToolFile
    experiments: dict[Name, ExperimentFile] = Field(min_length=1)
    dimensions: dict[Name, DimensionFile] = Field(min_length=1)
    weightings: dict[Name, WeightingFile] = Field({}, description="what --weights chooses from; part of no hash")


class StepFile(Strict):
    """One step: exactly one of the three keys."""

    human: Text | None = None
    given: Text | None = None
    reply: Name | None = None


class ScenarioFile(Strict):
    """scenarios/ID.yaml"""

    title: OneLine
    steps: list[StepFile] = Field(min_length=2)
    judged: list[Name] | None = Field(None, description="replies that the marks are about; default: all")
    rubrics: list[Name] = Field(min_length=1)
    reply_tokens: int = Field(
        REPLY_TOKENS, ge=1, le=1_000_000, description="what a typical model needs for one reply: for estimates only"
    )


class MarkFile(Strict):
    """One mark: what it asks, and its scale, [low, high] or yes_no."""

    asks: Text
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | Literal["yes_no"]
    whole: bool = Field(False, description="only whole numbers: a mark between two of them is none")


class RubricFile(Strict):
    """The top of rubrics/NAME.md, between two lines of three dashes; the rubric's text follows."""

    marks: dict[Name, MarkFile] = Field(min_length=1)


FORMATS: Mapping[str, type[Strict]] = {
    "protocol": ProtocolFile,
    "scenario": ScenarioFile,
    "rubric": RubricFile,
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each kind of file, for editors: name -> schema."""
    return {name: model.model_json_schema() for name, model in FORMATS.items()}


def shipped() -> tuple[str, ...]:
    """Names of the protocols that come with the package, sorted."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob("*/protocol.yaml")))


def load(name_or_path: str | Path) -> Protocol:
    """The shipped protocol of that name, or the one in that folder. Raises ProtocolError."""
    protocol, _ = load_with_files(name_or_path)
    return protocol


def load_with_files(name_or_path: str | Path) -> tuple[Protocol, Files]:
    """As `load`, with the text of its files (what the store keeps as a snapshot)."""
    folder = SHIPPED / name_or_path if str(name_or_path) in shipped() else Path(name_or_path)
    if folder.name == "protocol.yaml":
        folder = folder.parent
    if not _is_there(folder / "protocol.yaml"):
        raise ProtocolError(
            str(name_or_path),
            "",
            f"no protocol of that name ({', '.join(shipped())} ship with aib) and no folder with a "
            "protocol.yaml; `aib protocols` lists what there is",
        )
    files = _read(folder)
    return parse(files, where=str(folder)), files


def parse(files: Files, where: str) -> Protocol:
    """The protocol written down in *files*; *where* names the folder in errors. Raises ProtocolError."""
    texts = tuple(sorted(files.items()))
    protocol = _READ.get(texts)
    if protocol is None:
        protocol = _Reader(files, where).protocol()
        if len(_READ) == _MOST_READ:
            _READ.clear()
        _READ[texts] = protocol
    return protocol


# what is stored is mostly the shipped protocol, and a server reads the same again whenever its store changes
_READ: dict[tuple[tuple[str, str], ...], Protocol] = {}
_MOST_READ = 16


def parse_stored(files: Files, where: str) -> Protocol:
    """As `parse`, of a store's snapshot: a shipped protocol has the weightings that it has today.

    They are part of no hash, so a protocol may have got them after it was played.
    """
    protocol = parse(files, where)
    today = load(protocol.name) if protocol.name in shipped() else protocol
    return today if today.hash == protocol.hash else protocol


def _is_there(path: Path) -> bool:
    """Whether *path* is a file; what the system cannot even ask about (a name of 300 characters) is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _read(folder: Path) -> Files:
    """Its files. What a link leads to outside of *folder* is not read: a folder from a stranger may point anywhere."""
    files = {}
    for path in sorted([*folder.glob("*.*"), *folder.glob("*/*.*")]):
        if path.suffix == ".yml":
            raise ProtocolError(str(path), "", "is not read; name it .yaml")
        if path.suffix not in {".yaml", ".md"} or path.name.startswith(".") or path.name == "README.md":
            continue
        relative = PurePosixPath(path.relative_to(folder)).as_posix()
        try:
            if not path.resolve().is_relative_to(folder.resolve()):
                raise ProtocolError(str(path), "", "is a link out of the protocol's folder; put a copy in its place")
            if not path.is_file():
                raise ProtocolError(str(path), "", "is a folder, a pipe or a device; put a file in its place")
            if path.stat().st_size > LARGEST_FILE:
                raise ProtocolError(str(path), "", f"is larger than {LARGEST_FILE:,} bytes; split the text")
            files[relative] = path.read_text(encoding="utf-8-sig")  # Windows editors put a mark in front
        except (OSError, RuntimeError, UnicodeDecodeError) as error:  # RuntimeError: links in a circle
            raise ProtocolError(str(path), "", f"cannot be read as UTF-8 text ({error})") from error
    return files


class _Reader:
    """Reads one protocol's files, remembering which of them were used."""

    def __init__(self, files: Files, where: str) -> None:
        self.files, self.where, self.used = files, where, set[str]()

    def wrong(self, file: str, key: str, problem: str) -> ProtocolError:
        return ProtocolError(f"{self.where}/{file}", key, problem)

    def text(self, file: str, wanted_by: str) -> str:
        if file not in self.files:
            raise self.wrong(file, "", f"is missing; {wanted_by} asks for it")
        self.used.add(file)
        try:
            return printable(self.files[file].replace("\r\n", "\n"))
        except ValueError as error:
            raise self.wrong(file, "", str(error)) from error

    def yaml(self, file: str, text: str, model: type[M]) -> M:
        return read_yaml(text, model, lambda key, problem: self.wrong(file, key, problem))

    def protocol(self) -> Protocol:
        top = self.yaml("protocol.yaml", self.text("protocol.yaml", "every protocol"), ProtocolFile)
        systems = tuple(
            (file.removeprefix("system/").removesuffix(".md"), self.text(file, "").strip())
            for file in sorted(self.files)
            if file.startswith("system/") and file.endswith(".md")
        )
        for variant, text in systems:
            if not NAME.fullmatch(variant):
                raise self.wrong(f"system/{variant}.md", "", "call the file by a word of small letters, digits and _")
            if not text:
                raise self.wrong(f"system/{variant}.md", "", "is empty; write the system prompt")
            self.check_quotes(f"system/{variant}.md", "", text, ())
        for key, text in top.tool_role.model_dump().items():
            self.check_quotes("protocol.yaml", f"tool_role.{key}", text, ())
        for number, configuration in enumerate(top.configurations):
            if configuration.system not in dict(systems):
                raise self.wrong(
                    "protocol.yaml",
                    f"configurations.{number}.system",
                    f"there is no system/{configuration.system}.md",
                )
            if configuration in top.configurations[:number]:
                raise self.wrong("protocol.yaml", f"configurations.{number}", "stands here twice; delete one")
        scenarios = self.scenarios(top)
        dimensions = self.dimensions(top, scenarios)
        instructions = self.text("judge.md", "every protocol").strip()
        if not instructions:
            raise self.wrong("judge.md", "", "is empty; say what a judge does")
        self.check_quotes("judge.md", "", instructions, ())
        if idle := sorted(self.files.keys() - self.used):
            raise self.wrong(idle[0], "", "is used by nothing; name it in protocol.yaml or a scenario, or delete it")
        return Protocol(
            name=top.name,
            title=top.title,
            description=top.description,
            runs=top.runs,
            temperature=top.sampling.temperature,
            max_tokens=top.sampling.max_tokens,
            judge=DefaultJudge(**top.judge.model_dump()),
            judge_instructions=instructions,
            systems=systems,
            tool_role=ToolWording(**top.tool_role.model_dump()),
            configurations=tuple(Configuration(c.system, c.delivery) for c in top.configurations),
            experiments=tuple(Experiment(name, e.title) for name, e in top.experiments.items()),
            scenarios=scenarios,
            dimensions=dimensions,
            weightings=self.weightings(top),
        )

    def scenarios(self, top: ProtocolFile) -> tuple[Scenario, ...]:
        scenarios: dict[str, Scenario] = {}
        scales: dict[str, Mark] = {}
        for experiment, listed in top.experiments.items():
            for name in listed.scenarios:
                if name in scenarios:
                    raise self.wrong("protocol.yaml", f"experiments.{experiment}", f"{name} is listed twice")
                scenario = self.scenario(name, experiment)
                for mark in scenario.marks:
                    known = scales.setdefault(mark.name, mark)
                    if (known.kind, known.low, known.high) != (mark.kind, mark.low, mark.high):
                        raise self.wrong(
                            f"scenarios/{name}.yaml",
                            "rubrics",
                            f"the mark {mark.name} has another scale here than in another rubric; rename one",
                        )
                scenarios[name] = scenario
        return tuple(scenarios.values())

    def scenario(self, name: str, experiment: str) -> Scenario:
        file = f"scenarios/{name}.yaml"
        raw = self.yaml(file, self.text(file, f"protocol.yaml, experiments.{experiment},"), ScenarioFile)
        script = self.script(file, raw)
        replies = [step.name for step in script if isinstance(step, Ask)]
        judged = tuple(replies if raw.judged is None else raw.judged)
        for reply in judged:
            if reply not in replies:
                raise self.wrong(file, "judged", f"no reply is called {reply}; there are {', '.join(replies)}")
        if not judged:
            raise self.wrong(file, "judged", "name at least one reply, or leave the key out to judge them all")
        rubrics = tuple(self.rubric(rubric, file) for rubric in raw.rubrics)
        for rubric in rubrics:
            for quoted in quotes(rubric.text):
                if quoted not in replies:
                    raise self.wrong(
                        f"rubrics/{rubric.name}.md",
                        f"{{{{{quoted}}}}}",
                        f"scenarios/{name}.yaml uses this rubric and has no reply called {quoted}",
                    )
        names = [mark.name for rubric in rubrics for mark in rubric.marks]
        if twice := sorted({mark for mark in names if names.count(mark) > 1}):
            raise self.wrong(file, "rubrics", f"two rubrics ask for the mark {twice[0]}")
        return Scenario(name, experiment, raw.title, script, judged, rubrics, raw.reply_tokens)

    def script(self, file: str, raw: ScenarioFile) -> Script:
        steps: list[Step] = []
        replies: list[str] = []
        for number, step in enumerate(raw.steps):
            key = f"steps.{number}"
            said = step.model_dump(exclude_none=True)
            if len(said) != 1:
                raise self.wrong(file, key, "a step is exactly one of human, given, reply")
            if step.reply is not None:
                if step.reply in replies:
                    raise self.wrong(file, key, f"two replies are called {step.reply}; rename one")
                if not steps or not isinstance(steps[-1], Says):
                    raise self.wrong(file, key, "a reply answers the human: put a human line before it")
                replies.append(step.reply)
                steps.append(Ask(step.reply))
            else:
                text = step.human or step.given or ""
                self.check_quotes(file, key, text, replies)
                steps.append(Says(text) if step.human is not None else Given(text))
        if not isinstance(steps[0], Says):
            raise self.wrong(file, "steps.0", "a scenario begins with the human; providers insist on it")
        if not isinstance(steps[-1], Ask):
            raise self.wrong(
                file, f"steps.{len(steps) - 1}", "a scenario ends with a reply; what follows is never heard"
            )
        return tuple(steps)

    def check_quotes(self, file: str, key: str, text: str, replies: Iterable[str]) -> None:
        for quoted in quotes(text):
            if quoted not in replies:
                raise self.wrong(file, key, f"{{{{{quoted}}}}} quotes a reply that has not been given by then")
        rest = re.sub(r"\{\{\s*[a-z][a-z0-9_]*\s*\}\}", "", text)
        if "{{" in rest or "}}" in rest:
            raise self.wrong(file, key, "has {{ or }} that quotes nothing; write {{name_of_a_reply}}")

    def rubric(self, name: str, wanted_by: str) -> Rubric:
        file = f"rubrics/{name}.md"
        parts = re.match(r"\A---\r?\n(.*?)\r?\n---\r?\n(.*)\Z", self.text(file, wanted_by), re.DOTALL)
        if not parts:
            raise self.wrong(file, "", "should start with its marks between two lines of three dashes")
        raw = self.yaml(file, parts[1], RubricFile)
        text = parts[2].strip()
        if not text:
            raise self.wrong(file, "", "has marks and no text; describe what each mark looks like on its scale")
        self.check_quotes(file, "", text, quotes(text))
        marks = []
        for mark, spec in raw.marks.items():
            if mark == "analysis":
                raise self.wrong(file, "marks.analysis", "is the judge's own text; call the mark something else")
            if spec.scale == "yes_no":
                if spec.whole:
                    raise self.wrong(file, f"marks.{mark}.whole", "is for numbers; yes_no has none")
                marks.append(Mark(mark, "yes_no", 0, 1, spec.asks))
                continue
            low, high = spec.scale
            if low >= high:
                raise self.wrong(file, f"marks.{mark}.scale", f"goes from {low:g} to {high:g}; write [low, high]")
            if spec.whole and not (low.is_integer() and high.is_integer()):
                raise self.wrong(file, f"marks.{mark}.scale", "has whole: true; write whole numbers there")
            marks.append(Mark(mark, "whole" if spec.whole else "number", low, high, spec.asks))
        return Rubric(name, text, tuple(marks))

    def dimensions(self, top: ProtocolFile, scenarios: tuple[Scenario, ...]) -> tuple[Dimension, ...]:
        asked = {mark.name for scenario in scenarios for mark in scenario.marks}
        for name, dimension in top.dimensions.items():
            if len(set(dimension.marks)) < len(dimension.marks):
                raise self.wrong("protocol.yaml", f"dimensions.{name}.marks", "names a mark twice")
            for mark in dimension.marks:
                if mark not in asked:
                    raise self.wrong(
                        "protocol.yaml",
                        f"dimensions.{name}.marks",
                        f"no scenario's rubric asks for {mark}; known: {', '.join(sorted(asked))}",
                    )
        self.check_sum("dimensions", [dimension.weight for dimension in top.dimensions.values()])
        return tuple(
            Dimension(name, d.title, tuple(d.marks), d.weight, d.inverted) for name, d in top.dimensions.items()
        )

    def weightings(self, top: ProtocolFile) -> tuple[Weighting, ...]:
        for name, weighting in top.weightings.items():
            key = f"weightings.{name}.weights"
            for dimension in weighting.weights:
                if dimension not in top.dimensions:
                    known = ", ".join(top.dimensions)
                    raise self.wrong("protocol.yaml", key, f"there is no dimension {dimension}; known: {known}")
            self.check_sum(key, list(weighting.weights.values()))
        return tuple(Weighting(name, w.title, tuple(w.weights.items())) for name, w in top.weightings.items())

    def check_sum(self, key: str, weights: Sequence[float]) -> None:
        if abs(sum(weights) - 100) > 1e-9:
            raise self.wrong("protocol.yaml", key, f"the weights add up to {sum(weights):g}, not to 100")
