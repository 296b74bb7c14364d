"""`inspect --fail-on`: what makes an exit code of 1."""

from __future__ import annotations

from embcalc.core.reports.inspect import InspectReport
from embcalc.errors import UsageError

FINDINGS = (
    "zero",
    "near-zero",
    "nonfinite",
    "duplicate",
    "near-duplicate",
    "cluster",
    "outlier",
    "special-token",
    "uninitialised",
    "undertrained",
    "padding",
    "reserved",
    "padding-row",
    "fresh",
    "magnitude",
    "scale",
    "dead-dimension",
    "outlier-dimension",
    "tying",
    "files",
    "slice",
    "values",
)
"""Names of findings."""
SEVERITIES = ("error", "warning", "note")
KINDS = (*FINDINGS, *SEVERITIES, "any")


def fail_kinds(given: str) -> frozenset[str]:
    """Parse `zero,nonfinite`; underscores are taken as dashes.

    Raises:
        UsageError: a kind is unknown.
    """
    kinds = [part.lower().replace("_", "-") for part in given.replace(",", " ").split()]
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"--fail-on does not know {kind!r}", f"known are {', '.join(KINDS)}")
    return frozenset(kinds)


def failing(report: InspectReport, kinds: frozenset[str]) -> bool:
    """Whether a report has a finding of one of the kinds; `any` is all but notes."""
    names = {finding.name for finding in report.findings}
    severities = {finding.severity.value for finding in report.findings}
    if "warning" in kinds or "any" in kinds:
        kinds = kinds | {"error", "warning"}
    return bool(kinds & (names | severities))
