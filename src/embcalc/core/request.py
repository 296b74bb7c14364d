"""What somebody asks of `estimate`, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embcalc.core.limits import LARGEST_COUNT, LARGEST_ROWS, LARGEST_WIDTH
from embcalc.core.optimizers import BY_NAME as OPTIMIZERS
from embcalc.core.optimizers import Optimizer
from embcalc.core.regimes import BY_NAME as REGIMES
from embcalc.core.regimes import Regime
from embcalc.core.role import Role
from embcalc.errors import UsageError

# Batches, layouts and budgets are loaded when one is asked for: start-up is counted in ms.
if TYPE_CHECKING:
    from embcalc.core.logits import Batch, Loss
    from embcalc.core.sharding import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRequest:
    """The options of `embcalc estimate`, under the names of its flags.

    Building one checks every number by itself; what depends on the model is checked later.

    Raises:
        UsageError: a value is out of range or not known, or two contradict each other.
    """

    vocab_size: int | None = None
    hidden_size: int | None = None
    tied: bool | None = None
    precision: tuple[str, ...] = ()
    """Regimes; empty means all."""
    optimizer: str = "adamw"
    frozen: bool = False
    freeze: tuple[str, ...] = ()
    """Roles of tables that are not trained."""
    trainable_rows: int | None = None
    add_tokens: int | None = None
    pad_to: int | None = None
    total_params: int | None = None
    batch_size: int | None = None
    seq_len: int | None = None
    loss: str | None = None
    zero_stage: int | None = None
    data_parallel: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    vocab_divisor: int | None = None
    budget: str | int | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        for name, least, most in _RANGES:
            _in_range(name, getattr(self, name), least, most)
        _check_pairs(self)
        for regime in self.precision:
            _known("precision", regime, REGIMES)
        for role in self.freeze:
            _known("freeze", role, [known.value for known in FREEZABLE])
        _known("optimizer", self.optimizer, OPTIMIZERS)
        if self.loss is not None:
            _known("loss", self.loss, LOSSES)
        if self.budget is not None:
            _in_range("budget", self.budget_bytes, 1, None)

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """The regimes asked for, each once, in the order of the table; all when none was."""
        wanted = set(self.precision) or set(REGIMES)
        return tuple(regime for name, regime in REGIMES.items() if name in wanted)

    @property
    def optimizer_rule(self) -> Optimizer:
        """The optimizer's rule."""
        return OPTIMIZERS[self.optimizer]

    @property
    def batch(self) -> Batch | None:
        """B and T, or None."""
        if self.batch_size is None or self.seq_len is None:
            return None
        from embcalc.core.logits import Batch

        return Batch(self.batch_size, self.seq_len)

    @property
    def loss_kind(self) -> Loss:
        """HF Trainer's unless said otherwise."""
        from embcalc.core.logits import Loss

        return Loss(self.loss or "trainer")

    @property
    def layout(self) -> Layout | None:
        """How the model is spread over ranks, or None for one device."""
        given = (
            self.zero_stage,
            self.data_parallel,
            self.tensor_parallel,
            self.pipeline_parallel,
        )
        if all(value is None for value in given):
            return None
        from embcalc.core.sharding import VOCABULARY_DIVISOR, Layout

        return Layout(
            zero_stage=self.zero_stage or 0,
            data_parallel=self.data_parallel or 1,
            tensor_parallel=self.tensor_parallel,
            pipeline_parallel=self.pipeline_parallel or 1,
            divisor=self.vocab_divisor or VOCABULARY_DIVISOR,
        )

    @property
    def budget_bytes(self) -> int | None:
        """The budget in bytes, or None."""
        if not isinstance(self.budget, str):
            return self.budget
        from embcalc.core.sizes import parse_size

        return parse_size(self.budget)

    @property
    def asks_for_more(self) -> bool:
        """Whether growth, a batch, ranks or a budget are asked for."""
        wanted = (self.add_tokens, self.pad_to, self.trainable_rows, self.batch_size, self.budget)
        return any(value is not None for value in wanted) or self.layout is not None

    @property
    def overrides(self) -> bool:
        """Whether sizes, tying or the total of a model may be replaced."""
        wanted = (self.vocab_size, self.hidden_size, self.tied, self.total_params)
        return any(value is not None for value in wanted)


