"""Regimes x optimizers x tables -> bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from embcalc.core.optimizers import Matrix, Optimizer
from embcalc.core.regimes import Regime
from embcalc.core.role import Role

VOCABULARY_ROLES = (Role.TOKEN, Role.OUTPUT)
"""Tables with a row for every token."""
INDEX_BYTES = 8
"""An id of a sparse gradient, int64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One matrix of the embedding layer, stored or still to be made."""

    role: Role
    rows: int
    width: int
    trainable_rows: int
    """Rows that are trained: all, none, or the first few in number (which ones does not matter)."""
    shared: bool = False
    """A tied head: the token table in its second role, without parameters of its own."""

    @property
    def parameters(self) -> int:
        """Scalars of its own."""
        return 0 if self.shared else self.rows * self.width

    @property
    def trainable_parameters(self) -> int:
        """Scalars of its own that are trained."""
        return 0 if self.shared else self.trainable_rows * self.width


def full_table(role: Role, rows: int, width: int) -> Table:
    """A table that is trained whole."""
    return Table(role=role, rows=rows, width=width, trainable_rows=rows)


@dataclass(frozen=True, slots=True)
class Bytes:
    """What one or several tables take while training, between steps."""

    weights: int = 0
    gradients: int = 0
    master_weights: int = 0
    exp_avg: int | None = None
    exp_avg_sq: int | None = None
    other_state: int = 0
    """State that is neither moment: a momentum buffer, Adafactor's rows and columns."""

    @property
    def optimizer_state(self) -> int:
        """All that the optimizer keeps, its step counter left out."""
        return (self.exp_avg or 0) + (self.exp_avg_sq or 0) + self.other_state

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.gradients + self.master_weights + self.optimizer_state

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(
            self.weights + other.weights,
            self.gradients + other.gradients,
            self.master_weights + other.master_weights,
            _sum(self.exp_avg, other.exp_avg),
            _sum(self.exp_avg_sq, other.exp_avg_sq),
            self.other_state + other.other_state,
        )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


@dataclass(frozen=True, slots=True)
class Transients:
    """Bytes that come on top for a moment of a step."""

    backward: int
    """Of a tied table: gradients of both uses before they are added, and autocast's copy."""
    optimizer_step: int
    """Copies that torch's foreach implementation holds."""

    @property
    def peak(self) -> int:
        """The larger of the two: they do not fall together."""
        return max(self.backward, self.optimizer_step)


@dataclass(frozen=True, slots=True)
class Training:
    """A way to train: regime, optimizer, and how many ids a step looks up."""

    regime: Regime
    optimizer: Optimizer
    lookups: int | None = None
    """B x T; None where unknown. Only sparse gradients depend on it."""


def table_bytes(table: Table, training: Training, *, tied: bool) -> Bytes:
    """Bytes of one table between two steps.

    Args:
        table: a shared head takes nothing.
        training: regime and optimizer.
        tied: whether the output head is this table; decides whether its gradient can be sparse.
    """
    regime = training.regime
    weights = table.parameters * regime.weights
    scalars = table.trainable_parameters
    if not scalars:
        return Bytes(weights, 0, 0, *_no_moments(training.optimizer))
    lookup = table.role is not Role.OUTPUT
    matrix = Matrix(table.trainable_rows, table.width, lookup)
    state = training.optimizer.state(matrix, regime.state)
    gradients = scalars * regime.gradients
    if training.optimizer.name == "sparse-adam" and table.role is Role.TOKEN and not tied:
        gradients = (training.lookups or 0) * (table.width * regime.gradients + INDEX_BYTES)
    return Bytes(
        weights, gradients, scalars * regime.master, state.exp_avg, state.exp_avg_sq, state.other
    )


def _no_moments(optimizer: Optimizer) -> tuple[int | None, int | None]:
    """Zeros for an optimizer that has the moments, None for one that has not."""
    state = optimizer.state(Matrix(1, 1, lookup=True), 4)
    return (
        None if state.exp_avg is None else 0,
        None if state.exp_avg_sq is None else 0,
    )


def total_bytes(tables: Iterable[Table], training: Training) -> Bytes:
    """Bytes of several tables together, each stored matrix once."""
    tables = tuple(tables)
    tied = is_tied(tables)
    total = Bytes()
    for table in tables:
        if not table.shared:
            total += table_bytes(table, training, tied=tied)
    return total


def is_tied(tables: Iterable[Table]) -> bool:
    """Whether the output head is a token table."""
    return any(table.shared for table in tables)


def transients(tables: Iterable[Table], training: Training) -> Transients:
    """What a step needs for a moment on top of `total_bytes`.

    A tied table's two gradients exist side by side before they are added (two further tables;
    one under autocast). Autocast holds a 2-byte copy of the head. torch's foreach optimizers
    hold one copy of everything they train.
    """
    tables = tuple(tables)
    regime = training.regime
    tied = is_tied(tables)
    backward = 0
    for table in tables:
        if table.role is Role.TOKEN and tied and table.trainable_rows:
            copies = 1 if regime.cast else 2
            backward += copies * table.trainable_parameters * min(regime.gradients, 4)
        if table.role is Role.OUTPUT:
            backward += table.rows * table.width * regime.cast
    stepped = regime.master or regime.weights
    trained = sum(table.trainable_parameters for table in tables)
    return Transients(backward, trained * stepped if training.optimizer.foreach else 0)


def with_rows(tables: Iterable[Table], rows: int) -> tuple[Table, ...]:
    """The same layer with another vocabulary: its first token table gets `rows` rows.

    Other token tables and heads change by the same number. Tables that are trained whole or not
    at all stay so; a number of trained rows stays.
    """
    tables = tuple(tables)
    delta = rows - token_rows(tables)
    return tuple(
        _resized(table, max(1, table.rows + delta)) if table.role in VOCABULARY_ROLES else table
        for table in tables
    )


def token_rows(tables: Iterable[Table]) -> int:
    """Rows of the first token table."""
    return next(table.rows for table in tables if table.role is Role.TOKEN)


def _resized(table: Table, rows: int) -> Table:
    whole = table.trainable_rows == table.rows
    trained = rows if whole else min(table.trainable_rows, rows)
    return replace(table, rows=rows, trainable_rows=trained)
