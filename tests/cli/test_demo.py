from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from embcalc.usecases.demo import ROWS, TOKENS
from tests.conftest import Run
from tokenizers import Tokenizer


def test_writes_a_model_that_the_reference_libraries_read(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    folder = tmp_path / "tiny"
    assert run("demo", folder).code == 0
    table = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    assert np.array_equal(table, np.array(ROWS, np.float32))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoded = tokenizer.encode_batch(["我爱学习", "你爱"])
    assert [sequence.ids for sequence in encoded] == [[1, 2, 3], [4, 2, 0]]
    assert json.loads((folder / "config.json").read_text())["vocab_size"] == len(TOKENS)


def test_refuses_a_folder_that_is_not_empty(run: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    result = run("demo", tmp_path)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert "nothing was written" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_second_run_finds_its_own_files(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    first = run("demo", folder)
    (folder / "notes.txt").write_text("kept")
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    second = run("demo", folder)
    assert (second.code, second.out) == (0, first.out)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_demo_that_was_edited_is_not_overwritten(
    run: Callable[..., Run], tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "tiny"
    run("demo", folder)
    (folder / name).write_bytes(b"mine")
    assert run("demo", folder).code == 2
    assert (folder / name).read_bytes() == b"mine"


def test_fills_an_empty_folder_and_makes_missing_parents(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("demo", empty).code == 0
    assert run("demo", tmp_path / "a" / "b").code == 0
    assert (tmp_path / "a" / "b" / "tokenizer.json").exists()


@pytest.mark.parametrize("target", ["file.txt", "file.txt/below"])
def test_a_file_in_the_way_is_named(run: Callable[..., Run], tmp_path: Path, target: str) -> None:
    (tmp_path / "file.txt").write_text("kept")
    result = run("demo", tmp_path / target)
    assert result.code == 2
    assert target in result.err
    assert (tmp_path / "file.txt").read_text() == "kept"


def test_json(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    result = run("demo", folder, "--format", "json")
    assert (result.code, result.err) == (0, "")
    assert result.json == {
        "schema": "embcalc/demo/v1",
        "folder": str(folder),
        "files": ["config.json", "tokenizer.json", "model.safetensors"],
    }
    assert {path.name for path in folder.iterdir()} == set(result.json["files"])
