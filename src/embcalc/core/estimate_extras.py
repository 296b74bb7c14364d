"""What a report holds only when it was asked for: growth, batches, ranks, budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from embcalc.core.budget import Budget, Situation, budget
from embcalc.core.growth import Addition, FineTuning, Growth, fine_tuning, growth
from embcalc.core.logits import Activations, Head, Step, activations, lookup_and_logits
from embcalc.core.memory import Table, Training, token_rows, with_rows
from embcalc.core.regimes import BY_NAME, Regime
from embcalc.core.reports.estimate import EstimateReport
from embcalc.core.request import EstimateRequest
from embcalc.core.role import Role
from embcalc.core.sharding import per_rank

HEAD_REGIME = BY_NAME["amp"]
"""Whose dtypes a batch is counted in when no regime was named: fp32 vectors, half logits."""


def with_extras(
    report: EstimateReport, trainings: Sequence[Training], request: EstimateRequest
) -> EstimateReport:
    """Fill in what the request asks for beyond parameters and memory."""
    tables, layout = report.tables, request.layout
    return replace(
        report,
        growth=_growth(tables, trainings, request),
        fine_tuning=_fine_tuning(tables, trainings, request),
        activations=_activations(tables, request),
        per_rank=per_rank(tables, trainings, layout, token_rows(tables)) if layout else None,
        budget=_budget(tables, trainings, request),
    )


def _addition(tables: Sequence[Table], request: EstimateRequest) -> Addition | None:
    if request.add_tokens is None and request.pad_to is None:
        return None
    return Addition(token_rows(tables), request.add_tokens or 0, request.pad_to)


def _growth(
    tables: Sequence[Table], trainings: Sequence[Training], request: EstimateRequest
) -> Growth | None:
    addition = _addition(tables, request)
    if addition is None:
        return None
    logits = None
    if request.batch is not None:
        regime = _reference(request)
        before, after = (
            lookup_and_logits(_step(some, request), regime)[1]
            for some in (tables, with_rows(tables, addition.new_rows))
        )
        logits = after - before
    return growth(tables, trainings, addition, logits)


def _fine_tuning(
    tables: Sequence[Table], trainings: Sequence[Training], request: EstimateRequest
) -> FineTuning | None:
    """With added tokens their rows in the grown table, else the rows that are to be trained."""
    addition = _addition(tables, request)
    if request.trainable_rows:
        rows = request.trainable_rows
    elif addition is not None and addition.tokens:
        rows = addition.tokens
    else:
        return None
    grown = with_rows(tables, addition.new_rows) if addition else tables
    return fine_tuning(grown, trainings, rows)


def _reference(request: EstimateRequest) -> Regime:
    return request.regimes[0] if request.precision else HEAD_REGIME


def _step(tables: Sequence[Table], request: EstimateRequest) -> Step:
    token = next(table for table in tables if table.role is Role.TOKEN)
    head = next((table for table in tables if table.role is Role.OUTPUT), None)
    batch = request.batch
    if batch is None:
        raise AssertionError("only called with a batch")
    return Step(
        batch=batch,
        rows=token.rows,
        width=token.width,
        head=Head(head.rows, head.width) if head else None,
        loss=request.loss_kind,
    )


def _activations(tables: Sequence[Table], request: EstimateRequest) -> Activations | None:
    if request.batch is None:
        return None
    return activations(_step(tables, request), request.regimes, _reference(request))


def _budget(
    tables: tuple[Table, ...], trainings: Sequence[Training], request: EstimateRequest
) -> Budget | None:
    if request.budget_bytes is None:
        return None
    addition = _addition(tables, request)
    grown = with_rows(tables, addition.new_rows) if addition else tables
    step = _step(grown, request) if request.batch else None
    situation = Situation(tables=grown, layout=request.layout, step=step)
    return budget(request.budget_bytes, situation, trainings)
