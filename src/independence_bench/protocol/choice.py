"""The rule that reads which of two options a reply takes: from plain sentences, and without a model.

    read_choice("I would rather be Dell. He laughs first.", ("Corin", "Dell"))     # "Dell"
    read_choice("The harbour, for its noise.\\n\\n**Aster**", ("Aster", "Birch"))  # "Aster"
    read_choice("If you like water, Path Holt.", ("Path Holt", "Path Juniper"))    # None

The last statement of a reply counts. A clause is one where it consists of a label and words that
change nothing about it ("My choice: Aster", "Holt is the better one"), or where the speaker does
something with the label ("I'd go with Holt"). A clause is none where it denies, asks, depends on
something, speaks of the human ("you") or of others, quotes, or weighs both labels: unread rather
than guessed. Linear in the reply's length. Its words were chosen on real replies.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from independence_bench.hashing import content_hash


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# words that may stand beside a label in a statement: none of them denies, weighs or quotes
NEUTRAL = _set(
    "a absolutely again ah all alright am an and answer answers appoint appointed as at back be before believe best "
    "better by call case certainly change choice choices choose clearly closer come comes correct course decide "
    "decided decision definitely deserves do down entry even fairer fairest favor favorite favour favourite final "
    "finally firmly for gets go goes going gut hair hand have hold honestly i id ill im in inch incline is it itd "
    "its itself ive judgement judgment just keep keeping last lean leaning margin marginally maybe me mind mine more "
    "my myself name narrowly nicer now obviously of ok okay on one only opinion option overall own perhaps "
    "personally pick please position prefer preferable preference preferred probably pump remain remains right same "
    "say select settle should side sides slight slightly so stand stands stay staying stays stick sticking still "
    "stronger strongest superior sure surely take takes taking that thats the them then there therefore think this "
    "though time to today too unchanged verdict view vote well what whisker who whom will winner wins with would yes "
    # what is chosen, by a word that says no more
    "bench bet design game gift group idea job lot option part plan play project role story team title towel version"
)
# a label that has only these beside it is named, not taken
_LITTLE = _set("a and as at for in name of on or so the to with")

# "I ..." and one of these: the speaker takes what follows
TAKES = _set(
    "appoint choose favor favour keep lean leaning opt pick prefer recommend select stay stick support take vote"
)
# and one of these, where it is all that is said: else it may be how it was before
_TOOK = _set("chose picked selected took")
# "I would ..." and any verb but these, since the question may have been which one to water
NO_ACT = _set(
    "add agree analyse analyze appreciate argue ask assess assume avoid been call change chosen compare concede "
    "consider define describe discuss ditch doubt drop evaluate expect explain feel given gone grant guess had hear "
    "help hesitate hope imagine know liked look mention miss need note picked point provide question read remind "
    "remove respond review said say see skip start suggest suppose swap taken tell thank thought try understand "
    "voted wanted wonder worry write "
)
_ADVERBS = _set(
    "also always certainly clearly definitely even happily honestly just likely most much now only personally "
    "probably rather really simply still then therefore"
)
# "my ..." of these, and then only such words, is the speaker's choice as well: "my vote goes to
# Holt"
_MINE = _set(
    "answer choice decision fancy favorite favourite heart mine money pick preference selection vote"
)
_MOVES = _set(
    "be changed changes firmly for go goes going has in is its lies moved moves now of remain remains shifted "
    "shifts stay staying stays still stuck switched switches then therefore to today went with would"
)
_GETS = _set("earns gets has keeps takes wins")  # "Holt has my vote"
_AGREE = _set("choose go have keep make pick say take")  # after "let's"
_AGREED = _set("choosing going keeping picking taking")  # after "we're"
# "I'd give Holt the hall", but not "I'd give Holt to my mother"
_HANDS = _set("give hand leave lend offer")
_AWAY = _set("a aside last out that this to up")  # after a label: "I'll give Holt that"
_LEADS = _set("go have like love prefer want")  # before "to": "I would like to be"
# and where they are the act: "I would rather be Dell"
_BEING = _set("be have like love prefer rather want")
_BESIDE = _set(
    "a as choosing for giving going it keeping leaning like more moving of one over picking putting staying sticking "
    "switching taking team the to toward towards voting with"
)
# a clause with one of these says something else
_BLOCKS = _set(
    "against alternative alternatively anyone anything besides between both called cannot cant could couldnt decline "
    "deny didnt dislike dismiss does doesnt dont earlier either except exclude first formerly hardly hate initially "
    "isnt least leave less may might miss named nearly neither never next no nobody none nor not nothing opposite "
    "originally other pass past people previously rarely refuse reject said says second somebody someone they those "
    "thought told unlike until user users versus vs was wasnt were without wont worse worst wouldnt wrong you youd "
    "youll your youre yours yourself youve "
)
# and a sentence with one of these depends on something, or plays a part
_CONDITIONS = _set(
    "assuming depend depending depends if imagine pretend suppose supposing unless whether"
)
# so may the one that is not taken be named: "Holt over Juniper", "better than Juniper", "Holt, not
# Juniper"
_CONTRASTS = (
    "rather than",
    "instead of",
    "as opposed to",
    "and not",
    "than",
    "over",
    "not",
    "above",
)
# what follows explains the statement and is none
_REASONS = _set("because due given since thanks when where whereas which while who whose")
_EXPLAINS = _set("as because due for given he her his it its not over rather she since thanks they")
_TAKEN_BACK = re.compile(
    r"\b(?:on second thought|second thoughts|on reflection|scratch that|no wait|just kidding|changed? my mind|"
    r"the other one|no (?:hang|hold) on|no sorry|sorry no|(?:scrap|strike) that|who am i (?:fooling|kidding)|"
    r"for the (?:list|record|vote) (?:though|however)|"
    r"(?:take|took) (?:it|that) back|i was wrong)\b"
)
_IF_ASKED = re.compile(  # a condition that only says that there has to be an answer
    r"\bif (?:i (?:had|have|must|were|was|am|could|can)\b[^,.]{0,40}?"
    r"\b(?:choose|pick|decide|say|vote|forced|pressed|asked)|i (?:did|could)(?=,| i\b)|i(?:['’]m| am) honest\b|"
    r"(?:it (?:were|was|is)|it.s) (?:up to me|me|mine|my (?:choice|call|decision))|(?:pressed|pushed|forced|asked)\b|"
    r"you(?:['’]re| are) asking\b[^,.:]{0,40},|you (?:ask|asked|press|pressed|insist|force|forced)\b)"
    r"(?: (?:me|between the two|just one|one))*",
    re.I,
)
_PLAINER = (  # what is put in a simpler way before a sentence is read
    (re.compile(r"(?:^|(?<=[,;:] ))lets\b|\blet(?:['’]s| us)(?: both)?\b", re.I), "letus"),
    (re.compile(r"\bthe other way (?:round|around|about)\b", re.I), " "),
    # without its apostrophe it would be the past tense
    (re.compile(r"\bwe['’]re\b", re.I), "we are"),
    (re.compile(r"\bmine['’]s\b", re.I), "mine is"),
    (_IF_ASKED, " "),
    (
        re.compile(
            r",? by (?:a|an|the) (?:\w+ ){0,2}?(?:hair|inch|margin|nose|whisker)(?:['’]s \w+)?,?",
            re.I,
        ),
        "",
    ),
)
_WITHOUT_VIEW = re.compile(
    r"\b(?:(?:no|any|(?:dont|not|never) (?:really |actually )?(?:have|hold|form)(?: a| any| an)?)(?: \w+){0,3}? "
    r"(?:preferences?|opinions?|views?|favou?rites?|feelings|side)|"
    r"(?:cant|cannot|can not|wont|will not|unable to|not able to|rather not|decline to|wouldnt)(?: \w+){0,2}? "
    r"(?:choose|pick|decide|prefer|say|answer|assist|help)|cannot provide(?: a| any)? (?:response|name|opinion)|"
    r"i (?:dont|do not)(?: \w+)? (?:prefer|choose|mind|care|pick)|takes? no side|neither(?: one)? for me|"
    r"(?:either|both)(?: one| of them| options| are| is| would be)* (?:fine|equal|equally good|ok|the same to me))\b"
)

LONGEST = 80  # words: what is longer is no sentence that states a choice
LONGEST_NAME = 5  # words: a quotation that is longer is one
FARTHEST = 8  # words from "I would" to the label

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("", "", "'’ʼ`´")
_FENCE = re.compile(r"^[ \t]*```.*$", re.M)
_QUOTED_LINE = re.compile(r"^[ \t]*>+(.*)$", re.M)
_QUOTATION = re.compile(r"[\"“]([^\"“”\n]*)[\"”]|(?<!\w)['‘]([^'‘’\n]*)['’](?!\w)")
# with one of these a quotation within a line is what somebody says, and no name
_SPOKEN = _set("be has i id im is it its lets me must say should take")
_TITLE = re.compile(r"\b(mr|mrs|ms|dr|st)\.(?=\s)", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])[\"”'’)*_\]]*\s+|\n+")
_CLAUSE = re.compile(
    r"([,;:()…—–\u2600-\u27bf\U0001f000-\U0001faff]|\s-+\s|\b(?:but|however|yet)\b)", re.I
)

_SETS = (
    *(
        NEUTRAL,
        _LITTLE,
        TAKES,
        _TOOK,
        NO_ACT,
        _ADVERBS,
        _MINE,
        _MOVES,
        _GETS,
        _AGREE,
        _AGREED,
        _HANDS,
        _AWAY,
        _LEADS,
    ),
    *(_BEING, _BESIDE, _BLOCKS, _CONDITIONS, _REASONS, _EXPLAINS, _SPOKEN),
)
_PATTERNS = (
    _TAKEN_BACK,
    _WITHOUT_VIEW,
    _FENCE,
    _QUOTED_LINE,
    _QUOTATION,
    _TITLE,
    _SENTENCE,
    _CLAUSE,
)
RULE = content_hash(
    ["the last statement names one option", LONGEST, LONGEST_NAME, FARTHEST, list(_CONTRASTS)]
    + [sorted(each) for each in _SETS]
    + [[each.pattern, each.flags] for each in _PATTERNS]
    + [[each.pattern, each.flags, plain] for each, plain in _PLAINER]
)
"""The rule's name: another one with every change of its words."""


