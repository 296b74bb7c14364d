"""Ids: tokens without a row, rows without a token."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.facts import MEDIA, Limit, ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.padding import rounding
from embcalc.core.vocabulary import Token
from embcalc.core.wording import KEPT_IDS, SHOWN, count, id_list, listed, quoted, token_list

GEMMA_PLACEHOLDER = "<image_soft_token>"
GEMMA_ID = 262_144


def _where(limit: Limit) -> str:
    said = " (by config only: no weights were read)" if limit.by_config_only else ""
    return f"{count(limit.rows, 'row')} of {limit.source}{said}"


def _placeholder(facts: ModelFacts, tokens: list[Token]) -> bool:
    """Gemma 3's text models share the tokenizer of those with eyes: one token has no row."""
    if [token.text for token in tokens] != [GEMMA_PLACEHOLDER]:
        return False
    gemma = any(kind.startswith(("gemma3", "gemma-3")) for kind in facts.model_types)
    return gemma or (tokens[0].id == GEMMA_ID and not facts.model_types)


@rule("EMB101", Severity.ERROR, "tokenizer", "size")
def token_without_row(facts: ModelFacts) -> Iterator[Problem]:
    """A token's id lies past the last embedding row.

    Looking it up raises "IndexError: index out of range in self" on a CPU and "device-side assert
    triggered" on a GPU. Usually tokens were added to the tokenizer and the model was never
    resized, or an added_tokens.json of another model lies in the folder. Without weights the
    configuration's vocab_size is taken for the number of rows, and the message says so.

    Fix: grow the model with model.resize_token_embeddings(n, pad_to_multiple_of=64) and save it,
    or remove the token from the tokenizer. --allow-token TEXT accepts a token without a row.

    Before:
        added_tokens.json: {"<pad>": 32000}      embed_tokens [32000, 4096]
    After:
        added_tokens.json removed, "pad_token": "</s>"      embed_tokens [32000, 4096]
    """
    limit = facts.limit
    ids = facts.ids_from(limit.rows) if limit else ()
    tokens = facts.tokens(ids[:SHOWN])
    if not limit or not ids or _placeholder(facts, tokens):
        return
    need = facts.vocabulary.max_id + 1
    yield Problem(
        f"{count(len(ids), 'token')} past the {_where(limit)}: {token_list(tokens, len(ids))}",
        hint=f"grow the model: model.resize_token_embeddings({need}, pad_to_multiple_of=64), or "
        f"remove the {'token' if len(ids) == 1 else 'tokens'} from the tokenizer",
        file=tokens[0].file or facts.vocabulary.file,
        ids=tuple(ids[:KEPT_IDS]),
    )


@rule("EMB113", Severity.WARNING, "tokenizer", "size")
def placeholder_without_row(facts: ModelFacts) -> Iterator[Problem]:
    """Gemma 3's image placeholder has no row in the text-only models.

    All models of the family share one tokenizer; its `<image_soft_token>` is id 262,144, and a
    text-only model has 262,144 rows. Ordinary text never yields that token; a text that spells it
    out raises IndexError.

    Fix: accept it with --allow-token '<image_soft_token>', or reject that text in the input.

    Before:
        embcalc check-vocab google/gemma-3-1b-it
    After:
        embcalc check-vocab google/gemma-3-1b-it --allow-token '<image_soft_token>'
    """
    limit = facts.limit
    tokens = facts.tokens(facts.ids_from(limit.rows)[:SHOWN]) if limit else []
    if limit and _placeholder(facts, tokens):
        yield Problem(
            f"only the image placeholder {token_list(tokens)} lies past the {_where(limit)}",
            hint=f"text without images never yields it: --allow-token '{GEMMA_PLACEHOLDER}'",
            file=facts.vocabulary.file,
            ids=(tokens[0].id,),
        )


@rule("EMB104", Severity.ERROR, "size")
def special_id_without_row(facts: ModelFacts) -> Iterator[Problem]:
    """A special id of the configuration lies past the last row, or the end token is negative.

    The first padded batch or the first generated sequence fails with "index out of range in
    self"; with an end token below 0 generation never stops. The ids of config.json, of its nested
    text configuration, of generation_config.json and of the processor are looked at.

    Fix: name the id of a token that exists, or grow the model.

    Before:
        config.json: "eos_token_id": 52000, "vocab_size": 52000
    After:
        config.json: "eos_token_id": 0, "vocab_size": 52000
    """
    limit = facts.limit
    if limit is None:
        return
    largest = max(limit.rows, _decoder_rows(facts))
    for special in facts.stated_ids:
        wrong = [token_id for token_id in special.ids if token_id >= largest]
        if special.name.startswith("eos"):
            wrong += [token_id for token_id in special.ids if token_id < 0]
        for token_id in wrong:
            reason = "below 0" if token_id < 0 else f"past the {_where(limit)}"
            yield Problem(
                f"{special.source} is {token_id}, {reason}",
                hint="name the id of a token that exists, or grow the model",
                file=special.source.partition(":")[0],
                ids=(token_id,),
            )


