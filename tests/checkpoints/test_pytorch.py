"""PyTorch files: those that torch wrote, and pickles that try to do more than hold tensors."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embcalc.checkpoints import pickle_machine
from embcalc.core.files import File
from embcalc.errors import CheckpointError
from tests.checkpoints.conftest import opened, values

Write = Callable[[str, bytes], Path]

# A tensor as torch pickles it, with the standard library alone: the tests of most of the reader
# run where torch is absent.


class Global:
    """Pickles as a reference to a global of another module."""

    def __init__(self, name: str) -> None:
        self.module, _, self.name = name.rpartition(".")


class Call:
    """Pickles as a call of a global."""

    def __init__(self, function: str, *arguments: Any) -> None:
        self.function, self.arguments = Global(function), arguments


class StorageId(tuple[Any, ...]):
    """Pickles as a persistent id."""

    __slots__ = ()


PurePickler: Any = pickle._Pickler


class Pickler(PurePickler):  # type: ignore[misc]
    """Writes the classes above."""

    def persistent_id(self, obj: Any) -> Any:
        return tuple(obj) if isinstance(obj, StorageId) else None

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, Global):
            return self.write(f"c{obj.module}\n{obj.name}\n".encode())
        if isinstance(obj, Call):
            self.save(obj.function)
            self.save(obj.arguments)
            return self.write(b"R")
        return super().save(obj, save_persistent_id)


def pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    Pickler(stream, 2).dump(value)
    return stream.getvalue()


def tensor(
    key: str,
    shape: tuple[int, ...],
    *,
    scalars: int,
    offset: int = 0,
    strides: tuple[int, ...] | None = None,
    storage: str = "torch.FloatStorage",
) -> Call:
    steps = strides or tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    identity = StorageId(("storage", Global(storage), key, "cpu", scalars))
    return Call("torch._utils._rebuild_tensor_v2", identity, offset, shape, steps, False, {})


def archive(value: Any, *, compress: bool = False, **storages: bytes) -> bytes:
    """Lay out a file of torch 1.6 and later."""
    stream = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method) as file:
        file.writestr("m/data.pkl", value if isinstance(value, bytes) else pickled(value))
        for key, data in storages.items():
            file.writestr(f"m/data/{key.removeprefix('k')}", data)
    return stream.getvalue()


NUMBERS = np.arange(12, dtype=np.float32)


@pytest.mark.parametrize("compress", [False, True])
def test_a_dictionary_of_tensors(compress: bool, write: Write) -> None:
    state = OrderedDict(
        wte=tensor("0", (3, 4), scalars=12), head=tensor("0", (3, 4), scalars=12),
        part=tensor("0", (2, 4), scalars=12, offset=4),
    )  # fmt: skip
    content = archive(state, compress=compress, k0=NUMBERS.tobytes())
    checkpoint = opened(write("m.bin", content))
    assert (checkpoint.format, checkpoint.problems) == ("pytorch", ())
    assert values(checkpoint, "wte").tolist() == NUMBERS.reshape(3, 4).tolist()
    assert values(checkpoint, "part", range(1, 2)).tolist() == [[8, 9, 10, 11]]
    storages = {name: info.storage for name, info in checkpoint.tensors.items()}
    assert storages["wte"] == storages["head"] != storages["part"]


@pytest.mark.parametrize(
    ("shape", "offset", "strides"),
    [
        ((4, 3), 0, (1, 4)),
        ((3, 2), 0, (4, 2)),
        ((3, 2), 1, (4, 1)),
        ((2, 2), 0, (1, 4)),
        ((5, 4), 4, (0, 1)),
        ((2, 3), 0, (0, 0)),
        ((3,), 0, (4,)),
        ((2, 2), 0, (8, 1)),
        ((2, 2), 0, (10, 1)),
        ((3, 2, 2), 0, (4, 2, 1)),
        ((2, 2, 2), 0, (6, 2, 1)),
        ((1, 3), 2, (99, 1)),
    ],
)
def test_views(shape: tuple[int, ...], offset: int, strides: tuple[int, ...], write: Write) -> None:
    view = tensor("0", shape, scalars=12, offset=offset, strides=strides)
    expected = np.lib.stride_tricks.as_strided(
        NUMBERS[offset:], shape, [4 * step for step in strides]
    ).reshape(shape[0], -1)
    checkpoint = opened(write("m.bin", archive({"a": view}, k0=NUMBERS.tobytes())))
    assert np.array_equal(values(checkpoint, "a"), expected)
    if shape[0] > 1:
        assert np.array_equal(values(checkpoint, "a", range(1, shape[0])), expected[1:])


def test_axes_in_disorder(write: Write) -> None:
    view = tensor("0", (2, 2, 3), scalars=12, strides=(6, 1, 2))
    checkpoint = opened(write("m.bin", archive({"a": view}, k0=NUMBERS.tobytes())))
    with pytest.raises(CheckpointError, match="the axes of 'a' are stored out of order"):
        list(checkpoint.blocks("a"))


def test_a_large_transposed_matrix_comes_in_tiles(write: Write, monkeypatch: Any) -> None:
    from embcalc.checkpoints import strided

    monkeypatch.setattr(strided, "TILE_BYTES", 1 << 12)
    table = np.arange(64 * 300, dtype=np.float32).reshape(64, 300)
    view = tensor("0", (300, 64), scalars=table.size, strides=(1, 300))
    checkpoint = opened(write("m.bin", archive({"a": view}, k0=table.tobytes())))
    assert len(list(checkpoint.blocks("a"))) == 19
    assert np.array_equal(values(checkpoint, "a"), table.T)


def test_a_training_checkpoint(write: Write) -> None:
    value = {
        "epoch": 3,
        "model": {"wte": tensor("0", (3, 4), scalars=12)},
        "optimizer": {"state": {0: {"exp_avg": tensor("0", (3, 4), scalars=12)}}},
    }
    checkpoint = opened(write("m.pt", archive(value, k0=NUMBERS.tobytes())))
    assert list(checkpoint.tensors) == ["wte"]
    (problem,) = checkpoint.problems
    assert problem.message == "read the tensors under 'model'; left epoch, optimizer"


def test_nested_dictionaries_lists_and_a_bare_tensor(write: Write) -> None:
    one = tensor("0", (3, 4), scalars=12)
    nested = {"a": {"b": one, "c": [one, (one,)]}, "optimizer": {"x": one}, "n": 1}
    checkpoint = opened(write("m.pt", archive(nested, k0=NUMBERS.tobytes())))
    assert list(checkpoint.tensors) == ["a.b", "a.c.0", "a.c.1.0"]
    checkpoint = opened(write("n.pt", archive(one, k0=NUMBERS.tobytes())))
    assert list(checkpoint.tensors) == ["tensor"]


def test_no_tensors(write: Write) -> None:
    with pytest.raises(CheckpointError, match="holds no tensors"):
        opened(write("m.pt", archive({"epoch": 1})))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("torch.HalfStorage", np.float16), ("torch.DoubleStorage", np.float64),
        ("torch.LongStorage", np.int64), ("torch.IntStorage", np.int32),
        ("torch.ShortStorage", np.int16), ("torch.CharStorage", np.int8),
        ("torch.ByteStorage", np.uint8), ("torch.BoolStorage", np.bool_),
        ("torch.cuda.FloatStorage", np.float32),
    ],
)  # fmt: skip
def test_storages(name: str, kind: type, write: Write) -> None:
    stored: Any = np.array([[0, 1], [1, 0]]).astype(kind)
    content = archive({"a": tensor("0", (2, 2), scalars=4, storage=name)}, k0=stored.tobytes())
    assert values(opened(write("m.bin", content)), "a").tolist() == [[0, 1], [1, 0]]


def legacy(value: Any, keys: list[str], *storages: bytes, little: bool = True) -> bytes:
    """Lay out a file of torch before 1.6."""
    head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": little}]
    everything: tuple[Any, ...] = (*head, value, keys)
    parts = [pickled(part) for part in everything]
    return b"".join(parts) + b"".join(struct.pack("<q", len(s) // 4) + s for s in storages)


def legacy_tensor(key: str, shape: tuple[int, ...], scalars: int) -> Call:
    call = tensor(key, shape, scalars=scalars)
    identity = StorageId((*call.arguments[0], None))
    return Call("torch._utils._rebuild_tensor_v2", identity, *call.arguments[1:])


def test_legacy_files(write: Write) -> None:
    value = {"a": legacy_tensor("77", (3, 4), 12), "b": legacy_tensor("78", (2,), 2)}
    content = legacy(value, ["78", "77"], NUMBERS[:2].tobytes(), NUMBERS.tobytes())
    checkpoint = opened(write("m.bin", content))
    assert values(checkpoint, "a").tolist() == NUMBERS.reshape(3, 4).tolist()
    assert values(checkpoint, "b").tolist() == [[0], [1]]
    with pytest.raises(CheckpointError) as raised:
        opened(write("cut.bin", content[:-9]))
    assert "1 of 2 tensors are whole" in raised.value.message
    assert "(whole: b)" in (raised.value.hint or "")


def test_a_big_endian_legacy_file(write: Write) -> None:
    stored = NUMBERS.astype(">f4").tobytes()
    content = legacy({"a": legacy_tensor("0", (3, 4), 12)}, ["0"], stored, little=False)
    assert values(opened(write("m.bin", content)), "a").tolist() == NUMBERS.reshape(3, 4).tolist()


def test_a_big_endian_archive(write: Write) -> None:
    stream = io.BytesIO(archive({"a": tensor("0", (3, 4), scalars=12)}))
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr("m/data/0", NUMBERS.astype(">f4").tobytes())
        file.writestr("m/byteorder", "big")
    checkpoint = opened(write("m.bin", stream.getvalue()))
    assert values(checkpoint, "a").tolist() == NUMBERS.reshape(3, 4).tolist()


def test_odd_legacy_files(write: Write) -> None:
    begin: tuple[Any, ...] = (0x1950A86A20F9469CFC6C, 999, {})
    head = [pickled(part) for part in begin]
    with pytest.raises(CheckpointError, match="is of torch's file protocol 999"):
        opened(write("m.bin", b"".join(head)))
    with pytest.raises(CheckpointError, match="stores 'x' for nothing"):
        opened(write("n.bin", legacy({"a": legacy_tensor("0", (2,), 2)}, ["x"], bytes(8))))
    checkpoint = opened(write("o.bin", pickled({"a": tensor("0", (2,), scalars=2)})))
    with pytest.raises(CheckpointError, match="the values of 'a' are not in"):
        checkpoint.blocks("a")


# Hostile pickles. Each would leave a file behind if anything in it were executed.


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def op_codes(path: Path) -> dict[str, tuple[bytes, str]]:
    """List known tricks: pickle, and what the refusal must name."""
    command = f"touch {path}".encode()
    text = b"X" + struct.pack("<I", len(command)) + command
    return {
        "REDUCE": (b"\x80\x02cposix\nsystem\n" + text + b"\x85R.", "posix.system"),
        "GLOBAL": (b"\x80\x02cbuiltins\neval\n.", "builtins.eval"),
        "STACK_GLOBAL": (
            b"\x80\x04\x8c\x05posix\x8c\x06system\x93" + text + b"\x85R.", "posix.system",
        ),
        "dotted STACK_GLOBAL": (
            b"\x80\x04\x8c\x05torch\x8c\x09os.system\x93" + text + b"\x85R.", "torch.os.system",
        ),
        "INST": (b"(S'" + command + b"'\niposix\nsystem\n.", "posix.system"),
        "OBJ": (b"(cposix\nsystem\nS'" + command + b"'\no.", "posix.system"),
        "NEWOBJ": (b"\x80\x02csubprocess\nPopen\n" + text + b"\x85\x81.", "subprocess.Popen"),
        "NEWOBJ_EX": (
            b"\x80\x04\x8c\x0asubprocess\x8c\x05Popen\x93)}\x92.", "subprocess.Popen",
        ),
        "named arguments": (
            b"\x80\x02ccollections\nOrderedDict\n)}K\x01K\x02s\x92.",
            "an object built with named arguments",
        ),
        "BUILD": (b"\x80\x02cposix\nsystem\n}b.", "posix.system"),
        "EXT1": (b"\x80\x02\x82\x01.", "the pickle instruction EXT1"),
        "EXT2": (b"\x80\x02\x83\x01\x00.", "the pickle instruction EXT2"),
        "EXT4": (b"\x80\x02\x84\x01\x00\x00\x00.", "the pickle instruction EXT4"),
        "PERSID": (b"Pfile\n.", "a persistent id that is no storage"),
        "BINPERSID": (b"\x80\x02X\x01\x00\x00\x00aQ.", "a persistent id that is no storage"),
        "module id": (
            b"\x80\x02X\x06\x00\x00\x00moduleK\x01K\x01K\x01(tQ.", "a persistent id",
        ),
        "buffers": (b"\x80\x05\x97.", "the pickle instruction NEXT_BUFFER"),
        "getattr": (b"\x80\x02cbuiltins\ngetattr\n.", "builtins.getattr"),
        "load_from_bytes": (
            b"\x80\x02ctorch.storage\n_load_from_bytes\n.", "torch.storage._load_from_bytes",
        ),
        "call of a dtype": (b"\x80\x02ctorch\nfloat32\n)R.", "no function"),
        "call of a value": (b"\x80\x02K\x01)R.", "no function"),
        "tuple hash": (b"\x80\x02}((K\x01ttK\x01s.", "no plain value"),
    }  # fmt: skip


@pytest.mark.parametrize("trick", op_codes(Path("x")))
@pytest.mark.parametrize("zipped", [True, False])
def test_nothing_is_executed(trick: str, zipped: bool, tmp_path: Path, write: Write) -> None:
    content, named = op_codes(tmp_path / "executed")[trick]
    path = write(
        "m.pt", archive(content) if zipped else b"\x80\x02N0" + content.lstrip(b"\x80\x02")
    )
    if not zipped:
        path.write_bytes(content if content[:1] == b"\x80" else b"\x80\x02" + content)
    with pytest.raises(CheckpointError) as raised:
        opened(path)
    assert named in raised.value.message
    assert "refused, not executed" in raised.value.message
    assert not (tmp_path / "executed").exists()


def test_an_object_of_another_class(tmp_path: Path, write: Write) -> None:
    content = pickle.dumps({"model": Evil(tmp_path / "executed")})
    for name, data in (("a.pt", content), ("b.pt", archive(content))):
        with pytest.raises(CheckpointError) as raised:
            opened(write(name, data))
        assert raised.value.message == (
            f"{tmp_path / name} asks for posix.system, which is no tensor: refused, not executed"
        )
    assert not (tmp_path / "executed").exists()


# Pickles that a careless reader would need all memory or all time for.
BOMBS = {
    "memo index": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "nested lists": b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".",
    "doubling tuples": b"\x80\x02" + b"N\x85" + b"q\x00h\x00\x86" * 200 + b".",
    "long text": b"\x80\x02X\xff\xff\xff\xffabc.",
    "long bytes": b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
    "long number": b"\x80\x02\x8b\xff\xff\xff\x7fabc.",
    "digits": b"\x80\x02I" + b"9" * 100_000 + b"\n.",
    "copies": b"\x80\x04\x8c\x07_codecs\x8c\x06encode\x93q\x00X"
    + struct.pack("<I", 1 << 21) + b"a" * (1 << 21) + b"q\x01" + b"h\x00h\x01\x85R" * 1000 + b".",
    "frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_do_not_go_off(name: str, write: Write) -> None:
    import tracemalloc

    path = write("m.pt", archive(BOMBS[name]))
    tracemalloc.start()
    with pytest.raises(CheckpointError) as raised:
        opened(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 120_000_000
    assert len(raised.value.message) < 500


def test_too_many_instructions(write: Write, monkeypatch: Any) -> None:
    monkeypatch.setattr(pickle_machine, "MAX_INSTRUCTIONS", 100)
    with pytest.raises(CheckpointError, match="more than 100 instructions"):
        opened(write("m.pt", archive(b"\x80\x02" + b"N0" * 60 + b"N.")))


def test_a_pickle_that_is_too_long(write: Write, monkeypatch: Any) -> None:
    monkeypatch.setattr(pickle_machine, "MAX_PICKLE", 100)
    monkeypatch.setattr(pickle_machine, "WINDOW", 50)
    with pytest.raises(CheckpointError, match="more than 100 bytes"):
        opened(write("m.pt", b"\x80\x02" + b"N0" * 200 + b"N."))


def test_a_zip_bomb(tmp_path: Path) -> None:
    """80 MB of instructions packed into 78 KB."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m/data.pkl", b"\x80\x02" + b"N0" * 40_000_000)
    path = tmp_path / "m.pt"
    path.write_bytes(stream.getvalue())
    with pytest.raises(CheckpointError, match="holds more than 67,108,864 bytes"):
        opened(path)


