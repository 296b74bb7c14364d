"""One table: scan, judge, name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embcalc.core.display import token_text
from embcalc.core.progress import Progress
from embcalc.core.reports.inspect import (
    RowData,
    RowNorm,
    SelectedRow,
    Skipped,
    TableReport,
)
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import CheckpointError
from embcalc.rows.access import chosen_numbers
from embcalc.rows.fingerprints import identical_groups
from embcalc.rows.health import Health, judge, row_groups, row_set
from embcalc.rows.kernels import Floats
from embcalc.rows.scan import RowScan, scan
from embcalc.rows.statistics import histogram, norm_statistics
from embcalc.usecases.opened import Model

TOKEN_ROLES = (Role.TOKEN, Role.OUTPUT, Role.MTP_TOKEN, Role.MTP_OUTPUT, Role.PER_LAYER)
"""Tables whose rows belong to token ids."""
SHOWN_VALUES = 8
DEFAULT_SIGMA = 0.02
"""`initializer_range` of nearly all transformer configurations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContext:
    """What all tables of one checkpoint share."""

    model: Model
    top: int
    bins: int | None
    progress: Progress
    sigma: float
    tokens: tuple[str | None, ...]
    """By id, as people write them; empty without a vocabulary."""
    skipped: list[Skipped] = field(default_factory=list)

    @classmethod
    def of(cls, model: Model, top: int, bins: int | None, progress: Progress) -> TableContext:
        """Prepare the tokens once."""
        return cls(
            model=model,
            top=top,
            bins=bins,
            progress=progress,
            sigma=_sigma(model.document),
            tokens=_tokens(model),
        )

    def token(self, row: int) -> str | None:
        """The token of an id."""
        return self.tokens[row] if row < len(self.tokens) else None


def _sigma(document: Mapping[str, Any]) -> float:
    for part in (document.get("text_config"), document):
        value = part.get("initializer_range") if isinstance(part, Mapping) else None
        if isinstance(value, int | float) and 0 < value < 1e6:
            return float(value)
    return DEFAULT_SIGMA


def _tokens(model: Model) -> tuple[str | None, ...]:
    vocabulary = model.vocabulary
    if vocabulary is None:
        return ()
    rows = max((table.rows for table in model.tables if table.role in TOKEN_ROLES), default=0)
    return tuple(token_text(vocabulary, row) for row in range(min(rows, vocabulary.max_id + 1)))


def inspect_table(context: TableContext, table: EmbeddingTable) -> TableReport:
    """Read one table and judge its rows.

    Raises:
        CheckpointError: its values cannot be had.
        SourceError: its file cannot be read.
    """
    if table.transposed:
        raise CheckpointError(f"{table.name} stores its vectors as columns; values not checked")
    checkpoint = context.model.checkpoint
    found = scan(checkpoint, table.name, progress=context.progress)
    health = judge(found.norms, found.nonfinite)
    duplicates = identical_groups(
        checkpoint, table.name, found.keys, found.zero | np.isnan(found.norms)
    )
    tokens = _padded_tokens(context, table)
    norms = found.norms[found.usable]
    total = sum(tensor.parameters for tensor in checkpoint.tensors.values())
    return TableReport(
        tensor=table.name,
        role=table.role.value,
        dtype=str(table.tensor.dtype),
        rows=table.rows,
        width=table.width,
        nbytes=table.tensor.nbytes,
        parameters=table.tensor.parameters,
        share=table.tensor.parameters / total if total else None,
        note=table.note,
        norms=norm_statistics(norms),
        histogram=histogram(norms, context.bins),
        smallest=_extreme(found, tokens, context.top, largest=False),
        largest=_extreme(found, tokens, context.top, largest=True),
        zero=row_set(health.zero),
        near_zero=row_set(health.near_zero),
        nonfinite=row_set(health.nonfinite),
        duplicates=row_groups(duplicates),
        near_duplicates=None,
        clusters=(),
        outliers=row_set(health.outlier),
        beyond=None,
        undertrained=None,
        element_mean=found.elements.mean,
        element_std=found.elements.std,
        element_absmax=found.elements.absmax,
        fresh_sigma=context.sigma,
        fresh_norm=context.sigma * table.width**0.5,
        dead_columns=row_set(_mask(found.columns.dead, table.width)),
        outlier_columns=row_set(_mask(found.columns.outliers, table.width)),
        column_rows=found.columns.rows,
        data=_data(context, table, found, health, duplicates),
    )


def _padded_tokens(context: TableContext, table: EmbeddingTable) -> tuple[str | None, ...] | None:
    if table.role not in TOKEN_ROLES or not context.tokens:
        return None
    known = context.tokens[: table.rows]
    return known + (None,) * (table.rows - len(known))


def _extreme(
    found: RowScan, tokens: tuple[str | None, ...] | None, top: int, *, largest: bool
) -> tuple[RowNorm, ...]:
    rows = np.flatnonzero(found.usable)
    sign = -1.0 if largest else 1.0
    order = rows[np.argsort(sign * found.norms[rows], kind="stable")[:top]]
    return tuple(
        RowNorm(int(row), tokens[row] if tokens else None, float(found.norms[row])) for row in order
    )


def _mask(chosen: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=np.bool_)
    mask[chosen] = True
    return mask


def _data(
    context: TableContext,
    table: EmbeddingTable,
    found: RowScan,
    health: Health,
    duplicates: Sequence[Sequence[int]],
) -> RowData:
    repeated = [row for group in duplicates for row in group]
    return RowData(
        norms=found.norms,
        keys=found.keys,
        flags={
            "zero": health.zero,
            "near-zero": health.near_zero,
            "nonfinite": health.nonfinite,
            "duplicate": _mask(np.array(repeated, dtype=np.int64), table.rows),
            "outlier": health.outlier,
        },
        tokens=_padded_tokens(context, table),
        special=_special(context.model.vocabulary, table),
    )


def _special(vocabulary: Vocabulary | None, table: EmbeddingTable) -> NDArray[np.bool_]:
    ids = () if vocabulary is None or table.role not in TOKEN_ROLES else vocabulary.special_ids
    inside = [token for token in ids if token < table.rows]
    return _mask(np.array(inside, dtype=np.int64), table.rows)


def selected_rows(
    context: TableContext, model: Model, table: TableReport, rows: Sequence[int]
) -> Iterator[SelectedRow]:
    """Read chosen rows again for their first values."""
    wanted = sorted(set(rows))
    values: Floats = chosen_numbers(model.checkpoint, table.tensor, wanted)
    by_row = dict(zip(wanted, values, strict=True))
    for row in rows:
        yield SelectedRow(
            tensor=table.tensor,
            row=row,
            token=table.data.tokens[row] if table.data.tokens else None,
            norm=float(table.data.norms[row]),
            values=tuple(map(float, by_row[row][:SHOWN_VALUES])),
            flags=tuple(name for name, mask in table.data.flags.items() if mask[row]),
        )
