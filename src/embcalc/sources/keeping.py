"""Whether what is read of a hub repository stays in the hub's cache."""

from __future__ import annotations

from contextvars import ContextVar

from embcalc.core.progress import Progress, silent

KEEP: ContextVar[bool] = ContextVar("keep", default=False)
"""True downloads whole files, weights too; else weights are read by ranges and not stored."""

WATCH: ContextVar[Progress] = ContextVar("watch", default=silent)
"""Told about the bytes of files that are downloaded into the cache."""
