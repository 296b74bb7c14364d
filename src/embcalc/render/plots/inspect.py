"""Row norms as pictures: their distribution, norm against id, sorted norms."""

from __future__ import annotations

import logging
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from embcalc.core.reports.inspect import InspectReport, TableReport
from embcalc.errors import MissingExtraError, UsageError
from embcalc.render.files import whole_file
from embcalc.render.layout import clip, safe

_FORMATS = (".png", ".svg")
_MOST_TABLES = 6
_LEAST_ROWS = 16
"""A table of fewer rows is drawn only where there is no larger one."""
_LABELS = 12
_BLUE, _RED, _ORANGE, _GREY = "#3b6fb6", "#c0392b", "#d98218", "#777777"


def require_picture(path: Path) -> None:
    """Refuse a picture that cannot be drawn, before any work is done.

    Raises:
        UsageError: the ending is unknown.
        MissingExtraError: matplotlib is not installed.
    """
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(
            f"--plot does not know the format of {path.name!r}", hint="end the name in .png or .svg"
        )
    _matplotlib()


def drawable(report: InspectReport) -> list[TableReport]:
    """Tables that are drawn.

    Raises:
        UsageError: no table has finite rows.
    """
    found = [table for table in report.tables if table.norms is not None]
    if not found:
        raise UsageError(
            "there is nothing to plot: no row has a finite norm",
            hint="leave --plot out to see what the rows hold",
        )
    return ([table for table in found if table.rows >= _LEAST_ROWS] or found)[:_MOST_TABLES]


def draw(report: InspectReport, path: Path) -> None:
    """Draw three pictures a table into one file, the whole file or nothing.

    Raises:
        UsageError: no table has finite rows, or the file cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    require_picture(path)
    figure_class = _matplotlib()
    tables = drawable(report)
    # The Figure alone, without pyplot: no window system, no global state.
    figure = figure_class(figsize=(15, 4.4 * len(tables)), layout="constrained")
    axes = figure.subplots(len(tables), 3, squeeze=False)
    for table, (left, middle, right) in zip(tables, axes, strict=True):
        _histogram(left, table)
        _by_id(middle, table)
        _sorted(right, table)
    with whole_file(path) as stream, warnings.catch_warnings():
        # A token in a script that the font lacks is drawn as a box; that is no news.
        warnings.simplefilter("ignore", UserWarning)
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        figure.savefig(stream, format=path.suffix[1:].lower(), dpi=110, metadata=_undated(path))


def _undated(path: Path) -> dict[str, None] | None:
    """The same input gives the same file."""
    return {"Date": None} if path.suffix.lower() == ".svg" else None


def _matplotlib() -> Any:  # noqa: ANN401 - matplotlib comes without types here
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("--plot", "plot") from error
    return Figure


def _title(table: TableReport) -> str:
    shape = f"{table.rows:,} × {table.width:,} {table.dtype}"
    return f"{clip(safe(table.tensor), 44)}\n{shape}"


def _histogram(axes: Any, table: TableReport) -> None:  # noqa: ANN401
    norms = table.data.norms[np.isfinite(table.data.norms)]
    assert table.histogram is not None  # noqa: S101 - only tables with finite rows are drawn
    edges = np.array(table.histogram.edges)
    axes.hist(np.clip(norms, edges[0], edges[-1]), bins=_fine(edges), color=_BLUE)
    if edges[0] <= 2 * table.fresh_norm and table.fresh_norm <= 2 * edges[-1]:
        axes.axvline(table.fresh_norm, color=_RED, linestyle="--")
        axes.text(
            table.fresh_norm, 0.98, f" untrained N(0, {table.fresh_sigma:g}²)", color=_RED,
            transform=axes.get_xaxis_transform(), va="top", rotation=90, parse_math=False,
        )  # fmt: skip
    axes.set_title(_title(table), fontsize=10, parse_math=False)
    axes.set_xlabel("row norm")
    axes.set_ylabel("rows")


def _fine(edges: Any) -> Any:  # noqa: ANN401 - numpy arrays
    """Each bin of the report in four."""
    return np.unique(np.concatenate([np.linspace(a, b, 5) for a, b in pairwise(edges)]))


def _by_id(axes: Any, table: TableReport) -> None:  # noqa: ANN401
    data = table.data
    finite = np.flatnonzero(np.isfinite(data.norms))
    size = 1.5 if len(finite) > 2000 else 4
    axes.plot(finite, data.norms[finite], ".", markersize=size, color=_BLUE, rasterized=True)
    special = finite[data.special[finite]]
    ill = np.flatnonzero(data.flags["zero"] | data.flags["near-zero"])
    for rows, mark, colour, name in (
        (special, "o", _ORANGE, "special"),
        (ill, "x", _RED, "zero or near zero"),
    ):
        if len(rows):
            axes.plot(
                rows, data.norms[rows], mark, markersize=5, color=colour, label=name,
                rasterized=True,
            )  # fmt: skip
    for row in _labelled(table):
        token = data.tokens[row] if data.tokens else None
        axes.annotate(
            f"{row} {clip(safe(token), 16)}" if token else f"{row}",
            (row, data.norms[row]), fontsize=7, color=_GREY, xytext=(3, 3),
            textcoords="offset points", parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
    axes.set_xlabel("row (token id)")
    axes.set_ylabel("row norm")
    if len(special) or len(ill):
        axes.legend(loc="best", fontsize=8)


def _labelled(table: TableReport) -> list[int]:
    """Special rows first, then the smallest and the largest."""
    data = table.data
    rows = np.flatnonzero(data.special & np.isfinite(data.norms)).tolist()[: _LABELS // 2]
    rows += [each.row for each in (*table.smallest[:3], *table.largest[:3])]
    return list(dict.fromkeys(rows))[:_LABELS]


def _sorted(axes: Any, table: TableReport) -> None:  # noqa: ANN401
    norms = np.sort(table.data.norms[np.isfinite(table.data.norms)])
    axes.plot(np.arange(1, len(norms) + 1), norms, color=_BLUE)
    positive = norms[norms > 0]
    if len(positive) and positive[-1] > 100 * positive[0]:
        axes.set_yscale("log")
    axes.axhline(table.fresh_norm, color=_RED, linestyle="--", linewidth=1)
    axes.set_xlabel("rows, sorted by norm")
    axes.set_ylabel("row norm")
