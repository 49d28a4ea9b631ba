"""`aib audit` as a function: whether a store's numbers follow from its records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independence_bench.analysis.audit import AuditReport, Severity, audit_protocol
from independence_bench.api.answers import Answer
from independence_bench.api.selection import Selection, select_results
from independence_bench.errors import WrongUse
from independence_bench.protocol.published_scoring import RULES
from independence_bench.protocol.scoring import OWN
from independence_bench.report.stored_view import format_audit_json


@dataclass(frozen=True, slots=True)
class Audit(Answer):
    """Every number of a protocol, computed again from its records. `rows` has a row for each kind
    of finding.
    """

    report: AuditReport
    lowest: Severity = "note"  # findings below it are counted and not listed

    @property
    def error_count(self) -> int:
        """Number of findings of severity error; the command exits with 1 if there are some."""
        return self.report.error_count

    def json(self) -> str:
        """Return what `aib audit --json` prints."""
        return format_audit_json(self.report, self.lowest)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each kind of finding, the worst first."""
        found: list[dict[str, Any]] = self.values()["findings"]
        return found


def audit(
    store: str | Path | None = None,
    *,
    protocol: str | Path | None = None,
    rules: str = OWN.name,
    weights: str | None = None,
) -> Audit:
    """Compute every number again from its records, as `aib audit` does. Changes nothing.

    Raises StoreError if there is no store, WrongUse if the protocol was not played.
    """
    selection = select_results(
        store,
        protocol,
        weights,
        rules=rules,
    )
    return audit_selected_results(selection)


def audit_selected_results(selection: Selection, lowest: Severity = "note") -> Audit:
    """Audit the results that *selection* means; findings below the severity *lowest* are not
    listed.
    """
    with selection.open_for_reading(allow_earlier_form=True) as (opened, protocol):
        report = audit_protocol(opened, protocol, RULES[selection.rules])
        if not report.conversations and not report.findings and not protocol.earlier_form:
            raise WrongUse(
                f"no conversations of {protocol.name} {protocol.hash[:12]} are stored in "
                f"{opened.shown}"
            )
    return Audit(report, lowest)
