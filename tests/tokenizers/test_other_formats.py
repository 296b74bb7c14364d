from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers import read_tokenizer, read_vocabulary
from tests.tokenizers.folders import Content, folder


def read(path: Path, files: dict[str, Content]) -> Vocabulary:
    vocabulary = read_vocabulary(folder(path, files))
    assert vocabulary is not None
    return vocabulary


def tiktoken_lines(entries: dict[bytes, int]) -> bytes:
    return b"".join(b64encode(raw) + f" {rank}\n".encode() for raw, rank in entries.items())


def tekken(entries: int, used: int, specials: int, **more: object) -> dict[str, Any]:
    vocab = [
        {"rank": i, "token_bytes": b64encode(f"w{i}".encode()).decode(), "token_str": None}
        for i in range(entries)
    ]
    config = {"default_vocab_size": used + specials, "default_num_special_tokens": specials}
    return {"config": config, "vocab": vocab, **more}


def test_vocab_json_keeps_its_ids(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"vocab.json": {"a": 0, "Ġb": 2}, "merges.txt": "#version\na b\n"})
    assert (vocabulary.base, vocabulary.form) == ({"a": 0, "Ġb": 2}, TextForm.BYTE_LEVEL)
    assert vocabulary.holes == 1


def test_vocab_json_of_a_sentencepiece_family(tmp_path: Path) -> None:
    assert read(tmp_path, {"vocab.json": {"▁a": 0}}).form is TextForm.SENTENCEPIECE
    assert read(tmp_path / "x", {"vocab.json": {"a</w>": 0}}).form is TextForm.PLAIN


def test_m2m100_appends_a_hundred_languages(tmp_path: Path) -> None:
    files: dict[str, Content] = {
        "vocab.json": {"<s>": 0, "▁a": 1},
        "tokenizer_config.json": {"tokenizer_class": "M2M100Tokenizer"},
    }
    vocabulary = read(tmp_path, files)
    assert (vocabulary.size, vocabulary.id("__af__")) == (102, 2)


@pytest.mark.parametrize("content", ["{}", '{"a": -1}', '{"a": "0"}', '{"a": {"b": 1}}', "[]", "{"])
def test_a_broken_vocab_json_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(TokenizerError):
        read(tmp_path, {"vocab.json": content})


def test_tiktoken_ranks_may_have_holes(tmp_path: Path) -> None:
    content = tiktoken_lines({b" the": 0, b"\xff\xfe": 1, b"\n": 5})
    facts = read_tokenizer(folder(tmp_path, {"x.tiktoken": content}))
    vocabulary = facts.vocabulary
    assert vocabulary is not None
    assert vocabulary.base == {"Ġthe": 0, "ÿþ": 1, "Ċ": 5}
    assert facts.open_ended
    assert facts.base_holes_by_design


def test_tokenizer_model_may_be_a_tiktoken_file(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"tokenizer.model": tiktoken_lines({b"a": 0, b"b": 1})})
    assert (vocabulary.format, vocabulary.max_id) == ("tiktoken", 1)


def test_an_empty_token_of_whisper_counts(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"m.tiktoken": tiktoken_lines({b"a": 0}) + b"= 1\n"})
    assert vocabulary.base == {"a": 0, "": 1}


@pytest.mark.parametrize(
    "content", [b"YQ== 0\nnonsense\n", b"Y 0\n", b"YQ== 99999999999\n", b"YQ== -1\n", b"\xff\xfe\n"]
)
def test_a_broken_tiktoken_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(TokenizerError):
        read(tmp_path, {"x.tiktoken": content})


def test_tekken_counts_specials_first_and_leaves_the_tail_out(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, {"tekken.json": tekken(20, 12, 30)})
    assert (vocabulary.size, vocabulary.max_id, vocabulary.holes) == (42, 41, 0)
    assert vocabulary.id("w0") == 30
    assert vocabulary.text(1) == "<s>"
    assert vocabulary.text(29) == "<SPECIAL_29>"
    assert vocabulary.special_ids == set(range(30))


