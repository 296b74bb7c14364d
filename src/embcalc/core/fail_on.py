"""`inspect --fail-on`: what makes an exit code of 1."""

from __future__ import annotations

from difflib import get_close_matches

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
    "no-row",
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
        UsageError: a kind is unknown, or none is given.
    """
    kinds = [part.lower().replace("_", "-") for part in given.replace(",", " ").split()]
    for kind in kinds:
        if kind not in KINDS:
            close = get_close_matches(kind, KINDS, n=1)
            guess = f"did you mean {close[0]}? " if close else ""
            raise UsageError(
                f"--fail-on does not know {kind!r}", hint=f"{guess}known are {', '.join(KINDS)}"
            )
    if not kinds:
        raise UsageError("--fail-on names nothing", hint="write --fail-on any, or zero,nonfinite")
    return frozenset(kinds)


def failing(report: InspectReport, kinds: frozenset[str]) -> bool:
    """Whether a report has a finding of one of the kinds; `any` is all but notes."""
    names = {finding.name for finding in report.findings}
    severities = {finding.severity.value for finding in report.findings}
    if "warning" in kinds or "any" in kinds:
        kinds = kinds | {"error", "warning"}
    return bool(kinds & (names | severities))
