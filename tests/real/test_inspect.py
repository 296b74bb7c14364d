"""Numbers of two real tables, known from float64 numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from embcalc.rows.near_duplicates import near_groups
from embcalc.rows.scan import scan
from tests.conftest import Run
from tests.rows.near_truth import near_rows, stored, with_near_ones

pytestmark = pytest.mark.real


def test_minilm(run: Callable[..., Run], minilm: Path) -> None:
    document = run("inspect", minilm / "model.safetensors", "--format", "json").json
    facts = document["checkpoint"]
    assert (facts["tensors"], facts["parameters"], facts["bytes"]) == (104, 22_713_216, 90_856_960)
    assert document["tying"]["verdict"] == "no-head"
    token, positions, types = document["tables"]
    assert (token["tensor"], token["role"]) == ("embeddings.word_embeddings.weight", "token")
    assert (token["rows"], token["width"], token["dtype"]) == (30_522, 384, "F32")
    assert token["share_of_parameters"] == pytest.approx(0.516, abs=5e-4)
    assert token["norms"]["percentiles"]["50"] == pytest.approx(1.11097, abs=5e-6)
    assert token["smallest"][0] == {
        "row": 103,
        "token": "[MASK]",
        "norm": pytest.approx(0.24488, abs=5e-6),
    }
    assert token["largest"][0]["token"] == "briefs"
    assert token["largest"][0]["norm"] == pytest.approx(1.69403, abs=5e-6)
    assert token["zero_rows"]["count"] == token["duplicate_rows"]["count"] == 0
    assert sum(token["histogram"]["counts"]) == 30_522
    assert (positions["role"], positions["rows"]) == ("position", 512)
    assert (types["role"], types["rows"]) == ("token_type", 2)


@pytest.mark.parametrize("kernels", ["", "numpy"])
def test_wordllama(
    run: Callable[..., Run], wordllama: Path, monkeypatch: pytest.MonkeyPatch, kernels: str
) -> None:
    monkeypatch.setenv("EMBCALC_KERNELS", kernels)
    (table,) = run("inspect", wordllama, "--format", "json").json["tables"]
    numbers = load_file(wordllama)["embedding.weight"].astype(np.float64)
    norms = np.linalg.norm(numbers, axis=1)
    assert (table["rows"], table["width"], table["dtype"]) == (32_000, 256, "F16")
    assert table["norms"]["min"] == pytest.approx(norms.min(), rel=1e-6)
    assert table["norms"]["max"] == pytest.approx(norms.max(), rel=1e-6)
    assert table["norms"]["min"] == pytest.approx(0.38117, abs=5e-6)
    assert table["norms"]["max"] == pytest.approx(38.511, abs=5e-4)
    assert table["elements"]["mean"] == pytest.approx(numbers.mean(), abs=1e-9)
    assert table["elements"]["std"] == pytest.approx(numbers.std(), rel=1e-6)
    assert table["elements"]["absmax"] == np.abs(numbers).max()


@pytest.mark.parametrize("name", ["minilm", "wordllama"])
def test_near_duplicates_as_by_all_pairs(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The table itself has none; then rows are made near-duplicates of others."""
    path = request.getfixturevalue(name)
    tensors = load_file(path / "model.safetensors" if path.is_dir() else path)
    table = max(tensors.values(), key=lambda each: each.shape[0]).astype(np.float64)
    checkpoint, _ = stored(tmp_path, table)
    found = scan(checkpoint, "t")
    assert near_groups(checkpoint, "t", found, found.zero) == ()
    (tmp_path / "model.safetensors").unlink()
    rows = with_near_ones(np.random.default_rng(1), table, 2000)
    checkpoint, numbers = stored(tmp_path, rows)
    found = scan(checkpoint, "t")
    groups = near_groups(checkpoint, "t", found, found.zero) or ()
    truth = near_rows(numbers)
    listed = {row for group in groups for row in group}
    assert listed <= truth
    assert len(listed) >= 0.998 * len(truth) > 3000


@pytest.mark.parametrize("kernels", ["", "numpy"])
def test_the_collapsed_rows_of_minilm(
    run: Callable[..., Run], minilm: Path, monkeypatch: pytest.MonkeyPatch, kernels: str
) -> None:
    """Its unused rows and characters that no text had lie around one direction."""
    monkeypatch.setenv("EMBCALC_KERNELS", kernels)
    document = run("inspect", minilm / "model.safetensors", "--format", "json").json
    (cluster,) = document["tables"][0]["clusters"]
    table = load_file(minilm / "model.safetensors")["embeddings.word_embeddings.weight"]
    units = table / np.linalg.norm(table.astype(np.float64), axis=1, keepdims=True)
    near = np.arange(1, 995)
    for _ in range(8):
        middle = units[near].mean(axis=0)
        near = np.flatnonzero(units @ (middle / np.linalg.norm(middle)) > 0.9)
    assert cluster["count"] == pytest.approx(len(near), rel=0.02)
    assert 700 < cluster["count"] - cluster["used"] <= 994
