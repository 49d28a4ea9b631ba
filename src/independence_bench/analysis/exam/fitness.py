"""Whether a judge is fit for ranking, as a value that loads no questions of the exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Fit = Literal["ranking", "not fit", "not known"]
FIT: tuple[Fit, ...] = ("ranking", "not known", "not fit")  # from the best
FIT_TEXT: Mapping[Fit, str] = {
    "ranking": "fit for ranking",
    "not fit": "not fit for ranking",
    "not known": "fitness not known",
}


@dataclass(frozen=True, slots=True)
class Fitness:
    """Whether a judge is fit for ranking, and the reasons if it is not."""

    fit: Fit
    why: tuple[str, ...] = ()  # a sentence each; () if it is fit
