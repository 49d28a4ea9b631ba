"""A protocol, and one conversation with its marks, on a terminal. Escape sequences in them are shown, not obeyed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from independence_bench.escape import harmless, label_text
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Ask, Given, Protocol, Scenario
from independence_bench.report.format import number, plural, scale
from independence_bench.report.table import Cells, Column, Table, Words, columns_of
from independence_bench.report.terminal import view
from independence_bench.store.results import Judgement

# ---------------------------------------------------------------- one transcript


def transcript_view(
    title: str,
    preamble: Sequence[tuple[str, str]],
    transcript: Transcript,
    judgements: Sequence[tuple[str, Judgement]],
    scenario: Scenario,
    *,
    reasoning: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> RenderableType:
    """The whole conversation with its marks.

    *preamble* is (what, text) that the model was sent before anything was said; *judgements* are (judge's label,
    judgement); *reasoning* by reply name is what the model thought first; *remarks* are lines about the record.
    """
    parts: list[RenderableType] = [Text(f"\n{label_text(title)}", style="bold")]
    parts += [Text(label_text(remark), style="yellow") for remark in remarks]
    for role, text in preamble:
        parts += [Text(f"\n{role}", style="dim bold"), _block(text, "dim")]
    for line in transcript.lines:
        if line.speaker == "human":
            parts += [Text("\nhuman", style="bold cyan"), _block(line.text)]
            continue
        if line.given:
            parts += [Text("\nmodel (put into its mouth)", style="bold magenta"), _block(line.text)]
            continue
        if thought := reasoning.get(line.name, ""):
            parts += [
                Text("\nmodel, reasoning (the human does not see it)", style="dim bold"),
                _block(thought, "dim"),
            ]
        if line.notes:
            parts += [
                Text("\nmodel, notes (the human does not see them)", style="dim bold"),
                _block(line.notes, "dim"),
            ]
        mark = " · marked" if line.name in scenario.judged else ""
        parts += [Text(f"\nmodel: {line.name}{mark}", style="bold green"), _block(line.text)]
    if not judgements:
        parts.append(Text("\nnot judged yet; `aib judge` does it", style="yellow"))
    for label, judgement in judgements:
        parts += [Text(f"\njudge {label_text(label)}", style="bold"), _marks(judgement, scenario)]
    return Group(*parts)


def _marks(judgement: Judgement, scenario: Scenario) -> RenderableType:
    if judgement.reason is not None:
        return Text(f"  failed: {harmless(judgement.reason)}", style="red")
    lines = []
    for mark in scenario.marks:
        value = judgement.marks.get(mark.name)
        if mark.kind == "yes_no" and value is not None:
            lines.append(f"  {mark.name.replace('_', ' ')}: {'yes' if value else 'no'}")
        else:
            lines.append(f"  {mark.name.replace('_', ' ')}: {number(value, 1)} of {scale(mark)}")
    return Group(Text("\n".join(lines)), _block(judgement.reasoning, "dim"))


def _block(text: str, style: str = "") -> Padding:
    return Padding(Text(harmless(text), style=style), (0, 0, 0, 2), expand=False)


# ---------------------------------------------------------------- a protocol


def protocol_view(protocol: Protocol) -> RenderableType:
    """What will be asked, said and marked, to be read from top to bottom."""
    parts: list[RenderableType] = [
        Text(f"\n{protocol.name}: {label_text(protocol.title)}", style="bold"),
        Text(harmless(protocol.description)),
        Text(
            f"\n{len(protocol.scenarios)} scenarios, {protocol.replies * len(protocol.configurations)} replies a run, "
            f"{plural(protocol.runs, 'run')}; "
            f"temperature {protocol.temperature:g}, at most {protocol.max_tokens} tokens a reply\n"
            f"played as {' + '.join(str(c) for c in protocol.configurations)}; "
            f"judge {label_text(protocol.judge.model)} on {label_text(protocol.judge.endpoint)}\n"
            f"hash {protocol.hash[:16]}\n",
            style="dim",
        ),
        view([_weights(protocol)]),
    ]
    for variant, text in protocol.systems:
        parts += [Text(f"\nsystem prompt: {variant}", style="bold"), _block(text)]
    tool = protocol.tool_role
    parts += [
        Text("\ntool_role", style="bold"),
        _block(
            f"{tool.instructions}\n\ntool {tool.name}({tool.argument}): {tool.description} "
            f"{tool.argument_description}\nfirst message: {tool.opening}\nfirst call: {tool.greeting}"
        ),
    ]
    for experiment in protocol.experiments:
        parts.append(Text(f"\n{label_text(experiment.title)}", style="bold underline"))
        parts += [_scenario(s) for s in protocol.scenarios if s.experiment == experiment.name]
    parts += [Text("\nEvery judge is told", style="bold underline"), _block(protocol.judge_instructions)]
    rubrics = {rubric.name: rubric for scenario in protocol.scenarios for rubric in scenario.rubrics}
    for rubric in rubrics.values():
        parts += [Text(f"\nrubric: {rubric.name}", style="bold"), _block(rubric.text)]
    return Group(*parts)


def _scenario(scenario: Scenario) -> RenderableType:
    rubrics = ", ".join(rubric.name for rubric in scenario.rubrics)
    parts: list[RenderableType] = [
        Text(f"\n{scenario.id}: {label_text(scenario.title)}", style="bold").append(
            f"  (rubric: {rubrics})", style="dim"
        )
    ]
    for step in scenario.script:
        match step:
            case Ask():
                judged = ", marked" if step.name in scenario.judged else ""
                parts.append(Text(f"  → the model replies ({step.name}{judged})", style="green"))
            case Given():
                parts += [
                    Text("  put into the model's mouth:", style="magenta"),
                    Padding(_block(step.text), (0, 0, 0, 2)),
                ]
            case _:
                parts += [Text("  human:", style="cyan"), Padding(_block(step.text), (0, 0, 0, 2))]
    return Group(*parts)


def _weights(protocol: Protocol) -> Table:
    rows: list[Cells] = []
    for d in protocol.dimensions:
        marks = " + ".join(f"{name.replace('_', ' ')} ({scale(protocol.mark(name))})" for name in d.marks)
        weights = [d.weight, *(dict(weighting.weights).get(d.name, 0.0) for weighting in protocol.weightings)]
        shown = [f"{weight:g}" if weight else "–" for weight in weights]
        rows.append((Words(d.title), *shown, marks + (", inverted" if d.inverted else "")))
    columns = [
        *columns_of("dimension", "weight", *(weighting.name for weighting in protocol.weightings)),
        Column("marks", words=True),
    ]
    return Table(columns, rows, gap=2)
