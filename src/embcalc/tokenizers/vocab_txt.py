"""vocab.txt of BERT and its kin: one token a line."""

from __future__ import annotations

from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.core.wording import quoted
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import WITHOUT_BOM, read_text
from embcalc.tokenizers.repeated import repeated_texts

NAME = "vocab.txt"


def read_vocab_txt(folder: Folder, name: str) -> BaseRead:
    """Read a vocab.txt: the line number is the id; of a token that stands twice the last line wins.

    A blank line is a token of its own, the empty one. Lines end at line feeds alone: other
    characters that Unicode calls line ends are tokens.

    Raises:
        TokenizerError: it is broken, or begins with a byte order mark.
        SourceError: it cannot be read.
    """
    text = read_text(folder, name)
    lines = text.replace("\r\n", "\n").split("\n")
    if text.startswith("\ufeff"):
        raise TokenizerError(
            f"{name} begins with a byte order mark, which becomes part of its first token: there "
            f"is no {quoted(lines[0][1:])}",
            WITHOUT_BOM,
        )
    if lines[-1] == "":
        lines.pop()
    base = {text: index for index, text in enumerate(lines)}
    return BaseRead(
        vocabulary=Vocabulary(format=NAME, file=name, form=TextForm.WORDPIECE, base=base),
        duplicates=repeated_texts(lines, base),
        blank_ids=tuple(index for index, text in enumerate(lines) if not text.strip("\r ")),
    )
