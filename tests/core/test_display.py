from __future__ import annotations

import pytest

from embcalc.core.display import byte_alphabet, quoted, readable, token_text
from embcalc.core.safe_text import safe
from embcalc.core.vocabulary import TextForm, Token, Vocabulary


@pytest.mark.parametrize(
    ("stored", "form", "shown"),
    [
        ("Ġhello", TextForm.BYTE_LEVEL, " hello"),
        ("ĊĠ", TextForm.BYTE_LEVEL, "\n "),
        ("ä½łå¥½", TextForm.BYTE_LEVEL, "你好"),
        ("ä½", TextForm.BYTE_LEVEL, "\\xe4\\xbd"),
        ("aÃ", TextForm.BYTE_LEVEL, "a\\xc3"),
        ("日", TextForm.BYTE_LEVEL, "日"),
        ("▁hello", TextForm.SENTENCEPIECE, " hello"),
        ("▁▁", TextForm.SENTENCEPIECE, "  "),
        ("<0x0A>", TextForm.SENTENCEPIECE, "\n"),
        ("<0xE4>", TextForm.SENTENCEPIECE, "\\xe4"),
        ("<0xZZ>", TextForm.SENTENCEPIECE, "<0xZZ>"),
        ("##ing", TextForm.WORDPIECE, "##ing"),
        ("Ġhello", TextForm.PLAIN, "Ġhello"),
        ("", TextForm.BYTE_LEVEL, ""),
    ],
)
def test_tokens_are_shown_as_people_write_them(stored: str, form: TextForm, shown: str) -> None:
    assert readable(stored, form) == shown


def test_the_byte_alphabet_has_each_byte_once() -> None:
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert (alphabet["Ġ"], alphabet["Ċ"], alphabet["a"]) == (0x20, 0x0A, 0x61)


def test_the_byte_alphabet_is_that_of_the_tokenizers_library() -> None:
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(byte_alphabet()) == set(ByteLevel.alphabet())


def test_added_tokens_are_plain() -> None:
    vocabulary = Vocabulary(
        format="tokenizer.json",
        file="tokenizer.json",
        form=TextForm.BYTE_LEVEL,
        base={"Ġa": 0, "<|end|>": 1},
        added=(
            Token(text="<|end|>", id=1, special=True),
            Token(text="Ġnew", id=2),
        ),
    )
    assert [token_text(vocabulary, row) for row in range(4)] == [" a", "<|end|>", "Ġnew", None]


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("plain [unused0]", "plain [unused0]"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
        ("你好", "你好"),
        ("\x7f\x9b", "\\x7f\\x9b"),
    ],
)
def test_nothing_acts_on_a_terminal(text: str, harmless: str) -> None:
    assert safe(text) == harmless
    assert safe(harmless) == harmless
    assert quoted(text) == f'"{harmless}"'
