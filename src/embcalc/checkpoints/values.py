"""What the stored values say about a file, from as few of them as will do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from embcalc.checkpoints.base import Checkpoint
from embcalc.checkpoints.messages import listed
from embcalc.core.diagnosis import odd_magnitudes
from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError


def value_problems(checkpoint: Checkpoint, names: Iterable[str] | None = None) -> Iterator[Problem]:
    """Look into matrices for zeros that nobody meant, garbage and swapped bytes.

    One block of each is read; more only of those that begin with zeros.

    Args:
        checkpoint: opened.
        names: the tensors to look into; all floating-point matrices when left out.

    Raises:
        SourceError: a file cannot be read.
    """
    tensors = checkpoint.tensors
    wanted = [
        tensor
        for name in (tensors if names is None else names)
        if len((tensor := tensors[name]).shape) == 2
        and tensor.scalars
        and tensor.dtype.is_weight
        and "lora_B" not in name
    ]
    zeros = []
    for tensor in wanted:
        try:
            if _all_zero(checkpoint, tensor):
                zeros.append(tensor.name)
                continue
            yield from _garbage(checkpoint, tensor)
        except CheckpointError:
            continue
    if zeros:
        yield Problem(
            f"{len(zeros):,} of {len(wanted):,} matrices hold nothing but zeros: {listed(zeros)}",
            hint="the download or the conversion lost them; get the file again",
            file=tensors[zeros[0]].file,
            severity=Severity.ERROR,
        )


def _all_zero(checkpoint: Checkpoint, tensor: TensorInfo) -> bool:
    with np.errstate(invalid="ignore"):
        return not any(np.any(block.values) for block in checkpoint.blocks(tensor.name))


def _garbage(checkpoint: Checkpoint, tensor: TensorInfo) -> Iterator[Problem]:
    block = next(iter(checkpoint.blocks(tensor.name)))
    what = odd_magnitudes(block.values, block.dtype)
    if what is not None:
        yield Problem(
            f"{tensor.name}: {what}",
            hint="the file was damaged or converted wrongly; get it again",
            file=tensor.file,
            severity=Severity.ERROR,
        )
