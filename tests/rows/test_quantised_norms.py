"""Norms and flags of tables that are stored in parts, against float64 arithmetic on the parts."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.checkpoints import Checkpoint, open_checkpoint
from embcalc.rows.scan import scan
from embcalc.sources import locate

STEM = "model.embed_tokens."
ROWS, WIDTH = 260, 256
NAMES = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "uint8": "U8", "int8": "I8",
    "int32": "I32", "uint32": "U32", "int64": "I64", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip
Parts = dict[str, NDArray[Any]]
Made = tuple[Parts, NDArray[np.float64]]
"""What is stored, and the numbers that it stands for."""


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def hostile_scales(groups: int, kind: Any, rows: int = ROWS) -> NDArray[Any]:
    """Positive scales; of the first rows zero, NaN, infinite, tiny, huge."""
    scales: NDArray[Any] = random(groups).uniform(1e-4, 1e-2, (rows, groups))
    if rows > 4:
        scales[:3] = [[0.0], [np.nan], [np.inf]]
        scales[3] = 6e-8 if kind == np.float16 else 1e-30
        scales[4] = 6 if kind == np.float16 else 1e34
    with np.errstate(over="ignore"):
        return scales.astype(kind)


def spread(scales: NDArray[Any], width: int = WIDTH) -> NDArray[np.float64]:
    """A scale for each number of a row."""
    wide = scales.astype(np.float64).reshape(len(scales), -1)
    return np.asarray(np.repeat(wide, width // wide.shape[1], axis=1), np.float64)


def codes(bits: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Codes `[rows, width]`, and the bytes that they are packed in, the first lowest."""
    some = random(bits).integers(0, 1 << bits, (ROWS, WIDTH)).astype(np.uint8)
    fields = (some[..., None] >> np.arange(bits)) & 1
    return some, np.packbits(fields.reshape(ROWS, -1), axis=1, bitorder="little")


def fp8(scale: str, kind: Any, weight: Any = ml_dtypes.float8_e4m3fn) -> Made:
    stored = random().normal(0, 1, (ROWS, WIDTH)).astype(weight)
    name = "weight_scale_inv" if scale == "block" else "weight_scale"
    if scale == "tensor":
        scales = np.full((1,), 0.37, kind)
        factors = spread(scales.reshape(1, 1))
    elif scale == "row":
        scales = hostile_scales(1, kind)
        factors = spread(scales)
    else:
        scales = random(2).uniform(1e-4, 1e-2, (3, 2)).astype(kind)
        factors = np.asarray(
            np.kron(scales.astype(np.float64), np.ones((128, 128)))[:ROWS], np.float64
        )
    return {"weight": stored, name: scales}, stored.astype(np.float64) * factors


def int8_rows() -> Made:
    stored = random().integers(-128, 128, (ROWS, WIDTH)).astype(np.int8)
    scales = hostile_scales(1, np.float32)
    return {"weight": stored, "weight_scale": scales}, stored * spread(scales)


