"""Whether `tokenizers` loads the parts of a tokenizer.json beside its vocabulary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import msgspec

from embcalc.core.findings import Problem, Severity
from embcalc.tokenizers.refusals import LibraryRefusalError, refusals

Parts = Mapping[str, bytes]
"""JSON of the parts of a tokenizer.json by name, with `model` cut down to its type."""

LONGEST_SHOWN = 60
"""Characters of a part that a message shows."""
_MODEL = b'{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}'
_UNTYPED = ("truncation", "padding")
_WHERE = re.compile(r" at line \d+ column \d+$")
_UNTAGGED = re.compile(r"data did not match any variant of untagged enum \w+")


def unloadable_parts(parts: Parts, file: str) -> Iterator[Problem]:
    """Name the parts that the installed `tokenizers` refuses, each with its reason.

    The library itself is the judge: it loads all parts without the vocabulary, then each alone
    to find the ones to blame. A part of another type, or of a kind that the library does not
    know, is an error; one that lacks a field may be a draft, and is a warning.
    """
    if not parts or _refusal({"model": _MODEL, **parts}) is None:
        return
    import tokenizers

    for name, part in parts.items():
        reason = _refusal({"model": _MODEL, name: part})
        if reason is None:
            continue
        yield Problem(
            f"tokenizers {tokenizers.__version__} refuses the {name} of {file}"
            f"{_shown(name, part)}: {reason}",
            hint="take the original model's file, or upgrade tokenizers if the file is newer",
            file=file,
            severity=Severity.WARNING if _is_draft(name, part, reason) else Severity.ERROR,
        )


def _shown(name: str, part: bytes) -> str:
    if name == "model":
        return f" (type {json.dumps(msgspec.json.decode(part)['type'], ensure_ascii=False)[:40]})"
    text = " ".join(part.decode("utf-8", "replace").split())
    return f", {text}" if len(text) <= LONGEST_SHOWN else f", {text[: LONGEST_SHOWN - 1]}…"


def _is_draft(name: str, part: bytes, reason: str) -> bool:
    value = msgspec.json.decode(part)
    if not isinstance(value, dict):
        return False
    return reason.startswith("missing field") or (name not in _UNTYPED and "type" not in value)


def _refusal(parts: Parts) -> str | None:
    """Say why a document of these parts is not loaded; None where it is."""
    from tokenizers import Tokenizer

    document = b",".join(b'"%s":%s' % (name.encode(), part) for name, part in parts.items())
    try:
        with refusals():
            Tokenizer.from_str((b"{" + document + b"}").decode("utf-8"))
    except LibraryRefusalError as error:
        text = _WHERE.sub("", str(error))
        return _UNTAGGED.sub("it is of no type that it knows", text)[:200]
    return None
