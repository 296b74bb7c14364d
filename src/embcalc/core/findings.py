"""What a rule finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import cleandoc
from typing import Generic, Protocol, TypeVar


class HasNeeds(Protocol):
    """Facts that know what they lack."""

    def lacks(self, need: str) -> str | None:
        """Say why a need is not met: one phrase for people; None where it is met."""


Facts = TypeVar("Facts", bound=HasNeeds)


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Something breaks or is lost."""
    WARNING = "warning"
    """Something is likely to surprise."""
    NOTE = "note"
    """Worth knowing; nothing to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule's function yields; the rule adds its code, name and severity."""

    message: str
    hint: str | None = None
    file: str | None = None
    """The file that says so, relative to the model's folder."""
    ids: tuple[int, ...] = ()
    """Token ids or rows concerned, in ascending order."""
    severity: Severity | None = None
    """Only where it differs from the rule's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found in one model."""

    rule: str
    """Code, `EMB101`."""
    name: str
    """`token-without-row`."""
    severity: Severity
    message: str
    hint: str | None = None
    file: str | None = None
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule(Generic[Facts]):
    """A check with a code. Its docstring is its explanation, for users."""

    code: str
    severity: Severity
    function: Callable[[Facts], Iterator[Problem]] = field(repr=False)
    needs: tuple[str, ...] = ()
    """What the facts must have for the rule to say anything; asked in this order."""

    @property
    def name(self) -> str:
        """The function's name with dashes."""
        return self.function.__name__.replace("_", "-")

    @property
    def explanation(self) -> str:
        """The function's docstring, without its indentation."""
        return cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first line of the explanation."""
        return self.explanation.partition("\n")[0]

    def lacking(self, facts: Facts) -> str | None:
        """Why the rule cannot be run on these facts, or None."""
        return next((why for need in self.needs if (why := facts.lacks(need))), None)

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Run the rule."""
        for problem in self.function(facts):
            yield Finding(
                rule=self.code,
                name=self.name,
                severity=problem.severity or self.severity,
                message=problem.message,
                hint=problem.hint,
                file=problem.file,
                ids=problem.ids,
            )


def rule(
    code: str, severity: Severity, *needs: str
) -> Callable[[Callable[[Facts], Iterator[Problem]]], Rule[Facts]]:
    """Turn a generator function over facts into a rule; it registers nowhere by itself."""

    def build(function: Callable[[Facts], Iterator[Problem]]) -> Rule[Facts]:
        return Rule(code, severity, function, needs)

    return build


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not be run."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules are wanted, by code or by the beginning of one: `EMB2` is all of EMB2xx."""

    select: tuple[str, ...] = ()
    """Empty for all."""
    ignore: tuple[str, ...] = ()
    """Wins over `select`, unless `select` names the rule more precisely."""

    def takes(self, code: str) -> bool:
        """Whether a rule is wanted: the longest beginning that fits decides."""
        wanted = max((len(p) for p in self.select if code.startswith(p)), default=-1)
        unwanted = max((len(p) for p in self.ignore if code.startswith(p)), default=-1)
        if unwanted >= 0 and unwanted >= wanted:
            return False
        return not self.select or wanted >= 0


@dataclass(frozen=True, slots=True)
class RuleRun:
    """What a set of rules found, and which of them could not be run."""

    findings: tuple[Finding, ...]
    """Errors first, then warnings and notes; by code within."""
    skipped: tuple[Skipped, ...]
    ran: tuple[str, ...]
    """Codes of the rules that were run."""

    def __add__(self, other: RuleRun) -> RuleRun:
        """Both runs as one."""
        return RuleRun(
            worst_first((*self.findings, *other.findings)),
            (*self.skipped, *other.skipped),
            (*self.ran, *other.ran),
        )


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings and notes; by code within."""
    order = list(Severity)
    return tuple(sorted(findings, key=lambda one: (order.index(one.severity), one.rule)))


def run_rules(rules: Iterable[Rule[Facts]], facts: Facts, selection: Selection) -> RuleRun:
    """Run the selected rules, and say of the others why they could not be run."""
    findings: list[Finding] = []
    skipped = []
    ran = []
    for one in rules:
        if not selection.takes(one.code):
            continue
        reason = one.lacking(facts)
        if reason is not None:
            skipped.append(Skipped(one.code, reason))
            continue
        ran.append(one.code)
        findings.extend(one.check(facts))
    return RuleRun(worst_first(findings), tuple(skipped), tuple(ran))
