"""Encoding against the reference libraries, on tokenizers trained in the test."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer
from tokenizers.implementations.byte_level_bpe import ByteLevelBPETokenizer

from embcalc.errors import TokenizerError
from embcalc.sources import locate
from embcalc.tokenizers import read_vocabulary
from embcalc.tokenizers.encode import Encoder, open_encoder
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

CORPUS = [
    "the cat sat on the mat",
    "a cat and a hat",
    "学习 我爱学习 你爱",
    "Straße, naïve café!",
] * 5
TEXTS = ["the cat", " the hat", "我爱 cat!", "naïve 😀", "", "a\nb\tc", "the <new> cat"]


def encoder(folder: Path) -> Encoder:
    place = locate(str(folder)).folder
    return open_encoder(place, read_vocabulary(place))


def ids(folder: Path, text: str, *, template: bool = True) -> list[int]:
    return list(encoder(folder).encode(text, template=template).ids)


@pytest.fixture
def byte_level(tmp_path: Path) -> Path:
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(iter(CORPUS), vocab_size=400, show_progress=False)
    tokenizer.save_model(str(tmp_path))
    return tmp_path


@pytest.fixture
def sentencepiece_model(tmp_path: Path) -> Path:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        character_coverage=1.0,
        minloglevel=2,
    )
    (tmp_path / "tokenizer.model").write_bytes(model.getvalue())
    return tmp_path


@pytest.mark.parametrize("text", TEXTS)
def test_tokenizer_json_without_its_padding_and_truncation(tmp_path: Path, text: str) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(iter(CORPUS), trainer)
    tokenizer.add_tokens([AddedToken("<new>")])
    expected = tokenizer.encode(text).ids
    tokenizer.enable_padding(length=64)
    tokenizer.enable_truncation(2)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert ids(tmp_path, text) == expected
    assert encoder(tmp_path).truncation == 2


@pytest.mark.parametrize("text", [*TEXTS, "[MASK] the [UNK]"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_vocab_txt(tmp_path: Path, text: str, *, lowercase: bool) -> None:
    reference = BertWordPieceTokenizer(lowercase=lowercase)
    reference.train_from_iterator(iter(CORPUS), vocab_size=200, show_progress=False)
    reference.save_model(str(tmp_path))
    settings = {"do_lower_case": lowercase, "tokenizer_class": "BertTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    reference = BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=lowercase)
    assert ids(tmp_path, text) == reference.encode(text).ids
    assert ids(tmp_path, text, template=False) == reference.encode(text).ids[1:-1]
    assert encoder(tmp_path).unknown_id == reference.token_to_id("[UNK]")


@pytest.mark.parametrize("text", TEXTS)
def test_vocab_json_and_merges(byte_level: Path, text: str) -> None:
    files = str(byte_level / "vocab.json"), str(byte_level / "merges.txt")
    reference = ByteLevelBPETokenizer(*files)
    assert ids(byte_level, text) == reference.encode(text).ids
    assert not encoder(byte_level).has_template


def test_vocab_json_needs_merges(byte_level: Path) -> None:
    (byte_level / "merges.txt").unlink()
    with pytest.raises(TokenizerError, match=r"merges\.txt") as caught:
        encoder(byte_level)
    assert "--ids" in (caught.value.hint or "")


def test_merges_of_another_model(byte_level: Path) -> None:
    (byte_level / "merges.txt").write_text("#version: 0.2\nzq qz\n")
    with pytest.raises(TokenizerError, match="tokenizers cannot run it"):
        encoder(byte_level)


@pytest.mark.parametrize("text", TEXTS)
def test_sentencepiece(sentencepiece_model: Path, text: str) -> None:
    reference = sentencepiece.SentencePieceProcessor()
    reference.Load(str(sentencepiece_model / "tokenizer.model"))
    assert ids(sentencepiece_model, text) == reference.EncodeAsIds(text)
    assert encoder(sentencepiece_model).unknown_id == reference.unk_id()


def test_sentencepiece_of_a_class_that_moves_ids(sentencepiece_model: Path) -> None:
    reference = sentencepiece.SentencePieceProcessor()
    reference.Load(str(sentencepiece_model / "tokenizer.model"))
    (sentencepiece_model / "tokenizer.model").rename(
        sentencepiece_model / "sentencepiece.bpe.model"
    )
    settings = json.dumps({"tokenizer_class": "XLMRobertaTokenizer"})
    (sentencepiece_model / "tokenizer_config.json").write_text(settings)
    moved = [token + 1 for token in reference.EncodeAsIds("the cat sat")]
    assert ids(sentencepiece_model, "the cat sat") == moved


def test_bytes(tmp_path: Path) -> None:
    settings = json.dumps({"tokenizer_class": "ByT5Tokenizer"})
    (tmp_path / "tokenizer_config.json").write_text(settings)
    assert ids(tmp_path, "aé ") == [byte + 3 for byte in "aé ".encode()]


def test_tokens_that_only_the_side_files_name(tmp_path: Path) -> None:
    vocabulary = {"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[UNK]": 2},
                            "unk_token": "[UNK]"},
                  "pre_tokenizer": {"type": "Whitespace"}, "added_tokens": []}  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(vocabulary))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<pad>"}))
    assert ids(tmp_path, "a <pad> b zzz") == [0, 3, 1, 2]
    assert encoder(tmp_path).unknown_id == 2


def _write(folder: Path, name: str, content: Any) -> None:
    target = folder / name
    if isinstance(content, bytes):
        target.write_bytes(content)
    else:
        target.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tekken.json", None, "cannot be run"),
        ("qwen.tiktoken", b"YQ== 0\nYg== 1\n", "cannot be run"),
        ("tokenizer.json", {"model": {"type": "Odd", "vocab": {"a": 0}}}, "tokenizers cannot run"),
    ],
)
def test_what_cannot_be_run_points_to_ids(
    tmp_path: Path, name: str, content: Any, words: str
) -> None:
    if content is None:
        entry = {"rank": 0, "token_bytes": "YQ==", "token_str": "a"}
        config = {"default_vocab_size": 2, "default_num_special_tokens": 1, "num_vocab_tokens": 1}
        content = {"config": config, "vocab": [entry], "special_tokens": None}
    _write(tmp_path, name, content)
    with pytest.raises(TokenizerError, match=words) as caught:
        encoder(tmp_path)
    assert "--ids" in (caught.value.hint or "")


def test_no_tokenizer_at_all(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="no tokenizer"):
        encoder(tmp_path)


def test_template_ids_are_marked(demo_model: Path, run: Callable[..., Any]) -> None:
    vocabulary = read_vocabulary(locate(str(demo_model)).folder)
    assert vocabulary is not None
    tokenizer = Tokenizer.from_file(str(demo_model / "tokenizer.json"))
    document = json.loads(tokenizer.to_str())
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "！", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"！": {"id": "！", "ids": [99], "tokens": ["！"]}},
    }
    (demo_model / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    encoded = encoder(demo_model).encode("我爱", template=True)
    assert (encoded.ids, encoded.template) == ((1, 2, 99), (False, False, True))
    result = run("lookup", demo_model, "--text", "我爱")
    assert result.code == 2
    assert "id 99" in result.err
    assert "--text, sequence 0" in result.err
    assert run("lookup", demo_model, "--text", "我爱", "--no-special-tokens").code == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "?"}}, "Missing"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}}, "charsmap"),
        # Releases differ in whether they panic or refuse.
        (
            {"model": {"type": "BPE", "vocab": {"x": 0, "y": 1}, "merges": ["x y"]}},
            "range end|out of vocabulary",
        ),
    ],
)
def test_what_the_library_raises_is_a_refusal(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    vocab = {"x": 0, "y": 1}
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model, **changes}))
    with pytest.raises(TokenizerError, match=reason):
        encoder(tmp_path).encode("x zz", template=True)
