"""Text to tokens to ids to rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from embcalc.checkpoints import Wanted
from embcalc.core.reports.lookup import LookupReport, LookupSequence, LookupToken, OneHot
from embcalc.errors import TokenizerError, UsageError
from embcalc.rows.select import select_rows
from embcalc.usecases.opened import Model, open_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embcalc.core.tables import EmbeddingTable
    from embcalc.tokenizers.encode import Encoder


@dataclass(frozen=True, slots=True)
class _Input:
    """One sequence before padding."""

    text: str | None
    ids: tuple[int, ...]
    template: tuple[bool, ...]
    source: str
    """What to call it in a message: `--ids, sequence 2`."""


@dataclass(frozen=True, slots=True)
class _Pad:
    id: int | None
    source: str | None
    chosen: bool = False
    """Whether the caller named it: wrong even where nothing is filled up."""


def lookup(  # noqa: PLR0913 - the options of a command
    model: str | PathLike[str],
    *,
    text: Sequence[str] = (),
    ids: Sequence[Sequence[int]] = (),
    tokenizer: str | PathLike[str] | None = None,
    tensor: str | None = None,
    pad_id: int | None = None,
    special_tokens: bool = True,
    one_hot: bool = False,
) -> LookupReport:
    """Turn texts or ids into rows of the embedding table, `[B, T]` into `[B, T, d]`.

    Only the rows that are needed are read.

    Args:
        model: a local path, a hub id or another address.
        text: texts, one sequence each.
        ids: lists of token ids, one sequence each, after the texts.
        tokenizer: address of the tokenizer; None takes the one beside the model.
        tensor: stored name of the table; None finds the token table.
        pad_id: fills shorter sequences; None takes the tokenizer's or the config's.
        special_tokens: whether texts get what the tokenizer's template adds, such as [CLS].
        one_hot: also compute the rows as one-hot times table, and what that costs.

    Returns:
        The report; `vectors` is `[B, T, d]` in float32 (float64 for a float64 table), `norms`
        is `[B, T]` in float64.

    Raises:
        UsageError: nothing was asked for, or an id has no row.
        SourceError, CheckpointError, ConfigError, TokenizerError: a file cannot be read.
    """
    texts = [text] if isinstance(text, str) else list(text)
    if not texts and not ids:
        raise UsageError("lookup needs --text or --ids", 'for example: --text "some words"')
    opened = open_model(model, tokenizer, Wanted(tensor), need_tokenizer=False, need_config=False)
    table = opened.token_table()
    opened = opened.naming(table)
    notes = list(opened.notes)
    inputs = _encode(opened, texts, notes, template=special_tokens) if texts else []
    inputs += _given(opened, ids, len(texts), notes)
    pad = _pad(opened, pad_id)
    _require_rows(inputs, pad, table.rows)
    batch = _Batch(opened, table, _padded(opened, inputs, pad, notes))
    return _report(batch, pad, one_hot=one_hot, notes=notes)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Sequences of one length, and where their rows are."""

    model: Model
    table: EmbeddingTable
    sequences: tuple[LookupSequence, ...]

    @property
    def ids(self) -> list[int]:
        """`B · T` ids, one sequence after the other."""
        return [token for sequence in self.sequences for token in sequence.ids]

    def vectors(self) -> NDArray[Any]:
        """Read the rows, `[B, T, d]`."""
        import numpy as np

        ids, width = self.ids, self.table.width
        batch, length = len(self.sequences), len(self.sequences[0].tokens)
        if not ids:
            return np.zeros((batch, length, width), np.float32)
        row_bytes = self.table.tensor.dtype.nbytes(width)
        rows = select_rows(partial(self.model.blocks, self.table), ids, row_bytes)
        return rows.reshape(batch, length, rows.shape[-1])


def _report(batch: _Batch, pad: _Pad, *, one_hot: bool, notes: Sequence[str]) -> LookupReport:
    from embcalc.rows.exact import exact_norms

    table, vectors = batch.table, batch.vectors()
    flat = vectors.reshape(len(batch.ids), vectors.shape[-1])
    vocabulary = batch.model.vocabulary
    return LookupReport(
        model=batch.model.address,
        tensor=table.name,
        dtype=str(table.tensor.dtype),
        rows=table.rows,
        width=table.width,
        tokenizer=None if vocabulary is None else vocabulary.file,
        sequences=batch.sequences,
        pad_id=pad.id,
        pad_source=pad.source,
        vectors=vectors,
        norms=exact_norms(flat.astype("f8"))[0].reshape(vectors.shape[:2]),
        one_hot=_one_hot(batch, flat) if one_hot else None,
        notes=tuple(notes),
    )


