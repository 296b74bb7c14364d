"""The functions that `import embcalc` gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import embcalc
from embcalc.errors import EmbcalcError


def test_lookup(demo_model: Path) -> None:
    report = embcalc.lookup(demo_model, text="我爱", one_hot=True)
    assert report.ids == [[1, 2]]
    assert report.vectors.shape == (1, 2, 4)
    assert report.one_hot is not None


def test_neighbors(demo_model: Path) -> None:
    report = embcalc.neighbors(demo_model, "我", minus="爱", metric="dot", top=2)
    assert report.rows.dtype == np.int64
    assert report.scores.dtype == np.float64
    assert [item.row for item in report.neighbors] == report.rows.tolist()


def test_diff_tells_its_progress(demo_model: Path) -> None:
    told: list[tuple[int, int]] = []
    report = embcalc.diff(
        demo_model, demo_model, progress=lambda _label, done, total: told.append((done, total))
    )
    assert report.tables[0].delta_norms.tolist() == [0.0] * 6
    assert report.tables[0].cosines.tolist() == [1.0] * 6
    assert told[-1] == (192, 192)


def test_errors_are_ours(demo_model: Path) -> None:
    with pytest.raises(EmbcalcError):
        embcalc.lookup(demo_model, ids=[[99]])
