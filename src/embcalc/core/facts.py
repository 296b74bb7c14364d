"""Everything that the rules may look at, gathered before any of them runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from embcalc.core.config import ModelConfig
from embcalc.core.findings import Problem
from embcalc.core.slices import shards_of
from embcalc.core.special_ids import SpecialId
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.tokenizer_facts import FileProblem, TokenizerFacts
from embcalc.core.vocabulary import Token, Vocabulary

MEDIA = ("image", "audio", "video")
"""Kinds of placeholder tokens that a configuration may name by id."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The first id that has no row."""

    rows: int
    source: str
    """The tensor or the key that says so, for people."""
    by_config_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterTables:
    """What an adapter stores of the embedding layer."""

    embedding_rows: int | None = None
    """Rows of its own token table or of the vocabulary axis of its matrices; None for neither."""
    head_rows: int | None = None
    extra_rows: int = 0
    """Rows that it brings beside the base's table (`new_embeddings.safetensors`)."""
    base_name: str | None = None
    """The base model that adapter_config.json names."""


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """One model folder, as far as headers and text files tell."""

    model: str
    """The address as the user gave it."""
    config: ModelConfig | None = None
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """config.json as it is."""
    config_absent: str | None = None
    """Why a config.json that is there says nothing; None where it speaks or is not there."""
    wrong_values: tuple[Problem, ...] = ()
    """Values of config.json and its kin that are of a wrong type; they count as unknown."""
    other_ids: tuple[SpecialId, ...] = ()
    """Special ids of generation_config.json and of the processor's files."""
    tables: tuple[EmbeddingTable, ...] = ()
    tokenizer: TokenizerFacts = field(default_factory=TokenizerFacts)
    problems: tuple[FileProblem, ...] = ()
    """Files that could not be read, those of the tokenizer left out."""
    checkpoint_problems: tuple[Problem, ...] = ()
    """What opening the checkpoint noticed and survived."""
    headers_unread: str | None = None
    """Why the headers of some shards were not read; None where all were."""
    tensors: int | None = None
    """Tensors in the weights; None where their headers were not read."""
    checkpoint_file: str | None = None
    """The first file that tensors were looked for in."""
    no_weights: str | None = None
    """Why no tensor headers were read; None where they were."""
    adapter: AdapterTables | None = None
    base: ModelFacts | None = None
    against: ModelFacts | None = None
    allowed: frozenset[str] = frozenset()
    """Texts of tokens that may lack a row."""

    def lacks(self, need: str) -> str | None:
        """Say why something is missing: one phrase; None where it is there."""
        rows = self._why_no_rows()
        no_size = f"no {'usable ' if self.wrong_values else ''}vocab_size in config.json"
        known: dict[str, tuple[object, str]] = {
            "config": (self.config, "no config.json that can be read"),
            "weights": (self.embedding_rows, rows),
            "tokenizer": (self.tokenizer.vocabulary, self.tokenizer.absent),
            "size": (self.limit, f"{rows}, and {no_size}"),
            "vocab_size": (self.vocab_size, no_size),
            "head": (self.head_rows, "no output head of its own"),
            "base": (self.base, "no --base"),
            "against": (self.against, "no --against"),
        }
        there, reason = known.get(need, (None, f"nothing known about {need}"))
        return None if there is not None else reason

    def _why_no_rows(self) -> str:
        return self.no_weights or "no token table found in the weights"

    @property
    def model_types(self) -> tuple[str, ...]:
        """Model type of the whole and of the text model in it."""
        if self.config is None:
            return ()
        found = (self.config.model_type, self.config.text_type)
        return tuple(dict.fromkeys(kind for kind in found if kind))

    @property
    def vocab_size(self) -> int | None:
        """V, where the configuration states it.

        A bare class default counts only in a nested configuration, whose keys are regularly left
        out.
        """
        if self.config is None or self.config.vocab_size is None:
            return None
        stated = not (self.config.vocab_source or "").startswith("class default")
        return self.config.vocab_size if stated or self.nested else None

    @property
    def nested(self) -> bool:
        """Whether the configuration is one of several parts."""
        config = self.config
        return config is not None and config.model_type != config.text_type

    def table(self, role: Role) -> EmbeddingTable | None:
        """The first table of a role."""
        return next((table for table in self.tables if table.role is role), None)

    @property
    def without_table_by_design(self) -> bool:
        """Whether the class looks no ids up in a table (CANINE hashes characters)."""
        return "canine" in self.model_types

    @property
    def embedding(self) -> EmbeddingTable | None:
        """The token table; where only a head is stored, that head is the table."""
        return self.table(Role.TOKEN) or self.table(Role.OUTPUT)

    @property
    def embedding_rows(self) -> int | None:
        """R: rows of the stored token table."""
        if self.adapter and self.adapter.embedding_rows is not None:
            return self.adapter.embedding_rows
        if self.adapter and self.base and not self.embedding:
            base = self.base.embedding_rows or self.base.vocab_size
            return base + self.adapter.extra_rows if base else None
        return self.embedding.rows if self.embedding else None

    @property
    def head_rows(self) -> int | None:
        """H: rows of an output head that is stored beside the token table."""
        if self.adapter and self.adapter.head_rows is not None:
            return self.adapter.head_rows
        head = self.table(Role.OUTPUT)
        return head.rows if head and self.table(Role.TOKEN) else None

    @property
    def extra_rows(self) -> int:
        """Rows of a second token table that continues the first."""
        stored = [table.rows for table in self.tables if table.role is Role.TOKEN_EXTRA]
        if stored:
            return max(stored)
        return self.config.design.extra_rows if self.config else 0

    @property
    def shards(self) -> int:
        """How many equal shards the vocabulary was split into, where one alone is stored."""
        return shards_of(self.embedding_rows, self.vocab_size)

    @property
    def limit(self) -> Limit | None:
        """The first id without a row: by the weights, else by the configuration alone."""
        rows = self.embedding_rows
        if rows is not None and self.shards > 1 and self.vocab_size:
            return Limit(self.vocab_size, f"{self.shards} shards of {rows:,} rows")
        if rows is not None:
            return Limit(rows + self.extra_rows, self._rows_source())
        size = self.vocab_size
        if size is None or self.config is None:
            return None
        designed = self.config.design.token_rows or size
        source = self.config.vocab_source or "config.json"
        return Limit(designed + self.extra_rows, source, by_config_only=True)

    def _rows_source(self) -> str:
        if self.embedding:
            return self.embedding.name
        return "the adapter" if self.adapter and self.adapter.embedding_rows else "the base model"

    @property
    def weights_file(self) -> str | None:
        """The file that holds the token table."""
        return self.embedding.tensor.file if self.embedding else None

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer's vocabulary.

        Raises:
            LookupError: there is none (a rule that did not ask for it: a bug).
        """
        if self.tokenizer.vocabulary is None:
            raise LookupError("no vocabulary")
        return self.tokenizer.vocabulary

    @property
    def stated_ids(self) -> tuple[SpecialId, ...]:
        """Special ids that files state, class defaults left out.

        Those of config.json come first, then generation_config.json's and the processor's.
        """
        own = self.config.special_ids if self.config else ()
        stated = (special for special in own if special.stated)
        return (*stated, *self.other_ids, *self.tokenizer.stated)

    @property
    def special_ids(self) -> Mapping[str, int | tuple[int, ...]]:
        """One value a name, from the first file that states it."""
        found: dict[str, int | tuple[int, ...]] = {}
        for special in self.stated_ids:
            value = special.ids[0] if len(special.ids) == 1 else special.ids
            found.setdefault(special.name, value)
        return found

    def ids_from(self, first: int) -> Sequence[int]:
        """Ids of `first` and above that have a token, ascending; allowed texts are left out."""
        vocabulary = self.vocabulary
        if vocabulary.max_id < first:
            return ()
        allowed = {vocabulary.id(text) for text in self.allowed}
        if vocabulary.in_order:
            base: Sequence[int] = range(first, vocabulary.base_size)
            ids = [*base, *sorted(t.id for t in vocabulary.appended if t.id >= first)]
        else:
            ids = sorted(token_id for token_id in vocabulary.texts if token_id >= first)
        return [token_id for token_id in ids if token_id not in allowed] if allowed else ids

    def tokens(self, ids: Sequence[int]) -> list[Token]:
        """The tokens of some ids that have one."""
        vocabulary = self.vocabulary
        added = {token.id: token for token in reversed(vocabulary.added)}
        return [
            added.get(i) or Token(text=vocabulary.texts[i], id=i, file=vocabulary.file) for i in ids
        ]
