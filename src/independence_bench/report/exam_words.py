"""What the exam says of the judge behind numbers, in one line; the same line wherever such numbers are shown.

With a date and not with how long ago that was, so that the same store gives the same bytes.
"""

from __future__ import annotations

import shlex
from typing import Any

from independence_bench.analysis.exam.result import BoardExam
from independence_bench.analysis.exam.values import Fit
from independence_bench.escape import label_text
from independence_bench.report.format import number, plural

FOR: dict[Fit, str] = {
    "ranking": "fit for ranking",
    "screening": "fit for screening",
    "not fit": "not fit",
    "not known": "fitness not known",
}


def exam_line(exam: BoardExam | None) -> str | None:
    """exam: kappa 0.86, fit for ranking, 2026-01-31. None for a person's marks, and where nobody has judged.

    Kappa is that of the weakest rubric, which the fitness is of, too. Labels in it are harmless on one line.
    """
    if exam is None:
        return None
    if exam.no_questions:
        return "exam: it has no questions for what is marked here"
    if exam.standing is None:
        return _not_sat(exam)
    found = exam.standing
    kappa = [] if found.kappa is None else [f"kappa {number(found.kappa, 2)}"]
    missing = [f"{plural(len(found.missing), 'rubric')} not sat"] if found.missing else []
    of = "exam of the jury" if exam.jury else "exam"
    return f"{of}: {', '.join([*kappa, FOR[found.result.fitness.fit], *missing, f'{found.result.when:%Y-%m-%d}'])}"


def _not_sat(exam: BoardExam) -> str:
    who = f"of the jury {', '.join(map(label_text, exam.lacking))}" if exam.jury else "the judge"
    has = "have" if len(exam.lacking) > 1 else "has"
    sit = " ".join(f"-j {shlex.quote(label_text(name))}" for name in exam.typed)
    return f"{who} {has} not sat the exam" + (f": aib exam {sit}" if sit else "")


def exam_values(exam: BoardExam | None) -> dict[str, Any] | None:
    """The same for programs; null for a person's marks, and where nobody has judged."""
    if exam is None:
        return None
    found = exam.standing
    return {
        "line": exam_line(exam),
        "sat": found is not None,
        "fit": found and found.result.fitness.fit,
        "why": found.result.fitness.why if found else (),
        "kappa": found and found.kappa,  # of the weakest rubric; null unless all were sat
        "when": found and found.result.when.isoformat(),
        "rubrics": [one.rubric for one in found.result.rubrics] if found else [],
        "not_sat": found.missing if found else (),
        "members_not_sat": exam.lacking if exam.jury else (),
        "no_questions": exam.no_questions,
    }
