"""Small folders with the failures that were reported of real checkpoints.

Each function builds one; its docstring is what the report said.
"""

from __future__ import annotations

import io
import pickle
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tests.failures.files import gguf, mlx, plain, q8_0, safetensors, write_index
from tests.row_cases import HEAD, TOKEN, WIDTH, tokenizer, trained, words, write

ROWS = 300
SHARD = "model-{:05}-of-{:05}.safetensors"
INDEX = "model.safetensors.index.json"
Tensors = Mapping[str, NDArray[Any]]


def model(folder: Path, weights: bytes | None = None, **config: Any) -> Path:
    """A healthy tied model; `weights` takes the place of model.safetensors."""
    write(folder, {TOKEN: trained(ROWS)}, tokens=tokenizer(words(ROWS)), config=config)
    path = folder / "model.safetensors"
    if weights is None:
        path.unlink()
    else:
        path.write_bytes(weights)
    return folder


def layers(count: int, first: int = 0) -> dict[str, NDArray[np.float32]]:
    """Small matrices of a transformer."""
    return {
        f"model.layers.{number}.mlp.up_proj.weight": trained(16, 8, seed=50 + number)
        for number in range(first, first + count)
    }


def sharded(folder: Path, shards: Mapping[str, Tensors], **config: Any) -> Path:
    """A model in shards, with an index that is right."""
    model(folder, **config)
    for name, tensors in shards.items():
        (folder / name).write_bytes(safetensors(plain(tensors)))
    places = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    total = sum(array.nbytes for tensors in shards.values() for array in tensors.values())
    write_index(folder, places, total)
    return folder


def three_shards() -> dict[str, Tensors]:
    return {
        SHARD.format(1, 3): {TOKEN: trained(ROWS)},
        SHARD.format(2, 3): layers(2),
        SHARD.format(3, 3): layers(2, first=2),
    }


# Files


def bf16(folder: Path) -> Path:
    """TypeError: data type 'bfloat16' not understood."""
    values = trained(ROWS).astype(ml_dtypes.bfloat16)
    return model(folder, safetensors({TOKEN: ("BF16", values.shape, values.tobytes())}))


def f8(folder: Path) -> Path:
    """KeyError: 'F8_E4M3'."""
    values = trained(ROWS).astype(ml_dtypes.float8_e4m3fn)
    return model(folder, safetensors({TOKEN: ("F8_E4M3", values.shape, values.tobytes())}))


