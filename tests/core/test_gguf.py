"""The GGUF header, against files that the gguf package writes and reads."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.core.gguf import GgufArray, read_header, read_numbers, read_strings
from embcalc.errors import CheckpointError
from embcalc.sources.local import LocalFile

gguf = pytest.importorskip("gguf")


@pytest.fixture(params=["LITTLE", "BIG"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> LocalFile:
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama", endianess=gguf.GGUFEndian[request.param])
    writer.add_uint32("llama.block_count", 2)
    writer.add_float32("llama.scale", 0.5)
    writer.add_bool("llama.flag", True)
    writer.add_int64("llama.negative", -7)
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "é", "", "我" * 700_000])
    writer.add_array("tokenizer.ggml.scores", [0.0, -1.5, 2.0, 3.25])
    writer.add_array("tokenizer.ggml.token_type", [3, 1, 1, 1])
    writer.add_tensor("token_embd.weight", np.arange(64, dtype=np.float32).reshape(2, 32))
    writer.add_tensor("norm", np.ones(5, np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return LocalFile(path, "m.gguf")


def test_what_the_gguf_package_writes(written: LocalFile) -> None:
    header = read_header(written)
    assert header.version == 3
    assert header.text("general.architecture") == "llama"
    assert header.integer("llama.block_count") == 2
    assert header.integer("llama.flag") is None
    assert header.metadata["llama.flag"] is True
    assert header.metadata["llama.scale"] == 0.5
    assert header.metadata["llama.negative"] == -7
    table, norm = header.tensors
    assert (table.name, table.shape, table.dtype.name) == ("token_embd.weight", (2, 32), "F32")
    assert (norm.shape, norm.dtype.name, norm.nbytes) == ((5,), "F16", 10)
    order = ">f4" if header.big_endian else "<f4"
    stored = np.frombuffer(written.read(table.start, table.nbytes), order)
    assert stored.tolist() == list(range(64))
    assert header.end == norm.start + 10


def test_arrays_are_fetched_when_wanted(written: LocalFile) -> None:
    header = read_header(written)
    tokens = header.metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, GgufArray)
    assert tokens.count == 4
    strings = read_strings(written, header, "tokenizer.ggml.tokens")
    assert strings == ["<s>", "é", "", "我" * 700_000]
    scores = read_numbers(written, header, "tokenizer.ggml.scores")
    assert scores is not None
    assert scores.tolist() == [0.0, -1.5, 2.0, 3.25]
    types = read_numbers(written, header, "tokenizer.ggml.token_type")
    assert types is not None
    assert types.tolist() == [3, 1, 1, 1]
    assert read_strings(written, header, "tokenizer.ggml.scores") is None
    assert read_numbers(written, header, "tokenizer.ggml.tokens") is None
    assert read_strings(written, header, "absent") is None


def pair(key: bytes, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + value


def info(name: bytes, dims: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    text = struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims))
    return text + struct.pack(f"<{len(dims)}QIQ", *dims, kind, offset)


def header_bytes(
    *, version: int = 3, tensors: tuple[bytes, ...] = (), pairs: tuple[bytes, ...] = (),
    counts: tuple[int, int] | None = None,
) -> bytes:  # fmt: skip
    n, m = counts or (len(tensors), len(pairs))
    return b"GGUF" + struct.pack("<IQQ", version, n, m) + b"".join(pairs) + b"".join(tensors)


@pytest.fixture
def refusal(tmp_path: Path) -> Callable[[bytes], str]:
    def refuse(content: bytes) -> str:
        path = tmp_path / "m.gguf"
        path.write_bytes(content)
        with pytest.raises(CheckpointError) as raised:
            read_header(LocalFile(path, "m.gguf"))
        assert raised.value.hint == "download or convert it again"
        assert raised.value.message.startswith(f"{path} is a broken GGUF file at byte ")
        return raised.value.message.partition(": ")[2]

    return refuse


def nested(depth: int) -> bytes:
    return struct.pack("<IQ", 9, 1) * depth + struct.pack("<IQ", 0, 0)


BROKEN = [
    (b"GGML" + bytes(20), "no GGUF file: it does not begin with 'GGUF'"),
    (b"GG", "it ends at byte 2"),
    (header_bytes(version=1), "GGUF version 1 (embcalc reads versions 2 and 3)"),
    (header_bytes(version=9), "GGUF version 9 (embcalc reads versions 2 and 3)"),
    (header_bytes(counts=(1 << 60, 0)),
     "1,152,921,504,606,846,976 tensors promised, and the file ends before"),
    (header_bytes(counts=(0, 1 << 60)),
     "1,152,921,504,606,846,976 metadata entries promised, and the file ends before"),
    (header_bytes(pairs=(pair(b"a", 99, bytes(20)),)), "unknown type 99 of a metadata value"),
    (header_bytes(pairs=(pair(b"a", 9, struct.pack("<IQ", 99, 1) + bytes(9)),)),
     "unknown type 99 of an array"),
    (header_bytes(pairs=(pair(b"a", 9, struct.pack("<IQ", 8, 1 << 50)),)),
     "1,125,899,906,842,624 strings promised, and the file ends before"),
    (header_bytes(pairs=(pair(b"a", 9, struct.pack("<IQ", 10, 100)),)),
     "100 numbers promised, and the file ends before"),
    (header_bytes(pairs=(pair(b"a", 9, struct.pack("<IQQ", 8, 1, 1 << 63)),)), "it ends at byte"),
    (header_bytes(pairs=(pair(b"a", 8, struct.pack("<Q", 1 << 40)),)),
     "a string of 1,099,511,627,776 bytes"),
    (header_bytes(pairs=(pair(b"a", 9, nested(9)),)), "arrays nested too deep"),
    (header_bytes(pairs=(pair(b"general.alignment", 4, bytes(4)),)), "an alignment of 0"),
    (header_bytes(pairs=(pair(b"general.alignment", 8, bytes(8)),)), "an alignment of "),
    (header_bytes(tensors=(info(b"a", (1,) * 5),)), "tensor 'a' has 5 axes"),
    (header_bytes(tensors=(info(b"a", (32,), 77),)), "tensor 'a' has the unknown type 77"),
    (header_bytes(tensors=(info(b"a", (33, 2), 8),)),
     "rows of tensor 'a' have 33 scalars, and Q8_0 stores 32 together"),
    (header_bytes(tensors=(info(b"a", (1,)), info(b"a", (1,)))), "two tensors of one name"),
    (header_bytes(pairs=(pair(b"abc", 4, b"\\1"),)), "it ends at byte"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "what"), BROKEN, ids=range(len(BROKEN)))
def test_broken_headers(content: bytes, what: str, refusal: Callable[[bytes], str]) -> None:
    assert refusal(content).startswith(what)


def test_nested_arrays_are_stepped_over(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(
        header_bytes(pairs=(pair(b"a", 9, nested(2)), pair(b"b", 4, struct.pack("<I", 5))))
    )
    assert read_header(LocalFile(path, "m.gguf")).metadata["b"] == 5


def test_version_2_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header_bytes(version=2, tensors=(info(b"a", (4, 2)),)))
    header = read_header(LocalFile(path, "m.gguf"))
    assert (header.version, header.tensors[0].shape) == (2, (2, 4))
