from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.render.layout import cell_width
from tests.conftest import Run

Build = Callable[..., Path]


def test_json_is_the_contract(run: Callable[..., Run], demo_model: Path) -> None:
    result = run("neighbors", demo_model, "我", "--format", "json", "--top", 2)
    assert (result.code, result.err) == (0, "")
    document = result.json
    assert document["schema"] == "embcalc/neighbors/v1"
    assert document["query"]["tokens"] == [{"row": 1, "token": "我"}]
    assert [set(item) for item in document["neighbors"]] == [{"row", "token", "score"}] * 2
    assert 1 not in [item["row"] for item in document["neighbors"]]
    best = document["neighbors"][0]
    a, b = np.array([0.2, -0.1, 0.7, 0.4], np.float32), np.array([0.1, -0.5, 0.9, 0.3], np.float32)
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert (best["row"], best["token"]) == (4, "你")
    assert best["score"] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-12)


def test_analogy_leaves_all_its_terms_out(run: Callable[..., Run], demo_model: Path) -> None:
    result = run(
        "neighbors", demo_model, "我", "你", "--minus", "爱", "--minus", "！", "--format", "json"
    )
    assert [item["row"] for item in result.json["query"]["minus"]] == [2, 5]
    assert sorted(item["row"] for item in result.json["neighbors"]) == [3]
    assert result.json["undefined_rows"] == 1


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_text(run: Callable[..., Run], demo_model: Path, metric: str) -> None:
    result = run("neighbors", demo_model, "我", "--metric", metric)
    assert result.code == 0
    assert f"nearest to 我 (1) by {metric}" in result.out
    assert "no search engine" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_zero_rows_have_no_cosine_but_a_distance(run: Callable[..., Run], demo_model: Path) -> None:
    assert "1 row is zero or not finite" in run("neighbors", demo_model, "我").out
    far = run("neighbors", demo_model, "我", "--metric", "euclidean", "--format", "json").json
    assert 0 in [item["row"] for item in far["neighbors"]]


def test_csv_and_markdown(run: Callable[..., Run], demo_model: Path) -> None:
    out = run("neighbors", demo_model, "我", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (rows[0]["rank"], rows[0]["row"], rows[0]["token"]) == ("1", "4", "你")
    assert float(rows[0]["cosine"]) > float(rows[1]["cosine"])
    assert "| 4 | 你 |" in run("neighbors", demo_model, "我", "--format", "markdown").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["token or --id"]),
        (["我爱"], ["2 tokens", "我 (1) | 爱 (2)"]),
        (["x"], ["is no token"]),
        (["--id", "6"], ["id 6", "6 rows"]),
        (["--id", "-1"], ["id -1"]),
        (["--id", "1", "--minus-id", "9"], ["id 9"]),
        (["我", "--top", "0"], ["--top 0"]),
        (["PAD"], ["zero vector"]),
        (["我", "--minus", "我"], ["zero vector"]),
        (["我", "--metric", "manhattan"], ["manhattan"]),
        (["我", "--exclude", "rare"], ["rare"]),
    ],
)
def test_refusals(
    run: Callable[..., Run], demo_model: Path, arguments: list[str], words: list[str]
) -> None:
    result = run("neighbors", demo_model, *arguments)
    assert result.code == 2
    assert result.out == ""
    assert all(word in result.err for word in words), result.err


def test_without_a_tokenizer_ids_still_work(
    run: Callable[..., Run], tiny_checkpoint: Build
) -> None:
    folder = tiny_checkpoint(rows=20)
    assert run("neighbors", folder, "hello").code == 2
    assert "--id" in run("neighbors", folder, "hello").err
    result = run("neighbors", folder, "--id", 3, "--format", "json")
    assert len(result.json["neighbors"]) == 10
    assert result.json["neighbors"][0]["token"] is None
    assert "--tokenizer" in run("neighbors", folder, "--id", 3, "--exclude", "special").err


