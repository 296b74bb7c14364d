"""The embedding layer of a model that was named, wherever its sizes came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from embcalc.core.memory import Table, full_table
from embcalc.core.role import Role
from embcalc.errors import UsageError

Source = Literal["flags", "preset", "config", "checkpoint"]
TiedSource = Literal["flag", "config", "class-default", "checkpoint", "preset", "assumed"]
Shape = tuple[int, int]
"""Rows and width."""


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
