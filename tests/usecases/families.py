"""Decoders of popular families, laid out as they are published, and shared names."""

from __future__ import annotations

from typing import Any

from tests.usecases.made import (
    EMBED,
    HEAD,
    INFINITE,
    LLAMA,
    Made,
    behind,
    config,
    generation,
    nested,
    pieces,
    settings,
    texts,
    tokens,
)

ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
ROBERTA = {0: "<s>", 1: "<pad>", 2: "</s>", 3: "<unk>", 499: "<mask>"}
ROBERTA_ENDS = {**ENDS, "pad_token": "<pad>", "mask_token": "<mask>", "cls_token": "<s>"}
T5 = {0: "<pad>", 1: "</s>", 2: "<unk>"}
GEMMA = {0: "<pad>", 1: "<eos>", 2: "<bos>", 3: "<unk>", 6: "<start_of_turn>", 7: "<end_of_turn>"}
GEMMA_ENDS = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}
NEOX = {0: "<|endoftext|>", 1: "<|padding|>"}
END = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
QWEN = behind(1000, "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|image_pad|>", "<|video_pad|>")
HEADERS = behind(
    1000,
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|pad|>",
    *(f"<|r{i}|>" for i in range(20)),
)
BEGIN = {
    "type": "TemplateProcessing",
    "single": [],
    "pair": [],
    "special_tokens": {"b": {"id": "b", "ids": [1000], "tokens": ["<|begin_of_text|>"]}},
}
WHISPER = behind(500, "<|endoftext|>", "<|startoftranscript|>", *(f"<|{i}|>" for i in range(98)))
LANGUAGES = [f"l{i:03}_Latn" for i in range(202)]
TWO_HEADS: dict[str, Any] = {EMBED: 320, HEAD: 320}


def decoder(added: list[tuple[str, int]]) -> dict[str, Any]:
    return {str(i): {"content": text, "special": True} for text, i in added}


DECODERS = {
    "llama-2": Made(
        "fine",
        config("llama", 320, bos_token_id=1, eos_token_id=2)
        | tokens(320, LLAMA)
        | {"tokenizer.model": pieces(320), "special_tokens_map.json": ENDS}
        | settings(tokenizer_class="LlamaTokenizer", model_max_length=INFINITE, **ENDS)
        | generation(bos_token_id=1, eos_token_id=2, pad_token_id=0),
        TWO_HEADS,
    ),
    "llama-2 slow": Made(
        "fine",
        config("llama", 320, bos_token_id=1, eos_token_id=2)
        | {"tokenizer.model": pieces(320)}
        | settings(tokenizer_class="LlamaTokenizer", **ENDS),
        TWO_HEADS,
    ),
    "llama-3": Made(
        "fine",
        config("llama", 1024, bos_token_id=1000, eos_token_id=[1001, 1002])
        | tokens(1000, None, HEADERS, post_processor=BEGIN)
        | settings(
            bos_token="<|begin_of_text|>",
            eos_token="<|eot_id|>",
            added_tokens_decoder=decoder(HEADERS),
            chat_template="{{ '<|begin_of_text|>' }}<|eot_id|>",
        )
        | generation(bos_token_id=1000, eos_token_id=[1001, 1002]),
        {EMBED: 1024, HEAD: 1024},
        codes="EMB115 EMB204",
    ),
    "mistral": Made(
        "fine",
        config("mistral", 328, bos_token_id=1, eos_token_id=2)
        | tokens(328, LLAMA)
        | {"tokenizer.model": pieces(328), "tokenizer.model.v3": pieces(328)}
        | settings(model_max_length=INFINITE, pad_token=None, **ENDS),
        {EMBED: 328, HEAD: 328},
    ),
    "qwen-2.5": Made(
        "fine",
        config("qwen2", 1024, bos_token_id=1000, eos_token_id=1002)
        | tokens(1000, None, QWEN[:3])
        | {"vocab.json": texts(1000), "merges.txt": "#version: 0.2\nt 1\n"}
        | settings(
            eos_token="<|im_end|>",
            pad_token="<|endoftext|>",
            added_tokens_decoder=decoder(QWEN[:3]),
            additional_special_tokens=["<|im_start|>", "<|im_end|>"],
            chat_template="<|im_start|>user<|im_end|>",
        )
        | generation(eos_token_id=[1002, 1000], pad_token_id=1000, bos_token_id=1000),
        {EMBED: 1024, HEAD: 1024},
        codes="EMB109",
    ),
    "qwen-3 tied, head stored": Made(
        "fine",
        config("qwen3", 1024, eos_token_id=1002, tie_word_embeddings=True)
        | tokens(1000, None, QWEN),
        {EMBED: 1024, HEAD: 1024},
    ),
    "qwen-2-vl": Made(
        "fine",
        config("qwen2_vl", 1024, image_token_id=1003, video_token_id=1004, eos_token_id=1002)
        | tokens(1000, None, QWEN)
        | settings(eos_token="<|im_end|>", pad_token="<|endoftext|>"),
        {EMBED: 1024, HEAD: 1024},
    ),
    "gemma-2": Made(
        "fine",
        config("gemma2", 400, bos_token_id=2, eos_token_id=1, pad_token_id=0)
        | tokens(400, GEMMA)
        | settings(additional_special_tokens=["<start_of_turn>", "<end_of_turn>"], **GEMMA_ENDS)
        | generation(bos_token_id=2, eos_token_id=[1, 7], pad_token_id=0),
        {EMBED: 400},
    ),
    "gemma-3 with eyes": Made(
        "fine",
        nested("gemma3", "gemma3_text", 448, image_token_index=400, eos_token_id=[1, 7])
        | tokens(400, GEMMA, [("<image_soft_token>", 400)])
        | {"added_tokens.json": {"<image_soft_token>": 400}}
        | settings(
            extra_special_tokens={"image_token": "<image_soft_token>"},
            image_token="<image_soft_token>",
            **GEMMA_ENDS,
        ),
        {"language_model.model.embed_tokens.weight": 448},
    ),
    "phi-3": Made(
        "fine",
        config("phi3", 384, bos_token_id=1, eos_token_id=320, pad_token_id=0)
        | tokens(320, LLAMA, behind(320, "<|endoftext|>", "<|end|>", "<|user|>"))
        | {"added_tokens.json": {"<|endoftext|>": 320, "<|end|>": 321}}
        | generation(eos_token_id=[320, 321]),
        {EMBED: 384, HEAD: 384},
    ),
    "gpt-2": Made(
        "fine",
        config("gpt2", 257, bos_token_id=256, eos_token_id=256, n_positions=64)
        | tokens(257, {256: "<|endoftext|>"})
        | {"vocab.json": texts(257, {256: "<|endoftext|>"})}
        | settings(model_max_length=64),
        {"wte.weight": 257, "wpe.weight": 64},
    ),
    "pythia": Made(
        "fine",
        config("gpt_neox", 384, bos_token_id=0, eos_token_id=0)
        | tokens(340, NEOX, behind(340, "  ", "   ", "    "))
        | settings(tokenizer_class="GPTNeoXTokenizer", **END),
        {"gpt_neox.embed_in.weight": 384, "embed_out.weight": 384},
    ),
}
