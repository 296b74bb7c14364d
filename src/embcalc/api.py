"""The commands as functions; each returns the frozen report that the command line renders."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TypedDict, Unpack

from embcalc.core.reports.estimate import EstimateReport


class EstimateOptions(TypedDict, total=False):
    """The flags of `embcalc estimate`, dashes as underscores."""

    vocab_size: int | None
    hidden_size: int | None
    tied: bool | None
    optimizer: str
    frozen: bool
    trainable_rows: int | None
    add_tokens: int | None
    pad_to: int | None
    total_params: int | None
    batch_size: int | None
    seq_len: int | None
    loss: str | None
    zero_stage: int | None
    data_parallel: int | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    vocab_divisor: int | None
    budget: str | int | None
    explain: bool


def estimate(
    model: str | PathLike[str] | None = None,
    *,
    precision: str | Sequence[str] = (),
    freeze: str | Sequence[str] = (),
    **options: Unpack[EstimateOptions],
) -> EstimateReport:
    """Count parameters and training memory of an embedding layer.

    Args:
        model: a preset's name, or an address of a config.json, a folder or a checkpoint; None
            needs `vocab_size` and `hidden_size`.
        precision: one regime or several (`"mixed"`); empty means all.
        freeze: one role of a table or several (`"position"`) that are not trained.
        **options: as the flags of `embcalc estimate`.

    Returns:
        The report. Where nothing says tied or untied it is the untied one, and its
        `alternative` the tied one.

    Raises:
        EmbcalcError: as the command line; `message` and `hint` say what to do.
    """
    from embcalc.core.request import EstimateRequest
    from embcalc.usecases.estimate import estimate as run

    request = EstimateRequest(precision=_several(precision), freeze=_several(freeze), **options)
    return run(None if model is None else fspath(model), request)


def _several(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
