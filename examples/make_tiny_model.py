"""Write the tiny model that the examples check: 64 tokens, width 16, untied, in two shards.

Usage: python examples/make_tiny_model.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<|user|>", "<|assistant|>")
WORDS = (
    "the a of and to in is you that it he was for on are as with his they I at be this have "
    "from or one had by word but not what all were we when your can said there use an each "
    "which she do how their if will up other about out many then them "
)
TOKENS = (*SPECIAL, *WORDS.split())
WIDTH = 16
SHARDS = {
    "model-00001-of-00002.safetensors": ("model.embed_tokens.weight", "model.norm.weight"),
    "model-00002-of-00002.safetensors": ("lm_head.weight",),
}
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>"
    "{{ message['content'] }}{{ eos_token }}{% endfor %}<|assistant|>"
)


def main(folder: Path) -> None:
    """Write every file of the model; the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents().items():
        text = json.dumps(document, ensure_ascii=False, indent=2)
        (folder / name).write_text(text + "\n", "utf-8")
    stored = tensors()
    for name, names in SHARDS.items():
        save_file({key: stored[key] for key in names}, folder / name, {"format": "pt"})
        (folder / name).chmod(0o644)


def tensors() -> dict[str, np.ndarray]:
    """Tables with rows of unlike length, as training leaves them."""
    random = np.random.default_rng(7)
    shape = (len(TOKENS), WIDTH)
    lengths = random.uniform(0.5, 1.5, (len(TOKENS), 1))
    return {
        "model.embed_tokens.weight": (random.normal(0, 0.02, shape) * lengths).astype(np.float32),
        "model.norm.weight": np.ones(WIDTH, np.float32),
        "lm_head.weight": (random.normal(0, 0.02, shape) * lengths).astype(np.float32),
    }


def documents() -> dict[str, dict]:
    """The JSON files."""
    return {
        "config.json": config(),
        "generation_config.json": {"bos_token_id": 1, "eos_token_id": [2], "pad_token_id": 0},
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": tokenizer_config(),
        "model.safetensors.index.json": {
            "metadata": {"total_size": sum(array.nbytes for array in tensors().values())},
            "weight_map": {key: name for name, names in SHARDS.items() for key in names},
        },
    }


def config() -> dict:
    """A Llama without layers."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(TOKENS),
        "hidden_size": WIDTH,
        "intermediate_size": 32,
        "num_hidden_layers": 0,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "torch_dtype": "float32",
    }


def tokenizer() -> dict:
    """One token a word."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": index,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for index, text in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<s>", "type_id": 1}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {text: index for index, text in enumerate(TOKENS)},
            "unk_token": "<unk>",
        },
    }


def tokenizer_config() -> dict:
    """Purposes of the special tokens."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "model_max_length": 128,
        "chat_template": CHAT_TEMPLATE,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tiny-model")
