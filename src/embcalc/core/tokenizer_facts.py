"""What the files of a tokenizer say, beyond the vocabulary itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from embcalc.core.findings import Problem
from embcalc.core.special_ids import SpecialId
from embcalc.core.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """A file that could not be read."""

    file: str
    message: str
    hint: str | None = None
    pointer: bool = False
    """Whether a Git LFS pointer stands in its place."""
    weights: bool = False
    """Whether it should hold tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpecial:
    """A special token that a file names by its purpose."""

    name: str
    """`eos_token`."""
    text: str
    id: int | None
    """Its effective id; None where no vocabulary could be read."""
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedId:
    """An id that encoding emits as written in the file, whatever the vocabulary says."""

    where: str
    """`post_processor` or `padding.pad_id`."""
    id: int
    text: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An entry of a file that other files make meaningless."""

    file: str
    text: str
    declared_id: int | None
    effective_id: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A second vocabulary file that does not agree with the one that counts."""

    file: str
    entries: int
    differing: tuple[tuple[str, int, int | None], ...]
    """Text, id in this file, id that counts (None where the text is unknown); the first few."""
    count: int
    """All differing entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A text that stands in a vocabulary file several times."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Merges:
    """What joins pieces to tokens in a tokenizer.json of type BPE."""

    json: memoryview
    """The list, as it stands in the file."""
    prefix: str = ""
    """What pieces inside a word begin with; the second token of a merge loses it."""


@dataclass(frozen=True, kw_only=True)
class TokenizerFacts:
    """Everything that text files say about a tokenizer."""

    vocabulary: Vocabulary | None = None
    absent: str = "no tokenizer"
    """Why there is no vocabulary, for people."""
    python_class: str | None = None
    """The class, where the tokenizer is Python code of the model's own; it is never run."""
    named: tuple[NamedSpecial, ...] = ()
    stated: tuple[SpecialId, ...] = ()
    """Special ids that the vocabulary's file states itself (GGUF)."""
    emitted: tuple[EmittedId, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    blank_ids: tuple[int, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    siblings: tuple[Sibling, ...] = ()
    media_tokens: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """`image_token` → its text and the file that says so."""
    chat_tokens: tuple[str, ...] = ()
    """Control tokens that the chat template writes: `<|im_start|>`."""
    chat_file: str | None = None
    config_file: str | None = None
    """tokenizer_config.json, where there is one."""
    model_max_length: float | None = None
    """As stated; None where it is not."""
    open_ended: bool = False
    """Whether code adds special tokens that no file lists (tiktoken)."""
    base_holes_by_design: bool = False
    """Whether the format leaves ids unused on purpose."""
    problems: tuple[FileProblem, ...] = ()
    parts: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Of a tokenizer.json: the JSON of its parts, without the vocabulary."""
    merges: Merges | None = field(default=None, repr=False)
    """Of a tokenizer.json, until they are judged: they keep the whole file in memory."""
    unloadable: tuple[Problem, ...] = ()
    """Parts and merges that the tokenizers library refuses, where that was asked."""
    merges_unread: str | None = None
    """Why not all merges were judged; None where they were."""

    def named_id(self, name: str) -> NamedSpecial | None:
        """The special token of a purpose (`eos_token`), or None."""
        return next((special for special in self.named if special.name == name), None)
