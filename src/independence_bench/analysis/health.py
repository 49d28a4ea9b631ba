"""The counts that a row's numbers are based on: what was asked, what came of it, what was judged. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """The counts that a row's numbers are based on."""

    transcripts: int  # planned for the runs that were begun
    complete: int
    invalid: int
    judged: int
    judge_failed: int
    replies: int  # that were asked for, invalid ones included
    cut_off: int  # of those: ended by the token limit
    plain_text: int  # of those: in plain text, without calling the tool
    reasoned: int  # of those: came with reasoning, whether it was asked for or not
    without_view: int = 0  # transcripts in which no option was taken: there is nothing to judge, and none is missing
    failed: int = 0  # attempts at them that brought no answer, of which each but the last was made again

    @property
    def invalid_share(self) -> float:
        """Invalid replies of all replies asked for, [0, 1]; 0 where none was."""
        return self.invalid / self.replies if self.replies else 0.0

    @property
    def cut_off_share(self) -> float:
        """Replies cut off of all replies asked for, [0, 1]; 0 where none was."""
        return self.cut_off / self.replies if self.replies else 0.0

    @property
    def attempts(self) -> int:
        """Attempts with an answer or without one; those that an endpoint postponed are not counted."""
        return self.replies - self.invalid + self.failed

    @property
    def failed_share(self) -> float:
        """Attempts that brought no answer of all attempts, [0, 1]; 0 where there was none."""
        return self.failed / self.attempts if self.attempts else 0.0

    @property
    def plain_text_share(self) -> float:
        """Replies in plain text, without calling the tool, of all replies asked for, [0, 1]; 0 where none was."""
        return self.plain_text / self.replies if self.replies else 0.0

    @property
    def reasoned_share(self) -> float:
        """Replies that came with reasoning of all replies asked for, [0, 1]; 0 where none was."""
        return self.reasoned / self.replies if self.replies else 0.0
