"""Sizes: rows of the table, rows of the head, vocab_size of the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.slices import slice_of
from embcalc.core.tables import EmbeddingTable, Role
from embcalc.core.widths import stated_widths
from embcalc.core.wording import count

CONFIG = "config.json"
_ONE_RANK = re.compile(r"(consolidated|mp_rank|model_part|tp_rank)\D?\d")
"""Files of tensor-parallel training: each may hold some columns of every table."""


@rule("EMB102", Severity.ERROR, "config", "weights")
def vocab_size_differs_from_rows(facts: ModelFacts) -> Iterator[Problem]:
    """The configuration's vocab_size is not the number of embedding rows.

    The model is built with vocab_size rows, then loading the stored table fails with "size
    mismatch for embed_tokens.weight", or the rows are drawn anew without a word. Classes whose
    table differs by design (mllama, moshi, cpmant and others) are known and not reported.

    Fix: write the number of stored rows into the configuration. Do not cut the table to the
    tokenizer's length: rows past the last token are padding.

    Before:
        config.json: "vocab_size": 32022      model.safetensors: embed_tokens [32256, 2048]
    After:
        config.json: "vocab_size": 32256      model.safetensors: embed_tokens [32256, 2048]
    """
    config, rows = facts.config, facts.embedding_rows
    if config is None or rows is None or config.vocab_size is None or facts.adapter:
        return
    if rows == config.vocab_size or _designed(facts, rows) or facts.shards > 1:
        return
    bare = facts.vocab_size is None
    own = facts.document != {} or bare
    yield Problem(
        f"{config.vocab_source} is {config.vocab_size:,}, but {_table(facts)} has {rows:,} rows",
        hint=f'write "vocab_size": {rows} into config.json{_place(facts)}'
        if own
        else "the header of the file contradicts itself; convert the model again",
        file=CONFIG if own else facts.weights_file,
        severity=Severity.WARNING if bare else None,
    )


def _designed(facts: ModelFacts, rows: int) -> bool:
    config = facts.config
    if config is None:
        return False
    both = facts.table(Role.TOKEN) is None
    return (
        config.design.allows(rows)
        or rows == config.encoder_vocab_size
        or (both and rows == config.design.head_rows)
    )


def _table(facts: ModelFacts) -> str:
    return facts.embedding.name if facts.embedding else "the token table"


def _place(facts: ModelFacts) -> str:
    source = facts.config.vocab_source if facts.config else None
    path = (source or "").removeprefix("config.json:").rpartition(".")[0]
    return f" (in {path})" if path and not path.startswith("class default") else ""


@rule("EMB103", Severity.ERROR, "weights", "head")
def head_rows_differ(facts: ModelFacts) -> Iterator[Problem]:
    """The output head has another number of rows than the token table.

    Loading reports "size mismatch for lm_head.weight"; a half-done resize is the usual cause: the
    table was grown, the head (or its bias) was not. Classes that differ by design are known.

    Fix: resize both together, with model.resize_token_embeddings(n) of a current transformers.

    Before:
        bert.embeddings.word_embeddings [119552, 768]      cls.predictions.decoder [119547, 768]
    After:
        bert.embeddings.word_embeddings [119552, 768]      cls.predictions.decoder [119552, 768]
    """
    rows, head, config = facts.embedding_rows, facts.head_rows, facts.config
    if rows is None or head is None or rows == head or facts.adapter:
        return
    if config and (config.tied or head in _designed_heads(facts)):
        return
    table = facts.table(Role.OUTPUT)
    yield Problem(
        f"the output head {table.name if table else ''} has {head:,} rows, "
        f"the token table {_table(facts)} has {rows:,}",
        hint=f"resize both to one size: model.resize_token_embeddings({max(rows, head)})",
        file=table.tensor.file if table else None,
    )


def _designed_heads(facts: ModelFacts) -> set[int | None]:
    config = facts.config
    if config is None:
        return set()
    heads = {config.design.head_rows, config.decoder_vocab_size}
    if config.design.reason:
        heads.add(config.vocab_size)
    return heads if config.design.reason or config.decoder_vocab_size else set()


@rule("EMB111", Severity.WARNING, "config")
def nested_vocab_size_differs(facts: ModelFacts) -> Iterator[Problem]:
    """The outer vocab_size is not that of the nested text configuration.

    Programs that read only the outer key size their buffers wrongly; transformers takes the
    nested one.

    Fix: give both the same number, or remove the outer key.

    Before:
        {"vocab_size": 257152, "text_config": {"vocab_size": 151552}}
    After:
        {"text_config": {"vocab_size": 151552}}
    """
    config = facts.config
    if config is None or config.vocab_size is None:
        return
    if config.outer_vocab_size in (None, config.vocab_size):
        return
    if (config.vocab_source or "").startswith("class default"):
        return
    yield Problem(
        f"vocab_size is {config.outer_vocab_size:,} outside and {config.vocab_size:,} in "
        f"{config.vocab_source}",
        hint=f'write "vocab_size": {config.vocab_size} in both places, or remove the outer one',
        file=CONFIG,
    )


@rule("EMB112", Severity.NOTE, "config", "weights")
def rows_by_design(facts: ModelFacts) -> Iterator[Problem]:
    """The table has other than vocab_size rows, and this class of model is made so.

    This is fine. Programs that take vocab_size for the number of rows are wrong about it.

    Fix: nothing to do.

    Before:
        mllama: "vocab_size": 128256, embed_tokens [128264, 4096], lm_head [128256, 4096]
    After:
        the same: the 8 rows more are for the image token, which is never predicted
    """
    config, rows = facts.config, facts.embedding_rows
    if config is None or config.design.reason is None or rows is None:
        return
    if rows != config.vocab_size or facts.head_rows not in (None, rows):
        yield Problem(
            f"{rows:,} rows for a vocab_size of {config.vocab_size or 0:,}: {config.design.reason}",
            hint="this is fine: the model's class is made so",
            file=CONFIG,
        )


@rule("EMB114", Severity.NOTE, "vocab_size", "weights")
def vocabulary_shard(facts: ModelFacts) -> Iterator[Problem]:
    """The table is one of several equal shards of the vocabulary.

    Checkpoints of tensor-parallel training keep a slice of the rows in each file. The rows of all
    shards together make up the vocabulary.

    Fix: nothing to do for training; concatenate the shards along the rows to convert.

    Before:
        consolidated.00.pth: tok_embeddings [16032, 8192]      "vocab_size": 128256
    After:
        model.safetensors: embed_tokens [128256, 8192]
    """
    found = slice_of(facts.tables, facts.vocab_size)
    if found is not None:
        yield found


@rule("EMB118", Severity.ERROR, "config", "weights")
def width_differs_from_config(facts: ModelFacts) -> Iterator[Problem]:
    """The stored rows are not as wide as the configuration says.

    The model is built with the configuration's width, then loading the stored table fails with
    "size mismatch for embed_tokens.weight": the configuration is that of a model of another size.
    Tables that are factorised (ALBERT, ELECTRA, OPT-350m) are judged by embedding_size or
    word_embed_proj_dim; where a model has several parts, the width of any of them is accepted.

    Fix: take the configuration that belongs to these weights.

    Before:
        config.json: "hidden_size": 768      model.safetensors: word_embeddings [30522, 384]
    After:
        config.json: "hidden_size": 384      model.safetensors: word_embeddings [30522, 384]
    """
    table, config = facts.table(Role.TOKEN), facts.config
    if table is None or config is None or not _width_is_plain(facts, table):
        return
    source = config.embedding_source or ""
    known = stated_widths(facts.document, every_key=not config.known_type)
    if not source.startswith(f"{CONFIG}:") or table.width in known:
        return
    yield Problem(
        f"{source} is {config.embedding_size:,}, but the rows of {table.name} are "
        f"{table.width:,} wide",
        hint="take the config.json that belongs to these weights: loading fails with a size "
        "mismatch",
        file=CONFIG,
    )


def _width_is_plain(facts: ModelFacts, table: EmbeddingTable) -> bool:
    """Whether a table was found by its name, is whole, and holds its weights as they are."""
    file = table.tensor.file.rpartition("/")[2]
    whole = not _ONE_RANK.match(file) and facts.shards == 1 and facts.adapter is None
    return whole and table.recognised == "name" and table.tensor.dtype.is_weight


@rule("EMB401", Severity.ERROR, "config", "weights", "head")
def tied_tables_differ_in_rows(facts: ModelFacts) -> Iterator[Problem]:
    """The configuration ties table and head, but both are stored with different rows.

    Loading keeps one of the two matrices and drops the other; which one depends on the program.

    Fix: store one matrix, or untie them ("tie_word_embeddings": false) and make the sizes agree.

    Before:
        "tie_word_embeddings": true      embed_tokens [32001, 4096]      lm_head [32000, 4096]
    After:
        "tie_word_embeddings": true      embed_tokens [32001, 4096]
    """
    rows, head, config = facts.embedding_rows, facts.head_rows, facts.config
    if config is None or not config.tied or rows == head or rows is None or head is None:
        return
    if head in _designed_heads(facts):
        return
    yield Problem(
        f"{config.tied_from} ties table and head, but {count(rows, 'row')} and "
        f"{count(head, 'row')} are stored",
        hint='remove the shorter one, or set "tie_word_embeddings": false and resize both',
        file=CONFIG,
    )