def test_the_head_may_be_searched(run: Callable[..., Run], tiny_checkpoint: Build) -> None:
    rng = np.random.default_rng(0)
    table, head = rng.normal(size=(2, 30, 8)).astype(np.float32)
    folder = tiny_checkpoint({"model.embed_tokens.weight": table, "lm_head.weight": head})
    result = run("neighbors", folder, "--id", 3, "--table", "output", "--format", "json").json
    assert result["table"]["tensor"] == "lm_head.weight"
    exact = head.astype(np.float64)
    cosines = exact @ exact[3] / np.linalg.norm(exact, axis=1) / np.linalg.norm(exact[3])
    assert result["neighbors"][0]["row"] == np.argsort(-cosines)[1]


def test_a_tied_head_is_the_token_table(run: Callable[..., Run], demo_model: Path) -> None:
    result = run("neighbors", demo_model, "我", "--table", "output")
    assert result.code == 0
    assert "no output head is stored" in result.out


def test_a_row_that_is_not_finite_has_no_neighbors(
    run: Callable[..., Run], tiny_checkpoint: Build
) -> None:
    table = np.ones((4, 2), np.float32)
    table[1] = np.nan
    folder = tiny_checkpoint({"wte.weight": table})
    assert "not finite" in run("neighbors", folder, "--id", 1).err
    assert run("neighbors", folder, "--id", 0, "--format", "json").json["undefined_rows"] == 1


def test_special_and_unused_rows_may_be_left_out(
    run: Callable[..., Run], tiny_checkpoint: Build
) -> None:
    texts = ["a", "b", "[unused1]", "<|reserved_special_token_0|>"]
    tokenizer = {
        "added_tokens": [
            {"id": 4, "content": "<s>", "special": True},
            {"id": 5, "content": "<plain>", "special": False},
        ],
        "model": {"type": "WordLevel", "vocab": {text: i for i, text in enumerate(texts)}},
    }
    folder = tiny_checkpoint(rows=8, tokenizer=tokenizer)
    base = ("neighbors", folder, "a", "--format", "json", "--exclude")
    assert {n["row"] for n in run(*base, "special").json["neighbors"]} == {1, 2, 3, 5, 6, 7}
    both = run(*base, "unused", "--exclude", "special").json
    assert {n["row"] for n in both["neighbors"]} == {1, 5}
    assert both["query"]["excluded_rows"] == 5


def test_a_shared_direction_is_said_and_centring_removes_it(
    run: Callable[..., Run], tiny_checkpoint: Build
) -> None:
    table = np.random.default_rng(0).normal(1, 0.1, (200, 16)).astype(np.float32)
    folder = tiny_checkpoint({"wte.weight": table})
    assert "share a direction" in run("neighbors", folder, "--id", 3).out
    result = run("neighbors", folder, "--id", 3, "--center", "--format", "json").json
    exact = table.astype(np.float64) - table.astype(np.float64).mean(axis=0)
    cosines = exact @ exact[3] / np.linalg.norm(exact, axis=1) / np.linalg.norm(exact[3])
    order = [row for row in np.argsort(-cosines).tolist() if row != 3]
    assert [item["row"] for item in result["neighbors"]] == order[:10]
    assert result["query"]["centered"] is True


def test_notes_about_wide_tokens_fit_the_terminal(
    run: Callable[..., Run], tiny_checkpoint: Build
) -> None:
    long = "学习语言模型的词嵌入表" * 5
    model = {"type": "WordPiece", "vocab": {long: 0, f"##{long}": 1, "x": 2}}
    words = {"added_tokens": [], "model": model}
    folder = tiny_checkpoint(rows=4, tokenizer=words)
    result = run("neighbors", folder, long, "--minus-id", "1")
    assert result.code == 0, result.err
    assert "is also" in result.out
    assert all(cell_width(line) <= 80 for line in result.out.splitlines())
    joined = result.out.replace("\n  ", "")
    assert f"'##{long}'" in joined


def test_controls_of_direction_are_escaped(run: Callable[..., Run], demo_model: Path) -> None:
    path = demo_model / "tokenizer.json"
    path.write_text(
        path.read_text("utf-8").replace("学习", "שלום").replace("你", "a\\u202eb"), "utf-8"
    )
    out = run("neighbors", demo_model, "שלום").out
    assert "nearest to שלום (3) by cosine" in out
    assert "a\\u202eb" in out
    for output_format in ("text", "csv", "markdown"):
        assert "\u202e" not in run("neighbors", demo_model, "我", "--format", output_format).out
