"""What `check-vocab` and `check` found in one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Finding, Severity, Skipped
from embcalc.core.tables import Role
from embcalc.core.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerSizes:
    """The numbers of a vocabulary."""

    format: str
    file: str
    base_size: int
    size: int
    """Distinct texts: what `len(tokenizer)` counts."""
    max_id: int
    holes: int

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> TokenizerSizes:
        """Count a vocabulary, so that it need not be kept."""
        return cls(
            format=vocabulary.format,
            file=vocabulary.file,
            base_size=vocabulary.base_size,
            size=vocabulary.size,
            max_id=vocabulary.max_id,
            holes=vocabulary.holes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFacts:
    """The sizes that a report shows: numbers alone, so that a thousand reports stay small."""

    vocab_size: int | None
    vocab_source: str | None
    embedding_rows: int | None
    embedding_name: str | None
    """The tensor; None where the rows are the base's."""
    head_rows: int | None
    head_name: str | None
    tied: bool | None
    """What the config says."""
    tokenizer: TokenizerSizes | None
    special_ids: Mapping[str, int | tuple[int, ...]]

    @classmethod
    def of(cls, facts: ModelFacts) -> CheckFacts:
        """Take the sizes out of all facts."""
        config, vocabulary = facts.config, facts.tokenizer.vocabulary
        head = facts.table(Role.OUTPUT)
        return cls(
            vocab_size=config.vocab_size if config else None,
            vocab_source=config.vocab_source if config else None,
            embedding_rows=facts.embedding_rows,
            embedding_name=facts.embedding.name if facts.embedding else None,
            head_rows=facts.head_rows,
            head_name=head.name if head else None,
            tied=config.tied if config else None,
            tokenizer=TokenizerSizes.of(vocabulary) if vocabulary else None,
            special_ids=dict(facts.special_ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """One model: the facts, the findings, and what was not checked."""

    model: str
    facts: CheckFacts
    findings: tuple[Finding, ...]
    """Errors first."""
    skipped: tuple[Skipped, ...]
    ran: tuple[str, ...]
    """Codes of the rules that were run."""
    strict: bool = False
    """Whether warnings fail too."""

    @property
    def checked(self) -> int:
        """Number of rules that were run."""
        return len(self.ran)

    def count(self, severity: Severity) -> int:
        """Number of findings of one severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that fails the run: an error, or a warning when strict."""
        failing = self.count(Severity.ERROR)
        return not (failing + self.count(Severity.WARNING) if self.strict else failing)
