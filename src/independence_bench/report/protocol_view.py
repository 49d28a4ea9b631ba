"""A protocol, and one conversation with its marks; for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from independence_bench.protocol.definition import Ask, Prefill, Protocol, Scenario
from independence_bench.report.format import number, plural, scale
from independence_bench.report.table import Block, Cells, Column, Note, Passage, Prose, Table, Title, columns_of
from independence_bench.report.transcripts import Reading
from independence_bench.store.results import Judgement

# ---------------------------------------------------------------- one transcript


def transcript_view(reading: Reading, flags: Sequence[str]) -> Iterator[Block]:
    """The whole conversation with its marks; *flags*: what there is to look at in them."""
    yield Title(Prose(reading.title))
    for remark in (*reading.remarks, *flags):
        yield Note(Prose(remark), "yellow")
    for role, text in reading.preamble:
        yield Note(f"\n{role}", "dim bold")
        yield Passage(text, "dim")
    for line in reading.transcript.lines:
        if line.speaker == "human":
            yield Note("\nhuman", "bold cyan")
        elif line.given:
            yield Note("\nmodel (put into its mouth)", "bold magenta")
        else:
            if thought := reading.reasoning.get(line.name, ""):
                yield Note("\nmodel, reasoning (the human does not see it)", "dim bold")
                yield Passage(thought, "dim")
            if line.notes:
                yield Note("\nmodel, notes (the human does not see them)", "dim bold")
                yield Passage(line.notes, "dim")
            mark = " · marked" if line.name in reading.scenario.judged else ""
            yield Note(f"\nmodel: {line.name}{mark}", "bold green")
        yield Passage(line.text)
    if not reading.judgements:
        yield Note("\nnot judged yet; `aib judge` does it", "yellow")
    for label, judgement in reading.judgements:
        yield Title(("judge ", Prose(label)))
        yield from _marks(judgement, reading.scenario)


def _marks(judgement: Judgement, scenario: Scenario) -> Iterator[Block]:
    if judgement.reason is not None:
        yield Note(f"  failed: {judgement.reason}", "red")
        return
    for mark in scenario.marks:
        value = judgement.marks.get(mark.name)
        yes_no = mark.kind == "yes_no" and value is not None
        shown = ("yes" if value else "no") if yes_no else f"{number(value, 1)} of {scale(mark)}"
        yield Note(f"  {mark.name.replace('_', ' ')}: {shown}", "")
    yield Passage(judgement.reasoning, "dim")


# ---------------------------------------------------------------- a protocol


def protocol_view(protocol: Protocol) -> Iterator[Block]:
    """What will be asked, said and marked, to be read from top to bottom."""
    judge = protocol.judge
    yield Title((f"{protocol.name}: ", Prose(protocol.title)))
    yield Passage(protocol.description, indent=0)
    yield Note(
        (
            f"\n{len(protocol.scenarios)} scenarios, {protocol.replies * len(protocol.configurations)} replies a run, "
            f"{plural(protocol.runs, 'run')}; "
            f"temperature {protocol.temperature:g}, at most {protocol.max_tokens} tokens a reply\n"
            f"played as {' + '.join(str(c) for c in protocol.configurations)}; judge ",
            *(Prose(judge.model), " on ", Prose(judge.endpoint), f"\nhash {protocol.hash[:16]}\n"),
        )
    )
    yield _weights(protocol)
    for variant, text in protocol.systems:
        yield Title(f"system prompt: {variant}")
        yield Passage(text)
    tool = protocol.tool_role
    yield Title("tool_role")
    yield Passage(
        f"{tool.instructions}\n\ntool {tool.name}({tool.argument}): {tool.description} "
        f"{tool.argument_description}\nfirst message: {tool.opening}\nfirst call: {tool.greeting}"
    )
    for experiment in protocol.experiments:
        yield Note(("\n", Prose(experiment.title)), "bold underline")
        for scenario in protocol.scenarios:
            if scenario.experiment == experiment.name:
                yield from _scenario(scenario)
    yield Note("\nEvery judge is told", "bold underline")
    yield Passage(protocol.judge_instructions)
    for name, text in {one.name: one.text for scenario in protocol.scenarios for one in scenario.rubrics}.items():
        yield Title(f"rubric: {name}")
        yield Passage(text)


def _scenario(scenario: Scenario) -> Iterator[Block]:
    rubrics = ", ".join(rubric.name for rubric in scenario.rubrics)
    yield Title((f"{scenario.id}: ", Prose(scenario.title)), aside=f"  (rubric: {rubrics})")
    for step in scenario.script:
        if isinstance(step, Ask):
            judged = ", marked" if step.name in scenario.judged else ""
            yield Note(f"  → the model replies ({step.name}{judged})", "green")
        else:
            given = isinstance(step, Prefill)
            yield Note(*(("  put into the model's mouth:", "magenta") if given else ("  human:", "cyan")))
            yield Passage(step.text, indent=4)


def _weights(protocol: Protocol) -> Table:
    rows: list[Cells] = []
    for d in protocol.dimensions:
        marks = " + ".join(f"{name.replace('_', ' ')} ({scale(protocol.mark(name))})" for name in d.marks)
        weights = [d.weight, *(dict(weighting.weights).get(d.name, 0.0) for weighting in protocol.weightings)]
        shown = [f"{weight:g}" if weight else "–" for weight in weights]
        rows.append((Prose(d.title), *shown, marks + (", inverted" if d.inverted else "")))
    columns = [
        *columns_of("dimension", "weight", *(weighting.name for weighting in protocol.weightings)),
        Column("marks", words=True),
    ]
    return Table(columns, rows, gap=2)
