from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embcalc.core.class_defaults import class_defaults
from embcalc.core.config import ModelConfig, parse_config
from embcalc.errors import ConfigError

REAL = json.loads((Path(__file__).parent / "data" / "configs.json").read_text("utf-8"))
"""76 published configurations, cut down to the keys that matter here, with the right answers."""


@pytest.mark.parametrize("case", REAL, ids=[case["name"] for case in REAL])
def test_real_configurations_resolve(case: dict[str, Any]) -> None:
    config = parse_config(case["config"])
    expected = case["expected"]
    assert {key: getattr(config, key) for key in expected} == expected


def _named(name: str) -> ModelConfig:
    return parse_config(next(case["config"] for case in REAL if case["name"] == name))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Qwen3-VL-4B-Instruct", "config.json:text_config.vocab_size"),
        ("Qwen3-0.6B", "config.json:vocab_size"),
        ("field124-vision-encoder-decoder", "config.json:decoder.vocab_size"),
        ("field126-infimm-zephyr", "config.json:language.vocab_size"),
        ("field125-xgenmm", "class default of phi3"),
    ],
)
def test_the_vocabulary_size_has_a_source(name: str, source: str) -> None:
    assert _named(name).vocab_source == source


def test_what_the_manifest_leaves_open_is_read_all_the_same() -> None:
    assert _named("field116-florence2").hidden_size == 1024
    assert _named("field124-vision-encoder-decoder").vocab_size == 57532
    assert _named("field125-xgenmm").vocab_size == 32064
    assert _named("DeepSeek-V4-Pro-FP8").tied is None
    assert _named("field104-marian").tied is True


@pytest.mark.parametrize(
    ("document", "tied", "source", "origin"),
    [
        (
            {"model_type": "llama", "tie_word_embeddings": True},
            True,
            "config",
            "config.json:tie_word_embeddings",
        ),
        (
            {
                "tie_word_embeddings": True,
                "text_config": {"vocab_size": 9, "tie_word_embeddings": False},
            },
            False,
            "config",
            "config.json:text_config.tie_word_embeddings",
        ),
        (
            {"tie_word_embeddings": True, "text_config": {"vocab_size": 9}},
            True,
            "config",
            "config.json:tie_word_embeddings",
        ),
        ({"model_type": "gpt2"}, True, "class-default", "class default of gpt2"),
        ({"model_type": "llama"}, False, "class-default", "class default of llama"),
        (
            {"model_type": "mistral3", "text_config": {"model_type": "mistral"}},
            False,
            "class-default",
            "class default of mistral",
        ),
        (
            {"model_type": "qwen3_vl_moe", "text_config": {"model_type": "qwen3_vl_moe_text"}},
            False,
            "class-default",
            "class default of qwen3_vl_moe",
        ),
        (
            {"model_type": "new", "vocab_size": 9},
            None,
            "assumed",
            "nothing is known of the model type new",
        ),
        ({"vocab_size": 9}, None, "assumed", "the configuration names no model type"),
    ],
)
def test_tying_says_where_it_comes_from(
    document: dict[str, Any], tied: bool | None, source: str, origin: str
) -> None:
    config = parse_config(document)
    assert (config.tied, config.tied_source, config.tied_from) == (tied, source, origin)


@pytest.mark.parametrize(
    ("document", "vocab_size", "source"),
    [
        ({"model_type": "qwen3_vl"}, 151_936, "class default of qwen3_vl"),
        (
            {"model_type": "paligemma", "vocab_size": 257_152, "text_config": {"vocab_size": 7}},
            7,
            "config.json:text_config.vocab_size",
        ),
        (
            {"model_type": "llava", "vocab_size": 9, "text_config": {"model_type": "llama"}},
            32_000,
            "class default of llama",
        ),
        ({"padded_vocab_size": 65_024}, 65_024, "config.json:padded_vocab_size"),
        (
            {"audio_config": {"vocab_size": 5}, "vision_config": {"vocab_size": 6}},
            None,
            None,
        ),
        (
            {"thinker_config": {"text_config": {"vocab_size": 11}}},
            11,
            "config.json:thinker_config.text_config.vocab_size",
        ),
        (
            {
                "model_type": "musicgen",
                "text_encoder": {"model_type": "t5"},
                "decoder": {"vocab_size": 2048},
            },
            32_128,
            "class default of t5",
        ),
        ({"vocab_size": 12.0}, 12, "config.json:vocab_size"),
        ({"vocab_size": None, "model_type": "gpt2"}, 50_257, "class default of gpt2"),
        ({"model_type": "nothing"}, None, None),
    ],
)
def test_vocabulary_spellings(
    document: dict[str, Any], vocab_size: int | None, source: str | None
) -> None:
    config = parse_config(document)
    assert (config.vocab_size, config.vocab_source) == (vocab_size, source)


