"""Which of several is meant by what somebody typed: by its whole label, by its name, or by a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from independence_bench.errors import WrongUse

A = TypeVar("A")


def fit(labels: Mapping[A, str], typed: str, noun: str = "subject", there: str = "there is") -> A:
    """What is called *typed*, or is the only one with that in its label. Raises WrongUse, naming what there is."""
    fitting = [one for one, label in labels.items() if label == typed]
    fitting = fitting or [one for one, label in labels.items() if label.partition("@")[0] == typed]
    fitting = fitting or [one for one, label in labels.items() if typed.lower() in label.lower()]
    if len(fitting) != 1:
        some = f"no {noun} is" if not fitting else f"several {noun}s are"
        known = ", ".join(sorted(labels[one] for one in fitting or labels)) or "nothing"
        raise WrongUse(f"{some} called {typed}; {there} {known}")
    return fitting[0]
