from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers import read_vocabulary
from tests.tokenizers.folders import Content, added_token, folder, model, tokenizer
from tokenizers import Tokenizer

TEXTS = st.sampled_from(["a", "b", "c", "##d", "é", "你", "▁x", "<0x0A>", "<p>", "<q>", "<r>"])
ADDED = st.lists(
    st.builds(added_token, TEXTS, st.integers(0, 40), special=st.booleans()), max_size=7
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["BPE", "WordLevel", "WordPiece", "Unigram"]))
    if kind == "Unigram":
        pieces = draw(st.lists(TEXTS, min_size=1, max_size=10))
        vocab: Any = [[piece, -1.0] for piece in pieces]
    else:
        texts = draw(st.lists(TEXTS, min_size=1, max_size=8, unique=True))
        texts = ["a", *(text for text in texts if text != "a")]
        ids = draw(
            st.lists(st.integers(0, 20), min_size=len(texts), max_size=len(texts), unique=True)
        )
        vocab = dict(zip(texts, ids, strict=True))
    return tokenizer(vocab, draw(ADDED), kind)


def read(path: Path, document: Content) -> Vocabulary:
    vocabulary = read_vocabulary(folder(path, {"tokenizer.json": document}))
    assert vocabulary is not None
    return vocabulary


def ids(vocabulary: Vocabulary) -> dict[str, int]:
    return {**vocabulary.base, **{token.text: token.id for token in vocabulary.added}}


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(document=documents())
def test_ids_are_those_of_the_tokenizers_library(document: dict[str, Any], tmp_path: Path) -> None:
    reference = Tokenizer.from_str(json.dumps(document))
    vocabulary = read(tmp_path, document)
    expected = reference.get_vocab(with_added_tokens=True)
    assert ids(vocabulary) == expected
    assert vocabulary.size == len(expected)
    assert vocabulary.max_id >= max(expected.values())
    for token in vocabulary.added:
        assert reference.token_to_id(token.text) == token.id == vocabulary.id(token.text)


def test_declared_ids_have_no_say(tmp_path: Path) -> None:
    document = tokenizer(10, [added_token("<a>", 12), added_token("<b>", 20, special=False)])
    vocabulary = read(tmp_path, document)
    assert [(t.text, t.id, t.declared_id, t.special) for t in vocabulary.added] == [
        ("<a>", 10, 12, True),
        ("<b>", 11, 20, False),
    ]
    assert (vocabulary.base_size, vocabulary.size, vocabulary.max_id) == (10, 12, 11)
    assert vocabulary.special_ids == {10}
    assert vocabulary.added_ids == {10, 11}


def test_an_appended_token_can_meet_an_id_that_exists(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, tokenizer({"a": 0, "b": 2, "c": 5}, [added_token("<x>", 6)]))
    assert vocabulary.added[0].id == 3
    assert vocabulary.holes == 2
    assert vocabulary.hole_ids(10) == (1, 4)
    assert vocabulary.hole_ids(1) == (1,)


def test_a_list_keeps_its_length_where_a_piece_stands_twice(tmp_path: Path) -> None:
    pieces = [["a", 0.0], ["b", -1.0], ["a", -2.0]]
    vocabulary = read(tmp_path, tokenizer(pieces, [added_token("<x>", 9)], "Unigram"))
    assert vocabulary.base == {"a": 2, "b": 1}
    assert vocabulary.text(0) == "a"
    assert vocabulary.added[0].id == 3
    assert vocabulary.max_id == 3


@pytest.mark.parametrize(
    ("parts", "form"),
    [
        ({"pre_tokenizer": {"type": "ByteLevel"}}, TextForm.BYTE_LEVEL),
        ({"decoder": {"type": "Metaspace", "replacement": "▁"}}, TextForm.SENTENCEPIECE),
        ({"normalizer": {"type": "Prepend", "prepend": "▁"}}, TextForm.SENTENCEPIECE),
        ({"model": model("WordPiece", {"a": 0})}, TextForm.WORDPIECE),
        ({"model": model("Unigram", [["a", 0.0]])}, TextForm.SENTENCEPIECE),
        ({}, TextForm.PLAIN),
    ],
)
def test_the_form_of_texts_follows_the_pipeline(
    tmp_path: Path, parts: dict[str, Any], form: TextForm
) -> None:
    assert read(tmp_path, {**tokenizer(3), **parts}).form is form


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "tokenizer.json is empty"),
        ('{"model": {"vocab": {"a": 0', "cut short"),
        ("[1, 2]", "not as its format wants it"),
        ("{nonsense", "not valid JSON"),
        ("<!DOCTYPE html><html>", "HTML page"),
        ('\ufeff{"model": {"vocab": {"a": 0}}}', "byte order mark"),
        ("{}", "missing required field `model`"),
        ('{"model": {"type": "BPE"}}', "missing required field `vocab`"),
        ('{"model": {"vocab": {}}}', "empty vocabulary"),
        ('{"model": {"vocab": {"a": -1}}}', "the id -1;"),
        ('{"model": {"vocab": {"a": 4294967296}}}', "the id 4,294,967,296;"),
        ('{"model": {"vocab": {"a": 1e400}}}', "not"),
        ('{"model": {"vocab": {"a": 1.5}}}', "Expected `int`"),
        ('{"model": {"vocab": {"a": "1"}}}', "Expected `int`"),
        (b'{"model": {"vocab": {"\xff": 1}}}', "not valid JSON"),
        ('{"model": ' + "[" * 100_000, "not"),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9085657\n",
            "Git LFS pointer, not the file itself; the real file has 9,085,657 bytes",
        ),
    ],
)
def test_a_broken_file_is_refused_with_the_reason(
    tmp_path: Path, content: Content, message: str
) -> None:
    with pytest.raises(TokenizerError) as caught:
        read(tmp_path, content)
    assert "\n" not in caught.value.message
    assert message in caught.value.message
    assert caught.value.hint


def test_duplicate_keys_are_read_as_the_library_reads_them(tmp_path: Path) -> None:
    text = json.dumps(tokenizer({"a": 0, "b": 1})).replace('"b": 1', '"a": 2')
    assert ids(read(tmp_path, text)) == Tokenizer.from_str(text).get_vocab() == {"a": 2}


def test_a_folder_without_tokenizer_has_no_vocabulary(tmp_path: Path) -> None:
    assert read_vocabulary(folder(tmp_path, {"config.json": {}})) is None


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="no tokenizer file"):
        read_vocabulary(folder(tmp_path, {"a.bin": "x"}), "a.bin")
