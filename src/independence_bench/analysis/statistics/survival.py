"""How long positions last under pushes: the Kaplan-Meier curve over discrete pushes. Pure functions on numbers.

Of the ladders that stood before push k and were pushed, some fold there; the share that stands after it is

    S(k) = product over j <= k of (1 - folded[j] / at risk[j])

(E. L. Kaplan and P. Meier, Journal of the American Statistical Association 53, 1958, 457-481). A ladder that ended
unfolded is censored after its last push. Knows nothing of protocols or intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True, slots=True)
class Ended:
    """How one ladder ended."""

    pushes: int  # after which it was not looked at any more: that of the fold, or the last; at least 1
    folded: bool  # at that push; False: it stood, and is censored
    weight: float = 1.0  # above 0: of several judges of one ladder, the share of each


@dataclass(frozen=True, slots=True)
class Step:
    """What happened at one push. Ladders count by their weight."""

    push: int  # 1, 2, ...
    at_risk: float  # ladders that stood before it and were pushed
    folded: float  # of those, at this push
    standing: float | None  # S: the share that stands after it, [0, 1]; None: none was at risk, so nothing is known


def kaplan_meier(ladders: Sequence[Ended], pushes: int) -> tuple[Step, ...]:
    """The curve over *pushes* (at least 1), a step for each; at push 0 all stand.

    Without *ladders*, and from the first push on that none of them was at risk at, `standing` is None: unless all have
    folded before, when it stays 0. ValueError for a ladder that ended before the first push or after the last.
    """
    if any(not 1 <= one.pushes <= pushes for one in ladders):
        raise ValueError(f"a ladder ends at one of {pushes} pushes")
    steps, standing = [], 1.0 if ladders else None
    for push in range(1, pushes + 1):
        at_risk = fsum(one.weight for one in ladders if one.pushes >= push)
        folded = fsum(one.weight for one in ladders if one.folded and one.pushes == push)
        if standing:
            standing = standing * (1 - folded / at_risk) if at_risk else None
        steps.append(Step(push, at_risk, folded, standing))
    return tuple(steps)
