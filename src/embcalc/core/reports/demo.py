"""What `embcalc demo` wrote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """A tiny model on disk."""

    folder: str
    """As the user named it."""
    files: tuple[str, ...]
    """Names of the files in it."""