LOSSES = ("trainer", "manual", "no-upcast", "chunked")
"""The values of `Loss`."""
FREEZABLE = (Role.TOKEN, Role.OUTPUT, Role.POSITION, Role.TOKEN_TYPE, Role.PER_LAYER)
_RANGES: tuple[tuple[str, int, int | None], ...] = (
    ("vocab_size", 1, LARGEST_ROWS),
    ("hidden_size", 1, LARGEST_WIDTH),
    ("trainable_rows", 0, LARGEST_ROWS),
    ("add_tokens", 0, LARGEST_ROWS),
    ("pad_to", 1, LARGEST_ROWS),
    ("total_params", 1, LARGEST_COUNT * 1024),
    ("batch_size", 1, LARGEST_COUNT),
    ("seq_len", 1, LARGEST_COUNT),
    ("zero_stage", 0, 3),
    ("data_parallel", 1, LARGEST_COUNT),
    ("tensor_parallel", 1, LARGEST_ROWS),
    ("pipeline_parallel", 1, LARGEST_ROWS),
    ("vocab_divisor", 1, LARGEST_ROWS),
)


def flag(name: str) -> str:
    """A field as the command line spells it."""
    return "--" + name.replace("_", "-")


def _in_range(name: str, value: object, least: int, most: int | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{flag(name)} takes a whole number, not {str(value)[:40]!r}")
    if value < least:
        raise UsageError(
            f"{flag(name)} must be at least {least:,}, not {_shown(value)}",
            hint=_ADVICE.get(name),
        )
    if most is not None and value > most:
        raise UsageError(
            f"{flag(name)} must be at most {most:,}, not {_shown(value)}", hint=_ADVICE.get(name)
        )


_ADVICE = {
    "vocab_size": "the number of rows of the embedding table, 150000 for example",
    "hidden_size": "the width of the embedding table, 2560 for example",
    "add_tokens": "for a smaller vocabulary give --vocab-size",
    "trainable_rows": "the number of rows to train, 5 for 5 added tokens",
    "pad_to": "64 or 128 are usual",
    "total_params": "all parameters of the model, 7000000000 for example",
    "batch_size": "sequences in a batch, 8 for example",
    "seq_len": "tokens in a sequence, 2048 for example",
    "data_parallel": "the number of ranks that hold a copy, 8 for example",
    "tensor_parallel": "the number of ranks that share the rows, 4 for example",
    "pipeline_parallel": "the number of stages, 2 for example",
    "vocab_divisor": "128 is Megatron-LM's",
    "zero_stage": "0 shards nothing, 1 states, 2 also gradients, 3 also weights",
}


def _shown(value: int) -> str:
    return f"{value:,}" if abs(value) < 10**24 else f"a number of {len(str(value)[:4000])} digits"


def _known(name: str, value: str, known: Iterable[str]) -> None:
    names = list(known)
    if value in names:
        return
    import difflib

    close = difflib.get_close_matches(value, names, n=2)
    raise UsageError(
        f"{flag(name)} {value[:40]!r} is not known",
        hint=f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(names)}",
    )


def _check_pairs(request: EstimateRequest) -> None:
    if (request.batch_size is None) != (request.seq_len is None):
        given, missing = ("batch_size", "seq_len")
        if request.batch_size is None:
            given, missing = missing, given
        raise UsageError(
            f"{flag(given)} needs {flag(missing)}",
            hint="a batch is B sequences of T tokens: --batch-size 8 --seq-len 2048",
        )
    if request.loss is not None and request.batch_size is None:
        raise UsageError(
            "--loss needs --batch-size and --seq-len",
            hint="the memory of the logits depends on the batch",
        )
    if request.frozen and request.trainable_rows:
        raise UsageError(
            "--frozen and --trainable-rows contradict each other",
            hint="--trainable-rows freezes the other rows by itself",
        )
    if request.vocab_divisor is not None and request.tensor_parallel is None:
        raise UsageError(
            "--vocab-divisor needs --tensor-parallel",
            hint="without tensor parallel, pad with --add-tokens 0 --pad-to N",
        )
