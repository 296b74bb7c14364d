"""Number of rows: odd sizes, and sizes against the model that it was made from."""

from __future__ import annotations

from collections.abc import Iterator

from embcalc.core.class_defaults import class_defaults
from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.padding import next_multiple

ENCODERS = frozenset(
    {
        "bert",
        "roberta",
        "xlm-roberta",
        "xlm-roberta-xl",
        "camembert",
        "electra",
        "deberta",
        "deberta-v2",
        "albert",
        "mpnet",
        "distilbert",
        "luke",
        "mluke",
        "ernie",
        "esm",
        "longformer",
        "big_bird",
        "layoutlm",
        "layoutlmv2",
        "layoutlmv3",
        "markuplm",
        "nystromformer",
        "funnel",
        "convbert",
        "data2vec-text",
        "squeezebert",
        "mobilebert",
        "ibert",
        "clip",
        "clip_text_model",
        "siglip",
        "whisper",
        "mbart",
        "m2m_100",
        "marian",
        "blip",
    }
)
"""Models that are not split over devices: an odd number of rows costs them nothing."""


@rule("EMB110", Severity.WARNING, "tokenizer", "weights")
def odd_row_count(facts: ModelFacts) -> Iterator[Problem]:
    """Added tokens left the table with a number of rows that is no multiple of 8.

    Tensor-parallel engines cannot split such a table evenly, quantising kernels may refuse it,
    and matrix products over it are slower. Models that were published with an odd size (GPT-2 has
    50,257 rows, BERT 30,522) are not reported.

    Fix: model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=64), then save.

    Before:
        tokenizer.add_tokens(["[PAD]"]); model.resize_token_embeddings(len(tokenizer))      # 32001
    After:
        model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=64)      # 32064
    """
    rows = facts.embedding_rows
    if rows is None or rows % 8 == 0 or facts.adapter or rows != facts.vocabulary.max_id + 1:
        return
    if not facts.vocabulary.appended or ENCODERS.intersection(facts.model_types):
        return
    if facts.vocabulary.base_size % 8 and not _even_by_class(facts):
        return
    if rows in _class_sizes(facts):
        return
    yield Problem(
        f"{rows:,} rows, not divisible by 8, after {len(facts.vocabulary.appended):,} added "
        f"token(s): engines that split the table may refuse it",
        hint="model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=64) gives "
        f"{next_multiple(rows, 64)} rows",
        file=facts.weights_file,
    )


def _class_sizes(facts: ModelFacts) -> set[int]:
    defaults = [class_defaults(kind) for kind in facts.model_types]
    sizes = {d.vocab_size for d in defaults if d} | {d.text_vocab_size for d in defaults if d}
    return {size for size in sizes if size}


def _even_by_class(facts: ModelFacts) -> bool:
    """Whether tables of this class are made with a multiple of 8: then the odd one was resized."""
    sizes = _class_sizes(facts)
    return bool(sizes) and all(size % 8 == 0 for size in sizes)


@rule("EMB120", Severity.ERROR, "base")
def adapter_rows_differ_from_base(facts: ModelFacts) -> Iterator[Problem]:
    """The adapter stores embedding or head rows of another number than its base has.

    Loading fails with "size mismatch for base_model.model.model.embed_tokens.weight": the adapter
    was trained on a model that had been resized, and the base was not.

    Fix: resize the base to the adapter's rows before loading the adapter, with the tokenizer that
    lies beside the adapter.

    Before:
        model = PeftModel.from_pretrained(base, adapter)      # 32000 rows under 32004
    After:
        base.resize_token_embeddings(32004); model = PeftModel.from_pretrained(base, adapter)
    """
    adapter, base = facts.adapter, facts.base
    if adapter is None or base is None:
        return
    base_rows = base.embedding_rows or base.vocab_size
    base_head = base.head_rows or base_rows
    pairs = (
        ("embedding", adapter.embedding_rows, base_rows),
        ("head", adapter.head_rows, base_head),
    )
    brought = adapter.extra_rows > 0
    for what, own, other in pairs:
        if own is None or other is None or own == other:
            continue
        yield Problem(
            f"the adapter's {what} has {own:,} rows, its base {base.model} has {other:,}"
            + (f"; it brings the new {adapter.extra_rows:,} rows along" if brought else ""),
            hint=f"resize the base first: base.resize_token_embeddings({own})",
            severity=Severity.NOTE if brought else None,
        )


@rule("EMB121", Severity.WARNING, "base", "weights")
def fewer_rows_than_base(facts: ModelFacts) -> Iterator[Problem]:
    """The table has fewer rows than that of the model it was made from.

    Somebody resized to len(tokenizer): padding and reserved rows are gone, adapters and merges
    made for the parent do not fit any more, and trained rows past the last token are lost.

    Fix: keep the parent's number of rows: resize only when more are needed.

    Before:
        model.resize_token_embeddings(len(tokenizer))      # 250880 -> 250680
    After:
        if len(tokenizer) > rows: model.resize_token_embeddings(len(tokenizer))
    """
    rows, base = facts.embedding_rows, facts.base
    base_rows = base.embedding_rows or base.vocab_size if base else None
    if rows is None or base is None or base_rows is None or facts.adapter or rows >= base_rows:
        return
    yield Problem(
        f"{rows:,} rows, {base_rows - rows:,} fewer than {base.model} ({base_rows:,})",
        hint="start again from the parent's table: resize only when more rows are needed",
        file=facts.weights_file,
    )


@rule("EMB122", Severity.NOTE, "base", "weights")
def more_rows_than_base(facts: ModelFacts) -> Iterator[Problem]:
    """The table has more rows than that of the model it was made from.

    This is fine by itself: the model was grown for new tokens. Adapters, merges and draft models
    made for the parent need the same rows.

    Fix: nothing to do.

    Before:
        parent: 32000 rows
    After:
        child: 32064 rows
    """
    rows, base = facts.embedding_rows, facts.base
    base_rows = base.embedding_rows or base.vocab_size if base else None
    if rows is not None and base and base_rows and not facts.adapter and rows > base_rows:
        yield Problem(
            f"{rows:,} rows, {rows - base_rows:,} more than {base.model} ({base_rows:,})",
            hint="this is fine; adapters and merges made for the parent need the same rows",
            file=facts.weights_file,
        )
