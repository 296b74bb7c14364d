"""Tying: whether table and head are one matrix, as the config says."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.row_facts import RowFacts


@rule("EMB402", Severity.ERROR, "tying", "config")
def head_is_missing(facts: RowFacts) -> Iterator[Problem]:
    """The configuration says untied, but no output head is stored.

    Loading gives the head random values, with a warning that is easily missed; the model then
    writes noise. Where the config does not say what the model is for, it is a warning.

    Fix: store lm_head.weight, or set "tie_word_embeddings": true if they were tied.

    Before:
        "tie_word_embeddings": false      weights: embed_tokens.weight
    After:
        "tie_word_embeddings": true      weights: embed_tokens.weight
    """
    tying = facts.tying
    if tying is not None and tying.verdict == "head-missing":
        yield Problem(
            tying.reason,
            hint='store the head, or set "tie_word_embeddings": true if it was tied',
            file="config.json",
            severity=None if facts.expects_head else Severity.WARNING,
        )


@rule("EMB403", Severity.ERROR, "tying", "config")
def tying_conflicts_with_values(facts: RowFacts) -> Iterator[Problem]:
    """Config and weights contradict each other about tying.

    The configuration ties table and head, but both are stored with different values: loading
    keeps one of them, and which one depends on the program. Merging an adapter that trained only
    one of the two leaves a model so. Or the configuration says untied and the input table is the
    one that is not stored.

    Fix: set "tie_word_embeddings": false if the head was trained by itself; otherwise store one
    matrix.

    Before:
        "tie_word_embeddings": true      embed_tokens.weight ≠ lm_head.weight
    After:
        "tie_word_embeddings": false      embed_tokens.weight ≠ lm_head.weight
    """
    tying, model = facts.tying, facts.model
    if tying is None or tying.verdict != "conflict":
        return
    rows, head = model.embedding_rows, model.head_rows
    if rows is not None and head is not None and rows != head:
        return  # EMB401 says so
    yield Problem(
        tying.reason,
        hint='set "tie_word_embeddings": false if the head was trained by itself; otherwise store '
        "one matrix",
        file="config.json",
    )


@rule("EMB404", Severity.NOTE, "tying", "both tables")
def head_stored_twice(facts: RowFacts) -> Iterator[Problem]:
    """Table and head are bit-equal and both stored: one of them is redundant.

    It costs disk and download, nothing else. Where the configuration says untied, training will
    let the two drift apart.

    Fix: save with tied weights; safetensors then stores the matrix once.

    Before:
        embed_tokens.weight and lm_head.weight, 1.05 GB each, equal
    After:
        embed_tokens.weight, "tie_word_embeddings": true
    """
    tying, head = facts.tying, facts.head
    if tying is not None and head is not None and tying.verdict == "tied-stored-twice":
        yield Problem(
            tying.reason,
            hint="save with tied weights to store the matrix once",
            file=head.table.tensor.file,
        )
