"""What cannot be done is refused in two lines that say what to do, before anything is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run

Runner = Callable[..., Run]

REFUSED = {
    "inspect empty": (
        "no checkpoint in empty: the folder is empty",
        "name the folder or the file that holds the weights: *.safetensors, *.bin, *.pt, *.gguf, "
        "*.npz or *.npy",
    ),
    "check empty": (
        "no config, tokenizer or weights in empty: the folder is empty",
        "name the folder that holds config.json, tokenizer.json and the weights",
    ),
    "check other": (
        "no config, tokenizer or weights in other",
        "it holds: notes.md; looked for are config.json, tokenizer files, weights",
    ),
    "inspect demo -o empty": (
        "cannot write empty: Is a directory",
        "that is a folder: name a file, as in empty/result.txt",
    ),
    "inspect demo --html missing/page.html": (
        "cannot write missing/page.html: No such file or directory",
        "make the folder missing first",
    ),
    "check demo --report json=missing/check.json": (
        "cannot write missing/check.json: No such file or directory",
        "make the folder missing first",
    ),
    "inspect no-model -o missing/late.txt": (
        "cannot write missing/late.txt: No such file or directory",
        "make the folder missing first",
    ),
    "inspect no-model --plot missing/late.png": (
        "cannot write missing/late.png: No such file or directory",
        "make the folder missing first",
    ),
    "inspect demo demo --rows 1": (
        "--rows has no effect on several checkpoints in text",
        "inspect one of them, or add --format json",
    ),
    "estimate demo --budget lots": (
        "--budget 'lots' is no size",
        "write 24GB, 24GiB or a number of bytes",
    ),
    "explain EMB60": ("there is no rule 'EMB60'", "did you mean EMB601, EMB602, EMB603?"),
    "inspect demo --bins 0": (
        "--bins 0 is not between 1 and 10,000",
        "leave it out for about 20 bins of round width",
    ),
    "inspect demo --top -1": ("--top -1 is below 0", "give the number of rows to list"),
    "inspect demo --rows 5-2": ("--rows '5-2' runs backwards", "write 2-5"),
    "inspect demo --rows 0-20000": (
        "--rows names over 10,000 rows",
        "--export writes all rows to a file",
    ),
    "inspect demo --tensor foo": (
        "--tensor: there is no tensor 'foo' among 1",
        "tables here: model.embed_tokens.weight",
    ),
    "inspect demo --tensor embed_tokens": (
        "--tensor: there is no tensor 'embed_tokens' among 1",
        "similar names: model.embed_tokens.weight",
    ),
    "inspect demo --fail-on ,": (
        "--fail-on names nothing",
        "write --fail-on any, or zero,nonfinite",
    ),
    "neighbors demo 你 --table output --tensor model.embed_tokens.weight": (
        "--table output and --tensor both name a table",
        "leave one of them out",
    ),
    "lookup demo --ids 1 --vectors": (
        "--vectors has no effect on --format text",
        "add --format json or --format csv",
    ),
    "estimate demo --pad-to 0": ("--pad-to must be at least 1, not 0", "64 or 128 are usual"),
    "estimate demo --freeze position": (
        "--freeze position: the model has no such table",
        "it has output, token",
    ),
    "demo other/notes.md": (
        "other/notes.md is a file, not a folder",
        "name a folder: embcalc demo tiny",
    ),
}


@pytest.fixture
def place(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a model, an empty folder and one of other files."""
    monkeypatch.chdir(tmp_path)
    run("demo", "demo")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.md").write_text("mine")
    return tmp_path


@pytest.mark.parametrize("line", REFUSED)
def test_says_what_is_wrong_and_what_to_do(run: Runner, place: Path, line: str) -> None:
    before = sorted(place.rglob("*"))
    message, hint = REFUSED[line]
    result = run(*line.split())
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {message}\nhint: {hint}\n"
    assert sorted(place.rglob("*")) == before


def test_a_kind_to_fail_on_that_is_mistyped(run: Runner, place: Path) -> None:
    result = run("inspect", "demo", "--fail-on", "nonfinit")
    assert result.code == 2
    assert "hint: did you mean nonfinite? known are zero, " in result.err


@pytest.mark.parametrize("command", ["inspect", "check", "check-vocab", "estimate"])
def test_devices_and_pipes_are_no_models(run: Runner, place: Path, command: str) -> None:
    os.mkfifo(place / "pipe")
    for address in ("pipe", os.devnull):
        result = run(command, address)
        assert result.code == 2
        assert result.err == (
            f"error: {address} is a device or a pipe, which cannot be read in parts\n"
            "hint: save what it gives to a file, and name that\n"
        )


def test_ranks_that_share_nothing_are_noted(run: Runner) -> None:
    note = "ZeRO is off (--zero-stage): every data-parallel rank holds all of it"
    arguments = ("estimate", "gpt2", "--format", "json", "--data-parallel")
    assert note in run(*arguments, 4).json["assumptions"]
    assert note not in run(*arguments, 1).json["assumptions"]
    assert note not in run(*arguments, 4, "--zero-stage", 1).json["assumptions"]


def test_a_frozen_table_that_exists_is_frozen(run: Runner) -> None:
    arguments = ("estimate", "bert-base-uncased", "--freeze", "position", "--format", "json")
    tables = {table["role"]: table for table in run(*arguments).json["tables"]}
    assert tables["position"]["trainable_parameters"] == 0
    assert tables["token"]["trainable_parameters"] > 0