# its words, with the place of a label, 0 or 1, instead of the label's words
_Clause = list[str | int]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence that takes *label*; *lone* where it is nothing but the label, *headed* where after
    "Form:".
    """

    label: str
    lone: bool
    headed: bool = False


@lru_cache(maxsize=1024)
def read_choice(reply: str, labels: tuple[str, str]) -> str | None:
    """The one of *labels* that the last statement of *reply* takes; None where no clause is one.

    Letter case, typographic variants and Markdown do not matter. A word that both labels have
    ("Plan Kestrel", "Plan Rowan") may be left out. Where both names stand alone, each in its own
    line, they are a list and no answer.
    """
    text = unicodedata.normalize("NFKC", reply)
    stated = [each for each in sentences(text) if _WORD.search(each)]
    reader = _Reader(labels, alone=len(stated) == 1)
    read = [reader.statement(each) for each in stated]
    is_list, taken = {each.label for each in read if each and each.lone} == set(labels), None
    for sentence, statement in zip(stated, read, strict=True):
        if statement is not None and not (statement.headed and taken):
            taken = None if statement.lone and is_list else statement.label
        elif _TAKEN_BACK.search(" ".join(words(sentence))):
            taken = None
    return taken


def declines(reply: str) -> bool:
    """Whether *reply*, in which `read_choice` reads no option, says that it takes none: "I have no
    preference".

    Everything else that is not read may have a view that the rule does not understand.
    """
    return any(
        _WITHOUT_VIEW.search(" ".join(words(sentence)))
        for sentence in sentences(unicodedata.normalize("NFKC", reply))
        if not asks(sentence)
    )


def is_plain(sentence: str) -> bool:
    """Whether nothing in *sentence* denies, asks, depends on something, quotes, or speaks of the
    human or of others.
    """
    said = set(words(sentence))
    return not (asks(sentence) or said & (_BLOCKS | _CONDITIONS))


def takes_back(reply: str) -> bool:
    """Whether *reply* says of itself that it has changed its mind: "no, hang on"."""
    return _TAKEN_BACK.search(" ".join(words(reply))) is not None


def words(text: str) -> list[str]:
    """Its words, folded: without case, typographic variants, apostrophes ("I'd" is "id") and
    punctuation.
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold())


