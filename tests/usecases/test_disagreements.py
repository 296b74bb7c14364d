"""Models that disagree with themselves, of every kind that is reported: the verdict is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.usecases.made import (
    EMBED,
    HEAD,
    INFINITE,
    LLAMA,
    POINTER,
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
    verdict,
)

SMALL = config("llama", 320)
R320 = {EMBED: 320}
BERT = "embeddings.word_embeddings.weight"
KNOWN = {"added_tokens_decoder": {"0": {"content": "<unk>", "special": True}}}
TEXT = "language_model.model.embed_tokens.weight"


def listed(vocab: dict[str, int], *added: tuple[str, int]) -> dict[str, Any]:
    entries = [{"id": i, "content": text} for text, i in added]
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "a"}
    return {"tokenizer.json": {"added_tokens": entries, "model": model}}


def emitting(text: str, token_id: int) -> dict[str, Any]:
    special = {"x": {"id": "x", "ids": [token_id], "tokens": [text]}}
    inner = {"type": "TemplateProcessing", "special_tokens": special}
    return {"type": "Sequence", "processors": [{"type": "ByteLevel"}, inner]}


PAST_THE_ROWS = {
    "pad of the map": ({"special_tokens_map.json": {"pad_token": "<pad>"}}, "EMB101"),
    "pad of the settings": (settings(pad_token="[PAD]"), "EMB101"),
    "added_tokens.json": ({"added_tokens.json": {"<new>": 320}}, "EMB101"),
    "an id that is taken": ({"added_tokens.json": {"<z>": 3}}, "EMB101 EMB303"),
    "extra tokens by name": (settings(extra_special_tokens={"x": "<img>"}), "EMB101"),
    "extra tokens as a list": (settings(extra_special_tokens=["<a>", "<b>"]), "EMB101"),
    "additional tokens": (settings(additional_special_tokens=["<a>"]), "EMB101"),
    "infill tokens": (settings(tokenizer_class="CodeLlamaTokenizer"), "EMB101"),
    "eos of generation": (generation(eos_token_id=[3, 320]), "EMB104"),
    "processor": ({"processor_config.json": {"image_token_id": 400}}, "EMB104"),
}
SPARE = {
    (2048, 2000): "fine",
    (32064, 32001): "fine",
    (50304, 50257): "fine",
    (51200, 50295): "fine",
    (32100, 31998): "fine",
    (1032, 1025): "fine",
    (2056, 2000): "warning",
    (32002, 32000): "warning",
    (33000, 31000): "warning",
    (40007, 40000): "warning",
}
CASES = {
    "silenced map": Made(
        "warning",
        SMALL
        | tokens(320, LLAMA)
        | settings(**KNOWN)
        | {"special_tokens_map.json": {"pad_token": "[PAD]"}},
        R320,
        "EMB304",
    ),
    "silenced list": Made(
        "warning",
        SMALL | tokens(320, LLAMA) | settings(**KNOWN) | {"added_tokens.json": {"<new>": 320}},
        R320,
        "EMB304",
    ),
    "infill switched off": Made(
        "fine",
        SMALL
        | {"tokenizer.model": pieces(320)}
        | settings(
            tokenizer_class="CodeLlamaTokenizerFast",
            prefix_token=None,
            middle_token=None,
            suffix_token=None,
            eot_token=None,
        ),
        R320,
    ),
    "config alone": Made("error", config("gpt2", 500) | tokens(501), {}, "EMB101"),
    "xlm-r without its mask": Made(
        "error",
        config("xlm-roberta", 321) | {"sentencepiece.bpe.model": pieces(320)},
        {BERT: 321},
        "EMB101",
    ),
    "t5 without its extra ids": Made(
        "error", config("t5", 384) | {"spiece.model": pieces(320)}, {"shared.weight": 384}, "EMB101"
    ),
    "more rows than V": Made("error", config("qwen2", 312) | tokens(310), R320, "EMB102"),
    "fewer rows than V": Made("error", config("qwen2", 328) | tokens(310), R320, "EMB102"),
    "nested V": Made("error", nested("llava", "llama", 320) | tokens(320), {TEXT: 328}, "EMB102"),
    "outer and nested V": Made(
        "warning",
        nested("llava", "llama", 320, vocab_size=999) | tokens(320),
        {TEXT: 320},
        "EMB111",
    ),
    "V of sound": Made(
        "fine",
        nested("qwen2_audio", "qwen2", 320, audio_config={"vocab_size": 51865}) | tokens(320),
        {TEXT: 320},
    ),
    "another head": Made("error", SMALL | tokens(320), {EMBED: 320, HEAD: 312}, "EMB103"),
    "another head, tied": Made(
        "error", config("gemma2", 320) | tokens(320), {EMBED: 320, HEAD: 312}, "EMB401"
    ),
    "a shard of four": Made(
        "fine",
        config("llama", 1280) | tokens(1280),
        {"tok_embeddings.weight": 320, "output.weight": 320},
        "EMB114",
        "consolidated.00.safetensors",
    ),
    "mllama without its rows": Made(
        "error",
        nested("mllama", "mllama_text_model", 320) | tokens(320, None, [("<|image|>", 320)]),
        {TEXT: 320},
        "EMB101",
    ),
    "idefics past both tables": Made(
        "error",
        config("idefics", 320, additional_vocab_size=2)
        | tokens(320, None, behind(320, "<a>", "<image>", "<x>")),
        {EMBED: 320, "model.embed_tokens.additional_embedding.weight": 2},
        "EMB101",
    ),
    "marian with two vocabularies": Made(
        "fine",
        config("marian", 360, decoder_vocab_size=520, eos_token_id=0, decoder_start_token_id=519)
        | {"vocab.json": texts(360)},
        {"model.encoder.embed_tokens.weight": 360, "model.decoder.embed_tokens.weight": 520},
    ),
    "eos equal to V": Made(
        "error", config("gpt2", 320, eos_token_id=320) | tokens(320), {"wte.weight": 320}, "EMB104"
    ),
    "eos below 0": Made(
        "error", config("gpt2", 320, eos_token_id=-1) | tokens(320), {"wte.weight": 320}, "EMB104"
    ),
    "pad below 0": Made(
        "warning", config("llama", 320, pad_token_id=-1) | tokens(320), R320, "EMB202"
    ),
    "pad is eos": Made(
        "warning",
        config("llama", 320, pad_token_id=2, eos_token_id=[2]) | tokens(320),
        R320,
        "EMB203",
    ),
    "another bos": Made(
        "warning",
        config("codegen", 320, bos_token_id=1)
        | tokens(320, {50: "<e>"})
        | settings(bos_token="<e>"),
        {"transformer.wte.weight": 320},
        "EMB201",
    ),
    "two files, two ids": Made(
        "warning",
        config("qwen2", 320, bos_token_id=4) | tokens(320) | generation(bos_token_id=7),
        R320,
        "EMB201",
    ),
    "image id of another token": Made(
        "error",
        config("llava", 384, image_token_index=320)
        | tokens(320, None, behind(320, "<pad>", "<image>")),
        {EMBED: 384},
        "EMB205",
    ),
    "emitted past the rows": Made(
        "error", SMALL | tokens(320, post_processor=emitting("<s>", 999)), R320, "EMB105"
    ),
    "padding past the rows": Made(
        "error", SMALL | tokens(320, padding={"pad_id": 400, "pad_token": "[P]"}), R320, "EMB105"
    ),
    "declared with gaps": Made(
        "error",
        config("llama", 384) | tokens(320, None, [("<a>", 325), ("<b>", 340)]),
        {EMBED: 384},
        "EMB303",
    ),
    "an added token in a hole": Made(
        "error",
        config("llama", 8) | listed({"a": 0, "b": 1, "c": 3}, ("<x>", 4)),
        {EMBED: 8},
        "EMB106",
    ),
    "one id twice": Made(
        "error", config("llama", 8) | listed({"a": 0, "b": 1, "c": 1}), {EMBED: 8}, "EMB106"
    ),
    "holes": Made(
        "warning", config("llama", 16) | listed({"a": 0, "b": 1, "c": 9}), {EMBED: 16}, "EMB107"
    ),
    "a line twice": Made(
        "warning",
        config("bert", 104) | {"vocab.txt": lines(104, "x", "y", "x")},
        {BERT: 104},
        "EMB306",
    ),
    "a blank line": Made(
        "warning",
        config("bert", 104) | {"vocab.txt": lines(104, "x", "", "z")},
        {BERT: 104},
        "EMB307",
    ),
    "vocab.json of another": Made(
        "warning", SMALL | tokens(320) | {"vocab.json": texts(320, {5: "other"})}, R320, "EMB305"
    ),
    "one token more": Made(
        "warning",
        config("llama", 321) | tokens(320, LLAMA, [("[PAD]", 320)]),
        {EMBED: 321},
        "EMB110",
    ),
    "tokenizer is a pointer": Made("error", SMALL | {"tokenizer.json": POINTER}, R320, "EMB301"),
    "weights are a pointer": Made(
        "error", SMALL | tokens(320) | {"model.safetensors": POINTER}, {}, "EMB301"
    ),
    "settings are a pointer": Made(
        "error", SMALL | tokens(320) | {"tokenizer_config.json": POINTER}, R320, "EMB301"
    ),
    "cut short": Made("error", SMALL | {"tokenizer.json": '{"model": {"vo'}, R320, "EMB302"),
    "nothing in it": Made(
        "error", SMALL | {"tokenizer.json": {"model": {"vocab": {}}}}, R320, "EMB302"
    ),
    "positions before the padding": Made(
        "warning",
        config("roberta", 320, max_position_embeddings=514)
        | tokens(320)
        | settings(model_max_length=514),
        {BERT: 320},
        "EMB116",
    ),
    "no largest length": Made(
        "warning",
        config("gpt2", 320, n_positions=64) | tokens(320) | settings(model_max_length=INFINITE),
        {"wte.weight": 320},
        "EMB116",
    ),
}


@pytest.mark.parametrize("made", CASES.values(), ids=list(CASES))
def test_the_verdict_is_the_known_one(made: Made, tmp_path: Path) -> None:
    agree(made, made.check(tmp_path / "model"))


@pytest.mark.parametrize(("files", "codes"), PAST_THE_ROWS.values(), ids=list(PAST_THE_ROWS))
def test_an_id_past_the_rows_is_an_error(files: dict[str, Any], codes: str, tmp_path: Path) -> None:
    made = Made("error", SMALL | tokens(320, LLAMA) | files, R320, codes)
    agree(made, made.check(tmp_path / "model"))
    by_config = made.check(tmp_path / "config", weights=False)
    agree(made, by_config)
    assert any("by config only" in finding.message for finding in by_config.findings)


@pytest.mark.parametrize(("rows", "used"), list(SPARE))
def test_rounding_is_told_apart_from_lost_tokens(rows: int, used: int, tmp_path: Path) -> None:
    made = Made(SPARE[rows, used], config("llama", rows) | tokens(used), {EMBED: rows})
    report = made.check(tmp_path / "model")
    agree(made, report)
    assert verdict(report) == verdict(made.check(tmp_path / "again", weights=False))


def test_a_merge_of_an_odd_size_is_a_warning(tmp_path: Path) -> None:
    """A table made of exactly the tokens, and a configuration that says so."""
    added = behind(15160, *(f"<|{i}|>" for i in range(7)))
    made = Made(
        "warning",
        config("qwen2", 15167) | tokens(15160, None, added),
        {EMBED: 15167, HEAD: 15167},
        "EMB110",
    )
    agree(made, made.check(tmp_path / "model"))