def _decoder_rows(facts: ModelFacts) -> int:
    """Ids of encoder-decoder models may belong to the decoder's own vocabulary."""
    config = facts.config
    if config is None or config.decoder_vocab_size is None:
        return 0
    return max(config.decoder_vocab_size, facts.head_rows or 0)


@rule("EMB105", Severity.ERROR, "size")
def emitted_id_without_row(facts: ModelFacts) -> Iterator[Problem]:
    """The tokenizer's post-processor or padding emits an id that has no row.

    The ids in `post_processor` and `padding.pad_id` of tokenizer.json are put into every sequence
    as they are written, whatever the vocabulary says.

    Fix: correct the id in tokenizer.json, or save the tokenizer again with the library.

    Before:
        "padding": {"pad_id": 32000, "pad_token": "<pad>"}      embed_tokens [32000, 4096]
    After:
        "padding": {"pad_id": 2, "pad_token": "</s>"}      embed_tokens [32000, 4096]
    """
    limit = facts.limit
    for emitted in facts.tokenizer.emitted:
        if limit and emitted.id >= limit.rows and emitted.text not in facts.allowed:
            yield Problem(
                f"{emitted.where} emits {quoted(emitted.text)} as {emitted.id}, past the "
                f"{_where(limit)}",
                hint=f"correct the id in {emitted.file}, or save the tokenizer again",
                file=emitted.file,
                ids=(emitted.id,),
            )


@rule("EMB106", Severity.ERROR, "tokenizer")
def two_tokens_on_one_row(facts: ModelFacts) -> Iterator[Problem]:
    """Two tokens have one effective id: they share a row.

    Added tokens are appended after the *number* of base tokens; where the base vocabulary has a
    hole, that number is an id in use. Both tokens then mean the same to the model, and decoding
    gives only one of them.

    Fix: close the hole in the base vocabulary with a placeholder token, and save again.

    Before:
        "vocab": {"a": 0, "b": 1, "c": 3}      "added_tokens": [{"id": 4, "content": "<x>"}]
    After:
        "vocab": {"a": 0, "b": 1, "[unused2]": 2, "c": 3}      (now <x> becomes 4)
    """
    vocabulary = facts.vocabulary
    met = vocabulary.shared_ids
    if met:
        pairs = [f"{quoted(one)} and {quoted(other)} ({token_id})" for one, other, token_id in met]
        yield Problem(
            f"two tokens on one id: {listed(pairs)}",
            hint="fill the holes of the base vocabulary with placeholder tokens and save again",
            file=vocabulary.file,
            ids=id_list(token_id for _, _, token_id in met),
        )


@rule("EMB107", Severity.WARNING, "tokenizer")
def holes_in_ids(facts: ModelFacts) -> Iterator[Problem]:
    """Some ids below the largest belong to no token.

    len(tokenizer) counts tokens, not ids: it is smaller than largest id + 1. Whoever resizes the
    model to len(tokenizer) cuts off rows that are in use.

    Fix: size by the largest id + 1; where you own the vocabulary, fill the holes.

    Before:
        model.resize_token_embeddings(len(tokenizer))
    After:
        model.resize_token_embeddings(max(tokenizer.get_vocab().values()) + 1)
    """
    vocabulary = facts.vocabulary
    if not vocabulary.holes or facts.tokenizer.base_holes_by_design:
        return
    ids = vocabulary.hole_ids(1000)
    shown = listed([str(token_id) for token_id in ids], vocabulary.holes)
    yield Problem(
        f"{count(vocabulary.holes, 'id')} below {vocabulary.max_id:,} without a token: {shown}",
        hint=f"size the model by the largest id + 1 ({vocabulary.max_id + 1}), "
        f"never by len(tokenizer) ({vocabulary.size})",
        file=vocabulary.file,
        ids=ids,
    )


def _spare(facts: ModelFacts) -> tuple[int, int] | None:
    """Rows for text tokens and largest id + 1, where there are more rows; else None.

    Where the class adds rows of its own, only the first vocab_size rows are for text.
    """
    limit, config = facts.limit, facts.config
    if limit is None:
        return None
    rows = limit.rows
    if config and config.design.reason and config.vocab_size:
        rows = min(rows, config.vocab_size)
    used = _largest_used(facts, rows) + 1
    return (rows, used) if rows > used else None


