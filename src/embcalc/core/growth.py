"""What more tokens cost, padding included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embcalc.core.memory import Bytes, Table, Training, total_bytes, with_rows
from embcalc.core.role import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A vocabulary before and after."""

    old_rows: int
    requested_rows: int
    """Old rows and added tokens."""
    new_rows: int
    """The next multiple of --pad-to."""
    added_parameters: int
    added_bytes: Mapping[str, int]
    """More bytes while training, by regime."""
    total_bytes: Mapping[str, int]
    """Bytes while training afterwards, by regime."""
    added_logits_bytes: int | None
    """More bytes at the peak of the loss; None without a batch."""

    @property
    def padding_rows(self) -> int:
        """Rows that no token has."""
        return self.new_rows - self.requested_rows


def padded(rows: int, multiple: int) -> int:
    """The next multiple that is not below `rows`."""
    return -(-rows // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Addition:
    """Tokens to add to a table."""

    rows: int
    """Rows of the table now."""
    tokens: int
    pad_to: int | None
    """The rows become a multiple of it; None leaves them."""

    @property
    def new_rows(self) -> int:
        """Rows afterwards."""
        return padded(self.rows + self.tokens, self.pad_to or 1)


def growth(
    tables: Sequence[Table],
    trainings: Sequence[Training],
    addition: Addition,
    added_logits_bytes: int | None = None,
) -> Growth:
    """Compare a layer with itself after an addition.

    Args:
        tables: the layer as it is.
        trainings: one a regime.
        addition: what is added to the rows of the token table.
        added_logits_bytes: computed by the caller, who knows the batch.
    """
    after = with_rows(tables, addition.new_rows)
    before_bytes = {t.regime.name: total_bytes(tables, t) for t in trainings}
    after_bytes = {t.regime.name: total_bytes(after, t) for t in trainings}
    return Growth(
        old_rows=addition.rows,
        requested_rows=addition.rows + addition.tokens,
        new_rows=addition.new_rows,
        added_parameters=_parameters(after) - _parameters(tables),
        added_bytes={
            name: total.total - before_bytes[name].total for name, total in after_bytes.items()
        },
        total_bytes={name: total.total for name, total in after_bytes.items()},
        added_logits_bytes=added_logits_bytes,
    )


def _parameters(tables: Sequence[Table]) -> int:
    return sum(table.parameters for table in tables)


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Bytes by regime of the three ways to teach a model new tokens."""

    rows: int
    """Rows that the third way trains."""
    full: Mapping[str, int]
    """Tables trained whole."""
    modules_to_save: Mapping[str, int]
    """PEFT's `modules_to_save=["embed_tokens", "lm_head"]`."""
    trainable_rows: Mapping[str, int]
    """PEFT's `trainable_token_indices`: only the rows."""


def fine_tuning(tables: Sequence[Table], trainings: Sequence[Training], rows: int) -> FineTuning:
    """Compare training whole tables, copies of them, and `rows` rows of each."""
    whole = tuple(_trained(table, table.rows) for table in tables)
    partly = tuple(_trained(table, min(rows, table.rows)) for table in tables)
    return FineTuning(
        rows=rows,
        full={t.regime.name: total_bytes(whole, t).total for t in trainings},
        modules_to_save={t.regime.name: _modules_to_save(whole, t).total for t in trainings},
        trainable_rows={t.regime.name: total_bytes(partly, t).total for t in trainings},
    )


def _trained(table: Table, rows: int) -> Table:
    vocabulary = table.role in (Role.TOKEN, Role.OUTPUT)
    return Table(
        role=table.role,
        rows=table.rows,
        width=table.width,
        trainable_rows=rows if vocabulary else 0,
        shared=table.shared,
    )


def _modules_to_save(tables: Sequence[Table], training: Training) -> Bytes:
    """The frozen originals and a trained copy of each module: of a tied table two copies."""
    originals = Bytes(weights=sum(t.parameters for t in tables) * training.regime.weights)
    copies = [
        Table(role=t.role, rows=t.rows, width=t.width, trainable_rows=t.rows)
        for t in tables
        if t.trainable_rows
    ]
    return originals + total_bytes(copies, training)
