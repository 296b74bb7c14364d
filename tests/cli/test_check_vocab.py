from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.tokenizers.folders import added_token, folder, tokenizer


@pytest.fixture
def broken(tiny_checkpoint: Callable[..., Path]) -> Path:
    """Ten rows under eleven tokens."""
    return tiny_checkpoint(
        rows=10,
        config={"model_type": "llama", "vocab_size": 10, "tie_word_embeddings": True},
        tokenizer=tokenizer(10, [added_token("<pad>\x1b[31m", 10)]),
    )


def test_the_demo_has_no_findings(run: Callable[..., Run], demo_model: Path) -> None:
    result = run("check-vocab", demo_model)
    assert (result.code, result.err) == (0, "")
    assert "ok: nothing found" in result.out


def test_json_follows_the_contract(run: Callable[..., Run], demo_model: Path) -> None:
    document = run("check-vocab", demo_model, "--format", "json").json
    assert document == {
        "schema": "embcalc/check/v1",
        "model": str(demo_model),
        "ok": True,
        "facts": {
            "config_vocab_size": 6,
            "config_vocab_source": "config.json:vocab_size",
            "embedding_rows": 6,
            "head_rows": None,
            "tied": True,
            "tokenizer": {
                "format": "tokenizer.json",
                "file": "tokenizer.json",
                "base_size": 6,
                "added": 0,
                "size": 6,
                "max_id": 5,
                "holes": 0,
            },
            "special_ids": {"pad_token_id": 0},
        },
        "findings": [],
        "summary": {"errors": 0, "warnings": 0, "notes": 0},
        "skipped": [
            {"rule": "EMB103", "reason": "no output head of its own"},
            {"rule": "EMB401", "reason": "no output head of its own"},
        ],
    }


def test_an_error_fails_and_names_id_text_file_and_fix(
    run: Callable[..., Run], broken: Path
) -> None:
    result = run("check-vocab", broken)
    assert result.code == 1
    assert "error EMB101 token-without-row  tokenizer.json" in result.out
    assert "(10, special)" in " ".join(result.out.split())
    assert "resize_token_embeddings(11" in " ".join(result.out.split())
    assert "\x1b" not in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())


@pytest.mark.parametrize("output_format", ["csv", "markdown", "json"])
def test_every_format_has_the_finding(
    run: Callable[..., Run], broken: Path, output_format: str
) -> None:
    result = run("check-vocab", broken, "--format", output_format)
    assert result.code == 1
    assert "EMB101" in result.out
    assert "\x1b" not in result.out


def test_selection(run: Callable[..., Run], broken: Path) -> None:
    assert run("check-vocab", broken, "--ignore", "EMB101").code == 0
    assert run("check-vocab", broken, "--select", "EMB2,EMB3").code == 0
    assert run("check-vocab", broken, "--select", "EMB101").code == 1
    assert run("check-vocab", broken, "--select", "EMB1", "--ignore", "emb101").code == 0
    wrong = run("check-vocab", broken, "--select", "EMB9")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no rule's code begins with EMB9" in wrong.err


def test_an_allowed_token_may_lack_a_row(run: Callable[..., Run], broken: Path) -> None:
    assert run("check-vocab", broken, "--allow-token", "<pad>\x1b[31m").code == 0


def test_without_weights_the_config_is_taken_and_it_says_so(
    run: Callable[..., Run], broken: Path
) -> None:
    result = run("check-vocab", broken, "--no-weights")
    assert result.code == 1
    assert "by config only" in result.out
    assert "not checked (weights not asked for): EMB102" in result.out


def test_strict_fails_on_warnings(run: Callable[..., Run], tmp_path: Path) -> None:
    folder(tmp_path, {"config.json": {"vocab_size": 10, "pad_token_id": -1}})
    assert run("check-vocab", tmp_path).code == 0
    strict = run("check-vocab", tmp_path, "--strict", "--format", "json")
    assert strict.code == 1
    assert strict.json["ok"] is False


def test_a_tokenizer_from_elsewhere(
    run: Callable[..., Run], demo_model: Path, tmp_path: Path
) -> None:
    folder(tmp_path / "other", {"tokenizer.json": tokenizer(9)})
    for place in (tmp_path / "other", tmp_path / "other" / "tokenizer.json"):
        result = run("check-vocab", demo_model, "--tokenizer", place, "--format", "json")
        assert result.code == 1
        assert result.json["facts"]["tokenizer"]["size"] == 9


@pytest.mark.parametrize(
    ("files", "error"),
    [({}, "no config, tokenizer or weights"), ({"readme.md": "hi"}, "no config, tokenizer")],
)
def test_a_folder_without_anything_is_refused(
    run: Callable[..., Run], tmp_path: Path, files: dict[str, Any], error: str
) -> None:
    folder(tmp_path, files)
    result = run("check-vocab", tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {error}")


def test_output_goes_to_a_file(run: Callable[..., Run], demo_model: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    result = run("check-vocab", demo_model, "--format", "json", "--output", target)
    assert (result.code, result.out) == (0, "")
    assert json.loads(target.read_text("utf-8"))["ok"] is True
