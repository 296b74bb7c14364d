from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.usecases.diff import diff
from tests.conftest import Run

Build = Callable[..., Path]
NAME = "model.embed_tokens.weight"


@pytest.fixture
def table() -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(0, 0.05, (200, 16)).astype(np.float32)


def words(*texts: str) -> dict[str, Any]:
    return {
        "added_tokens": [],
        "model": {"type": "WordLevel", "vocab": {text: i for i, text in enumerate(texts)}},
    }


def test_json_is_the_contract(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    changed = table.copy()
    changed[[3, 150]] += np.array([[0.1], [0.5]], np.float32)
    a = tiny_checkpoint({NAME: table}, name="a")
    b = tiny_checkpoint({NAME: changed}, name="b")
    result = run("diff", a, b, "--format", "json")
    assert (result.code, result.err) == (0, "")
    document = result.json
    assert document["schema"] == "embcalc/diff/v1"
    (item,) = document["tables"]
    assert item["tensor"] == NAME
    assert (item["rows_a"], item["rows_b"]) == (200, 200)
    assert (item["identical_rows"], item["changed_rows"]) == (198, 2)
    assert (item["added_rows"], item["removed_rows"]) == (0, 0)
    assert [row["row"] for row in item["most_changed"]] == [150, 3]
    x, y = table[150].astype(np.float64), changed[150].astype(np.float64)
    assert item["most_changed"][0]["delta_norm"] == pytest.approx(np.linalg.norm(y - x), rel=1e-12)
    cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    assert item["most_changed"][0]["cosine"] == pytest.approx(cosine, rel=1e-12)
    assert set(item["most_changed"][0]) == {"row", "token", "delta_norm", "cosine"}


def test_a_frozen_table_is_said(run: Callable[..., Run], demo_model: Path) -> None:
    assert "frozen: not one of the 6 rows" in run("diff", demo_model, demo_model).out
    assert run("diff", demo_model, demo_model, "--format", "json").json["tables"][0]["frozen"]


@pytest.mark.parametrize(
    ("change", "changed_code", "shape_code"),
    [("none", 0, 0), ("value", 1, 0), ("grown", 1, 1), ("cut", 1, 1), ("wider", 1, 1)],
)
def test_fail_on(
    run: Callable[..., Run],
    tiny_checkpoint: Build,
    table: NDArray[np.float32],
    change: str,
    changed_code: int,
    shape_code: int,
) -> None:
    others = {
        "none": table,
        "value": table * np.float32(1.01),
        "grown": np.concatenate([table, table[:2]]),
        "cut": table[:-1],
        "wider": np.concatenate([table, table], axis=1),
    }
    a = tiny_checkpoint({NAME: table}, name="a")
    b = tiny_checkpoint({NAME: np.ascontiguousarray(others[change])}, name="b")
    assert run("diff", a, b).code == 0
    assert run("diff", a, b, "--fail-on", "changed").code == changed_code
    assert run("diff", a, b, "--fail-on", "shape").code == shape_code


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_dtypes_are_compared_at_the_coarser_one(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32], kind: Any
) -> None:
    """A model saved in half precision was not trained."""
    a = tiny_checkpoint({NAME: table}, name="a")
    half = table.astype(kind)
    half[7, 0] = 1
    b = tiny_checkpoint({NAME: half}, name="b")
    for first, second in ((a, b), (b, a)):
        item = run("diff", first, second, "--format", "json").json["tables"][0]
        assert item["compared_as"] == ("F16" if kind is np.float16 else "BF16")
        assert (item["identical_rows"], item["changed_rows"]) == (199, 1)
        assert item["most_changed"][0]["row"] == 7
    assert "both were compared as" in run("diff", a, b).out.replace("\n  ", " ")


