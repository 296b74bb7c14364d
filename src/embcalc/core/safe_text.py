"""Text from a model that cannot act on a terminal."""

from __future__ import annotations

from unicodedata import category


def safe(text: str) -> str:
    """Escape whatever would act on a terminal: controls, line breaks, bidi marks, surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _harmless(char) else _escape(char) for char in text)


def _harmless(char: str) -> bool:
    return char.isprintable() and category(char) not in ("Cf", "Cc", "Cs", "Co", "Zl", "Zp")


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
