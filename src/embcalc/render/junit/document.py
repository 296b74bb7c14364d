"""What the JUnit documents of all commands share."""

from __future__ import annotations

from xml.etree.ElementTree import Element, indent, tostring


def document(root: Element) -> str:
    """Write suites, with the sums of their counts."""
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def counted(suite: Element) -> None:
    """Write how many of a suite's test cases ended how."""
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