def test_added_rows_that_never_trained(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    new = np.stack([table.mean(axis=0), np.zeros(16, np.float32), table[4] * 2])
    a = tiny_checkpoint({NAME: table}, name="a")
    b = tiny_checkpoint({NAME: np.concatenate([table, new])}, name="b")
    result = run("diff", a, b, "--format", "json").json["tables"][0]
    assert (result["added_rows"], result["frozen"]) == (3, True)
    assert [result["added"][key] for key in ("at_mean", "zero", "elsewhere")] == [1, 1, 1]
    assert "at the mean of A's rows" in run("diff", a, b).out
    back = run("diff", b, a, "--format", "json").json["tables"][0]
    assert (back["removed_rows"], back["added"]) == (3, None)


def test_a_row_that_became_nan_comes_first(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    broken = table + np.float32(1)
    broken[9] = np.nan
    a, b = tiny_checkpoint({NAME: table}, name="a"), tiny_checkpoint({NAME: broken}, name="b")
    item = run("diff", a, b, "--format", "json").json["tables"][0]
    assert item["nonfinite_rows"] == 1
    assert item["most_changed"][0] == {
        "row": 9, "token": None, "delta_norm": None, "cosine": None
    }  # fmt: skip
    assert "not finite" in run("diff", a, b).out


def test_tokenizers_are_compared(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    a = tiny_checkpoint({NAME: table}, tokenizer=words("x", "y", "z", "gone"), name="a")
    b = tiny_checkpoint({NAME: table}, tokenizer=words("y", "x", "z", "new", "=1"), name="b")
    document = run("diff", a, b, "--format", "json").json["tokenizers"]
    assert document["moved"] == [
        {"token": "x", "id_a": 0, "id_b": 1},
        {"token": "y", "id_a": 1, "id_b": 0},
    ]
    assert document["added"] == [{"id": 3, "token": "new"}, {"id": 4, "token": "=1"}]
    assert document["removed"] == [{"id": 3, "token": "gone"}]
    assert not document["same"]
    out = run("diff", a, b).out
    assert "2 moved: x 0 -> 1, y 1 -> 0" in out
    assert "2 tokens have other ids in B" in out


def test_tying_is_compared(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    config = {"model_type": "llama", "vocab_size": 200, "hidden_size": 16}
    a = tiny_checkpoint({NAME: table}, config={**config, "tie_word_embeddings": True}, name="a")
    b = tiny_checkpoint(
        {NAME: table, "lm_head.weight": -table},
        config={**config, "tie_word_embeddings": False},
        name="b",
    )
    result = run("diff", a, b)
    assert "tying: tied in A, untied in B  <- changed" in result.out
    assert "lm_head.weight: only in B" in result.out
    assert run("diff", a, b, "--fail-on", "shape").code == 1


def test_tables_are_matched_by_role_whatever_their_names(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    a = tiny_checkpoint({NAME: table, "lm_head.weight": -table}, name="a")
    b = tiny_checkpoint({"output.weight": -table, "tok_embeddings.weight": table}, name="b")
    items = run("diff", a, b, "--format", "json").json["tables"]
    assert [(item["role"], item["changed_rows"]) for item in items] == [("token", 0), ("output", 0)]
    assert "in A: model.embed_tokens.weight" in run("diff", a, b).out


def test_csv_and_markdown(
    run: Callable[..., Run], tiny_checkpoint: Build, table: NDArray[np.float32]
) -> None:
    a = tiny_checkpoint({NAME: table}, name="a")
    b = tiny_checkpoint({NAME: table * np.float32(2)}, name="b")
    rows = list(csv.DictReader(io.StringIO(run("diff", a, b, "--format", "csv").out)))
    assert len(rows) == 10
    assert float(rows[0]["delta_norm"]) >= float(rows[1]["delta_norm"])
    markdown = run("diff", a, b, "--format", "markdown").out
    assert "| 200 | 200 | 0 | 200 | 0 | 0 |" in markdown


def test_the_report_has_every_row(tiny_checkpoint: Build, table: NDArray[np.float32]) -> None:
    rng = np.random.default_rng(1)
    changed = table + rng.normal(0, 0.01, table.shape).astype(np.float32)
    changed[::2] = table[::2]
    a, b = tiny_checkpoint({NAME: table}, name="a"), tiny_checkpoint({NAME: changed}, name="b")
    (item,) = diff(str(a), str(b), top=3).tables
    x, y = table.astype(np.float64), changed.astype(np.float64)
    assert np.allclose(item.delta_norms, np.linalg.norm(y - x, axis=1), rtol=1e-6)
    norms = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    assert np.allclose(item.cosines, (x * y).sum(axis=1) / norms, rtol=1e-6)
    assert len(item.most_changed) == 3
    assert len(diff(str(a), str(b), top=0).tables[0].most_changed) == 0


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        (["--fail-on", "changed"], 1),
        (["--fail-on", "shape"], 0),
        (["--fail-on", "changed,shape"], 1),
        (["--fail-on", "shape", "--fail-on", "changed"], 1),
    ],
)
def test_kinds_of_failure_may_stand_in_one_value_or_in_several(
    run: Callable[..., Run], tiny_checkpoint: Build, kinds: list[str], code: int
) -> None:
    a = tiny_checkpoint({NAME: np.ones((4, 4), np.float32)}, name="a")
    b = tiny_checkpoint({NAME: np.eye(4, dtype=np.float32)}, name="b")
    assert run("diff", a, b, *kinds).code == code


def test_refusals(run: Callable[..., Run], tiny_checkpoint: Build, demo_model: Path) -> None:
    lone = tiny_checkpoint({"layers.0.mlp.weight": np.ones((4, 4), np.float32)}, name="lone")
    result = run("diff", demo_model, lone)
    assert (result.code, result.out) == (2, "")
    assert "no embedding table in common" in result.err
    assert run("diff", demo_model, demo_model, "--top", -1).code == 2
    assert run("diff", demo_model, "nowhere").code == 2
    assert run("diff", demo_model).code == 2
    assert run("diff", demo_model, demo_model, "--fail-on", "moon").code == 2


def test_output_is_whole(run: Callable[..., Run], demo_model: Path, tmp_path: Path) -> None:
    target = tmp_path / "diff.json"
    result = run("diff", demo_model, demo_model, "--format", "json", "--output", target)
    assert (result.code, result.out) == (0, "")
    assert json.loads(target.read_text("utf-8"))["schema"] == "embcalc/diff/v1"
