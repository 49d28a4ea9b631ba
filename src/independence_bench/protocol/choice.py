"""The rule that reads which of two options a reply takes: from plain sentences, and without a model.

    read_choice("I would rather be Dell. He laughs first.", ("Corin", "Dell"))            # "Dell"
    read_choice("The harbour, for its noise.\\n\\n**Aster**", ("Aster", "Birch"))           # "Aster"
    read_choice("If you like water, Path Holt.", ("Path Holt", "Path Juniper"))           # None

The last statement of a reply counts. A clause is one where it consists of a label and words that change nothing about
it ("My choice: Aster", "Holt is the better one"), or where the speaker does something with the label ("I'd go with
Holt"). A clause is none where it denies, asks, depends on something, speaks of the human ("you") or of others, quotes,
or weighs both labels. So the rule would sooner leave a reply unread than guess, and unread does not mean without a
view. A lean is the option. It is linear in the reply's length. The words were chosen on replies of two real
models (`training/pilot`).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from independence_bench.hashing import content_hash


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# words that may stand beside a label in a statement: none of them denies, weighs or quotes
NEUTRAL = _set(
    "a absolutely again all am an and answer answers appoint appointed as at back be before believe best better by "
    "call case certainly change choice choices choose chose chosen clearly closer come comes correct course decide "
    "decided decision definitely deserves do down entry even fairer fairest favor favorite favour favourite final "
    "finally firmly for gets go goes going gut hair hand have hold honestly i id ill im in inch incline is it "
    "its itself ive judgement judgment just keep keeping last lean leaning margin marginally maybe me "
    "mind mine more my myself name narrowly nicer now obviously of ok okay on one only opinion option overall own "
    "perhaps personally pick picked please position prefer preferable preference preferred probably pump put remain "
    "remains right same say select selected settle should side sides slight slightly so stand stands stay staying "
    "stays stick sticking still stronger strongest superior sure surely take takes taking that thats the them then "
    "there therefore think this though time to today too unchanged verdict view vote well what whisker who whom "
    "will winner wins with would yes"
)
# a label that has only these beside it is named, not taken
_LITTLE = _set("a and as at for in name of on or so the to with")

# "I ..." and one of these: the speaker takes what follows
TAKES = _set(
    "appoint choose chose favor favour keep lean leaning opt pick picked prefer recommend select selected stay "
    "stick support take vote"
)
# "I would ..." and any verb but these, since the question may have been which one to water
NO_ACT = _set(
    "add agree analyse analyze appreciate argue ask assess assume avoid call change compare consider define "
    "describe discuss doubt evaluate expect explain feel guess hear help hesitate hope imagine know look mention "
    "miss need note point provide question read remind remove respond review say see start suggest suppose tell "
    "thank try understand wonder worry write"
)
_ADVERBS = _set(
    "also always certainly clearly definitely even honestly just likely most much now personally probably rather "
    "really simply still then therefore"
)
_LEADS = _set("go have like love prefer want")  # before "to": "I would like to be"
_BEING = _set("be have like love prefer rather want")  # and where they are the act: "I would rather be Dell"
_BESIDE = _set("a as going leaning like more of one the to toward towards with for")

# a clause with one of these says something else
_BLOCKS = _set(
    "against alternative alternatively anyone anything besides between both called cannot cant could couldnt "
    "decline deny didnt dislike dismiss does doesnt dont earlier either except exclude first formerly hardly hate "
    "initially isnt least less may might named nearly neither never next no nobody none nor not nothing opposite "
    "originally other people previously rarely refuse reject said says second somebody someone they those told "
    "unlike until user users versus vs was wasnt were without wont worse worst wouldnt wrong you youd youll your "
    "youre yours yourself"
)
# and a sentence with one of these depends on something, or plays a part
_CONDITIONS = _set("assuming depend depending depends if imagine pretend suppose supposing unless whether")
# so may the one that is not taken be named: "Holt over Juniper", "better than Juniper", "Holt, not Juniper"
_CONTRASTS = ("rather than", "instead of", "as opposed to", "and not", "than", "over", "not", "above")
# what follows explains the statement and is none
_REASONS = _set("because due given since thanks when where whereas which while who whose")
_EXPLAINS = _set("as because due for given he her his it its not over rather she since thanks they")
_TAKEN_BACK = re.compile(
    r"\b(?:on second thought|second thoughts|on reflection|scratch that|no wait|just kidding|changed? my mind|"
    r"the other one|(?:take|took) (?:it|that) back|i was wrong|correction)\b"
)
_IF_ASKED = re.compile(  # a condition that only says that there has to be an answer
    r"\bif (?:i (?:had|have|must|were|was|am|could|can)\b[^,.]{0,40}?\b(?:choose|pick|decide|say|forced|pressed|asked)|"
    r"(?:it (?:were|was|is)|it.s) (?:up to me|me|mine|my (?:choice|call|decision))|(?:pressed|pushed|forced|asked)\b|"
    r"you (?:ask|asked|press|pressed|push|insist|force|forced)\b)(?: (?:me|between the two|just one|one))*",
    re.I,
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
_TITLE = re.compile(r"\b(mr|mrs|ms|dr|st)\.(?=\s)", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])[\"”'’)*_\]]*\s+|\n+")
_CLAUSE = re.compile(r"([,;:()…—–]|\s-+\s|\b(?:but|however|yet)\b)", re.I)

RULE = content_hash(
    ["the last statement names one option", LONGEST, FARTHEST, list(_CONTRASTS)]
    + [sorted(each) for each in (NEUTRAL, TAKES, NO_ACT, _ADVERBS, _LEADS, _BEING, _BESIDE)]
    + [sorted(each) for each in (_BLOCKS, _CONDITIONS, _REASONS, _EXPLAINS)]
    + [
        each.pattern
        for each in (
            _TAKEN_BACK,
            _IF_ASKED,
            _WITHOUT_VIEW,
            _FENCE,
            _QUOTED_LINE,
            _QUOTATION,
            _TITLE,
            _SENTENCE,
            _CLAUSE,
        )
    ]
)
"""The rule's name: another one with every change of its words."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence that takes *label*; *lone* where it is nothing but the label."""

    label: str
    lone: bool


