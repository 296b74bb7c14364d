"""Tables that hold one rank's rows of a vocabulary that was cut for tensor parallelism."""

from __future__ import annotations

from collections.abc import Iterable

from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import EmbeddingTable, Role

MOST_SHARDS = 64


def shards_of(rows: int | None, vocab_size: int | None) -> int:
    """Count the equal shards of `rows` that make up a vocabulary; 1 where it is not cut so.

    Args:
        rows: rows stored, or None.
        vocab_size: rows that the config promises, or None.

    Returns:
        A power of two, as tensor parallelism cuts.
    """
    if not rows or not vocab_size or rows < 0 or vocab_size % rows:
        return 1
    parts = vocab_size // rows
    return parts if 1 < parts <= MOST_SHARDS and parts & (parts - 1) == 0 else 1


def slice_of(tables: Iterable[EmbeddingTable], vocab_size: int | None) -> Problem | None:
    """Notice token tables and output heads that are one of several shards.

    Such files are what tensor-parallel training leaves, so this is worth knowing and no fault.

    Args:
        tables: of any role.
        vocab_size: rows that the config promises, or None.
    """
    cut = [
        table
        for table in tables
        if table.role in (Role.TOKEN, Role.OUTPUT) and shards_of(table.rows, vocab_size) > 1
    ]
    if not cut or vocab_size is None:
        return None
    names = " and ".join(table.name for table in cut[:2])
    verb = "has" if len(cut) == 1 else "have"
    shards = shards_of(cut[0].rows, vocab_size)
    return Problem(
        f"{names} {verb} {cut[0].rows:,} of {vocab_size:,} rows: one of {shards} tensor-parallel"
        " shards",
        hint="concatenate the shards of all ranks along the rows before loading or converting",
        file=cut[0].tensor.file,
        severity=Severity.NOTE,
    )
