"""From an address to the facts that the rules look at: headers and text files only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embcalc.core.config import ModelConfig, parse_config
from embcalc.core.config_keys import Level
from embcalc.core.config_types import note_wrong_ids
from embcalc.core.facts import ModelFacts
from embcalc.core.files import Folder, is_lfs_pointer, lfs_pointer_error
from embcalc.core.findings import Problem
from embcalc.core.roles import embedding_tables
from embcalc.core.special_ids import SpecialId, special_ids
from embcalc.core.tables import EmbeddingTable
from embcalc.core.tokenizer_facts import FileProblem, TokenizerFacts
from embcalc.core.wording import listed
from embcalc.errors import EmbcalcError, SourceError
from embcalc.sources import Located, locate
from embcalc.tokenizers import is_tokenizer_file, read_tokenizer
from embcalc.tokenizers.loadable import unloadable_parts
from embcalc.tokenizers.merges import sampled, unloadable_merges
from embcalc.tokenizers.settings import problem_of
from embcalc.usecases.adapters import (
    ADAPTER_CONFIG,
    NEW_ROWS,
    adapter_tables,
    adapter_weights,
    new_rows,
)
from embcalc.usecases.documents import read_object, require_tokenizer

if TYPE_CHECKING:
    from embcalc.checkpoints import Checkpoint

ID_FILES = ("generation_config.json", "processor_config.json", "preprocessor_config.json")
"""Further files that may state special ids."""
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".npz", ".npy", ".ckpt")
_NO_WEIGHTS = ("optimizer", "scheduler", "training_args", "rng_state", "tokenizer")


@dataclass(slots=True)
class _Problems:
    """Files that could not be read, collected along the way."""

    remote: bool = False
    found: list[FileProblem] = field(default_factory=list)
    weights: EmbcalcError | None = None
    """Why the weights cannot be read."""

    def add(self, file: str, error: EmbcalcError, *, weights: bool = False) -> None:
        """Note that a file cannot be read.

        Raises:
            SourceError: a remote place does not answer, which says nothing about the model.
        """
        if self.remote and isinstance(error, SourceError):
            raise error
        self.found.append(replace(problem_of(file, error), weights=weights))
        if weights:
            self.weights = error


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts about a model, and its checkpoint for those who want rows."""

    facts: ModelFacts
    checkpoint: Checkpoint | None
    """None where `facts.no_weights` says why, or the folder is an adapter's."""


def gather(address: str, tokenizer: str | None = None, *, weights: bool = True) -> ModelFacts:
    """Read what text files and tensor headers of a model say: `gather_opened` without rows."""
    return gather_opened(address, tokenizer, weights=weights).facts


def gather_opened(
    address: str, tokenizer: str | None = None, *, weights: bool = True, every_merge: bool = False
) -> Gathered:
    """Read what text files and tensor headers of a model say, and keep the checkpoint open.

    A file that is broken becomes a problem of the facts; the others are read all the same.

    Args:
        address: a local path, a hub id or another address.
        tokenizer: address of the tokenizer; None takes the one beside the model.
        weights: whether tensor headers are read.
        every_merge: whether all merges of a tokenizer are looked at, however many.

    Raises:
        SourceError: the address leads nowhere, or to nothing that says anything.
        CheckpointError: it names weights that cannot be read, or holds nothing else.
    """
    place = locate(address)
    problems = _Problems(remote=not Path(address).exists())
    document = _document(place.folder, "config.json", problems)
    absent = problems.found[0].message if problems.found else None
    wrong: list[Problem] = []
    facts = ModelFacts(
        model=address,
        config=None if document is None else parse_config(document, wrong=wrong),
        document=document or {},
        config_absent=absent,
        other_ids=tuple(_other_ids(place.folder, problems, wrong)),
        wrong_values=tuple(wrong),
        tokenizer=_judged(_tokenizer(place, tokenizer), every_merge=every_merge),
    )
    facts, checkpoint = _with_weights(facts, place, problems, weights=weights)
    facts = replace(facts, problems=tuple(problems.found))
    if checkpoint is None:
        _refuse_nothing(facts, place, problems.weights)
    return Gathered(facts, checkpoint)


def _refuse_nothing(facts: ModelFacts, place: Located, broken: EmbcalcError | None) -> None:
    """Refuse an address that says nothing, or whose weights are all it has and are broken."""
    tokenizer = facts.tokenizer
    if broken and (place.file or not (facts.config or tokenizer.vocabulary or facts.adapter)):
        raise broken
    anything = (
        facts.config
        or facts.problems
        or tokenizer.vocabulary
        or tokenizer.problems
        or tokenizer.config_file
        or facts.tables
        or ADAPTER_CONFIG in place.folder.names()
    )
    if not anything:
        label, names = place.folder.label, place.folder.names()
        if not names:
            raise SourceError(
                f"no config, tokenizer or weights in {label}: the folder is empty",
                hint="name the folder that holds config.json, tokenizer.json and the weights",
            )
        raise SourceError(
            f"no config, tokenizer or weights in {label}",
            hint=f"it holds: {listed(names)}; looked for are config.json, tokenizer files, weights",
        )


