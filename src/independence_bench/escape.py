"""Text on its way out: foreign text is escaped for display, and secrets are cut out.

Replies, judges' reasoning, names of models, messages of servers: whatever is printed goes through
here, so that escape sequences are shown, not executed. Text of a user's own files is refused
instead (`check_printable`, `check_one_line`): its author can correct it.

A secret is learned where it is read (a key, the password in the address of a proxy or a database)
and is looked for at both exits for text: the store and the terminal. It is found plain or with any
character escaped for JSON (even several times), HTML or a URL; if it stands in a coding that cannot
be cut out, the whole text is withheld. Every step takes time in proportion to the text, whatever is
in it.
"""

from __future__ import annotations

import re
import unicodedata
from binascii import b2a_base64
from collections.abc import Mapping

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they reverse what is read
# controls, bidi marks, lone surrogates, odd separators
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = {"\u200d", "\u200c"}  # parts of emoji and of several scripts
# controls, lone surrogates and private use: what a terminal would obey, or a reader not see
_REFUSED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff"
    f"\U000f0000-\U000ffffd\U00100000-\U0010fffd{TURNING}]"
)
# marks on one character; more than any script has would be drawn over other lines
_MOST_MARKS = 8


def escape_text(text: str) -> str:
    """Return *text* made safe to print: every character that a terminal might obey or not show is
    written out as its code point. Tabs become spaces, and line breaks stay.
    """
    if text.isascii() and text.isprintable():  # as most labels are
        return text
    shown: list[str] = []
    marks = 0  # marks on the character before
    for c in text.replace("\r\n", "\n").replace("\t", "    "):
        category = unicodedata.category(c)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        seen = c == "\n" or c in _JOINERS or category not in _UNSEEN
        shown.append(c if seen and marks <= _MOST_MARKS else f"\\u{{{ord(c):x}}}")
    return "".join(shown)


def escape_line(label: str) -> str:
    """Return *label*, or any other text, made safe to print on one line: line breaks and characters
    that a terminal might obey or not show are written out.
    """
    return escape_text(label).replace("\n", "\\n")


# what shows nothing: Unicode's Default_Ignorable_Code_Point, letters and signs that are blank, all
# spaces but the usual
UNSEEN_IN_NAMES = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U00013441\U00013442\U00016fe4"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
)


def escape_name(name: str) -> str:
    """Return the label or id of a model made safe to print on one line, with every character
    written out that could make two different names look the same.
    """
    shown = escape_line(name)
    return (
        shown
        if shown.isascii()
        else UNSEEN_IN_NAMES.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", shown)
    )


def check_printable(text: str) -> str:
    """Return *text* unchanged. Raises ValueError if it has a character that a terminal would obey
    or a reader would not see.
    """
    if refused := _REFUSED.search(text):
        raise ValueError(
            f"has the character U+{ord(refused[0]):04X} in it, which is invisible; delete it"
        )
    return text


def check_one_line(text: str) -> str:
    """Return *text* unchanged. Raises ValueError if it has an unprintable character, a line break
    or a tab.
    """
    for c in "" if check_printable(text).isprintable() else text:
        if not (c.isprintable() or c in _JOINERS):
            raise ValueError(
                f"has the character U+{ord(c):04X} in it; write it on one line, in plain characters"
            )
    return text


SHORTEST_SECRET = 6  # characters; what is shorter stands in every text
KEY, LOGIN = "[key]", "[login]"
WITHHELD = "[withheld: it holds a secret in a coding that cannot be cut out]"
# Documented placeholders of local servers, which models may say, are not secrets.
PLACEHOLDERS = frozenset(
    {"ollama", "lm-studio", "not-needed", "no-key-required", "sk-no-key-required", "token-abc123"}
)
# in either case, as urllib reads them
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy")
# escapes of one character that are cut out: JSON in JSON in JSON in JSON has 15 backslashes
_MOST = 16
_LONGEST_LOGIN = 512  # characters of user and password in an address
_DECODINGS = 4  # times that a text is decoded when it is searched

# one character in one of its escaped forms, once every backslash is gone
_ESCAPED = re.compile(
    rb"u00([0-9a-fA-F]{2})|%%(?:25){0,%d}([0-9a-fA-F]{2})|&#0{0,%d}(\d{1,7});"
    rb"|&#[xX]0{0,%d}([0-9a-fA-F]{1,6});|&(amp|lt|gt|quot);" % (_MOST, _MOST, _MOST)
)
_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"'}
_NAMES = {character.decode(): b"&" + name + b";" for name, character in _NAMED.items()}
_HEX = re.compile(rb"%([0-9a-fA-F]{2})")
_LOGIN = re.compile(rf"(?<=://)[^/\s@\\\"'<>]{{1,{_LONGEST_LOGIN}}}@")


