from __future__ import annotations

import io
from pathlib import Path

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers import read_vocabulary
from tests.tokenizers.folders import Content, folder


@pytest.fixture(scope="module")
def model() -> bytes:
    """A model of 60 pieces: <unk>, <s>, </s>, then words."""
    words = [f"wort{i} satz{i % 7} und mehr" for i in range(200)]
    target = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(words),
        model_writer=target,
        vocab_size=60,
        model_type="bpe",
        minloglevel=2,
        hard_vocab_limit=False,
    )
    return target.getvalue()


@pytest.fixture(scope="module")
def pieces(model: bytes) -> list[str]:
    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.vocab_size())]


def read(path: Path, files: dict[str, Content]) -> Vocabulary:
    vocabulary = read_vocabulary(folder(path, files))
    assert vocabulary is not None
    return vocabulary


def as_class(path: Path, model: bytes, name: str, **settings: object) -> Vocabulary:
    config = {"tokenizer_class": name, **settings}
    return read(path, {"spiece.model": model, "tokenizer_config.json": config})


def test_pieces_keep_their_numbers(tmp_path: Path, model: bytes, pieces: list[str]) -> None:
    vocabulary = read(tmp_path, {"tokenizer.model": model})
    assert [vocabulary.text(i) for i in range(len(pieces))] == pieces
    assert vocabulary.form is TextForm.SENTENCEPIECE
    assert vocabulary.format == "sentencepiece"
    assert {vocabulary.text(i) for i in vocabulary.special_ids} == {"<s>", "</s>"}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("T5Tokenizer", 100),
        ("XLMRobertaTokenizer", 2),
        ("XLMRobertaTokenizerFast", 2),
        ("MBartTokenizer", 27),
        ("MBart50Tokenizer", 54),
        ("PegasusTokenizer", 103),
        ("NllbTokenizer", 204),
        ("XGLMTokenizer", 8),
        ("CamembertTokenizer", 5),
        ("LlamaTokenizer", 0),
        ("GemmaTokenizer", 0),
    ],
)
def test_each_class_has_its_own_number_of_ids(
    tmp_path: Path, model: bytes, pieces: list[str], name: str, more: int
) -> None:
    vocabulary = as_class(tmp_path, model, name)
    assert vocabulary.max_id + 1 == len(pieces) + more
    assert vocabulary.holes == 0


def test_t5_puts_its_extra_ids_behind_the_pieces_backwards(
    tmp_path: Path, model: bytes, pieces: list[str]
) -> None:
    vocabulary = as_class(tmp_path, model, "T5Tokenizer", extra_ids=3)
    first = len(pieces)
    assert [vocabulary.text(first + i) for i in range(3)] == [
        "<extra_id_2>",
        "<extra_id_1>",
        "<extra_id_0>",
    ]
    assert vocabulary.base_size == first


def test_the_model_type_stands_in_for_the_class(
    tmp_path: Path, model: bytes, pieces: list[str]
) -> None:
    vocabulary = read(tmp_path, {"spiece.model": model, "config.json": {"model_type": "mt5"}})
    assert vocabulary.max_id + 1 == len(pieces) + 100


def test_xlm_roberta_moves_pieces_up_by_one(
    tmp_path: Path, model: bytes, pieces: list[str]
) -> None:
    vocabulary = as_class(tmp_path, model, "XLMRobertaTokenizer")
    assert [vocabulary.text(i) for i in range(5)] == ["<s>", "<pad>", "</s>", "<unk>", pieces[3]]
    assert vocabulary.id("<mask>") == len(pieces) + 1


def test_pegasus_moves_pieces_up_by_103(tmp_path: Path, model: bytes, pieces: list[str]) -> None:
    vocabulary = as_class(tmp_path, model, "PegasusTokenizer")
    assert vocabulary.text(2) == "<mask_1>"
    assert [vocabulary.text(i + 103) for i in (2, 3, 50)] == [pieces[i] for i in (2, 3, 50)]


def test_nllb_takes_the_language_codes_that_the_files_name(
    tmp_path: Path, model: bytes, pieces: list[str]
) -> None:
    codes = ["ace_Arab", "ace_Latn"]
    vocabulary = as_class(tmp_path, model, "NllbTokenizer", additional_special_tokens=codes)
    assert vocabulary.id("ace_Arab") == len(pieces) + 1
    assert vocabulary.id("<mask>") == vocabulary.max_id == len(pieces) + 3


def test_added_tokens_come_behind(tmp_path: Path, model: bytes, pieces: list[str]) -> None:
    files: dict[str, Content] = {"tokenizer.model": model, "added_tokens.json": {"<pad>": 32000}}
    vocabulary = read(tmp_path, files)
    assert vocabulary.id("<pad>") == len(pieces)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x0a\x05garbage", "no SentencePiece model"),
        (b"\x0a\x05\x0a\x03abc" * 3, "abc is already defined"),
        (b"PK\x03\x04", "no SentencePiece model"),
        (b"version https://git-lfs.github.com/spec/v1\nsize 499723\n", "Git LFS pointer"),
    ],
)
def test_a_broken_model_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        read(tmp_path, {"tokenizer.model": content})


def test_a_truncated_model_is_refused(tmp_path: Path, model: bytes) -> None:
    with pytest.raises(TokenizerError, match="no SentencePiece model"):
        read(tmp_path, {"tokenizer.model": model[: len(model) // 2 + 1]})
