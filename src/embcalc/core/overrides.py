"""Sizes and tying that the user states against a model's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from embcalc.core.layer import Layer
from embcalc.core.memory import full_table
from embcalc.core.request import EstimateRequest
from embcalc.core.role import Role
from embcalc.errors import UsageError


def overridden(layer: Layer, overrides: EstimateRequest) -> Layer:
    """Let flags win, and say so.

    Raises:
        UsageError: `--tied` with a head of other width, or a total below the tables' own.
    """
    before = _own_parameters(layer)
    notes = list(layer.notes)
    if overrides.vocab_size not in (None, layer.vocab_size):
        notes.append(
            f"--vocab-size {overrides.vocab_size:,} replaces {layer.vocab_size:,} ({layer.source})"
        )
        layer = _with_vocabulary(layer, overrides.vocab_size or 0)
    if overrides.hidden_size not in (None, layer.hidden_size):
        notes.append(
            f"--hidden-size {overrides.hidden_size:,} replaces {layer.hidden_size:,} "
            f"({layer.source}); the rest of the model is unknown at that width"
        )
        layer = _with_width(layer, overrides.hidden_size or 0)
    if overrides.tied is not None:
        notes.extend(_said_otherwise(layer, tied=overrides.tied))
        layer = _with_tying(layer, tied=overrides.tied)
    if layer.model_total is not None:
        layer = replace(layer, model_total=layer.model_total + _own_parameters(layer) - before)
    if overrides.total_params is not None:
        layer = replace(layer, model_total=_checked_total(layer, overrides.total_params))
    return replace(layer, notes=tuple(notes))


def _said_otherwise(layer: Layer, *, tied: bool) -> Iterator[str]:
    if layer.tied is not None and layer.tied is not tied:
        said = "tied" if tied else "untied"
        yield f"--{said} replaces {'tied' if layer.tied else 'untied'} ({layer.source})"


def _own_parameters(layer: Layer) -> int:
    return sum(table.parameters for table in layer.tables(tied=bool(layer.tied)))


def _with_vocabulary(layer: Layer, rows: int) -> Layer:
    return replace(
        layer,
        vocab_size=rows,
        tokens=tuple((rows, width) for _, width in layer.tokens),
        head=(rows, layer.head[1]) if layer.head else None,
    )


def _with_width(layer: Layer, width: int) -> Layer:
    return replace(
        layer,
        hidden_size=width,
        tokens=tuple((rows, width) for rows, _ in layer.tokens),
        head=(layer.head[0], width) if layer.head else None,
        sides=tuple(
            table if table.role is Role.PER_LAYER else full_table(table.role, table.rows, width)
            for table in layer.sides
        ),
        model_total=None,
    )


def _with_tying(layer: Layer, *, tied: bool) -> Layer:
    token = layer.tokens[-1]
    head = layer.head or token
    if tied and head[1] != token[1]:
        raise UsageError(
            f"--tied: the head is {head[1]:,} wide and the token table {token[1]:,}",
            hint="matrices of different widths cannot be one; use --untied",
        )
    return replace(layer, head=head, tied=tied, tied_source="flag", tied_from="the command line")


def _checked_total(layer: Layer, total: int) -> int:
    own = _own_parameters(layer)
    if total < own:
        raise UsageError(
            f"--total-params {total:,} is less than the {own:,} of the tables alone",
            hint="it counts all parameters of the model, embedding layer included",
        )
    return total
