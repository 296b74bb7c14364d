"""Rows that are hard to sum, in every stored dtype: norms, flags and statistics against numpy.

The truth comes from numpy and ml_dtypes, in extended precision.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.checkpoints import Checkpoint, open_checkpoint
from embcalc.core.dtypes import SAFETENSORS_DTYPES
from embcalc.rows import kernels
from embcalc.rows.health import judge
from embcalc.rows.scan import norms_of, scan, scan_health
from embcalc.rows.statistics import norm_statistics
from embcalc.sources import locate
from tests.rows.scalars import SCALARS, WHOLE

BITS = {"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4}
NO_NAN = {*BITS, *WHOLE, "BOOL"}
WIDTHS = (1, 7, 255, 256, 257, 4097)
Rows = NDArray[Any]
Tables = Mapping[str, tuple[Rows, NDArray[np.longdouble]]]


def test_every_dtype_is_here() -> None:
    assert {*SCALARS, *WHOLE} == {dtype.name for dtype in SAFETENSORS_DTYPES}


def hostile(name: str, width: int) -> Rows:
    """Rows `[n, width]` that a careless sum gets wrong, as scalars of the dtype."""
    random = np.random.default_rng(width)
    if name in WHOLE or name == "BOOL":
        return whole_rows(name, width, random)
    scalar = np.dtype(np.float32 if name == "C64" else SCALARS[name])
    info: Any = ml_dtypes.finfo(scalar)  # type: ignore[no-untyped-call]
    least, most = float(info.smallest_subnormal), float(info.max)
    normal = max(float(info.tiny), least)
    if name in ("F32", "F64", "BF16"):
        # An element's square neither under- nor overflows in extended precision.
        least, most = max(least, 1e-300), min(most, 1e300)
    scales = np.exp(np.linspace(np.log(normal), np.log(most), 12))
    rows = [np.full(width, each) for each in (0.0, -0.0, least, most, -most)]
    for scale in scales:
        rows.append(random.uniform(0.5, 1, width) * scale)
        for ratio in (0.3, 0.01, 1e-3, 1e-5):
            rows.append(np.full(width, scale * ratio))
            rows[-1][0] = scale
            rows.append(random.normal(0, scale * ratio, width))
            rows[-1][-1] = scale
    rows.append(random.integers(-3, 4, width) * least)
    rows.append(np.eye(1, width, width - 1)[0] * least)
    numbers = np.clip(np.stack(rows), -most, most)
    # Eight rows of any width fill whole bytes.
    numbers = numbers[: len(numbers) // 8 * 8]
    if name == "F8_E8M0":
        numbers = np.maximum(np.abs(numbers), least)
    with np.errstate(over="ignore", under="ignore"):
        stored = numbers.astype(scalar)
    if name != "C64":
        return np.asarray(stored)
    return np.asarray(stored[:, ::-1] + 1j * stored, np.complex64)


def whole_rows(name: str, width: int, random: np.random.Generator) -> Rows:
    if name == "BOOL":
        return np.stack([np.zeros(width, bool), np.ones(width, bool), random.random(width) > 0.5])
    kind = WHOLE[name]
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    rows = [np.full(width, each, kind) for each in (0, 1, low, high, high // 3)]
    rows.append(random.integers(low, high, width, kind, endpoint=True))
    rows.append(np.full(width, 1, kind))
    rows[-1][0] = high
    return np.stack(rows)


def truth(stored: Rows) -> NDArray[np.longdouble]:
    """The numbers of stored scalars; a complex one is two."""
    if stored.dtype.kind == "c":
        stored = stored.view(np.float32)
    with np.errstate(invalid="ignore"):
        wide = stored if stored.dtype.kind in "iub" else stored.astype(np.float64)
        return wide.astype(np.longdouble)


def packed(stored: Rows, name: str) -> bytes:
    if name not in BITS:
        return stored.tobytes()
    fields = (stored.view(np.uint8)[..., None] >> np.arange(BITS[name])) & 1
    return np.packbits(fields.ravel(), bitorder="little").tobytes()


def written(path: Path, name: str, tables: Mapping[str, Rows]) -> Checkpoint:
    """A safetensors file of tables of one dtype."""
    header, data = {}, b""
    for tensor, stored in tables.items():
        raw = packed(stored, name)
        ends = [len(data), len(data) + len(raw)]
        header[tensor] = {"dtype": name, "shape": list(stored.shape), "data_offsets": ends}
        data += raw
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)
    place = locate(str(path))
    return open_checkpoint(place.folder, place.file)


def lengths(numbers: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.square(numbers).sum(axis=1)), np.longdouble)


def close(found: Any, expected: Any, *, rel: float = 1e-6) -> bool:
    """Equal to `rel`, or to the last bit of the subnormal numbers of float64."""
    return bool(np.allclose(np.asarray(found, np.longdouble), expected, rtol=rel, atol=5e-324))


@pytest.fixture(params=["", "numpy"], ids=["numkong", "numpy"])
def chosen_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("EMBCALC_KERNELS", request.param)
    return str(request.param)


@pytest.mark.parametrize("name", [*SCALARS, *WHOLE])
@pytest.mark.usefixtures("chosen_kernels")
def test_hostile_rows(name: str, tmp_path: Path) -> None:
    tables = {f"w{width}": hostile(name, width) for width in (*WIDTHS, 4100)}
    checkpoint = written(tmp_path / "model.safetensors", name, tables)
    for tensor, stored in tables.items():
        numbers = truth(stored)
        expected = lengths(numbers)
        found = scan(checkpoint, tensor)
        assert close(found.norms, expected)
        assert not found.nonfinite.any()
        assert np.array_equal(found.zero, ~numbers.any(axis=1))
        assert found.elements.absmax == float(np.abs(numbers).max())
        assert close(scan_health(checkpoint, tensor).norms, expected)
        assert close(norms_of(checkpoint, tensor), expected)
        health = judge(found.norms, found.nonfinite)
        median = np.median(expected[expected > 0])
        assert np.array_equal(health.near_zero, (expected > 0) & (expected <= median / 1000))
        statistics = norm_statistics(np.sort(found.norms))
        assert statistics is not None
        for said, known in (
            (statistics.min, expected.min()),
            (statistics.max, expected.max()),
            (statistics.mean, expected.mean()),
            (statistics.std, expected.std()),
        ):
            assert close(said, known)


def strange_scalars(name: str) -> Rows:
    """Scalars that are no finite numbers: every one of 8 and 16 bits, payloads of the others."""
    scalar = np.dtype(np.float32 if name == "C64" else SCALARS[name])
    if scalar.itemsize <= 2:
        bits = np.arange(1 << 8 * scalar.itemsize).astype(f"u{scalar.itemsize}")
    else:
        exponent, sign = (0x7F8, 31) if scalar.itemsize == 4 else (0x7FF, 63)
        infinity = exponent << (20 if scalar.itemsize == 4 else 52)
        payloads = (0, 1, 2, 1 << 10, infinity >> 1 & ~infinity, ~infinity & ((1 << sign) - 1))
        bits = np.array(
            [infinity | each | minus << sign for each in payloads for minus in (0, 1)],
            f"u{scalar.itemsize}",
        )
    stored = bits.view(scalar)
    with np.errstate(invalid="ignore"):
        return stored[~np.isfinite(stored.astype(np.float64))]


def strange_tables(name: str) -> Iterator[tuple[str, Rows]]:
    strange = strange_scalars(name)
    for width in (1, 7, 256, 257):
        for base in (0.25, 0.0):
            rows = np.full((len(strange) + 2, width), base).astype(strange.dtype)
            # At the front, the back and between, in turn.
            places = np.arange(len(strange)) * (width // 2) % width
            places[2::3] = width - 1
            rows[np.arange(len(strange)) + 1, places] = strange
            yield f"w{width}-{base}", rows


@pytest.mark.parametrize("name", [name for name in SCALARS if name not in NO_NAN])
@pytest.mark.usefixtures("chosen_kernels")
def test_every_nan_and_infinity(name: str, tmp_path: Path) -> None:
    tables = dict(strange_tables(name))
    if name == "C64":
        tables = {key: rows.view(np.complex64) for key, rows in tables.items() if "256" in key}
    checkpoint = written(tmp_path / "model.safetensors", name, tables)
    for tensor, stored in tables.items():
        numbers = truth(stored)
        ill = np.asarray(~np.isfinite(numbers).all(axis=1))
        assert ill[1:-1].all()
        for found in (scan(checkpoint, tensor), scan_health(checkpoint, tensor)):
            assert np.array_equal(found.nonfinite, ill)
            assert np.array_equal(np.isnan(found.norms), np.isnan(numbers).any(axis=1))
            assert close(found.norms[~ill], lengths(numbers[~ill]))
            assert np.array_equal(found.zero, ~numbers.any(axis=1))


@pytest.mark.parametrize("name", ["BF16", "F16", "F32", "F64", "I16", "F8_E5M2FNUZ"])
@pytest.mark.usefixtures("chosen_kernels")
def test_numbers_that_vary_little_around_a_large_mean(name: str, tmp_path: Path) -> None:
    """The variance is a small difference of large numbers."""
    random = np.random.default_rng(1)
    drawn = 100 + random.normal(0, 1 if name != "F8_E5M2FNUZ" else 20, (500, 64))
    stored = drawn.astype(SCALARS.get(name, WHOLE.get(name)))
    checkpoint = written(tmp_path / "model.safetensors", name, {"t": stored})
    found, numbers = scan(checkpoint, "t"), truth(stored)
    assert close(found.elements.mean, numbers.mean())
    assert close(found.elements.std, numbers.std())
    assert close(found.columns.mean, numbers.mean(axis=0))


@pytest.mark.parametrize("name", ["bf16", "f16", "e4m3", "e5m2"])
def test_columns_that_are_summed_at_once_are_exact_enough(name: Any) -> None:
    """Rows of one number before many equal smaller ones: every addition rounds the same way."""
    scalar = kernels._scalar(name)
    width = min(kernels.exact_columns(name), 4096)
    large, small = np.meshgrid(2 ** np.arange(0, 4, 0.1), 2 ** np.arange(-9, 0, 0.1))
    rows = np.repeat(small.reshape(-1, 1), width, axis=1)
    rows[:, 0] = large.ravel()
    stored = rows.astype(scalar)
    carrier = np.float16 if name == "f16" else f"u{scalar.itemsize}"
    found = kernels.NumkongKernels(name, width).norms(stored.view(carrier))
    assert close(found, lengths(truth(stored)))
