"""vocab.txt of BERT and its kin: one token a line."""

from __future__ import annotations

from embcalc.core.files import Folder
from embcalc.core.tokenizer_facts import Duplicate
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import read_text

NAME = "vocab.txt"


def read_vocab_txt(folder: Folder, name: str) -> BaseRead:
    """Read a vocab.txt: the line number is the id; of a token that stands twice the last line wins.

    A blank line is a token of its own, the empty one. Lines end at line feeds alone: other
    characters that Unicode calls line ends are tokens.

    Raises:
        TokenizerError: it is broken.
        SourceError: it cannot be read.
    """
    lines = read_text(folder, name).replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    base = {text: index for index, text in enumerate(lines)}
    return BaseRead(
        vocabulary=Vocabulary(format=NAME, file=name, form=TextForm.WORDPIECE, base=base),
        duplicates=duplicates(lines, base),
        blank_ids=tuple(index for index, text in enumerate(lines) if not text.strip("\r ")),
    )


def duplicates(texts: list[str], base: dict[str, int]) -> tuple[Duplicate, ...]:
    """Texts that stand in a list several times, blank ones left out."""
    if len(base) == len(texts):
        return ()
    ids: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        if text and base[text] != index:
            ids.setdefault(text, []).append(index)
    return tuple(Duplicate(text=text, ids=(*found, base[text])) for text, found in ids.items())
