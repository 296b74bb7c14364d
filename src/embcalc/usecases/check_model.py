"""One model → the findings of every rule: headers first, rows after."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embcalc.core.findings import Rule, RuleRun, Selection, run_rules
from embcalc.core.progress import Progress, silent
from embcalc.core.reports.check import CheckFacts, CheckReport
from embcalc.core.reports.check_run import CheckedModel
from embcalc.rules import ROW_RULES
from embcalc.usecases.check_rows import row_facts
from embcalc.usecases.check_vocab import (
    CheckOptions,
    require_some,
    selection_of,
    skipped_in_part,
    wanted_rules,
)
from embcalc.usecases.gather import Gathered, gather, gather_opened

_NEEDS_ROWS = frozenset({"rows", "both tables", "tying"})


def check_model(
    model: str,
    options: CheckOptions | None = None,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> CheckedModel:
    """Run every selected rule over one model.

    Args:
        model: a local path, a hub id or another address.
        options: all rules, the model's own tokenizer when left out.
        workers: threads that read a share of a large table each, where it lies on this machine.
        progress: told about the bytes read.

    Raises:
        SourceError: an address leads nowhere, or to nothing that says anything.
        UsageError: a code names no rule, or no rule is left to run.
    """
    options = options or CheckOptions()
    selection = selection_of(options.select, options.ignore)
    gathered = _gathered(model, options)
    header = run_rules(wanted_rules(gathered.facts), gathered.facts, selection)
    folder = local_folder(model)
    local = folder is not None
    reading = _Reading(local, workers if local else 1, progress)
    run = header + _row_run(gathered, selection, reading)
    require_some(run, options)
    report = CheckReport(
        model=model,
        facts=CheckFacts.of(gathered.facts),
        findings=run.findings,
        skipped=(*run.skipped, *skipped_in_part(gathered.facts, selection)),
        ran=run.ran,
        strict=options.strict,
    )
    return CheckedModel(report=report, folder=folder)


def _gathered(model: str, options: CheckOptions) -> Gathered:
    own = gather_opened(model, options.tokenizer, weights=options.weights, every_merge=True)
    base, against = (
        gather(address, weights=options.weights) if address else None
        for address in (options.base, options.against)
    )
    allowed = frozenset(options.allow_tokens)
    facts = replace(own.facts, base=base, against=against, allowed=allowed)
    return Gathered(facts, own.checkpoint)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How rows are read."""

    local: bool
    """Whether each of many small reads costs no request."""
    workers: int
    progress: Progress


def _row_run(gathered: Gathered, selection: Selection, reading: _Reading) -> RuleRun:
    wanted = [rule for rule in ROW_RULES if selection.takes(rule.code)]
    if not wanted:
        return RuleRun((), (), ())
    facts = row_facts(
        gathered,
        rows=_any_needs(_NEEDS_ROWS, wanted),
        no_values=_why_no_values(wanted, reading),
        workers=reading.workers,
        progress=reading.progress,
    )
    return run_rules(wanted, facts, selection)


def _any_needs(needs: frozenset[str], rules: Iterable[Rule[Any]]) -> bool:
    return any(needs.intersection(rule.needs) for rule in rules)


def _why_no_values(rules: Iterable[Rule[Any]], reading: _Reading) -> str | None:
    if not _any_needs(frozenset({"values"}), rules):
        return "not asked for"
    return None if reading.local else "only the tables of a remote checkpoint are read"


def local_folder(model: str) -> str | None:
    """The folder of a local model relative to the working directory; None for other addresses."""
    path = Path(model)
    if not path.exists():
        return None
    folder = Path(os.path.normpath((path if path.is_dir() else path.parent).absolute()))
    here = Path.cwd()
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else folder.as_posix()
