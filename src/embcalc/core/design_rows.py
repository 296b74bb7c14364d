"""Classes whose tables have other than V rows, by design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from embcalc.core.config_keys import Level
from embcalc.core.limits import LARGEST_ROWS


@dataclass(frozen=True, slots=True)
class DesignRows:
    """Rows that a class makes of its vocabulary size."""

    token_rows: int | None
    """Rows of the token table; None where V is unknown or the class has no such table."""
    head_rows: int | None
    """Rows of the output head."""
    extra_rows: int = 0
    """Rows of a second token table beside the first (`additional_vocab_size`)."""
    reason: str | None = None
    """Why they differ from V; None where they do not."""

    def allows(self, rows: int) -> bool:
        """Whether a token table may have so many: some checkpoints store both tables as one."""
        return self.token_rows is not None and rows - self.token_rows in (0, self.extra_rows)


def design_rows(outer: Level, text: Level, vocab_size: int | None) -> DesignRows:
    """The rows by design, for the classes that differ and the keys that say so."""
    if outer.model_type == "canine":
        return DesignRows(None, None, reason="canine hashes characters: it has no table by id")
    if vocab_size is None:
        return DesignRows(None, None)
    by_class = _of_class(outer.model_type or "", outer, text, vocab_size)
    return by_class or _of_keys(text, vocab_size) or DesignRows(vocab_size, vocab_size)


def _of_class(kind: str, outer: Level, text: Level, size: int) -> DesignRows | None:
    maker = _MAKERS.get(kind.removesuffix("_text_model").removesuffix("_text"))
    return maker(outer, text, size) if maker else None


def _mllama(_outer: Level, _text: Level, size: int) -> DesignRows:
    return DesignRows(size + 8, size, reason="mllama adds 8 rows for its image token")


def _moshi(_outer: Level, _text: Level, size: int) -> DesignRows:
    return DesignRows(size + 1, size, reason="moshi adds a row for its padding token")


def _molmo(outer: Level, text: Level, size: int) -> DesignRows:
    extra = _additional(outer, text) or 128
    return DesignRows(size, size, extra, f"a second table holds {extra} further rows")


def _idefics(outer: Level, text: Level, size: int) -> DesignRows:
    extra = _additional(outer, text)
    reason = f"a second table and head hold {extra} further rows" if extra else None
    return DesignRows(size, size, extra, reason)


def _dia(outer: Level, text: Level, size: int) -> DesignRows:
    channels = _whole(outer, "num_channels") or _whole(text, "num_channels") or 9
    return DesignRows(size, channels * size, reason="dia has a vocabulary for each audio channel")


def _imagegpt(_outer: Level, _text: Level, size: int) -> DesignRows:
    return DesignRows(size, size - 1, reason="imagegpt never predicts its start token")


def _cpmant(_outer: Level, text: Level, size: int) -> DesignRows:
    rows = size + (_whole(text, "prompt_types") or 32) * (_whole(text, "prompt_length") or 32)
    return DesignRows(rows, rows, reason="cpmant adds the rows of its prompts")


_MAKERS: dict[str, Callable[[Level, Level, int], DesignRows]] = {
    "mllama": _mllama,
    "moshi": _moshi,
    "molmo": _molmo,
    "molmo2": _molmo,
    "idefics": _idefics,
    "dia": _dia,
    "imagegpt": _imagegpt,
    "cpmant": _cpmant,
}


def _additional(outer: Level, text: Level) -> int:
    """`additional_vocab_size` may be 0, which `whole` would refuse."""
    for level in (text, outer):
        if level.document.get("additional_vocab_size"):
            return _whole(level, "additional_vocab_size") or 0
    return 0


def _of_keys(text: Level, size: int) -> DesignRows | None:
    decoder = _whole(text, "decoder_vocab_size") or _whole(text, "output_vocab_size")
    source = _whole(text, "src_vocab_size")
    padded = _whole(text, "padded_vocab_size")
    rows = _whole(text, "embedding_size")
    multiple = _whole(text, "pad_vocab_size_multiple")
    if source is not None:
        return DesignRows(source, size, reason="source and target have vocabularies of their own")
    if decoder is not None and decoder != size:
        return DesignRows(size, decoder, reason="the decoder has a vocabulary of its own")
    if padded is not None and padded != size:
        return DesignRows(padded, padded, reason="padded_vocab_size is the number of rows")
    if rows is not None and rows > size:
        return DesignRows(rows, rows, reason="embedding_size is the number of rows")
    if multiple is not None and size % multiple:
        full = -(-size // multiple) * multiple
        return DesignRows(full, full, reason=f"rows are padded to a multiple of {multiple}")
    return None


def _whole(level: Level, key: str) -> int | None:
    return level.whole(key, LARGEST_ROWS)
