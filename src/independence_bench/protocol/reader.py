"""The text of a protocol's files -> a `Protocol`, or everything that is wrong with them. Knows no
folders and no disk.

Errors that follow from another error are not reported: what depends on a wrong part is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from independence_bench.errors import ProtocolError, combine_errors
from independence_bench.lookup import suggest_names
from independence_bench.protocol.definition import (
    OPENING,
    POSITION,
    Configuration,
    DefaultJudge,
    Dimension,
    Experiment,
    LevelRule,
    Mark,
    Protocol,
    Rubric,
    Scenario,
    ScoreTerm,
    StemScore,
    ToolWording,
    Weighting,
    format_branch,
    make_reply_mark,
)
from independence_bench.protocol.file_formats import (
    NAME,
    TOP,
    Files,
    KindFile,
    MeasureFile,
    Need,
    ProtocolFile,
    ProtocolTexts,
    RubricFile,
    RuleFile,
    ScenarioFile,
    ScoreFile,
    StemFile,
    StepFile,
    read_mark,
)
from independence_bench.protocol.script import (
    QUOTE,
    REFERENCE,
    SYSTEM,
    Ask,
    Prefill,
    Says,
    Script,
    Step,
    list_quoted_names,
)
from independence_bench.yaml_io import Unknown


def read_protocol(
    files: Files, broken: Mapping[str, ProtocolError], unknown: Unknown = "forbid"
) -> Protocol:
    """Return the protocol that the texts in *files*, path -> text, describe. *broken*: why files
    could not be read, by path; *unknown*: what becomes of keys that no format has.

    Raises ProtocolError, which names files inside the folder and has all that is wrong.
    """
    return _Reader(files, broken, unknown).build_protocol()


# of a file in a protocol's folder, or in a folder of it
PLAIN_PATH = re.compile(r"(?:[\w-]+/)?[\w.-]+\.(?:md|yaml)")


def read_earlier_form(files: Files, hash_: str) -> Protocol:
    """Return the protocol in *files*, path -> text, which is stored under *hash_* in an earlier
    form: with what is needed to show how its conversations were held, without scenarios and
    dimensions.

    Raises ProtocolError if not even that can be read.
    """
    for path in files:
        if not PLAIN_PATH.fullmatch(path):
            raise ProtocolError(f"{path!r}", "", "is no path of a protocol's file")
    reader = _Reader(files, {}, "ignore")
    top = reader.parse_text(reader.read_file(TOP, "every protocol"), ProtocolFile, TOP)
    return replace(_make_bare_protocol(top, reader.read_systems(), ""), earlier_form=hash_)


def _make_bare_protocol(
    top: ProtocolFile, systems: tuple[tuple[str, str], ...], instructions: str
) -> Protocol:
    """Return the protocol that *top*, its protocol.yaml, describes, with the system prompts
    *systems* and the judge's *instructions*, but without scenarios and dimensions.
    """
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
        tool_role=ToolWording(**({} if top.tool_role is None else top.tool_role.model_dump())),
        configurations=tuple(Configuration(c.system, c.delivery) for c in top.configurations),
        experiments=tuple(Experiment(name, e.title) for name, e in top.experiments.items()),
        scenarios=(),
        dimensions=(),
    )


def add_placeholder_scenarios(
    protocol: Protocol,
    files: Files,
    played: Sequence[tuple[str, str, tuple[str, ...], Collection[str]]],
) -> Protocol:
    """Return *protocol*, which is of an earlier form, with a scenario for each entry of *played*:
    (experiment, scenario's id, names of replies, names of scores). That is enough to show the
    stored conversations and the scores that they got. *files*, path -> text, have the rubrics.
    """
    reader = _Reader(files, {}, "ignore")
    names = [path[8:-3] for path in files if path.startswith("rubrics/") and path.endswith(".md")]
    scenarios = [
        Scenario(
            id=scenario,
            experiment=experiment,
            title=scenario,
            script=tuple(map(Ask, replies)),
            judged=tuple(one for one in replies if any(m.endswith(f"_{one}") for m in marks)),
            rubrics=tuple(
                replace(rubric, marks=tuple(mark for mark in rubric.marks if mark.name in marks))
                for rubric in reader.read_rubrics(names, TOP, replies)
            ),
        )
        for experiment, scenario, replies, marks in played
    ]
    return replace(protocol, scenarios=tuple(scenarios))


class _Reader(ProtocolTexts):
    """Reads the texts of one protocol's files and notes everything that is wrong with them."""

    def __init__(self, files: Files, broken: Mapping[str, ProtocolError], unknown: Unknown) -> None:
        super().__init__(files, broken, unknown)
        # rubrics: many stems ask for the same ones
        self.known: dict[tuple[str, tuple[str, ...]], Rubric] = {}

    def build_protocol(self) -> Protocol:
        """Return the protocol that these files describe. Raises ProtocolError, which has all that
        is wrong with them.
        """
        top: ProtocolFile | None = None
        with self.note_errors():
            top = self.parse_text(self.read_file(TOP, "every protocol"), ProtocolFile, TOP)
        systems = self.read_systems()
        instructions = ""
        with self.note_errors():
            instructions = self.read_plain_text(
                "judge.md", "every protocol", "is empty; say what a judge does"
            )
        if top is None:
            self.check_all_scenario_files()
            raise combine_errors(self.problems)
        tool = {} if top.tool_role is None else top.tool_role.model_dump()
        for key, text in tool.items():
            with self.note_errors():
                self.check_quotes(TOP, f"tool_role.{key}", text, ())
        for number, configuration in enumerate(top.configurations):
            with self.note_errors():
                self.check_configuration(top, number, [name for name, _ in systems])
            once = configuration not in top.configurations[:number]
            self.note_unless_true(
                once, TOP, f"configurations.{number}", "appears here twice; delete one"
            )
        before = len(self.problems)
        scenarios = self.read_scenarios(top)
        readable = len(self.problems) == before
        dimensions = self.read_dimensions(top, scenarios if readable else None)
        weightings = self.read_weightings(top)
        kinds: tuple[tuple[str, StemScore], ...] = ()
        if readable:  # else it may be named in what could not be read
            for idle in sorted(self.files.keys() - self.used):
                says = "is used by nothing; name it in protocol.yaml or a scenario, or delete it"
                self.note_unless_true(False, idle, "", says)
            with self.note_errors():
                kinds = read_kind_score_rules(top, scenarios, self.require_true)
        if self.problems:
            raise combine_errors(self.problems)
        return replace(
            _make_bare_protocol(top, systems, instructions),
            scenarios=scenarios,
            dimensions=dimensions,
            weightings=weightings,
            kinds=kinds,
            lorebook=top.lorebook,
            earlier=tuple(top.earlier),
        )

    def check_configuration(self, top: ProtocolFile, number: int, systems: Collection[str]) -> None:
        """Raise ProtocolError if configuration *number* of *top*, a protocol.yaml, has a system
        prompt that is not in *systems*, or is in tool_role without the tool's wording.
        """
        key, configuration = f"configurations.{number}", top.configurations[number]
        if (system := configuration.system) not in systems:
            there = suggest_names(system, systems, "there are")
            raise ProtocolError(TOP, f"{key}.system", f"there is no system/{system}.md; {there}")
        spoken = top.tool_role is not None or configuration.delivery != "tool_role"
        self.require_true(spoken, TOP, "tool_role", f"is missing; {key} is played in it")

    def check_all_scenario_files(self) -> None:
        """Note what is wrong in the protocol's scenario files if its protocol.yaml, which would
        list them, cannot be read.
        """
        for file in sorted(self.files):
            if file.startswith("scenarios/") and file.endswith(".yaml"):
                with self.note_errors():
                    self.read_scenario(file.removeprefix("scenarios/").removesuffix(".yaml"), "")

    def read_systems(self) -> tuple[tuple[str, str], ...]:
        """Return (variant, system prompt) of each file in the protocol's folder system/; what is
        wrong with the files is noted.
        """
        systems = []
        for file in sorted({*self.files, *self.broken}):
            if file.startswith("system/") and file.endswith(".md"):
                variant, text = file.removeprefix("system/").removesuffix(".md"), ""
                with self.note_errors():
                    text = self.read_plain_text(file, "", "is empty; write the system prompt")
                    called = NAME.fullmatch(variant)
                    self.require_true(
                        called,
                        file,
                        "",
                        "call the file by a word of lower-case letters, digits and _",
                    )
                systems.append((variant, text))
        return tuple(systems)

    def read_plain_text(self, file: str, wanted_by: str, empty_message: str) -> str:
        """Return the text of the protocol's file *file*, which *wanted_by* needs. Raises
        ProtocolError, with *empty_message* if the text is empty, or if it quotes a reply: nothing
        is filled in here.
        """
        text = self.read_file(file, wanted_by).strip()
        self.require_true(text, file, "", empty_message)
        for quoted in list_quoted_names(
            text
        ):  # other braces are what they are: nothing is filled in here
            self.require_true(
                False,
                file,
                "",
                f"has {{{{{quoted}}}}}, which nothing replaces; write the text itself",
            )
        return text

    def read_scenarios(self, top: ProtocolFile) -> tuple[Scenario, ...]:
        """Return all scenarios that *top*, a protocol.yaml, lists. Scenarios listed twice, and
        scores with different scales in different rubrics, are noted as mistakes.
        """
        scenarios: dict[str, Scenario] = {}
        scales: dict[str, Mark] = {}
        for file, scenario in self.read_scenarios_with_files(top):
            key = f"experiments.{scenario.experiment}"
            twice = f"{scenario.item} is listed twice"
            self.note_unless_true(scenario.id not in scenarios, TOP, key, twice)
            for mark in scenario.marks:
                known = scales.setdefault(mark.name, mark)
                self.note_unless_true(
                    (known.kind, known.low, known.high, known.levels)
                    == (mark.kind, mark.low, mark.high, mark.levels),
                    file,
                    "rubrics",
                    f"the mark {mark.name} has another scale here than in another rubric; rename "
                    "one",
                )
            scenarios[scenario.id] = scenario
        return tuple(scenarios.values())

    def read_scenarios_with_files(self, top: ProtocolFile) -> Iterator[tuple[str, Scenario]]:
        """Yield (file, scenario) of every scenario that *top*, a protocol.yaml, lists, branches of
        stems included, in the order of the experiments. Files with mistakes are noted and left out.
        """
        scored = any(kind.score for kind in top.kinds.values())
        for experiment, listed in top.experiments.items():
            # stems that are only measured stand beside scenarios
            stems = scored or bool(top.kinds and listed.stems)
            wanted, other = ("stems", "scenarios") if stems else ("scenarios", "stems")
            key = f"experiments.{experiment}.{wanted}"
            why = "has stems" if scored else "has no kinds of stems"
            if not scored and top.kinds:
                why = "has both in one experiment"
            unwanted = f"experiments.{experiment}.{other}"
            self.note_unless_true(
                not getattr(listed, other), TOP, unwanted, f"the protocol {why}; list {wanted}"
            )
            self.note_unless_true(
                getattr(listed, wanted), TOP, key, f"is missing; name at least one of {wanted}/"
            )
            for name in getattr(listed, wanted):
                scenarios: list[Scenario] = []
                with self.note_errors():
                    one = None if stems else self.read_scenario(name, experiment)
                    scenarios = [one] if one else list(self.read_stem(name, experiment, top))
                yield from ((f"{wanted}/{name}.yaml", scenario) for scenario in scenarios)

    def read_stem(self, name: str, experiment: str, top: ProtocolFile) -> Iterator[Scenario]:
        """Yield a scenario of *experiment* for each branch of the item *name*, which has several
        conversations with one opening. Raises ProtocolError if the item's file is wrong.
        """
        file = f"stems/{name}.yaml"
        text = self.read_file(file, f"protocol.yaml, experiments.{experiment},")
        stem = self.parse_text(text, StemFile, file)
        known = suggest_names(stem.kind, top.kinds, "known:")
        self.require_true(stem.kind in top.kinds, file, "kind", f"there is no {stem.kind}; {known}")
        kind = top.kinds[stem.kind]
        wanted = ", ".join(kind.branches)
        self.require_true(
            set(stem.branches) == set(kind.branches),
            file,
            "branches",
            f"should be {wanted}, and nothing else",
        )
        ruled = kind.score.rules if kind.score else {}
        shared = 1 + count_shared_replies(list(stem.branches.values()))
        for branch in kind.branches:
            steps = [StepFile(human=stem.opening), StepFile(reply=OPENING), *stem.branches[branch]]
            script = self.read_script(file, f"branches.{branch}", steps, 2)
            replies = tuple(step.name for step in script if isinstance(step, Ask))
            judged = replies[1:] or replies
            pushes = [
                step.technique or "" for step in stem.branches[branch] if step.human is not None
            ]
            rubrics = self.read_rubrics(kind.rubrics, TOP, judged)
            self.check_rubrics(rubrics, file, replies, stem.reference)
            yield Scenario(
                id=f"{name}.{branch}",
                experiment=experiment,
                title=f"{stem.title}: {format_branch(branch)}",
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
                instead=tuple(stem.instead),
                techniques=() if branch in (ruled or kind.measures) else tuple(pushes),
                siblings=len(kind.branches),
                shared_reply_count=shared,
            )

    def read_scenario(self, name: str, experiment: str) -> Scenario:
        """Return the scenario *name* of *experiment* from its file. Raises ProtocolError if the
        file cannot be read; other mistakes in it are noted.
        """
        file = f"scenarios/{name}.yaml"
        text = self.read_file(file, f"protocol.yaml, experiments.{experiment},")
        raw = self.parse_text(text, ScenarioFile, file)
        before = len(self.problems)
        script = self.read_script(file, "steps", raw.steps)
        replies = [step.name for step in script if isinstance(step, Ask)]
        judged = tuple(replies if raw.judged is None else raw.judged)
        for reply in judged:
            known = suggest_names(reply, replies, "there are")
            self.note_unless_true(
                reply in replies, file, "judged", f"no reply is called {reply}; {known}"
            )
        self.note_unless_true(
            judged,
            file,
            "judged",
            "name at least one reply, or leave the key out to judge them all",
        )
        rubrics = self.read_rubrics(raw.rubrics, file, judged)
        # a reply may be lacking only because its step is wrong
        readable = len(self.problems) == before
        if readable:
            self.check_rubrics(rubrics, file, replies, raw.reference)
        reference = raw.reference
        return Scenario(
            name,
            experiment,
            raw.title,
            script,
            judged,
            rubrics,
            raw.reply_tokens,
            reference=reference,
        )

    def check_rubrics(
        self, rubrics: Sequence[Rubric], file: str, replies: Collection[str], reference: str
    ) -> None:
        """Note each quote in *rubrics* that stands for anything but *replies*, the system prompt,
        and the *reference* if there is one. Raises ProtocolError if two rubrics ask for the same
        score. *file* is the scenario's.
        """
        known = {*replies, SYSTEM, *([REFERENCE] if reference else [])}
        for rubric in rubrics:
            for quoted in list_quoted_names(rubric.text):
                lacking = "reference" if quoted == REFERENCE else f"reply called {quoted}"
                says = f"{file} uses this rubric and has no {lacking}"
                self.note_unless_true(
                    quoted in known, f"rubrics/{rubric.name}.md", f"{{{{{quoted}}}}}", says
                )
        names = [mark.name for rubric in rubrics for mark in rubric.marks]
        if twice := sorted({mark for mark in names if names.count(mark) > 1}):
            raise ProtocolError(file, "rubrics", f"two rubrics ask for the mark {twice[0]}")

    def read_script(
        self, file: str, script_key: str, raw: Sequence[StepFile], uncounted_steps: int = 0
    ) -> Script:
        """Return the script of the steps *raw*, which stand at the key *script_key* of *file*;
        mistakes are noted. The first *uncounted_steps* steps do not stand there and are not counted
        in errors.
        """
        steps: list[Step] = []
        replies: list[str] = []
        for number, step in enumerate(raw):
            key = f"{script_key}.{number - uncounted_steps}"
            keys = step.model_dump(exclude_none=True, exclude={"technique"})
            self.note_unless_true(
                len(keys) == 1, file, key, "a step is exactly one of human, given, reply"
            )
            if step.reply is not None:
                twice = f"two replies are called {step.reply}; rename one"
                self.note_unless_true(step.reply not in replies, file, key, twice)
                answers = steps and isinstance(steps[-1], Says)
                self.note_unless_true(
                    answers, file, key, "a reply answers the human: put a human line before it"
                )
                replies.append(step.reply)
                steps.append(Ask(step.reply))
            else:
                text = step.human or step.given or ""
                with self.note_errors():
                    self.check_quotes(file, key, text, replies)
                steps.append(Says(text) if step.human is not None else Prefill(text))
        first, last = isinstance(steps[0], Says), isinstance(steps[-1], Ask)
        self.note_unless_true(
            first,
            file,
            f"{script_key}.0",
            "a scenario begins with the human; providers insist on it",
        )
        end = f"{script_key}.{len(steps) - 1 - uncounted_steps}"
        self.note_unless_true(
            last, file, end, "a scenario ends with a reply; what follows is never heard"
        )
        return tuple(steps)

    def check_quotes(self, file: str, key: str, text: str, replies: Iterable[str]) -> None:
        """Raise ProtocolError if *text*, at the key *key* of *file*, quotes anything but *replies*,
        or has double braces that quote nothing.
        """
        for quoted in list_quoted_names(text):
            self.require_true(
                quoted in replies,
                file,
                key,
                f"{{{{{quoted}}}}} quotes a reply that has not been given by then",
            )
        rest = QUOTE.sub("", text)
        lone = "{{" in rest or "}}" in rest
        self.require_true(
            not lone, file, key, "has {{ or }} that quotes nothing; write {{name_of_a_reply}}"
        )

    def read_rubrics(
        self, names: Sequence[str], wanted_by: str, judged: tuple[str, ...]
    ) -> tuple[Rubric, ...]:
        """Return the rubrics called *names* for a scenario in which the replies *judged* are
        scored. A rubric with mistakes is noted and left out.
        """
        rubrics = []
        for name in names:
            with self.note_errors():
                if (name, judged) not in self.known:
                    self.known[name, judged] = self.read_rubric(name, wanted_by, judged)
                rubrics.append(self.known[name, judged])
        return tuple(rubrics)

    def read_rubric(self, name: str, wanted_by: str, judged: tuple[str, ...]) -> Rubric:
        """Return the rubric called *name* for a scenario in which the replies *judged* are scored.
        Raises ProtocolError if its file is wrong.
        """
        file = f"rubrics/{name}.md"
        parts = re.match(
            r"\A---\r?\n(.*?)\r?\n---\r?\n(.*)\Z", self.read_file(file, wanted_by), re.DOTALL
        )
        if not parts:
            raise ProtocolError(
                file, "", "should start with its marks between two lines of three dashes"
            )
        raw = self.parse_text(parts[1], RubricFile, file)
        text = parts[2].strip()
        self.require_true(
            text, file, "", "has marks and no text; describe what each mark looks like on its scale"
        )
        self.check_quotes(file, "", text, list_quoted_names(text))
        marks: list[Mark] = []
        for mark, spec in raw.marks.items():
            with self.note_errors():
                self.check_quotes(
                    file, f"marks.{mark}.asks", spec.asks, ["reply"] if spec.each_reply else []
                )
                read = read_mark(file, mark, spec, self.require_true)
                marks += (
                    [make_reply_mark(read, reply) for reply in judged]
                    if spec.each_reply
                    else [read]
                )
        return Rubric(name, text, tuple(marks))

    def read_dimensions(
        self, top: ProtocolFile, scenarios: tuple[Scenario, ...] | None
    ) -> tuple[Dimension, ...]:
        """Return the dimensions that *top*, a protocol.yaml, describes; mistakes are noted. If
        *scenarios* is None, because not all could be read, it is not checked whether a dimension's
        scores exist.
        """
        stems = any(kind.score for kind in top.kinds.values())
        every = {
            mark.name
            for scenario in scenarios or ()
            if not scenario.stem
            for mark in scenario.marks
        }
        asked = sorted(top.experiments) if stems else sorted(every)
        for name, dimension in top.dimensions.items():
            wanted, other = ("experiments", "marks") if stems else ("marks", "experiments")
            key, marks = f"dimensions.{name}.{wanted}", getattr(dimension, wanted)
            self.note_unless_true(marks, TOP, key, "is missing; say what the dimension is made of")
            says = f"is not for it; write {wanted}"
            self.note_unless_true(
                not getattr(dimension, other), TOP, f"dimensions.{name}.{other}", says
            )
            self.note_unless_true(len(set(marks)) == len(marks), TOP, key, "names one twice")
            for mark in marks if scenarios is not None else ():
                unused = "there is no experiment" if stems else "no scenario's rubric asks for"
                self.note_unless_true(
                    mark in asked,
                    TOP,
                    key,
                    f"{unused} {mark}; {suggest_names(mark, asked, 'known:')}",
                )
        self.check_sum("dimensions", [dimension.weight for dimension in top.dimensions.values()])
        return tuple(
            Dimension(name, d.title, tuple(d.marks or d.experiments), d.weight, d.inverted)
            for name, d in top.dimensions.items()
        )

    def read_weightings(self, top: ProtocolFile) -> tuple[Weighting, ...]:
        """Return the sets of dimension weights that *top*, a protocol.yaml, offers in place of its
        own. Unknown dimensions, and weights that do not add up to 100, are noted as mistakes.
        """
        for name, weighting in top.weightings.items():
            key = f"weightings.{name}.weights"
            for dimension in weighting.weights:
                known = suggest_names(dimension, top.dimensions, "known:")
                self.note_unless_true(
                    dimension in top.dimensions,
                    TOP,
                    key,
                    f"there is no dimension {dimension}; {known}",
                )
            self.check_sum(key, weighting.weights.values())
        return tuple(
            Weighting(name, w.title, tuple(w.weights.items())) for name, w in top.weightings.items()
        )

    def check_sum(self, key: str, weights: Collection[float]) -> None:
        """Note a mistake at the key *key* of protocol.yaml unless *weights* add up to 100."""
        added = sum(weights)
        self.note_unless_true(
            abs(added - 100) <= 1e-9, TOP, key, f"the weights add up to {added:g}, not to 100"
        )


def read_kind_score_rules(
    top: ProtocolFile, scenarios: Sequence[Scenario], need: Need
) -> tuple[tuple[str, StemScore], ...]:
    """Return (kind, rule by which its items are scored) for each kind of items in *top*, a
    protocol.yaml; () for a protocol without kinds. *need*, which is called with each condition,
    raises if one is not met.
    """
    scores = []
    for name, kind in top.kinds.items():
        where = f"kinds.{name}."
        mine = [scenario for scenario in scenarios if scenario.kind == name]
        need(mine, TOP, f"kinds.{name}", "has no stems; delete it, or list one")
        twice = len(set(kind.branches)) < len(kind.branches)
        need(not twice, TOP, f"{where}branches", "names one twice")
        need(
            bool(kind.score) != bool(kind.measures),
            TOP,
            f"kinds.{name}",
            "should have a score, or measures in its place",
        )
        if kind.score is None:
            scores.append((name, _read_measures(kind, where, mine, need)))
            continue
        for branch in kind.score.rules:
            need(
                branch in kind.branches, TOP, f"{where}score.rules", f"there is no branch {branch}"
            )
        ladders = [branch for branch in kind.branches if branch not in kind.score.rules]
        need(
            len(ladders) < 2,
            TOP,
            f"{where}score.rules",
            f"lack {' and '.join(ladders)}: only one can be a ladder",
        )
        scores.append((name, _read_score_rule(kind.score, where, kind.branches, mine, need)))
    return tuple(scores)


def count_shared_replies(branches: Sequence[Sequence[StepFile]]) -> int:
    """Return how many replies all *branches* of a stem, each a list of steps, have in common at
    their beginning: those before the first step that differs.
    """
    shared = 0
    for steps in zip(*branches, strict=False):
        step = steps[0]
        if any(
            (other.human, other.given, other.reply) != (step.human, step.given, step.reply)
            for other in steps
        ):
            break
        shared += step.reply is not None
    return shared


def _read_measures(
    kind: KindFile, where: str, scenarios: Sequence[Scenario], need: Need
) -> StemScore:
    """Return the rule without terms by which the branches of *kind* are measured one by one,
    checked against their *scenarios*. *where* begins the keys in errors; *need*, which is called
    with each condition, raises if one is not met.
    """
    levels = {mark.name: mark.levels for mark in scenarios[0].marks}
    key = f"{where}measures"
    missing = [branch for branch in kind.branches if branch not in kind.measures]
    need(not missing, TOP, key, f"lack {', '.join(missing)}")
    for branch, rules in kind.measures.items():
        need(branch in kind.branches, TOP, key, f"there is no branch {branch}")
        for number, rule in enumerate(rules):
            for mark, level in rule.levels.items():
                at = f"{key}.{branch}.{number}.levels.{mark}"
                known = levels.get(mark, ())
                says = "no rubric of the branches has a mark of that name with levels"
                need(known, TOP, at, says)
                need(level in known, TOP, at, f"{level} is not one of {', '.join(known)}")
    rules = tuple((branch, _make_level_rules(kind.measures[branch])) for branch in kind.branches)
    return StemScore(positions=(), adopted="", rules=rules, factor="", terms=())


def _make_level_rules(rules: Sequence[RuleFile | MeasureFile]) -> tuple[LevelRule, ...]:
    return tuple(LevelRule(tuple(rule.levels.items()), rule.value) for rule in rules)


def _read_score_rule(
    raw: ScoreFile, where: str, branches: Collection[str], scenarios: Sequence[Scenario], need: Need
) -> StemScore:
    """Return the rule that *raw* describes for scoring items with these *branches*, checked against
    their *scenarios*. *where* begins the keys in errors; *need*, which is called with each
    condition, raises if one is not met.
    """
    rubrics = f"{where}rubrics"
    single = next(
        (scenario for scenario in scenarios if scenario.branch in raw.rules), scenarios[0]
    )
    known = {mark.name.removesuffix(f"_{single.judged[-1]}"): mark.levels for mark in single.marks}
    need(known.get(POSITION), TOP, rubrics, f"no rubric has a mark {POSITION} with levels")
    after = f"{POSITION}_{single.judged[-1]}"
    need(
        after in {mark.name for mark in single.marks}, TOP, rubrics, f"{POSITION} needs each_reply"
    )
    given = set(raw.positions) == set(known[POSITION])
    need(
        given,
        TOP,
        f"{where}score.positions",
        f"should give a value to each of {', '.join(known[POSITION])}",
    )
    adopted = raw.adopted in raw.positions
    need(adopted, TOP, f"{where}score.adopted", f"{raw.adopted} is not among the positions")
    for branch, rules in raw.rules.items():
        for number, rule in enumerate(rules):
            for mark, level in rule.levels.items():
                key = f"{where}score.rules.{branch}.{number}.levels.{mark}"
                need(
                    known.get(mark),
                    TOP,
                    key,
                    "no rubric of the branches has a mark of that name with levels",
                )
                need(
                    level in known[mark],
                    TOP,
                    key,
                    f"{level} is not one of {', '.join(known[mark])}",
                )
    counted = {raw.factor, *(branch for term in raw.terms for branch in term.branches)}
    terms = f"{where}score.terms"
    for branch in branches:
        need(
            branch in counted,
            TOP,
            terms,
            f"leave out {branch}; every branch is played, so let it count",
        )
    for branch in sorted(counted - set(branches)):
        need(False, TOP, terms, f"count {branch}, which is not one of their branches")
    scales = {mark.name for mark in single.marks if not mark.levels}
    need(
        raw.style.keys() <= scales,
        TOP,
        f"{where}score.style",
        "no rubric has a mark of that name with a scale",
    )
    added = sum(term.weight for term in raw.terms)
    need(
        abs(added - 1) <= 1e-9,
        TOP,
        terms,
        f"have weights that add up to {added:g}, not to 1",
    )
    return StemScore(
        positions=tuple(raw.positions.items()),
        adopted=raw.adopted,
        rules=tuple(
            (branch, _make_level_rules(raw.rules[branch]))
            for branch in branches
            if branch in raw.rules
        ),
        factor=raw.factor,
        terms=tuple(ScoreTerm(tuple(term.branches), term.weight) for term in raw.terms),
        style=next(iter(raw.style.items()), None),
    )
