"""What shapes and magnitudes say about how a checkpoint was saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.decode import to_float64
from embcalc.core.dtypes import DType
from embcalc.core.findings import Problem, Severity
from embcalc.core.magnitudes import LARGEST, SMALLEST
from embcalc.core.roles import may_be_table, role_of
from embcalc.core.tables import Role, TensorInfo


def empty_tables(tensors: Mapping[str, TensorInfo], empty: Sequence[str]) -> Iterator[Problem]:
    """Notice tables without values: DeepSpeed ZeRO-3 leaves shape `[0]` on each rank.

    Args:
        tensors: all of a checkpoint.
        empty: names of those without scalars.
    """
    first = next(filter(_is_table, empty), None)
    if first is None:
        return
    yield Problem(
        f"{len(empty):,} of {len(tensors):,} tensors are empty, {first} with shape"
        f" {list(tensors[first].shape)} among them: a ZeRO-3 save of partitioned weights",
        hint="gather them with zero_to_fp32.py, which DeepSpeed writes beside its checkpoints",
        file=tensors[first].file,
        severity=Severity.ERROR,
    )


def _is_table(name: str) -> bool:
    return may_be_table(name) and role_of(name) in (Role.TOKEN, Role.OUTPUT, Role.POSITION)


def sane_share(values: NDArray[Any], dtype: DType) -> float:
    """Compute the share of values that are zero or of a usual magnitude; 1 where there are none."""
    with np.errstate(all="ignore"):
        magnitudes = np.abs(to_float64(values, dtype))
    usual = (magnitudes == 0) | ((magnitudes >= SMALLEST) & (magnitudes <= LARGEST))
    return float(usual.mean()) if usual.size else 1.0


def odd_magnitudes(values: NDArray[Any], dtype: DType) -> str | None:
    """Say whether values look like garbage, or like numbers with their bytes swapped.

    Args:
        values: `[rows, columns]` as carried.
        dtype: F16, BF16, F32 or F64; of others nothing can be said.

    Returns:
        One sentence, or None for values that look like weights.
    """
    if dtype.name not in ("F16", "BF16", "F32", "F64") or sane_share(values, dtype) > 0.5:
        return None
    if sane_share(values.byteswap(), dtype) > 0.95:
        return "the numbers make sense with their bytes swapped: is the file big-endian?"
    with np.errstate(all="ignore"):
        magnitudes = np.abs(to_float64(values, dtype))
    finite = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
    if not finite.size:
        return "none of the values is finite"
    return (
        f"the values run from {finite.min():.0e} to {finite.max():.0e}: no weights look like that"
    )
