"""GGUF checkpoints, against files that the gguf package writes and its own dequantising."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.core.roles import embedding_tables
from embcalc.errors import CheckpointError, MissingExtraError
from tests.checkpoints.conftest import opened, values

gguf = pytest.importorskip("gguf")
TABLE = np.random.default_rng(0).normal(0, 0.02, (40, 512)).astype(np.float32)
Build = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Write a GGUF file: `build({"output.weight": array}, types={…}, blocks=2)`."""

    def write(
        tensors: dict[str, NDArray[Any]],
        types: dict[str, str] | None = None,
        *,
        name: str = "m.gguf",
        endian: str = "LITTLE",
        integers: dict[str, int] | None = None,
    ) -> Path:
        path = tmp_path / name
        writer = gguf.GGUFWriter(path, "llama", endianess=gguf.GGUFEndian[endian])
        for key, value in (integers or {}).items():
            writer.add_uint32(key, value)
        for tensor, data in tensors.items():
            kind = (types or {}).get(tensor)
            raw = None if kind is None else gguf.GGMLQuantizationType[kind]
            writer.add_tensor(tensor, data, raw_dtype=raw)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


PACKABLE = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4"]
OTHERS = sorted(
    {kind.name for kind in gguf.quants._type_traits} - {*PACKABLE, "BF16", "F16", "F32", "Q1_0"}
)


def packed(kind: str) -> NDArray[np.uint8]:
    """Quantise, or, where the package only reads a type, take any bytes."""
    code = gguf.GGMLQuantizationType[kind]
    if kind in PACKABLE:
        quantised: NDArray[np.uint8] = gguf.quants.quantize(TABLE, code)
        return quantised
    block, size = gguf.GGML_QUANT_SIZES[code]
    shape = (len(TABLE), TABLE.shape[1] // block * size)
    return np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize("kind", [*PACKABLE, *OTHERS])
def test_quantised_rows(kind: str, build: Build) -> None:
    data = packed(kind)
    checkpoint = opened(build({"token_embd.weight": data}, {"token_embd.weight": kind}))
    info = checkpoint.tensors["token_embd.weight"]
    assert (info.shape, info.dtype.name, info.nbytes) == (TABLE.shape, kind, data.nbytes)
    assert info.parameters == TABLE.size
    with np.errstate(all="ignore"):
        expected = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[kind])
    assert np.array_equal(values(checkpoint, info.name), expected, equal_nan=True)
    part = values(checkpoint, info.name, range(7, 31))
    assert np.array_equal(part, expected[7:31], equal_nan=True)
    assert len(list(checkpoint.blocks(info.name, range(3, 3)))) == 0


def test_our_table_of_types_is_that_of_the_package() -> None:
    from embcalc.core.dtypes import GGML_DTYPES

    ours = {code: (d.name, d.block, d.nbytes(d.block)) for code, d in GGML_DTYPES.items()}
    theirs = {kind.value: (kind.name, *size) for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert theirs.items() <= ours.items()


@pytest.mark.parametrize("endian", ["LITTLE", "BIG"])
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, np.int32])
def test_plain_rows_of_both_byte_orders(endian: str, kind: type, build: Build) -> None:
    table: NDArray[Any] = (TABLE * 100).astype(kind)
    checkpoint = opened(build({"token_embd.weight": table}, endian=endian))
    assert checkpoint.format == "gguf"
    assert np.array_equal(values(checkpoint, "token_embd.weight"), table.astype(np.float32))


def test_quantised_big_endian_files_are_not_read(build: Build) -> None:
    checkpoint = opened(build({"a": packed("Q8_0")}, {"a": "Q8_0"}, endian="BIG"))
    with pytest.raises(CheckpointError, match="is big-endian and Q8_0") as raised:
        checkpoint.blocks("a")
    assert raised.value.hint == "convert it to little endian with gguf-convert-endian"


