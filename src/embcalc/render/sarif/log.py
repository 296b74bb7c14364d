"""What the SARIF documents of all commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from embcalc.render.json.document import dumps
from embcalc.render.layout import safe

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LISTED_IDS = 1000
"""Ids or rows of a finding that are listed at most."""


def log(
    category: str,
    rules: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    invocation: Mapping[str, Any],
) -> str:
    """Write a log with one run.

    Args:
        category: of the analysis; it ends with a slash.
        rules: what is looked for, referred to by `ruleId`.
        results: what was found.
        invocation: whether all could be read, and what could not.
    """
    release = version("embcalc")
    driver = {
        "name": "embcalc",
        "version": release,
        "semanticVersion": release,
        "rules": list(rules),
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": category},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": list(results),
    }
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def text(message: str, hint: str | None) -> str:
    """A message and its hint as plain text."""
    whole = safe(message) + (f"\n{safe(hint)}" if hint else "")
    # `[text](target)` would become a link, and token texts come from the model.
    return whole.replace("](", "] (")


def quoted(path: str) -> str:
    """Percent-encode a path: bytes of the file system as they are, stray surrogates somehow."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "surrogatepass")
    return quote(raw, safe="/")