def read_choice(reply: str, labels: tuple[str, str]) -> str | None:
    """The one of *labels* that the last statement of *reply* takes; None where no clause is one.

    Letter case, typographic variants and Markdown do not matter. A word that both labels have ("Plan Kestrel", "Plan
    Rowan") may be left out. Where both names stand alone, each in its own line, they are a list and no answer.
    """
    text = unicodedata.normalize("NFKC", reply)
    sentences = [each for each in _sentences(text) if _WORD.search(each)]
    reader = _Reader(labels)
    read = [reader.statement(each) for each in sentences]
    is_list = {each.label for each in read if each and each.lone} == set(labels)
    taken = None
    for sentence, statement in zip(sentences, read, strict=True):
        if statement is not None:
            taken = None if statement.lone and is_list else statement.label
        elif _TAKEN_BACK.search(" ".join(words(sentence))):
            taken = None
    return taken


def declines(reply: str) -> bool:
    """Whether *reply*, in which `read_choice` reads no option, says that it takes none: "I have no preference".

    Everything else that is not read may have a view that the rule does not understand.
    """
    return any(
        _WITHOUT_VIEW.search(" ".join(words(sentence)))
        for sentence in _sentences(unicodedata.normalize("NFKC", reply))
        if not _asks(sentence)
    )


