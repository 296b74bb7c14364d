"""What shapes and magnitudes say about how a checkpoint was saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.decode import to_float64
from embcalc.core.dtypes import DType
from embcalc.core.findings import Problem, Severity
from embcalc.core.roles import may_be_table, role_of
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo

SANE = (1e-8, 1e4)
"""Magnitudes of nearly all weights of any trained model."""
MOST_SHARDS = 128


def empty_tables(tensors: Mapping[str, TensorInfo]) -> Iterator[Problem]:
    """Notice tables without values: DeepSpeed ZeRO-3 leaves shape `[0]` on each rank."""
    empty = [name for name in tensors if _is_table(name) and tensors[name].scalars == 0]
    if not empty:
        return
    every = sum(tensor.scalars == 0 for tensor in tensors.values())
    yield Problem(
        f"{every:,} of {len(tensors):,} tensors are empty, {empty[0]} with shape"
        f" {list(tensors[empty[0]].shape)} among them: a ZeRO-3 save of partitioned weights",
        hint="gather them with zero_to_fp32.py, which DeepSpeed writes beside its checkpoints",
        file=tensors[empty[0]].file,
        severity=Severity.ERROR,
    )


def _is_table(name: str) -> bool:
    return may_be_table(name) and role_of(name) in (Role.TOKEN, Role.OUTPUT, Role.POSITION)


def slice_of(table: EmbeddingTable, vocab_size: int | None) -> Problem | None:
    """Notice a table that holds one rank's rows of a vocabulary cut for tensor parallelism.

    Args:
        table: a token table or output head.
        vocab_size: rows that the config promises, or None.
    """
    if vocab_size is None or not 0 < table.rows < vocab_size or vocab_size % table.rows:
        return None
    shards = vocab_size // table.rows
    if shards > MOST_SHARDS or shards & (shards - 1):
        return None
    return Problem(
        f"{table.name} has {table.rows:,} of {vocab_size:,} rows: one of {shards} tensor-parallel"
        " shards",
        hint="merge the ranks' files before using this one",
        file=table.tensor.file,
        severity=Severity.ERROR,
    )


def sane_share(values: NDArray[Any], dtype: DType) -> float:
    """Compute the share of values that are zero or of a usual magnitude; 1 where there are none."""
    with np.errstate(all="ignore"):
        magnitudes = np.abs(to_float64(values, dtype))
    usual = (magnitudes == 0) | ((magnitudes >= SANE[0]) & (magnitudes <= SANE[1]))
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
        return "its numbers make sense with their bytes swapped: is the file big-endian?"
    with np.errstate(all="ignore"):
        magnitudes = np.abs(to_float64(values, dtype))
    finite = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
    if not finite.size:
        return "none of its values is finite"
    return (
        f"its values run from {finite.min():.0e} to {finite.max():.0e}: no weights look like that"
    )