def f4(folder: Path) -> Path:
    """The type F4 is not supported."""
    codes = np.random.RandomState(4).randint(0, 256, (ROWS, WIDTH // 2)).astype(np.uint8)
    return model(folder, safetensors({TOKEN: ("F4", (ROWS, WIDTH), codes.tobytes())}))


def f6(folder: Path) -> Path:
    """KeyError: 'F6_E2M3'."""
    codes = np.random.RandomState(4).randint(0, 256, (ROWS, WIDTH * 3 // 4)).astype(np.uint8)
    return model(folder, safetensors({TOKEN: ("F6_E2M3", (ROWS, WIDTH), codes.tobytes())}))


def lfs_pointer(folder: Path) -> Path:
    """safetensors_rust.SafetensorError: HeaderTooLarge."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n"
    return model(folder, pointer.encode())


def pickle_named_safetensors(folder: Path) -> Path:
    """HeaderTooLarge, of a file that torch.save wrote and somebody renamed."""
    return model(folder, pickle.dumps({"a": 1}, protocol=2))


def archive_of_pytorch_0_1(folder: Path) -> Path:
    """ReadError of a .bin that PyTorch 0.1 wrote: a tar archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in ("sys_info", "pickle", "tensors", "storages"):
            archive.addfile(tarfile.TarInfo(name))
    model(folder)
    (folder / "pytorch_model.bin").write_bytes(content.getvalue())
    return folder


def html_page(folder: Path) -> Path:
    """HeaderTooLarge, of a download that was answered with a login page."""
    return model(folder, b"<!DOCTYPE html>\n<html><title>Sign in</title></html>\n")


def truncated(folder: Path) -> Path:
    """MetadataIncompleteBuffer."""
    content = safetensors(plain({TOKEN: trained(ROWS), **layers(4)}))
    return model(folder, content[:-1000])


def zeros_in_27_of_339(folder: Path) -> Path:
    """All zeros in 27 of 339 tensors after a download; the model writes noise."""
    others = layers(338)
    for name in list(others)[100:127]:
        others[name] = np.zeros_like(others[name])
    return model(folder, safetensors(plain({TOKEN: trained(ROWS), **others})))


def dangling_link(folder: Path) -> Path:
    """No such file or directory: a snapshot of the hub's cache whose blob was deleted."""
    model(folder)
    (folder / "model.safetensors").symlink_to("../../blobs/6c1d0f")
    return folder


def folder_of_checkpoints(folder: Path) -> Path:
    """Is a directory: the output folder of a training run."""
    for step in (500, 1000):
        model(folder / f"checkpoint-{step}", safetensors(plain({TOKEN: trained(ROWS)})))
    return folder


def garbage_values(folder: Path) -> Path:
    """Embeddings between 1e-19 and 1e37: packed bytes read as floats."""
    noise = np.random.RandomState(6).randint(0, 256, ROWS * WIDTH * 4).astype(np.uint8).tobytes()
    return model(folder, safetensors({TOKEN: ("F32", (ROWS, WIDTH), noise)}))


def byte_swapped(folder: Path) -> Path:
    """All values are huge or tiny after a conversion on a big-endian machine."""
    return model(folder, safetensors(plain({TOKEN: trained(ROWS).byteswap()})))


# Shards


def absent_shard(folder: Path) -> Path:
    """FileNotFoundError: model-00002-of-00003.safetensors."""
    sharded(folder, three_shards())
    (folder / SHARD.format(2, 3)).unlink()
    return folder


def tensor_in_another_shard(folder: Path) -> Path:
    """File does not contain tensor model.layers.1.mlp.up_proj.weight."""
    shards = three_shards()
    sharded(folder, shards)
    places = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    places["model.layers.1.mlp.up_proj.weight"] = SHARD.format(3, 3)
    places["model.layers.9.mlp.up_proj.weight"] = SHARD.format(3, 3)
    write_index(folder, places)
    return folder


def tensor_in_no_index(folder: Path) -> Path:
    """Some weights were not initialised, though they are in the shards."""
    shards = three_shards()
    sharded(folder, shards)
    places = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    del places["model.layers.3.mlp.up_proj.weight"]
    write_index(folder, places)
    return folder


def stale_index(folder: Path) -> Path:
    """An index of 30 shards beside 15 files that were saved again."""
    named = {f"model.layers.{n}.mlp.up_proj.weight": SHARD.format(n + 1, 30) for n in range(30)}
    shards = {SHARD.format(n + 1, 15): layers(1, first=n) for n in range(14)}
    shards[SHARD.format(15, 15)] = {TOKEN: trained(ROWS)}
    sharded(folder, shards)
    write_index(folder, named)
    return folder


def stray_quantised_file(folder: Path) -> Path:
    """A quantised file beside the shards: which one was loaded?"""
    sharded(folder, three_shards())
    content = safetensors(plain({TOKEN: trained(ROWS).astype(np.float16)}))
    (folder / "model-q8.safetensors").write_bytes(content)
    return folder


def consolidated_beside_shards(folder: Path) -> Path:
    """The model has twice the parameters that it should have."""
    shards = three_shards()
    sharded(folder, shards)
    every = {name: array for tensors in shards.values() for name, array in tensors.items()}
    (folder / "consolidated.safetensors").write_bytes(safetensors(plain(every)))
    return folder


def wrong_total(folder: Path) -> Path:
    """total_size of the index is that of another precision."""
    shards = three_shards()
    sharded(folder, shards)
    places = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    write_index(folder, places, 12_345)
    return folder


def zero3_save(folder: Path) -> Path:
    """size mismatch: copying a param with shape torch.Size([0])."""
    empty: dict[str, NDArray[Any]] = {name: np.zeros(0, np.float32) for name in (TOKEN, *layers(3))}
    return model(folder, safetensors(plain({**empty, "model.norm.weight": np.ones(8, "f4")})))


def one_of_eight(folder: Path) -> Path:
    """size mismatch: 16,032 rows in the checkpoint, 128,256 in the model."""
    tables: Tensors = {
        "tok_embeddings.weight": trained(304),
        "output.weight": trained(304, seed=5),
    }
    write(folder, tables, config={"vocab_size": 8 * 304, "tie_word_embeddings": False})
    return folder


# Tying


def _both(folder: Path, head: NDArray[np.float32] | None, *, tied: bool) -> Path:
    tensors = {TOKEN: trained(ROWS)} | ({} if head is None else {HEAD: head})
    config = {"tie_word_embeddings": tied}
    return write(folder, tensors | layers(2), tokens=tokenizer(words(ROWS)), config=config)


def head_absent_and_tied(folder: Path) -> Path:
    """Missing key lm_head.weight: nothing is wrong."""
    return _both(folder, None, tied=True)


def head_absent_and_untied(folder: Path) -> Path:
    """Some weights were newly initialized: lm_head.weight; the model writes noise."""
    return _both(folder, None, tied=False)


def both_equal(folder: Path) -> Path:
    """The file is larger than the parameters of the model."""
    return _both(folder, trained(ROWS), tied=True)


def both_different_and_tied(folder: Path) -> Path:
    """Another program gives other answers."""
    return _both(folder, trained(ROWS, seed=5), tied=True)


def both_different_and_untied(folder: Path) -> Path:
    """Is this model tied? It is not."""
    return _both(folder, trained(ROWS, seed=5), tied=False)


def only_the_head(folder: Path) -> Path:
    """Missing key model.embed_tokens.weight, of an exporter that kept the head."""
    tensors = {HEAD: trained(ROWS)} | layers(2)
    config = {"tie_word_embeddings": True}
    return write(folder, tensors, tokens=tokenizer(words(ROWS)), config=config)


def peft_merge(folder: Path) -> Path:
    """A merge of an adapter that had trained only the head."""
    head = trained(ROWS)
    head[280:] += 0.05
    return _both(folder, head, tied=True)


def redundant_head_in_awq(folder: Path) -> Path:
    """Unexpected key lm_head.weight in a file that AWQ made of a tied model."""
    packed = np.arange(64 * 2, dtype=np.int32).reshape(64, 2)
    parts: dict[str, NDArray[Any]] = {
        "model.layers.0.mlp.up_proj.qweight": packed,
        "model.layers.0.mlp.up_proj.qzeros": packed[:1],
        "model.layers.0.mlp.up_proj.scales": np.ones((1, 16), np.float16),
    }
    table = trained(ROWS).astype(np.float16)
    config = {"tie_word_embeddings": True, "quantization_config": {"quant_method": "awq"}}
    tensors = {TOKEN: table, HEAD: table, **parts}
    return write(folder, tensors, tokens=tokenizer(words(ROWS)), config=config)


def head_of_100_times(folder: Path) -> Path:
    """Perplexity exploded: table and head were swapped by a converter."""
    return _both(folder, 100 * trained(ROWS, seed=5), tied=False)


# GGUF and MLX


def _gguf(
    tokens: int, rows: int, said: int, blocks: int = 2, **changed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": blocks,
        "llama.vocab_size": said,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": words(tokens),
        **changed,
    }
    tensors = {"token_embd.weight": trained(rows)} | {
        f"blk.{number}.ffn_up.weight": trained(16, 32, seed=20 + number) for number in range(blocks)
    }
    return metadata, dict(plain(tensors))


def _write(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir()
    (folder / name).write_bytes(content)
    return folder


def off_by_one_vocabulary(folder: Path) -> Path:
    """llama.cpp: tensor 'token_embd.weight' has wrong shape; expected 64, 301, got 64, 300."""
    metadata, stored = _gguf(tokens=301, rows=300, said=301)
    return _write(folder, "model.gguf", gguf(metadata, stored))


def offset_past_the_end(folder: Path) -> Path:
    """tensor 'blk.1.ffn_up.weight' data is not within the file bounds, model is corrupted."""
    metadata, stored = _gguf(tokens=300, rows=300, said=300)
    moved = {"blk.1.ffn_up.weight": 1 << 20}
    return _write(folder, "model.gguf", gguf(metadata, stored, moved=moved))


def missing_tensors(folder: Path) -> Path:
    """done_getting_tensors: wrong number of tensors; expected 129, got 127."""
    metadata, stored = _gguf(tokens=300, rows=300, said=300, blocks=128)
    metadata["split.tensors.count"] = 129
    for number in (40, 41):
        del stored[f"blk.{number}.ffn_up.weight"]
    return _write(folder, "model.gguf", gguf(metadata, stored))


def nan_scales(folder: Path) -> Path:
    """The output is NaN: three rows whose scales an imatrix of zeros made NaN."""
    metadata, stored = _gguf(tokens=300, rows=300, said=300)
    table = trained(300)
    blocks = np.frombuffer(q8_0(table), np.uint8).reshape(300, -1).copy()
    blocks[[7, 40, 41], :2] = np.array([np.nan], np.float16).view(np.uint8)
    stored["token_embd.weight"] = ("Q8_0", (300, WIDTH), blocks.tobytes())
    return _write(folder, "model.gguf", gguf(metadata, stored))


def _mlx(folder: Path, bits: int, said: int) -> Path:
    parts = mlx(trained(ROWS), bits, 32)
    stem = TOKEN.removesuffix("weight")
    tensors = {stem + part: array for part, array in parts.items()}
    content = safetensors(plain(tensors))
    return model(folder, content, quantization={"bits": said, "group_size": 32})


def packed_table(folder: Path) -> Path:
    """Norms of 1e9: the packed words of an MLX file were read as numbers."""
    return _mlx(folder, 4, 4)


def mlx_8_bit_under_4(folder: Path) -> Path:
    """Shapes do not match: an 8-bit table under a config of 4 bits."""
    return _mlx(folder, 8, 4)
