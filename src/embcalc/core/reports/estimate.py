"""What `embcalc estimate` found out, for every renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

# Fields of a dataclass are not evaluated: a report without a batch loads nothing about batches.
if TYPE_CHECKING:
    from embcalc.core.budget import Budget
    from embcalc.core.formulas import Explanation
    from embcalc.core.growth import FineTuning, Growth
    from embcalc.core.layer import Source, TiedSource
    from embcalc.core.layer_sources import Stored
    from embcalc.core.logits import Activations
    from embcalc.core.memory import Bytes, Table, Transients
    from embcalc.core.regimes import Regime
    from embcalc.core.sharding import PerRank


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """The model that was meant."""

    name: str | None
    source: Source
    vocab_size: int
    hidden_size: int
    tied: bool
    tied_source: TiedSource
    tied_from: str | None
    """Key, class, tensors or flag that says so; None where it is assumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCounts:
    """Scalars of the embedding layer."""

    total: int
    """Of all tables, a tied one once."""
    trainable: int
    saved_by_tying: int
    """What a head of its own would have added; 0 for an untied model."""
    model_total: int | None
    share_of_model: float | None
    """Token table and head against the whole model, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """One regime with one optimizer."""

    regime: Regime
    optimizer: str
    bytes: Bytes
    """All tables together."""
    tables: tuple[Bytes, ...]
    """Each table of the report, a shared head with nothing."""
    transients: Transients
    bytes_per_parameter: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateReport:
    """The whole answer."""

    model: ModelFacts
    tables: tuple[Table, ...]
    stored: tuple[Stored, ...]
    """The tables as the checkpoint stores them; empty without a checkpoint."""
    parameters: ParameterCounts
    memory: tuple[MemoryRow, ...]
    growth: Growth | None
    fine_tuning: FineTuning | None
    activations: Activations | None
    per_rank: PerRank | None
    budget: Budget | None
    explanations: tuple[Explanation, ...]
    """Empty unless they were asked for."""
    assumptions: tuple[str, ...]
    alternative: EstimateReport | None = None
    """The tied twin of a report whose tying is only assumed."""

    @property
    def over_budget(self) -> bool:
        """Whether the command should fail."""
        return self.budget is not None and self.budget.exceeded
