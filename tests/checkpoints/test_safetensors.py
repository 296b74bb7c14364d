"""safetensors: the reference parser and torch decide what is right."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from embcalc.checkpoints import Checkpoint
from embcalc.core.dtypes import BY_NAME, SAFETENSORS_DTYPES
from embcalc.errors import CheckpointError, EmbcalcError, SourceError
from tests.checkpoints.conftest import opened, safetensors_bytes, values

Write = Callable[[str, bytes], Path]
FIELDS = '"dtype":"F32","shape":[1],"data_offsets":[0,4]'
ONE = f'"a":{{{FIELDS}}}'


def accepted_by_reference(path: Path) -> bool:
    try:
        with safe_open(path, "numpy") as file:
            list(file.keys())
    except (SafetensorError, OSError):
        return False
    return True


def accepted_by_us(path: Path) -> bool:
    try:
        opened(path)
    except CheckpointError:
        return False
    return True


HEADERS = [
    f"{{{ONE}}}",
    f"  \n\t{{{ONE}}}  ",
    '{"a":["F32",[1],[0,4]]}',
    '{"a":["F32",[1],[0,4],7]}',
    '{"a":{"dtype":{"F32":null},"shape":[1],"data_offsets":[0,4]}}',
    '{"a":{"dtype":{"F32":{}},"shape":[1],"data_offsets":[0,4]}}',
    f'{{"a":{{{FIELDS},"dtype":"F32"}}}}',
    f"{{{ONE},{ONE}}}",
    f'{{"__metadata__":null,{ONE}}}',
    f'{{"__metadata__":{{"a":"1","a":"2"}},{ONE}}}',
    f'{{"__metadata__":{{}},"__metadata__":{{}},{ONE}}}',
    f'{{"__metadata__":{{"a":1}},{ONE}}}',
    f'{{"__metadata__":["a"],{ONE}}}',
    f'{{{ONE},"__metadata__":{{"é":"\\u00e9"}}}}',
    f'{{"a":{{{FIELDS},"x":1e999}}}}',
    f'{{"a":{{{FIELDS},"x":NaN}}}}',
    f'{{"a":{{{FIELDS},"x":-0}}}}',
    f'{{"a":{{{FIELDS},"x":1,"x":2}}}}',
    f'{{"a":{{{FIELDS},"x":"dtype"}}}}',
    f'{{"a":{{{FIELDS},"x":"\\ud800"}}}}',
    f'{{"a":{{{FIELDS},"x":"\x01"}}}}',
    f'{{"a":{{{FIELDS},"x":{"[" * 124}{"]" * 124}}}}}',
    f'{{"a":{{{FIELDS},"x":{"[" * 126}{"]" * 126}}}}}',
    f'{{"a":{{{FIELDS},"x":{"[" * 5000}{"]" * 5000}}}}}',
    f'{{"a":{{{FIELDS},"x":123456789012345678901234567890}}}}',
    f'{{"a":{{{FIELDS},"x":{"9" * 400}}}}}',
    '{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[-0,4]}}',
    '{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,5]}}',
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":{"0":0,"1":4}}}',
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}',
    '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}}',
    f'{{"b":{{"dtype":"F32","shape":[18446744073709551615,0],"data_offsets":[0,0]}},{ONE}}}',
    f'{{"b":{{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}},{ONE}}}',
    '{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F4","shape":[8],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]},'
    '"b":{"dtype":"U8","shape":[],"data_offsets":[3,4]}}',
    '{"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}',
    '{"a":{"dtype":"F32","shape":[1]}}',
    '{"a\\ud83d\\ude00":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    '{"a\\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    '{"\\u0061":{"\\u0064type":"F32","shape":[1],"data_offsets":[0,4]}}',
    '{"layer-0":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    f"[{{{ONE}}}]",
    f"{{{ONE}}}x",
    f"{{{ONE}}}\0",
    f"\ufeff{{{ONE}}}",
    '{"a":null}',
    "{}",
    "null",
    "",
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_unusual_headers_as_the_reference(header: str, write: Write) -> None:
    path = write("m.safetensors", safetensors_bytes(header, bytes(4)))
    assert accepted_by_us(path) == accepted_by_reference(path)


def test_a_header_that_is_no_utf8(write: Write) -> None:
    path = write("m.safetensors", safetensors_bytes(b'{"\xff":1}', bytes(4)))
    assert not accepted_by_reference(path)
    with pytest.raises(CheckpointError, match="is no UTF-8 text"):
        opened(path)


def valid_header(chance: random.Random) -> tuple[dict[str, Any], int]:
    header: dict[str, Any] = {}
    if chance.random() < 0.5:
        header["__metadata__"] = {"format": "pt"}
    end = 0
    for number in range(chance.randrange(1, 5)):
        dtype = chance.choice(SAFETENSORS_DTYPES)
        shape = [chance.randrange(4) for _ in range(chance.randrange(3))] + [4]
        start, end = end, end + dtype.nbytes(int(np.prod(shape)))
        header[f"t{number}.weight"] = {
            "dtype": dtype.name, "shape": shape, "data_offsets": [start, end]
        }  # fmt: skip
    return header, end


def mutated(chance: random.Random) -> bytes:
    """Break a valid file a little, in its text or in its lengths; sometimes not at all."""
    header, size = valid_header(chance)
    text = json.dumps(header, separators=chance.choice(((",", ":"), (", ", ": "))))
    raw = bytearray(text.encode())
    for _ in range(chance.choice((0, 1, 1, 1, 2))):
        at = chance.randrange(len(raw))
        change = chance.randrange(4)
        if change == 0:
            raw[at] = chance.randrange(256)
        elif change == 1:
            del raw[at]
        elif change == 2:
            raw[at:at] = chance.choice((b"0", b"-", b'"', b"{", b"\\u0041", b" ", b",", b"9"))
        else:
            digits = [place for place, byte in enumerate(raw) if 48 <= byte <= 57]
            raw[chance.choice(digits)] = chance.choice(b"0123456789")
    extra = chance.choice((0, 0, 0, 0, 1, -1))
    content = safetensors_bytes(bytes(raw), bytes(max(0, size + extra)))
    if chance.random() < 0.05:
        content = content[: chance.randrange(len(content))]
    return content


def test_thousands_of_mutated_files_as_the_reference(tmp_path: Path) -> None:
    chance = random.Random(20)
    path = tmp_path / "m.safetensors"
    verdicts = []
    for _ in range(2500):
        path.write_bytes(mutated(chance))
        verdicts.append(accepted_by_reference(path))
        assert accepted_by_us(path) == verdicts[-1], path.read_bytes()
    assert 250 < sum(verdicts) < 2250


def test_both_ways_of_parsing_agree() -> None:
    from embcalc.checkpoints import safetensors_header as header

    chance = random.Random(21)
    for _ in range(300):
        raw = json.dumps(valid_header(chance)[0]).encode()
        usual = header._parse_usual(raw.replace(b'": ', b'":'))
        assert usual == header._parse_any(raw)
        assert usual is not None


NUMBERS = np.array([[0, 1, 2, 3, 4, 6, 0.5, 1.5]] * 3, np.float32)
DTYPES = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "I16": np.int16, "U16": np.uint16,
    "I32": np.int32, "U32": np.uint32, "I64": np.int64, "U64": np.uint64,
    "F16": np.float16, "F32": np.float32, "F64": np.float64, "BF16": ml_dtypes.bfloat16,
    "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu, "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_values_of_every_dtype_of_whole_bytes(name: str, write: Write) -> None:
    stored = NUMBERS.astype(DTYPES[name])
    entry = {"dtype": name, "shape": [3, 8], "data_offsets": [0, stored.nbytes]}
    path = write("m.safetensors", safetensors_bytes({"a": entry}, stored.tobytes()))
    checkpoint = opened(path)
    assert np.array_equal(values(checkpoint, "a"), stored.astype(np.float32), equal_nan=True)
    assert np.array_equal(
        values(checkpoint, "a", range(1, 2)), stored[1:2].astype(np.float32), equal_nan=True
    )
    assert checkpoint.tensors["a"].dtype is BY_NAME[name]


def test_complex_numbers_come_as_pairs(write: Write) -> None:
    stored = np.array([[3 + 4j], [0 - 1j]], np.complex64)
    entry = {"dtype": "C64", "shape": [2, 1], "data_offsets": [0, 16]}
    path = write("m.safetensors", safetensors_bytes({"a": entry}, stored.tobytes()))
    assert values(opened(path), "a").tolist() == [[3, 4], [0, -1]]


def packed(codes: np.ndarray[Any, Any], bits: int) -> bytes:
    """Pack codes into a little-endian bit stream, the first in the lowest bits."""
    number = sum(int(code) << bits * place for place, code in enumerate(codes.ravel()))
    return number.to_bytes(-(-codes.size * bits // 8), "little")


SUB_BYTE = {
    "F4": (4, ml_dtypes.float4_e2m1fn),
    "F6_E2M3": (6, ml_dtypes.float6_e2m3fn),
    "F6_E3M2": (6, ml_dtypes.float6_e3m2fn),
}


@pytest.mark.parametrize("width", [4, 8, 1, 3])
@pytest.mark.parametrize("name", SUB_BYTE)
def test_values_of_sub_byte_dtypes(name: str, width: int, write: Write) -> None:
    bits, kind = SUB_BYTE[name]
    codes = np.random.default_rng(0).integers(0, 1 << bits, (8, width)).astype(np.uint8)
    data = packed(codes, bits)
    entry = {"dtype": name, "shape": [8, width], "data_offsets": [0, len(data)]}
    checkpoint = opened(write("m.safetensors", safetensors_bytes({"a": entry}, data)))
    expected = codes.view(kind).astype(np.float32)
    assert np.array_equal(values(checkpoint, "a"), expected)
    assert np.array_equal(values(checkpoint, "a", range(3, 6)), expected[3:6])


@pytest.mark.torch
def test_f4_as_torch_packs_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    packed_bytes = torch.arange(0, 256, 16, dtype=torch.uint8).reshape(2, 8) + 1
    save_torch({"a": packed_bytes.view(torch.float4_e2m1fn_x2)}, tmp_path / "m.safetensors")
    checkpoint = opened(tmp_path / "m.safetensors")
    assert checkpoint.tensors["a"].shape == (2, 16)
    row = values(checkpoint, "a")[0]
    assert row[0::2].tolist() == [0.5] * 8
    assert row[1::2].tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def test_rows_arrive_in_blocks(tiny_checkpoint: Callable[..., Path]) -> None:
    table = np.arange(640_000 * 8, dtype=np.float32).reshape(-1, 8)
    checkpoint = opened(tiny_checkpoint({"wte": table}) / "model.safetensors")
    blocks = list(checkpoint.blocks("wte"))
    assert len(blocks) == 5
    assert np.array_equal(values(checkpoint, "wte"), table)
    assert np.array_equal(values(checkpoint, "wte", range(9000, 310_000)), table[9000:310_000])


def test_headers_that_torch_wrote_in_any_order(write: Write) -> None:
    header = {
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
        "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "none": {"dtype": "F32", "shape": [0, 3], "data_offsets": [12, 12]},
        "scalar": {"dtype": "I64", "shape": [], "data_offsets": [12, 20]},
    }
    data = np.array([1, 2, 3], np.float32).tobytes() + np.int64(7).tobytes()
    checkpoint = opened(write("m.safetensors", safetensors_bytes(header, data)))
    assert list(checkpoint.tensors) == ["a", "b", "none", "scalar"]
    assert values(checkpoint, "b").tolist() == [[2], [3]]
    assert values(checkpoint, "scalar").tolist() == [[7]]
    assert list(checkpoint.blocks("none")) == []
    assert len(checkpoint.tensors) == 4


def test_metadata_and_facts(tmp_path: Path) -> None:
    save_file({"a": np.zeros((2, 3), np.float16)}, tmp_path / "m.safetensors", {"format": "pt"})
    checkpoint = opened(tmp_path / "m.safetensors")
    assert checkpoint.metadata == {"format": "pt"}
    assert (checkpoint.format, checkpoint.files) == ("safetensors", ("m.safetensors",))
    assert checkpoint.label == str(tmp_path / "m.safetensors")
    info = checkpoint.tensors["a"]
    assert (info.shape, info.nbytes, info.file) == ((2, 3), 12, "m.safetensors")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    save_file({"a": np.zeros((2, 3), np.float32)}, tmp_path / "m.safetensors")
    return opened(tmp_path / "m.safetensors")


@pytest.mark.parametrize("rows", [range(3), range(1, 4), range(-1, 1), range(0, 2, 2)])
def test_rows_that_are_not_there(checkpoint: Checkpoint, rows: range) -> None:
    with pytest.raises(CheckpointError, match="are not in 'a': it has 2"):
        list(checkpoint.blocks("a", rows))


def test_no_rows(checkpoint: Checkpoint) -> None:
    assert list(checkpoint.blocks("a", range(1, 1))) == []


def test_a_width_of_zero(write: Write) -> None:
    entry = {"dtype": "F32", "shape": [3, 0], "data_offsets": [0, 0]}
    checkpoint = opened(write("m.safetensors", safetensors_bytes({"a": entry})))
    (block,) = checkpoint.blocks("a")
    assert block.values.shape == (3, 0)


def test_a_row_too_wide_to_read(tmp_path: Path) -> None:
    width = 1 << 27
    entry = {"dtype": "F32", "shape": [2, width], "data_offsets": [0, 8 * width]}
    path = tmp_path / "m.safetensors"
    with path.open("wb") as file:
        file.write(safetensors_bytes({"a": entry}))
        file.truncate(file.tell() + 8 * width)
    with pytest.raises(CheckpointError, match="take 536,870,912 bytes each: too wide"):
        next(opened(path).blocks("a"))


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save_file({"a": np.zeros((100_000, 32), np.float32)}, path)
    blocks = opened(path).blocks("a")
    next(blocks)
    with path.open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(SourceError, match="was cut short while it was read"):
        list(blocks)


TWO = {
    "whole": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
    "cut": {"dtype": "F32", "shape": [4, 2], "data_offsets": [16, 48]},
}


def refused(path: Path) -> EmbcalcError:
    with pytest.raises(EmbcalcError) as raised:
        opened(path)
    error = raised.value
    assert "\n" not in error.message
    assert "\n" not in (error.hint or "")
    return error


def test_truncation_says_what_is_whole(write: Write) -> None:
    content = safetensors_bytes(TWO, bytes(48))
    path = write("m.safetensors", content[:-20])
    error = refused(path)
    needed = len(content)
    assert error.message == (
        f"{path} is cut short: {needed - 20:,} of {needed:,} bytes"
        f" ({100 * (needed - 20) / needed:.1f}%), 1 of 2 tensors are whole"
    )
    assert error.hint == ("download it again, or check the disk that wrote it (whole: whole)")


def test_truncation_inside_the_header(write: Write) -> None:
    path = write("m.safetensors", safetensors_bytes(TWO)[:40])
    assert refused(path).message.startswith(
        f"{path} is cut short inside its header: 40 bytes, and the header alone needs"
    )


def test_too_many_bytes(write: Write) -> None:
    path = write("m.safetensors", safetensors_bytes(TWO, bytes(50)))
    assert refused(path).message == f"{path} has 2 bytes more than its header describes"


def test_a_header_larger_than_the_limit(write: Write) -> None:
    path = write("m.safetensors", (100_000_001).to_bytes(8, "little") + b'{"a":' + bytes(100))
    assert "promise a header of 100,000,001 bytes" in refused(path).message


def test_bytes_too_few_for_any_header(write: Write) -> None:
    path = write("m.safetensors", b"abcdefg")
    assert "7 bytes hold no header" in refused(path).message


def test_a_broken_header_names_the_tensor(write: Write) -> None:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}
    path = write("m.safetensors", safetensors_bytes({"a" * 500: entry}, bytes(4)))
    error = refused(path)
    assert error.message.endswith("takes 8 bytes by its shape, 4 in the file")
    assert len(error.message) < 400
