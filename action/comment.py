"""Writes the gate's summary into one comment on a pull request, and edits that comment from then
on.

Run by action.yml with the standard library alone. A comment of its own is one by a bot that begins
with the marker of this gate; nobody else's is ever edited. That a comment may not be written (a
pull request from a fork has a token that only reads) is said and fails nothing: the verdict is the
exit code of another step.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

LONGEST = 60_000  # characters: GitHub takes 65,536
PAGES, PAGE = 30, 100


def main() -> int:
    """Write or edit the comment; 0 unless the environment is no runner's."""
    summary = Path(os.environ["AIB_SUMMARY"]).read_text(encoding="utf-8")
    number = int(os.environ["AIB_PULL_REQUEST"])
    name = hashlib.sha256(os.environ["AIB_NAME"].encode()).hexdigest()[:16]
    marker = f"<!-- aib gate {name} -->"
    if len(summary) > LONGEST:
        summary = f"{summary[:LONGEST]}\n\n(cut; all of it is in the job's summary)\n"
    body = {"body": f"{marker}\n{summary}"}
    comments = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{number}/comments"
    try:
        mine = _find(comments, marker)
        if mine is None:
            _asked("POST", comments, body)
        else:
            _asked(
                "PATCH", f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues/comments/{mine}", body
            )
    # no connection, half an answer, or one of another shape
    except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError) as error:
        reason = getattr(error, "code", None) or type(error).__name__
        sys.stdout.write(
            f"::warning::the comment could not be written ({reason}); is pull-requests: write "
            "granted?\n"
        )
    return 0


def _find(comments: str, marker: str) -> int | None:
    for page in range(1, PAGES + 1):
        found = _asked("GET", f"{comments}?per_page={PAGE}&page={page}", None)
        for one in found:
            by = one["user"] or {}  # null: an account that is gone
            if by.get("type") == "Bot" and str(one["body"]).startswith(marker):
                return int(one["id"])
        if len(found) < PAGE:
            break
    return None


def _asked(method: str, path: str, body: object) -> Any:
    # the runner's own address
    request = urllib.request.Request(  # noqa: S310
        os.environ["GITHUB_API_URL"] + path,
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={
            "Authorization": f"Bearer {os.environ['AIB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.loads(answer.read())


if __name__ == "__main__":
    sys.exit(main())
