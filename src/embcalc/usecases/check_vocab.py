"""Does the tokenizer fit the embedding table?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Rule, RuleRun, Selection, Skipped, run_rules
from embcalc.core.reports.check import CheckFacts, CheckReport
from embcalc.errors import UsageError
from embcalc.rules import HEADER_RULES, RULES
from embcalc.rules.checkpoint_files import broken_checkpoint_files, untidy_checkpoint_files
from embcalc.rules.tokenizer_files import tokenizer_cannot_be_loaded
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


def check_vocab(model: str | PathLike[str], options: CheckOptions | None = None) -> CheckReport:
    """Check a tokenizer against the configuration, the tables and the special ids of a model.

    Headers and text files are read, no row of any table.

    Args:
        model: a local path, a hub id or another address.
        options: all rules, the model's own tokenizer when left out.

    Raises:
        SourceError: an address leads nowhere.
        CheckpointError: it names weights that cannot be read, or holds nothing else.
        UsageError: a code names no rule, or no rule is left to run.
    """
    options = options or CheckOptions()
    selection = selection_of(options.select, options.ignore, HEADER_RULES)
    facts = gather(fspath(model), options.tokenizer, weights=options.weights)
    other = [
        gather(address, weights=options.weights) if address else None
        for address in (options.base, options.against)
    ]
    facts = replace(facts, base=other[0], against=other[1], allowed=frozenset(options.allow_tokens))
    run = run_rules(wanted_rules(facts), facts, selection)
    require_some(run, options)
    return CheckReport(
        model=fspath(model),
        facts=CheckFacts.of(facts),
        findings=run.findings,
        skipped=(*run.skipped, *skipped_in_part(facts, selection)),
        ran=run.ran,
        strict=options.strict,
    )


def skipped_in_part(facts: ModelFacts, selection: Selection) -> tuple[Skipped, ...]:
    """Rules that ran without all that they look at."""
    about = (
        (broken_checkpoint_files, facts.headers_unread),
        (untidy_checkpoint_files, facts.headers_unread),
        (tokenizer_cannot_be_loaded, facts.tokenizer.merges_unread),
    )
    return tuple(
        Skipped(one.code, reason) for one, reason in about if reason and selection.takes(one.code)
    )


def wanted_rules(facts: ModelFacts) -> tuple[Rule[ModelFacts], ...]:
    """All rules but those of a comparison that was not asked for."""
    asked = {"base": facts.base, "against": facts.against}
    missing = {need for need, other in asked.items() if other is None}
    return tuple(rule for rule in HEADER_RULES if not missing.intersection(rule.needs))


def selection_of(
    select: tuple[str, ...], ignore: tuple[str, ...], rules: Sequence[Rule[Any]] = RULES
) -> Selection:
    """Turn codes, or their beginnings, into a selection among the rules of a command.

    Raises:
        UsageError: a code names no rule, or no rule is left.
    """
    chosen = tuple(code.strip().upper() for code in select if code.strip())
    ignored = tuple(code.strip().upper() for code in ignore if code.strip())
    for code in (*chosen, *ignored):
        if not any(rule.code.startswith(code) for rule in RULES):
            raise UsageError(f"no rule's code begins with {code}", hint=_similar_rule(code))
    selection = Selection(chosen, ignored)
    if any(selection.takes(rule.code) for rule in rules):
        return selection
    if any(selection.takes(rule.code) for rule in RULES):
        raise UsageError(
            f"no rule is left to run: {', '.join(chosen)} read rows, and this command reads none",
            hint="embcalc check runs them",
        )
    named = "what --select names" if chosen else "all of them"
    raise UsageError(
        f"no rule is left to run: --ignore takes away {named}",
        hint="leave it out, or make it narrower, here or in the settings file",
    )


def _similar_rule(code: str) -> str:
    named = next((rule.code for rule in RULES if rule.name.upper() == code), None)
    if named is not None:
        return f"write its code, {named}"
    return f"codes are {RULES[0].code} to {max(rule.code for rule in RULES)}: see 'embcalc explain'"


def require_some(run: RuleRun, options: CheckOptions) -> None:
    """Refuse a run in which the options themselves left no rule to run.

    Raises:
        UsageError: the selected rules all compare with a model that was not named, or all read
            weights that were not to be read.
    """
    if run.ran:
        return
    if not run.skipped:
        raise UsageError(
            "no rule is left to run: those selected compare with another model",
            hint="name it with --base or --against",
        )
    if not options.weights:
        raise UsageError(
            "no rule is left to run: those selected read weights, and --no-weights reads none",
            hint="leave --no-weights out",
        )