BROKEN = {
    "no stop": b"\x80\x02N",
    "empty stack": b"\x80\x02.",
    "memo": b"\x80\x02h\x05.",
    "mark": b"\x80\x02t.",
    "pop": b"\x80\x020.",
    "append": b"\x80\x02NNa.",
    "setitem": b"\x80\x02NNNs.",
    "odd items": b"\x80\x02}(Nu.",
    "unknown opcode": b"\x80\x02\xff.",
    "tuple": b"\x80\x02N\x86.",
    "put nothing": b"\x80\x02q\x00.",
    "object of no class": b"\x80\x02(o.",
    "global of no name": b"\x80\x04NN\x93.",
    "no utf-8": b"\x80\x02X\x01\x00\x00\x00\xff.",
    "endless text": b"\x80\x02I" + b"1" * 20,
    "no float": b"\x80\x02Fabc\n.",
    "empty": b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pickles(name: str, write: Write) -> None:
    with pytest.raises(CheckpointError, match="holds a broken pickle: "):
        opened(write("m.pt", archive(BROKEN[name])))


def test_all_plain_instructions(write: Write) -> None:
    one = pickled({"a": tensor("0", (3, 4), scalars=12)})[2:-1]
    plain = (
        b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00"
        b"N0\x880\x890I5\n0L5L\n0M\x01\x020J\x01\x00\x00\x000\x8a\x01\x050F1.5\n0G?\xf0"
        + bytes(6)
        + b"0S'a'\n0U\x01a0T\x01\x00\x00\x00a0Va\n0C\x01a0B\x01\x00\x00\x00a0\x8c\x01a0"
        b"(1(K\x01K\x02l0(K\x01K\x02d0]K\x01a0](K\x01K\x02e0\x8f(K\x01\x900(K\x01\x910"
        b")0K\x01\x850K\x01K\x02\x860K\x01K\x02K\x03\x870K\x01200N\x940Np5\n0g5\n0"
        b"(0ccollections\nOrderedDict\n)R}b0(icollections\nOrderedDict\n0"
    )
    checkpoint = opened(write("m.pt", archive(plain + one + b".", k0=NUMBERS.tobytes())))
    assert list(checkpoint.tensors) == ["a"]


def call(function: str, *arguments: Any) -> Any:
    return {"a": tensor("0", (3, 4), scalars=12), "b": Call(function, *arguments)}


@pytest.mark.parametrize(
    "value",
    [
        call("torch.Size", [1, 2]), call("torch.device", "cpu"), call("_codecs.encode", "a", "l"),
        call("collections.OrderedDict", [["a", 1]]), call("collections.OrderedDict", {"a": 1}),
        call("collections.OrderedDict", 5), call("builtins.set", [1]), call("builtins.list", 5),
        call("collections.Counter", {"a": 1}), call("_codecs.encode", 5),
        call("collections.defaultdict", None), call("torch.Tensor"),
        {"a": Call("torch._utils._rebuild_parameter", tensor("0", (3, 4), scalars=12), True, {})},
        {"a": Call("torch._tensor._rebuild_from_type_v2",
                   Global("torch._utils._rebuild_tensor_v2"), Global("torch.Tensor"),
                   tensor("0", (3, 4), scalars=12).arguments, {})},
    ],
)  # fmt: skip
def test_harmless_objects(value: Any, write: Write) -> None:
    checkpoint = opened(write("m.pt", archive(value, k0=NUMBERS.tobytes())))
    assert values(checkpoint, "a").shape == (3, 4)


def view(*arguments: Any) -> dict[str, Any]:
    return {"a": Call("torch._utils._rebuild_tensor_v2", *arguments)}


ID = StorageId(("storage", Global("torch.FloatStorage"), "0", "cpu", 12))
IMPOSSIBLE = [
    (view(None, 0, (1,), (1,)), "a tensor without a typed storage"),
    (view(ID, -1, (1,), (1,)), "impossible offset"),
    (view(ID, 0.5, (1,), (1,)), "impossible offset"),
    (view(ID, 0, (1,), (1, 1)), "impossible offset"),
    (view(ID, 0, [1], (1,)), "impossible shape"),
    (view(ID, 0, (-1,), (1,)), "impossible shape"),
    (view(ID, 0, (True,), (1,)), "impossible shape"),
    (view(ID, 0, (13,), (1,)), "past the end of its storage"),
    (view(ID, 0, (1 << 62, 1 << 62), (1, 1)), "past the end of its storage"),
    (view(ID), "a tensor built in an unknown way"),
    (view(StorageId(("storage", "x", "0", "cpu", 1)), 0, (1,), (1,)), "no storage"),
    (view(StorageId(("storage", Global("torch.FloatStorage"), "0", "cpu", -1)), 0, (1,), (1,)),
     "a storage of an impossible size"),
    (view(StorageId(("storage", Global("torch.FloatStorage"), "0", "cpu", 4, ("v", 0, 1))),
          0, (1,), (1,)), "a view of another one"),
    ({"a": Call("torch._utils._rebuild_tensor_v3", ID, 0, (1,), (1,), False, None, 5, None)},
     "a tensor without storage or dtype"),
    ({"a": Call("torch._utils._rebuild_tensor_v3", ID)}, "a tensor without storage or dtype"),
    ({"a": Call("torch._tensor._rebuild_from_type_v2", Global("torch.Size"), 1, (), 1)},
     "a tensor of a class that is not known"),
    ({"a": Call("argparse.Namespace")}, "asks for argparse.Namespace"),
    ({"a": Call("numpy.core.multiarray.scalar")}, "asks for numpy.core.multiarray.scalar"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "what"), IMPOSSIBLE, ids=range(len(IMPOSSIBLE)))
def test_impossible_tensors(value: Any, what: str, write: Write) -> None:
    with pytest.raises(CheckpointError) as raised:
        opened(write("m.pt", archive(value, k0=NUMBERS.tobytes())))
    assert what in raised.value.message


def test_absent_and_short_storages(write: Write) -> None:
    value = {"a": tensor("0", (3, 4), scalars=12)}
    with pytest.raises(CheckpointError, match=r"lacks 'm/data/0', which holds 'a'"):
        opened(write("m.pt", archive(value)))
    with pytest.raises(CheckpointError, match=r"'m/data/0' has 47 of 48 bytes that 'a' needs"):
        opened(write("n.pt", archive(value, k0=bytes(47))))


def test_a_truncated_archive(write: Write) -> None:
    content = archive({"a": tensor("0", (3, 4), scalars=12)}, k0=NUMBERS.tobytes())
    with pytest.raises(CheckpointError, match="is a broken zip archive: its directory"):
        opened(write("m.pt", content[:-40]))


def test_a_torchscript_program(write: Write) -> None:
    stream = io.BytesIO(archive({}))
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr("m/constants.pkl", b"")
    with pytest.raises(CheckpointError, match="is a TorchScript program, which is code"):
        opened(write("m.pt", stream.getvalue()))


def test_damaged_members(write: Write) -> None:
    value = {"a": tensor("0", (3, 4), scalars=12)}
    content = bytearray(archive(value, k0=NUMBERS.tobytes()))
    at = content.index(b"PK\x03\x04", 10)
    content[at : at + 4] = b"XXXX"
    with pytest.raises(CheckpointError, match="is not where the directory says"):
        opened(write("m.pt", bytes(content)))
    content = bytearray(archive(value, compress=True, k0=bytes(48)))
    at = content.index(b"m/data/0") + 10
    content[at : at + 2] = b"\xff\xff"
    checkpoint = opened(write("n.pt", bytes(content)))
    with pytest.raises(CheckpointError, match="cannot be unpacked"):
        list(checkpoint.blocks("a"))


def test_a_directory_of_impossible_size(write: Write, monkeypatch: Any) -> None:
    from embcalc.checkpoints import zip_file

    monkeypatch.setattr(zip_file, "MAX_DIRECTORY", 10)
    with pytest.raises(CheckpointError, match="its directory cannot be read"):
        opened(write("m.pt", archive({})))


def test_members_as_files(write: Write) -> None:
    from embcalc.checkpoints.zip_file import ZipFile
    from embcalc.errors import SourceError
    from embcalc.sources.local import LocalFile

    for compress in (False, True):
        path = write("m.pt", archive({}, compress=compress, k0=bytes(range(100))))
        zipped = ZipFile(LocalFile(path, "m.pt"))
        member: File = zipped.range("m/data/0")
        assert member.read(98) == b"\x62\x63"
        assert member.read(5, 2) == b"\x05\x06"
        assert b"".join(bytes(p) for p in member.stream(10, 33, 7)) == bytes(range(10, 43))
        assert list(member.stream(10, 0, 7)) == []
        with pytest.raises(SourceError, match="ends at byte 100"):
            list(member.stream(90, 11, 7))
        with pytest.raises(CheckpointError, match="holds more than 50 bytes"):
            zipped.read("m/data/0", 50)
        assert len(zipped.read("m/data/0", 100)) == 100


@pytest.mark.torch
@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_writes(zipped: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    weight = torch.randn(500, 16)
    state = {
        "wte": weight, "head": weight, "t": weight.t(), "slice": weight[10:20, 5:9],
        "expanded": weight[:1].expand(7, 16), "steps": weight[::3, ::2],
        "bf16": weight.bfloat16(), "f8": weight.to(torch.float8_e4m3fn),
        "ids": torch.arange(5), "scalar": torch.tensor(3.0), "none": torch.zeros(0, 4),
        "parameter": torch.nn.Embedding(10, 4).weight, "flags": torch.tensor([True, False]),
        "u16": torch.arange(6).to(torch.uint16).reshape(2, 3), "cube": torch.randn(4, 3, 2),
    }  # fmt: skip
    torch.save(state, tmp_path / "m.pt", _use_new_zipfile_serialization=zipped)
    checkpoint = opened(tmp_path / "m.pt")
    assert set(checkpoint.tensors) == set(state)
    assert checkpoint.tensors["wte"].storage == checkpoint.tensors["head"].storage
    assert checkpoint.tensors["wte"].storage != checkpoint.tensors["t"].storage
    for name, value in state.items():
        stored = value.detach().float().numpy()
        assert checkpoint.tensors[name].shape == stored.shape
        if stored.size:
            assert np.array_equal(values(checkpoint, name).ravel(), stored.ravel()), name


@pytest.mark.torch
def test_modules_and_optimizers_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Embedding(10, 4))
    training = {
        "state_dict": module.state_dict(),
        "optimizer": {"state": {0: {"exp_avg": torch.ones(10, 4)}}},
        "device": torch.device("cpu"), "size": torch.Size([1]), "dtype": torch.float16,
    }  # fmt: skip
    torch.save(training, tmp_path / "m.pt")
    checkpoint = opened(tmp_path / "m.pt")
    assert list(checkpoint.tensors) == ["0.weight"]
    assert np.array_equal(values(checkpoint, "0.weight"), module[0].weight.detach().numpy())
    torch.save(module, tmp_path / "module.pt")
    with pytest.raises(CheckpointError, match=r"asks for torch\.nn\.modules\.\w+\.\w+, which"):
        opened(tmp_path / "module.pt")