def test_without_the_extra(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = opened(build({"a": packed("Q8_0"), "b": TABLE}, {"a": "Q8_0"}))
    real = builtins.__import__

    def absent(name: str, *rest: Any, **named: Any) -> Any:
        if name == "gguf":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError) as raised:
        list(checkpoint.blocks("a"))
    assert raised.value.hint == "pip install 'embcalc[gguf]'"
    assert next(iter(checkpoint.blocks("b"))).values.shape[1] == 512


def test_a_type_that_the_package_cannot_read(build: Build) -> None:
    path = build({"a": np.zeros((2, 292), np.uint8)}, {"a": "Q8_K"})
    with pytest.raises(CheckpointError, match="cannot dequantise Q8_K") as raised:
        list(opened(path).blocks("a"))
    assert raised.value.hint == "pip install --upgrade gguf"


def test_tables_and_metadata(build: Build) -> None:
    tensors = {"token_embd.weight": TABLE, "blk.0.attn_q.weight": TABLE, "output.weight": TABLE}
    checkpoint = opened(build(tensors, integers={"llama.block_count": 1}))
    assert [table.name for table in embedding_tables(checkpoint.tensors)] == [
        "token_embd.weight",
        "output.weight",
    ]
    assert checkpoint.metadata["general.architecture"] == "llama"
    assert checkpoint.metadata["llama.block_count"] == "1"
    assert checkpoint.problems == ()


def test_a_truncated_file(build: Build) -> None:
    path = build({"a": TABLE, "b": TABLE})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError) as raised:
        opened(path)
    assert raised.value.message.startswith(f"{path} is cut short: ")
    assert raised.value.message.endswith("1 of 2 tensors are whole")


def test_an_offset_past_the_end(build: Build) -> None:
    path = build({"abc": TABLE[:, :32]})
    content = path.read_bytes()
    at = content.index(b"abc") + 3 + 4 + 16 + 4
    path.write_bytes(content[:at] + (1 << 40).to_bytes(8, "little") + content[at + 8 :])
    with pytest.raises(CheckpointError, match=r"places 'abc' at byte .*, past its end at"):
        opened(path)


def test_tensors_that_share_bytes(build: Build) -> None:
    path = build({"first": TABLE[:, :32], "second": TABLE[:, :32]})
    content = path.read_bytes()
    at = content.index(b"second") + 6 + 4 + 16 + 4
    path.write_bytes(content[:at] + bytes(8) + content[at + 8 :])
    (problem,) = opened(path).problems
    assert problem.message == "tensors share bytes: first and second"


def test_a_lost_block(build: Build) -> None:
    tensors = {f"blk.{n}.attn_q.weight": TABLE[:2] for n in (0, 1, 3)}
    path = build(tensors, integers={"llama.block_count": 5})
    (problem,) = opened(path).problems
    assert problem.message == "blocks without any tensor: 2, 4 of 5"
    assert problem.severity == "error"


def test_fewer_tensors_than_promised(build: Build) -> None:
    path = build({"a": TABLE}, integers={"split.tensors.count": 129})
    (problem,) = opened(path).problems
    assert problem.message == "1 of 129 tensors are present"


def test_a_split_file(build: Build, tmp_path: Path) -> None:
    for number in (1, 2):
        build(
            {f"blk.{number - 1}.a": TABLE},
            name=f"q-{number:05}-of-00002.gguf",
            integers={"split.count": 2, "split.tensors.count": 2, "llama.block_count": 2},
        )
    checkpoint = opened(tmp_path)
    assert (list(checkpoint.tensors), checkpoint.problems) == (["blk.0.a", "blk.1.a"], ())
    assert np.array_equal(values(checkpoint, "blk.1.a"), TABLE)


def test_of_several_quantisations_the_largest(build: Build, tmp_path: Path) -> None:
    build({"a": packed("Q4_0")}, {"a": "Q4_0"}, name="m-Q4_0.gguf")
    build({"a": packed("Q8_0")}, {"a": "Q8_0"}, name="m-Q8_0.gguf")
    build({"a": TABLE}, name="mmproj-F32.gguf")
    checkpoint = opened(tmp_path)
    assert checkpoint.files == ("m-Q8_0.gguf",)
    assert checkpoint.problems[0].message == "read m-Q8_0.gguf, the largest; left m-Q4_0.gguf"
