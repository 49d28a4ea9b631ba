"""A protocol on a terminal: what will be asked, said and scored."""

from __future__ import annotations

from collections.abc import Iterator

from independence_bench.figures import format_count
from independence_bench.protocol.definition import EARLIER_FORM, Protocol, Scenario
from independence_bench.protocol.script import list_script_steps
from independence_bench.report.format import format_scale
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Note,
    Passage,
    Prose,
    Table,
    Title,
    make_columns,
)


def render_protocol(protocol: Protocol) -> Iterator[Block]:
    """Yield the output blocks that show a protocol from top to bottom: its settings, system
    prompts, scenarios with their scripts, and what judges are told.
    """
    judge = protocol.judge
    yield Title((f"{protocol.name}: ", Prose(protocol.title)))
    if protocol.earlier_form:
        yield Note(f"{protocol.name}, {EARLIER_FORM}", "yellow")
    yield Passage(protocol.description, indent=0, reflow=True)
    yield Note(
        (
            f"\n{len(protocol.scenarios)} scenarios, "
            f"{protocol.configuration_reply_count * len(protocol.configurations)} replies a run, "
            f"{format_count(protocol.runs, 'run')}; "
            f"temperature {protocol.temperature:g}, at most {protocol.max_tokens} tokens a reply\n"
            f"played as {' + '.join(str(c) for c in protocol.configurations)}; judge ",
            *(Prose(judge.model), " on ", Prose(judge.endpoint), f"\nhash {protocol.hash[:16]}\n"),
        )
    )
    yield _build_weights_table(protocol)
    for variant, text in protocol.systems:
        yield Title(f"system prompt: {variant}")
        yield Passage(text, reflow=True)
    if protocol.lorebook:
        yield Title("lorebook: in the system prompt while it is talked of")
        for entry in protocol.lorebook.entries:
            keys = "always" if entry.constant else ", ".join(entry.keys)
            yield Passage(f"{keys}: {entry.text}", reflow=True)
    if protocol.earlier:
        yield Title(
            f"earlier chat: {2 * len(protocol.earlier)} turns before each conversation; judges "
            "do not read it"
        )
        for human, model in protocol.earlier:
            yield Passage(f"human: {human}\nmodel: {model}")
    tool = protocol.tool_role
    if tool.name:
        yield Title("tool_role")
        yield Passage(
            f"{tool.instructions}\n\ntool {tool.name}({tool.argument}): {tool.description} "
            f"{tool.argument_description}\nfirst message: {tool.opening}\nfirst call: "
            f"{tool.greeting}"
        )
    for experiment in protocol.experiments:
        yield Note(("\n", Prose(experiment.title)), "bold underline")
        for scenario in protocol.scenarios:
            if scenario.experiment == experiment.name:
                yield from _render_scenario(scenario)
    yield Note("\nEvery judge is told", "bold underline")
    yield Passage(protocol.judge_instructions, reflow=True)
    for name, text in {
        one.name: one.text for scenario in protocol.scenarios for one in scenario.rubrics
    }.items():
        yield Title(f"rubric: {name}")
        yield Passage(text, reflow=True)


def _render_scenario(scenario: Scenario) -> Iterator[Block]:
    """Yield the output blocks of one scenario: its script turn by turn, and what only judges are
    told.
    """
    rubrics = ", ".join(rubric.name for rubric in scenario.rubrics)
    yield Title((f"{scenario.id}: ", Prose(scenario.title)), aside=f"  (rubric: {rubrics})")
    if scenario.reference:
        yield Note("  only judges are told:", "magenta")
        yield Passage(scenario.reference, indent=4, reflow=True)
    for who, text in list_script_steps(scenario.script):
        if who == "model":
            judged = ", scored" if text in scenario.judged else ""
            yield Note(f"  → the model replies ({text}{judged})", "green")
        else:
            yield Note(
                *(
                    ("  written for the model:", "magenta")
                    if who == "given"
                    else ("  human:", "cyan")
                )
            )
            yield Passage(text, indent=4, reflow=True)


def _build_weights_table(protocol: Protocol) -> Table:
    """Return a table of the dimensions of *protocol*, with their weights in the index and the
    scores that they consist of.
    """
    rows: list[Cells] = []
    for d in protocol.dimensions:
        marks = " + ".join(
            f"{name.replace('_', ' ')} ({format_scale(protocol.find_mark(name))})"
            for name in d.marks
        )
        weights = [
            d.weight,
            *(dict(weighting.weights).get(d.name, 0.0) for weighting in protocol.weightings),
        ]
        shown = [f"{weight:g}" if weight else "–" for weight in weights]
        rows.append((Prose(d.title), *shown, marks + (", inverted" if d.inverted else "")))
    columns = [
        *make_columns(
            "dimension", "weight", *(weighting.name for weighting in protocol.weightings)
        ),
        Column("marks", words=True),
    ]
    return Table(columns, rows, gap=2)
