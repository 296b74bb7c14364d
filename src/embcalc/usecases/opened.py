"""A model opened for its rows: checkpoint, tables, config and vocabulary from one address."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from embcalc.checkpoints import Checkpoint, Wanted, open_checkpoint
from embcalc.core.blocks import RowBlock
from embcalc.core.config import ModelConfig, parse_config
from embcalc.core.display import token_text
from embcalc.core.files import Folder
from embcalc.core.findings import Problem, Severity
from embcalc.core.role import TOKEN_ROLES
from embcalc.core.roles import embedding_tables
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.tokenizer_facts import EmittedId
from embcalc.core.tying import expects_head, said_of_tying
from embcalc.core.vocabulary import Vocabulary
from embcalc.errors import (
    CheckpointError,
    ConfigError,
    SourceError,
    TokenizerError,
    UnreachableError,
)
from embcalc.sources.locate import locate
from embcalc.tokenizers import read_tokenizer
from embcalc.usecases.documents import read_object, require_tokenizer

if TYPE_CHECKING:
    from embcalc.rows.access import RowSource

MOST_WORKERS = 4
"""Threads that share a large table; more wait for memory."""
TABLES = Wanted()
"""All embedding tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What the commands about rows need of a model."""

    address: str
    checkpoint: Checkpoint
    config: ModelConfig | None
    """None where there is no config.json."""
    document: Mapping[str, Any]
    """config.json as it stands; empty where there is none."""
    config_absent: str | None = None
    """Why a config.json that is there gave no config."""
    wrong_values: tuple[Problem, ...] = ()
    """Values of the config that are of a wrong type; they count as unknown."""
    tables: tuple[EmbeddingTable, ...]
    local: bool
    """Whether the files lie on this machine, where reading in parallel costs no requests."""
    tokenizer_folder: Folder
    vocabulary: Vocabulary | None
    emitted: tuple[EmittedId, ...] = ()
    """Ids that encoding emits as the tokenizer's file says, padding among them."""
    tokenizer_broken: bool = False
    """Whether there is a tokenizer that cannot be read; `absent` says why."""
    absent: str | None = None
    """Why there is no vocabulary."""

    @property
    def workers(self) -> int:
        """Threads that may read a table together.

        One for a remote file, which is fetched in parallel pieces anyway, and for an archive that
        may be compressed, which is unpacked from its front for each reader.
        """
        if not self.local or any(name.endswith(".npz") for name in self.checkpoint.files):
            return 1
        return min(MOST_WORKERS, os.cpu_count() or 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the commands that can do without a config say about one that is broken."""
        wrong = tuple(problem.message for problem in self.wrong_values)
        absent = self.config_absent
        return wrong if absent is None else (f"{absent}; nothing of it was used",)

    @property
    def architectures(self) -> tuple[str, ...]:
        """Class names that the config gives."""
        names = self.document.get("architectures")
        return tuple(map(str, names)) if isinstance(names, list) else ()

    def table(self, role: Role) -> EmbeddingTable | None:
        """The first table of a role, or None where the checkpoint stores none."""
        return next((table for table in self.tables if table.role is role), None)

    @property
    def tied_said(self) -> bool | None:
        """Whether config or container say that the head is the token table; None for neither."""
        return said_of_tying(self.config, self.tables, self.checkpoint.format)

    @property
    def has_head(self) -> bool | None:
        """Whether logits are computed; None where nothing says so, or what says so is broken."""
        if self.config_absent is not None:
            return None
        tables, tensors = len(self.tables), len(self.checkpoint.tensors)
        return expects_head(self.architectures, tables, tensors, self.config)

    def token_table(self) -> EmbeddingTable:
        """The table that turns ids into vectors; the head where only that is stored.

        A table that was named is taken whatever its role.

        Raises:
            CheckpointError: the checkpoint has neither.
        """
        if self.tables and self.tables[0].recognised == "named":
            return self.tables[0]
        found = self.table(Role.TOKEN) or self.table(Role.OUTPUT)
        if found is None and not self.checkpoint.tensors:
            raise CheckpointError(
                f"{self.checkpoint.label} holds no tensors",
                hint="save the model again: whatever wrote this file lost it",
            )
        if found is None:
            names = ", ".join(list(self.checkpoint.tensors)[:4]) or "nothing"
            message = f"no embedding table found in {self.checkpoint.label}"
            for problem in self.checkpoint.problems:
                if problem.severity is Severity.ERROR:
                    raise CheckpointError(f"{message}: {problem.message}", hint=problem.hint)
            raise CheckpointError(message, hint=f"name one with --tensor; it holds {names}")
        return found

    def naming(self, table: EmbeddingTable) -> Model:
        """The model as one knows it by the rows of a table, which may belong to no tokens."""
        if self.vocabulary is None or table.role in TOKEN_ROLES:
            return self
        return replace(
            self, vocabulary=None, absent=f"the rows of {table.name} belong to no tokens"
        )

    def text(self, row: int) -> str | None:
        """The token of a row as the vocabulary stores it."""
        return None if self.vocabulary is None else self.vocabulary.text(row)

    def shown(self, row: int) -> str:
        """The token of a row as people read it; still to be made safe for output."""
        return "" if self.vocabulary is None else token_text(self.vocabulary, row) or ""

    @property
    def row_source(self) -> RowSource:
        """The checkpoint, in which all tables that can be read are stored as rows."""
        turned = [table for table in self.tables if table.transposed and self._turns(table)]
        if not turned:
            return self.checkpoint
        from embcalc.rows.transposed import TurnedRows

        return TurnedRows(self.checkpoint, turned)

    def require_rows(self, table: EmbeddingTable) -> None:
        """Refuse a table that is stored as columns and cannot be streamed as rows.

        Raises:
            CheckpointError: its scalars share bytes, or it lies elsewhere and is large.
        """
        if table.transposed and not self._turns(table):
            raise CheckpointError(
                f"{table.name} stores its vectors as columns, which cannot be streamed as rows",
                hint="download it first, or name another table with --tensor",
            )

    def _turns(self, table: EmbeddingTable) -> bool:
        from embcalc.rows.transposed import TILE_BYTES

        tensor = table.tensor
        return tensor.dtype.bits % 8 == 0 and (self.local or tensor.nbytes <= TILE_BYTES)

    def blocks(self, table: EmbeddingTable, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows of a table: all, or the contiguous `rows`.

        Raises:
            CheckpointError: the values cannot be had.
            SourceError: a file cannot be read.
        """
        if table.transposed:
            return self._columns(table, range(table.rows) if rows is None else rows)
        return self.checkpoint.blocks(table.name, rows)

    def _columns(self, table: EmbeddingTable, rows: range) -> Iterator[RowBlock]:
        from embcalc.rows.transposed import columns_as_rows

        self.require_rows(table)
        if not table.width:
            return iter(())
        column_bytes = table.tensor.dtype.nbytes(table.width)
        return columns_as_rows(partial(self.checkpoint.blocks, table.name), rows, column_bytes)


def open_model(
    address: str | PathLike[str],
    tokenizer: str | PathLike[str] | None = None,
    wanted: Wanted = TABLES,
    *,
    need_tokenizer: bool = True,
    need_config: bool = True,
) -> Model:
    """Open a model for reading rows.

    Args:
        address: a local path, a hub id or another address.
        tokenizer: address of the tokenizer; None takes the one beside the model, or in its file.
        wanted: the one table to take, by stored name, or all that are found; and whether the
            headers of remote shards without tables are read too.
        need_tokenizer: whether a tokenizer that cannot be read is an error; where not, `absent`
            says why there is none. One that is named is always needed.
        need_config: whether a config.json that cannot be read is an error; where not,
            `config_absent` says why there is none.

    Raises:
        SourceError: an address leads nowhere.
        CheckpointError, ConfigError, TokenizerError: a file is broken.
    """
    address = fspath(address)
    place = locate(address)
    words = place if tokenizer is None else locate(fspath(tokenizer))
    checkpoint = open_checkpoint(place.folder, place.file, wanted)
    wrong: list[Problem] = []
    document, config, config_absent = _config(place.folder, wrong, needed=need_config)
    file = _tokenizer_file(place.file) if tokenizer is None else words.file
    facts = read_tokenizer(words.folder, file)
    if tokenizer is not None:
        require_tokenizer(facts, fspath(tokenizer))
    if facts.vocabulary is None and facts.problems and (need_tokenizer or tokenizer is not None):
        raise TokenizerError(facts.problems[0].message, facts.problems[0].hint)
    return Model(
        address=address,
        checkpoint=checkpoint,
        config=config,
        document=document,
        config_absent=config_absent,
        wrong_values=tuple(wrong),
        tables=embedding_tables(
            checkpoint.tensors,
            vocab_size=config.vocab_size if config else None,
            model_type=config.model_type if config else None,
            named=wanted.named,
        ),
        local=_is_local(place.folder, checkpoint),
        tokenizer_folder=words.folder,
        vocabulary=facts.vocabulary,
        emitted=facts.emitted,
        absent=facts.problems[0].message if facts.problems else facts.absent,
        tokenizer_broken=facts.vocabulary is None and bool(facts.problems),
    )


def _is_local(folder: Folder, checkpoint: Checkpoint) -> bool:
    names = set(folder.names())
    return all(
        name in names and folder.open(name).local_path is not None for name in checkpoint.files
    )


def _tokenizer_file(file: str | None) -> str | None:
    """The file itself where it holds its own vocabulary."""
    return file if file is not None and file.endswith(".gguf") else None


def _config(
    folder: Folder, wrong: list[Problem], *, needed: bool
) -> tuple[Mapping[str, Any], ModelConfig | None, str | None]:
    """config.json, what it says, and why it says nothing."""
    try:
        document = read_object(folder, "config.json")
    except UnreachableError:
        raise
    except (ConfigError, SourceError) as error:
        if needed:
            raise
        return {}, None, error.message
    if document is None:
        return {}, None, None
    return document, parse_config(document, wrong=wrong), None
