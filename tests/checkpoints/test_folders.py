"""Folders: which files belong together, what was read, and what is wrong with the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from embcalc.checkpoints import Checkpoint
from embcalc.errors import CheckpointError, EmbcalcError, SourceError
from tests.checkpoints.conftest import opened, values

INDEX = "model.safetensors.index.json"


def save(folder: Path, name: str, **tensors: int) -> None:
    """Write tensors of two rows, each filled with its number."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    save_file({k: np.full((2, 4), v, np.float32) for k, v in tensors.items()}, folder / name)


def shards(folder: Path, count: int = 3, *, first: int = 1) -> dict[str, str]:
    """Write shards of two tensors each; return where each tensor lies."""
    where: dict[str, str] = {}
    for number in range(first, count + 1):
        file = f"model-{number:05}-of-{count:05}.safetensors"
        save(folder, file, **{f"t{number}.a": number, f"t{number}.b": -number})
        where |= {f"t{number}.a": file, f"t{number}.b": file}
    return where


def write_index(folder: Path, weight_map: Mapping[str, Any], total: int | None = 192) -> None:
    document = {"metadata": {"total_size": total}, "weight_map": dict(weight_map)}
    (folder / INDEX).write_text(json.dumps(document), "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three good shards with their index."""
    write_index(tmp_path, shards(tmp_path))
    return tmp_path


def said(checkpoint: Checkpoint) -> list[tuple[str, str, str | None]]:
    for problem in checkpoint.problems:
        assert "\n" not in problem.message + (problem.hint or "")
    return [(str(p.severity), p.message, p.hint) for p in checkpoint.problems]


def refusal(path: Path) -> EmbcalcError:
    with pytest.raises((CheckpointError, SourceError)) as raised:
        opened(path)
    error: EmbcalcError = raised.value
    assert "\n" not in error.message + (error.hint or "")
    return error


def test_shards_are_one_checkpoint(folder: Path) -> None:
    checkpoint = opened(folder)
    assert checkpoint.problems == ()
    assert (checkpoint.format, len(checkpoint.files), checkpoint.label) == (
        "safetensors", 3, str(folder),
    )  # fmt: skip
    assert list(checkpoint.tensors) == ["t1.a", "t1.b", "t2.a", "t2.b", "t3.a", "t3.b"]
    assert values(checkpoint, "t3.b").tolist() == [[-3] * 4] * 2
    assert values(opened(folder / INDEX), "t2.a", range(1, 2)).tolist() == [[2] * 4]


def test_an_absent_shard(folder: Path) -> None:
    (folder / "model-00002-of-00003.safetensors").unlink()
    checkpoint = opened(folder)
    assert said(checkpoint) == [
        (
            "error",
            f"{INDEX} names model-00002-of-00003.safetensors, which is absent:"
            " 2 tensors lost (t2.a, t2.b)",
            "download model-00002-of-00003.safetensors",
        )
    ]
    assert len(checkpoint.tensors) == 4


def test_all_shards_absent(tmp_path: Path) -> None:
    write_index(tmp_path, {"a": "model-1.safetensors"})
    error = refusal(tmp_path)
    assert error.message == f"{INDEX} names 1 shard, and none is in {tmp_path}"
    assert error.hint == "download model-1.safetensors"


def test_a_stale_index(tmp_path: Path) -> None:
    where = {f"t{n}": f"model-{n:05}-of-00030.safetensors" for n in range(1, 31)}
    shards(tmp_path, 15)
    write_index(tmp_path, where)
    checkpoint = opened(tmp_path)
    assert len(checkpoint.files) == 15
    assert said(checkpoint) == [
        (
            "error",
            f"{INDEX} is stale: 30 of its 30 shards are absent, and 15 shards"
            " (model-00001-of-00015.safetensors and on) are complete by themselves",
            "those were read; replace the index by theirs",
        )
    ]


def test_tensors_that_are_not_where_the_index_says(folder: Path) -> None:
    where = json.loads((folder / INDEX).read_text())["weight_map"]
    where |= {"t1.a": "model-00002-of-00003.safetensors", "gone": where["t1.a"]}
    del where["t3.b"]
    write_index(folder, where, 1000)
    assert said(opened(folder)) == [
        (
            "error",
            f"2 tensors not where {INDEX} says: t1.a is in"
            " model-00001-of-00003.safetensors, not in model-00002-of-00003.safetensors,"
            " gone is not in model-00001-of-00003.safetensors, nor in another",
            "write the index anew from the shards",
        ),
        (
            "warning",
            f"1 tensor stored but not listed in {INDEX}: t3.b",
            "write the index anew: loaders that follow it do not see them",
        ),
        (
            "note",
            f"{INDEX} says 1,000 bytes in total; the tensors take 192",
            "the recount is right; write the index anew",
        ),
    ]


def test_a_truncated_shard_leaves_the_others_readable(folder: Path) -> None:
    broken = folder / "model-00002-of-00003.safetensors"
    broken.write_bytes(broken.read_bytes()[:-5])
    checkpoint = opened(folder)
    ((severity, message, hint),) = said(checkpoint)
    assert severity == "error"
    assert message.startswith(f"{broken} is cut short: ")
    assert message.endswith("1 of 2 tensors are whole")
    assert hint == "download it again, or check the disk that wrote it (whole: t2.a)"
    assert values(checkpoint, "t3.a")[0, 0] == 3


def test_a_shard_that_is_a_dangling_link(folder: Path) -> None:
    shard = folder / "model-00001-of-00003.safetensors"
    shard.unlink()
    shard.symlink_to("../blobs/abc")
    ((_, message, _),) = said(opened(folder))
    assert message == f"{shard} is a link to ../blobs/abc, which does not exist"


def test_every_shard_broken(folder: Path) -> None:
    for shard in folder.glob("*.safetensors"):
        shard.write_bytes(b"")
    assert refusal(folder).message.endswith("00001-of-00003.safetensors is empty (0 bytes)")


def test_stray_and_consolidated_files(folder: Path) -> None:
    save(folder, "consolidated.safetensors", **{"t1.a": 9})
    save(folder, "model-4bit.safetensors", **{"t1.a": 9})
    checkpoint = opened(folder)
    assert len(checkpoint.tensors) == 6
    assert said(checkpoint) == [
        (
            "note",
            "consolidated.safetensors: by the name the same weights in another layout;"
            " not read, not counted",
            None,
        ),
        (
            "note",
            "read 3 files (model-00001-of-00003.safetensors and on), which the index lists;"
            " left model-4bit.safetensors",
            "name a file to read that one",
        ),
    ]


def test_one_tensor_in_two_shards(folder: Path) -> None:
    save(folder, "model-00003-of-00003.safetensors", **{"t1.a": 7, "t3.a": 3, "t3.b": -3})
    checkpoint = opened(folder)
    warning = ("warning", "1 tensor stored in two shards: t1.a", "the first of each is read")
    assert warning in said(checkpoint)
    assert values(checkpoint, "t1.a")[0, 0] == 1


@pytest.mark.parametrize(
    "path",
    ["../x.safetensors", "/etc/passwd", "a/../../x", "C:\\x", "..\\x", "", "a\\b", "x\0", "..",
     "//server/x", "C:x", "."],
)  # fmt: skip
def test_paths_that_leave_the_folder(folder: Path, path: str) -> None:
    write_index(folder, {"a": path})
    error = refusal(folder)
    assert error.message.startswith(f"{folder / INDEX} names ")
    assert error.message.endswith(", which is not a file of its own folder: refused")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"weight_map": []}', '{"weight_map": {"a": 1}}'])
