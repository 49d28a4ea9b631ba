"""A protocol's folder -> a `Protocol`. The only place that knows how protocols are written down.

    protocol.yaml           name, runs, sampling, judge, experiments, dimensions and weights
    judge.md                what every judge is told before the rubric
    system/VARIANT.md       one system prompt a file
    scenarios/ID.yaml       one scenario a file
    stems/ID.yaml           or one stem a file: an opening with five branches
    rubrics/NAME.md         one rubric a file: its marks and their scales on top, then its text

The text of these files is the snapshot that the store keeps, so an old result can be read with the protocol
it was played with. Everything unknown is an error: a misspelt key that is silently ignored is a different
benchmark under the same name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path, PurePosixPath

from independence_bench.errors import ProtocolError
from independence_bench.protocol.definition import (
    OPENING,
    Configuration,
    DefaultJudge,
    Dimension,
    Experiment,
    Mark,
    Protocol,
    Rubric,
    Scenario,
    ToolWording,
    Weighting,
    after,
)
from independence_bench.protocol.file_formats import (
    NAME,
    TOP,
    BranchesFile,
    OpenStemFile,
    ProtocolFile,
    RubricFile,
    ScenarioFile,
    StemFile,
    StepFile,
)
from independence_bench.protocol.mark_file import read_mark
from independence_bench.protocol.score_file import read_kinds, read_score
from independence_bench.protocol.script import QUOTE, REFERENCE, SYSTEM, Ask, Prefill, Says, Script, Step, quotes
from independence_bench.protocol.stems import branch_title, check_stem, scenarios_of
from independence_bench.yaml_io import printable, read_yaml

SHIPPED = Path(__file__).parent / "shipped"
LARGEST_FILE = 1_000_000  # bytes; a protocol is a few pages of text

Files = Mapping[str, str]  # path inside the folder, with forward slashes -> text


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
    if folder.name == TOP:
        folder = folder.parent
    if not os.path.isfile(folder / TOP):  # not Path.is_file, which fails for a name of 300 characters
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
    try:
        return _parsed(tuple(sorted(files.items())))
    except ProtocolError as error:
        raise ProtocolError(f"{where}/{error.file}", error.key, error.problem) from error.__cause__


# what is stored is mostly the shipped protocol, and a server reads the same again whenever its store changes
@lru_cache(maxsize=16)
def _parsed(files: tuple[tuple[str, str], ...]) -> Protocol:
    return _Reader(dict(files)).protocol()


def parse_stored(files: Files, where: str) -> Protocol:
    """As `parse`, of a store's snapshot: a shipped protocol has the weightings that it has today.

    They are part of no hash, so a protocol may have got them after it was played.
    """
    protocol = parse(files, where)
    today = load(protocol.name) if protocol.name in shipped() else protocol
    return today if today.hash == protocol.hash else protocol


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
    """Reads one protocol's files and remembers which of them were used. Errors name a file inside the folder."""

    def __init__(self, files: Files) -> None:
        self.files, self.used = files, set[str]()

    def need(self, true: object, file: str, key: str, otherwise: str) -> None:
        """Raise ProtocolError unless *true*."""
        if not true:
            raise ProtocolError(file, key, otherwise)

    def text(self, file: str, wanted_by: str) -> str:
        self.need(file in self.files, file, "", f"is missing; {wanted_by} asks for it")
        self.used.add(file)
        try:
            return printable(self.files[file].replace("\r\n", "\n"))
        except ValueError as error:
            raise ProtocolError(file, "", str(error)) from error

    def protocol(self) -> Protocol:
        top = read_yaml(self.text(TOP, "every protocol"), ProtocolFile, partial(ProtocolError, TOP))
        systems = self.systems()
        tool = {} if top.tool_role is None else top.tool_role.model_dump()
        for key, text in tool.items():
            self.check_quotes(TOP, f"tool_role.{key}", text, ())
        for number, configuration in enumerate(top.configurations):
            key, system = f"configurations.{number}", configuration.system
            self.need(system in dict(systems), TOP, f"{key}.system", f"there is no system/{system}.md")
            spoken = tool or configuration.delivery != "tool_role"
            self.need(spoken, TOP, "tool_role", f"is missing; {key} is played in it")
            self.need(configuration not in top.configurations[:number], TOP, key, "stands here twice; delete one")
        scenarios = self.scenarios(top)
        dimensions = self.dimensions(top, scenarios)
        instructions = self.written("judge.md", "every protocol", "is empty; say what a judge does")
        if idle := sorted(self.files.keys() - self.used):
            raise ProtocolError(idle[0], "", "is used by nothing; name it in protocol.yaml or a scenario, or delete it")
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
            tool_role=ToolWording(**tool),
            configurations=tuple(Configuration(c.system, c.delivery) for c in top.configurations),
            experiments=tuple(Experiment(name, e.title) for name, e in top.experiments.items()),
            scenarios=scenarios,
            dimensions=dimensions,
            weightings=self.weightings(top),
            score=read_score(top, scenarios, self.need),
            kinds=read_kinds(top, scenarios, self.need),
        )

    def systems(self) -> tuple[tuple[str, str], ...]:
        systems = []
        for file in sorted(self.files):
            if file.startswith("system/") and file.endswith(".md"):
                variant = file.removeprefix("system/").removesuffix(".md")
                self.need(NAME.fullmatch(variant), file, "", "call the file by a word of small letters, digits and _")
                systems.append((variant, self.written(file, "", "is empty; write the system prompt")))
        return tuple(systems)

    def written(self, file: str, wanted_by: str, if_empty: str) -> str:
        """The text of a file that quotes no reply."""
        text = self.text(file, wanted_by).strip()
        self.need(text, file, "", if_empty)
        self.check_quotes(file, "", text, ())
        return text

    def scenarios(self, top: ProtocolFile) -> tuple[Scenario, ...]:
        scenarios: dict[str, Scenario] = {}
        scales: dict[str, Mark] = {}
        for file, scenario in self.listed(top):
            key = f"experiments.{scenario.experiment}"
            self.need(scenario.id not in scenarios, TOP, key, f"{scenario.stem or scenario.id} is listed twice")
            for mark in scenario.marks:
                known = scales.setdefault(mark.name, mark)
                self.need(
                    (known.kind, known.low, known.high, known.levels) == (mark.kind, mark.low, mark.high, mark.levels),
                    file,
                    "rubrics",
                    f"the mark {mark.name} has another scale here than in another rubric; rename one",
                )
            scenarios[scenario.id] = scenario
        return tuple(scenarios.values())

    def listed(self, top: ProtocolFile) -> Iterator[tuple[str, Scenario]]:
        """Every scenario with the file that it is written in, in the order of the experiments."""
        place = count()
        stems = bool(top.branches or top.kinds)
        both = top.branches and top.kinds
        self.need(not both, TOP, "kinds", "and branches exclude each other: stems have options, or they have none")
        for experiment, listed in top.experiments.items():
            wanted, other = ("stems", "scenarios") if stems else ("scenarios", "stems")
            key = f"experiments.{experiment}.{wanted}"
            self.need(getattr(listed, wanted), TOP, key, f"is missing; name at least one of {wanted}/")
            if getattr(listed, other):
                why = "has stems" if stems else "has no branches"
                raise ProtocolError(TOP, f"experiments.{experiment}.{other}", f"the protocol {why}; list {wanted}")
            for name in getattr(listed, wanted):
                file = f"{wanted}/{name}.yaml"
                if not stems:
                    yield file, self.scenario(name, experiment)
                elif top.branches is None:
                    yield from ((file, one) for one in self.open_stem(name, experiment, top))
                else:
                    yield from ((file, one) for one in self.stem(name, experiment, next(place), top.branches))

    def stem(self, name: str, experiment: str, place: int, branches: BranchesFile) -> Iterator[Scenario]:
        file = f"stems/{name}.yaml"
        text = self.text(file, f"protocol.yaml, experiments.{experiment},")
        stem = read_yaml(text, StemFile, partial(ProtocolError, file))
        check_stem(stem, branches.pushes, partial(ProtocolError, file))
        for one in scenarios_of(stem, name, experiment, place, branches.pushes):
            yield replace(one, rubrics=tuple(self.rubric(rubric, TOP, one.judged) for rubric in branches.rubrics))

    def open_stem(self, name: str, experiment: str, top: ProtocolFile) -> Iterator[Scenario]:
        """The branches of a stem without options."""
        file = f"stems/{name}.yaml"
        text = self.text(file, f"protocol.yaml, experiments.{experiment},")
        stem = read_yaml(text, OpenStemFile, partial(ProtocolError, file))
        self.need(stem.kind in top.kinds, file, "kind", f"there is no {stem.kind}; known: {', '.join(top.kinds)}")
        kind = top.kinds[stem.kind]
        wanted = ", ".join(kind.branches)
        self.need(set(stem.branches) == set(kind.branches), file, "branches", f"should be {wanted}, and nothing else")
        for branch in kind.branches:
            steps = [StepFile(human=stem.opening), StepFile(reply=OPENING), *stem.branches[branch]]
            script = self.script(file, f"branches.{branch}", steps, 2)
            replies = tuple(step.name for step in script if isinstance(step, Ask))
            judged = replies[1:] or replies
            pushes = [step.technique or "" for step in stem.branches[branch] if step.human is not None]
            rubrics = tuple(self.rubric(rubric, TOP, judged) for rubric in kind.rubrics)
            self.check_rubrics(rubrics, file, replies, stem.reference)
            yield Scenario(
                id=f"{name}.{branch}",
                experiment=experiment,
                title=f"{stem.title}: {branch_title(branch)}",
                script=script,
                judged=judged,
                rubrics=rubrics,
                reply_tokens=stem.reply_tokens,
                stem=name,
                branch=branch,
                kind=stem.kind,
                reference=stem.reference,
                own_name=stem.own_name or "",
                words=tuple(stem.words),
                techniques=() if branch in kind.score.rules else tuple(pushes),
                siblings=len(kind.branches),
            )

    def scenario(self, name: str, experiment: str) -> Scenario:
        file = f"scenarios/{name}.yaml"
        text = self.text(file, f"protocol.yaml, experiments.{experiment},")
        raw = read_yaml(text, ScenarioFile, partial(ProtocolError, file))
        script = self.script(file, "steps", raw.steps)
        replies = [step.name for step in script if isinstance(step, Ask)]
        judged = tuple(replies if raw.judged is None else raw.judged)
        for reply in judged:
            known = ", ".join(replies)
            self.need(reply in replies, file, "judged", f"no reply is called {reply}; there are {known}")
        self.need(judged, file, "judged", "name at least one reply, or leave the key out to judge them all")
        rubrics = tuple(self.rubric(rubric, file, judged) for rubric in raw.rubrics)
        self.check_rubrics(rubrics, file, replies, raw.reference)
        reference = raw.reference
        return Scenario(name, experiment, raw.title, script, judged, rubrics, raw.reply_tokens, reference=reference)

    def check_rubrics(self, rubrics: Sequence[Rubric], file: str, replies: Collection[str], reference: str) -> None:
        """That *rubrics* quote nothing but *replies*, what is there of a *reference*, and the system prompt."""
        known = {*replies, SYSTEM, *([REFERENCE] if reference else [])}
        for rubric in rubrics:
            for quoted in quotes(rubric.text):
                lacking = "reference" if quoted == REFERENCE else f"reply called {quoted}"
                says = f"{file} uses this rubric and has no {lacking}"
                self.need(quoted in known, f"rubrics/{rubric.name}.md", f"{{{{{quoted}}}}}", says)
        names = [mark.name for rubric in rubrics for mark in rubric.marks]
        if twice := sorted({mark for mark in names if names.count(mark) > 1}):
            raise ProtocolError(file, "rubrics", f"two rubrics ask for the mark {twice[0]}")

    def script(self, file: str, at: str, raw: Sequence[StepFile], before: int = 0) -> Script:
        """The script of the steps *raw*; the first *before* of them are not among those that stand at the key *at*."""
        steps: list[Step] = []
        replies: list[str] = []
        for number, step in enumerate(raw):
            key = f"{at}.{number - before}"
            said = step.model_dump(exclude_none=True, exclude={"technique"})
            self.need(len(said) == 1, file, key, "a step is exactly one of human, given, reply")
            if step.reply is not None:
                self.need(step.reply not in replies, file, key, f"two replies are called {step.reply}; rename one")
                behind_human = steps and isinstance(steps[-1], Says)
                self.need(behind_human, file, key, "a reply answers the human: put a human line before it")
                replies.append(step.reply)
                steps.append(Ask(step.reply))
            else:
                text = step.human or step.given or ""
                self.check_quotes(file, key, text, replies)
                steps.append(Says(text) if step.human is not None else Prefill(text))
        first, last = isinstance(steps[0], Says), isinstance(steps[-1], Ask)
        self.need(first, file, f"{at}.0", "a scenario begins with the human; providers insist on it")
        end = f"{at}.{len(steps) - 1 - before}"
        self.need(last, file, end, "a scenario ends with a reply; what follows is never heard")
        return tuple(steps)

    def check_quotes(self, file: str, key: str, text: str, replies: Iterable[str]) -> None:
        for quoted in quotes(text):
            self.need(quoted in replies, file, key, f"{{{{{quoted}}}}} quotes a reply that has not been given by then")
        rest = QUOTE.sub("", text)
        lone = "{{" in rest or "}}" in rest
        self.need(not lone, file, key, "has {{ or }} that quotes nothing; write {{name_of_a_reply}}")

    def rubric(self, name: str, wanted_by: str, judged: tuple[str, ...]) -> Rubric:
        """The rubric *name* for a scenario in which the replies *judged* are marked."""
        file = f"rubrics/{name}.md"
        parts = re.match(r"\A---\r?\n(.*?)\r?\n---\r?\n(.*)\Z", self.text(file, wanted_by), re.DOTALL)
        if not parts:
            raise ProtocolError(file, "", "should start with its marks between two lines of three dashes")
        raw = read_yaml(parts[1], RubricFile, partial(ProtocolError, file))
        text = parts[2].strip()
        self.need(text, file, "", "has marks and no text; describe what each mark looks like on its scale")
        self.check_quotes(file, "", text, quotes(text))
        marks: list[Mark] = []
        for mark, spec in raw.marks.items():
            self.check_quotes(file, f"marks.{mark}.asks", spec.asks, ["reply"] if spec.each_reply else [])
            one = read_mark(file, mark, spec, self.need)
            marks += [after(one, reply) for reply in judged] if spec.each_reply else [one]
        return Rubric(name, text, tuple(marks))

    def dimensions(self, top: ProtocolFile, scenarios: tuple[Scenario, ...]) -> tuple[Dimension, ...]:
        stems = bool(top.branches or top.kinds)
        asked = set(top.experiments) if stems else {mark.name for scenario in scenarios for mark in scenario.marks}
        known = ", ".join(sorted(asked))
        for name, dimension in top.dimensions.items():
            wanted, other = ("experiments", "marks") if stems else ("marks", "experiments")
            key, marks = f"dimensions.{name}.{wanted}", getattr(dimension, wanted)
            self.need(marks, TOP, key, "is missing; say what the dimension is made of")
            self.need(
                not getattr(dimension, other), TOP, f"dimensions.{name}.{other}", f"is not for it; write {wanted}"
            )
            self.need(len(set(marks)) == len(marks), TOP, key, "names one twice")
            for mark in marks:
                nobody = "there is no experiment" if stems else "no scenario's rubric asks for"
                self.need(mark in asked, TOP, key, f"{nobody} {mark}; known: {known}")
        self.check_sum("dimensions", [dimension.weight for dimension in top.dimensions.values()])
        return tuple(
            Dimension(name, d.title, tuple(d.marks or d.experiments), d.weight, d.inverted)
            for name, d in top.dimensions.items()
        )

    def weightings(self, top: ProtocolFile) -> tuple[Weighting, ...]:
        known = ", ".join(top.dimensions)
        for name, weighting in top.weightings.items():
            key = f"weightings.{name}.weights"
            for dimension in weighting.weights:
                there = dimension in top.dimensions
                self.need(there, TOP, key, f"there is no dimension {dimension}; known: {known}")
            self.check_sum(key, weighting.weights.values())
        return tuple(Weighting(name, w.title, tuple(w.weights.items())) for name, w in top.weightings.items())

    def check_sum(self, key: str, weights: Collection[float]) -> None:
        added = sum(weights)
        self.need(abs(added - 100) <= 1e-9, TOP, key, f"the weights add up to {added:g}, not to 100")