def powers() -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """E8M0 scales of groups of 32 as plain bytes; those of one row are NaN."""
    stored = random(3).integers(100, 130, (ROWS, WIDTH // 32)).astype(np.uint8)
    stored[1] = 255
    return stored, spread(stored.view(ml_dtypes.float8_e8m0fnu))


def mxfp8() -> Made:
    weight = random().normal(0, 1, (ROWS, WIDTH)).astype(ml_dtypes.float8_e4m3fn)
    scales, factors = powers()
    return {"weight": weight, "weight_scale": scales}, weight.astype(np.float64) * factors


def e2m1() -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    some, packed = codes(4)
    return some.view(ml_dtypes.float4_e2m1fn).astype(np.float64), packed


def mxfp4() -> Made:
    numbers, packed = e2m1()
    scales, factors = powers()
    return {"weight_packed": packed, "weight_scale": scales}, numbers * factors


def nvfp4(*, divided: bool) -> Made:
    numbers, packed = e2m1()
    scales = random(4).uniform(0.1, 10, (ROWS, WIDTH // 16)).astype(ml_dtypes.float8_e4m3fn)
    general = np.array([37.5], np.float32)
    factors = spread(scales) * (1 / 37.5 if divided else 37.5)
    names = ("packed", "global_scale") if divided else ("", "scale_2")
    weight, other = (f"weight_{name}".rstrip("_") for name in names)
    return {weight: packed, "weight_scale": scales, other: general}, numbers * factors


def compressed(bits: int, groups: int, kind: Any) -> Made:
    some, packed = codes(bits)
    scales = hostile_scales(groups, kind)
    shape = np.array([ROWS, WIDTH], np.int64)
    parts = {"weight_packed": packed.view(np.int32), "weight_scale": scales, "weight_shape": shape}
    return parts, (some - float(1 << bits - 1)) * spread(scales)


def mlx(bits: int, group: int, kind: Any) -> Made:
    some, packed = codes(bits)
    scales = hostile_scales(WIDTH // group, kind)
    biases = (-0.5 * scales.astype(np.float64)).astype(kind)
    numbers = some * spread(scales) + spread(biases)
    return {"weight": packed.view(np.uint32), "scales": scales, "biases": biases}, numbers


CASES: dict[str, Callable[[], Made]] = {
    "int8": int8_rows,
    "mxfp8": mxfp8,
    "mxfp4": mxfp4,
    "nvfp4-divided": lambda: nvfp4(divided=True),
    "nvfp4": lambda: nvfp4(divided=False),
    "e5m2": lambda: fp8("row", np.float32, ml_dtypes.float8_e5m2),
}
KINDS = (np.float32, np.float16, ml_dtypes.bfloat16)
CASES |= {
    f"fp8-{scale}-{np.dtype(kind).name}": partial(fp8, scale, kind)
    for kind, scale in product(KINDS, ("tensor", "row", "block"))
}
CASES |= {
    f"int{bits}-{groups}-{np.dtype(kind).name}": partial(compressed, bits, groups, kind)
    for kind, bits, groups in product(KINDS, (4, 8), (1, 2, 8))
}
CASES |= {
    f"mlx{bits}-{group}-{np.dtype(kind).name}": partial(mlx, bits, group, kind)
    for kind, bits, group in product(KINDS, (2, 3, 4, 5, 6, 8), (32, 64, 128))
}


def opened(folder: Path, parts: Mapping[str, NDArray[Any]], group: int) -> Checkpoint:
    header, data = {}, b""
    for name, array in parts.items():
        ends = [len(data), len(data) + array.nbytes]
        dtype = NAMES[array.dtype.name]
        header[STEM + name] = {"dtype": dtype, "shape": array.shape, "data_offsets": ends}
        data += array.tobytes()
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    (folder / "config.json").write_text(json.dumps({"quantization": {"group_size": group}}))
    return open_checkpoint(locate(str(folder)).folder)


def agree(checkpoint: Checkpoint, name: str, numbers: NDArray[np.float64]) -> None:
    """Check norms and flags against the numbers that were stored, `[rows, width]`."""
    found = scan(checkpoint, name)
    ill = ~np.isfinite(numbers).all(axis=1)
    assert np.array_equal(found.nonfinite, ill)
    with np.errstate(under="ignore"):
        squares = np.square(numbers[~ill].astype(np.longdouble)).sum(axis=1)
    assert np.allclose(found.norms[~ill], np.sqrt(squares).astype(np.float64), rtol=1e-6, atol=0)
    assert np.array_equal(found.zero, ~numbers.any(axis=1))


@pytest.mark.parametrize("kernels", ["", "numpy"])
@pytest.mark.parametrize("name", CASES)
def test_weights_in_parts(
    name: str, kernels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBCALC_KERNELS", kernels)
    with np.errstate(all="ignore"):
        parts, numbers = CASES[name]()
    group = int(name.split("-")[1]) if name.startswith("mlx") else 0
    checkpoint = opened(tmp_path, parts, group)
    (table,) = (tensor for tensor in checkpoint.tensors.values() if len(tensor.shape) == 2)
    assert table.shape == (ROWS, WIDTH)
    assert table.dtype.kind == "quantised"
    agree(checkpoint, table.name, numbers)


def quantised_kinds() -> list[str]:
    gguf = pytest.importorskip("gguf")
    return sorted(kind.name for kind in gguf.quants._type_traits)


@pytest.mark.parametrize("kernels", ["", "numpy"])
def test_every_kind_of_gguf(kernels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any bytes: scales among them are huge, tiny, NaN and infinite."""
    gguf = pytest.importorskip("gguf")
    monkeypatch.setenv("EMBCALC_KERNELS", kernels)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    stored = {}
    for kind in quantised_kinds():
        code = gguf.GGMLQuantizationType[kind]
        block, size = gguf.GGML_QUANT_SIZES[code]
        stored[kind] = random(7).integers(0, 256, (64, 512 // block * size)).astype(np.uint8)
        writer.add_tensor(kind, stored[kind], raw_dtype=code)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    place = locate(str(tmp_path / "m.gguf"))
    checkpoint = open_checkpoint(place.folder, place.file)
    for kind, raw in stored.items():
        with np.errstate(all="ignore"):
            numbers = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind])
            wide = numbers.astype(np.float64)
        agree(checkpoint, kind, wide)
