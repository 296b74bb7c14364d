"""The embedding layer that a configuration or a checkpoint describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from embcalc.core.config import ModelConfig
from embcalc.core.layer import Layer, Shape, TiedSource
from embcalc.core.memory import Table, full_table
from embcalc.core.role import Role
from embcalc.core.tables import EmbeddingTable, TensorInfo
from embcalc.core.tying import Tying, expects_head
from embcalc.errors import CheckpointError, ConfigError

SIDE_ROLES = (Role.POSITION, Role.TOKEN_TYPE, Role.PER_LAYER, Role.TOKEN_EXTRA)


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as a checkpoint stores it."""

    name: str
    role: Role
    dtype: str
    nbytes: int


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
    expected = expects_head(config.architectures, 0, 0)
    if expected is None:
        expected = not config.known_type or config.tied is not None
    if not expected:
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
    tied, tied_source, tied_from = _tying_of(tying, config)
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
        tied=tied,
        tied_source=tied_source,
        tied_from=tied_from,
        model_total=_total(tensors.values(), head if tied and head is not token else None),
        stored=tuple(
            Stored(table.name, table.role, str(table.tensor.dtype), table.tensor.nbytes)
            for table in listed
        ),
        notes=(*_rows_against_config(token, config), tying.reason),
    )


def _tying_of(
    tying: Tying, config: ModelConfig | None
) -> tuple[bool | None, TiedSource, str | None]:
    """The stored tensors' verdict, or what the config says where they leave it open."""
    if tying.verdict not in ("unknown", "no-head"):
        return tying.verdict in ("tied", "tied-stored-twice"), "checkpoint", tying.reason
    if config is None:
        return None, "assumed", None
    return config.tied, config.tied_source, config.tied_from


def _rows_against_config(token: EmbeddingTable, config: ModelConfig | None) -> Iterator[str]:
    design = config.design if config else None
    if design and design.token_rows is not None and not design.allows(token.rows):
        yield f"{token.name} has {token.rows:,} rows; the config says {design.token_rows:,}"


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