def _tokenizer(place: Located, tokenizer: str | None) -> TokenizerFacts:
    if tokenizer is not None:
        words = locate(tokenizer)
        facts = read_tokenizer(words.folder, words.file)
        require_tokenizer(facts, tokenizer)
        return facts
    file = place.file or ""
    own = file if is_tokenizer_file(file) or file.endswith(".gguf") else None
    return read_tokenizer(place.folder, own)


def _judged(facts: TokenizerFacts, *, every_merge: bool) -> TokenizerFacts:
    """Find out whether the tokenizers library loads what was read."""
    vocabulary, merges = facts.vocabulary, facts.merges
    if vocabulary is None or not facts.parts:
        return facts
    parts = unloadable_parts(facts.parts, vocabulary.file)
    wrong = unloadable_merges(merges, vocabulary.base, vocabulary.file, every=every_merge)
    unread = "the merges in full: embcalc check reads them"
    return replace(
        facts,
        unloadable=(*parts, *wrong),
        merges=None,
        merges_unread=unread if sampled(merges) and not every_merge else None,
    )


def _document(folder: Folder, name: str, problems: _Problems) -> dict[str, Any] | None:
    try:
        return read_object(folder, name)
    except EmbcalcError as error:
        problems.add(name, error)
        return None


def _other_ids(folder: Folder, problems: _Problems, wrong: list[Problem]) -> Iterator[SpecialId]:
    for name in ID_FILES:
        document = _document(folder, name, problems)
        if document is not None:
            note_wrong_ids(Level(document, f"{name}:", wrong))
            yield from special_ids(document, f"{name}:")


def _with_weights(
    facts: ModelFacts, place: Located, problems: _Problems, *, weights: bool
) -> tuple[ModelFacts, Checkpoint | None]:
    names = place.folder.names()
    is_adapter = place.file is None and ADAPTER_CONFIG in names
    file = adapter_weights(names) if is_adapter else place.file
    if file is not None and not file.endswith(WEIGHTS):
        file = None
        weights = weights and place.file is None
    if not weights:
        return replace(facts, no_weights="weights not asked for"), None
    if file is None and not _candidates(names):
        return replace(facts, no_weights="no weights"), None
    from embcalc.checkpoints import Wanted, open_checkpoint  # numpy: text files do not need it

    try:
        checkpoint = open_checkpoint(place.folder, file, Wanted())
    except EmbcalcError as error:
        _weights_problem(place.folder, file, error, problems)
        return replace(facts, no_weights="the weights cannot be read"), None
    if facts.config is None and facts.config_absent is None:
        facts = replace(facts, config=_config_of_gguf(checkpoint))
    tables = _tables(checkpoint.tensors, facts.config)
    facts = replace(
        facts,
        checkpoint_problems=checkpoint.problems,
        tensors=len(checkpoint.tensors),
        checkpoint_file=next(iter(checkpoint.files), None),
        headers_unread=checkpoint.unread,
    )
    if is_adapter:
        document = _document(place.folder, ADAPTER_CONFIG, problems)
        brought = _new_rows(place.folder, problems)
        adapter = adapter_tables(checkpoint.tensors, tables, document, new_rows=brought)
        reason = "the adapter stores no embedding rows of its own (give --base)"
        return replace(facts, tables=tables, adapter=adapter, no_weights=reason), None
    return replace(facts, tables=tables), checkpoint


def _config_of_gguf(checkpoint: Checkpoint) -> ModelConfig | None:
    """The vocabulary size that the metadata of a GGUF file state; None where they do not."""
    key = f"{checkpoint.metadata.get('general.architecture')}.vocab_size"
    size = checkpoint.metadata.get(key, "")
    if checkpoint.format != "gguf" or not size.isdecimal() or not int(size):
        return None
    file = checkpoint.files[0]
    config = parse_config({"vocab_size": int(size)}, file, [])
    return replace(config, vocab_source=f"{file}:{key}")


def _new_rows(folder: Folder, problems: _Problems) -> int:
    try:
        return new_rows(folder)
    except EmbcalcError as error:
        _weights_problem(folder, NEW_ROWS, error, problems)
        return 0


def _tables(tensors: Mapping[str, Any], config: ModelConfig | None) -> tuple[EmbeddingTable, ...]:
    return embedding_tables(
        tensors,
        vocab_size=config.vocab_size if config else None,
        model_type=config.model_type if config else None,
    )


def _candidates(names: tuple[str, ...]) -> list[str]:
    """Files that may hold tensors."""
    return [
        name
        for name in names
        if name.endswith((*WEIGHTS, ".safetensors.index.json", ".bin.index.json"))
        and not name.rpartition("/")[2].startswith(_NO_WEIGHTS)
    ]


def _weights_problem(
    folder: Folder, file: str | None, error: EmbcalcError, problems: _Problems
) -> None:
    if problems.remote and isinstance(error, SourceError):
        raise error
    pointers = []
    for name in [file] if file else _candidates(folder.names()):
        try:
            content = folder.open(name).read(0, 1024)
        except EmbcalcError:
            continue
        if is_lfs_pointer(content):
            pointers.append(problem_of(name, lfs_pointer_error(name, content)))
    problems.found.extend(pointers)
    if not pointers:
        name = file or (_candidates(folder.names()) or ["weights"])[0]
        problems.add(name, error, weights=True)
