"""From what a table told to its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from embcalc.checkpoints.values import strange_numbers
from embcalc.core.magnitudes import LARGEST, SMALLEST
from embcalc.core.reports.inspect import (
    LISTED,
    BeyondTokenizer,
    Cluster,
    RowData,
    RowNorm,
    SelectedRow,
    TableReport,
    Undertrained,
)
from embcalc.core.tables import Role
from embcalc.rows.access import chosen_numbers
from embcalc.rows.beyond import beyond_tokenizer, groups_mask
from embcalc.rows.health import row_groups, row_set
from embcalc.rows.kernels import Floats
from embcalc.rows.statistics import histogram, looks_fresh, norm_statistics
from embcalc.usecases.inspect_scan import ScannedTable, TableContext
from embcalc.usecases.inspect_special import special_rows, zero_on_tokens

SHOWN_VALUES = 8


def table_report(
    context: TableContext, scanned: ScannedTable, undertrained: Undertrained | None
) -> TableReport:
    """Put together what every renderer needs of one table."""
    table, found, health = scanned.table, scanned.scan, scanned.health
    norms = scanned.ordered
    beyond = _beyond(context, scanned)
    total = sum(tensor.parameters for tensor in context.model.checkpoint.tensors.values())
    return TableReport(
        tensor=table.name,
        role=table.role.value,
        dtype=str(table.tensor.dtype),
        quantised=table.tensor.dtype.kind == "quantised",
        rows=table.rows,
        width=table.width,
        nbytes=table.tensor.nbytes,
        parameters=table.tensor.parameters,
        share=table.tensor.parameters / total if total else None,
        note=table.note,
        norms=norm_statistics(norms),
        histogram=histogram(norms, context.bins),
        smallest=_extreme(scanned, context.top, largest=False),
        largest=_extreme(scanned, context.top, largest=True),
        zero=row_set(health.zero),
        near_zero=row_set(health.near_zero),
        nonfinite=row_set(health.nonfinite),
        duplicates=row_groups(scanned.identical),
        near_duplicates=None if scanned.near is None else row_groups(scanned.near),
        clusters=tuple(_clusters(scanned)),
        outliers=row_set(health.outlier),
        beyond=beyond,
        undertrained=undertrained,
        special_rows=special_rows(context, scanned, beyond, undertrained),
        pad_rows=tuple(_row_norm(scanned, row) for row in _pad_rows(context, scanned)),
        zero_on_tokens=zero_on_tokens(context, scanned),
        looks_fresh=looks_fresh(norms, context.sigma, table.width),
        element_mean=found.elements.mean,
        element_std=found.elements.std,
        element_absmax=found.elements.absmax,
        strange=_strange(context, scanned),
        fresh_sigma=context.sigma,
        fresh_norm=context.sigma * table.width**0.5,
        dead_columns=row_set(_mask(found.columns.dead, table.width)),
        outlier_columns=row_set(_mask(found.columns.outliers, table.width)),
        column_rows=found.columns.rows,
        data=_data(scanned),
    )


def _strange(context: TableContext, scanned: ScannedTable) -> str | None:
    """Ask the first rows again where the whole table's numbers are out of any usual range."""
    sizes = scanned.scan.norms[scanned.scan.usable & ~scanned.health.zero]
    if not len(sizes):
        return None
    typical = float(np.median(sizes)) / scanned.table.width**0.5
    if SMALLEST <= typical <= LARGEST and scanned.scan.elements.absmax <= LARGEST:
        return None
    return strange_numbers(context.model.checkpoint, scanned.table.name)


def _clusters(scanned: ScannedTable) -> Iterator[Cluster]:
    unused = scanned.references.rows if scanned.references else ()
    for cluster in scanned.clusters:
        yield Cluster(
            used=int((~np.isin(cluster.rows, unused)).sum()),
            count=len(cluster.rows),
            cosine=cluster.cosine,
            rows=tuple(map(int, cluster.rows[:LISTED])),
            nearest=cluster.nearest,
            token=scanned.tokens[cluster.nearest] if scanned.tokens else None,
        )


def _extreme(scanned: ScannedTable, top: int, *, largest: bool) -> tuple[RowNorm, ...]:
    norms, ordered = scanned.scan.norms, scanned.ordered
    if top == 0 or len(ordered) == 0:
        return ()
    # All rows up to the last wanted size, so that equal ones come in order.
    last = ordered[-top:][0] if largest else ordered[:top][-1]
    rows = np.flatnonzero((norms >= last) if largest else (norms <= last))
    rows = rows[np.isfinite(norms[rows])]
    sizes = -norms[rows] if largest else norms[rows]
    order = rows[np.argsort(sizes, kind="stable")[:top]]
    return tuple(_row_norm(scanned, row) for row in order.tolist())


def _row_norm(scanned: ScannedTable, row: int) -> RowNorm:
    token = scanned.tokens[row] if scanned.tokens else None
    return RowNorm(row, token, float(scanned.scan.norms[row]))


def _pad_rows(context: TableContext, scanned: ScannedTable) -> list[int]:
    if scanned.table.role is not Role.TOKEN:
        return []
    return sorted(row for row in context.pad_ids if 0 <= row < scanned.table.rows)


def _beyond(context: TableContext, scanned: ScannedTable) -> BeyondTokenizer | None:
    if scanned.vocabulary is None:
        return None
    return beyond_tokenizer(
        scanned.vocabulary,
        scanned.scan.norms,
        scanned.health,
        scanned.repeated,
        (context.sigma, scanned.table.width),
    )


def _mask(chosen: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=np.bool_)
    mask[chosen] = True
    return mask


def _data(scanned: ScannedTable) -> RowData:
    rows, health = scanned.table.rows, scanned.health
    return RowData(
        norms=scanned.scan.norms,
        keys=scanned.scan.keys,
        flags={
            "zero": health.zero,
            "near-zero": health.near_zero,
            "nonfinite": health.nonfinite,
            "duplicate": groups_mask(rows, scanned.identical),
            "near-duplicate": groups_mask(rows, scanned.near or ()),
            "cluster": groups_mask(rows, [cluster.rows.tolist() for cluster in scanned.clusters]),
            "outlier": health.outlier,
        },
        tokens=scanned.tokens,
        special=scanned.special,
    )


def selected_rows(
    context: TableContext, table: TableReport, rows: Sequence[int]
) -> Iterator[SelectedRow]:
    """Read chosen rows again for their first values."""
    wanted = sorted(set(rows))
    values: Floats = chosen_numbers(context.source, table.tensor, wanted)
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