@pytest.mark.parametrize(
    "key", ["hidden_size", "d_model", "n_embd", "n_embed", "dim", "embedding_size", "emb_dim"]
)
def test_width_spellings(key: str) -> None:
    config = parse_config({"vocab_size": 1000, key: 64})
    assert (config.hidden_size, config.embedding_size) == (64, 64)
    assert config.hidden_source == f"config.json:{key}"


@pytest.mark.parametrize(
    ("key", "hidden"),
    [("embedding_size", "hidden_size"), ("word_embed_proj_dim", "hidden_size")],
)
def test_factorised_width(key: str, hidden: str) -> None:
    config = parse_config({"vocab_size": 30_000, hidden: 768, key: 128})
    assert (config.hidden_size, config.embedding_size) == (768, 128)
    assert config.embedding_source == f"config.json:{key}"


@pytest.mark.parametrize(
    ("document", "token_rows", "head_rows", "extra"),
    [
        ({"model_type": "mllama", "text_config": {"vocab_size": 100}}, 108, 100, 0),
        ({"model_type": "moshi", "vocab_size": 100}, 101, 100, 0),
        ({"model_type": "molmo", "vocab_size": 100, "additional_vocab_size": 4}, 100, 100, 4),
        ({"model_type": "molmo2", "text_config": {"vocab_size": 100}}, 100, 100, 128),
        ({"model_type": "idefics", "vocab_size": 100, "additional_vocab_size": 2}, 100, 100, 2),
        ({"model_type": "idefics", "vocab_size": 100, "additional_vocab_size": 0}, 100, 100, 0),
        ({"model_type": "dia", "encoder_config": {"vocab_size": 256}}, 256, 2304, 0),
        ({"model_type": "imagegpt", "vocab_size": 513}, 513, 512, 0),
        (
            {"model_type": "cpmant", "vocab_size": 10, "prompt_types": 2, "prompt_length": 3},
            16,
            16,
            0,
        ),
        ({"model_type": "canine"}, None, None, 0),
        ({"model_type": "marian", "vocab_size": 10, "decoder_vocab_size": 12}, 10, 12, 0),
        ({"model_type": "fsmt", "src_vocab_size": 10, "tgt_vocab_size": 12}, 10, 12, 0),
        ({"vocab_size": 10, "padded_vocab_size": 16}, 16, 16, 0),
        (
            {"model_type": "hf_olmo", "vocab_size": 10, "d_model": 4, "embedding_size": 16},
            16,
            16,
            0,
        ),
        ({"vocab_size": 10, "d_model": 4, "pad_vocab_size_multiple": 8}, 16, 16, 0),
        ({"vocab_size": 16, "d_model": 4, "pad_vocab_size_multiple": 8}, 16, 16, 0),
        ({"model_type": "llama", "vocab_size": 10}, 10, 10, 0),
        ({}, None, None, 0),
    ],
)
def test_rows_by_design(
    document: dict[str, Any], token_rows: int | None, head_rows: int | None, extra: int
) -> None:
    design = parse_config(document).design
    assert (design.token_rows, design.head_rows, design.extra_rows) == (
        token_rows,
        head_rows,
        extra,
    )
    plain = design.token_rows == design.head_rows and not extra
    assert design.reason or plain


def test_encoder_and_decoder_vocabularies() -> None:
    config = parse_config({"encoder": {"vocab_size": 5}, "decoder": {"vocab_size": 7}})
    assert (config.encoder_vocab_size, config.decoder_vocab_size) == (5, 7)
    config = parse_config({"model_type": "fsmt", "src_vocab_size": 3, "tgt_vocab_size": 4})
    assert (config.encoder_vocab_size, config.decoder_vocab_size, config.vocab_size) == (3, 4, 4)
    assert parse_config({"vocab_size": 4}).decoder_vocab_size is None


def test_special_ids_of_all_levels_and_of_the_class() -> None:
    config = parse_config(
        {
            "model_type": "qwen3_vl",
            "image_token_id": 5,
            "eos_token_id": None,
            "text_config": {"model_type": "qwen3_vl_text", "vocab_size": 9, "eos_token_id": [1, 2]},
            "vision_config": {"bos_token_id": 77},
            "pad_token_id": True,
        }
    )
    found = {(item.source, item.ids, item.stated) for item in config.special_ids}
    assert found == {
        ("config.json:image_token_id", (5,), True),
        ("config.json:text_config.eos_token_id", (1, 2), True),
        ("class default of qwen3_vl", (151656,), False),
    }


def test_other_facts() -> None:
    config = parse_config(
        {
            "model_type": "llava",
            "torch_dtype": "torch.bfloat16",
            "vocab_size": 32_064,
            "text_config": {"model_type": "llama", "vocab_size": 32_000},
        }
    )
    assert config.dtype == "bfloat16"
    assert (config.model_type, config.text_type, config.known_type) == ("llava", "llama", True)
    assert config.outer_vocab_size == 32_064
    assert config.notes == (
        "config.json:text_config.vocab_size (32,000) counts, not config.json:vocab_size (32,064)",
    )
    assert "unknown" in parse_config({"model_type": "new"}).notes[0]
    assert "no model_type" in parse_config({}).notes[0]


