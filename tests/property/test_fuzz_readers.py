"""Mutated files of every format: nothing but embcalc's own errors may come out."""

from __future__ import annotations

import io
import json
import os
import random
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from embcalc.checkpoints import open_checkpoint
from embcalc.core.decode import to_float32
from embcalc.errors import EmbcalcError
from embcalc.sources import locate
from tests.checkpoints.test_pytorch import archive, legacy, legacy_tensor, tensor

TABLE = np.arange(96, dtype=np.float32).reshape(6, 16)
ROUNDS = int(os.environ.get("EMBCALC_FUZZ_ROUNDS", "600"))
"""Mutations per format; raise it for a long run."""


def safetensors_file() -> bytes:
    return save({"wte": TABLE, "lm_head": TABLE[:2].astype(np.float16)}, {"format": "pt"})


def quantised_file() -> bytes:
    words = np.arange(48, dtype=np.uint32).reshape(6, 8)
    scales = np.ones((6, 1), np.float16)
    return save({"wte.weight": words, "wte.scales": scales, "wte.biases": scales})


def torch_file() -> bytes:
    state = {"wte": tensor("0", (6, 16), scalars=96), "t": tensor("0", (16, 6), scalars=96)}
    return archive({"model": state, "epoch": 1}, k0=TABLE.tobytes())


def packed_torch_file() -> bytes:
    state = {"wte": tensor("0", (6, 16), scalars=96, strides=(1, 6))}
    return archive(state, compress=True, k0=TABLE.tobytes())


def legacy_torch_file() -> bytes:
    return legacy({"wte": legacy_tensor("0", (6, 16), 96)}, ["0"], TABLE.tobytes())


def gguf_file() -> bytes:
    gguf = pytest.importorskip("gguf")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_array("tokenizer.ggml.tokens", ["<s>", "a", "b"])
        writer.add_array("tokenizer.ggml.scores", [0.0, 1.0, 2.0])
        writer.add_tensor("token_embd.weight", TABLE)
        packed = np.zeros((6, 34), np.uint8)
        writer.add_tensor("output.weight", packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def npy_file() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asfortranarray(TABLE))
    return stream.getvalue()


def npz_file() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, wte=TABLE)
    return stream.getvalue()


FORMATS: dict[str, Callable[[], bytes]] = {
    "m.safetensors": safetensors_file,
    "quantised.safetensors": quantised_file,
    "m.bin": torch_file,
    "packed.bin": packed_torch_file,
    "legacy.bin": legacy_torch_file,
    "m.gguf": gguf_file,
    "m.npy": npy_file,
    "m.npz": npz_file,
}


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Change a few bytes, mostly near the front, where headers are; or cut, or insert."""
    raw = bytearray(content)
    reach = len(raw) if chance.random() < 0.4 else min(len(raw), 400)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(reach)
        change = chance.randrange(5)
        if change == 0:
            raw[at] = chance.randrange(256)
        elif change == 1:
            raw[at] ^= 1 << chance.randrange(8)
        elif change == 2:
            raw[at : at + 8] = chance.choice((b"\xff" * 8, bytes(8), b"\x00" * 7 + b"\x7f"))
        elif change == 3:
            del raw[at : at + chance.randrange(1, 9)]
        else:
            raw[at:at] = chance.randbytes(chance.randrange(1, 9))
        reach = max(1, min(reach, len(raw)))
    return bytes(raw[: chance.randrange(len(raw))] if chance.random() < 0.1 else raw)


def assert_one_line(error: EmbcalcError) -> None:
    assert "\n" not in error.message + (error.hint or "")


def read_everything(path: Path) -> bool:
    """Open a checkpoint and decode every row of it; tell whether it could be opened."""
    try:
        located = locate(str(path))
        checkpoint = open_checkpoint(located.folder, located.file)
    except EmbcalcError as error:
        assert_one_line(error)
        return False
    for name in checkpoint.tensors:
        with suppress(EmbcalcError):
            for block in checkpoint.blocks(name):
                to_float32(block.values, block.dtype)
    return True


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_only_our_own_errors_come_out(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    content = FORMATS[name]()
    path = tmp_path / name
    path.write_bytes(content)
    assert read_everything(path)
    slowest = 0.0
    for _ in range(ROUNDS):
        path.write_bytes(mutated(content, chance))
        begin = time.process_time()
        read_everything(path)
        slowest = max(slowest, time.process_time() - begin)
    assert slowest < 20


def test_mutated_pickles_inside_sound_archives(tmp_path: Path) -> None:
    chance = random.Random(7)
    with zipfile.ZipFile(io.BytesIO(torch_file())) as file:
        pickled = file.read("m/data.pkl")
    path = tmp_path / "m.bin"
    opened = 0
    for _ in range(2 * ROUNDS):
        path.write_bytes(archive(mutated(pickled, chance), k0=TABLE.tobytes()))
        opened += read_everything(path)
    assert 0 < opened < 2 * ROUNDS


def test_mutated_indexes(tmp_path: Path) -> None:
    chance = random.Random(8)
    (tmp_path / "a.safetensors").write_bytes(save({"wte": TABLE}))
    document = {"metadata": {"total_size": 384}, "weight_map": {"wte": "a.safetensors"}}
    content = json.dumps(document).encode()
    for _ in range(ROUNDS):
        (tmp_path / "model.safetensors.index.json").write_bytes(mutated(content, chance))
        read_everything(tmp_path)
