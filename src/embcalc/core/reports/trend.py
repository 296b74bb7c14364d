"""Several checkpoints of one run side by side."""

from __future__ import annotations

from dataclasses import dataclass

from embcalc.core.reports.inspect import InspectReport


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One checkpoint of a run."""

    step: int | None
    """Training step, read from the end of its name (`checkpoint-500`)."""
    report: InspectReport


@dataclass(frozen=True, slots=True)
class TrendReport:
    """Checkpoints in the order of their steps, or as given where a name tells no step."""

    points: tuple[TrendPoint, ...]
