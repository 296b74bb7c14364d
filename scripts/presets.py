"""Write src/embcalc/data/presets.json: models by name, with totals counted from their classes.

Needs `transformers` and `torch` (neither is a dependency of embcalc):

    pip install transformers==5.24.0 && python scripts/presets.py

Every model is built from its published sizes on torch's meta device, where parameters have
shapes and no memory, and its parameters are counted, a tied matrix once. Sizes are either whole
config.json files (published_configs.json beside this script) or the few numbers below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src" / "embcalc" / "data" / "presets.json"
PUBLISHED = Path(__file__).with_name("published_configs.json")
Config = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """A model to count."""

    preset: str
    published: str
    config: Config
    aliases: tuple[str, ...] = ()
    model_class: str | None = None
    """Name of the class; None takes the causal language model of the config."""


def decoder(kind: str, sizes: str, *, tied: bool, **more: Any) -> Config:
    """A decoder from `V d layers heads kv_heads intermediate`."""
    vocabulary, width, layers, heads, groups, inner = map(int, sizes.split())
    return {
        "model_type": kind,
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "intermediate_size": inner,
        "tie_word_embeddings": tied,
        **more,
    }


def llamas() -> Iterator[Model]:
    """Llama 1 to 4, and models of its class."""
    rows = (
        ("llama-7b", "huggyllama/llama-7b", "32000 4096 32 32 32 11008", False),
        ("llama-2-7b", "meta-llama/Llama-2-7b-hf", "32000 4096 32 32 32 11008", False),
        ("llama-2-13b", "meta-llama/Llama-2-13b-hf", "32000 5120 40 40 40 13824", False),
        ("llama-2-70b", "meta-llama/Llama-2-70b-hf", "32000 8192 80 64 8 28672", False),
        ("llama-3-8b", "meta-llama/Meta-Llama-3-8B", "128256 4096 32 32 8 14336", False),
        ("llama-3-70b", "meta-llama/Meta-Llama-3-70B", "128256 8192 80 64 8 28672", False),
        ("llama-3.1-8b", "meta-llama/Llama-3.1-8B", "128256 4096 32 32 8 14336", False),
        ("llama-3.1-405b", "meta-llama/Llama-3.1-405B", "128256 16384 126 128 8 53248", False),
        ("llama-3.2-1b", "meta-llama/Llama-3.2-1B", "128256 2048 16 32 8 8192", True),
        ("llama-3.2-3b", "meta-llama/Llama-3.2-3B", "128256 3072 28 24 8 8192", True),
        (
            "llama-3.3-70b-instruct",
            "meta-llama/Llama-3.3-70B-Instruct",
            "128256 8192 80 64 8 28672",
            False,
        ),
        ("smollm-135m", "HuggingFaceTB/SmolLM-135M", "49152 576 30 9 3 1536", True),
        ("smollm2-135m", "HuggingFaceTB/SmolLM2-135M", "49152 576 30 9 3 1536", True),
        ("smollm2-360m", "HuggingFaceTB/SmolLM2-360M", "49152 960 32 15 5 2560", True),
        ("smollm2-1.7b", "HuggingFaceTB/SmolLM2-1.7B", "49152 2048 24 32 32 8192", True),
        (
            "tinyllama-1.1b",
            "TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T",
            "32000 2048 22 32 4 5632",
            False,
        ),
    )
    for preset, published, sizes, tied in rows:
        extra = ("meta-" + preset,) if preset.startswith("llama-3-") else ()
        yield Model(preset, published, decoder("llama", sizes, tied=tied), extra)
    yield Model(
        "llama-4-scout-17b-16e",
        "meta-llama/Llama-4-Scout-17B-16E",
        {
            "model_type": "llama4",
            "text_config": {
                "model_type": "llama4_text",
                "vocab_size": 202048,
                "hidden_size": 5120,
                "num_local_experts": 16,
                "tie_word_embeddings": False,
            },
            "vision_config": {
                "model_type": "llama4_vision_model",
                "hidden_size": 1408,
                "intermediate_size": 5632,
                "num_hidden_layers": 34,
                "num_attention_heads": 16,
                "vision_output_dim": 4096,
                "image_size": 336,
                "projector_input_dim": 4096,
                "projector_output_dim": 4096,
            },
        },
        ("llama-4-scout",),
        "Llama4ForConditionalGeneration",
    )


def mistrals() -> Iterator[Model]:
    """Mistral."""
    rows: tuple[tuple[str, str, str, Config], ...] = (
        ("mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1", "32000 4096 32 32 8 14336", {}),
        ("mistral-7b-v0.3", "mistralai/Mistral-7B-v0.3", "32768 4096 32 32 8 14336", {}),
        (
            "mistral-nemo-base-2407",
            "mistralai/Mistral-Nemo-Base-2407",
            "131072 5120 40 32 8 14336",
            {"head_dim": 128},
        ),
    )
    for preset, published, sizes, more in rows:
        yield Model(preset, published, decoder("mistral", sizes, tied=False, **more))


def qwens() -> Iterator[Model]:
    """Qwen 1.5, 2, 2.5 and 3."""
    rows = (
        ("qwen1.5-0.5b", "Qwen/Qwen1.5-0.5B", "qwen2", "151936 1024 24 16 16 2816", True),
        ("qwen1.5-7b", "Qwen/Qwen1.5-7B", "qwen2", "151936 4096 32 32 32 11008", False),
        ("qwen2-0.5b", "Qwen/Qwen2-0.5B", "qwen2", "151936 896 24 14 2 4864", True),
        ("qwen2-7b", "Qwen/Qwen2-7B", "qwen2", "152064 3584 28 28 4 18944", False),
        ("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B", "qwen2", "151936 896 24 14 2 4864", True),
        ("qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B", "qwen2", "151936 1536 28 12 2 8960", True),
        ("qwen2.5-3b", "Qwen/Qwen2.5-3B", "qwen2", "151936 2048 36 16 2 11008", True),
        ("qwen2.5-7b", "Qwen/Qwen2.5-7B", "qwen2", "152064 3584 28 28 4 18944", False),
        ("qwen2.5-14b", "Qwen/Qwen2.5-14B", "qwen2", "152064 5120 48 40 8 13824", False),
        ("qwen2.5-32b", "Qwen/Qwen2.5-32B", "qwen2", "152064 5120 64 40 8 27648", False),
        ("qwen2.5-72b", "Qwen/Qwen2.5-72B", "qwen2", "152064 8192 80 64 8 29568", False),
        ("qwen3-1.7b", "Qwen/Qwen3-1.7B", "qwen3", "151936 2048 28 16 8 6144", True),
        ("qwen3-4b", "Qwen/Qwen3-4B", "qwen3", "151936 2560 36 32 8 9728", True),
        ("qwen3-14b", "Qwen/Qwen3-14B", "qwen3", "151936 5120 40 40 8 17408", False),
    )
    for preset, published, kind, sizes, tied in rows:
        more = {"head_dim": 128} if kind == "qwen3" else {}
        yield Model(preset, published, decoder(kind, sizes, tied=tied, **more))
    experts = {
        "head_dim": 128,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
    }
    sizes = "151936 2048 48 32 4 6144"
    yield Model(
        "qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", decoder("qwen3_moe", sizes, tied=False, **experts)
    )


def gemmas() -> Iterator[Model]:
    """Gemma 1 to 3; Gemma 4 is in published_configs.json."""
    rows = (
        ("gemma-2b", "google/gemma-2b", "gemma", "256000 2048 18 8 1 16384", 256),
        ("gemma-7b", "google/gemma-7b", "gemma", "256000 3072 28 16 16 24576", 256),
        ("gemma-2-2b", "google/gemma-2-2b", "gemma2", "256000 2304 26 8 4 9216", 256),
        ("gemma-2-9b", "google/gemma-2-9b", "gemma2", "256000 3584 42 16 8 14336", 256),
        ("gemma-2-27b", "google/gemma-2-27b", "gemma2", "256000 4608 46 32 16 36864", 128),
        ("gemma-3-1b-pt", "google/gemma-3-1b-pt", "gemma3_text", "262144 1152 26 4 1 6912", 256),
    )
    for preset, published, kind, sizes, head in rows:
        yield Model(
            preset,
            published,
            decoder(kind, sizes, tied=True, head_dim=head),
            (preset.removesuffix("-pt"),),
        )
    for size, sizes, head in (
        ("4b", "262208 2560 34 8 4 10240", 256),
        ("12b", "262208 3840 48 16 8 15360", 256),
        ("27b", "262208 5376 62 32 16 21504", 128),
    ):
        text = decoder("gemma3_text", sizes, tied=True, head_dim=head)
        vision = {
            "model_type": "siglip_vision_model",
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "num_hidden_layers": 27,
            "num_attention_heads": 16,
            "image_size": 896,
            "patch_size": 14,
            "vision_use_head": False,
        }
        yield Model(
            f"gemma-3-{size}-pt",
            f"google/gemma-3-{size}-pt",
            {
                "model_type": "gemma3",
                "tie_word_embeddings": True,
                "text_config": text,
                "vision_config": vision,
            },
            (f"gemma-3-{size}",),
            "Gemma3ForConditionalGeneration",
        )


def phis() -> Iterator[Model]:
    """Phi 1.5 to 4."""
    yield Model(
        "phi-1.5",
        "microsoft/phi-1_5",
        decoder("phi", "51200 2048 24 32 32 8192", tied=False),
        ("phi-1-5",),
    )
    yield Model("phi-2", "microsoft/phi-2", decoder("phi", "51200 2560 32 32 32 10240", tied=False))
    plain = {"pad_token_id": 0}
    yield Model(
        "phi-3-mini-4k-instruct",
        "microsoft/Phi-3-mini-4k-instruct",
        decoder("phi3", "32064 3072 32 32 32 8192", tied=False, **plain),
        ("phi-3-mini",),
    )
    yield Model(
        "phi-4",
        "microsoft/phi-4",
        decoder("phi3", "100352 5120 40 40 10 17920", tied=False, **plain),
    )


def gpts() -> Iterator[Model]:
    """GPT-2, GPT-J, GPT-NeoX (Pythia), OPT, BLOOM, gpt-oss."""
    for preset, width, layers, heads in (
        ("gpt2", 768, 12, 12),
        ("gpt2-medium", 1024, 24, 16),
        ("gpt2-large", 1280, 36, 20),
        ("gpt2-xl", 1600, 48, 25),
    ):
        config = {
            "model_type": "gpt2",
            "vocab_size": 50257,
            "n_positions": 1024,
            "n_embd": width,
            "n_layer": layers,
            "n_head": heads,
            "tie_word_embeddings": True,
        }
        yield Model(preset, f"openai-community/{preset}", config)
    yield Model(
        "gpt-j-6b",
        "EleutherAI/gpt-j-6b",
        {
            "model_type": "gptj",
            "vocab_size": 50400,
            "n_positions": 2048,
            "n_embd": 4096,
            "n_layer": 28,
            "n_head": 16,
            "tie_word_embeddings": False,
        },
    )
    for size, rows, width, layers, heads in (
        ("70m", 50304, 512, 6, 8),
        ("160m", 50304, 768, 12, 12),
        ("410m", 50304, 1024, 24, 16),
        ("1b", 50304, 2048, 16, 8),
        ("1.4b", 50304, 2048, 24, 16),
        ("2.8b", 50304, 2560, 32, 32),
        ("6.9b", 50432, 4096, 32, 32),
        ("12b", 50688, 5120, 36, 40),
    ):
        config = {
            "model_type": "gpt_neox",
            "vocab_size": rows,
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": 4 * width,
            "tie_word_embeddings": False,
        }
        yield Model(f"pythia-{size}", f"EleutherAI/pythia-{size}", config)
    for size, width, layers, heads, narrow in (
        ("125m", 768, 12, 12, 768),
        ("350m", 1024, 24, 16, 512),
        ("1.3b", 2048, 24, 32, 2048),
        ("6.7b", 4096, 32, 32, 4096),
        ("13b", 5120, 40, 40, 5120),
    ):
        config = {
            "model_type": "opt",
            "vocab_size": 50272,
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "ffn_dim": 4 * width,
            "max_position_embeddings": 2048,
            "word_embed_proj_dim": narrow,
            "tie_word_embeddings": True,
        }
        if size == "350m":
            config |= {"do_layer_norm_before": False}
        yield Model(f"opt-{size}", f"facebook/opt-{size}", config)
    for size, width, layers, heads in (
        ("560m", 1024, 24, 16),
        ("1b7", 2048, 24, 16),
        ("7b1", 4096, 30, 32),
    ):
        config = {
            "model_type": "bloom",
            "vocab_size": 250880,
            "hidden_size": width,
            "n_layer": layers,
            "n_head": heads,
            "tie_word_embeddings": True,
        }
        yield Model(f"bloom-{size}", f"bigscience/bloom-{size}", config)
    oss = decoder(
        "gpt_oss",
        "201088 2880 24 64 8 2880",
        tied=False,
        head_dim=64,
        num_local_experts=32,
        layer_types=["sliding_attention", "full_attention"] * 12,
    )
    yield Model("gpt-oss-20b", "openai/gpt-oss-20b", oss)


def encoders() -> Iterator[Model]:
    """BERT and its kin: the encoder with its pooler, as AutoModel loads it."""
    for preset, published, rows, width, layers, heads in (
        ("bert-base-uncased", "google-bert/bert-base-uncased", 30522, 768, 12, 12),
        ("bert-base-cased", "google-bert/bert-base-cased", 28996, 768, 12, 12),
        ("bert-large-uncased", "google-bert/bert-large-uncased", 30522, 1024, 24, 16),
        ("bert-base-chinese", "google-bert/bert-base-chinese", 21128, 768, 12, 12),
        (
            "bert-base-multilingual-cased",
            "google-bert/bert-base-multilingual-cased",
            119547,
            768,
            12,
            12,
        ),
    ):
        yield Model(
            preset, published, encoder("bert", rows, width, layers, heads, 512, 2), (), "BertModel"
        )
    for preset, published, kind, rows, width, layers, heads, name in (
        ("roberta-base", "FacebookAI/roberta-base", "roberta", 50265, 768, 12, 12, "RobertaModel"),
        (
            "roberta-large",
            "FacebookAI/roberta-large",
            "roberta",
            50265,
            1024,
            24,
            16,
            "RobertaModel",
        ),
        (
            "xlm-roberta-base",
            "FacebookAI/xlm-roberta-base",
            "xlm-roberta",
            250002,
            768,
            12,
            12,
            "XLMRobertaModel",
        ),
        (
            "xlm-roberta-large",
            "FacebookAI/xlm-roberta-large",
            "xlm-roberta",
            250002,
            1024,
            24,
            16,
            "XLMRobertaModel",
        ),
    ):
        yield Model(preset, published, encoder(kind, rows, width, layers, heads, 514, 1), (), name)
    distil = {
        "model_type": "distilbert",
        "vocab_size": 30522,
        "dim": 768,
        "n_layers": 6,
        "n_heads": 12,
        "hidden_dim": 3072,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
    }
    yield Model(
        "distilbert-base-uncased",
        "distilbert/distilbert-base-uncased",
        distil,
        (),
        "DistilBertModel",
    )
    albert = encoder("albert", 30000, 768, 12, 12, 512, 2) | {"embedding_size": 128}
    yield Model("albert-base-v2", "albert/albert-base-v2", albert, (), "AlbertModel")


def encoder(
    kind: str, rows: int, width: int, layers: int, heads: int, positions: int, types: int
) -> Config:
    """A BERT-like encoder."""
    return {
        "model_type": kind,
        "vocab_size": rows,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        "tie_word_embeddings": True,
    }


def encoder_decoders() -> Iterator[Model]:
    """T5, mT5, BART and Whisper."""
    for preset, width, key, inner, layers, heads in (
        ("t5-small", 512, 64, 2048, 6, 8),
        ("t5-base", 768, 64, 3072, 12, 12),
        ("t5-large", 1024, 64, 4096, 24, 16),
    ):
        yield Model(
            preset,
            f"google-t5/{preset}",
            t5("t5", 32128, width, key, inner, layers, heads),
            (),
            "T5ForConditionalGeneration",
        )
    gated = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    for preset, width, key, inner, layers, heads in (
        ("mt5-small", 512, 64, 1024, 8, 6),
        ("mt5-base", 768, 64, 2048, 12, 12),
    ):
        yield Model(
            preset,
            f"google/{preset}",
            t5("mt5", 250112, width, key, inner, layers, heads) | gated,
            (),
            "MT5ForConditionalGeneration",
        )
    yield Model(
        "flan-t5-base",
        "google/flan-t5-base",
        t5("t5", 32128, 768, 64, 2048, 12, 12) | gated,
        (),
        "T5ForConditionalGeneration",
    )
    for preset, width, layers, heads in (("bart-base", 768, 6, 12), ("bart-large", 1024, 12, 16)):
        config = {
            "model_type": "bart",
            "vocab_size": 50265,
            "d_model": width,
            "max_position_embeddings": 1024,
            "tie_word_embeddings": True,
        }
        for side in ("encoder", "decoder"):
            config |= {
                f"{side}_layers": layers,
                f"{side}_attention_heads": heads,
                f"{side}_ffn_dim": 4 * width,
            }
        yield Model(preset, f"facebook/{preset}", config, (), "BartForConditionalGeneration")
    for preset, rows, width, layers, heads, bins in (
        ("whisper-tiny", 51865, 384, 4, 6, 80),
        ("whisper-base", 51865, 512, 6, 8, 80),
        ("whisper-small", 51865, 768, 12, 12, 80),
        ("whisper-medium", 51865, 1024, 24, 16, 80),
        ("whisper-large-v3", 51866, 1280, 32, 20, 128),
    ):
        config = {
            "model_type": "whisper",
            "vocab_size": rows,
            "d_model": width,
            "num_mel_bins": bins,
            "max_target_positions": 448,
            "tie_word_embeddings": True,
        }
        for side in ("encoder", "decoder"):
            config |= {
                f"{side}_layers": layers,
                f"{side}_attention_heads": heads,
                f"{side}_ffn_dim": 4 * width,
            }
        yield Model(preset, f"openai/{preset}", config, (), "WhisperForConditionalGeneration")


def t5(kind: str, rows: int, width: int, key: int, inner: int, layers: int, heads: int) -> Config:
    """A T5 of one of its generations."""
    return {
        "model_type": kind,
        "vocab_size": rows,
        "d_model": width,
        "d_kv": key,
        "d_ff": inner,
        "num_layers": layers,
        "num_decoder_layers": layers,
        "num_heads": heads,
        "tie_word_embeddings": True,
    }


def olmos() -> Iterator[Model]:
    """OLMo 1 and 2; OLMo 3 is in published_configs.json."""
    yield Model(
        "olmo-1b", "allenai/OLMo-1B-hf", decoder("olmo", "50304 2048 16 16 16 8192", tied=True)
    )
    yield Model(
        "olmo-7b", "allenai/OLMo-7B-hf", decoder("olmo", "50304 4096 32 32 32 11008", tied=False)
    )
    for size, sizes in (
        ("7b", "100352 4096 32 32 32 11008"),
        ("13b", "100352 5120 40 40 40 13824"),
    ):
        yield Model(
            f"olmo-2-1124-{size}",
            f"allenai/OLMo-2-1124-{size.upper()}",
            decoder("olmo2", sizes, tied=False),
            (f"olmo-2-{size}",),
        )


def published() -> Iterator[Model]:
    """Models whose whole config.json is at hand."""
    for preset, record in json.loads(PUBLISHED.read_text("utf-8")).items():
        config = record["config"]
        kind = {"kimi_k2": "deepseek_v3"}.get(config["model_type"], config["model_type"])
        names = config.get("architectures") or [None]
        yield Model(
            preset,
            record["model"],
            {**config, "model_type": kind},
            tuple(ALIASES.get(preset, ())),
            names[0],
        )


ALIASES = {
    "deepseek-r1": ["deepseek-v3"],
    "kimi-k2-instruct": ["kimi-k2"],
    "gemma-4-31b-it": ["gemma-4-31b"],
}
FAMILIES = (
    llamas,
    mistrals,
    qwens,
    gemmas,
    phis,
    gpts,
    encoders,
    encoder_decoders,
    olmos,
    published,
)
KEPT = (
    *("model_type", "vocab_size", "hidden_size", "n_embd", "d_model", "dim", "tie_word_embeddings"),
    *("embedding_size", "word_embed_proj_dim", "max_position_embeddings", "n_positions"),
    *("max_target_positions", "type_vocab_size", "pad_token_id", "text_config"),
    *("vocab_size_per_layer_input", "hidden_size_per_layer_input"),
)


def main() -> None:
    """Count every model and write the table, one model a line."""
    import transformers
    from transformers.utils import logging

    logging.set_verbosity_error()
    lines = {}
    for family in FAMILIES:
        for model in family():
            try:
                name, total = count(model)
            except Exception as error:
                print(f"{model.preset}: {type(error).__name__}: {error}"[:160], file=sys.stderr)
                continue
            record: Config = {"model": model.published}
            aliases = [alias for alias in model.aliases if alias != model.preset]
            if aliases:
                record["aliases"] = aliases
            record |= {
                "parameters": total,
                "counted": f"{name}, transformers {transformers.__version__}",
                "config": kept(model.config),
            }
            lines[model.preset] = f"{json.dumps(model.preset)}: {json.dumps(record)}"
            print(f"{model.preset:28} {total:>18,}")
    TARGET.write_text("{\n" + ",\n".join(lines.values()) + "\n}\n", "utf-8")


def count(model: Model) -> tuple[str, int]:
    """The class's name and its parameters, a tied matrix once."""
    import torch
    import transformers
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    fields = {key: value for key, value in model.config.items() if key != "model_type"}
    config = CONFIG_MAPPING[model.config["model_type"]](**fields)
    with torch.device("meta"):
        built: Any = (
            AutoModelForCausalLM.from_config(config)
            if model.model_class is None
            else getattr(transformers, model.model_class)(config)
        )
        built.tie_weights()
    name = type(built).__name__
    total = sum(parameter.numel() for parameter in built.parameters())
    if model.config.get("tie_word_embeddings") is False:
        table, head = built.get_input_embeddings().weight, built.get_output_embeddings()
        if head is not None and head.weight is table:
            # transformers 5 ties every T5; checkpoints of T5 1.1 and mT5 store a head.
            return f"{name} and its stored head", total + table.numel()
    return name, total


def kept(config: Mapping[str, Any]) -> Config:
    """What concerns the embedding layer."""
    found = {}
    for key, value in config.items():
        if key in KEPT:
            found[key] = kept(value) if isinstance(value, dict) else value
    if found.get("hidden_size_per_layer_input"):
        found["num_hidden_layers"] = config["num_hidden_layers"]
    return found


if __name__ == "__main__":
    main()
