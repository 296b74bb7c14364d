"""Several checkpoints → how their rows change over training steps."""

from __future__ import annotations

import re
from collections.abc import Sequence

from embcalc.core.progress import Progress, silent
from embcalc.core.reports.trend import TrendPoint, TrendReport
from embcalc.usecases.inspect import InspectOptions, inspect

_STEP = re.compile(r"(\d+)(?:\.\w+)?/*$")
_NUMBER_IN_FOLDER = re.compile(r"(?:step|ckpt|checkpoint|epoch|iter)\D{0,2}(\d+)", re.IGNORECASE)


def inspect_trend(
    addresses: Sequence[str],
    options: InspectOptions | None = None,
    *,
    progress: Progress = silent,
) -> TrendReport:
    """Inspect checkpoints of one run, one after the other.

    Args:
        addresses: two or more.
        options: as for one checkpoint.
        progress: told about the bytes read.

    Raises:
        EmbcalcError: as for one checkpoint.
    """
    points = [
        TrendPoint(step_of(address), inspect(address, options, progress=progress))
        for address in addresses
    ]
    if all(point.step is not None for point in points):
        points.sort(key=lambda point: point.step or 0)
    return TrendReport(tuple(points))


def step_of(address: str) -> int | None:
    """The training step that a name tells: `run/checkpoint-500/model.safetensors` is 500."""
    named = _NUMBER_IN_FOLDER.findall(address)
    if named:
        return int(named[-1])
    match = _STEP.search(address)
    return int(match[1]) if match else None
