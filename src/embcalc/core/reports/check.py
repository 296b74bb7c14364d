"""What `check-vocab` and `check` found in one model."""

from __future__ import annotations

from dataclasses import dataclass

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Finding, Severity, Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """One model: the facts, the findings, and what was not checked."""

    model: str
    facts: ModelFacts
    findings: tuple[Finding, ...]
    """Errors first."""
    skipped: tuple[Skipped, ...]
    checked: int
    """Number of rules that were run."""
    strict: bool = False
    """Whether warnings fail too."""

    def count(self, severity: Severity) -> int:
        """Number of findings of one severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that fails the run: an error, or a warning when strict."""
        failing = self.count(Severity.ERROR)
        return not (failing + self.count(Severity.WARNING) if self.strict else failing)