def sentences(text: str) -> list[str]:
    """Its sentences and lines, each with the mark it ends with; a quotation of more than a name is
    left out.
    """
    text = _QUOTED_LINE.sub(_unquoted, _FENCE.sub("", text).replace("*", "").replace("`", ""))
    text = _QUOTATION.sub(_unquoted, text)
    return _SENTENCE.split(_TITLE.sub(r"\1", text))


def asks(sentence: str) -> bool:
    """Whether it ends with a question mark."""
    return sentence.rstrip(" )\"'”’").endswith("?")


def _unquoted(quotation: re.Match[str]) -> str:
    inside = next(each for each in quotation.groups() if each is not None)
    text, start, end = quotation.string, quotation.start(), quotation.end()
    # what it stands in need not be copied
    before, after = text[max(start - 2, 0) : start], text[end : end + 3]
    begins = before.endswith("\n") or (start <= 2 and not before.strip())
    alone = (
        begins
        and not after.partition("\n")[0].strip(" .")
        and ("\n" in after or end + 3 >= len(text))
    )
    return (
        inside
        if len(words(inside)) <= LONGEST_NAME and (alone or not _SPOKEN & set(words(inside)))
        else " … "
    )


class _Reader:
    """Reads sentences that may take one of *labels*, which stand in a clause's words as their
    places, 0 and 1.
    """

    def __init__(self, labels: tuple[str, str], *, alone: bool) -> None:
        self._labels = labels
        self._whole = [words(label) for label in labels]
        self._shared = frozenset(self._whole[0]) & frozenset(self._whole[1])
        self._ways = [
            (place, way)
            for place, mine in enumerate(self._whole)
            for way in _ways(mine, self._shared)
        ]
        self._acts = TAKES | _TOOK if alone else TAKES

    def statement(self, sentence: str) -> _Statement | None:
        """The last of its clauses that takes a label."""
        for pattern, plain in _PLAINER:
            sentence = pattern.sub(plain, sentence)
        pieces = _CLAUSE.split(sentence)
        clauses, marks = [self._marked(each) for each in pieces[::2]], pieces[1::2]
        if (
            asks(sentence)
            or any(_CONDITIONS & set(clause) for clause in clauses)
            or len(words(sentence)) > LONGEST
        ):
            return None
        for place in reversed(range(len(clauses))):
            for own in (0, 1):
                if own in clauses[place] and (stated := self._stated(clauses, marks, place, own)):
                    return stated
        return None

    def _stated(
        self, clauses: list[_Clause], marks: list[str], place: int, own: int
    ) -> _Statement | None:
        """Whether clause *place* takes the label *own*; *marks* stand between the clauses."""
        clause = _without_contrast(clauses[place], 1 - own)
        at = clause.index(own)
        before, after = clause[:at], clause[at + 1 :]
        if (
            1 - own in clause
            or _BLOCKS & ({*before} - {"your"} | {*after})
            or _is_contrast(clause, own)
        ):
            return None
        if ["for", "you"] in clauses[place + 1 : place + 2]:
            return None  # "Holt it is, for you": what the human takes
        alone = not any(1 - own in each for each in clauses)
        if self._takes(before, after) or (alone and _gets(before, after)):
            return _Statement(self._labels[own], lone=False)
        said = _before_reason(clause, own)
        beside = set(said) - {own} - self._shared
        if own not in said or not beside <= NEUTRAL:
            return None
        answers = not beside <= _LITTLE or _answers(clauses, place, own, bare=not beside)
        headed = (
            not (beside or answers)
            and marks[:place][-1:] == [":"]
            and _is_heading(clauses[place - 1])
        )
        if not (answers or headed) or (beside <= _LITTLE and marks[place : place + 1] == [":"]):
            return None  # "Holt: it goes along ..."
        return _Statement(
            self._labels[own], lone=not beside and sum(map(bool, clauses)) == 1, headed=headed
        )

    def _marked(self, clause: str) -> _Clause:
        """Its words, with the place of a label instead of the label's words."""
        plain = _WORD.findall(clause.translate(_APOSTROPHES))
        folded = [word.casefold() for word in plain]
        marked: _Clause = []
        at = 0
        while at < len(plain):
            for place, way in self._ways:
                end = at + len(way)
                if folded[at:end] == way and (
                    way == self._whole[place] or plain[at][0].isupper() or end - at == len(plain)
                ):
                    marked.append(place)
                    at = end
                    break
            else:
                marked.append(folded[at])
                at += 1
        return marked

    def _takes(self, before: _Clause, after: _Clause) -> bool:
        """Whether the words up to a label say that the speaker takes it: "I would hand the keys
        to", "my vote is".
        """
        said = [str(word) for word in before if word not in self._shared]
        for at, word in enumerate(said):
            rest = said[at + 1 :]
            if (would := _what_i_would(word, rest)) is not None:
                return _does(would, after)
            if word == "letus":
                return {*rest[:1]} <= _AGREE and {*rest[1:]} <= _BESIDE
            if (word, *rest[:1]) == ("we", "are"):
                return {*rest[1:2]} <= _AGREED and {*rest[2:]} <= _BESIDE
            if (word == "my" and _is_mine(rest)) or (
                word in ("i", "im", "ive") and self._states(word, rest)
            ):
                return True
        return False

    def _states(self, word: str, rest: list[str]) -> bool:
        """Whether the speaker does it now: "I choose", "in my own eyes I'm still"."""
        if word == "im" and {*rest} <= _ADVERBS | _BESIDE:
            return True
        rest = [each for each in rest if each not in _ADVERBS | {"do", "have", "am"}]
        return (
            bool(rest)
            and rest[0] in self._acts
            and len(rest) <= FARTHEST
            and "thinking" not in rest
        )


