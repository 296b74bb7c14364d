"""What the rules about rows may look at: one model's headers and files, and one pass over rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity
from embcalc.core.magnitudes import LARGEST, SMALLEST
from embcalc.core.pad_tokens import padding_ids
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.tying import Tying
from embcalc.core.unused_names import is_unused_name

Rows = tuple[int, ...]
"""Row numbers, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """What one pass over a table found; every list is complete."""

    table: EmbeddingTable
    zero: Rows = ()
    """Rows of nothing but 0."""
    near_zero: Rows = ()
    """Rows whose norm is above 0 and at most 1/1000 of the median."""
    nonfinite: Rows = ()
    """Rows with a NaN or an infinity."""
    duplicates: tuple[Rows, ...] = ()
    """Groups of rows with the same bits; zero and non-finite rows are in none."""
    median_norm: float | None = None
    """Of the rows that are finite and not zero; None where there is none."""
    largest_norm: float = 0.0
    """Of the finite rows."""
    strange: str | None = None
    """What is strange about the magnitudes of its first rows: one sentence; None for nothing."""

    @property
    def odd_size(self) -> bool:
        """Whether the rows are far longer or shorter than any training leaves them."""
        median = self.median_norm
        if median is None:
            return False
        typical = median / max(1, self.table.width) ** 0.5
        return not SMALLEST <= typical <= LARGEST or self.largest_norm > LARGEST**4


@dataclass(frozen=True, kw_only=True)
class RowFacts:
    """One model with what was found in its rows."""

    model: ModelFacts
    tables: tuple[TableRows, ...] = ()
    """Of the token table and the output head, as far as their values could be read."""
    unread: str | None = None
    """Why no rows were read; None where they were."""
    tying: Tying | None = None
    """None without tables, or where tables may lie in files that are missing."""
    expects_head: bool | None = None
    """Whether the model computes logits, as far as its config says."""
    problems: tuple[Problem, ...] = ()
    """Why rows could not be read that are there."""
    value_problems: tuple[Problem, ...] = ()
    """What the first values of the other matrices say."""
    no_values: str | None = None
    """Why the other matrices were not looked into; None where they were."""

    def lacks(self, need: str) -> str | None:
        """Say why something is missing: one phrase; None where it is there."""
        if need == "rows":
            return None if self.tables else self.unread or "no rows were read"
        if need == "both tables":
            return None if self.head is not None else "no output head beside the token table"
        if need == "values":
            return self.no_values
        if need == "tying":
            return None if self.tying is not None else self._why_no_tying()
        return self.model.lacks(need)

    def _why_no_tying(self) -> str:
        problems = (*self.model.checkpoint_problems, *self.problems)
        if any(problem.severity is Severity.ERROR for problem in problems):
            return "files of the checkpoint are missing or broken"
        return self.unread or "no table was found"

    @property
    def token(self) -> TableRows | None:
        """The token table, where its rows were read; a head that is stored alone is the table."""
        return self._of(Role.TOKEN) or self._of(Role.OUTPUT)

    @property
    def head(self) -> TableRows | None:
        """The output head beside the token table, where the rows of both were read."""
        return self._of(Role.OUTPUT) if self._of(Role.TOKEN) else None

    def _of(self, role: Role) -> TableRows | None:
        return next((rows for rows in self.tables if rows.table.role is role), None)

    @cached_property
    def purposes(self) -> dict[int, tuple[str, ...]]:
        """Ids that a file gives a purpose (`eos_token`, `chat template`), with all of them."""
        found: dict[int, list[str]] = {}
        for special in self.model.tokenizer.named:
            if special.id is not None:
                found.setdefault(special.id, []).append(special.name)
        for token_id in padding_ids(self.model.tokenizer.vocabulary, self.model.tokenizer.emitted):
            found.setdefault(token_id, []).append("pad_token")
        for stated in self.model.stated_ids:
            for token_id in stated.ids:
                found.setdefault(token_id, []).append(_purpose(stated.name))
        vocabulary = self.model.tokenizer.vocabulary
        for text in self.model.tokenizer.chat_tokens:
            written = vocabulary.id(text) if vocabulary else None
            if written is not None:
                found.setdefault(written, []).append("chat template")
        return {token_id: tuple(dict.fromkeys(names)) for token_id, names in found.items()}

    def real(self, rows: Iterable[int]) -> Rows:
        """Rows whose token a text can yield: no padding, no placeholder, no allowed token."""
        texts = self.model.vocabulary.texts
        return tuple(
            row
            for row in rows
            if row in texts
            and texts[row] not in self.model.allowed
            and (row in self.purposes or not is_unused_name(texts[row]))
        )

    def is_special(self, row: int) -> bool:
        """Whether a token is declared special or has a purpose."""
        vocabulary = self.model.tokenizer.vocabulary
        return row in self.purposes or (vocabulary is not None and row in vocabulary.special_ids)


def _purpose(key: str) -> str:
    """`eos_token_id` → `eos_token`."""
    for ending in ("_ids", "_id", "_indices", "_index"):
        if key.endswith(ending):
            return key.removesuffix(ending)
    return key