def test_tekken_may_name_its_specials(tmp_path: Path) -> None:
    named = [{"rank": 3, "token_str": "[INST]", "is_control": True}]
    vocabulary = read(tmp_path, {"tekken.json": tekken(4, 4, 5, special_tokens=named)})
    assert vocabulary.text(3) == "[INST]"


@pytest.mark.parametrize(
    "document",
    [tekken(4, 5, 2), tekken(4, 0, 2), {"config": {}, "vocab": []}, tekken(4, 4, -1)],
)
def test_an_impossible_tekken_is_refused(tmp_path: Path, document: dict[str, Any]) -> None:
    with pytest.raises(TokenizerError):
        read(tmp_path, {"tekken.json": document})


def test_invalid_base64_is_refused(tmp_path: Path) -> None:
    document = tekken(2, 2, 2)
    document["vocab"][0]["token_bytes"] = "@"
    with pytest.raises(TokenizerError, match="base64"):
        read(tmp_path, {"tekken.json": document})


def test_rwkv_lists_literals(tmp_path: Path) -> None:
    lines = "1 '\\x00' 1\n2 b'\\xff' 1\n3 ' the' 4\n4 '你' 3\n5 \"'\" 1\n"
    vocabulary = read(tmp_path, {"rwkv_vocab_v20230424.txt": lines})
    assert vocabulary.id("Ġthe") == 3
    assert (vocabulary.size, vocabulary.max_id) == (5, 5)
    assert read_tokenizer(folder(tmp_path, {})).base_holes_by_design


@pytest.mark.parametrize(
    "line",
    [
        "1 __import__('os').system('true') 3",
        "1 'a' 2",
        "x 'a' 1",
        "1 [1] 1",
        "1",
        "1 'a",
        "-1 'a' 1",
    ],
)
def test_a_line_of_rwkv_is_data_and_never_run(tmp_path: Path, line: str) -> None:
    with pytest.raises(TokenizerError):
        read(tmp_path, {"rwkv_vocab_x.txt": line + "\n"})


@pytest.mark.parametrize(("name", "size"), [("ByT5Tokenizer", 384), ("PerceiverTokenizer", 262)])
def test_byte_tokenizers_need_no_file(tmp_path: Path, name: str, size: int) -> None:
    vocabulary = read(tmp_path, {"tokenizer_config.json": {"tokenizer_class": name}})
    assert (vocabulary.size, vocabulary.max_id, vocabulary.holes) == (size, size - 1, 0)


def test_a_byte_tokenizer_may_be_known_by_the_model_alone(tmp_path: Path) -> None:
    assert read(tmp_path, {"config.json": {"model_type": "perceiver"}}).size == 262


def test_phobert_reads_a_dictionary_with_counts(tmp_path: Path) -> None:
    files: dict[str, Content] = {
        "vocab.txt": "là 100\ncủa 90\n",
        "tokenizer_config.json": {"tokenizer_class": "PhobertTokenizer", "mask_token": "<mask>"},
    }
    vocabulary = read(tmp_path, files)
    assert (vocabulary.id("là"), vocabulary.id("<mask>")) == (4, 6)
    with pytest.raises(TokenizerError, match="line 1"):
        read(tmp_path, {"vocab.txt": "là\n"})


def test_python_code_is_named_and_not_run(tmp_path: Path) -> None:
    auto = {"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}}
    files: dict[str, Content] = {
        "tokenizer_config.json": auto,
        "tokenization_x.py": "raise SystemExit(3)",
        "x.tiktoken": tiktoken_lines({b"a": 0}),
    }
    facts = read_tokenizer(folder(tmp_path, files))
    assert facts.vocabulary is None
    assert facts.python_class == "tokenization_x.XTokenizer"
    assert "not run" in facts.absent


def test_a_tokenizer_in_the_folder_below_is_found(tmp_path: Path) -> None:
    files: dict[str, Content] = {
        "tokenizer/vocab.json": {"a": 0},
        "tokenizer/added_tokens.json": {"<x>": 1},
        "unrelated/vocab.json": {"z": 0},
    }
    assert read(tmp_path, files).texts == {0: "a", 1: "<x>"}
