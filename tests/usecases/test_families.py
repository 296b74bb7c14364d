"""Healthy models of popular families, laid out as they are published: nothing but notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.usecases.families import (
    BEGIN,
    DECODERS,
    END,
    ENDS,
    HEADERS,
    LANGUAGES,
    ROBERTA,
    ROBERTA_ENDS,
    T5,
    WHISPER,
)
from tests.usecases.made import (
    EMBED,
    HEAD,
    INFINITE,
    LLAMA,
    Made,
    agree,
    behind,
    config,
    generation,
    lines,
    nested,
    pieces,
    settings,
    texts,
    tokens,
)

FAMILIES = DECODERS | {
    "bert": Made(
        "fine",
        config("bert", 305, pad_token_id=0, max_position_embeddings=64)
        | {"vocab.txt": lines(305, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
        | settings(
            model_max_length=64,
            pad_token="[PAD]",
            unk_token="[UNK]",
            cls_token="[CLS]",
            sep_token="[SEP]",
            mask_token="[MASK]",
        ),
        {
            "bert.embeddings.word_embeddings.weight": 305,
            "bert.embeddings.position_embeddings.weight": 64,
            "cls.predictions.decoder.weight": 305,
        },
    ),
    "roberta": Made(
        "fine",
        config("roberta", 500, pad_token_id=1, eos_token_id=2, max_position_embeddings=66)
        | tokens(
            500,
            ROBERTA,
            post_processor={
                "type": "RobertaProcessing",
                "sep": ["</s>", 2],
                "cls": ["<s>", 0],
                "trim_offsets": True,
                "add_prefix_space": False,
            },
        )
        | {"vocab.json": texts(500, ROBERTA)}
        | settings(model_max_length=64, **ROBERTA_ENDS),
        {"roberta.embeddings.word_embeddings.weight": 500},
    ),
    "deberta-v3": Made(
        "fine",
        config("deberta-v2", 400, pad_token_id=0, position_biased_input=False)
        | {"spm.model": pieces(384, {0: "[PAD]", 1: "[CLS]", 2: "[SEP]", 3: "[UNK]"})}
        | {"added_tokens.json": {"[MASK]": 384}}
        | settings(
            tokenizer_class="DebertaV2Tokenizer",
            bos_token="[CLS]",
            eos_token="[SEP]",
            pad_token="[PAD]",
            mask_token="[MASK]",
            model_max_length=INFINITE,
        ),
        {"deberta.embeddings.word_embeddings.weight": 400},
    ),
    "t5": Made(
        "fine",
        config("t5", 448, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
        | {"spiece.model": pieces(320, T5)}
        | settings(
            tokenizer_class="T5Tokenizer",
            extra_ids=100,
            additional_special_tokens=[f"<extra_id_{i}>" for i in range(100)],
            eos_token="</s>",
            pad_token="<pad>",
        ),
        {"shared.weight": 448},
    ),
    "mt5": Made(
        "fine",
        config("mt5", 320, pad_token_id=0, eos_token_id=1, tie_word_embeddings=False)
        | {"spiece.model": pieces(310, T5)}
        | settings(tokenizer_class="T5Tokenizer", extra_ids=0, eos_token="</s>"),
        {"shared.weight": 320, HEAD: 320},
    ),
    "byt5": Made(
        "fine",
        config("t5", 384, pad_token_id=0, eos_token_id=1)
        | settings(tokenizer_class="ByT5Tokenizer", extra_ids=125, pad_token="<pad>"),
        {"shared.weight": 384},
    ),
    "bart": Made(
        "fine",
        config(
            "bart",
            500,
            bos_token_id=0,
            eos_token_id=2,
            pad_token_id=1,
            decoder_start_token_id=2,
            forced_eos_token_id=2,
            max_position_embeddings=64,
        )
        | tokens(500, ROBERTA)
        | settings(model_max_length=64),
        {"model.shared.weight": 500, "model.encoder.embed_positions.weight": 66},
    ),
    "mbart": Made(
        "fine",
        config("mbart", 347, pad_token_id=1, eos_token_id=2, max_position_embeddings=64)
        | {"sentencepiece.bpe.model": pieces(320)}
        | settings(model_max_length=64),
        {"model.shared.weight": 347},
    ),
    "pegasus": Made(
        "fine",
        config("pegasus", 423, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
        | {"spiece.model": pieces(320, T5)},
        {"model.shared.weight": 423},
    ),
    "marian": Made(
        "fine",
        config(
            "marian",
            301,
            decoder_vocab_size=301,
            eos_token_id=0,
            pad_token_id=300,
            decoder_start_token_id=300,
        )
        | {"vocab.json": texts(301, {0: "</s>", 1: "<unk>", 300: "<pad>"})}
        | {"source.spm": pieces(99), "target.spm": pieces(98)}
        | settings(
            tokenizer_class="MarianTokenizer",
            eos_token="</s>",
            pad_token="<pad>",
            model_max_length=512,
        )
        | generation(bad_words_ids=[[300]], pad_token_id=300, eos_token_id=0),
        {"model.shared.weight": 301},
    ),
    "nllb": Made(
        "fine",
        config("m2m_100", 526, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2)
        | {"sentencepiece.bpe.model": pieces(320)}
        | settings(
            tokenizer_class="NllbTokenizer",
            additional_special_tokens=LANGUAGES,
            **ROBERTA_ENDS,
        ),
        {"model.shared.weight": 526},
    ),
    "xlm-r": Made(
        "fine",
        config("xlm-roberta", 322, pad_token_id=1, eos_token_id=2, max_position_embeddings=66)
        | {"sentencepiece.bpe.model": pieces(320)}
        | settings(model_max_length=64),
        {"roberta.embeddings.word_embeddings.weight": 322},
    ),
    "opt": Made(
        "fine",
        config(
            "opt", 512, bos_token_id=2, eos_token_id=2, pad_token_id=1, max_position_embeddings=64
        )
        | {"vocab.json": texts(500, ROBERTA), "merges.txt": "#version: 0.2\nt 1\n"}
        | settings(bos_token="</s>", eos_token="</s>", pad_token="<pad>", model_max_length=64),
        {"model.decoder.embed_tokens.weight": 512, "model.decoder.embed_positions.weight": 66},
    ),
    "bloom": Made(
        "fine",
        config("bloom", 512, bos_token_id=1, eos_token_id=2, pad_token_id=3)
        | tokens(500, {**LLAMA, 3: "<pad>"})
        | settings(pad_token="<pad>", **ENDS),
        {"word_embeddings.weight": 512},
    ),
    "falcon": Made(
        "fine",
        config("falcon", 320, bos_token_id=11, eos_token_id=11)
        | tokens(320, {0: ">>TITLE<<", 11: "<|endoftext|>"})
        | settings(eos_token="<|endoftext|>"),
        {"transformer.word_embeddings.weight": 320, HEAD: 320},
    ),
    "whisper": Made(
        "fine",
        config(
            "whisper",
            600,
            bos_token_id=500,
            eos_token_id=500,
            pad_token_id=500,
            decoder_start_token_id=501,
            max_target_positions=448,
        )
        | {"vocab.json": texts(500), "added_tokens.json": dict(WHISPER)}
        | tokens(500, None, WHISPER)
        | settings(model_max_length=1024, pad_token="<|endoftext|>", **END),
        {"model.decoder.embed_tokens.weight": 600},
        codes="EMB116",
    ),
    "clip": Made(
        "fine",
        nested("clip", "clip_text_model", 320, vision_config={"vocab_size": 7})
        | {"vocab.json": texts(320, {318: "<|startoftext|>", 319: "<|endoftext|>"})}
        | settings(bos_token="<|startoftext|>", eos_token="<|endoftext|>", model_max_length=77),
        {"text_model.embeddings.token_embedding.weight": 320},
    ),
    "mllama": Made(
        "fine",
        nested("mllama", "mllama_text_model", 1024, image_token_index=1024)
        | tokens(1000, None, [*HEADERS, ("<|image|>", 1024)], post_processor=BEGIN)
        | settings(bos_token="<|begin_of_text|>", eos_token="<|eot_id|>", pad_token="<|pad|>"),
        {"language_model.model.embed_tokens.weight": 1032, "language_model.lm_head.weight": 1024},
        codes="EMB112",
    ),
    "idefics": Made(
        "fine",
        config("idefics", 320, additional_vocab_size=2, eos_token_id=2)
        | tokens(320, LLAMA, behind(320, "<fake_token_around_image>", "<image>")),
        {
            EMBED: 320,
            "model.embed_tokens.additional_embedding.weight": 2,
            HEAD: 320,
            "lm_head.additional_fc.weight": 2,
        },
    ),
    "llava": Made(
        "fine",
        nested("llava", "llama", 384, image_token_index=320, pad_token_id=321)
        | tokens(320, LLAMA, behind(320, "<image>", "<pad>"))
        | {
            "added_tokens.json": {"<image>": 320, "<pad>": 321},
            "processor_config.json": {"image_token": "<image>"},
        }
        | settings(pad_token="<pad>", **ENDS),
        {"language_model.model.embed_tokens.weight": 384, "language_model.lm_head.weight": 384},
    ),
    "deepseek-v3": Made(
        "fine",
        config("deepseek_v3", 1280, bos_token_id=0, eos_token_id=1)
        | tokens(1250, {0: "<begin>", 1: "<end>", 2: "<pad>"}, behind(1250, "<hole0>", "<hole1>"))
        | settings(bos_token="<begin>", eos_token="<end>", pad_token="<pad>"),
        {EMBED: 1280, HEAD: 1280},
    ),
    "gpt-oss": Made(
        "fine",
        config("gpt_oss", 1024, eos_token_id=1002, pad_token_id=1001)
        | tokens(1000, None, behind(1000, "<|startoftext|>", "<|endoftext|>", "<|return|>"))
        | settings(bos_token="<|startoftext|>", eos_token="<|return|>", pad_token="<|endoftext|>")
        | generation(bos_token_id=1000, eos_token_id=[1002, 1001], pad_token_id=1001),
        {EMBED: 1024, HEAD: 1024},
    ),
    "glm-4": Made(
        "fine",
        config("glm4", 384, eos_token_id=[320, 322], pad_token_id=320)
        | tokens(320, None, behind(320, "<|endoftext|>", "<|system|>", "<|user|>"))
        | settings(eos_token="<|user|>", pad_token="<|endoftext|>"),
        {EMBED: 384, HEAD: 384},
    ),
    "esm-2": Made(
        "fine",
        config("esm", 33, pad_token_id=1, position_embedding_type="rotary")
        | {"vocab.txt": lines(33, "<cls>", "<pad>", "<eos>", "<unk>")}
        | settings(pad_token="<pad>", eos_token="<eos>", model_max_length=INFINITE),
        {
            "esm.embeddings.word_embeddings.weight": 33,
            "esm.embeddings.position_embeddings.weight": 1026,
        },
    ),
    "canine": Made(
        "fine",
        config("canine", pad_token_id=0, bos_token_id=57344, eos_token_id=57345)
        | settings(tokenizer_class="CanineTokenizer", model_max_length=2048),
        {"char_embeddings.HashBucketCodebook_0.weight": (16384, 96)},
    ),
}


@pytest.mark.parametrize("made", FAMILIES.values(), ids=list(FAMILIES))
def test_a_model_as_published_gets_no_more_than_notes(made: Made, tmp_path: Path) -> None:
    agree(made, made.check(tmp_path / "model"))
