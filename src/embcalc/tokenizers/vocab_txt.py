"""vocab.txt of BERT and its kin: one token a line."""

from __future__ import annotations

from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.tokenizers.files import read_text

NAME = "vocab.txt"


def read_vocab_txt(folder: Folder, name: str) -> Vocabulary:
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
    return Vocabulary(
        format=NAME,
        file=name,
        form=TextForm.WORDPIECE,
        base={text: index for index, text in enumerate(lines)},
    )
