"""Finds stored replies that may not be what they seem: their words hold marks of a template, or
another model gave them.

Worked out of what is stored whenever it is asked for, so that it is as true of earlier stores and
of imported ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, and_, func, or_, select, tuple_

from independence_bench.models.markup import find_leftover_tokens
from independence_bench.models.served import is_same_model
from independence_bench.store.attempts import ANSWERED, CUT_OFF
from independence_bench.store.results import read_script_transcripts_reply_keys
from independence_bench.store.schema import attempts, calls, replies

# what every mark has one of
_MARKED = or_(*(replies.c.text.like(f"%{sign}%") for sign in ("<", "[", "◁")))


def find_replies_with_template_tokens(connection: Connection) -> set[str]:
    """Return the keys of the valid stored replies whose text holds special tokens or tags of a
    model family, left over from the model's chat template.
    """
    wanted = select(replies.c.key, replies.c.text).where(replies.c.state == "valid", _MARKED)
    return {key for key, text in connection.execute(wanted) if find_leftover_tokens(text)}


def find_replies_by_other_models(connection: Connection) -> set[str]:
    """Return the keys of the valid stored replies that came from another model than the one that
    was asked, by the model's name that the endpoint stated.
    """
    answered = and_(calls.c.kind == "reply", attempts.c.outcome.in_((ANSWERED, CUT_OFF)))
    served = (
        select(calls.c.model, attempts.c.served_model).join_from(attempts, calls).where(answered)
    )
    pairs = connection.execute(served.where(attempts.c.served_model.is_not(None)).distinct())
    others = [(asked, name) for asked, name in pairs if not is_same_model(asked, name)]
    if not others:
        return set()
    kept = select(replies.c.key).join_from(replies, attempts, replies.c.attempt_id == attempts.c.id)
    kept = kept.join(calls, calls.c.key == replies.c.key).where(replies.c.state == "valid")
    return set(
        connection.scalars(kept.where(tuple_(calls.c.model, attempts.c.served_model).in_(others)))
    )


def sum_reply_counts_by_transcript(
    connection: Connection, by_reply: Sequence[Mapping[str, int]], scripts: Collection[str]
) -> list[dict[str, int]]:
    """Return, for each of *by_reply* (reply's key -> a count), conversation's id -> the sum of its
    replies' counts. Covers the stored conversations of the script hashes *scripts*; those with 0
    are left out.
    """
    if not any(by_reply):
        return [{} for _ in by_reply]
    replies_of = read_script_transcripts_reply_keys(connection, scripts)
    return [
        {
            transcript: count
            for transcript, keys in replies_of.items()
            if (count := sum(counts[key] for key in keys if key in counts))
        }
        for counts in by_reply
    ]


def count_reply_attempts_with_outcomes(
    connection: Connection, outcomes: Collection[str]
) -> dict[str, int]:
    """Return reply's key -> how many attempts at that reply ended with one of the outcomes
    *outcomes*. Replies without such attempts are left out.
    """
    wanted = (
        select(attempts.c.call_key, func.count())
        .join_from(attempts, calls)
        .group_by(attempts.c.call_key)
    )
    counted = connection.execute(
        wanted.where(attempts.c.outcome.in_(list(outcomes)), calls.c.kind == "reply")
    )
    return {key: int(count) for key, count in counted}
