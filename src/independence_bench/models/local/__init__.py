"""What runs without a key: model files, and judges that are tables of weights.

A file is served on a loopback port as an ordinary chat-completions endpoint, so the rest of the program never learns
that it is a local one.
"""

from __future__ import annotations

NAME = "embedded"  # what the user types for the smallest model, and for the judge that reads words
DEEP = "embedded-deep"  # for the judge that reads the model's hidden states
# kinds of the embedded judges, as their specs in a store say -> what is typed for them
JUDGES = {"table": NAME, "levels": NAME, "rule": NAME, "deep": DEEP}
# how their labels begin; no model's does: those have an @ in them
LABEL, DEEP_LABEL = "embedded-judge-", "embedded-deep-"


def typed_for(label: str) -> str:
    """What is typed for the embedded judge of that label."""
    return DEEP if label.startswith(DEEP_LABEL) else NAME


def is_table_judge(label: str | None) -> bool:
    """Whether the judge of that label is an embedded one, of whatever kind and version."""
    return label is not None and label.startswith((LABEL, DEEP_LABEL)) and "@" not in label
