"""What a reader should know of the files around the tables, and of their other matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embcalc.checkpoints.values import value_problems
from embcalc.core.findings import Problem, Severity
from embcalc.core.packing import assumed_packing
from embcalc.core.reports.inspect import RowFinding
from embcalc.core.slices import slice_of
from embcalc.core.tables import EmbeddingTable
from embcalc.errors import SourceError
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
    if whole and model.local:
        yield from (_finding("values", problem) for problem in _elsewhere(model, scanned))


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
