"""vocab.txt of PhoBERT and BERTweet: fairseq's dictionary, a token and its count on each line."""

from __future__ import annotations

from embcalc.core.files import Folder
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import read_text

FORMAT = "fairseq-dict"
HEAD = ("<s>", "<pad>", "</s>", "<unk>")


def read_fairseq_dict(folder: Folder, name: str) -> BaseRead:
    """Read a dictionary: fairseq's four tokens come first, then the lines.

    Raises:
        TokenizerError: a line has no count.
        SourceError: it cannot be read.
    """
    base = {text: index for index, text in enumerate(HEAD)}
    for number, line in enumerate(read_text(folder, name).split("\n"), 1):
        if not line.strip():
            continue
        text, space, _ = line.rstrip("\r").rpartition(" ")
        if not space:
            raise TokenizerError(
                f"{name} line {number:,} is not a token and its count",
                hint="download the file again",
            )
        base.setdefault(text, len(base))
    return BaseRead(vocabulary=Vocabulary(format=FORMAT, file=name, base=base))