class Secrets:
    """The secrets that must never leave the process; empty at first. *within*: another collection
    that learns all of these, too.
    """

    def __init__(self, within: Secrets | None = None) -> None:
        self._within = within
        # without backslashes, as searched for -> as cut out
        self._plain: dict[bytes, re.Pattern[bytes]] = {}

    def __repr__(self) -> str:
        return f"Secrets({len(self._plain)})"

    def learn_secret(self, secret: str | None) -> None:
        """Remember *secret*, so that it is cut out of every text that is redacted. None, known
        placeholders, and texts shorter than `SHORTEST_SECRET` characters are ignored.
        """
        if self._within:
            self._within.learn_secret(secret)
        if secret is not None and len(secret) >= SHORTEST_SECRET and secret not in PLACEHOLDERS:
            plain = secret.encode("utf-8", "surrogateescape").replace(b"\\", b"")
            self._plain[_decode_escapes(plain) or plain] = re.compile(
                b"".join(_build_pattern(c) for c in secret)
            )

    def learn_address_password(self, address: str) -> None:
        """Remember the password in the URL *address* as a secret, in three forms: as written,
        percent-decoded, and as the Base64 of user and password that is sent to a server. Does
        nothing if the URL has no password.
        """
        _, _, rest = address.rpartition("://")
        login, _, host = rest.partition("/")[0].rpartition("@")
        _, divided, password = login.partition(":")
        if not (divided and host):
            return
        plain = _HEX.sub(
            lambda found: bytes.fromhex(found[1].decode()), login.encode("utf-8", "surrogateescape")
        )
        self.learn_secret(password)
        self.learn_secret(plain.partition(b":")[2].decode("utf-8", "surrogateescape"))
        self.learn_secret(b2a_base64(plain, newline=False).rstrip(b"=").decode())

    def learn_proxy_passwords(self, variables: Mapping[str, str]) -> None:
        """Remember, as secrets, the passwords in the proxy URLs of the environment *variables*,
        such as `https_proxy`.
        """
        for name in PROXIES:
            for value in (variables.get(name), variables.get(name.upper())):
                self.learn_address_password(value or "")

    def redact_bytes(self, data: bytes) -> bytes:
        """Return *data* with ``[key]`` in the place of every known secret; only a notice that the
        text is withheld if a secret in it cannot be cut out.
        """
        if not (patterns := self._find_patterns(data)):
            return data
        for pattern in patterns:
            data = pattern.sub(KEY.encode(), data)
        return WITHHELD.encode() if self._find_patterns(data) else data

    def redact_text(self, text: str) -> str:
        """Return *text* with ``[key]`` in the place of every known secret; only a notice that the
        text is withheld if a secret in it cannot be cut out.
        """
        if not self._plain:
            return text
        data = text.encode("utf-8", "surrogatepass")
        shown = self.redact_bytes(data)
        return text if shown is data else shown.decode("utf-8", "surrogatepass")

    def redact_secrets_and_logins(self, text: str) -> str:
        """Return *text*, an error message of a library or a server, with ``[key]`` in the place of
        every known secret and ``[login]`` in the place of user and password in URLs.
        """
        return _LOGIN.sub(f"{LOGIN}@", self.redact_text(text))

    def _find_patterns(self, data: bytes) -> list[re.Pattern[bytes]]:
        """Return the patterns by which the known secrets that occur in *data*, plain or escaped,
        can be cut out; [] if no secret occurs in it.
        """
        if not self._plain:
            return []
        plain = data.replace(b"\\", b"")
        texts = [plain]
        for _ in range(_DECODINGS):
            if (plain := _decode_escapes(plain)) == texts[-1]:
                break
            texts.append(plain)
        texts += [text.replace(b"\0", b"") for text in texts if b"\0" in text]  # half of UTF-16
        return [
            pattern
            for secret, pattern in self._plain.items()
            if any(secret in text for text in texts)
        ]


# One for the process: it has one environment, one store and one terminal.
KNOWN = Secrets()
SENT = Secrets(KNOWN)  # those that an endpoint or a proxy is told, and so may say back


def _decode_escapes(data: bytes) -> bytes:
    """Return *data* with one-byte characters that are escaped for JSON, HTML or a URL decoded, and
    without backslashes; unchanged if it has no such escapes.
    """
    if b"u00" not in data and b"%" not in data and b"&" not in data:
        return data
    return _ESCAPED.sub(_decode_character, data).replace(b"\\", b"")


def _decode_character(escape: re.Match[bytes]) -> bytes:
    """Return the one-byte character that the matched *escape* (of JSON, HTML or a URL) stands for;
    the escape unchanged if it stands for a larger character.
    """
    json, url, decimal, hexadecimal, named = escape.groups()
    if named:
        return _NAMED[named]
    number = int(decimal) if decimal else int(json or url or hexadecimal, 16)
    return bytes([number]) if number < 256 else escape[0]


def _build_pattern(c: str) -> bytes:
    """Return a regular expression for the character *c* or any of its forms escaped for JSON, HTML
    or a URL. Repetitions in the expression are bounded, so that searching stays fast.
    """
    backslashes = rb"\\{0,%d}" % _MOST
    data = c.encode("utf-8", "surrogateescape")
    forms = [
        backslashes + re.escape(data),
        rb"\\{1,%d}u(?i:%04x)" % (_MOST, ord(c)),
        b"".join(rb"%%(?:25){0,%d}(?i:%02x)" % (_MOST, byte) for byte in data),
        rb"&#(?:0{0,%d}%d|(?i:x0{0,%d}%x));" % (_MOST, ord(c), _MOST, ord(c)),
    ]
    if c in _NAMES:
        forms.insert(0, re.escape(_NAMES[c]))
    return b"(?:" + b"|".join(forms) + b")"
