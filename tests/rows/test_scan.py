"""One pass over a table against float64 numpy: statistics, flags, copies, neighbours, clusters."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.checkpoints import Checkpoint, open_checkpoint
from embcalc.rows import scan as scan_module
from embcalc.rows.access import chosen_numbers, runs
from embcalc.rows.fingerprints import bit_keys, identical_groups, same_bits
from embcalc.rows.health import judge, row_groups, row_set
from embcalc.rows.near_duplicates import near_groups
from embcalc.rows.neighbourhoods import clusters
from embcalc.rows.scan import RowScan, norms_of, scan
from embcalc.sources import locate
from tests.rows.scalars import SCALARS, WHOLE

TRIED = (
    "BF16",
    "F16",
    "F32",
    "F64",
    "F8_E4M3",
    "F8_E5M2",
    "F8_E4M3FNUZ",
    "F8_E5M2FNUZ",
    "I8",
    "U8",
    "I32",
)
KINDS = SCALARS | WHOLE
Opened = tuple[Checkpoint, NDArray[np.float64]]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Opened]:
    """Write numbers as a dtype; give the opened file and what was stored, in float64."""

    def build(numbers: NDArray[Any], dtype: str = "F32", **others: NDArray[Any]) -> Opened:
        stored = {"t": numbers, **others}
        blobs = {name: np.ascontiguousarray(x.astype(KINDS[dtype])) for name, x in stored.items()}
        header, at = {}, 0
        for name, blob in blobs.items():
            ends = [at, at + blob.nbytes]
            header[name] = {"dtype": dtype, "shape": list(blob.shape), "data_offsets": ends}
            at += blob.nbytes
        head = json.dumps(header).encode()
        path = tmp_path / "model.safetensors"
        data = b"".join(blob.tobytes() for blob in blobs.values())
        path.write_bytes(struct.pack("<Q", len(head)) + head + data)
        place = locate(str(path))
        return open_checkpoint(place.folder, place.file), blobs["t"].astype(np.float64)

    return build


def numbers_for(dtype: str, rows: int, width: int) -> NDArray[Any]:
    random = np.random.default_rng(rows + width)
    whole = dtype in ("I8", "U8", "I32")
    return random.integers(0, 100, (rows, width)) if whole else random.normal(0, 0.5, (rows, width))


@pytest.mark.parametrize("kernels", ["", "numpy"])
@pytest.mark.parametrize("dtype", TRIED)
def test_statistics_agree_with_numpy(
    table: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch, dtype: str, kernels: str
) -> None:
    monkeypatch.setenv("EMBCALC_KERNELS", kernels)
    checkpoint, truth = table(numbers_for(dtype, 700, 96), dtype)
    direction = np.random.default_rng(0).normal(0, 1, (2, 96))
    found = scan(checkpoint, "t", directions=direction)
    assert found.norms == pytest.approx(np.linalg.norm(truth, axis=1), rel=1e-6)
    assert found.elements.mean == pytest.approx(truth.mean(), abs=1e-9)
    assert found.elements.std == pytest.approx(truth.std(), rel=1e-6)
    assert found.elements.absmax == np.abs(truth).max()
    assert found.columns.rms == pytest.approx(np.sqrt(np.square(truth).mean(axis=0)), rel=1e-9)
    assert found.projections == pytest.approx(truth @ direction.T, abs=3e-4 * np.abs(truth).max())
    assert not found.nonfinite.any()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 16, 17, 1000])
@pytest.mark.parametrize("rows", [1, 2, 33])
def test_any_shape(table: Callable[..., Opened], rows: int, width: int) -> None:
    for dtype in ("BF16", "F8_E4M3", "F32"):
        checkpoint, truth = table(numbers_for(dtype, rows, width), dtype)
        found = scan(checkpoint, "t")
        assert found.norms == pytest.approx(np.linalg.norm(truth, axis=1), rel=1e-6)
        assert len(found.keys) == rows


@pytest.mark.parametrize("shape", [(0, 8), (8, 0)])
def test_empty_tables(table: Callable[..., Opened], shape: tuple[int, int]) -> None:
    checkpoint, _ = table(np.zeros(shape))
    found = scan(checkpoint, "t")
    assert len(found.norms) == shape[0]
    assert found.elements.absmax == 0


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32", "F64", "F8_E5M2"])
def test_rows_that_are_not_finite_spoil_no_statistic(
    table: Callable[..., Opened], dtype: str
) -> None:
    numbers = numbers_for(dtype, 300, 64)
    numbers[3, 5], numbers[200, 0], numbers[201, 63] = np.nan, np.inf, -np.inf
    checkpoint, truth = table(numbers, dtype)
    found = scan(checkpoint, "t")
    assert np.flatnonzero(found.nonfinite).tolist() == [3, 200, 201]
    kept = np.delete(truth, [3, 200, 201], axis=0)
    assert found.elements.mean == pytest.approx(kept.mean(), abs=1e-9)
    assert found.elements.std == pytest.approx(kept.std(), rel=1e-6)
    assert found.elements.absmax == np.abs(truth[np.isfinite(truth)]).max()
    assert found.columns.rows == 297


def test_threads_change_nothing(
    table: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, truth = table(numbers_for("BF16", 5000, 256), "BF16")
    alone = scan(checkpoint, "t", directions=np.ones((1, 256)))
    monkeypatch.setattr(scan_module, "PARALLEL_BYTES", 0)
    reported: list[int] = []

    def report(label: str, done: int, total: int) -> None:
        assert (label, total) == ("t", truth.size * 2)
        reported.append(done)

    shared = scan(
        checkpoint,
        "t",
        directions=np.ones((1, 256)),
        workers=3,
        progress=report,
    )
    for name in ("norms", "keys", "nonfinite", "projections"):
        assert np.array_equal(getattr(alone, name), getattr(shared, name)), name
    assert alone.signatures is not None
    assert shared.signatures is not None
    assert np.array_equal(alone.signatures.bands, shared.signatures.bands)
    assert np.array_equal(alone.signatures.coordinates, shared.signatures.coordinates)
    assert alone.elements.mean == pytest.approx(shared.elements.mean)
    assert alone.columns.rows == shared.columns.rows == 5000
    assert alone.same_rows(shared)
    assert reported[-1] == truth.size * 2
    assert reported == sorted(reported)


@pytest.mark.parametrize("workers", [1, 3])
def test_norms_alone(table: Callable[..., Opened], workers: int) -> None:
    checkpoint, truth = table(numbers_for("BF16", 1000, 300), "BF16")
    found = norms_of(checkpoint, "t", workers)
    assert found == pytest.approx(np.linalg.norm(truth, axis=1), rel=1e-6)


def test_an_interrupt_stops_all_threads(
    table: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, _ = table(numbers_for("BF16", 5000, 256), "BF16")
    monkeypatch.setattr(scan_module, "PARALLEL_BYTES", 0)

    def interrupt(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan(checkpoint, "t", workers=2, progress=interrupt)


def test_a_large_table_is_sampled_for_its_columns(
    table: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    from embcalc.rows import columns

    monkeypatch.setattr(columns, "_FULL_BYTES", 1 << 18)
    monkeypatch.setattr(columns, "_PART_NUMBERS", 1 << 18)
    checkpoint, truth = table(numbers_for("F32", 8000, 128))
    found = scan(checkpoint, "t")
    assert 0 < found.columns.rows < 8000
    assert found.elements.mean == pytest.approx(truth.mean(), abs=0.01)
    assert found.elements.std == pytest.approx(truth.std(), rel=1e-3)


def test_dead_and_outlier_dimensions(table: Callable[..., Opened]) -> None:
    numbers = numbers_for("F32", 300, 64)
    numbers[:, 5] = 0
    numbers[:, [9, 40]] *= [20, 10]
    found = scan(table(numbers)[0], "t").columns
    assert found.dead.tolist() == [5]
    assert found.outliers.tolist() == [9, 40]


def test_few_rows_have_no_outlier_dimensions(table: Callable[..., Opened]) -> None:
    numbers = numbers_for("F32", 2, 64)
    numbers[:, 9] *= 100
    assert scan(table(numbers)[0], "t").columns.outliers.tolist() == []


def brute_force(truth: NDArray[Any], left_out: NDArray[Any]) -> tuple[tuple[int, ...], ...]:
    """Groups of equal rows, the slow way."""
    seen: dict[bytes, list[int]] = {}
    for row, numbers in enumerate(truth):
        if not left_out[row]:
            seen.setdefault(numbers.tobytes(), []).append(row)
    return tuple(sorted(tuple(rows) for rows in seen.values() if len(rows) > 1))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 20, 300])
@pytest.mark.parametrize("dtype", ["F8_E4M3", "BF16", "F32", "I8"])
def test_copies_are_exact(table: Callable[..., Opened], dtype: str, width: int) -> None:
    random = np.random.default_rng(width)
    numbers = random.integers(-3, 4, (400, width)).astype(float)
    numbers[random.integers(0, 400, 30)] = numbers[7]
    checkpoint, truth = table(numbers, dtype)
    found = scan(checkpoint, "t")
    # -0.0 and 0.0 are other bits; integers have one zero only.
    groups = identical_groups(checkpoint, "t", found.keys, found.zero)
    assert groups == brute_force(truth, found.zero)


def test_zero_and_nan_rows_are_no_copies(table: Callable[..., Opened]) -> None:
    numbers = numbers_for("F32", 50, 16)
    numbers[[3, 4]] = 0
    numbers[[7, 8]] = np.nan
    numbers[20] = numbers[30]
    checkpoint, _ = table(numbers)
    found = scan(checkpoint, "t")
    groups = identical_groups(checkpoint, "t", found.keys, found.zero | np.isnan(found.norms))
    assert groups == ((20, 30),)


def test_permuted_and_constant_rows_are_told_apart(table: Callable[..., Opened]) -> None:
    numbers = np.array([[1, 2, 3, 4] * 8, [4, 3, 2, 1] * 8, [5] * 32, [6] * 32], float)
    checkpoint, _ = table(numbers)
    found = scan(checkpoint, "t")
    assert identical_groups(checkpoint, "t", found.keys, found.zero) == ()
    assert len(bit_keys(np.zeros((3, 0), np.uint8))) == 3


def test_same_bits(table: Callable[..., Opened]) -> None:
    numbers = numbers_for("F32", 500, 64)
    other = numbers.copy()
    other[499, 63] += 1
    checkpoint, _ = table(numbers, "F32", same=numbers, other=other)
    assert same_bits(checkpoint, "t", "same")
    assert not same_bits(checkpoint, "t", "other")
    assert not scan(checkpoint, "t").same_rows(scan(checkpoint, "other"))


def planted(width: int, shift: float) -> tuple[NDArray[Any], set[tuple[int, int]]]:
    """Rows with 30 pairs of cosine 0.99995 and another length, and pairs of only 0.999."""
    random = np.random.default_rng(width)
    numbers = random.normal(shift, 0.02, (4000, width))
    first, second = np.arange(100, 130), np.arange(2100, 2130)
    for share, rows in ((0.0098, second), (0.045, second + 500)):
        noise = random.normal(0, 1, (30, width))
        noise *= (
            share
            * np.linalg.norm(numbers[first], axis=1, keepdims=True)
            / np.linalg.norm(noise, axis=1, keepdims=True)
        )
        numbers[rows] = (numbers[first] + noise) * random.uniform(0.5, 2, (30, 1))
    return numbers, set(zip(first.tolist(), second.tolist(), strict=True))


@pytest.mark.parametrize(("width", "shift"), [(32, 0.0), (200, 0.0), (768, 0.02)])
def test_near_copies_are_found_without_false_ones(
    table: Callable[..., Opened], width: int, shift: float
) -> None:
    numbers, pairs = planted(width, shift)
    checkpoint, _ = table(numbers)
    found = scan(checkpoint, "t")
    groups = near_groups(checkpoint, "t", found, found.zero)
    assert groups is not None
    got = {(group[0], group[1]) for group in groups}
    assert got <= pairs
    assert len(got) >= 28


def test_a_large_collapse_is_one_group_and_one_cluster(table: Callable[..., Opened]) -> None:
    random = np.random.default_rng(1)
    numbers = random.normal(0, 0.02, (3000, 128))
    numbers[1000:2000] = numbers[5] + random.normal(0, 1e-5, (1000, 128))
    numbers[2500:2600] = numbers[6] + random.normal(0, 0.006, (100, 128))
    checkpoint, _ = table(numbers)
    found = scan(checkpoint, "t")
    groups = near_groups(checkpoint, "t", found, found.zero)
    assert groups == ((5, *range(1000, 2000)),)
    collapsed = clusters(checkpoint, "t", found)
    assert [len(cluster.rows) for cluster in collapsed] == [1001, 101]
    assert collapsed[1].nearest == 6
    assert collapsed[0].cosine > 0.9999


def test_narrow_tables_have_no_neighbours(table: Callable[..., Opened]) -> None:
    checkpoint, _ = table(numbers_for("F32", 500, 4))
    found = scan(checkpoint, "t")
    assert near_groups(checkpoint, "t", found, found.zero) is None
    assert clusters(checkpoint, "t", found) == ()


def test_healthy_rows_have_no_clusters(table: Callable[..., Opened]) -> None:
    checkpoint, _ = table(numbers_for("F32", 3000, 64))
    found = scan(checkpoint, "t")
    assert clusters(checkpoint, "t", found) == ()
    assert near_groups(checkpoint, "t", found, found.zero) == ()


def test_chosen_rows(table: Callable[..., Opened]) -> None:
    checkpoint, truth = table(numbers_for("F32", 900, 24))
    rows = [5, 899, 0, 5, 450, 451]
    assert np.array_equal(chosen_numbers(checkpoint, "t", rows), truth[sorted(set(rows))])
    assert chosen_numbers(checkpoint, "t", []).shape == (0, 24)
    assert list(runs(np.array([1, 2, 50, 51, 200]), gap=40)) == [
        range(1, 3),
        range(50, 52),
        range(200, 201),
    ]
    assert list(runs(np.array([], dtype=np.int64))) == []


def test_rules_of_health() -> None:
    norms = np.array([0.0, 1e-9, 0.9, 1.0, 1.1, 1.05, 0.95, 50.0, np.nan, np.inf])
    health = judge(norms, ~np.isfinite(norms))
    assert np.flatnonzero(health.zero).tolist() == [0]
    assert np.flatnonzero(health.near_zero).tolist() == [1]
    assert np.flatnonzero(health.nonfinite).tolist() == [8, 9]
    assert np.flatnonzero(health.outlier).tolist() == [7]
    assert np.flatnonzero(health.ill).tolist() == [0, 1, 8, 9]


@pytest.mark.parametrize("norms", [[], [0.0, 0.0], [np.nan]])
def test_health_of_nothing(norms: list[float]) -> None:
    values = np.array(norms)
    health = judge(values, np.isnan(values))
    assert not health.outlier.any()
    assert not health.near_zero.any()


def test_rows_of_one_length_have_no_outliers() -> None:
    norms = 1 + 1e-7 * np.random.default_rng(0).normal(0, 1, 1000)
    assert not judge(norms, np.zeros(1000, dtype=np.bool_)).outlier.any()


def test_lists_are_cut_and_counts_are_not() -> None:
    rows = row_set(np.ones(5000, dtype=np.bool_))
    assert (rows.count, len(rows.rows)) == (5000, 1000)
    groups = row_groups(tuple((row, row + 1) for row in range(0, 4000, 2)))
    assert groups.count == 2000
    assert sum(len(group) for group in groups.groups) == 1000
    assert row_groups(((1, 2, 3),)).count == 2


def test_every_float_is_a_plain_scan_result(table: Callable[..., Opened]) -> None:
    assert isinstance(scan(table(np.ones((4, 4)))[0], "t"), RowScan)
