"""Tables that hold one rank's rows of a vocabulary that was cut for tensor parallelism."""

from __future__ import annotations

from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import EmbeddingTable

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


def slice_of(table: EmbeddingTable, vocab_size: int | None) -> Problem | None:
    """Notice a token table or output head that is one of several shards.

    Args:
        table: a token table or output head.
        vocab_size: rows that the config promises, or None.
    """
    shards = shards_of(table.rows, vocab_size)
    if vocab_size is None or shards == 1:
        return None
    return Problem(
        f"{table.name} has {table.rows:,} of {vocab_size:,} rows: one of {shards} tensor-parallel"
        " shards",
        hint="merge the ranks' files before using this one",
        file=table.tensor.file,
        severity=Severity.WARNING,
    )