@pytest.mark.parametrize("value", ["32000", True, 1.5, 0, -1, 10**30, [1], {"a": 1}, "x" * 500])
def test_a_size_that_is_no_size_is_named(value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"model_type": "llama", "text_config": {"vocab_size": value}})
    assert "config.json:text_config.vocab_size" in caught.value.message
    assert len(caught.value.message) < 160
    assert caught.value.hint


def test_a_document_that_is_no_object() -> None:
    with pytest.raises(ConfigError, match=r"other\.json holds no JSON object"):
        parse_config([1], "other.json")  # type: ignore[arg-type]


def test_class_defaults() -> None:
    assert class_defaults(None) is None
    assert class_defaults("no such class") is None
    gpt2 = class_defaults("gpt2")
    assert gpt2 is not None
    assert (gpt2.vocab_size, gpt2.tied, gpt2.special_ids["eos_token_id"]) == (50_257, True, 50_256)
    phi = class_defaults("phi4_multimodal")
    assert phi is not None
    assert phi.special_ids["eos_token_id"] == (199_999, 200_020)


_KEYS = (
    *("model_type", "vocab_size", "text_config", "decoder", "encoder", "hidden_size"),
    *("eos_token_id", "tie_word_embeddings", "embedding_size", "type_vocab_size"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(_JSON)
@settings(deadline=None, derandomize=True, max_examples=200)
def test_any_json_parses_or_is_refused_as_a_configuration(document: Any) -> None:
    with suppress(ConfigError):
        assert parse_config(document).special_ids is not None


def test_nesting_has_an_end() -> None:
    document: dict[str, Any] = {"vocab_size": 5}
    for _ in range(5000):
        document = {"text_config": document}
    assert parse_config(document).vocab_size is None


@pytest.mark.parametrize(
    ("document", "tables"),
    [
        (
            {"model_type": "bert"},
            [("position", 512, 768, 512), ("token_type", 2, 768, 2)],
        ),
        ({"model_type": "gpt2", "n_embd": 4}, [("position", 1024, 4, 1024)]),
        (
            {"model_type": "roberta", "max_position_embeddings": 514, "type_vocab_size": 1},
            [("token_type", 1, 768, 1), ("position", 514, 768, 512)],
        ),
        (
            {"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512},
            [("position", 2050, 1024, 2048)],
        ),
        (
            {"model_type": "bart", "d_model": 16},
            [("position", 1026, 16, 1024), ("position", 1026, 16, 1024)],
        ),
        (
            {"model_type": "bart", "d_model": 16, "architectures": ["BartForCausalLM"]},
            [("position", 1026, 16, 1024)],
        ),
        (
            {
                "model_type": "vision-encoder-decoder",
                "decoder": {"model_type": "mbart", "d_model": 16, "max_position_embeddings": 128},
            },
            [("position", 130, 16, 128)],
        ),
        (
            {"model_type": "albert", "hidden_size": 64, "embedding_size": 8},
            [("position", 512, 8, 512), ("token_type", 2, 8, 2)],
        ),
        (
            {"model_type": "mobilebert", "embedding_size": 128},
            [("position", 512, 512, 512), ("token_type", 2, 512, 2)],
        ),
        ({"model_type": "whisper", "d_model": 384}, [("position", 448, 384, 448)]),
        ({"model_type": "deberta", "position_biased_input": False, "type_vocab_size": 0}, []),
        ({"model_type": "deberta"}, [("position", 512, 768, 512)]),
        ({"model_type": "llama"}, []),
        ({"model_type": "marian"}, []),
        ({"model_type": "bloom"}, []),
        ({"model_type": "new", "vocab_size": 4, "hidden_size": 4, "type_vocab_size": 2}, []),
        (
            {
                "model_type": "gemma3n",
                "text_config": {
                    "model_type": "gemma3n_text",
                    "num_hidden_layers": 30,
                    "vocab_size_per_layer_input": 100,
                    "hidden_size_per_layer_input": 8,
                },
            },
            [("per_layer", 100, 240, 100)],
        ),
        (
            {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0},
            [],
        ),
        (
            {"model_type": "xlm-roberta", "pad_token_id": 4, "max_position_embeddings": 20},
            [("token_type", 2, 768, 2), ("position", 20, 768, 15)],
        ),
    ],
)
def test_side_tables(document: dict[str, Any], tables: list[tuple[str, int, int, int]]) -> None:
    found = parse_config(document).side_tables
    assert [(t.role, t.rows, t.width, t.usable_rows) for t in found] == tables


def test_side_tables_say_where_their_rows_come_from() -> None:
    tables = parse_config({"model_type": "bert", "max_position_embeddings": 128}).side_tables
    assert [table.source for table in tables] == [
        "config.json:max_position_embeddings",
        "class default of bert",
    ]
