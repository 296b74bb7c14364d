"""Widths of tables against configurations: published shapes are fine, mixed-up ones are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from embcalc.core.widths import stated_widths
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.tokenizers.folders import folder
from tests.usecases.cases import header_only

Shapes = dict[str, tuple[int, ...]]
WORDS = "embeddings.word_embeddings.weight"
EMBED = "model.embed_tokens.weight"
PUBLISHED: dict[str, tuple[dict[str, Any], Shapes]] = {
    "bert": ({"model_type": "bert", "hidden_size": 384}, {f"bert.{WORDS}": (2000, 384)}),
    "albert": (
        {"model_type": "albert", "hidden_size": 768, "embedding_size": 128},
        {f"albert.{WORDS}": (2000, 128)},
    ),
    "electra-small": (
        {"model_type": "electra", "hidden_size": 256, "embedding_size": 128},
        {f"electra.{WORDS}": (2000, 128)},
    ),
    "mobilebert": (
        {"model_type": "mobilebert", "hidden_size": 512, "embedding_size": 128},
        {f"mobilebert.{WORDS}": (2000, 128)},
    ),
    "opt-350m": (
        {"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512},
        {"model.decoder.embed_tokens.weight": (2000, 512)},
    ),
    "rembert": (
        {
            "model_type": "rembert",
            "hidden_size": 1152,
            "input_embedding_size": 256,
            "output_embedding_size": 1664,
        },
        {f"rembert.{WORDS}": (2000, 256), "cls.predictions.decoder.weight": (2000, 1664)},
    ),
    "olmo": (
        {"model_type": "olmo", "d_model": 64, "embedding_size": 2000},
        {"model.transformer.wte.weight": (2000, 64)},
    ),
    "gpt2": ({"model_type": "gpt2", "n_embd": 64}, {"wte.weight": (2000, 64)}),
    "t5": ({"model_type": "t5", "d_model": 64}, {"shared.weight": (2000, 64)}),
    "distilbert": (
        {"model_type": "distilbert", "dim": 64, "hidden_dim": 256},
        {f"distilbert.{WORDS}": (2000, 64)},
    ),
    "text and vision": (
        {
            "model_type": "llava",
            "text_config": {"model_type": "llama", "hidden_size": 64, "vocab_size": 2000},
            "vision_config": {"hidden_size": 32},
        },
        {"language_model.model.embed_tokens.weight": (2000, 64)},
    ),
    "encoder and decoder of two widths": (
        {
            "model_type": "encoder-decoder",
            "encoder": {"model_type": "bert", "hidden_size": 64, "vocab_size": 2000},
            "decoder": {"model_type": "gpt2", "n_embd": 32, "vocab_size": 2000},
        },
        {f"encoder.{WORDS}": (2000, 64), "decoder.transformer.wte.weight": (2000, 32)},
    ),
    "unknown class with a key of its own": (
        {"model_type": "own", "hidden_size": 64, "table_rank": 16},
        {EMBED: (2000, 16)},
    ),
    "class default": ({"model_type": "bert"}, {f"bert.{WORDS}": (2000, 384)}),
    "no width at all": ({"model_type": "own"}, {EMBED: (2000, 5)}),
    "taken for its shape": ({"model_type": "own", "hidden_size": 64}, {"some.matrix": (2000, 5)}),
}
MIXED_UP: dict[str, tuple[dict[str, Any], Shapes, str]] = {
    "config of the base model": (
        {"model_type": "bert", "hidden_size": 768},
        {f"bert.{WORDS}": (2000, 384)},
        "config.json:hidden_size is 768, but the rows of "
        "bert.embeddings.word_embeddings.weight are 384 wide",
    ),
    "factorised": (
        {"model_type": "albert", "hidden_size": 768, "embedding_size": 128},
        {f"albert.{WORDS}": (2000, 256)},
        "config.json:embedding_size is 128",
    ),
    "old spelling": (
        {"model_type": "gpt2", "n_embd": 64},
        {"wte.weight": (2000, 65)},
        "n_embd is 64",
    ),
    "nested": (
        {
            "model_type": "llava",
            "text_config": {"model_type": "llama", "hidden_size": 64, "vocab_size": 2000},
            "vision_config": {"hidden_size": 32},
        },
        {"language_model.model.embed_tokens.weight": (2000, 48)},
        "config.json:text_config.hidden_size is 64",
    ),
    "unknown class": ({"model_type": "own", "hidden_size": 64}, {EMBED: (2000, 16)}, "is 64"),
}


def messages(place: Path, keys: dict[str, Any], shapes: Shapes, weights: str) -> list[str]:
    folder(place, {"config.json": {"vocab_size": 2000, **keys}})
    header_only(place / weights, shapes)
    report = check_vocab(str(place), CheckOptions(select=("EMB118",)))
    return [finding.message for finding in report.findings]


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_shapes_are_fine(name: str, tmp_path: Path) -> None:
    keys, shapes = PUBLISHED[name]
    assert messages(tmp_path, keys, shapes, "model.safetensors") == []


@pytest.mark.parametrize("name", sorted(MIXED_UP))
def test_a_configuration_of_another_size(name: str, tmp_path: Path) -> None:
    keys, shapes, words = MIXED_UP[name]
    found = messages(tmp_path, keys, shapes, "model.safetensors")
    assert len(found) == 1
    assert words in found[0]


def test_columns_of_one_rank_are_no_other_width(tmp_path: Path) -> None:
    keys = {"model_type": "llama", "hidden_size": 64}
    assert messages(tmp_path, keys, {EMBED: (2000, 8)}, "consolidated.00.safetensors") == []


def test_whole_numbers_alone_are_widths() -> None:
    stated = {"hidden_size": 64.0, "d_model": 1.5, "dim": "8", "vocab_size": 2000, "n_embd": None}
    assert stated_widths(stated) == {64}
    assert stated_widths({"rank": 7, "share": float("inf")}, every_key=True) == {7}
