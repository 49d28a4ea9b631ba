"""Secrets that the process knows are cut out of texts in every coding, and no text keeps the
process busy.
"""

from __future__ import annotations

import html
import json
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from independence_bench.escape import KEY, WITHHELD, Secrets

LONG = "sk-or-v1-0123456789abcdef0123456789abcdef"
ODD = 'sk.(a+b)*[c]?^$|{2}-"q"\\back/slash\'&<%41>=0123'


def knowing(*secrets: str) -> Secrets:
    """Secrets that knows these."""
    known = Secrets()
    for secret in secrets:
        known.learn_secret(secret)
    return known


def nested(secret: str, times: int) -> str:
    """JSON in JSON, so often."""
    for _ in range(times):
        secret = json.dumps(secret)[1:-1]
    return secret


CODINGS = {
    "plain": str,
    "json": lambda s: nested(s, 1),
    "json four times": lambda s: nested(s, 4),
    "every character escaped": lambda s: "".join(f"\\u{ord(c):04X}" for c in s),
    "url": lambda s: quote(s, safe=""),
    "url twice": lambda s: quote(quote(s, safe=""), safe=""),
    "every character as %": lambda s: "".join(f"%{ord(c):02x}" for c in s),
    "html": html.escape,
    "every character as a number": lambda s: "".join(f"&#{ord(c):04};" for c in s),
    "every character as a hexadecimal number": lambda s: "".join(f"&#x{ord(c):X};" for c in s),
    "repr": lambda s: repr(s)[1:-1],
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("secret", [LONG, ODD, "hunter2"])
def test_a_secret_is_cut_out_in_every_coding(secret: str, coding: str) -> None:
    """What stands around it stays."""
    said = CODINGS[coding](secret)

    assert knowing(secret).redact_text(f"It is <{said}>, so.") == f"It is <{KEY}>, so."


@pytest.mark.parametrize(
    "said",
    [
        LONG.replace("-", "\\" * 40 + "-"),
        nested(LONG.replace("-", '"') and LONG, 1).replace("v1", "%" + "25" * 30 + "761"),
        LONG.encode("utf-16-le").decode("latin-1"),
        LONG.encode("utf-16-be").decode("latin-1"),
    ],
    ids=["forty backslashes", "thirty times %25", "UTF-16", "UTF-16, the other way round"],
)
def test_what_cannot_be_cut_out_is_withheld(said: str) -> None:
    """A coding that nobody uses does not smuggle the secret out."""
    assert knowing(LONG).redact_text(f"so {said} so") == WITHHELD


def test_what_is_short_or_a_placeholder_is_no_secret() -> None:
    """Five letters stand in every text, and what a manual tells everybody to write is known to
    all.
    """
    known = knowing("abcde", "ollama", "")

    assert known.redact_text("abcde ollama") == "abcde ollama"


def test_the_password_in_an_address_is_learned_as_it_stands_decoded_and_as_it_is_sent() -> None:
    """A proxy is told user:password in base64, and says any of it back."""
    known = Secrets()
    known.learn_address_password("http://me:p%40ssw%2Frd@proxy:3128")
    sent = b64encode(b"me:p@ssw/rd").decode()

    for said in ("p%40ssw%2Frd", "p@ssw/rd", sent.rstrip("=")):
        assert known.redact_text(f"407 for {said}!") == f"407 for {KEY}!"


@pytest.mark.parametrize(
    "address", ["", "host:80", "http://host/a:b@c", "http://user@host", "://@", "a:b@", "@@@:::"]
)
def test_an_address_without_a_password_teaches_nothing(address: str) -> None:
    """And none of them is an error."""
    known = Secrets()
    known.learn_address_password(address)

    assert known.redact_text(address) == address


def test_no_address_in_a_message_keeps_its_login() -> None:
    """Whoever's it is: an error of a library names the proxy of somebody else's configuration."""
    known = Secrets()

    assert (
        known.redact_secrets_and_logins("cannot reach http://u:pw@host:1/x?y=a@b")
        == "cannot reach http://[login]@host:1/x?y=a@b"
    )
    assert (
        known.redact_secrets_and_logins("mail to me@host about a://b")
        == "mail to me@host about a://b"
    )


def test_what_others_must_know_too_is_told_to_them() -> None:
    """What an endpoint is sent is kept from the terminal as well; not the other way round."""
    terminal = Secrets()
    sent = Secrets(terminal)
    sent.learn_secret("sent-to-all")
    terminal.learn_secret("database-password")

    assert terminal.redact_text("sent-to-all database-password") == f"{KEY} {KEY}"
    assert sent.redact_text("sent-to-all database-password") == f"{KEY} database-password"


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.sampled_from([LONG, ODD]),
    st.sampled_from(sorted(CODINGS)),
)
def test_no_surroundings_keep_a_secret_in(
    before: str, after: str, secret: str, coding: str
) -> None:
    """Whatever stands before and behind it, the secret is gone, or the text is."""
    said = CODINGS[coding](secret)

    shown = knowing(secret).redact_text(before + said + after)

    assert secret not in shown
    assert said not in shown


@given(st.binary(max_size=300))
def test_what_holds_no_secret_is_not_touched(data: bytes) -> None:
    """Byte for byte."""
    assert knowing(LONG, ODD).redact_bytes(data) is data


@pytest.mark.parametrize("piece", ["\\", "%", "%25", "&#0", "&", "u00", "\\u0073", "sk", "0"])
@pytest.mark.parametrize("end", ["", LONG])
def test_a_text_that_is_all_escapes_is_read_to_its_end(piece: str, end: str) -> None:
    """32,000 backslashes once froze the process; as many take a moment."""
    shown = knowing(LONG, ODD).redact_text(piece * 50_000 + end)

    assert LONG not in shown
    assert shown.endswith(KEY if end else piece)
