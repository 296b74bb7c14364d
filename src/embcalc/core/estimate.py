"""A layer and a request -> the report. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from embcalc.core.layer import Layer
from embcalc.core.memory import (
    VOCABULARY_ROLES,
    Bytes,
    Table,
    Training,
    is_tied,
    table_bytes,
    token_rows,
    total_bytes,
    transients,
)
from embcalc.core.reports.estimate import EstimateReport, MemoryRow, ModelFacts, ParameterCounts
from embcalc.core.request import EstimateRequest
from embcalc.core.role import Role
from embcalc.errors import UsageError


def estimate_layer(layer: Layer, request: EstimateRequest) -> EstimateReport:
    """Answer a request about a layer.

    A layer of which nobody says whether it is tied counts as untied; the report then carries its
    tied twin as `alternative`.

    Raises:
        UsageError: the request does not fit the layer.
    """
    if layer.tied is not None or layer.head is None:
        return _report(layer, request, tied=bool(layer.tied))
    untied = _report(layer, request, tied=False)
    if layer.head[1] != layer.tokens[-1][1]:
        return untied
    return replace(untied, alternative=_report(layer, request, tied=True))


def _report(layer: Layer, request: EstimateRequest, *, tied: bool) -> EstimateReport:
    tables = _trained(layer.tables(tied=tied), request)
    trainings = _trainings(request)
    report = EstimateReport(
        model=_facts(layer, tied=tied),
        tables=tables,
        stored=layer.stored,
        parameters=_parameters(layer, tables),
        memory=tuple(_memory(tables, training) for training in trainings),
        growth=None,
        fine_tuning=None,
        activations=None,
        per_rank=None,
        budget=None,
        explanations=(),
        assumptions=tuple(_assumptions(layer, tables, request)),
    )
    if request.asks_for_more:
        from embcalc.core.estimate_extras import with_extras

        report = with_extras(report, trainings, request)
    if request.explain:
        from embcalc.core.formulas import explain

        report = replace(report, explanations=tuple(explain(report)))
    return report


def _facts(layer: Layer, *, tied: bool) -> ModelFacts:
    return ModelFacts(
        name=layer.name,
        source=layer.source,
        vocab_size=layer.vocab_size,
        hidden_size=layer.hidden_size,
        tied=tied,
        tied_source=layer.tied_source,
        tied_from=layer.tied_from,
    )


def _trained(tables: Sequence[Table], request: EstimateRequest) -> tuple[Table, ...]:
    _require_freezable(tables, request.freeze)
    rows = request.trainable_rows
    if rows is not None and rows > token_rows(tables):
        raise UsageError(
            f"--trainable-rows {rows:,} is more than the {token_rows(tables):,} rows of the table",
            hint="leave it out to train them all",
        )
    return tuple(
        replace(table, trainable_rows=_trained_rows(table, request, tied=is_tied(tables)))
        for table in tables
    )


def _require_freezable(tables: Sequence[Table], freeze: Sequence[str]) -> None:
    present = {table.role.value for table in tables}
    for role in freeze:
        if role not in present:
            raise UsageError(
                f"--freeze {role}: the model has no such table",
                hint=f"it has {', '.join(sorted(present))}",
            )


def _trained_rows(table: Table, request: EstimateRequest, *, tied: bool) -> int:
    frozen = request.frozen or table.role.value in request.freeze
    if tied and table.role is Role.OUTPUT and table.shared:
        frozen = frozen or Role.TOKEN.value in request.freeze
    if frozen:
        return 0
    if request.trainable_rows is None:
        return table.rows
    return min(request.trainable_rows, table.rows) if table.role in VOCABULARY_ROLES else 0


def _trainings(request: EstimateRequest) -> tuple[Training, ...]:
    lookups = request.batch.tokens if request.batch else None
    return tuple(Training(regime, request.optimizer_rule, lookups) for regime in request.regimes)


def _parameters(layer: Layer, tables: Sequence[Table]) -> ParameterCounts:
    vocabulary = sum(table.parameters for table in tables if table.role in VOCABULARY_ROLES)
    total = layer.model_total
    return ParameterCounts(
        total=sum(table.parameters for table in tables),
        trainable=sum(table.trainable_parameters for table in tables),
        saved_by_tying=sum(table.rows * table.width for table in tables if table.shared),
        model_total=total,
        share_of_model=vocabulary / total if total else None,
    )


def _memory(tables: Sequence[Table], training: Training) -> MemoryRow:
    total = total_bytes(tables, training)
    parameters = sum(table.parameters for table in tables)
    tied = is_tied(tables)
    return MemoryRow(
        regime=training.regime,
        optimizer=training.optimizer.name,
        bytes=total,
        tables=tuple(
            Bytes() if table.shared else table_bytes(table, training, tied=tied) for table in tables
        ),
        transients=transients(tables, training),
        bytes_per_parameter=total.total / parameters,
    )


def _assumptions(layer: Layer, tables: Sequence[Table], request: EstimateRequest) -> Iterator[str]:
    yield from layer.notes
    if layer.tied is None and layer.head is not None:
        why = f": {layer.tied_from}" if layer.tied_from else ""
        yield f"tied or untied is not known{why}; untied is assumed where one answer is needed"
    note = request.optimizer_rule.note
    if note:
        yield note
    if request.optimizer == "sparse-adam" and not is_tied(tables):
        yield from _sparse_notes(tables, request)
    if request.trainable_rows:
        yield (
            f"{request.trainable_rows:,} rows of each token table and head are trained; PEFT "
            "keeps two copies of them beside the table, which are not counted"
        )
    yield from _rank_notes(request)
    if request.budget is not None and request.batch and request.layout:
        yield "the budget counts the whole batch on the fullest rank: logits are not sharded"
    if any(table.role is Role.TOKEN_EXTRA for table in tables):
        yield "the second token table does not grow with the vocabulary"


def _rank_notes(request: EstimateRequest) -> Iterator[str]:
    if not request.zero_stage and (request.data_parallel or 1) > 1:
        yield "ZeRO is off (--zero-stage): every data-parallel rank holds all of it"
    if request.zero_stage and request.data_parallel is None:
        yield "--data-parallel is not given: one rank, so ZeRO shards nothing"


def _sparse_notes(tables: Sequence[Table], request: EstimateRequest) -> Iterator[str]:
    width = next(table.width for table in tables if table.role is Role.TOKEN)
    each = ", ".join(f"{r.name} {width * r.gradients + 8:,}" for r in request.regimes[:2])
    if request.batch is None:
        yield f"the token table's sparse gradient comes on top: bytes a looked-up id: {each}"
    else:
        yield f"the token table's sparse gradient has {request.batch.tokens:,} rows, one a token"
