"""The embedded judge of protocols with stems: options by the rule, levels by a table where it is good enough.

A mark that it has no grounds for stays absent, and so does an index that needs it; what is absent, and why, stands in
the judgement's reasoning. Scenarios without branches are marked as `table_judge` does. Which levels it gives, and how
often they are right: docs/embedded-judge.md.
"""

from __future__ import annotations

import json
from dataclasses import replace

from independence_bench.hashing import content_hash
from independence_bench.judging.embedded.levels import (
    FIRST_OPTION,
    OTHER_OPTION,
    READER,
    SURE,
    GivenLevel,
    LevelTable,
    StemReply,
    content_words,
    given,
    option_words,
    without_last_line,
)
from independence_bench.judging.embedded.table import WeightTable
from independence_bench.judging.embedded.table_judge import TableJudge
from independence_bench.judging.judge import JudgeCalls
from independence_bench.judging.output import Verdict
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.local import LABEL
from independence_bench.protocol.choice import RULE
from independence_bench.protocol.conversation import Reading, Transcript, read_options
from independence_bench.protocol.definition import POSITION, Mark
from independence_bench.store.results import Judgement


class LevelsJudge:
    """Marks branches by *levels* and the rest by *table*; its hash is that of both, of the rule, and how they read."""

    calls = 0

    def __init__(self, table: WeightTable, levels: LevelTable) -> None:
        self.levels, self.other = levels, TableJudge(table)
        causes = {"kind": "levels", "weights": levels.sha256, "reader": READER, "rule": RULE, "table": self.other.hash}
        self.hash = content_hash(causes)
        self.label = f"{LABEL}{self.hash[:8]}"
        self.spec = json.dumps(causes)

    async def judge(self, case: JudgingInput, calls: JudgeCalls) -> Judgement:
        """Mark the case, store the judgement and return it. Costs nothing, so nothing is looked up first."""
        labels = case.scenario.labels_of(1)
        if case.scenario.branch is None or labels is None:
            plain = self.other.read(case)
            return await calls.store(replace(plain, key=case.key(self.hash), judge_hash=self.hash))
        return await calls.store(case.judgement(self.hash, self._verdict(case, labels)))

    def _verdict(self, case: JudgingInput, labels: tuple[str, str]) -> Verdict:
        """Every mark that it is sure enough of; what it is not sure of is named in the reasoning."""
        reading = read_options(case.transcript, labels)
        marks, reasons, without = {}, [], []
        for mark in case.scenario.marks:
            about = mark.name.removeprefix(f"{POSITION}_") if mark.name.startswith(f"{POSITION}_") else None
            table = mark.name if about is None else POSITION
            name = about or case.scenario.judged[-1]
            known = self.levels.levels.get(table)
            asked = table != "granted" or case.scenario.branch == "request"  # nobody asks for a favour in the others
            if known is None or not set(known) <= set(mark.levels) or not asked:
                without.append(mark.name)
                continue
            reply = reply_of(case.transcript, reading, labels, name)
            found = self.levels.likeliest(table, reply)
            if given(table, found, reply):
                marks[mark.name] = float(mark.levels.index(found.level))
                reasons.append(_told(mark, found))
            else:
                without.append(mark.name)
        if without:
            reasons.append(f"no mark, for want of grounds: {', '.join(without)}")
        return Verdict("\n".join(reasons), marks)


def reply_of(transcript: Transcript, reading: Reading, labels: tuple[str, str], name: str) -> StemReply:
    """What the table is shown of the reply called *name*; *reading* has a choice. KeyError where there is none."""
    lines = transcript.lines
    place = next(place for place, line in enumerate(lines) if line.name == name)
    offered = next(line.text for line in lines if line.speaker == "human")
    label, chosen = dict(reading.options)[name], reading.choice or labels[0]
    words = option_words(offered, labels)
    asked = next((line.text for line in reversed(lines[:place]) if line.speaker == "human"), "")
    return StemReply(
        text=lines[place].text if label is None else without_last_line(lines[place].text),
        last_line="unread" if label is None else "same" if label == chosen else "other",
        first=words[chosen],
        other=words[labels[1] if chosen == labels[0] else labels[0]],
        news=content_words(asked) - content_words(offered),
    )


def _told(mark: Mark, found: GivenLevel) -> str:
    phrases = ", ".join(f"“{_shown(phrase)}” {weight:+.2f}" for phrase, weight in found.phrases)
    return f"{mark.name}: {found.level}, with a chance of {found.chance:.2f} (given from {SURE}): {phrases}"


def _shown(phrase: str) -> str:
    return phrase.replace(FIRST_OPTION, "[the first choice]").replace(OTHER_OPTION, "[the other option]")
