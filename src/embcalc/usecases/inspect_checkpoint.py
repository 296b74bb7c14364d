"""What a reader should know of the files around the tables, and of their other matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embcalc.checkpoints.values import value_problems
from embcalc.core.findings import Problem, Severity
from embcalc.core.packing import assumed_packing
from embcalc.core.reports.inspect import RowFinding
from embcalc.core.role import Role
from embcalc.core.slices import slice_of
from embcalc.core.tables import EmbeddingTable
from embcalc.errors import SourceError
from embcalc.rules.ids import GEMMA_PLACEHOLDER
from embcalc.usecases.opened import Model


def checkpoint_findings(
    model: Model, scanned: Sequence[EmbeddingTable], *, whole: bool
) -> Iterator[RowFinding]:
    """Tell what opening noticed, tables that are one rank's slice, and odd values elsewhere.

    Args:
        model: opened.
        scanned: tables whose rows were all read, of which nothing is read again.
        whole: whether the other matrices of a local checkpoint are looked into.
    """
    if model.config_absent is not None:
        yield _finding(
            "files",
            Problem(
                model.config_absent,
                "nothing of it is used: correct it, or take the original model's",
            ),
        )
    yield from (_finding("files", problem) for problem in model.wrong_values)
    yield from (_finding("files", problem) for problem in model.checkpoint.problems)
    yield from (_finding("files", problem) for problem in assumed_packing(model.tables))
    part = slice_of(model.tables, model.config.vocab_size if model.config else None)
    if part is not None:
        yield _finding("slice", part)
    else:
        yield from _without_row(model)
    if whole and model.local:
        yield from (_finding("values", problem) for problem in _elsewhere(model, scanned))


def _without_row(model: Model) -> Iterator[RowFinding]:
    """Tokens whose ids lie past the last row of the token table."""
    table = model.table(Role.TOKEN)
    if table is None or model.vocabulary is None:
        return
    ids = sorted(token for token in model.vocabulary.texts if token >= table.rows)
    # Gemma 3's text models share the tokenizer of those with eyes.
    if ids and [model.vocabulary.texts[token] for token in ids] != [GEMMA_PLACEHOLDER]:
        some = f"id {ids[0]:,}" if len(ids) == 1 else f"ids {ids[0]:,} to {ids[-1]:,}"
        problem = Problem(
            f"{len(ids):,} token{'s' if len(ids) > 1 else ''} of the tokenizer without a row"
            f" ({some}; {table.name} has {table.rows:,})",
            hint="looking one up fails: resize the model, or take its own tokenizer;"
            " embcalc check-vocab tells more",
            severity=Severity.WARNING,
        )
        yield _finding("no-row", problem)


def _elsewhere(model: Model, scanned: Sequence[EmbeddingTable]) -> Sequence[Problem]:
    known = {table.name for table in scanned}
    names = [name for name in model.checkpoint.tensors if name not in known]
    try:
        return value_problems(model.checkpoint, names, len(known))
    except SourceError as error:
        return [Problem(error.message, error.hint)]


def _finding(name: str, problem: Problem) -> RowFinding:
    return RowFinding(
        name=name,
        severity=problem.severity or Severity.ERROR,
        message=problem.message,
        hint=problem.hint,
    )
