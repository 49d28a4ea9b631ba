"""The names that models chose, on a terminal and as JSON. Reads nothing; shows what
`analysis.chosen_names` read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from independence_bench.analysis.chosen_names import NamesRead, Naming, count_chosen_names
from independence_bench.escape import escape_line
from independence_bench.figures import format_count
from independence_bench.judging.extraction import ChosenName
from independence_bench.protocol.definition import Protocol
from independence_bench.report.encode import format_json
from independence_bench.report.table import (
    Block,
    Cells,
    Column,
    Group,
    Name,
    Note,
    Prose,
    Table,
    Text,
    Title,
    join_texts,
)

MOST = 10  # names in the summary
MOST_WHO = 5  # subjects that a report lists after a name
_SHORT = {"female": "f", "male": "m", "non-binary": "nb", "none": "none"}


def render_names(protocol: Protocol, readings: Sequence[NamesRead]) -> Iterator[Block]:
    """Yield the output blocks on the names that models gave themselves: a table with each
    conversation in a line, and the names that were chosen most.
    """
    rows: list[Cells | Group] = []
    last = None
    for reading in readings:
        chosen = (
            (Prose(", ".join(reading.several)), "")
            if reading.several
            else _format_name_and_gender(reading.first)
        )
        if reading.label != last:
            rows.append(Group(escape_line(reading.label)))
        rows.append(
            (
                str(reading.run),
                Name(reading.scenario),
                *chosen,
                *_format_name_and_gender(reading.final),
            )
        )
        last = reading.label
    yield Title(("Names that models give themselves · ", Prose(protocol.name)))
    columns = [
        *(Column("run"), Column("scenario", words=True)),
        *(Column(title, words=True, widest=24) for title in ("chose", "gender", "later", "gender")),
    ]
    yield Table(columns, rows, legend := _build_legend(readings), brief=legend, long=True)
    left = sum(reading.by is None for reading in readings)
    if left:
        yield Note(
            f"No model has read {left:,} of the {format_count(len(readings), 'conversation')}; "
            f"`aib extract-names --protocol {protocol.name} -j MODEL` has MODEL read them."
        )
    yield from _render_counts(readings)


def _format_name_and_gender(choice: ChosenName) -> tuple[Text, Text]:
    """Return two table cells for what a model chose: its name and its gender; – if it declined, ?
    if nobody has read it.
    """
    other = {"declined": "–", "unread": "?", "unsaid": ""}
    name = Prose(choice.name or "") if choice.name_state == "chosen" else other[choice.name_state]
    gender = (
        _SHORT.get(choice.gender or "", "?")
        if choice.gender_state == "chosen"
        else other[choice.gender_state]
    )
    return name, gender


def _build_legend(readings: Sequence[NamesRead]) -> str:
    """Return a legend that explains the cells of the table of chosen names, and lists the models
    that read the conversations.
    """
    models = ", ".join(
        map(escape_line, sorted({reading.by for reading in readings if reading.by is not None}))
    )
    return (
        "Gender: f, m, nb (non-binary), none (says that it has none). –: declined; ?: not read; "
        "empty: neither asked nor said."
    ) + (f" Read by {models}." if models else "")


def _render_counts(readings: Sequence[NamesRead]) -> Iterator[Block]:
    """Yield the output blocks that show how many names were chosen in each scenario, and which
    names many models or only one chose.
    """
    naming = count_chosen_names(readings)
    asked = [reading for reading in readings if reading.asked]
    states = Counter(reading.first.name_state for reading in asked)
    yield Title("How many names")
    yield build_scenario_name_counts_table(naming)
    if asked:
        yield Note(
            f"In {format_count(len(asked), 'conversation')} the model was asked for a name: "
            f"{states['chosen']} chose one, {states['declined']} declined, {states['unread']} not "
            f"read. {_describe_name_changes(asked)}"
        )
    yield from render_popular_and_unique_names(naming, MOST)


def build_scenario_name_counts_table(naming: Naming) -> Table:
    """Return a table of how many conversations, choices and different names there are in each
    scenario.
    """
    rows: list[Cells] = [
        (
            Name(names.scenario),
            *(f"{n:,}" for n in (names.conversations, names.named, names.picks, names.names)),
        )
        for names in naming.by_scenario
    ]
    legend = (
        "{Choices}: names that were chosen freely (a description of three people has three); "
        "{Names}: different ones."
    )
    columns = [
        Column("Scenario", words=True),
        *map(Column, ("Conversations", "With a name", "Choices", "Names")),
    ]
    return Table(columns, rows, legend, brief=legend.format(Choices="choices", Names="names"))


def render_popular_and_unique_names(naming: Naming, most: int, level: int = 2) -> Iterator[Block]:
    """Yield two titles and tables: the names that most models chose, and the names that only one
    model chose, at most *most* names each. *level*: the level of the titles.
    """
    if naming.counts:
        yield Title("Names that most models chose", level)
        chosen: list[Cells] = [
            (
                Prose(name.name),
                str(len(name.subjects)),
                str(name.times),
                _join_first_labels(name.subjects),
            )
            for name in naming.counts[:most]
        ]
        note = (
            f"{_describe_listed_count(len(naming.counts), most)}; "
            f"{format_count(naming.choice_count, 'choice')} in total."
        )
        legend = f"{note} {{Times}}: how often it was chosen, in upper or lower case."
        columns = [Column("Name", words=True), Column("Models"), Column("Times")]
        who = Column("Who", words=True, on="report")
        yield Table([*columns, who], chosen, legend, brief=legend.format(Times="times"))
    if naming.single_model_names:
        yield Title("Names that only one model chose", level)
        alone: list[Cells] = [
            (Prose(name.name), str(name.times), Name(name.subjects[0]))
            for name in naming.single_model_names[:most]
        ]
        legend = (
            f"{_describe_listed_count(len(naming.single_model_names), most)}, the most frequent "
            "first. {Times}: how often it was chosen."
        )
        columns = [
            Column("Name", words=True),
            Column("Times"),
            Column("Model", words=True, labels=True),
        ]
        yield Table(columns, alone, legend, brief=legend.format(Times="times"))


def _join_first_labels(labels: Sequence[str]) -> Text:
    """Return the first few model *labels*, joined by commas, and how many more there are."""
    more = f" and {len(labels) - MOST_WHO} more" if len(labels) > MOST_WHO else ""
    return (join_texts([Name(label) for label in labels[:MOST_WHO]]), more)


def _describe_listed_count(names: int, most: int) -> str:
    """Describe how many of *names* names are listed if at most *most* are: "10 of 35 names"."""
    return f"{most} of {names:,} names" if names > most else format_count(names, "name")


def _describe_name_changes(asked: Sequence[NamesRead]) -> str:
    """Say in one sentence in how many conversations the model's name and gender changed later, by
    the judge's scores.
    """
    names = [read.name_changed for read in asked if read.name_changed is not None]
    genders = [read.gender_changed for read in asked if read.gender_changed is not None]
    if not names and not genders:
        return "Changes are read from a judge's scores, and there are none; `aib judge` gives them."
    return (
        f"Changed later, by the judge's scores: the name in {sum(names)} of {len(names)}, "
        f"the gender in {sum(genders)} of {len(genders)}."
    )


def format_names_json(protocol: Protocol, readings: Sequence[NamesRead]) -> str:
    """Return the names that models gave themselves as JSON for programs. If a choice is null, its
    state says why: declined, unsaid or unread.
    """
    return format_json(
        {"protocol": protocol, "names": count_chosen_names(readings), "choices": readings}
    )