def _encode(model: Model, texts: list[str], notes: list[str], *, template: bool) -> list[_Input]:
    from embcalc.tokenizers.encode import USE_IDS, open_encoder

    if model.vocabulary is None:
        raise TokenizerError(f"text cannot be encoded: {model.absent}", USE_IDS)
    encoder = open_encoder(model.tokenizer_folder, model.vocabulary)
    if template and not encoder.has_template:
        notes.append(
            f"{encoder.file} does not say which ids frame a text: a model's own class may add some"
        )
    inputs = []
    for number, text in enumerate(texts):
        encoded = encoder.encode(text, template=template)
        source = f"--text, sequence {number} ({_shortened(text)})"
        inputs.append(_Input(text, encoded.ids, encoded.template, source))
        notes.extend(_text_notes(encoder, number, encoded.ids))
    return inputs


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _text_notes(encoder: Encoder, number: int, ids: tuple[int, ...]) -> list[str]:
    notes = []
    unknown = ids.count(encoder.unknown_id) if encoder.unknown_id is not None else 0
    if not ids:
        notes.append(f"sequence {number}: the text encodes to no token at all")
    if unknown:
        notes.append(
            f"sequence {number}: {unknown} of {len(ids)} tokens unknown to the vocabulary "
            f"(id {encoder.unknown_id})"
        )
    if encoder.truncation is not None and len(ids) > encoder.truncation:
        notes.append(
            f"sequence {number} has {len(ids)} tokens; {encoder.file} would cut it to "
            f"{encoder.truncation}"
        )
    return notes


def _given(
    model: Model, ids: Sequence[Sequence[int]], first: int, notes: list[str]
) -> list[_Input]:
    if model.vocabulary is None:
        notes.append(f"tokens have no names: {model.absent}")
    return [
        _Input(None, tuple(sequence), (False,) * len(sequence), f"--ids, sequence {number}")
        for number, sequence in enumerate(ids, start=first)
    ]


def _pad(model: Model, chosen: int | None) -> _Pad:
    """The pad id and who says so: the option, the tokenizer, then the config."""
    if chosen is not None:
        return _Pad(chosen, "--pad-id", chosen=True)
    from embcalc.tokenizers.padding import declared_pad

    found = declared_pad(model.tokenizer_folder, model.vocabulary)
    if found is not None:
        return _Pad(*found)
    for special in model.config.special_ids if model.config else ():
        if special.name == "pad_token_id" and special.ids and special.ids[0] >= 0:
            return _Pad(special.ids[0], special.source)
    return _Pad(None, None)


def _require_rows(inputs: list[_Input], pad: _Pad, rows: int) -> None:
    """Refuse ids without a row.

    Raises:
        UsageError: names the id, the rows and where the id came from.
    """
    for sequence in inputs:
        for position, token in enumerate(sequence.ids):
            if not 0 <= token < rows:
                raise _no_row(token, rows, f"{sequence.source}, position {position}")
    used = pad.chosen or len({len(sequence.ids) for sequence in inputs}) > 1
    if used and pad.id is not None and not 0 <= pad.id < rows:
        raise _no_row(pad.id, rows, "--pad-id" if pad.chosen else f"the pad id of {pad.source}")


def _no_row(token: int, rows: int, source: str) -> UsageError:
    if token < 0:
        hint = (
            "-100 marks labels that the loss ignores; it is no input"
            if token == -100
            else "ids count from 0; a negative one is an index error in torch"
        )
    else:
        hint = "torch raises 'index out of range in self' here; embcalc check-vocab finds the cause"
    return UsageError(f"id {token} has no row: the table has {rows:,} rows (from {source})", hint)


def _padded(
    model: Model, inputs: list[_Input], pad: _Pad, notes: list[str]
) -> tuple[LookupSequence, ...]:
    longest = max(len(sequence.ids) for sequence in inputs)
    short = any(len(sequence.ids) < longest for sequence in inputs)
    if short and pad.id is None:
        notes.append(
            "neither tokenizer nor config names a pad id: padding is filled with id 0 and marked; "
            "--pad-id chooses another"
        )
    filler = _token(model, pad.id or 0, padding=True)
    sequences = []
    for sequence in inputs:
        own = [
            _token(model, token, template=template)
            for token, template in zip(sequence.ids, sequence.template, strict=True)
        ]
        tokens = (*own, *(filler for _ in range(longest - len(own))))
        sequences.append(LookupSequence(text=sequence.text, tokens=tokens))
    return tuple(sequences)


def _token(
    model: Model, token: int, *, padding: bool = False, template: bool = False
) -> LookupToken:
    return LookupToken(
        id=token,
        text=model.text(token),
        shown=model.shown(token),
        padding=padding,
        template=template,
    )


def _one_hot(batch: _Batch, rows: NDArray[Any]) -> OneHot:
    from embcalc.rows.onehot import one_hot_difference

    ids, table = batch.ids, batch.table
    return OneHot(
        max_difference=one_hot_difference(partial(batch.model.blocks, table), ids, rows),
        one_hot_bytes=4 * len(ids) * table.rows,
        flops=2 * len(ids) * table.rows * table.width,
        lookup_bytes=table.tensor.dtype.nbytes(len(ids) * table.width),
    )