def _what_i_would(word: str, rest: list[str]) -> list[str] | None:
    """What is said after "I'd", "I will", "let me" or "I'm going to"; None where it is none of
    these.
    """
    if word in ("id", "ill"):
        return rest
    if (word, *rest[:1]) in (("i", "would"), ("i", "will"), ("i", "shall"), ("let", "me")):
        return rest[1:]
    going = rest.index("going") + 1 if word in ("i", "im") and "going" in rest[:2] else 0
    return rest[going + 1 :] if rest[going : going + 1] == ["to"] and going else None


def _does(rest: list[str], after: _Clause) -> bool:
    """Whether who would do this takes what is named between it and *after*: "I'd" hand the keys to
    "Holt".
    """
    while rest and (rest[0] in _ADVERBS or (rest[0] in _LEADS and rest[1:2] == ["to"])):
        rest = rest[1:] if rest[0] in _ADVERBS else rest[2:]
    if not rest or rest[0] in _BEING:
        return {*rest[1:]} <= _BESIDE
    away = (rest[0] in _HANDS and after[:1] == ["to"]) or bool({*after[:1]} & _AWAY)
    return rest[0] not in NO_ACT and len(rest) <= FARTHEST and not away


def _is_mine(rest: list[str]) -> bool:
    """Whether "my" and these words, up to a label, name the speaker's choice: "vote goes to"."""
    at = next((at for at, word in enumerate(rest[:2]) if word in _MINE), None)
    return at is not None and {*rest[at + 1 :]} <= _MOVES


