"""The embedding layer of a model that was named, wherever its sizes came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from embcalc.core.config import ModelConfig
from embcalc.core.memory import Table, full_table
from embcalc.core.tables import EmbeddingTable, Role, TensorInfo
from embcalc.core.tying import Tying, expects_head
from embcalc.errors import CheckpointError, ConfigError, UsageError

Source = Literal["flags", "preset", "config", "checkpoint"]
TiedSource = Literal["flag", "config", "class-default", "checkpoint", "preset", "assumed"]
Shape = tuple[int, int]
"""Rows and width."""
SIDE_ROLES = (Role.POSITION, Role.TOKEN_TYPE, Role.PER_LAYER, Role.TOKEN_EXTRA)


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as a checkpoint stores it."""

    name: str
    role: Role
    dtype: str
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Tables of a model, before anybody decides what is trained."""

    name: str | None
    source: Source
    vocab_size: int
    hidden_size: int
    tokens: tuple[Shape, ...]
    """Token tables; a second one where the decoder has its own."""
    head: Shape | None
    """The output head; None for a model that computes no logits."""
    sides: tuple[Table, ...] = ()
    tied: bool | None
    """None where nothing says so."""
    tied_source: TiedSource
    tied_from: str | None = None
    """The key, the class or the tensors that say so."""
    model_total: int | None = None
    """All parameters of the model, where known."""
    stored: tuple[Stored, ...] = ()
    notes: tuple[str, ...] = ()

    def tables(self, *, tied: bool) -> tuple[Table, ...]:
        """All tables, trained whole, the head shared or with weights of its own."""
        tokens = tuple(full_table(Role.TOKEN, *shape) for shape in self.tokens)
        if self.head is None:
            return (*tokens, *self.sides)
        head = full_table(Role.OUTPUT, *self.head)
        return (*tokens, replace(head, shared=tied), *self.sides)


def layer_of_flags(vocab_size: int, hidden_size: int) -> Layer:
    """A table and a head of the sizes that the user gave."""
    shape = (vocab_size, hidden_size)
    return Layer(
        name=None,
        source="flags",
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        tokens=(shape,),
        head=shape,
        tied=None,
        tied_source="assumed",
    )


def layer_of_config(
    config: ModelConfig,
    name: str,
    vocab_size: int | None = None,
    hidden_size: int | None = None,
) -> Layer:
    """What a class makes of a configuration.

    Args:
        config: the parsed configuration.
        name: the model, as the user named it.
        vocab_size: for a configuration that has none.
        hidden_size: for a configuration that has none.

    Raises:
        ConfigError: a size is said nowhere.
    """
    rows = config.vocab_size or vocab_size
    width = config.hidden_size or hidden_size
    if rows is None or (config.vocab_size and config.design.token_rows is None):
        raise ConfigError(
            f"{name} has no vocabulary size{_because(config)}", hint="give it with --vocab-size"
        )
    if width is None:
        raise ConfigError(f"{name} has no hidden size", hint="give it with --hidden-size")
    token = (config.design.token_rows or rows, config.embedding_size or width)
    return Layer(
        name=name,
        source="config",
        vocab_size=rows,
        hidden_size=width,
        tokens=(token, *_decoder_table(config, token)),
        head=_head_of_config(config, token),
        sides=tuple(_sides_of_config(config)),
        tied=config.tied,
        tied_source=config.tied_source,
        tied_from=config.tied_from,
        notes=tuple(_config_notes(config)),
    )


def _because(config: ModelConfig) -> str:
    return f": {config.design.reason}" if config.design.reason else ""


def _decoder_table(config: ModelConfig, token: Shape) -> Iterator[Shape]:
    """The second table of models whose encoder and decoder do not share one."""
    if config.encoder_vocab_size and config.decoder_vocab_size:
        other = config.decoder_vocab_size
        if config.text_type != "marian" or other != token[0]:
            yield other, token[1]


def _head_of_config(config: ModelConfig, token: Shape) -> Shape | None:
    no_head = config.known_type and config.tied is None
    if no_head or expects_head(config.architectures, 0, 0) is False:
        return None
    return config.design.head_rows or token[0], config.head_width or token[1]


def _sides_of_config(config: ModelConfig) -> Iterator[Table]:
    for side in config.side_tables:
        yield full_table(side.role, side.rows, side.width)
    if config.design.extra_rows and config.embedding_size:
        yield full_table(Role.TOKEN_EXTRA, config.design.extra_rows, config.embedding_size)


def _config_notes(config: ModelConfig) -> Iterator[str]:
    if config.vocab_source:
        yield f"vocabulary size from {config.vocab_source}"
    if config.hidden_source and config.hidden_source.startswith("class default"):
        yield f"hidden size from {config.hidden_source}"
    if config.design.reason:
        yield config.design.reason
    if not config.known_type:
        yield "position tables are not counted: the class is unknown"
    if expects_head(config.architectures, 0, 0) is False:
        yield f"no output head: the class is {config.architectures[0]}"
    yield from config.notes


def layer_of_checkpoint(
    tables: Iterable[EmbeddingTable],
    tensors: Mapping[str, TensorInfo],
    tying: Tying,
    config: ModelConfig | None,
    name: str,
) -> Layer:
    """The tables that a checkpoint stores.

    Args:
        tables: as `embedding_tables` gives them.
        tensors: all tensors, for the total.
        tying: the verdict on these tables.
        config: beside the checkpoint, or None.
        name: the model, as the user named it.

    Raises:
        CheckpointError: neither a token table nor a head is stored.
    """
    listed = tuple(tables)
    token = _first(listed, Role.TOKEN) or _first(listed, Role.OUTPUT)
    if token is None:
        raise CheckpointError(
            f"no embedding table found in {name}",
            hint="give --vocab-size and --hidden-size instead",
        )
    head = _first(listed, Role.OUTPUT)
    tied = tying.verdict in ("tied", "tied-stored-twice")
    known = tying.verdict not in ("unknown", "no-head")
    stored_head = (head.rows, head.width) if head else None
    shape = (token.rows, token.width)
    return Layer(
        name=name,
        source="checkpoint",
        vocab_size=token.rows,
        hidden_size=(config.hidden_size if config else None) or token.width,
        tokens=(shape,),
        head=None if tying.verdict == "no-head" else stored_head or shape,
        sides=tuple(
            full_table(table.role, table.rows, table.width)
            for table in listed
            if table.role in SIDE_ROLES
        ),
        tied=tied if known else None,
        tied_source="checkpoint" if known else "assumed",
        tied_from=tying.reason,
        model_total=_total(tensors.values(), head if tied and head is not token else None),
        stored=tuple(
            Stored(table.name, table.role, str(table.tensor.dtype), table.tensor.nbytes)
            for table in listed
        ),
        notes=(*_rows_against_config(token, config), tying.reason),
    )


def _rows_against_config(token: EmbeddingTable, config: ModelConfig | None) -> Iterator[str]:
    expected = config.design.token_rows if config else None
    if expected is not None and expected != token.rows:
        yield f"{token.name} has {token.rows:,} rows; the config says {expected:,}"


def _first(tables: Iterable[EmbeddingTable], role: Role) -> EmbeddingTable | None:
    return next((table for table in tables if table.role is role), None)


def _total(tensors: Iterable[TensorInfo], redundant: EmbeddingTable | None) -> int:
    """Parameters of all tensors; one storage and one tied matrix count once."""
    total, seen = 0, set()
    for tensor in tensors:
        if tensor.storage is None or tensor.storage not in seen:
            seen.add(tensor.storage)
            total += tensor.parameters
    alone = redundant is not None and redundant.tensor.storage is None
    return total - redundant.tensor.parameters if alone and redundant else total


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Sizes and tying that the user states against the source."""

    vocab_size: int | None = None
    hidden_size: int | None = None
    tied: bool | None = None
    total_params: int | None = None


