"""Usable positions: from the configuration, from the stored table, from a bare key."""

from __future__ import annotations

from typing import Any

import pytest

from embcalc.core.config import parse_config
from embcalc.core.dtypes import BY_NAME
from embcalc.core.facts import ModelFacts
from embcalc.core.positions import usable_positions
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo


def facts(document: dict[str, Any], stored: int | None = None) -> ModelFacts:
    tables: tuple[EmbeddingTable, ...] = ()
    if stored is not None:
        tensor = TensorInfo(
            name="wpe.weight", shape=(stored, 1), dtype=BY_NAME["F32"], file="m", nbytes=4 * stored
        )
        tables = (EmbeddingTable(role=Role.POSITION, tensor=tensor),)
    return ModelFacts(model="m", config=parse_config(document), document=document, tables=tables)


@pytest.mark.parametrize(
    ("document", "stored", "usable"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512, "hidden_size": 8}, None, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "hidden_size": 8}, None, 512),
        (
            {
                "model_type": "roberta",
                "max_position_embeddings": 514,
                "pad_token_id": 5,
                "hidden_size": 8,
            },
            None,
            508,
        ),
        ({"model_type": "opt", "max_position_embeddings": 2048, "hidden_size": 8}, None, 2048),
        ({"model_type": "mluke"}, 514, 512),
        ({"model_type": "mluke", "pad_token_id": 0}, 514, 513),
        ({"model_type": "mluke", "pad_token_id": -1}, 514, 512),
        ({"model_type": "mluke", "max_position_embeddings": 514}, None, 512),
        ({"model_type": "squeezebert"}, 512, 512),
        ({"model_type": "squeezebert", "max_position_embeddings": 512}, None, 512),
        ({"model_type": "squeezebert", "n_positions": 256}, None, 256),
        ({"model_type": "squeezebert", "max_position_embeddings": -1}, None, None),
        ({"model_type": "squeezebert", "max_position_embeddings": "512"}, None, None),
        ({"model_type": "squeezebert"}, None, None),
        ({"model_type": "esm", "max_position_embeddings": 1026}, None, 1024),
        (
            {
                "model_type": "esm",
                "max_position_embeddings": 1026,
                "position_embedding_type": "rotary",
            },
            1026,
            None,
        ),
        ({"model_type": "deberta", "position_biased_input": False}, 512, None),
        ({"model_type": "llama", "max_position_embeddings": 4096}, None, None),
        ({"model_type": "llama", "max_position_embeddings": 4096}, 4096, None),
        ({"max_position_embeddings": 4096}, 4096, None),
    ],
)
def test_usable_positions(document: dict[str, Any], stored: int | None, usable: int | None) -> None:
    found = usable_positions(facts(document, stored))
    assert (found[0] if found else None) == usable


def test_the_source_is_named() -> None:
    stored = usable_positions(facts({"model_type": "mluke"}, 514))
    stated = usable_positions(facts({"model_type": "mluke", "max_position_embeddings": 514}))
    assert stored == (512, "wpe.weight")
    assert stated == (512, "config.json:max_position_embeddings")
