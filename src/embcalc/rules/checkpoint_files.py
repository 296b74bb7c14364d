"""Files and shards of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.packing import assumed_packing
from embcalc.core.row_facts import RowFacts
from embcalc.core.wording import count


@rule("EMB603", Severity.ERROR)
def unreadable_weights(facts: ModelFacts) -> Iterator[Problem]:
    """The weights cannot be read: cut short, another format under this name, a broken header.

    Loading fails. What depends on the tensors is not checked, and listed as such.

    Fix: copy or download the file again; compare its size with the original's.

    Before:
        model.safetensors: 1,048,576 of 4,976,698,672 bytes
    After:
        $ hf download org/model model.safetensors --local-dir .
    """
    for problem in facts.problems:
        if problem.weights and not problem.pointer:
            yield Problem(problem.message, problem.hint, problem.file)


@rule("EMB601", Severity.ERROR)
def broken_checkpoint_files(facts: ModelFacts) -> Iterator[Problem]:
    """Files of the checkpoint do not belong together, or hold less than they promise.

    An index that names an absent shard, tensors that are not in the shard that the index names,
    slices of a partitioned save: loading fails, or leaves tensors at random values.

    Fix: upload the missing file, or write the checkpoint and its index again in one go.

    Before:
        model.safetensors.index.json names model-00003-of-00004.safetensors, which is absent
    After:
        all four shards beside the index
    """
    for problem in facts.checkpoint_problems:
        if problem.severity in (None, Severity.ERROR):
            yield problem


@rule("EMB602", Severity.WARNING)
def untidy_checkpoint_files(facts: ModelFacts) -> Iterator[Problem]:
    """The folder holds checkpoint files that are stale, stray or stored twice.

    Programs choose differently among them: what was checked here may not be what another program
    loads.

    Fix: remove the files that do not belong to the model.

    Before:
        model.safetensors beside model-00001-of-00002.safetensors and an index
    After:
        model-00001-of-00002.safetensors, model-00002-of-00002.safetensors and their index
    """
    for problem in facts.checkpoint_problems:
        if problem.severity in (Severity.WARNING, Severity.NOTE):
            yield problem
    yield from assumed_packing(facts.tables)


@rule("EMB604", Severity.ERROR)
def rows_cannot_be_read(facts: RowFacts) -> Iterator[Problem]:
    """The rows of a table cannot be read, though its header promises them.

    The disk or the network fails, or something else writes to the file.

    Fix: wait until nothing writes to the file; copy or download it again.

    Before:
        model.safetensors was cut short while it was read
    After:
        model.safetensors with all of its bytes
    """
    yield from facts.problems


@rule("EMB605", Severity.ERROR, "values")
def values_are_no_weights(facts: RowFacts) -> Iterator[Problem]:
    """Matrices beside the tables hold nothing but zeros, or numbers that no training leaves.

    The first rows of each matrix of a local checkpoint are read. Matrices of zeros were lost by a
    download or a conversion; a single one may be meant so and is a warning. Numbers between 1e-19
    and 1e37 are other numbers read wrongly: a big-endian file, packed bytes taken for floats.

    Fix: compare the file's checksum with the original's; download or convert it again.

    Before:
        27 of 339 matrices hold nothing but zeros
    After:
        339 matrices with weights
    """
    yield from facts.value_problems


@rule("EMB606", Severity.WARNING)
def no_token_table(facts: ModelFacts) -> Iterator[Problem]:
    """The weights hold no token table and no output head, so nothing about rows is checked.

    A file without any tensor is an error: whatever wrote it lost the model. Tables under unknown
    names are found by their size where the configuration states vocab_size. Models without a
    vocabulary (vision, audio) have none, and GGUF files that hold a vocabulary alone are made so:
    a note.

    Fix: save the whole state_dict; see what the file holds with `embcalc inspect FILE`.

    Before:
        model.safetensors: 0 tensors
    After:
        model.safetensors: model.embed_tokens.weight and the others
    """
    if facts.tensors is None or facts.adapter or facts.tables or facts.without_table_by_design:
        return
    if any(problem.severity is Severity.ERROR for problem in facts.checkpoint_problems):
        return  # the table may lie in what is missing, and EMB601 says so
    if not facts.tensors and _is_vocabulary_file(facts):
        yield Problem(
            "the file holds a vocabulary and no tensors",
            hint="this is fine for trying a tokenizer; the model is in another file",
            file=facts.checkpoint_file,
            severity=Severity.NOTE,
        )
    elif not facts.tensors:
        yield Problem(
            "the weights hold no tensors at all",
            hint="save the model again: whatever wrote this file lost it",
            file=facts.checkpoint_file,
            severity=Severity.ERROR,
        )
    else:
        yield _without_table(facts, facts.tensors)


def _is_vocabulary_file(facts: ModelFacts) -> bool:
    """Whether the one file is a GGUF file with tokens, as llama.cpp writes for its tests."""
    vocabulary = facts.tokenizer.vocabulary
    return vocabulary is not None and facts.checkpoint_file == vocabulary.file


def _without_table(facts: ModelFacts, tensors: int) -> Problem:
    textual = facts.vocab_size is not None or facts.tokenizer.vocabulary is not None
    return Problem(
        f"no token table and no output head among {count(tensors, 'tensor')}",
        hint="is it the whole model? embcalc inspect --tensor NAME takes a table by its name",
        file=facts.checkpoint_file,
        severity=None if textual else Severity.NOTE,
    )
