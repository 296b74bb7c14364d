"""Tokenizers of bytes: they have ids, and no file."""

from __future__ import annotations

from collections.abc import Callable

from embcalc.core.vocabulary import TextForm, Token, Vocabulary
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.raw_bytes import written
from embcalc.tokenizers.settings import Settings

FORMAT = "bytes"


def _byt5(settings: Settings) -> BaseRead:
    """Three special tokens, the 256 bytes, then the extra ids (125 unless said): 384."""
    stated = settings.config.get("extra_ids", 125)
    extra = stated if isinstance(stated, int) and 0 <= stated <= 10_000 else 125
    return _made(
        ("<pad>", "</s>", "<unk>"),
        tuple(f"<extra_id_{index}>" for index in range(extra)),
        "ByT5Tokenizer",
    )


def _perceiver(_settings: Settings) -> BaseRead:
    """Six special tokens before the 256 bytes: 262."""
    names = ("[PAD]", "[BOS]", "[EOS]", "[MASK]", "[CLS]", "[SEP]")
    return _made(names, (), "PerceiverTokenizer")


def _made(before: tuple[str, ...], behind: tuple[str, ...], label: str) -> BaseRead:
    texts = [*before, *(written(bytes([byte])) for byte in range(256))]
    base = {text: index for index, text in enumerate(texts)}
    added = [Token(text=text, id=index, special=True) for index, text in enumerate(before)]
    added += [Token(text=t, id=len(texts) + i, special=True) for i, t in enumerate(behind)]
    vocabulary = Vocabulary(
        format=FORMAT, file=label, form=TextForm.BYTE_LEVEL, base=base, added=tuple(added)
    )
    return BaseRead(vocabulary=vocabulary)


MAKERS: dict[str, Callable[[Settings], BaseRead]] = {"byt5": _byt5, "perceiver": _perceiver}
"""Class in lower case without `Tokenizer` → its vocabulary."""
