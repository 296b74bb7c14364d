"""The embedding layer of a model that was named, wherever its sizes came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from embcalc.core.memory import Table, full_table
from embcalc.core.role import Role

if TYPE_CHECKING:
    from embcalc.core.layer_sources import Stored

Source = Literal["flags", "preset", "config", "checkpoint"]
TiedSource = Literal["flag", "config", "class-default", "checkpoint", "preset", "assumed"]
Shape = tuple[int, int]
"""Rows and width."""


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
