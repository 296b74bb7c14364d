"""What optimizers remember of a table, in bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BLOCK_8BIT = 256
"""Scalars that share one scale in bitsandbytes' 8-bit states."""
SMALLEST_8BIT = 4096
"""bitsandbytes keeps 32-bit states for tensors with fewer scalars (`min_8bit_size`)."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The trained part of a table, as an optimizer sees it."""

    rows: int
    width: int
    lookup: bool
    """An nn.Embedding; False for an output head with weights of its own."""

    @property
    def scalars(self) -> int:
        """Number of scalars."""
        return self.rows * self.width


@dataclass(frozen=True, slots=True)
class State:
    """Bytes that an optimizer keeps between steps; its step counter is left out."""

    exp_avg: int | None = None
    """First moment; None for optimizers without one."""
    exp_avg_sq: int | None = None
    """Second moment; None for optimizers without one."""
    other: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return (self.exp_avg or 0) + (self.exp_avg_sq or 0) + self.other


@dataclass(frozen=True, slots=True)
class Optimizer:
    """One optimizer and its rule."""

    name: str
    state: Callable[[Matrix, int], State]
    """`(matrix, bytes of a state scalar) -> State`."""
    foreach: bool = False
    """Whether torch's default implementation holds a copy of all parameters during a step."""
    note: str | None = None
    """What people are surprised by."""


def _adam(matrix: Matrix, scalar: int) -> State:
    return State(matrix.scalars * scalar, matrix.scalars * scalar)


def _amsgrad(matrix: Matrix, scalar: int) -> State:
    each = matrix.scalars * scalar
    return State(each, each, each)


def _momentum(matrix: Matrix, scalar: int) -> State:
    return State(other=matrix.scalars * scalar)


def _lion(matrix: Matrix, scalar: int) -> State:
    return State(exp_avg=matrix.scalars * scalar)


def _nothing(_matrix: Matrix, _scalar: int) -> State:
    return State()


def _adafactor(matrix: Matrix, scalar: int) -> State:
    """One mean a row and one a column."""
    return State(other=(matrix.rows + matrix.width) * scalar if matrix.scalars else 0)


def _adamw8bit(matrix: Matrix, _scalar: int) -> State:
    """32-bit states for a lookup table; for a head two bytes and two fp32 scales a block."""
    if matrix.lookup or matrix.scalars < SMALLEST_8BIT:
        return State(matrix.scalars * 4, matrix.scalars * 4)
    each = matrix.scalars + 4 * -(-matrix.scalars // BLOCK_8BIT)
    return State(each, each)


OPTIMIZERS: tuple[Optimizer, ...] = (
    Optimizer("adamw", _adam, foreach=True),
    Optimizer("adam", _adam, foreach=True),
    Optimizer("amsgrad", _amsgrad, foreach=True),
    Optimizer("sgd", _nothing),
    Optimizer("sgd-momentum", _momentum),
    Optimizer("lion", _lion),
    Optimizer(
        "muon",
        _adam,
        foreach=True,
        note="muon: tables and head are given AdamW, as its authors, torch and Megatron do; "
        "torch.optim.Muon on a table itself (muon-all) keeps one state. DeepSpeed goes by the "
        "names embed and lm_head: GPT-2's wte slips through to Muon",
    ),
    Optimizer("muon-all", _momentum),
    Optimizer("adagrad", _momentum),
    Optimizer("rmsprop", _momentum),
    Optimizer(
        "adafactor",
        _adafactor,
        note="adafactor: a state for each row and column, as in torch; with beta1, HF's adds a "
        "state for each parameter",
    ),
    Optimizer(
        "adamw8bit",
        _adamw8bit,
        note="adamw8bit: bitsandbytes keeps 32-bit states for embedding tables (StableEmbedding, "
        "HF Trainer) and for a head tied to one; only an untied head has 8-bit states",
    ),
    Optimizer(
        "sparse-adam",
        _adam,
        note="sparse-adam: only an untied token table has sparse gradients (sparse=True); the "
        "others are counted with AdamW, because SparseAdam refuses dense gradients",
    ),
    Optimizer("none", _nothing),
)
BY_NAME: dict[str, Optimizer] = {optimizer.name: optimizer for optimizer in OPTIMIZERS}