def test_broken_indexes(folder: Path, text: str) -> None:
    (folder / INDEX).write_text(text)
    assert refusal(folder).message.startswith(f"{folder / INDEX} is no index of shards: ")


def test_an_empty_index(folder: Path) -> None:
    write_index(folder, {})
    assert refusal(folder).message == f"{INDEX} of {folder} lists no tensors"


def test_odd_totals_are_ignored(folder: Path) -> None:
    where = json.loads((folder / INDEX).read_text())["weight_map"]
    odd: tuple[Any, ...] = (
        None,
        [],
        {"total_size": "x"},
        {"total_size": -1},
        {"total_size": 192.0},
    )
    for metadata in odd:
        document = {"metadata": metadata, "weight_map": where}
        (folder / INDEX).write_text(json.dumps(document))
        assert opened(folder).problems == ()


def test_shards_without_an_index(tmp_path: Path) -> None:
    shards(tmp_path)
    checkpoint = opened(tmp_path)
    assert (len(checkpoint.files), checkpoint.problems) == (3, ())
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    assert said(opened(tmp_path)) == [
        (
            "error",
            "1 of 3 shards are absent: model-00002-of-00003.safetensors",
            "download them; their tensors are not seen",
        )
    ]


def test_the_single_file_comes_before_the_shards(folder: Path) -> None:
    save(folder, "model.safetensors", only=5)
    checkpoint = opened(folder)
    assert checkpoint.files == ("model.safetensors",)
    assert said(checkpoint)[0][1].startswith(
        "read model.safetensors, the name that loaders look for first; left model-00001"
    )