def _largest_used(facts: ModelFacts, rows: int) -> int:
    """The largest id that a token, or a media placeholder of the configuration, stands for."""
    media = (
        token_id
        for special in facts.stated_ids
        if special.name.startswith(MEDIA)
        for token_id in special.ids
        if token_id < rows
    )
    return max(facts.vocabulary.max_id, *media, -1)


def _reason(facts: ModelFacts, rows: int, used: int) -> str | None:
    if facts.tokenizer.open_ended:
        return "special tokens of this format are not in its file"
    return rounding(rows, used, facts.config.model_type if facts.config else None)


@rule("EMB108", Severity.WARNING, "tokenizer", "size")
def rows_without_tokens(facts: ModelFacts) -> Iterator[Problem]:
    """The table has more rows than tokens, and no rounding explains how many.

    Padding is a multiple of 8, 64, 128 … and small. Other numbers of spare rows mean that tokens
    were lost: an added_tokens.json that was not uploaded, a tokenizer of another model, or rows
    that stand for images or sound.

    Fix: restore the missing tokenizer files, or compare with the model it was made from (--base).

    Before:
        vicuna-13b: embed_tokens [32001, 5120], tokenizer without its added_tokens.json
    After:
        vicuna-13b: embed_tokens [32001, 5120], added_tokens.json: {"[PAD]": 32000}
    """
    spare = _spare(facts)
    if spare is None or facts.shards > 1 or facts.adapter:
        return
    rows, used = spare
    if _reason(facts, rows, used) is not None:
        return
    share = (rows - used) / rows
    many = f" ({share:.0%} of the table: rows for images or sound?)" if share > 0.05 else ""
    yield Problem(
        f"{count(rows - used, 'row')} from {used:,} on without a token{many}; "
        f"{rows:,} is no rounding of {used:,}: tokens were lost",
        hint="restore the tokenizer files that the model was trained with (added_tokens.json?)",
        file=facts.vocabulary.file,
        ids=id_list(range(used, min(rows, used + 1000))),
    )


@rule("EMB109", Severity.NOTE, "tokenizer", "size")
def padding_rows(facts: ModelFacts) -> Iterator[Problem]:
    """The table has a few rows more than tokens: padding.

    This is fine: rounded sizes are faster and can be split over devices. Two things to know: such
    an id can be sampled and decodes to nothing, and cutting the table to the tokenizer's length
    breaks whoever expects the original shape.

    Fix: nothing to do. Do not call model.resize_token_embeddings(len(tokenizer)) on it; mask the
    logits past the last token where such ids are sampled.

    Before:
        model.resize_token_embeddings(len(tokenizer))      # 151936 -> 151665
    After:
        if len(tokenizer) > model.get_input_embeddings().num_embeddings: resize, else leave it
    """
    spare = _spare(facts)
    reason = _reason(facts, *spare) if spare else None
    if spare is None or reason is None or facts.shards > 1 or facts.adapter:
        return
    rows, used = spare
    yield Problem(
        f"{count(rows - used, 'row')} past the last token ({used:,} ids, {rows:,} rows): {reason}",
        hint="this is fine: they can be sampled but decode to nothing; do not shrink the table "
        "with resize_token_embeddings(len(tokenizer))",
        file=facts.vocabulary.file,
        ids=id_list(range(used, min(rows, used + 1000))),
    )


@rule("EMB115", Severity.NOTE, "tokenizer")
def tokens_beyond_the_base(facts: ModelFacts) -> Iterator[Problem]:
    """Added tokens come on top of the base vocabulary.

    This is fine: tokenizer.vocab_size counts the base alone, len(tokenizer) counts all. Compare
    the model's rows with the largest id, never with tokenizer.vocab_size.

    Fix: nothing to do.

    Before:
        assert model.config.vocab_size == tokenizer.vocab_size      # 128256 == 128000
    After:
        assert max(tokenizer.get_vocab().values()) < model.config.vocab_size
    """
    vocabulary = facts.vocabulary
    if vocabulary.appended:
        yield Problem(
            f"{vocabulary.size:,} tokens: {vocabulary.base_size:,} of the base vocabulary and "
            f"{vocabulary.size - vocabulary.base_size:,} added",
            hint="this is fine: compare rows with the largest id, not with tokenizer.vocab_size",
            file=vocabulary.file,
        )
