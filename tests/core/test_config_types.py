"""Values of a wrong type: noted where notes are taken, raised elsewhere, never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from embcalc.core.config import ModelConfig, parse_config
from embcalc.core.findings import Problem, Severity
from embcalc.errors import ConfigError

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 320,
    "hidden_size": 8,
    "tie_word_embeddings": False,
    "eos_token_id": [1, 2],
    "pad_token_id": None,
    "max_position_embeddings": 64.0,
}


def noted(**keys: Any) -> tuple[ModelConfig, list[Problem]]:
    wrong: list[Problem] = []
    return parse_config({**LLAMA, **keys}, wrong=wrong), wrong


CASES: list[tuple[dict[str, Any], str]] = [
    ({"vocab_size": "320"}, 'vocab_size is "320", not a whole number'),
    ({"vocab_size": 32.5}, "vocab_size is 32.5, not a whole number"),
    ({"vocab_size": True}, "vocab_size is true, not a whole number"),
    ({"vocab_size": -1}, "vocab_size is -1: it must be between 1 and 4,294,967,296"),
    ({"vocab_size": None}, "vocab_size is null, not a whole number"),
    ({"hidden_size": "8"}, 'hidden_size is "8", not a whole number'),
    ({"hidden_size": None}, "hidden_size is null, not a whole number"),
    ({"hidden_size": {"a": ["x"] * 20}}, "hidden_size is {"),
    ({"tie_word_embeddings": "false"}, 'tie_word_embeddings is "false", neither true nor false'),
    ({"tie_word_embeddings": 2}, "tie_word_embeddings is 2, neither true nor false"),
    ({"pad_token_id": "0"}, 'pad_token_id is "0", not a token id'),
    ({"pad_token_id": False}, "pad_token_id is false, not a token id"),
    ({"eos_token_id": [1, "2"]}, 'eos_token_id is [1, "2"], not a token id'),
    ({"eos_token_id": 2.0}, "eos_token_id is 2.0, not a token id"),
    ({"model_type": 5}, "model_type is 5, not a text"),
    ({"text_config": "x"}, 'text_config is "x", not an object'),
    ({"max_position_embeddings": "x"}, 'max_position_embeddings is "x", not a whole number'),
]


@pytest.mark.parametrize(("keys", "message"), CASES)
def test_wrong_values_are_noted_once(keys: dict[str, Any], message: str) -> None:
    _, wrong = noted(**keys)
    assert len(wrong) == 1
    assert wrong[0].message.startswith(f"config.json:{message}")
    assert (wrong[0].file, wrong[0].severity) == ("config.json", None)
    assert wrong[0].hint == "correct it in the file"
    assert len(wrong[0].message) < 120


def test_architectures_as_a_text_are_a_warning() -> None:
    config, wrong = noted(architectures="LlamaForCausalLM")
    assert [problem.severity for problem in wrong] == [Severity.WARNING]
    assert config.architectures == ()


@pytest.mark.parametrize(
    "keys",
    [{}, {"tie_word_embeddings": 0}, {"vocab_size": 320.0}, {"eos_token_id": []},
     {"text_config": None}, {"pad_token_id": -1}, {"bos_token_id": {"a": 1}},
     {"hidden_size": None, "n_embd": 8}, {"language": "en"}],
)  # fmt: skip
def test_what_loads_is_left_alone(keys: dict[str, Any]) -> None:
    config, wrong = noted(**keys)
    assert wrong == []
    assert (config.vocab_size, config.hidden_size, config.tied) == (320, 8, False)


def test_a_wrong_value_counts_as_unknown_and_not_as_the_class_default() -> None:
    assert noted(vocab_size="320")[0].vocab_size is None
    assert noted(hidden_size="8")[0].hidden_size is None
    config, _ = noted(tie_word_embeddings="false")
    assert (config.tied, config.tied_refused) == (None, True)
    assert config.vocab_size == 320


def test_nested_values_name_their_place() -> None:
    text = {"model_type": "qwen2", "vocab_size": "9", "hidden_size": 4}
    wrong: list[Problem] = []
    parse_config({"model_type": "qwen2_vl", "text_config": text}, wrong=wrong)
    assert [problem.message for problem in wrong] == [
        'config.json:text_config.vocab_size is "9", not a whole number'
    ]
    parse_config({"encoder": {"vocab_size": "9"}, "decoder": {}}, "c.json", wrong)
    assert wrong[-1].message == 'c.json:encoder.vocab_size is "9", not a whole number'
    assert wrong[-1].file == "c.json"


@pytest.mark.parametrize(
    "keys", [{"vocab_size": "320"}, {"hidden_size": -1}, {"tie_word_embeddings": "false"}]
)
def test_without_notes_what_matters_is_raised(keys: dict[str, Any]) -> None:
    (message,) = [problem.message for problem in noted(**keys)[1]]
    with pytest.raises(ConfigError) as raised:
        parse_config({**LLAMA, **keys})
    assert raised.value.message == message