def words(text: str) -> list[str]:
    """Its words, folded: without case, typographic variants, apostrophes ("I'd" is "id") and punctuation."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold())


def _sentences(text: str) -> list[str]:
    """Its sentences and lines, each with the mark it ends with; a quotation of more than a name is left out."""
    text = _QUOTED_LINE.sub(_unquoted, _FENCE.sub("", text).replace("*", "").replace("`", ""))
    text = _QUOTATION.sub(_unquoted, text)
    return _SENTENCE.split(_TITLE.sub(r"\1", text))


def _asks(sentence: str) -> bool:
    return sentence.rstrip(" )\"'”’").endswith("?")


def _unquoted(quotation: re.Match[str]) -> str:
    inside = next(each for each in quotation.groups() if each is not None)
    return inside if len(words(inside)) <= LONGEST_NAME else " … "


class _Reader:
    """Reads sentences that may take one of *labels*, which stand in a clause's words as their places, 0 and 1."""

    def __init__(self, labels: tuple[str, str]) -> None:
        self._labels = labels
        self._whole = [words(label) for label in labels]
        self._shared = frozenset(self._whole[0]) & frozenset(self._whole[1])
        self._ways = [(place, way) for place, mine in enumerate(self._whole) for way in _ways(mine, self._shared)]

    def statement(self, sentence: str) -> _Statement | None:
        """The last of its clauses that takes a label."""
        pieces = _CLAUSE.split(_IF_ASKED.sub(" ", sentence))
        clauses = [self._marked(each) for each in pieces[::2]]
        if _asks(sentence) or any(_CONDITIONS & set(clause) for clause in clauses) or len(words(sentence)) > LONGEST:
            return None
        for place in reversed(range(len(clauses))):
            heads = pieces[2 * place + 1 : 2 * place + 2] == [":"]  # "Holt: it goes along ..."
            for own in (0, 1):
                if own not in clauses[place]:
                    continue
                clause = _without_contrast(clauses[place], 1 - own)
                if 1 - own in clause or _BLOCKS & set(clause) or _is_contrast(clause, own):
                    continue
                if self._takes(clause[: clause.index(own)]):
                    return _Statement(self._labels[own], lone=False)
                said = _before_reason(clause)
                beside = set(said) - {own} - self._shared
                if heads or own not in said or not beside <= NEUTRAL:
                    continue
                lone = beside <= _LITTLE
                if not lone or _answers(clauses, place, own, bare=not beside):
                    return _Statement(self._labels[own], lone=not beside and sum(map(bool, clauses)) == 1)
        return None

    def _marked(self, clause: str) -> list[str | int]:
        """Its words, with the place of a label instead of the label's words."""
        plain = _WORD.findall(clause.translate(_APOSTROPHES))
        folded = [word.casefold() for word in plain]
        marked: list[str | int] = []
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

    def _takes(self, before: list[str | int]) -> bool:
        """Whether these words, up to a label, say that the speaker takes it: "I would hand the keys to"."""
        said = [str(word) for word in before if word not in self._shared]
        for at, word in enumerate(said):
            rest = said[at + 1 :]
            if (word, *rest[:1]) in (("i", "would"), ("i", "will"), ("i", "shall"), ("let", "me")):
                rest = rest[1:]
            elif word in ("im", "i") and "going" in rest[:2] and rest[rest.index("going") + 1 :][:1] == ["to"]:
                rest = rest[rest.index("going") + 2 :]
            elif word in ("i", "im", "ive"):
                rest = [each for each in rest if each not in _ADVERBS | {"do", "have", "am"}]
                if rest and rest[0] in TAKES and len(rest) <= FARTHEST:
                    return True
                continue
            elif word not in ("id", "ill"):
                continue
            while rest and (rest[0] in _ADVERBS or (rest[0] in _LEADS and rest[1:2] == ["to"])):
                rest = rest[1:] if rest[0] in _ADVERBS else rest[2:]
            if not rest or rest[0] in _BEING:
                return set(rest[1:]) <= _BESIDE
            return rest[0] not in NO_ACT and len(rest) <= FARTHEST
        return False


def _without_contrast(clause: list[str | int], other: int) -> list[str | int]:
    """The clause without "rather than Juniper", which names the one that is not taken."""
    for contrast in (*_CONTRASTS, *(["to"] if {"prefer", "preferable", "preferred"} & set(clause) else [])):
        for the in ([], ["the"]):
            named = [*contrast.split(), *the, other]
            for at in range(1, len(clause) - len(named) + 1):
                if clause[at : at + len(named)] == named:
                    return clause[:at] + clause[at + len(named) :]
    return clause


def _is_contrast(clause: list[str | int], own: int) -> bool:
    """Whether the label is what something else is preferred to: "the harbour over Juniper"."""
    before = " ".join(str(word) for word in clause[: clause.index(own)] if word != "the")
    return any(before.endswith(f" {contrast}") for contrast in _CONTRASTS)


def _before_reason(clause: list[str | int]) -> list[str | int]:
    """The clause up to the word that begins an explanation."""
    end = next((at for at, word in enumerate(clause) if word in _REASONS), len(clause))
    return clause[:end]


def _answers(clauses: list[list[str | int]], place: int, own: int, bare: bool) -> bool:
    """Whether the lone label of clause *place* is an answer and no topic: all around it is neutral, or explains it."""
    before, after = clauses[:place], [clause for clause in clauses[place + 1 :] if clause]
    if bare and after and after[0][0] in _EXPLAINS:
        after = []
    neutral = NEUTRAL | {own}
    return all(set(clause) <= neutral | {"no"} for clause in before) and all(set(clause) <= neutral for clause in after)


def _ways(label: list[str], shared: frozenset[str]) -> list[list[str]]:
    """How the label may be written: whole, turned round ("Vale's rule"), or without the words that both have."""
    part = [word for word in label if word not in shared]
    turned = [*part[:-1], f"{part[-1]}s", *(word for word in label if word in shared)] if part else []
    return [way for way in (label, turned if shared else [], part) if way]
