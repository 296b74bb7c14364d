from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers.models import WordPiece

from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers import read_vocabulary
from tests.tokenizers.folders import folder


def read(path: Path, content: str | bytes) -> Vocabulary:
    vocabulary = read_vocabulary(folder(path, {"vocab.txt": content}))
    assert vocabulary is not None
    return vocabulary


def test_the_line_number_is_the_id(tmp_path: Path) -> None:
    text = "[PAD]\n[UNK]\nwort\n##e\n学\n"
    vocabulary = read(tmp_path, text)
    assert vocabulary.base == WordPiece.read_file(str(tmp_path / "vocab.txt"))
    assert vocabulary.form is TextForm.WORDPIECE
    assert (vocabulary.size, vocabulary.max_id, vocabulary.holes) == (5, 4, 0)


def test_the_last_of_equal_lines_wins_and_leaves_a_hole(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, "a\nb\na\n")
    assert vocabulary.base == {"a": 2, "b": 1}
    assert vocabulary.base == WordPiece.read_file(str(tmp_path / "vocab.txt"))
    assert (vocabulary.size, vocabulary.max_id, vocabulary.holes) == (2, 2, 1)


def test_a_blank_line_is_a_token(tmp_path: Path) -> None:
    vocabulary = read(tmp_path, "a\n\nb\n")
    assert vocabulary.base == {"a": 0, "": 1, "b": 2}


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_only_line_feeds_end_a_line(tmp_path: Path, separator: str) -> None:
    assert read(tmp_path, f"a\n{separator}\nb").base == {"a": 0, separator: 1, "b": 2}


def test_windows_line_ends_are_no_part_of_a_token(tmp_path: Path) -> None:
    assert read(tmp_path, "a\r\nb\r\n").base == {"a": 0, "b": 1}


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="byte 0xe4 at offset 2"):
        read(tmp_path, "a\nä\n".encode("latin-1"))


def test_a_byte_order_mark_takes_the_first_token_away(tmp_path: Path) -> None:
    text = "\ufeff[PAD]\n[UNK]\n"
    (tmp_path / "vocab.txt").write_text(text, "utf-8")
    assert "[PAD]" not in WordPiece.read_file(str(tmp_path / "vocab.txt"))
    with pytest.raises(TokenizerError, match=r"byte order mark.*there is no '\[PAD\]'"):
        read(tmp_path, text)


@pytest.mark.parametrize("page", ["<!DOCTYPE html>\n<html>", "<html lang=en>", "<?xml?><Error>"])
def test_a_page_is_no_vocabulary(tmp_path: Path, page: str) -> None:
    with pytest.raises(TokenizerError, match="HTML page"):
        read(tmp_path, page)
