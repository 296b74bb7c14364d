"""Workflow commands: lines on stdout that a GitHub runner turns into annotations."""

from __future__ import annotations

from collections.abc import Mapping

from embcalc.core.findings import Severity
from embcalc.render.layout import safe

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
"""The command that shows a finding."""


def joined(message: str, hint: str | None) -> str:
    """A message in one line, and its hint in the next."""
    first = " ".join(message.splitlines())
    return first if hint is None else f"{first}\n{' '.join(hint.splitlines())}"


def command(name: str, properties: Mapping[str, str | None], message: str) -> str:
    """Write one workflow command.

    Values are made harmless twice: control characters become visible escapes, and what the
    runner itself would read (`%`, line breaks, in properties also `:` and `,`) is encoded as its
    toolkit does.

    Args:
        name: `error`, `warning` or `notice`.
        properties: `file`, `line`, `title` …; those that are None are left out.
        message: may have several lines.
    """
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    lines = "%0A".join(_data(line) for line in message.split("\n"))
    return f"::{name}{' ' if given else ''}{given}::{lines}"


def _data(text: str) -> str:
    return safe(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
