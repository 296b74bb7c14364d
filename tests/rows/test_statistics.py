from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embcalc.rows.statistics import histogram, looks_fresh, norm_statistics
from tests.row_cases import fresh, trained


def test_summary_agrees_with_numpy() -> None:
    norms = np.abs(np.random.default_rng(0).normal(1, 0.2, 1001))
    found = norm_statistics(norms)
    assert found is not None
    assert (found.min, found.max) == (norms.min(), norms.max())
    assert found.mean == pytest.approx(norms.mean())
    assert found.std == pytest.approx(norms.std())
    for percent, value in found.percentiles.items():
        assert value == pytest.approx(np.percentile(norms, percent))


def test_no_rows_have_no_statistics() -> None:
    assert norm_statistics(np.array([])) is None
    assert histogram(np.array([])) is None
    assert not looks_fresh(np.array([]), 0.02, 64)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_norms_do_not_overflow(scale: float) -> None:
    found = norm_statistics(np.array([1.0, 2.0, 3.0]) * scale)
    assert found is not None
    assert found.std == pytest.approx(np.std([1, 2, 3]) * scale)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=60),
    st.none() | st.integers(1, 40),
)
def test_every_norm_is_counted_once(values: list[float], bins: int | None) -> None:
    found = histogram(np.array(values), bins)
    assert found is not None
    assert sum(found.counts) == len(values)
    assert len(found.edges) == len(found.counts) + 1
    assert all(low < high for low, high in zip(found.edges, found.edges[1:], strict=False))
    assert bins is None or len(found.counts) == bins
    assert len(found.counts) <= 60


def test_edges_are_round_and_one_far_row_does_not_flatten_the_picture() -> None:
    norms = np.append(np.random.default_rng(0).normal(1, 0.1, 5000), 1e6)
    found = histogram(norms)
    assert found is not None
    assert found.edges[-1] == 1e6
    assert found.counts[-1] <= 3
    assert max(found.counts) < 2500
    inner = np.diff(found.edges[1:-1])
    assert inner == pytest.approx(np.full(len(inner), inner[0]))


def test_a_fresh_table_is_recognised_and_a_trained_one_is_not() -> None:
    norms = np.linalg.norm(fresh(2000, 256), axis=1)
    assert looks_fresh(norms, 0.02, 256)
    assert not looks_fresh(norms, 0.03, 256)
    assert not looks_fresh(np.linalg.norm(trained(2000, 256, size=0.32), axis=1), 0.02, 256)
