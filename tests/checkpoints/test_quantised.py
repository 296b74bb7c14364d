"""Weights stored in parts.

data/mlx.safetensors was written by MLX 0.32 (`mx.quantize`, every mode and size it has), with
what `mx.dequantize` makes of each under `ref.`; data/compressed.safetensors was packed by
compressed-tensors 0.20.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from embcalc.checkpoints import Checkpoint
from embcalc.errors import CheckpointError
from tests.checkpoints.conftest import opened, safetensors_bytes, values

DATA = Path(__file__).parent / "data"
Write = Callable[[str, bytes], Path]


@pytest.fixture(scope="module")
def mlx() -> Checkpoint:
    return opened(DATA / "mlx.safetensors")


@pytest.mark.parametrize(
    "name",
    [*(f"a{bits}g{size}" for bits in (2, 3, 4, 5, 6, 8) for size in (32, 64, 128)),
     "mxfp4", "nvfp4", "mxfp8"],
)  # fmt: skip
def test_what_mlx_wrote(name: str, mlx: Checkpoint) -> None:
    reference = values(mlx, f"ref.{name}")
    info = mlx.tensors[f"{name}.weight"]
    assert info.shape == reference.shape == (2, 128)
    assert info.parameters == 256
    assert np.allclose(values(mlx, info.name), reference, atol=4e-3, rtol=1e-3)
    assert np.array_equal(values(mlx, info.name, range(1, 2)), values(mlx, info.name)[1:])


def test_parts_are_put_together(mlx: Checkpoint) -> None:
    assert mlx.format == "mlx"
    assert not any(name.endswith((".scales", ".biases")) for name in mlx.tensors)
    info = mlx.tensors["a4g64.weight"]
    assert (info.dtype.name, info.nbytes) == ("MLX4", 2 * 64 + 2 * 2 * 2 * 2)
    assert info.nbytes == info.dtype.nbytes(info.scalars)


@pytest.mark.parametrize("name", ["b4", "b8", "nv"])
def test_what_compressed_tensors_wrote(name: str) -> None:
    checkpoint = opened(DATA / "compressed.safetensors")
    reference = values(checkpoint, f"ref.{name}")
    info = checkpoint.tensors[f"{name}.weight_packed"]
    assert info.shape == reference.shape
    assert np.allclose(values(checkpoint, info.name), reference, rtol=1e-6)
    assert np.allclose(values(checkpoint, info.name, range(1, 3)), reference[1:3], rtol=1e-6)


def model(folder: Path, config: Any, **tensors: Any) -> Checkpoint:
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return opened(folder)


def quantised_rows(groups: int, words: int, name: str = "model.embed_tokens") -> dict[str, Any]:
    scales = np.ones((3, groups), np.float16)
    weight = np.arange(3 * words, dtype=np.uint32).reshape(3, words)
    return {f"{name}.weight": weight, f"{name}.scales": scales, f"{name}.biases": scales}


@pytest.mark.parametrize(
    ("config", "dtype", "width"),
    [
        ({"quantization": {"group_size": 32, "bits": 8}}, "MLX8", 64),
        ({"quantization": {"group_size": 64, "bits": 4}}, "MLX4", 128),
        ({"quantization": {"group_size": 128, "bits": 2}}, "MLX2", 256),
        ({"quantization": {"group_size": 64, "bits": 4,
                           "model.embed_tokens": {"group_size": 32, "bits": 8}}}, "MLX8", 64),
        ({"quantization_config": {"group_size": 32}}, "MLX8", 64),
        ({}, "MLX4", 128), ([], "MLX4", 128), ("{", "MLX4", 128),
    ],
)  # fmt: skip
def test_bits_and_group_size(config: Any, dtype: str, width: int, tmp_path: Path) -> None:
    checkpoint = model(tmp_path, config, **quantised_rows(2, 16))
    info = checkpoint.tensors["model.embed_tokens.weight"]
    assert (info.dtype.name, info.width, checkpoint.problems) == (dtype, width, ())


def test_8_bits_under_a_4_bit_config(tmp_path: Path) -> None:
    config = {"quantization": {"group_size": 64, "bits": 4}}
    checkpoint = model(tmp_path, config, **quantised_rows(2, 32))
    assert checkpoint.tensors["model.embed_tokens.weight"].dtype.name == "MLX8"
    (problem,) = checkpoint.problems
    assert problem.message == (
        "config.json says 4 bits, and model.embed_tokens.weight has 8 by its shapes"
    )


def test_the_norms_tell_the_width(tmp_path: Path) -> None:
    norm = np.ones(64, np.float32)
    checkpoint = model(tmp_path, {}, **quantised_rows(2, 16), **{"model.norm.weight": norm})
    assert checkpoint.tensors["model.embed_tokens.weight"].width == 64


@pytest.mark.parametrize(("groups", "words"), [(3, 16), (2, 17), (1, 1)])
def test_shapes_that_no_packing_has(groups: int, words: int, tmp_path: Path) -> None:
    checkpoint = model(tmp_path, {}, **quantised_rows(groups, words))
    assert checkpoint.format == "safetensors"
    assert len(checkpoint.tensors) == 3


def test_look_alikes_are_left(tmp_path: Path) -> None:
    tensors = {
        "a.weight": np.zeros((3, 4), np.float32), "a.scales": np.zeros((3, 1), np.float32),
        "b.weight": np.zeros((3, 4), np.uint32), "b.scales": np.zeros((2, 1), np.float32),
        "c.scales": np.zeros(3, np.float32), "d.weight_scale": np.zeros(3, np.float32),
        "e.weight": np.zeros((3, 4), np.float32), "e.weight_scale": np.zeros(3, np.float32),
        "f.weight": np.zeros((3, 4), np.float32), "f.SCB": np.zeros(3, np.float32),
        "g.weight": np.zeros((3, 4), np.float32), "g.weight.absmax": np.zeros(3, np.float32),
        "h_scales": np.zeros(3, np.uint8), "i.weight_packed": np.zeros((3, 4), np.int32),
        "i.weight_scale": np.zeros((3, 1), np.float32),
    }  # fmt: skip
    checkpoint = model(tmp_path, {}, **tensors)
    assert set(checkpoint.tensors) == set(tensors)
    assert checkpoint.format == "safetensors"


def fp8(write: Write, scale: Any, *, name: str, rows: int = 260, width: int = 200) -> Checkpoint:
    weight = np.random.default_rng(0).normal(0, 1, (rows, width)).astype(ml_dtypes.float8_e4m3fn)
    scale = np.asarray(scale, np.float32)
    header = {
        "a.weight": {"dtype": "F8_E4M3", "shape": [rows, width],
                     "data_offsets": [0, weight.nbytes]},
        name: {"dtype": "F32", "shape": list(scale.shape),
               "data_offsets": [weight.nbytes, weight.nbytes + scale.nbytes]},
    }  # fmt: skip
    return opened(
        write(f"{name}.safetensors", safetensors_bytes(header, weight.tobytes() + scale.tobytes()))
    )


@pytest.mark.parametrize(
    "scale", [0.5, [0.5], [[0.5]], np.arange(260), np.arange(260)[:, None]],
    ids=["scalar", "one", "matrix", "vector", "column"],
)  # fmt: skip
def test_fp8_with_a_scale_for_all_or_for_each_row(scale: Any, write: Write) -> None:
    checkpoint = fp8(write, scale, name="a.weight_scale")
    plain = fp8(write, 1.0, name="other")
    factors = np.asarray(scale, np.float32).reshape(-1, 1)
    assert list(checkpoint.tensors) == ["a.weight"]
    assert np.array_equal(values(checkpoint, "a.weight"), values(plain, "a.weight") * factors)
    assert checkpoint.tensors["a.weight"].parameters == 52_000


def test_fp8_with_a_scale_for_each_block(write: Write) -> None:
    scale = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    checkpoint = fp8(write, scale, name="a.weight_scale_inv")
    plain = values(fp8(write, 1.0, name="other"), "a.weight")
    expected = plain * np.kron(scale, np.ones((128, 128)))[:260, :200].astype(np.float32)
    assert np.array_equal(values(checkpoint, "a.weight"), expected)
    assert np.array_equal(values(checkpoint, "a.weight", range(120, 257)), expected[120:257])


def test_nvfp4_of_modelopt(write: Write) -> None:
    codes = np.random.default_rng(0).integers(0, 16, (4, 32)).astype(np.uint8)
    weight = codes[:, ::2] | codes[:, 1::2] << 4
    scale = np.full((4, 2), 0x38, np.uint8)  # 1.0 as E4M3
    parts: list[tuple[str, str, Any]] = [
             ("a.weight", "U8", weight), ("a.weight_scale", "F8_E4M3", scale),
             ("a.weight_scale_2", "F32", np.float32(0.25)),
             ("a.input_scale", "F32", np.float32(1))]  # fmt: skip
    header, data = {}, b""
    for name, dtype, array in parts:
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}  # fmt: skip
        data += array.tobytes()
    checkpoint = opened(write("m.safetensors", safetensors_bytes(header, data)))
    assert list(checkpoint.tensors) == ["a.weight"]
    expected = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32) * 0.25
    assert np.array_equal(values(checkpoint, "a.weight"), expected)


@pytest.mark.parametrize(
    ("scheme", "tensors", "shape"),
    [
        ("GPTQ", {"a.qweight": (np.int32, (16, 24)), "a.scales": (np.float16, (2, 24)),
                  "a.qzeros": (np.int32, (2, 3)), "a.g_idx": (np.int32, (128,))}, (128, 24)),
        ("AWQ", {"a.qweight": (np.int32, (128, 3)), "a.scales": (np.float16, (2, 24)),
                 "a.qzeros": (np.int32, (2, 3))}, (128, 24)),
        ("bitsandbytes", {"a.weight": (np.uint8, (50, 1)), "a.weight.absmax": (np.uint8, (2,)),
                          "a.weight.quant_map": (np.float32, (16,))}, (100,)),
        ("bitsandbytes", {"a.weight": (np.int8, (5, 6)), "a.SCB": (np.float32, (5,))}, (5, 6)),
        ("MXFP4", {"a_blocks": (np.uint8, (2, 5, 3, 16)), "a_scales": (np.uint8, (2, 5, 3))},
         (2, 5, 96)),
    ],
)  # fmt: skip
def test_schemes_that_leave_tables_alone_are_counted(
    scheme: str, tensors: dict[str, Any], shape: tuple[int, ...], tmp_path: Path
) -> None:
    stored = {name: np.zeros(size, kind) for name, (kind, size) in tensors.items()}
    checkpoint = model(tmp_path, {}, **stored)
    (info,) = checkpoint.tensors.values()
    assert (info.shape, info.parameters) == (shape, int(np.prod(shape)))
    assert info.nbytes == sum(array.nbytes for array in stored.values())
    with pytest.raises(CheckpointError, match=f"packed by {scheme} and not read"):
        list(checkpoint.blocks(info.name))


def test_bits_of_compressed_tensors_from_the_config(tmp_path: Path) -> None:
    shutil.copy(DATA / "compressed.safetensors", tmp_path / "model.safetensors")
    config = {"quantization_config": {"config_groups": {"group_0": {"weights": {"num_bits": 8}}}}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert opened(tmp_path).tensors["b8.weight_packed"].shape == (5, 40)
