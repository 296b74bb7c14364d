"""Two checkpoints: which rows of their tables differ, and how their tokenizers do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from os import PathLike

from embcalc.checkpoints import Wanted
from embcalc.core.progress import Progress, silent
from embcalc.core.reports.diff import DiffReport, MovedToken, TableDiff, VocabularyDiff
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.tying import verdict
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import CheckpointError, MissingExtraError, UsageError
from embcalc.usecases.opened import Model, open_model

FIRST_ROWS = 16
"""Rows that are compared before all the others of a head and its table."""


def diff(  # noqa: PLR0913 - the options of a command
    a: str | PathLike[str],
    b: str | PathLike[str],
    *,
    top: int = 10,
    tensor: str | None = None,
    tokenizer_a: str | PathLike[str] | None = None,
    tokenizer_b: str | PathLike[str] | None = None,
    progress: Progress = silent,
) -> DiffReport:
    """Compare the embedding tables and the tokenizers of two checkpoints.

    Each pair of tables is read once, side by side; formats, dtypes and row counts may differ.
    Values of different dtypes are rounded to the coarser one first.

    Args:
        a: the older model: a local path, a hub id or another address.
        b: the newer one.
        top: how many of the most changed rows to list.
        tensor: stored name of the one table to compare.
        tokenizer_a: address of A's tokenizer; None takes the one beside it.
        tokenizer_b: the same for B.
        progress: told about bytes read.

    Raises:
        UsageError: `top` is negative.
        CheckpointError: one of them has no table.
        SourceError, ConfigError, TokenizerError: a file cannot be read.
    """
    if top < 0:
        raise UsageError(f"--top {top} is below 0", "give the number of rows to list")
    left, right = _opened("A", a, tokenizer_a, tensor), _opened("B", b, tokenizer_b, tensor)
    return _compared(left, right, top, progress)


def _opened(
    side: str,
    address: str | PathLike[str],
    tokenizer: str | PathLike[str] | None,
    tensor: str | None,
) -> Model:
    try:
        return open_model(
            address, tokenizer, Wanted(tensor), need_tokenizer=False, need_config=False
        )
    except CheckpointError as error:
        if tensor is None:
            raise
        raise CheckpointError(f"{side}: {error.message}", error.hint) from error


def _compared(a: Model, b: Model, top: int, progress: Progress) -> DiffReport:
    from embcalc.usecases.diff_table import Side, diff_table

    pairs, only_a, only_b = _paired(a, b)
    if not pairs:
        raise CheckpointError(
            f"{a.address} and {b.address} have no embedding table in common",
            "embcalc inspect shows what each of them holds; --tensor names a table",
        )
    tables = [diff_table(Side(a, x), Side(b, y), top, progress) for x, y in pairs]
    vocabularies = _vocabularies(a.vocabulary, b.vocabulary)
    return DiffReport(
        model_a=a.address,
        model_b=b.address,
        tying_a=_tying(a),
        tying_b=_tying(b),
        tables=tuple(tables),
        only_a=tuple(table.name for table in only_a),
        only_b=tuple(table.name for table in only_b),
        vocabularies=vocabularies,
        notes=tuple(_notes(tables, a, b, vocabularies)),
    )


Tables = list[EmbeddingTable]


def _paired(
    a: Model, b: Model
) -> tuple[list[tuple[EmbeddingTable, EmbeddingTable]], Tables, Tables]:
    """Match tables by role and name, then by role and order."""
    pairs = []
    left, right = list(a.tables), list(b.tables)
    for same in (_same_name, _same_role):
        for table in list(left):
            other = next((item for item in right if same(table, item)), None)
            if other is not None:
                pairs.append((table, other))
                left.remove(table)
                right.remove(other)
    order = {table.name: index for index, table in enumerate(a.tables)}
    return sorted(pairs, key=lambda pair: order[pair[0].name]), left, right


def _same_name(a: EmbeddingTable, b: EmbeddingTable) -> bool:
    return a.role is b.role and a.name == b.name


def _same_role(a: EmbeddingTable, b: EmbeddingTable) -> bool:
    return a.role is b.role


def _tying(model: Model) -> str:
    equal = partial(_same_values, model)
    return verdict(model.tied_said, model.tables, equal, has_head=model.has_head).verdict


def _same_values(model: Model) -> bool | None:
    """Whether head and token table hold the same bits; None where their values cannot be had.

    Tables that differ do so in their first rows, as a rule, and nothing more is read.
    """
    from embcalc.rows.diff import same_values

    token, head = model.table(Role.TOKEN), model.table(Role.OUTPUT)
    if token is None or head is None:
        return None
    first = range(min(FIRST_ROWS, token.rows, head.rows))
    try:
        return same_values(model.blocks(token, first), model.blocks(head, first)) and same_values(
            model.blocks(token), model.blocks(head)
        )
    except (CheckpointError, MissingExtraError):
        return None


def _vocabularies(a: Vocabulary | None, b: Vocabulary | None) -> VocabularyDiff | None:
    if a is None or b is None:
        return None
    ids_a = {text: token for token, text in a.texts.items()}
    ids_b = {text: token for token, text in b.texts.items()}
    moved = [
        MovedToken(text=text, id_a=token, id_b=ids_b[text])
        for text, token in ids_a.items()
        if ids_b.get(text, token) != token
    ]
    return VocabularyDiff(
        file_a=a.file,
        file_b=b.file,
        size_a=a.size,
        size_b=b.size,
        moved=tuple(sorted(moved, key=lambda token: token.id_a)),
        added=tuple(sorted((token, text) for text, token in ids_b.items() if text not in ids_a)),
        removed=tuple(sorted((token, text) for text, token in ids_a.items() if text not in ids_b)),
    )


def _notes(
    tables: list[TableDiff], a: Model, b: Model, vocabularies: VocabularyDiff | None
) -> Iterator[str]:
    for name, model in (("A", a), ("B", b)):
        yield from (f"{name}: {note}" for note in model.notes)
    for table in tables:
        yield from _table_notes(table)
    if vocabularies is None:
        missing = [f"{name}: {m.absent}" for name, m in (("A", a), ("B", b)) if not m.vocabulary]
        yield f"tokenizers were not compared ({'; '.join(missing)})"
    elif vocabularies.moved:
        yield (
            f"{len(vocabularies.moved):,} tokens have other ids in B: rows were compared by "
            "number, so such a row belongs to another token"
        )


def _table_notes(table: TableDiff) -> Iterator[str]:
    if not table.comparable:
        yield (
            f"{table.tensor_a} has rows of {table.width_a:,} in A and {table.width_b:,} in B: "
            "their values cannot be compared"
        )
    elif table.dtype_a != table.dtype_b:
        yield (
            f"{table.tensor_a} is {table.dtype_a} in A and {table.dtype_b} in B: both were "
            f"compared as {table.compared_as}"
        )
