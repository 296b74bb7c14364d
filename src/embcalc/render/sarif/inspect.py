"""What `inspect` found as SARIF 2.1.0: a rule is a kind of finding, as `--fail-on` calls it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from embcalc.core.fail_on import FINDINGS
from embcalc.core.reports.inspect import InspectReport, RowFinding
from embcalc.render.layout import safe
from embcalc.render.sarif.log import LISTED_IDS, log, quoted, text


def render(report: InspectReport) -> str:
    """A log with one run over one checkpoint."""
    return findings_log([report])


def findings_log(reports: Sequence[InspectReport]) -> str:
    """A log with one run over checkpoints."""
    rules = [{"id": name, "name": name} for name in FINDINGS]
    results = [
        _result(report.checkpoint.path, finding)
        for report in reports
        for finding in report.findings
    ]
    return log("embcalc/inspect/", rules, results, {"executionSuccessful": True})


def _result(path: str, finding: RowFinding) -> dict[str, Any]:
    place = {"fullyQualifiedName": safe(finding.tensor or path), "kind": "member"}
    result: dict[str, Any] = {
        "ruleId": finding.name,
        "level": finding.severity.value,
        "message": {"text": text(finding.message, finding.hint)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(path)},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [place],
            }
        ],
        "partialFingerprints": {"embcalc/v1": _fingerprint(path, finding)},
    }
    if finding.rows:
        result["properties"] = {"rows": list(finding.rows[:LISTED_IDS])}
    return result


def _uri(path: str) -> str:
    scheme, separator, rest = path.rpartition("://")
    start = "file://" if path.startswith("/") else scheme + separator
    return start + quoted(rest)


def _fingerprint(path: str, finding: RowFinding) -> str:
    parts = (path, finding.name, finding.tensor or "", finding.message)
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
