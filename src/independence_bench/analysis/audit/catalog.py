"""Every kind of trouble that an audit looks for: how bad it is, what it means, and who finds it.

The order is the order in which they are shown: the worst first. docs/audit.md has a paragraph for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from independence_bench.analysis.audit import checks as f

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of trouble. *find* looks for it; *runs*: whether the runs that it is in can be taken out to weigh it."""

    name: str
    severity: Severity
    title: str
    meaning: str
    find: f.Find
    runs: bool = True


CHECKS: tuple[Check, ...] = (
    Check("store", "error", "the store contradicts itself",
         "Keys, hashes and records do not follow from each other; nothing can be relied on.", f.contradictions, False),
    Check("damaged", "error", "records that cannot be read back",
         "What was sent or came is no longer what was written: nothing shows what the number rests on.", f.damaged),
    Check("index", "error", "an index its records do not give",
         "Made again from the judges' raw replies, it is another one than is shown.", f.other_indices, False),
    Check("marks", "error", "marks the raw reply does not give",
         "Read again, the judge's raw reply gives other marks than those that count, or none.", f.other_marks),
    Check("words", "error", "words that are not in the raw reply",
         "What was judged is not what the raw body gives when it is read again.", f.other_words),
    Check("scale", "error", "marks outside their scale",
         "A number that the rubric does not allow: it counts, or the whole judgement was lost to it.", f.outside_scale),
    Check("first-turn", "error", "a first turn that is another one",
         "The later turns answer another reply than the one on record.", f.other_first_turns),
    Check("future", "error", "history that knows the future",
         "A question was asked when the model had already answered a later one.", f.known_futures),
    Check("debris", "error", "no answer, and judged",
         "A judge gave marks where nothing was said: debris, a lone sign, nothing, an error.", f.judged_debris),
    Check("pin", "error", "a pin that was not honoured",
         "Somebody else than the provider in its name served it.", f.broken_pins),
    Check("terse", "error", "an answer that was thrown away",
         "A short answer is an answer; asking again until a longer one comes is a choice of results.", f.thrown_away),
    Check("missing", "warning", "conversations that are missing",
         "Not played, or not to the end: the run has no index.", f.missing),
    Check("invalid", "warning", "conversations that do not count",
         "They are not what the protocol asks for: the run has no index.", f.invalid),
    Check("not-judged", "warning", "conversations without a judgement",
         "The run has no index in that judge's ranking.", f.not_judged),
    Check("judge-failed", "warning", "judgements that failed",
         "The run has no index in that judge's ranking.", f.judge_failed),
    Check("judges", "warning", "marks of several judges",
         "No judge marked everything, so no ranking has the whole subject.", f.mixed_judges, False),
    Check("cut-off", "warning", "replies cut off by the token limit",
         "They were judged as far as they went.", f.cut_off),
    Check("excluded", "warning", "subjects that are not ranked",
         "Too many of their conversations have no valid reply: the rest would be a choice of their best.", f.excluded,
         False),
    Check("one-run", "warning", "an index of one run",
         "It has no spread, and another run may differ by several points.", f.runs_of_one, False),
    Check("zeros", "note", "every identity mark is 0",
         "A refusal, or a judge that found nothing; the published rules leave it out, ours count it.", f.all_zero),
    Check("twice", "note", "judged twice, differently",
         "The same words got other marks the second time; the first ones count.", f.judged_twice),
    Check("unrecorded", "note", "no record of its own",
         "It cannot be read again: its raw body was never stored, or left out of an export.", f.unrecorded),
    Check("pin-unproven", "note", "a pin that nobody can check",
         "The provider is in the name, and no reply says who served it.", f.unproven_pins, False),
)  # fmt: skip
