"""NumPy files, as numpy writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embcalc.errors import CheckpointError
from tests.checkpoints.conftest import opened, values

Write = Callable[[str, bytes], Path]
TABLE = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    "kind",
    ["?", "u1", "i1", "<i2", ">i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", ">f4",
     "<f8", ">f8"],
)  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(kind: str, order: Any, tmp_path: Path) -> None:
    table = np.asarray((TABLE % 2).astype(kind), order=order)
    np.save(tmp_path / "glove.npy", table)
    checkpoint = opened(tmp_path / "glove.npy")
    assert (checkpoint.format, list(checkpoint.tensors)) == ("numpy", ["glove"])
    assert checkpoint.tensors["glove"].nbytes == table.nbytes
    assert np.array_equal(values(checkpoint, "glove"), (TABLE % 2))
    assert np.array_equal(values(checkpoint, "glove", range(1, 3)), (TABLE % 2)[1:3])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "m.npz", wte=TABLE, ids=np.arange(3), swapped=TABLE.T.astype(">f4"))
    checkpoint = opened(tmp_path)
    assert list(checkpoint.tensors) == ["wte", "ids", "swapped"]
    assert np.array_equal(values(checkpoint, "wte"), TABLE)
    assert np.array_equal(values(checkpoint, "swapped"), TABLE.T)
    assert values(checkpoint, "ids").tolist() == [[0], [1], [2]]
    assert checkpoint.tensors["ids"].parameters == 0


def test_complex_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npy", np.array([[3 + 4j]], np.complex64))
    assert values(opened(tmp_path / "c.npy"), "c").tolist() == [[3, 4]]


@pytest.mark.parametrize(
    "array", [np.array([{}], object), np.array(["a"]), np.zeros(1, [("a", "f4")]),
              np.zeros(1, "M8[s]"), np.zeros(1, np.longdouble)],
    ids=["object", "text", "records", "dates", "longdouble"],
)  # fmt: skip
def test_other_values_are_refused(array: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(CheckpointError, match="values: not read") as raised:
        opened(tmp_path / "a.npy")
    assert raised.value.hint == "Python objects are refused; save plain numbers"


def npy(header: str) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000)}", "is cut short: "),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "has an impossible shape"),
        ("{'descr': '<f4', 'shape': (1,)}", "has a broken NumPy header: "),
        ("{'descr': 'zz', 'fortran_order': False, 'shape': (1,)}", "has a broken NumPy header: "),
        ("__import__('os')", "has a broken NumPy header: "),
        ("(" * 500, "has a broken NumPy header: "),
    ],
)
def test_broken_headers(header: str, what: str, write: Write) -> None:
    with pytest.raises(CheckpointError) as raised:
        opened(write("m.npy", npy(header) + bytes(8)))
    assert what in raised.value.message
    assert "\n" not in raised.value.message


def test_an_unknown_version(write: Write) -> None:
    with pytest.raises(CheckpointError, match="has a broken NumPy header"):
        opened(write("m.npy", b"\x93NUMPY\x09\x00" + bytes(100)))


def test_version_2(write: Write) -> None:
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n"
    content = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text
    checkpoint = opened(write("m.npy", content + np.float32(5).tobytes()))
    assert values(checkpoint, "m").tolist() == [[5]]
