"""Findings as JUnit XML: one test suite a model, one test case a rule."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from embcalc.core.findings import Finding, Severity
from embcalc.core.reports.check_run import CheckedModel, CheckRun, Unreadable
from embcalc.render.junit.document import counted, document
from embcalc.render.layout import safe
from embcalc.rules import RULES

_NAMES = {rule.code: rule.name for rule in RULES}


def render(run: CheckRun) -> str:
    """A document that test reporters of every pipeline read.

    A rule fails a model when one of its findings makes the check fail: an error, or under
    `--strict` a warning. Other findings are the output of a passed test case. A model that
    cannot be read is a suite with one test case in error.
    """
    root = Element("testsuites", name="embcalc")
    for model in run.models:
        _suite(root, model)
    for item in run.unreadable:
        _unreadable_suite(root, item)
    return document(root)


def _suite(root: Element, model: CheckedModel) -> None:
    report = model.report
    suite = SubElement(root, "testsuite", name=safe(report.model))
    for code in report.ran:
        case = _case(suite, report.model, code)
        _outcome(case, [f for f in report.findings if f.rule == code], strict=report.strict)
    for skipped in report.skipped:
        case = _case(suite, report.model, skipped.rule)
        SubElement(case, "skipped", message=safe(skipped.reason))
    counted(suite)


def _case(suite: Element, model: str, code: str) -> Element:
    name = f"{code} {_NAMES.get(code, '')}".rstrip()
    return SubElement(suite, "testcase", classname=safe(model), name=name)


def _outcome(case: Element, findings: Sequence[Finding], *, strict: bool) -> None:
    if not findings:
        return
    text = "\n".join(_text(finding) for finding in findings)
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    worst = [finding for finding in findings if finding.severity in failing]
    if not worst:
        SubElement(case, "system-out").text = text
        return
    first = worst[0]
    failure = SubElement(case, "failure", type=first.severity.value, message=safe(first.message))
    failure.text = text


def _text(finding: Finding) -> str:
    where = f" ({finding.file})" if finding.file else ""
    hint = f"\n  {safe(finding.hint)}" if finding.hint else ""
    return f"{finding.severity.value}: {safe(finding.message)}{safe(where)}{hint}"


def _unreadable_suite(root: Element, item: Unreadable) -> None:
    suite = SubElement(root, "testsuite", name=safe(item.model))
    case = SubElement(suite, "testcase", classname=safe(item.model), name="can be read")
    error = SubElement(case, "error", type="unreadable", message=safe(item.error))
    error.text = safe(item.error) + (f"\n  {safe(item.hint)}" if item.hint else "")
    counted(suite)
