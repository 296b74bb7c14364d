"""What a rule finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

Facts = TypeVar("Facts")


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

    @property
    def name(self) -> str:
        """The function's name with dashes."""
        return self.function.__name__.replace("_", "-")

    @property
    def explanation(self) -> str:
        """The function's docstring."""
        return self.function.__doc__ or ""

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
    code: str, severity: Severity
) -> Callable[[Callable[[Facts], Iterator[Problem]]], Rule[Facts]]:
    """Turn a generator function over facts into a rule; it registers nowhere by itself."""

    def build(function: Callable[[Facts], Iterator[Problem]]) -> Rule[Facts]:
        return Rule(code, severity, function)

    return build
