"""Does the tokenizer fit the embedding table?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Rule, Selection, run_rules
from embcalc.core.reports.check import CheckFacts, CheckReport
from embcalc.errors import UsageError
from embcalc.rules import HEADER_RULES, RULES
from embcalc.usecases.gather import gather


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """What is compared, and what counts."""

    tokenizer: str | None = None
    """Address of the tokenizer; None takes the one beside the model."""
    base: str | None = None
    """The model that this one was made from, or that an adapter belongs to."""
    against: str | None = None
    """A model whose vocabulary should be the same."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    allow_tokens: tuple[str, ...] = ()
    """Texts of tokens that may lack a row."""
    strict: bool = False
    weights: bool = True


def check_vocab(model: str, options: CheckOptions | None = None) -> CheckReport:
    """Check a tokenizer against the configuration, the tables and the special ids of a model.

    Headers and text files are read, no row of any table.

    Args:
        model: a local path, a hub id or another address.
        options: all rules, the model's own tokenizer when left out.

    Raises:
        SourceError: an address leads nowhere.
        CheckpointError: it names weights that cannot be read, or holds nothing else.
        UsageError: a code names no rule.
    """
    options = options or CheckOptions()
    selection = selection_of(options.select, options.ignore)
    facts = gather(model, options.tokenizer, weights=options.weights)
    other = [
        gather(address, weights=options.weights) if address else None
        for address in (options.base, options.against)
    ]
    facts = replace(facts, base=other[0], against=other[1], allowed=frozenset(options.allow_tokens))
    run = run_rules(wanted_rules(facts), facts, selection)
    return CheckReport(
        model=model,
        facts=CheckFacts.of(facts),
        findings=run.findings,
        skipped=run.skipped,
        ran=run.ran,
        strict=options.strict,
    )


def wanted_rules(facts: ModelFacts) -> tuple[Rule[ModelFacts], ...]:
    """All rules but those of a comparison that was not asked for."""
    asked = {"base": facts.base, "against": facts.against}
    missing = {need for need, other in asked.items() if other is None}
    return tuple(rule for rule in HEADER_RULES if not missing.intersection(rule.needs))


def selection_of(select: tuple[str, ...], ignore: tuple[str, ...]) -> Selection:
    """Turn codes, or their beginnings, into a selection.

    Raises:
        UsageError: a code names no rule.
    """
    chosen = tuple(code.strip().upper() for code in select if code.strip())
    ignored = tuple(code.strip().upper() for code in ignore if code.strip())
    for code in (*chosen, *ignored):
        if not any(rule.code.startswith(code) for rule in RULES):
            raise UsageError(f"no rule begins with {code}", hint="'embcalc explain' lists them")
    return Selection(chosen, ignored)
