"""Roles by name, for every architecture of the fixture and for the shapes behind the names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embcalc.core.dtypes import BY_NAME
from embcalc.core.roles import embedding_tables, role_of, strip_wrappers
from embcalc.core.tables import Role, TensorInfo
from embcalc.errors import CheckpointError

FIXTURE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "tensor_names.json").read_text("utf-8")
)
"""`names`: [tensor name, role, number of axes]; `architectures`: which names each one stores."""

V, D = 32_000, 64


def tensor(name: str, *shape: int) -> TensorInfo:
    return TensorInfo(name=name, shape=shape, dtype=BY_NAME["BF16"], file="m", nbytes=0)


def tensors(**shapes: tuple[int, ...]) -> dict[str, TensorInfo]:
    return {name: tensor(name, *shape) for name, shape in shapes.items()}


def model(*names: str, rows: int = V) -> dict[str, TensorInfo]:
    return {name: tensor(name, rows, D) for name in names}


def found(stored: dict[str, TensorInfo], **options: Any) -> list[tuple[str, Role]]:
    return [(table.name, table.role) for table in embedding_tables(stored, **options)]


@pytest.mark.parametrize("architecture", FIXTURE["architectures"])
def test_every_architecture(architecture: str) -> None:
    expected = [FIXTURE["names"][index] for index in FIXTURE["architectures"][architecture]]
    model_type = architecture.removeprefix("gguf:")
    stored, roles = {}, {}
    for name, role, axes in expected:
        assert role_of(name, model_type) == role, name
        rows = V if role in ("token", "output") else 512
        stored[name] = tensor(name, *(rows, D, 4, 4)[:axes])
        if axes == 2 and role != "other":
            roles[name] = role
    for vocab_size in (None, V):
        tables = embedding_tables(stored, vocab_size=vocab_size, model_type=model_type)
        assert {table.name: table.role for table in tables} == roles
        if Role.TOKEN in roles.values():
            assert tables[0].role is Role.TOKEN


def test_all_of_the_fixture_is_there() -> None:
    assert len(FIXTURE["architectures"]) == 476


@pytest.mark.parametrize(
    ("name", "plain", "wrappers"),
    [
        ("model.embed_tokens.weight", "model.embed_tokens.weight", ""),
        ("module.transformer.wte.weight", "transformer.wte.weight", "module."),
        ("_orig_mod.transformer.wte.weight", "transformer.wte.weight", "_orig_mod."),
        ("model._orig_mod.embed_tokens.weight", "model.embed_tokens.weight", "_orig_mod."),
        ("module._fsdp_wrapped_module.wte.weight", "wte.weight", "module._fsdp_wrapped_module."),
        ("_forward_module.module.wte.weight", "wte.weight", "module._forward_module."),
        ("base_model.model.model.embed_tokens.weight", "model.embed_tokens.weight",
         "base_model.model."),
        ("0.auto_model.embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight",
         "0.auto_model."),
        ("state_dict.wte.weight", "wte.weight", "state_dict."),
        ("model.embed_tokens.modules_to_save.default.weight", "model.embed_tokens.weight",
         "modules_to_save.default."),
        ("a._checkpoint_wrapped_module.wte.weight", "a.wte.weight", "_checkpoint_wrapped_module."),
    ],
)  # fmt: skip
def test_wrappers(name: str, plain: str, wrappers: str) -> None:
    assert strip_wrappers(name) == (plain, wrappers)


def test_a_stripped_wrapper_is_said() -> None:
    (table,) = embedding_tables(model("module.transformer.wte.weight"))
    assert table.note == "wrapper 'module.' stripped from the name"
    assert table.name == "module.transformer.wte.weight"


def test_look_alikes_are_no_token_tables() -> None:
    stored = model("model.embed_tokens.weight") | {
        name: tensor(name, 514, D)
        for name in (
            "model.embed_positions.weight",
            "embeddings.token_type_embeddings.weight",
            "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            "decoder.model.decoder.embed_tokens.2.weight",
            "model.embed_tokens_per_layer.weight",
            "model.layers.61.embed_tokens.weight",
            "model.layers.61.shared_head.head.weight",
            "visual.patch_embed.weight",
        )
    }
    assert found(stored) == [
        ("model.embed_tokens.weight", Role.TOKEN),
        ("model.embed_positions.weight", Role.POSITION),
        ("embeddings.token_type_embeddings.weight", Role.TOKEN_TYPE),
        ("decoder.model.decoder.embed_tokens.2.weight", Role.CODEBOOK),
        ("model.embed_tokens_per_layer.weight", Role.PER_LAYER),
        ("model.layers.61.embed_tokens.weight", Role.MTP_TOKEN),
        ("model.layers.61.shared_head.head.weight", Role.MTP_OUTPUT),
    ]


def test_quantisation_tensors_are_none() -> None:
    for suffix in ("scales", "biases", "weight_scale", "weight.absmax", "qweight"):
        assert role_of(f"model.embed_tokens.{suffix}") is Role.OTHER
    assert role_of("model.embed_tokens.weight_packed") is Role.TOKEN


def test_the_models_own_table_comes_before_those_of_its_parts() -> None:
    stored = model(
        "qformer.embeddings.word_embeddings.weight",
        "language_model.lm_head.weight",
        "language_model.model.embed_tokens.weight",
    )
    assert [name for name, _ in found(stored)] == [
        "language_model.model.embed_tokens.weight",
        "language_model.lm_head.weight",
        "qformer.embeddings.word_embeddings.weight",
    ]


def test_the_shared_table_comes_first() -> None:
    stored = model("decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "shared.weight")
    assert found(stored)[0] == ("shared.weight", Role.TOKEN)


def test_the_table_of_the_configs_size_comes_first() -> None:
    stored = model("a.embed_tokens.weight", rows=100) | model("b.embed_tokens.weight")
    assert found(stored, vocab_size=V)[0][0] == "b.embed_tokens.weight"


def test_a_classifier_is_no_head() -> None:
    stored = model("model.embed_tokens.weight") | {"head.weight": tensor("head.weight", 2, D)}
    assert found(stored) == [("model.embed_tokens.weight", Role.TOKEN)]
    assert found({"head.weight": tensor("head.weight", 1000, D)}) == []


def test_an_unknown_name_is_found_by_its_shape() -> None:
    stored = tensors(mystery=(V, D), norm=(V,), back=(D, V), other=(D, D))
    first, second = embedding_tables(stored, vocab_size=V)
    assert (first.name, first.role, first.recognised) == ("mystery", Role.TOKEN, "shape")
    assert first.note == "name not known; taken for its axis of 32,000, the vocabulary size"
    assert (second.name, second.role, second.transposed) == ("back", Role.OUTPUT, True)
    assert (second.rows, second.width) == (V, D)
    assert embedding_tables(stored) == ()


def test_transposed_heads() -> None:
    stored = tensors(**{"embed.W_E": (V, D), "unembed.W_U": (D, V)})
    token, head = embedding_tables(stored)
    assert (token.rows, token.width, token.transposed) == (V, D, False)
    assert (head.rows, head.width, head.transposed) == (V, D, True)
    (table,) = embedding_tables(tensors(wte=(D, V)), vocab_size=V)
    assert (table.rows, table.transposed) == (V, True)


def test_named() -> None:
    stored = model("module.model.embed_tokens.weight", "weird") | tensors(norm=(D,))
    (table,) = embedding_tables(stored, named="weird")
    assert (table.name, table.role, table.recognised) == ("weird", Role.TOKEN, "named")
    (table,) = embedding_tables(stored, named="model.embed_tokens.weight")
    assert table.name == "module.model.embed_tokens.weight"
    with pytest.raises(CheckpointError, match=r"no tensor 'wierd' among 3") as raised:
        embedding_tables(stored, named="wierd")
    assert raised.value.hint == "similar names: weird"
    with pytest.raises(CheckpointError, match=r"norm has shape \[64\]: no table"):
        embedding_tables(stored, named="norm")


@pytest.mark.parametrize(
    ("model_type", "name", "role"),
    [
        ("fsmt", "model.decoder.embed_tokens.weight", Role.OUTPUT),
        ("marian", "model.decoder.embed_tokens.weight", Role.TOKEN),
        ("smolvlm_vision", "embeddings.weight", Role.OTHER),
        ("mamba", "embeddings.weight", Role.TOKEN),
        (None, "model.embed_tokens.additional_embedding.weight", Role.TOKEN_EXTRA),
        (None, "lm_head.bias", Role.OUTPUT_BIAS),
        (None, "model.layers.0.mlp.down_proj.bias", Role.OTHER),
        # Names of architectures that the fixture does not hold.
        (None, "gpt.transformer.wte.weight", Role.TOKEN),
        (None, "thinker.model.embed_tokens.weight", Role.TOKEN),
        (None, "model.model.language_model.embed_tokens.weight", Role.TOKEN),
        (None, "token_emb.emb.weight", Role.TOKEN),
        (None, "encoder.layers.0.self_attn.out_proj.weight", Role.OTHER),
        (None, "model.layers.3.mlp.experts.7.gate_proj.weight", Role.OTHER),
    ],
)
def test_names(model_type: str | None, name: str, role: Role) -> None:
    assert role_of(name, model_type) is role


def test_a_matrix_that_is_alone_is_the_table() -> None:
    (table,) = embedding_tables(tensors(vectors=(1000, D)))
    assert (table.role, table.recognised) == (Role.TOKEN, "shape")
    assert table.note == "name not known; taken because nothing else is stored"


@pytest.mark.parametrize(
    "stored",
    [
        tensors(vectors=(1000,)),
        tensors(one=(10, D), two=(10, D)),
        model("model.layers.0.mlp.up_proj.weight"),
    ],
    ids=["no matrix", "two", "a layer"],
)
def test_nothing_else_is_taken_without_a_name(stored: dict[str, TensorInfo]) -> None:
    assert found(stored) == []
