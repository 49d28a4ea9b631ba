"""Leaderboards, protocols and transcripts on a terminal: readable at 80 columns, and in a pipe.

Every text that comes from outside (replies, judges' reasoning, model names, servers) goes through `harmless`
first: escape sequences are shown, not obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from independence_bench.analysis.configurations import ConfigurationComparison, Effect
from independence_bench.analysis.leaderboard import Board, Row
from independence_bench.analysis.rule_differences import RuleDifference
from independence_bench.analysis.statistics.intervals import Interval
from independence_bench.escape import harmless, label_text
from independence_bench.protocol.conversation import Transcript
from independence_bench.protocol.definition import Ask, Configuration, Dimension, Given, Protocol, Scenario
from independence_bench.report.figures import between, doubts, from_to, judged_by, made_by, ranks, tied
from independence_bench.report.format import number, plural, scale, share, signed
from independence_bench.store.results import Judgement

THINKS, EMBEDDED = "†", "‡"

# ---------------------------------------------------------------- leaderboard


def board_view(board: Board, detailed: bool = False) -> RenderableType:
    """One ranking, its incomplete subjects below it, and what its columns mean."""
    parts: list[RenderableType] = [_heading(board)]
    shown = [d for d in board.protocol.dimensions if d.weight]
    if board.ranked:
        parts += [_ranking(board, shown), _legend(board, shown)]
        if len(board.configurations) > 1:
            parts += [Text("\nIndex of each configuration by itself", style="bold"), _apart(board)]
    if detailed:
        parts += [_details(board, row) for row in board.ranked]
    if board.incomplete:
        parts.append(Text("\nIncomplete, not ranked", style="bold"))
        parts += [_incomplete(row) for row in board.incomplete]
    return Group(*parts)


def _heading(board: Board) -> Text:
    configuration = " + ".join(str(c) for c in board.configurations)
    text = Text("\n")
    text.append(f"Independence Index, protocol {label_text(board.protocol_name)}", style="bold")
    text.append(f" ({label_text(board.protocol.title)})\n")
    text.append(" · ".join([configuration, f"judge: {judged_by(board)}", *made_by(board)]), style="dim")
    return text


def _ranking(board: Board, shown: Sequence[Dimension]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("subject", overflow="fold", ratio=1)
    table.add_column("index", justify="right", style="bold")
    table.add_column("again", justify="right")
    table.add_column("another", justify="right")
    table.add_column("n", justify="right")
    for dimension in shown:
        table.add_column(short(dimension), justify="right")
    table.add_column("err", justify="right")
    table.add_column("cut", justify="right")
    for row in board.ranked:
        table.add_row(
            ranks(row),
            _name(row),
            number(row.score.index, 1),
            between(row.certainty.index.again),
            between(row.certainty.index.another, 0),
            str(row.score.runs),
            *(number(_percent(row.score.dimensions[d.name]), 0) for d in shown),
            share(row.health.failed_share),
            share(row.health.cut_off_share),
        )
    return table


def _apart(board: Board) -> RenderableType:
    """A row for each ranked subject, a column for each configuration of the pool."""
    letters = [chr(ord("A") + number) for number in range(len(board.configurations))]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    table.add_column("subject", overflow="fold")
    for letter in letters:
        table.add_column(f"  {letter}", justify="right", min_width=6)
    for row in board.ranked:
        table.add_row(_name(row), *(_with_interval(row, c) for c in board.configurations))
    named = ", ".join(f"{letter} {c}" for letter, c in zip(letters, board.configurations, strict=True))
    legend = f"{named}. In brackets: the same test again, 95 %. The ranking is by all of them together."
    return Group(table, Text(legend, style="dim"))


def _with_interval(row: Row, configuration: Configuration) -> str:
    sure = row.certainty_by_configuration.get(configuration)
    interval = f" ({between(sure.again, 0)})" if sure and sure.again else ""
    return f"  {number(row.by_configuration[configuration].index, 1)}{interval}"


def _name(row: Row) -> Text:
    return Text(" ".join(part for part in (label_text(row.label), signs(row)) if part))


def signs(row: Row) -> str:
    """What stands behind a label in a ranking; `cautions` say what it means."""
    return tied(row) + (THINKS if row.thinks else "") + (EMBEDDED if row.subject.endpoint == "embedded" else "")


def _legend(board: Board, shown: Sequence[Dimension]) -> Text:
    titles = ", ".join(f"{short(d)} {label_text(d.title).lower()} ({d.weight:g})" for d in shown)
    sentences = [
        "index: 0-100, the mean over n runs.",
        *doubts(board),
        f"Dimensions, 0-100 (weight): {titles}.",
        "err: share of attempts at its replies whose reply could not be used; cut: share of replies that "
        "the token limit cut off.",
        *cautions(board),
    ]
    return Text(" ".join(sentences), style="dim")


def cautions(board: Board) -> list[str]:
    """Sentences about ranked subjects and the judge without which the numbers would mislead; labels are harmless."""
    rows = board.ranked
    sentences = [f"{THINKS} reasons before it answers."] if any(row.thinks for row in rows) else []
    sentences += [
        f"{label_text(row.label)} was told not to reason and did in {share(row.health.reasoned_share)} of its replies."
        for row in rows
        if row.health.reasoned and not row.subject.thinks
    ]
    if any(row.subject.endpoint == "embedded" for row in rows):
        sentences.append(f"{EMBEDDED} a very small model: it shows that everything works, not how models behave.")
    if board.by_table:
        sentences.append(
            "The embedded judge knows wording, not meaning, and learned from far stronger models: its marks are for "
            "smoke tests, demos and cross-checks, not for publication."
        )
    return sentences


def _details(board: Board, row: Row) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("mark")
    table.add_column("scale", justify="right")
    table.add_column("mean", justify="right", style="bold")
    for run in row.runs:
        table.add_column(f"run {run}", justify="right")
    for name, mean in row.score.means.items():
        mark = board.protocol.mark(name)
        runs = [number(score.means[name], 2) for score in row.runs.values()]
        table.add_row(name.replace("_", " "), scale(mark), number(mean, 2), *runs)
    indices = [number(score.index, 1) for score in row.runs.values()]
    table.add_row("index", "0-100", number(row.score.index, 1), *indices, style="bold")
    health = row.health
    facts = (
        f"{health.judged} of {health.transcripts} transcripts judged, {health.replies} replies, "
        f"{health.cut_off} cut off, {health.plain_text} in plain text instead of the tool, "
        f"{health.reasoned} with reasoning, {health.invalid} invalid, {health.judge_failed} failed by the judge"
    )
    title = Text("\n").append(label_text(row.label), style="bold")
    return Group(title, table, *_sure(row), Text(facts, style="dim"))


def _sure(row: Row) -> list[RenderableType]:
    """How sure the numbers are; nothing where nothing is known of that."""
    sure, standing = row.certainty, row.certainty.standing
    said = [] if row.score.deviation is None else [f"standard deviation of the runs' indices {row.score.deviation:.1f}"]
    said += [
        f"{name}: index {between(index)}" + "".join(f", {d.replace('_', ' ')} {between(i)}" for d, i in inside if i)
        for name, index, inside in (
            ("again", sure.index.again, [(d, _hundred(u.again)) for d, u in sure.dimensions.items()]),
            ("another", sure.index.another, [(d, _hundred(u.another)) for d, u in sure.dimensions.items()]),
        )
        if index is not None
    ]
    if standing is not None:
        said.append(f"ranks {ranks(row)}, ties {standing.groups}")
    return [Text("; ".join(said), style="dim")] if said else []


def _hundred(interval: Interval | None) -> Interval | None:
    return None if interval is None else interval.scaled(100)


def _incomplete(row: Row) -> RenderableType:
    shown = [Padding(Text(label_text(line)), (0, 0, 0, 4)) for line in incomplete_lines(row)]
    return Group(Padding(Text(label_text(row.label), style="bold"), (0, 0, 0, 2)), *shown)


def incomplete_lines(row: Row) -> list[str]:
    """What a subject that is not ranked has, and what it lacks and why; as text from outside, not made harmless."""
    health = row.health
    facts = (
        f"{health.judged} of {health.transcripts} conversations judged; of {health.replies} replies "
        f"{share(health.invalid_share)} invalid, {share(health.cut_off_share)} cut off; "
        f"{share(health.failed_share)} of attempts failed"
    )
    lines = [facts, *row.missing]
    lines += [
        f"{configuration} by itself is complete, with an index of {score.index:.1f}"
        for configuration, score in row.by_configuration.items()
        if score.index is not None
    ]
    whole = [score.index for score in row.runs.values() if score.index is not None]
    if whole:
        runs = "run is" if len(whole) == 1 else "runs are"
        lines.append(
            f"{len(whole)} of {len(row.runs)} {runs} complete, with a mean index of {sum(whole) / len(whole):.1f}"
        )
    return lines


# ---------------------------------------------------------------- rules


def differences_view(found: Sequence[RuleDifference], rules: str) -> RenderableType:
    """Where our own rules say something else than *rules*, and why."""
    title = Text(f"\nWhere our own rules differ from the {rules} ones", style="bold")
    if not found:
        return Group(title, Text("In no row.", style="dim"))
    lines: list[RenderableType] = []
    for one in found:
        lines.append(
            Text(f"  {label_text(one.label)}: {number(one.other, 1)}, ours {number(one.own, 1)}", style="bold")
        )
        lines += [Padding(Text(label_text(why)), (0, 0, 0, 4)) for why in one.why]
    return Group(title, *lines)


# ---------------------------------------------------------------- configurations


EFFECTS_SURE = (
    "Where an effect lies at 95 %, each by itself, the scenarios being these. others like them: if the subjects are a "
    "sample of those that might have been tested; a dash: fewer than three. again: for these very subjects, over very "
    "many runs; a dash: one of them was played once, or is not ranked."
)


def configurations_view(compared: ConfigurationComparison) -> RenderableType:
    """The index per configuration, what prompt and tool change in it, and what that means: a dozen lines."""
    differ = any(place.subjects != compared.paired for place in compared.places)
    places = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    places.add_column("configuration", overflow="fold")
    for heading in ("subjects", "mean index", *([f"of the {compared.paired} in all"] if differ else [])):
        places.add_column(heading, justify="right")
    for place in compared.places:
        paired = [number(place.paired, 1)] if differ else []
        places.add_row(label_text(place.configuration), str(place.subjects), number(place.mean, 1), *paired)
    effects = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    effects.add_column("what it changes", overflow="fold")
    for heading in ("subjects", "points", "others like them", "again"):
        effects.add_column(heading, justify="right", no_wrap=True)
    mains = [effect for effect in compared.effects if effect.within is None]
    for effect in mains or compared.effects:
        sure = (from_to(effect.sampled), from_to(effect.again))
        effects.add_row(label_text(effect_title(effect)), str(effect.subjects), signed(effect.points), *sure)
    judge = f"judge: {label_text(compared.judge or 'none yet')}"
    legend = (
        "points: of the index, each subject compared with itself; the mean over those that have all that is compared. "
        "main effect: averaged over the other factor; interaction: what tool_role changes with the one prompt, minus "
        f"what it changes with the other. {EFFECTS_SURE}"
    )
    title = Text("\nConfigurations compared", style="bold").append(f"  {judge}", style="not bold dim")
    below: list[RenderableType] = [Text(), effects, Text(legend, style="dim")] if compared.effects else []
    return Group(title, places, *below)


def effect_title(effect: Effect) -> str:
    """What an effect compares, in words."""
    match effect.factor:
        case "interaction":
            return f"tool_role and {effect.level} (not {effect.base}), interaction"
        case _:
            where = "main effect" if effect.within is None else f"with {effect.within}"
            return f"{effect.level} instead of {effect.base}, {where}"


# ---------------------------------------------------------------- words and numbers


def short(dimension: Dimension) -> str:
    """A column heading of at most four letters: the start of one word, the initials of several."""
    words = label_text(dimension.title).replace("-", " ").split()
    return words[0][:3] if len(words) == 1 else "".join(word[0] for word in words)[:4].upper()


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


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
        _weights(protocol),
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
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("dimension")
    table.add_column("weight", justify="right")
    for weighting in protocol.weightings:
        table.add_column(weighting.name, justify="right")
    table.add_column("marks", overflow="fold")
    for d in protocol.dimensions:
        marks = " + ".join(f"{name.replace('_', ' ')} ({scale(protocol.mark(name))})" for name in d.marks)
        weights = [d.weight, *(dict(weighting.weights).get(d.name, 0.0) for weighting in protocol.weightings)]
        shown = [f"{weight:g}" if weight else "–" for weight in weights]
        table.add_row(label_text(d.title), *shown, marks + (", inverted" if d.inverted else ""))
    return table


def printed(console: Console, *views: RenderableType) -> None:
    """Print *views*, each on its own, followed by an empty line."""
    for view in views:
        console.print(view, highlight=False, soft_wrap=False)
    console.print()