def test_safetensors_come_before_other_formats(tmp_path: Path) -> None:
    save(tmp_path, "weird.safetensors", a=1)
    np.save(tmp_path / "embedding.npy", np.zeros((2, 2)))
    (tmp_path / "pytorch_model.bin").write_bytes(b"never read")
    (tmp_path / "optimizer.pt").write_bytes(b"never read")
    checkpoint = opened(tmp_path)
    assert checkpoint.files == ("weird.safetensors",)
    assert said(checkpoint) == [
        (
            "note",
            "read weird.safetensors, as loaders prefer .safetensors;"
            " left embedding.npy, pytorch_model.bin",
            "name a file to read that one",
        )
    ]


def test_of_files_of_unknown_names_the_largest(tmp_path: Path) -> None:
    save(tmp_path, "a.safetensors", a=1)
    save(tmp_path, "b.safetensors", a=1, b=2)
    checkpoint = opened(tmp_path)
    assert checkpoint.files == ("b.safetensors",)
    assert said(checkpoint)[0][1] == "read b.safetensors, the largest; left a.safetensors"


def test_an_index_of_another_family_is_left(tmp_path: Path) -> None:
    save(tmp_path, "model-x.safetensors", a=1)
    (tmp_path / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "p-1.bin"}}')
    assert opened(tmp_path).files == ("model-x.safetensors",)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("garbage", "is no index of shards: JSON is malformed"),
        ('{"weight_map": {"a": "m-1.safetensors"}}',
         "1 shard of model.safetensors.index.json is absent (m-1.safetensors)"),
        ('{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}',
         "2 shards of model.safetensors.index.json are absent"),
        ('{"weight_map": {"a": "../m.safetensors"}}', "not a file of its own folder: refused"),
        ('{"weight_map": {"a": "model.safetensors"}}', None),
    ],
)  # fmt: skip
def test_an_index_beside_the_single_file(tmp_path: Path, content: str, what: str | None) -> None:
    save(tmp_path, "model.safetensors", a=1)
    (tmp_path / INDEX).write_text(content)
    found = said(opened(tmp_path))
    if what is None:
        assert found == []
        return
    ((severity, message, hint),) = found
    assert severity == "warning"
    assert what in message
    assert message.endswith("; model.safetensors was read")
    assert hint == f"remove {INDEX}: some loaders look for an index first"


def test_the_only_checkpoint_below(tmp_path: Path) -> None:
    save(tmp_path, "0_Transformer/model.safetensors", a=1)
    assert opened(tmp_path).files == ("0_Transformer/model.safetensors",)


def test_shards_below(tmp_path: Path) -> None:
    below = tmp_path / "language_model"
    below.mkdir()
    write_index(below, shards(below))
    checkpoint = opened(tmp_path)
    assert checkpoint.files[0] == "language_model/model-00001-of-00003.safetensors"
    assert (len(checkpoint.tensors), checkpoint.problems) == (6, ())


def test_several_checkpoints_below(tmp_path: Path) -> None:
    for step in (500, 1000):
        save(tmp_path, f"checkpoint-{step}/model.safetensors", a=1)
    error = refusal(tmp_path)
    assert error.message == f"{tmp_path} holds 2 checkpoints: checkpoint-1000, checkpoint-500"
    assert error.hint == f"name one of them: {tmp_path}/checkpoint-500"


def test_nothing_to_read(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    weights = "*.safetensors, *.bin, *.pt, *.gguf, *.npz or *.npy"
    assert (error.message, error.hint) == (
        f"no checkpoint in {tmp_path}: the folder is empty",
        f"name the folder or the file that holds the weights: {weights}",
    )
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.incomplete").write_text("x")
    error = refusal(tmp_path)
    assert error.message == (
        f"no checkpoint in {tmp_path}; 1 download did not end: model.safetensors.incomplete"
    )
    assert error.hint == (
        f"it holds: config.json, model.safetensors.incomplete; weights are {weights}"
    )


def test_an_unfinished_download_beside(folder: Path) -> None:
    (folder / "model-00004.safetensors.part").write_text("x")
    assert said(opened(folder)) == [
        ("warning", "1 download did not end: model-00004.safetensors.part",
         "download the model again")
    ]  # fmt: skip


def test_a_zero3_save(tmp_path: Path) -> None:
    tensors = {
        "model.embed_tokens.weight": np.zeros(0, np.float32),
        "model.norm.weight": np.ones(4, np.float32),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    assert said(opened(tmp_path)) == [
        (
            "error",
            "1 of 2 tensors are empty, model.embed_tokens.weight with shape [0] among them:"
            " a ZeRO-3 save of partitioned weights",
            "gather them with zero_to_fp32.py, which DeepSpeed writes beside its checkpoints",
        )
    ]
