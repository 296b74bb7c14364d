"""Tables beside the token table: positions, token types, per-layer inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from embcalc.core.config_keys import Level

SideRole = Literal["position", "token_type", "per_layer"]


@dataclass(frozen=True, slots=True)
class SideTable:
    """A trained table that is looked up by something other than the token id, or per layer."""

    role: SideRole
    rows: int
    width: int
    source: str
    """The key or class default that its rows come from."""
    usable_rows: int | None = None
    """Positions that can be used, where fewer than the rows: RoBERTa's 514 rows hold 512."""


def side_tables(text: Level, model_type: str | None, hidden: int | None) -> Iterator[SideTable]:
    """The side tables of a text model."""
    yield from ()
