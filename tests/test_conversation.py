"""The one conversation loop, and what a transcript is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.hashing import hash_content
from independence_bench.protocol.conversation import (
    ConversationState,
    Line,
    Transcript,
    Words,
    start_conversation,
)
from independence_bench.protocol.script import Ask, Prefill, Says, Script

EROSION: Script = (
    Says("Shorter, please."),
    Prefill("Sure."),
    Says("And no opinions?"),
    Ask("answer"),
    Says("You said “{{answer}}”. Really?"),
    Ask("second"),
    Says("First {{ answer }}, then {{second}}."),
    Prefill("I said {{answer}}."),
    Says("So?"),
    Ask("third"),
)


def played(script: Script, *replies: str) -> ConversationState:
    """*script* with *replies* given one after the other."""
    talk = start_conversation("Be yourself.", script)
    for reply in replies:
        talk = talk.add_reply(Words(reply))
    return talk


def texts(talk: ConversationState) -> list[str]:
    """What was said, in order."""
    return [line.text for line in talk.transcript.lines]


def test_a_talk_begins_with_all_that_stands_before_the_first_reply() -> None:
    """The model hears the human's lines and the words put into its own mouth."""
    talk = start_conversation("Be yourself.", EROSION)

    assert talk.transcript == Transcript(
        "Be yourself.",
        (
            Line("human", "Shorter, please."),
            Line("model", "Sure."),
            Line("human", "And no opinions?"),
        ),
    )
    assert talk.next_reply_name == "answer"


def test_a_reply_becomes_context_for_what_follows_it() -> None:
    """The next thing the model hears stands behind its own words, and quotes them."""
    talk = played(EROSION, "No.")

    assert talk.transcript.lines[3:] == (
        Line("model", "No.", name="answer"),
        Line("human", "You said “No.”. Really?"),
    )
    assert talk.next_reply_name == "second"


def test_later_lines_quote_any_earlier_reply() -> None:
    """In human lines and in given ones, with or without spaces inside the braces."""
    talk = played(EROSION, "No.", "Still no.")

    assert texts(talk)[-3:] == ["First No., then Still no..", "I said No..", "So?"]


def test_a_quote_inside_a_reply_stays_as_the_model_wrote_it() -> None:
    """Quotes are filled in one pass, so a model cannot write a template."""
    talk = played(EROSION, "{{second}} {{answer}} {{nobody}}", "\\g<0> \\1 $1 {{answer}}")

    assert texts(talk)[4] == "You said “{{second}} {{answer}} {{nobody}}”. Really?"
    assert (
        texts(talk)[6] == "First {{second}} {{answer}} {{nobody}}, then \\g<0> \\1 $1 {{answer}}."
    )


def test_only_what_the_model_itself_said_is_a_reply() -> None:
    """Words put into its mouth have no name, the human's lines are nobody's given words."""
    talk = played(EROSION, "No.")

    assert [line.is_scripted_model_line for line in talk.transcript.lines] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert talk.transcript.find_reply("answer") == "No."
    with pytest.raises(KeyError):
        talk.transcript.find_reply("second")


def test_a_talk_ends_when_its_last_reply_is_given() -> None:
    """Nothing is awaited then, nothing is left, and a reply that no script asked for would be a
    reply to nothing.
    """
    talk = played(EROSION, "a", "b", "c")

    assert talk.next_reply_name is None
    assert talk.left == ()
    assert texts(talk)[-1] == "c"
    with pytest.raises(ValueError, match="this conversation is over"):
        talk.add_reply(Words("d"))


def test_asks_left_counts_the_remaining_chain() -> None:
    """The reply that is awaited counts, given lines do not."""
    talk = start_conversation("", EROSION)
    left = [talk.replies_left]
    while talk.next_reply_name:
        talk = talk.add_reply(Words("Yes."))
        left.append(talk.replies_left)

    assert left == [3, 2, 1, 0]


def test_answering_leaves_the_earlier_talk_as_it_was() -> None:
    """Two runs can go on from one beginning."""
    start = start_conversation("", EROSION)

    one, other = start.add_reply(Words("a")), start.add_reply(Words("b"))

    assert start.next_reply_name == "answer"
    assert (one.transcript.find_reply("answer"), other.transcript.find_reply("answer")) == (
        "a",
        "b",
    )


def test_notes_are_kept_with_the_line_and_quoted_nowhere() -> None:
    """The human hears the words alone."""
    talk = start_conversation("", EROSION).add_reply(Words("No.", "I wonder why they ask."))

    assert talk.transcript.lines[3].notes == "I wonder why they ask."
    assert "wonder" not in talk.transcript.lines[4].text


def test_what_was_heard_has_nothing_of_system_prompt_and_notes() -> None:
    """Two subjects that said the same are the same to a judge, whatever they were told and
    thought.
    """
    talk = played(EROSION, "a", "b", "c").transcript
    other = replace(
        talk,
        system="You are nobody.",
        lines=tuple(
            replace(line, notes="private") if line.speaker == "model" else line
            for line in talk.lines
        ),
    )

    assert other.heard_hash == talk.heard_hash


@pytest.mark.parametrize(
    "changed",
    [
        Line("human", "Shorter please."),
        Line("model", "Shorter, please."),
        Line("human", "Shorter, please. "),
        Line("human", "Shorter, please.", name="answer"),
    ],
    ids=["words", "speaker", "a space", "name"],
)
def test_what_was_heard_changes_with_every_word(changed: Line) -> None:
    """Words, who said them, and which of them is the reply: all of it is what a judge sees."""
    talk = played(EROSION, "a", "b", "c").transcript

    assert replace(talk, lines=(changed, *talk.lines[1:])).heard_hash != talk.heard_hash
    assert replace(talk, lines=talk.lines[1:]).heard_hash != talk.heard_hash


@given(st.lists(st.text(), min_size=3, max_size=3))
def test_every_reply_is_kept_and_quoted_to_the_letter(replies: list[str]) -> None:
    """Whatever a model says comes back as it said it, by name and inside later lines."""
    talk = played(EROSION, *replies)

    assert [talk.transcript.find_reply(name) for name in ("answer", "second", "third")] == replies
    assert texts(talk)[6] == f"First {replies[0]}, then {replies[1]}."


@given(
    st.lists(st.text(max_size=5), min_size=2, max_size=4),
    st.lists(st.text(max_size=5), min_size=2, max_size=4),
)
def test_different_words_are_never_heard_as_the_same(one: list[str], other: list[str]) -> None:
    """No way of cutting a conversation into lines gives the hash of another one."""

    def heard(said: list[str]) -> str:
        return Transcript("", tuple(Line("human", text) for text in said)).heard_hash

    assert (heard(one) == heard(other)) == (one == other)


ANY = st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs, too


@given(ANY, ANY)
def test_the_hash_of_what_was_heard_is_that_of_its_canonical_json(human: str, model: str) -> None:
    """However it is written: control characters, quotes, and half of a surrogate pair, too."""
    talk = Transcript("", (Line("human", human), Line("model", model, name="answer")))

    assert talk.heard_hash == hash_content([["human", human, ""], ["model", model, "answer"]])
