"""What one `embcalc check` over any number of models found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check import CheckReport


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedModel:
    """One model that could be read."""

    report: CheckReport
    folder: str | None
    """The model's folder relative to where the check was run, with forward slashes; an absolute
    path where it lies outside; None for a model on a hub or another address."""
    known: tuple[Finding, ...] = ()
    """Findings that a baseline lists; they are not among the report's."""

    def path(self, file: str | None) -> str | None:
        """Where a file of the model lies, relative to where the check was run; None if remote."""
        if self.folder is None:
            return None
        if file is None:
            return self.folder
        return file if self.folder == "." else f"{self.folder}/{file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A model that could not be checked."""

    model: str
    error: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """All models of one run, in the order in which they were named."""

    models: tuple[CheckedModel, ...]
    unreadable: tuple[Unreadable, ...] = ()
    single: bool = False
    """Whether one model was named, by no pattern: it is then reported by itself."""
    stale: int = 0
    """Findings of the baseline that no longer occur."""

    @property
    def reports(self) -> tuple[CheckReport, ...]:
        """One report a model."""
        return tuple(model.report for model in self.models)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all models, known ones left out."""
        return tuple(finding for report in self.reports for finding in report.findings)

    @property
    def ok(self) -> bool:
        """Whether every model could be read and passes."""
        return not self.unreadable and all(report.ok for report in self.reports)

    def count(self, severity: Severity) -> int:
        """Findings of one severity over all models."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def known(self) -> int:
        """Findings that the baseline lists."""
        return sum(len(model.known) for model in self.models)

    def pairs(self) -> Iterator[tuple[CheckedModel, Finding]]:
        """Every finding with its model."""
        for model in self.models:
            for finding in model.report.findings:
                yield model, finding


def fingerprint(place: str, finding: Finding) -> str:
    """Name a finding so that the same one is recognised in a later run.

    SHA-256 over the model's place, rule, file, message and ids, cut to 32 hexadecimal digits:
    the same finding in a file that otherwise changed keeps its name, a worse one gets another.

    Args:
        place: the model's address, or its folder relative to something that stays.
        finding: what was found.
    """
    ids = ",".join(map(str, finding.ids))
    parts = (place, finding.rule, finding.file or "", finding.message, ids)
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return sha256(whole).hexdigest()[:32]
