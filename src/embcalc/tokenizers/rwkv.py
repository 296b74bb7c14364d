"""RWKV's rwkv_vocab_*.txt: id, the token as a Python literal, its length in bytes."""

from __future__ import annotations

from ast import literal_eval

from embcalc.core.files import Folder
from embcalc.core.vocabulary import TextForm, Vocabulary
from embcalc.errors import TokenizerError
from embcalc.tokenizers.base import BaseRead
from embcalc.tokenizers.files import check_ids, read_text
from embcalc.tokenizers.raw_bytes import written

FORMAT = "rwkv"
_LONGEST = 2000


def read_rwkv(folder: Folder, name: str) -> BaseRead:
    """Read a vocabulary of RWKV; id 0 is left out by design.

    Raises:
        TokenizerError: a line is not id, literal and length.
        SourceError: it cannot be read.
    """
    base: dict[str, int] = {}
    for number, line in enumerate(read_text(folder, name).split("\n"), 1):
        if line.strip():
            token_id, raw = _entry(line, name, number)
            base[written(raw)] = token_id
    check_ids(base, name)
    vocabulary = Vocabulary(format=FORMAT, file=name, form=TextForm.BYTE_LEVEL, base=base)
    return BaseRead(vocabulary=vocabulary, holes_by_design=True)


def _entry(line: str, name: str, number: int) -> tuple[int, bytes]:
    first, _, rest = line.partition(" ")
    literal, _, length = rest.rstrip("\r").rpartition(" ")
    value: object = None
    try:
        # A literal is data: literal_eval builds texts and bytes, and calls nothing.
        value = literal_eval(literal) if len(literal) <= _LONGEST else None
        token_id, expected = int(first), int(length)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise _broken(name, number) from error
    raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if not isinstance(raw, bytes) or len(raw) != expected:
        raise _broken(name, number)
    return token_id, raw


def _broken(name: str, number: int) -> TokenizerError:
    return TokenizerError(
        f"{name} line {number:,} is not an id, a quoted token and its length in bytes",
        hint="download the file again",
    )
