"""What a reader of one vocabulary file gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from embcalc.core.files import Folder
from embcalc.core.special_ids import SpecialId
from embcalc.core.tokenizer_facts import Duplicate, EmittedId, Merges
from embcalc.core.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class BaseRead:
    """One vocabulary file, before the files beside it have their say."""

    vocabulary: Vocabulary
    base_count: int | None = None
    """Entries of the base vocabulary, where a list holds a text twice; None for `base_size`."""
    emitted: tuple[EmittedId, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    blank_ids: tuple[int, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    """`eos_token` → text, where the file itself names special tokens."""
    stated: tuple[SpecialId, ...] = ()
    """Special ids, where the file itself states them."""
    open_ended: bool = False
    """Whether code adds special tokens that no file lists."""
    holes_by_design: bool = False
    merges: Merges | None = None
    """Of a tokenizer.json of type BPE."""
    parts: Mapping[str, bytes] = field(default_factory=dict)
    """Of a tokenizer.json: the JSON of its parts, without the vocabulary."""

    @property
    def count(self) -> int:
        """The id that the first appended token gets."""
        return self.vocabulary.base_size if self.base_count is None else self.base_count


Reader = Callable[[Folder, str], BaseRead]
