"""What runs without a key: model files, and the judge that reads with the smallest of them.

A file is served on a loopback port as an ordinary chat-completions endpoint, so the rest of the
program never learns that it is a local one.
"""

from __future__ import annotations

# what the user types for the smallest model, and for the judge that needs no other
NAME = "embedded"
OLD = "embedded-deep"  # was typed for a second judge, which is a part of that one now
# kinds of the embedded judge, as its specs in a store say; all but the first are of earlier
# versions
JUDGES = ("embedded", "table", "levels", "rule", "deep")
# how its labels begin, and those of a second one once; no model's does: those have an @ in them
LABEL, OLD_LABEL = "embedded-judge-", "embedded-deep-"


def is_embedded_judge(label: str | None) -> bool:
    """Return whether the judge of that label is an embedded one, of whatever kind and version."""
    return label is not None and label.startswith((LABEL, OLD_LABEL)) and "@" not in label
