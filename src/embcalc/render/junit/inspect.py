"""What `inspect` found as JUnit XML: one test suite a checkpoint, one test case a kind."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from embcalc.core.fail_on import FINDINGS
from embcalc.core.findings import Severity
from embcalc.core.reports.inspect import InspectReport, RowFinding
from embcalc.render.junit.document import counted, document
from embcalc.render.layout import safe


def render(report: InspectReport) -> str:
    """A suite with a test case for every kind of finding; errors fail it."""
    return suites([report])


def suites(reports: Sequence[InspectReport]) -> str:
    """The suites of checkpoints."""
    root = Element("testsuites", name="embcalc")
    for report in reports:
        suite = SubElement(root, "testsuite", name=safe(report.checkpoint.path))
        for name in FINDINGS:
            case = SubElement(suite, "testcase", classname=safe(report.checkpoint.path), name=name)
            _outcome(case, [each for each in report.findings if each.name == name])
        counted(suite)
    return document(root)


def _outcome(case: Element, findings: Sequence[RowFinding]) -> None:
    lines = "\n".join(_text(finding) for finding in findings)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        failure = SubElement(case, "failure", type="error", message=safe(errors[0].message))
        failure.text = lines
    elif findings:
        SubElement(case, "system-out").text = lines


def _text(finding: RowFinding) -> str:
    where = f" ({safe(finding.tensor)})" if finding.tensor else ""
    hint = f"\n  {safe(finding.hint)}" if finding.hint else ""
    return f"{finding.severity.value}: {safe(finding.message)}{where}{hint}"
