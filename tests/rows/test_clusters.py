"""Collapsed clusters against the cosines of all rows to their middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embcalc.rows.neighbourhoods import clusters
from embcalc.rows.scan import scan
from tests.rows.near_truth import Rows, stored, turned, unit


def collapse(random: np.random.Generator, rows: Rows, share: float, cosine: float) -> Rows:
    """Turn a part of the rows towards the first of that part; the rows are changed in place."""
    some = random.permutation(len(rows))[: int(share * len(rows)) + 2]
    target = np.repeat(rows[some[:1]], len(some) - 1, axis=0)
    wanted = random.uniform(cosine, (1 + cosine) / 2, (len(some) - 1, 1))
    rows[some[1:]] = turned(random, target, wanted)
    return np.sort(some)


@pytest.mark.parametrize("kernels", ["", "numpy"])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("cosine", [0.91, 0.93, 0.99])
@pytest.mark.parametrize("share", [0.01, 0.02, 0.3])
def test_a_part_of_the_rows(
    share: float,
    cosine: float,
    dtype: str,
    kernels: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EMBCALC_KERNELS", kernels)
    random = np.random.default_rng(2)
    rows = random.normal(0, 1, (5000, 192))
    some = collapse(random, rows, share, cosine)
    checkpoint, numbers = stored(tmp_path, rows, dtype)
    (found,) = clusters(checkpoint, "t", scan(checkpoint, "t"))
    units = unit(numbers)
    middle = units[some].mean(axis=0)
    near = np.flatnonzero(units @ middle > 0.9 * np.linalg.norm(middle))
    assert found.rows.tolist() == near.tolist() == some.tolist()
    assert found.nearest == int(np.argmax(units @ middle))
    assert found.cosine == pytest.approx(np.median(units[some] @ unit(middle[None])[0]), abs=1e-4)


def test_several_clusters_beside_ill_rows(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    rows = random.normal(0, 1, (3000, 64))
    rows[:900] = 0
    rows[1000:1100] = np.nan
    for start, seed in ((1200, 1), (1500, 2), (1800, 3)):
        one = np.repeat(rows[seed + 2500][None], 60, axis=0)
        rows[start : start + 60] = turned(random, one, 0.97)
    checkpoint, _ = stored(tmp_path, rows)
    found = clusters(checkpoint, "t", scan(checkpoint, "t"))
    assert sorted(int(cluster.rows[0]) for cluster in found) == [1200, 1500, 1800]
    assert [len(cluster.rows) for cluster in found] == [61, 61, 61]


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 300])
def test_too_few_rows_for_a_cluster(rows: int, tmp_path: Path) -> None:
    checkpoint, _ = stored(tmp_path, np.random.default_rng(1).normal(0, 1, (rows, 32)))
    assert clusters(checkpoint, "t", scan(checkpoint, "t")) == ()


def test_a_table_of_one_row_repeated(tmp_path: Path) -> None:
    checkpoint, _ = stored(tmp_path, np.ones((50, 32)))
    (found,) = clusters(checkpoint, "t", scan(checkpoint, "t"))
    assert len(found.rows) == 50
