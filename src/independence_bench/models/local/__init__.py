"""What runs without a key: a small real instruct model, and a judge that is a table of weights.

The model (SmolLM2-135M-Instruct) is weak and nobody scripted it: it proves that the whole path works. Its
weights are fetched once into the user's data folder and served on a loopback port as an ordinary
chat-completions endpoint, so the rest of the program never learns that it is a local one.
"""

from __future__ import annotations

NAME = "embedded"  # what the user types for either of them
JUDGES = ("table", "levels", "rule")  # kinds of the embedded judge, as its spec in a store says
LABEL = "embedded-judge-"  # how the judge's label begins; no model's does: those have an @ in them


def is_table_judge(label: str | None) -> bool:
    """Whether the judge of that label is the embedded one, of whatever version."""
    return label is not None and label.startswith(LABEL) and "@" not in label