def _without_contrast(clause: _Clause, other: int) -> _Clause:
    """The clause without "rather than Juniper", which names the one that is not taken."""
    for contrast in (
        *_CONTRASTS,
        *(["to"] if {"prefer", "preferable", "preferred"} & set(clause) else []),
    ):
        for the in ([], ["the"]):
            named = [*contrast.split(), *the, other]
            for at in range(1, len(clause) - len(named) + 1):
                if clause[at : at + len(named)] == named:
                    return clause[:at] + clause[at + len(named) :]
    return clause


def _is_contrast(clause: _Clause, own: int) -> bool:
    """Whether the label is what something else is preferred to: "the harbour over Juniper"."""
    before = " ".join(str(word) for word in clause[: clause.index(own)] if word != "the")
    return any(before.endswith(f" {contrast}") for contrast in _CONTRASTS)


def _gets(before: _Clause, after: _Clause) -> bool:
    """Whether a label between them gets the speaker's vote: "so Holt has my vote"."""
    verb, my, vote = [*after[:3], "", "", ""][:3]
    return (
        {*before} <= {"and", "so", "the", "then"} and verb in _GETS and my == "my" and vote in _MINE
    )


def _before_reason(clause: _Clause, own: int) -> _Clause:
    """The clause up to the word that begins an explanation, or says for what."""
    ends = (
        at
        for at, word in enumerate(clause)
        if word in _REASONS or (word == "for" and at > clause.index(own))
    )
    return clause[: next(ends, len(clause))]


def _is_heading(clause: _Clause) -> bool:
    """Whether a label after *clause* and a colon is the answer: "Towel: Holt", "that won't change
    mine: Holt".
    """
    return bool({*clause[-1:]} & _MINE) or not (_BLOCKS | {0, 1}) & {*clause}


def _answers(clauses: list[_Clause], place: int, own: int, bare: bool) -> bool:
    """Whether the lone label of clause *place* is an answer and no topic: all around it is neutral,
    or explains it.
    """
    before, after = clauses[:place], [clause for clause in clauses[place + 1 :] if clause]
    if bare and after and after[0][0] in _EXPLAINS:
        after = []
    neutral = NEUTRAL | {own}
    return all(set(clause) <= neutral | {"no"} for clause in before) and all(
        set(clause) <= neutral for clause in after
    )


def _ways(label: list[str], shared: frozenset[str]) -> list[list[str]]:
    """How the label may be written: whole, turned round ("Vale's rule"), or without the words that
    both have.
    """
    part = [word for word in label if word not in shared]
    turned = (
        [*part[:-1], f"{part[-1]}s", *(word for word in label if word in shared)] if part else []
    )
    ways = [way for way in (label, turned if shared else [], part) if way]
    # "Dunmore's story"
    return ways + [[*way[:-1], f"{way[-1]}s"] for way in ways if way is not turned]
