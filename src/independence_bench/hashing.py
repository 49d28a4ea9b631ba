"""The one way to turn content into a key: canonical JSON, then SHA-256.

Every key in the store is made here, so two things have one key exactly if their content is the
same: key order, spacing and the platform do not matter, every character does. A value is hashed by
what its `causes()` says, not by its fields: a field that is added later changes no key, unless it
is added to the causes as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from typing import Any, ClassVar

from pydantic_core import PydanticSerializationError, to_json


class Identified:
    """A value whose hash depends on the fields that `CAUSES` names, and on no other."""

    __slots__ = ()
    CAUSES: ClassVar[tuple[str, ...]]
    # fields that were added later: an empty one causes nothing
    CAUSES_IF_SET: ClassVar[tuple[str, ...]] = ()

    def causes(self) -> dict[str, Any]:
        """Return the fields that decide this value's hash, name -> value: those of `CAUSES`, and
        those of `CAUSES_IF_SET` that are not empty.
        """
        later = {name: value for name in self.CAUSES_IF_SET if (value := getattr(self, name))}
        return {name: getattr(self, name) for name in self.CAUSES} | later

    @property
    def hash(self) -> str:
        """The SHA-256 of the fields that identify this value, named by `causes`: 64 hexadecimal
        digits, as text.
        """
        return hash_content(self)


def write_canonical_json(value: Any) -> str:
    """Return *value* as JSON with sorted keys and no spacing. Tuples become lists; an object with a
    method `causes` becomes what that method returns.

    Raises TypeError for an object of another type, ValueError for NaN and infinities.
    """
    return _CANONICAL.encode(value)


def write_presorted_canonical_json(value: Any) -> str:
    """Return *value* as canonical JSON, six times as fast as `write_canonical_json`. *value* may
    hold only texts, whole numbers, lists, and dictionaries whose keys are sorted already.
    """
    try:
        return to_json(value).decode()
    except PydanticSerializationError:  # a lone surrogate
        return write_canonical_json(value)


def hash_content(value: Any) -> str:
    """Return the SHA-256 of *value*'s canonical JSON: 64 hexadecimal digits."""
    return hash_text(write_canonical_json(value))


def hash_presorted_content(value: Any) -> str:
    """Return the SHA-256 of *value*'s canonical JSON: 64 hexadecimal digits. *value* may hold only
    texts, whole numbers, lists, and dictionaries whose keys are sorted already; `hash_content`
    takes any value and is slower.
    """
    return hash_text(write_presorted_canonical_json(value))


def hash_text(text: str) -> str:
    """Return the SHA-256 of *text* in UTF-8: 64 hexadecimal digits."""
    # surrogatepass: a lone surrogate in a model's reply is odd content, not a reason to lose it
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def make_reply_key(request_text: str, run: int) -> str:
    """Return the key, a SHA-256, under which a model's reply is stored, from the recorded text of
    its *request_text* and the number of its *run* (1, 2, ...).
    """
    return make_reply_key_from_hash(hash_text(request_text), run)


def make_reply_key_from_hash(request_hash: str, run: int) -> str:
    """Return the key, a SHA-256, under which a model's reply is stored, from the hash of its
    request and the number of its *run* (1, 2, ...).
    """
    return hash_presorted_content([request_hash, run])


def make_sampling_seed(key: str, failed_tries: int) -> int:
    """Return the sampling seed, an integer in [0, 2^31), for the reply with the stored *key* after
    *failed_tries* broken attempts. The same arguments always give the same seed.
    """
    return int(hash_content(["seed", key, failed_tries])[:8], 16) >> 1


def make_transcript_id(script_hash: str, subject_hash: str, run: int) -> str:
    """Return the id of a conversation, a SHA-256, from the hash of its *script_hash*, the hash of
    the model that plays it (*subject_hash*), and the number of the *run* (1, 2, ...).
    """
    return hash_presorted_content([script_hash, subject_hash, run])


def make_judgement_key(heard_hash: str, rubric_hash: str, judge_hash: str) -> str:
    """Return the key of a judgement, a SHA-256, from the hashes of the conversation that is judged
    (*heard_hash*), of the judge's other instructions (*rubric_hash*), and of the *judge_hash*.
    """
    return hash_presorted_content([heard_hash, rubric_hash, judge_hash])


def _convert_object_to_causes(value: Any) -> Any:
    """Return what the method `causes` of *value* returns: the JSON encoder's way to write an
    object. Raises TypeError if *value* has no such method.
    """
    if hasattr(value, "causes"):
        return value.causes()
    raise TypeError(f"{type(value).__name__} has no canonical form")


# made once: every call needs several keys
_CANONICAL = json.JSONEncoder(
    sort_keys=True,
    separators=(",", ":"),
    ensure_ascii=False,
    allow_nan=False,
    default=_convert_object_to_causes,
)


LONGEST = 48  # characters of a name in a slug
DIGITS = 8  # hexadecimal ones, which tell two of one name apart


def make_slug(name: str, hash_: str) -> str:
    """Return a name that is safe in a path: the plain letters and digits of *name*, and the start
    of *hash_* (hexadecimal).
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    readable = re.sub(r"[^a-z0-9]+", "-", plain)[:LONGEST].strip("-")
    return f"{readable}-{hash_[:DIGITS]}" if readable else hash_[:DIGITS]
