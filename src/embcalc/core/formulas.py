"""The formulas behind the numbers, as `--explain` prints them and docs/formulas.md holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from embcalc.core.logits import Activations, Loss
from embcalc.core.memory import VOCABULARY_ROLES, Table
from embcalc.core.reports.estimate import EstimateReport, MemoryRow
from embcalc.core.role import Role
from embcalc.core.sharding import PerRank

MEASURED = "measured: bytes of every torch 2.13 tensor after one training step"
DEFINITION = "torch.nn.Embedding, torch.nn.Linear: one scalar a cell"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One number with the formula behind it."""

    name: str
    formula: str
    filled: str
    """The formula with its numbers, and the result."""
    source: str


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in words and symbols, and where it comes from."""

    name: str
    text: str
    source: str

    def filled(self, numbers: str, name: str | None = None) -> Explanation:
        """The formula with its numbers."""
        return Explanation(name or self.name, self.text, numbers, self.source)


TABLE = Formula("parameters of a table", "rows x width", DEFINITION)
TIED = Formula("parameters of a tied head", "0: it is the token table", DEFINITION)
SHARE = Formula(
    "share of the model", "(token tables + head) / all parameters", "config and class of the model"
)
TOTAL = Formula(
    "memory between steps",
    "P x weights + T x (gradients + master) + optimizer state; P stored, T trained parameters",
    MEASURED,
)
GROWTH = Formula(
    "rows after growth",
    "ceil((rows + tokens) / multiple) x multiple",
    "transformers resize_token_embeddings(pad_to_multiple_of)",
)
IDS = Formula("input ids", "B x T x 8", "torch int64")
LOOKUP = Formula("lookup output", "B x T x d x bytes of a weight", "torch.nn.functional.embedding")
LOGITS = Formula(
    "logits at their peak", "B x T x V x bytes a logit", "measured: causal LM loss, peak of a step"
)
CHUNKED = Formula(
    "logits at their peak",
    "chunk x V x bytes of a logit + V x d x bytes of a weight; "
    "chunk = next power of two of B x T / ceil(V / d)",
    "Liger kernel, fused linear cross-entropy",
)
ONE_HOT = Formula("one-hot instead of a lookup", "B x T x V x 4", "fp32 rows of V numbers")
ONE_HOT_FLOPS = Formula(
    "operations of the one-hot product", "2 x B x T x V x d", "a multiplication and an addition"
)
PADDING = Formula(
    "rows under tensor parallel",
    "ceil(rows / (divisor x tp)) x divisor x tp",
    "Megatron-LM, make-vocab-size-divisible-by",
)
ZERO = Formula(
    "bytes on a rank",
    "states and master / dp from stage 1, gradients / dp from stage 2, weights / dp from stage 3",
    "ZeRO (arXiv:1910.02054), FSDP",
)
BUDGET = Formula(
    "largest vocabulary",
    "the largest V whose layer, batch and padding still fit",
    "bisection over the formulas above",
)
FORMULAS = (
    TABLE,
    TIED,
    SHARE,
    TOTAL,
    GROWTH,
    IDS,
    LOOKUP,
    LOGITS,
    CHUNKED,
    ONE_HOT,
    ONE_HOT_FLOPS,
    PADDING,
    ZERO,
    BUDGET,
)


def explain(report: EstimateReport) -> Iterator[Explanation]:
    """Every number of a report with its formula filled in."""
    yield from _parameters(report)
    for row in report.memory:
        yield _memory(report, row)
    if report.growth:
        rows = report.growth
        yield GROWTH.filled(
            f"{rows.requested_rows:,} -> {rows.new_rows:,}, padding {rows.padding_rows:,}"
        )
    if report.activations:
        yield from _activations(report, report.activations)
    if report.per_rank:
        yield from _per_rank(report, report.per_rank)
    if report.budget:
        for name, largest in report.budget.largest_vocab_size.items():
            yield BUDGET.filled(f"{largest:,} rows within {report.budget.bytes:,}", f"{name}: rows")


def _parameters(report: EstimateReport) -> Iterator[Explanation]:
    for table in report.tables:
        yield _table(table)
    counts = report.parameters
    if counts.model_total and counts.share_of_model is not None:
        vocabulary = sum(t.parameters for t in report.tables if t.role in VOCABULARY_ROLES)
        yield SHARE.filled(f"{vocabulary:,} / {counts.model_total:,} = {counts.share_of_model:.4f}")


def _table(table: Table) -> Explanation:
    name = f"parameters: {table.role.value}"
    if table.shared:
        return TIED.filled("0", name)
    return TABLE.filled(f"{table.rows:,} x {table.width:,} = {table.parameters:,}", name)


def _memory(report: EstimateReport, row: MemoryRow) -> Explanation:
    stored, trained = report.parameters.total, report.parameters.trainable
    regime, size = row.regime, row.bytes
    gradients = f"{regime.gradients}"
    if size.gradients != trained * regime.gradients:
        gradients = f"{size.gradients:,} sparse"
    return TOTAL.filled(
        f"{stored:,} x {regime.weights} + {trained:,} x ({gradients} + {regime.master}) "
        f"+ {size.optimizer_state:,} = {size.total:,}",
        f"{regime.name} ({regime.meaning}), {row.optimizer}",
    )


def _activations(report: EstimateReport, batch: Activations) -> Iterator[Explanation]:
    b, t = batch.batch.size, batch.batch.length
    token = next(table for table in report.tables if table.role is Role.TOKEN)
    v, d = token.rows, token.width
    tokens = batch.batch.tokens
    yield IDS.filled(f"{b:,} x {t:,} x 8 = {batch.input_ids_bytes:,}")
    each = batch.lookup_output_bytes // (tokens * d)
    yield LOOKUP.filled(
        f"{b:,} x {t:,} x {d:,} x {each} = {batch.lookup_output_bytes:,}",
        f"lookup output, {batch.regime}",
    )
    if batch.loss is Loss.CHUNKED:
        yield CHUNKED.filled(f"{batch.logits_peak_bytes:,}", f"logits, chunked, {batch.regime}")
    elif batch.logits_peak_bytes:
        head = next(table for table in report.tables if table.role is Role.OUTPUT)
        logit = batch.logits_peak_bytes // (tokens * head.rows)
        yield LOGITS.filled(
            f"{b:,} x {t:,} x {head.rows:,} x {logit} = {batch.logits_peak_bytes:,}",
            f"logits, {batch.loss.value}, {batch.regime}",
        )
    yield ONE_HOT.filled(f"{b:,} x {t:,} x {v:,} x 4 = {batch.one_hot_bytes:,}")
    yield ONE_HOT_FLOPS.filled(f"2 x {b:,} x {t:,} x {v:,} x {d:,} = {batch.one_hot_flops:,}")


def _per_rank(report: EstimateReport, ranks: PerRank) -> Iterator[Explanation]:
    layout = ranks.layout
    if layout.tensor_parallel is not None:
        rows = next(table.rows for table in report.tables if table.role is Role.TOKEN)
        multiple = f"({layout.divisor} x {layout.tensor_parallel})"
        yield PADDING.filled(f"ceil({rows:,} / {multiple}) x {multiple} = {ranks.padded_rows:,}")
    for row in report.memory:
        name = row.regime.name
        yield ZERO.filled(
            f"stage {layout.zero_stage}, dp {layout.data_parallel:,}: {row.bytes.total:,} -> "
            f"{ranks.bytes[name]:,}",
            f"{name}: bytes on a rank",
        )
