"""What the stored values say about a file, from as few of them as will do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from embcalc.checkpoints.base import Checkpoint, RowBlock
from embcalc.checkpoints.messages import in_ranges
from embcalc.core.diagnosis import odd_magnitudes
from embcalc.core.findings import Problem, Severity
from embcalc.core.roles import role_of
from embcalc.core.tables import Role, TensorInfo
from embcalc.errors import CheckpointError

MOST_MATRICES = 4096
"""Matrices looked into, spread evenly over those that there are."""
HEAD_BYTES = 1 << 14
"""Bytes of a matrix that are read at first."""


def value_problems(
    checkpoint: Checkpoint, names: Iterable[str] | None = None, read: int = 0
) -> tuple[Problem, ...]:
    """Look into matrices for zeros that nobody meant, garbage and swapped bytes.

    The first rows of each are read; more only of those that begin with zeros.

    Args:
        checkpoint: opened.
        names: the tensors to look into; all floating-point matrices when left out. Matrices that
            are zero by design (fresh LoRA halves, types of a model that has one) are passed over.
        read: matrices that were read already; they count among those that were looked into.

    Raises:
        SourceError: a file cannot be read.
    """
    tensors = checkpoint.tensors
    wanted = _spread(
        [t for name in (tensors if names is None else names) if _fit(t := tensors[name])]
    )
    zeros: list[TensorInfo] = []
    odd: list[tuple[TensorInfo, str]] = []
    for tensor in wanted:
        try:
            head = _head(checkpoint, tensor)
            if head is None or (
                not _any(head) and not any(map(_any, checkpoint.blocks(tensor.name)))
            ):
                zeros.append(tensor)
            elif (what := odd_magnitudes(head.values, head.dtype)) is not None:
                odd.append((tensor, what))
        except CheckpointError:
            continue
    looked = len(wanted) + read
    return (*_zeros(zeros, looked), *_odd(odd, looked))


def strange_numbers(checkpoint: Checkpoint, name: str) -> str | None:
    """Say what is strange about the magnitudes of a tensor's first rows; None for nothing.

    Raises:
        CheckpointError: the values cannot be had.
        SourceError: the file cannot be read.
    """
    head = _head(checkpoint, checkpoint.tensors[name])
    return None if head is None else odd_magnitudes(head.values, head.dtype)


def _fit(tensor: TensorInfo) -> bool:
    return (
        len(tensor.shape) == 2
        and tensor.rows > 1
        and tensor.width > 0
        and tensor.dtype.is_weight
        and "lora_B" not in tensor.name
        and role_of(tensor.name) is not Role.TOKEN_TYPE
    )


def _spread(tensors: Sequence[TensorInfo]) -> Sequence[TensorInfo]:
    step = -(-len(tensors) // MOST_MATRICES) if tensors else 1
    return tensors[::step]


def _head(checkpoint: Checkpoint, tensor: TensorInfo) -> RowBlock | None:
    row_bytes = max(1, tensor.width * tensor.dtype.bits // 8)
    rows = range(min(tensor.rows, max(1, HEAD_BYTES // row_bytes)))
    return next(iter(checkpoint.blocks(tensor.name, rows)), None)


def _any(block: RowBlock) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.any(block.values))


def _zeros(zeros: Sequence[TensorInfo], looked: int) -> Iterator[Problem]:
    """Word the matrices of zeros: one alone may have been initialised so."""
    if zeros:
        yield Problem(
            f"{len(zeros):,} of {looked:,} matrices hold nothing but zeros:"
            f" {in_ranges(tensor.name for tensor in zeros)}",
            hint="the download or the conversion lost them; get the file again"
            if len(zeros) > 1
            else "fine if it is initialised so; otherwise get the file again",
            file=zeros[0].file,
            severity=Severity.ERROR if len(zeros) > 1 else Severity.WARNING,
        )


def _odd(odd: Sequence[tuple[TensorInfo, str]], looked: int) -> Iterator[Problem]:
    if odd:
        first, what = odd[0]
        more = "" if len(odd) == 1 else f" ({len(odd):,} of {looked:,} matrices are like that)"
        yield Problem(
            f"{first.name}: {what}{more}",
            hint="the file was damaged or converted wrongly; get it again",
            file=first.file,
            severity=Severity.ERROR,
        )
