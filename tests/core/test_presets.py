from __future__ import annotations

import pytest

from embcalc.core.config import parse_config
from embcalc.core.presets import find_preset, layer_of_preset, matching, names, presets
from embcalc.core.role import Role

PUBLISHED = {
    "bert-base-uncased": 109_482_240,
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-3-8b": 8_030_261_248,
    "qwen2.5-0.5b": 494_032_768,
    "llama-2-7b": 6_738_415_616,
    "mistral-7b-v0.1": 7_241_732_096,
    "llama-3.2-1b": 1_235_814_400,
    "qwen2.5-7b": 7_615_616_512,
    "gemma-2-2b": 2_614_341_888,
    "phi-2": 2_779_683_840,
    "t5-small": 60_506_624,
    "mt5-small": 300_176_768,
    "opt-125m": 125_239_296,
    "bloom-560m": 559_214_592,
    "pythia-160m": 162_322_944,
    "whisper-large-v3": 1_543_490_560,
    "mixtral-8x7b-v0.1": 46_702_792_704,
}
"""Totals of the weights on the hub."""
SIZES = {
    "bert-base-uncased": (30_522, 768, True),
    "roberta-base": (50_265, 768, True),
    "gpt2": (50_257, 768, True),
    "gpt2-xl": (50_257, 1600, True),
    "t5-small": (32_128, 512, True),
    "opt-125m": (50_272, 768, True),
    "bloom-560m": (250_880, 1024, True),
    "pythia-160m": (50_304, 768, False),
    "llama-2-7b": (32_000, 4096, False),
    "llama-3-8b": (128_256, 4096, False),
    "llama-3.2-1b": (128_256, 2048, True),
    "mistral-7b-v0.1": (32_000, 4096, False),
    "qwen2.5-0.5b": (151_936, 896, True),
    "qwen2.5-7b": (152_064, 3584, False),
    "gemma-2-2b": (256_000, 2304, True),
    "phi-2": (51_200, 2560, False),
}
POSITIONS = {
    "bert-base-uncased": [512],
    "roberta-base": [514],
    "gpt2": [1024],
    "opt-125m": [2050],
    "bart-base": [1026, 1026],
    "whisper-tiny": [448],
    "llama-3-8b": [],
    "bloom-560m": [],
    "t5-small": [],
}


def test_there_are_many() -> None:
    assert len(names()) >= 40
    assert len(set(names())) == len(names())


@pytest.mark.parametrize(("name", "total"), PUBLISHED.items())
def test_totals_are_those_of_the_published_weights(name: str, total: int) -> None:
    preset = find_preset(name)
    assert preset is not None
    assert preset.parameters == total


@pytest.mark.parametrize(("name", "sizes"), SIZES.items())
def test_sizes(name: str, sizes: tuple[int, int, bool]) -> None:
    preset = find_preset(name)
    assert preset is not None
    layer = layer_of_preset(preset)
    assert (layer.vocab_size, layer.hidden_size, layer.tied) == sizes
    assert layer.source == layer.tied_source == "preset"


@pytest.mark.parametrize(("name", "rows"), POSITIONS.items())
def test_position_tables(name: str, rows: list[int]) -> None:
    preset = find_preset(name)
    assert preset is not None
    sides = layer_of_preset(preset).sides
    assert [table.rows for table in sides if table.role is Role.POSITION] == rows


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_each_is_complete(preset: object) -> None:
    from embcalc.core.presets import Preset

    assert isinstance(preset, Preset)
    layer = layer_of_preset(preset)
    own = sum(table.parameters for table in layer.tables(tied=bool(layer.tied)))
    assert 0 < own < preset.parameters
    assert layer.tied is not None
    assert "transformers" in preset.counted
    assert parse_config(preset.config).known_type
    assert preset.name == preset.name.lower()
    assert "/" not in preset.name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("GPT2", "gpt2"),
        ("Llama-2-7b-hf", "llama-2-7b"),
        ("llama_3_8b", "llama-3-8b"),
        ("meta-llama-3-8b", "llama-3-8b"),
        ("phi-1_5", "phi-1.5"),
        ("gemma-3-4b", "gemma-3-4b-pt"),
        ("deepseek-v3", "deepseek-r1"),
    ],
)
def test_other_spellings(spelling: str, name: str) -> None:
    preset = find_preset(spelling)
    assert preset is not None
    assert preset.name == name


def test_unknown_and_matching_names() -> None:
    assert find_preset("gpt-17") is None
    found = matching(presets(), ["qwen", "7B"])
    assert {"qwen2.5-7b", "qwen2-7b"} <= {preset.name for preset in found}
    assert len(matching(presets(), [])) == len(names())
