"""lookup, neighbors and diff over every container, and over tables that are stored oddly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from embcalc.errors import CheckpointError, UsageError
from embcalc.rows.transposed import columns_as_rows
from embcalc.usecases.diff import diff
from embcalc.usecases.lookup import lookup
from embcalc.usecases.neighbors import neighbors
from tests.checkpoints.conftest import safetensors_bytes

Build = Callable[..., Path]
Floats = NDArray[np.float64]
NAME = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
TABLE = np.random.default_rng(0).normal(0, 0.05, (300, 32)).astype(np.float32)
CONFIG = {"model_type": "llama", "vocab_size": 300, "hidden_size": 32}


def nearest(table: NDArray[Any], row: int, top: int = 10) -> list[int]:
    """By cosine, in float64, without the row itself."""
    exact = table.astype(np.float64)
    cosines = exact @ exact[row] / np.linalg.norm(exact, axis=1) / np.linalg.norm(exact[row])
    order: list[int] = np.argsort(-cosines, kind="stable").tolist()
    return [other for other in order if other != row][:top]


def same_answers(model: Path | str, stored: NDArray[Any], tensor: str | None = None) -> None:
    """Compare what both commands say with numpy on the stored numbers."""
    rows = [0, len(stored) - 1, 7, 7]
    found = lookup(model, ids=[rows], tensor=tensor)
    assert np.array_equal(found.vectors[0], stored[rows].astype(found.vectors.dtype))
    exact = stored[rows].astype(np.float64)
    assert np.allclose(found.norms[0], np.linalg.norm(exact, axis=1), rtol=1e-12)
    assert neighbors(model, ids=[7], tensor=tensor).rows.tolist() == nearest(stored, 7)


def sharded(folder: Path, parts: dict[str, dict[str, NDArray[Any]]]) -> Path:
    folder.mkdir()
    for file, tensors in parts.items():
        save_file(tensors, folder / file)
    places = {name: file for file, tensors in parts.items() for name in tensors}
    index = {"metadata": {}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def test_a_sharded_checkpoint(tmp_path: Path, tiny_checkpoint: Build) -> None:
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    whole = tiny_checkpoint({NAME: TABLE, HEAD: -TABLE}, config=CONFIG)
    parts = sharded(tmp_path / "parts", {one: {HEAD: -TABLE}, two: {NAME: TABLE}})
    same_answers(parts, TABLE)
    assert [table.frozen for table in diff(whole, parts).tables] == [True, True]


def test_an_absent_shard_is_an_error_only_where_it_is_needed(tmp_path: Path) -> None:
    parts = {"a-00001-of-00002.safetensors": {HEAD: TABLE}, "a-00002-of-00002.safetensors": {
        NAME: TABLE}}  # fmt: skip
    folder = sharded(tmp_path / "parts", parts)
    (folder / "a-00001-of-00002.safetensors").unlink()
    assert lookup(folder, ids=[[3]]).tensor == NAME
    (folder / "a-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError):
        lookup(folder, ids=[[3]])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_numpy_archives(tmp_path: Path, tiny_checkpoint: Build, save: Callable[..., None]) -> None:
    save(tmp_path / "m.npz", **{NAME: TABLE})
    same_answers(tmp_path / "m.npz", TABLE)
    assert diff(tmp_path / "m.npz", tiny_checkpoint({NAME: TABLE})).tables[0].frozen


def test_a_numpy_file_by_columns(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.asfortranarray(TABLE))
    same_answers(tmp_path / "m.npy", TABLE, tensor="m")


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0"])
def test_gguf(tmp_path: Path, tiny_checkpoint: Build, kind: str) -> None:
    gguf = pytest.importorskip("gguf")
    code = gguf.GGMLQuantizationType[kind]
    packed = gguf.quants.quantize(TABLE, code)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("token_embd.weight", packed, raw_dtype=code)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    stored = gguf.quants.dequantize(packed, code)
    same_answers(tmp_path / "m.gguf", stored)
    report = diff(tiny_checkpoint({NAME: TABLE}), tmp_path / "m.gguf")
    (table,) = report.tables
    compared = table.compared_as
    assert compared == (kind if kind in ("F16", "BF16") else "F32")
    rounded = {"F16": np.float16, "BF16": ml_dtypes.bfloat16}.get(kind, np.float32)
    deltas = stored.astype(np.float64) - TABLE.astype(rounded).astype(np.float64)
    assert np.allclose(table.delta_norms, np.linalg.norm(deltas, axis=1), rtol=1e-3, atol=1e-12)


def test_fp8_with_scales(tmp_path: Path) -> None:
    weight = (TABLE * 100).astype(ml_dtypes.float8_e4m3fn)
    scale = np.linspace(0.5, 2, 300).astype(np.float32)
    end = weight.nbytes + scale.nbytes
    header = {
        NAME: {"dtype": "F8_E4M3", "shape": [300, 32], "data_offsets": [0, weight.nbytes]},
        f"{NAME}_scale": {"dtype": "F32", "shape": [300], "data_offsets": [weight.nbytes, end]},
    }
    path = tmp_path / "fp8.safetensors"
    path.write_bytes(safetensors_bytes(header, weight.tobytes() + scale.tobytes()))
    stored = weight.astype(np.float32) * scale[:, None]
    same_answers(path, stored)


def test_mlx_rows_of_four_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    packed = rng.integers(0, 2**32, (300, 8), dtype=np.uint32)
    scales = rng.normal(0, 1, (300, 1)).astype(np.float16)
    biases = rng.normal(0, 1, (300, 1)).astype(np.float16)
    stem = "model.embed_tokens"
    folder = tmp_path / "mlx"
    folder.mkdir()
    save_file(
        {f"{stem}.weight": packed, f"{stem}.scales": scales, f"{stem}.biases": biases},
        folder / "model.safetensors",
    )
    quantised = {**CONFIG, "hidden_size": 64, "quantization": {"group_size": 64, "bits": 4}}
    (folder / "config.json").write_text(json.dumps(quantised))
    fours = np.stack([packed >> shift & 15 for shift in range(0, 32, 4)], axis=-1)
    stored = fours.reshape(300, 64).astype(np.float32) * scales.astype(np.float32)
    same_answers(folder, stored + biases.astype(np.float32))


@pytest.mark.parametrize("name", [HEAD, "unembed.W_U"])
def test_a_head_that_is_stored_by_columns(tiny_checkpoint: Build, name: str) -> None:
    """JAX and TransformerLens keep `[hidden size, vocabulary]`."""
    head = np.random.default_rng(3).normal(0, 1, (300, 32)).astype(np.float32)
    columns = np.ascontiguousarray(head.T)
    model = tiny_checkpoint({NAME: TABLE, name: columns}, config=CONFIG, name="jax")
    found = neighbors(model, ids=[7], table="output")
    assert (found.tensor, found.table_rows, found.width) == (name, 300, 32)
    assert found.rows.tolist() == nearest(head, 7)
    rows = tiny_checkpoint({NAME: TABLE, HEAD: head}, config=CONFIG, name="torch")
    report = diff(model, rows)
    assert [table.frozen for table in report.tables] == [True, True]
    assert (report.tying_a, report.tying_b) == ("untied", "untied")


def test_a_tied_head_that_is_stored_by_columns(tiny_checkpoint: Build) -> None:
    columns = np.ascontiguousarray(TABLE.T)
    model = tiny_checkpoint({NAME: TABLE, HEAD: columns}, config=CONFIG)
    assert diff(model, model).tying_a == "tied-stored-twice"


def test_columns_in_several_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    from embcalc.core.blocks import RowBlock
    from embcalc.core.dtypes import BY_NAME

    monkeypatch.setattr("embcalc.rows.transposed.TILE_BYTES", 1000)
    monkeypatch.setattr("embcalc.rows.transposed.BLOCK_BYTES", 300)
    stored = np.ascontiguousarray(TABLE.T)

    def read(rows: range | None) -> list[RowBlock]:
        assert rows is None
        return [RowBlock(at, stored[at : at + 5], BY_NAME["F32"]) for at in range(0, 32, 5)]

    blocks = list(columns_as_rows(read, range(3, 290), 128))
    assert [block.start for block in blocks[:3]] == [3, 5, 7]
    assert np.array_equal(np.concatenate([block.values for block in blocks]), TABLE[3:290])


def test_tables_of_no_rows(tiny_checkpoint: Build) -> None:
    none = tiny_checkpoint({NAME: np.zeros((0, 32), np.float32)}, name="none")
    some = tiny_checkpoint({NAME: TABLE}, name="some")
    with pytest.raises(UsageError, match="has 0 rows"):
        lookup(none, ids=[[0]])
    with pytest.raises(UsageError, match="has 0 rows"):
        neighbors(none, ids=[0])
    (grown,), (cut,) = diff(none, some).tables, diff(some, none).tables
    assert (grown.added_rows, grown.removed_rows, grown.frozen) == (300, 0, False)
    assert (cut.added_rows, cut.removed_rows, cut.frozen) == (0, 300, False)
    assert diff(none, none).tables[0].rows_b == 0


def test_tables_of_no_columns(tiny_checkpoint: Build) -> None:
    flat = tiny_checkpoint({NAME: np.zeros((5, 0), np.float32)})
    assert lookup(flat, ids=[[4, 0]]).norms.tolist() == [[0.0, 0.0]]
    assert neighbors(flat, ids=[0], metric="euclidean").rows.tolist() == [1, 2, 3, 4]
    assert diff(flat, flat).tables[0].frozen


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "[]", "\xff"])
def test_a_broken_config_is_noted(tiny_checkpoint: Build, text: str) -> None:
    model = tiny_checkpoint({NAME: TABLE, HEAD: TABLE})
    (model / "config.json").write_text(text, "latin-1")
    assert "config.json" in lookup(model, ids=[[1, 2]]).notes[0]
    assert "config.json" in neighbors(model, ids=[1]).notes[0]
    report = diff(model, model)
    assert report.tables[0].frozen
    assert report.notes[0].startswith("A: config.json")


def test_a_config_of_odd_values_is_used_for_the_rest(tiny_checkpoint: Build) -> None:
    odd = {"vocab_size": "many", "hidden_size": [], "pad_token_id": 7}
    model = tiny_checkpoint({NAME: TABLE}, config=odd)
    found = lookup(model, ids=[[1, 2], [3]])
    assert found.ids == [[1, 2], [3, 7]]
    assert "vocab_size" in found.notes[0]
    assert neighbors(model, ids=[7]).rows.tolist() == nearest(TABLE, 7)
    assert diff(model, model).tables[0].frozen


def test_a_head_that_left_its_table(tiny_checkpoint: Build) -> None:
    """Both are stored, and only their values tell whether they are tied."""
    a = tiny_checkpoint({NAME: TABLE, HEAD: TABLE}, name="a")
    b = tiny_checkpoint({NAME: TABLE, HEAD: TABLE * 2}, name="b")
    report = diff(a, b)
    assert (report.tying_a, report.tying_b) == ("tied-stored-twice", "untied")
    assert report.retied
    assert not diff(b, b).retied


def test_positions_are_no_tokens(demo_model: Path, tiny_checkpoint: Build) -> None:
    positions = "embeddings.position_embeddings.weight"
    words = json.loads((demo_model / "tokenizer.json").read_text("utf-8"))
    tensors = {"embeddings.word_embeddings.weight": TABLE, positions: TABLE[:20]}
    model = tiny_checkpoint(tensors, tokenizer=words)
    found = neighbors(model, ids=[1], tensor=positions)
    assert [item.text for item in found.query] == [None]
    assert [item.text for item in found.neighbors] == [None] * 10
    assert lookup(model, ids=[[1]], tensor=positions).sequences[0].tokens[0].text is None
    with pytest.raises(UsageError, match="belong to no tokens"):
        neighbors(model, "我", tensor=positions)
    changed = tiny_checkpoint({**tensors, positions: -TABLE[:20]}, tokenizer=words, name="b")
    assert {row.text for row in diff(model, changed).tables[1].most_changed} == {None}


def test_a_named_tensor_that_one_model_lacks(tiny_checkpoint: Build) -> None:
    a = tiny_checkpoint({NAME: TABLE, HEAD: TABLE}, name="a")
    b = tiny_checkpoint({NAME: TABLE}, name="b")
    assert [table.tensor_a for table in diff(a, a, tensor=HEAD).tables] == [HEAD]
    with pytest.raises(CheckpointError, match=r"B: .*no tensor"):
        diff(a, b, tensor=HEAD)


def test_nothing_is_written_beside_a_read_only_model(tiny_checkpoint: Build) -> None:
    model = tiny_checkpoint({NAME: TABLE}, config=CONFIG)
    for path in (*model.iterdir(), model):
        path.chmod(path.stat().st_mode & ~0o222)
    before = {path: path.stat().st_mtime_ns for path in (*model.iterdir(), model)}
    same_answers(model, TABLE)
    assert diff(model, model).tables[0].frozen
    assert before == {path: path.stat().st_mtime_ns for path in (*model.iterdir(), model)}
    model.chmod(0o755)


@pytest.mark.parametrize("command", ["neighbors", "diff"])
def test_an_interrupt_ends_all_threads(
    tiny_checkpoint: Build, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("embcalc.rows.parallel.SHARE_BYTES", 32 * 4)
    monkeypatch.setattr("embcalc.usecases.opened.MOST_WORKERS", 2)
    model = tiny_checkpoint({NAME: TABLE})
    told: list[int] = []

    def interrupted(label: str, done: int, total: int) -> None:
        assert label
        assert done <= total
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    commands: dict[str, Callable[[], object]] = {
        "neighbors": lambda: neighbors(model, ids=[7], progress=interrupted),
        "diff": lambda: diff(model, model, progress=interrupted),
    }
    with pytest.raises(KeyboardInterrupt):
        commands[command]()
    assert len(told) < 300


def test_the_number_of_threads_changes_nothing(
    tiny_checkpoint: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embcalc.rows.parallel.SHARE_BYTES", 3000)
    a, b = tiny_checkpoint({NAME: TABLE}), tiny_checkpoint({NAME: TABLE * 3}, name="b")
    found, compared = [], []
    for workers in (1, 2, 5):
        monkeypatch.setattr("embcalc.usecases.opened.MOST_WORKERS", workers)
        found.append(neighbors(a, ids=[7], center=True))
        compared.append(diff(a, b).tables[0])
    for report in found[1:]:
        assert report.rows.tolist() == found[0].rows.tolist()
        assert np.allclose(report.scores, found[0].scores, rtol=1e-12)
    for table in compared[1:]:
        assert np.array_equal(table.delta_norms, compared[0].delta_norms)
        assert table.most_changed == compared[0].most_changed