def overridden(layer: Layer, overrides: Overrides) -> Layer:
    """Let flags win, and say so.

    Raises:
        UsageError: `--tied` with a head of other width, or a total below the tables' own.
    """
    before = _own_parameters(layer)
    notes = list(layer.notes)
    if overrides.vocab_size not in (None, layer.vocab_size):
        notes.append(
            f"--vocab-size {overrides.vocab_size:,} replaces {layer.vocab_size:,} ({layer.source})"
        )
        layer = _with_vocabulary(layer, overrides.vocab_size or 0)
    if overrides.hidden_size not in (None, layer.hidden_size):
        notes.append(
            f"--hidden-size {overrides.hidden_size:,} replaces {layer.hidden_size:,} "
            f"({layer.source}); the rest of the model is unknown at that width"
        )
        layer = _with_width(layer, overrides.hidden_size or 0)
    if overrides.tied is not None:
        notes.extend(_said_otherwise(layer, tied=overrides.tied))
        layer = _with_tying(layer, tied=overrides.tied)
    if layer.model_total is not None:
        layer = replace(layer, model_total=layer.model_total + _own_parameters(layer) - before)
    if overrides.total_params is not None:
        layer = replace(layer, model_total=_checked_total(layer, overrides.total_params))
    return replace(layer, notes=tuple(notes))


def _said_otherwise(layer: Layer, *, tied: bool) -> Iterator[str]:
    if layer.tied is not None and layer.tied is not tied:
        said = "tied" if tied else "untied"
        yield f"--{said} replaces {'tied' if layer.tied else 'untied'} ({layer.source})"


def _own_parameters(layer: Layer) -> int:
    return sum(table.parameters for table in layer.tables(tied=bool(layer.tied)))


def _with_vocabulary(layer: Layer, rows: int) -> Layer:
    return replace(
        layer,
        vocab_size=rows,
        tokens=tuple((rows, width) for _, width in layer.tokens),
        head=(rows, layer.head[1]) if layer.head else None,
    )


def _with_width(layer: Layer, width: int) -> Layer:
    return replace(
        layer,
        hidden_size=width,
        tokens=tuple((rows, width) for rows, _ in layer.tokens),
        head=(layer.head[0], width) if layer.head else None,
        sides=tuple(
            table if table.role is Role.PER_LAYER else full_table(table.role, table.rows, width)
            for table in layer.sides
        ),
        model_total=None,
    )


def _with_tying(layer: Layer, *, tied: bool) -> Layer:
    token = layer.tokens[-1]
    head = layer.head or token
    if tied and head[1] != token[1]:
        raise UsageError(
            f"--tied: the head is {head[1]:,} wide and the token table {token[1]:,}",
            hint="matrices of different widths cannot be one; use --untied",
        )
    return replace(layer, head=head, tied=tied, tied_source="flag", tied_from="the command line")


def _checked_total(layer: Layer, total: int) -> int:
    own = _own_parameters(layer)
    if total < own:
        raise UsageError(
            f"--total-params {total:,} is less than the {own:,} of the tables alone",
            hint="it counts all parameters of the model, embedding layer included",
        )
    return total
