"""Near-duplicates against all pairs, in tables whose rows are hard to tell apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.rows import near_duplicates
from embcalc.rows.crowds import close_pairs
from embcalc.rows.near_duplicates import near_groups
from embcalc.rows.scan import scan
from tests.rows.near_truth import Rows, near_rows, stored, with_near_ones

Make = Callable[[np.random.Generator], Rows]


def apart(random: np.random.Generator) -> Rows:
    return random.normal(0, 1, (4000, 256))


def around_one_direction(random: np.random.Generator) -> Rows:
    """All cosines are near 0.997."""
    return random.normal(0, 1, 256) + 0.05 * random.normal(0, 1, (4000, 256))


def one_large_dimension(random: np.random.Generator) -> Rows:
    rows = random.normal(0, 1, (4000, 512))
    rows[:, 7] *= 200
    return rows


def one_large_dimension_that_no_signature_sees(random: np.random.Generator) -> Rows:
    rows = random.normal(0, 1, (4000, 512))
    rows[:, 50] *= 200
    return rows


def few_dimensions_that_no_signature_sees(random: np.random.Generator) -> Rows:
    rows = np.zeros((4000, 512))
    rows[:, 40:70] = random.normal(0, 1, (4000, 30))
    return rows


@pytest.mark.parametrize("dtype", ["F32", "BF16"])
@pytest.mark.parametrize(
    "make",
    [
        apart,
        around_one_direction,
        one_large_dimension,
        one_large_dimension_that_no_signature_sees,
        few_dimensions_that_no_signature_sees,
    ],
)
def test_as_by_all_pairs(make: Make, dtype: str, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    checkpoint, rows = stored(tmp_path, with_near_ones(random, make(random), 400), dtype)
    found = scan(checkpoint, "t")
    groups = near_groups(checkpoint, "t", found, found.zero)
    assert groups is not None
    truth = near_rows(rows)
    listed = {row for group in groups for row in group}
    assert listed <= truth
    assert len(listed) >= 0.99 * len(truth) > 0


def collapsed(random: np.random.Generator) -> Rows:
    return random.normal(0, 1, 256) + 1e-4 * random.normal(0, 1, (4000, 256))


def forty_directions(random: np.random.Generator) -> Rows:
    directions = random.normal(0, 1, (40, 256))
    lengths = random.uniform(0.5, 2, (4000, 1))
    return np.asarray(directions[np.arange(4000) % 40] * lengths, np.float64)


@pytest.mark.parametrize(("make", "count"), [(collapsed, 1), (forty_directions, 40)])
def test_heaps_are_found_whole(make: Make, count: int, tmp_path: Path) -> None:
    checkpoint, _ = stored(tmp_path, make(np.random.default_rng(4)))
    found = scan(checkpoint, "t")
    groups = near_groups(checkpoint, "t", found, found.zero)
    assert groups is not None
    assert sorted(map(len, groups)) == [4000 // count] * count


def test_not_all_pairs_of_a_heap_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "_MOST_PAIRS", 500)
    checkpoint, _ = stored(tmp_path, collapsed(np.random.default_rng(4)))
    found = scan(checkpoint, "t")
    groups = near_groups(checkpoint, "t", found, found.zero)
    assert groups is not None
    assert 100 < sum(map(len, groups)) < 4000


def test_close_points_as_by_all_pairs() -> None:
    random = np.random.default_rng(5)
    points = random.normal(0, 0.1, (3000, 24)).astype(np.float32)
    points[:300] = points[300:600] + random.normal(0, 0.01, (300, 24)).astype(np.float32)
    rows = random.permutation(3000)[:2900]
    found = {pair for some in close_pairs(points, rows, 0.025) for pair in zip(*some, strict=True)}
    here = points[rows].astype(np.float64)
    squares = np.square(here).sum(axis=1)
    apart = squares[:, None] + squares - 2 * here @ here.T
    first, second = np.nonzero(np.triu(apart < 24 * 0.025**2, 1))
    truth = {(min(a, b), max(a, b)) for a, b in zip(rows[first], rows[second], strict=True)}
    assert found <= truth
    assert len(found) >= 0.98 * len(truth) > 200


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_points_that_cannot_be_cut(count: int) -> None:
    points = np.zeros((count, 24), np.float32)
    pairs = [some for some in close_pairs(points, np.arange(count), 0.025) if len(some[0])]
    joined = {row for some in pairs for rows in some for row in rows.tolist()}
    assert joined == (set(range(count)) if count > 1 else set())
