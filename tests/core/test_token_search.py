from __future__ import annotations

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from embcalc.core.token_search import matches, to_byte_alphabet
from embcalc.core.unused_names import is_unused_name
from embcalc.core.vocabulary import TextForm, Token, Vocabulary


def vocabulary(form: TextForm, *texts: str) -> Vocabulary:
    return Vocabulary(
        format="tokenizer.json",
        file="tokenizer.json",
        form=form,
        base={text: index for index, text in enumerate(texts)},
        added=(Token(text="<s>", id=len(texts), special=True),),
    )


@pytest.mark.parametrize(
    ("form", "texts", "typed", "found"),
    [
        (TextForm.BYTE_LEVEL, ["hello", "Ġhello"], "hello", ["hello", "Ġhello"]),
        (TextForm.BYTE_LEVEL, ["hello", "Ġhello"], " hello", ["Ġhello"]),
        (TextForm.BYTE_LEVEL, ["hello", "Ġhello"], "Ġhello", ["Ġhello"]),
        (TextForm.BYTE_LEVEL, ["Ġhello"], "hello", ["Ġhello"]),
        (TextForm.BYTE_LEVEL, ["åŃ¦"], "学", ["åŃ¦"]),
        (TextForm.BYTE_LEVEL, ["Ċ"], "\n", ["Ċ"]),
        (TextForm.SENTENCEPIECE, ["hello", "▁hello"], "hello", ["hello", "▁hello"]),
        (TextForm.SENTENCEPIECE, ["hello", "▁hello"], " hello", ["▁hello"]),
        (TextForm.SENTENCEPIECE, ["▁hello"], "hello", ["▁hello"]),
        (TextForm.WORDPIECE, ["king", "##king"], "king", ["king", "##king"]),
        (TextForm.WORDPIECE, ["king", "##king"], "##king", ["##king"]),
        (TextForm.WORDPIECE, ["##ing"], "ing", ["##ing"]),
        (TextForm.WORDPIECE, ["king"], " king", ["king"]),
        (TextForm.PLAIN, ["我"], "我", ["我"]),
        (TextForm.PLAIN, ["我"], "你", []),
        (TextForm.BYTE_LEVEL, ["a"], "<s>", ["<s>"]),
    ],
)
def test_tokens_are_found_as_typed(
    form: TextForm, texts: list[str], typed: str, found: list[str]
) -> None:
    assert [match.text for match in matches(vocabulary(form, *texts), typed)] == found


@pytest.mark.parametrize("text", [" hello", "学习\n", "\x00\x7f\xad", "😀", "é"])
def test_the_byte_alphabet_is_that_of_tokenizers(text: str) -> None:
    pieces = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert to_byte_alphabet(text) == pieces[0][0]


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("[unused7]", True),
        ("<unused7>", True),
        ("<|reserved_special_token_7|>", True),
        ("<extra_id_7>", True),
        ("[PAD7]", True),
        ("<reserved_7>", True),
        ("[UNUSED_TOKEN_7]", True),
        ("<|reserved_7|>", True),
        ("unused", False),
        ("[PAD]", False),
        ("<|im_start|>", False),
        ("<0x0A>", False),
    ],
)
def test_names_of_unused_rows(text: str, *, unused: bool) -> None:
    assert is_unused_name(text) is unused
