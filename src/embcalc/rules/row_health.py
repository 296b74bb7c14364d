"""Rows: broken, empty, identical."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from embcalc.core.display import token_text
from embcalc.core.findings import Problem, Severity, rule
from embcalc.core.magnitudes import SWAPPED_SCALE
from embcalc.core.row_facts import RowFacts, Rows, TableRows
from embcalc.core.wording import SHOWN, count, id_list, listed, quoted

_UNUSED_PURPOSES = frozenset({"pad_token", "unk_token"})
"""Tokens whose rows may be empty: padding is masked, and many vocabularies know every text."""
_VITAL = ("bos_token", "eos_token", "cls_token", "sep_token", "mask_token", "decoder_start_token")


def _named(facts: RowFacts, rows: Sequence[int]) -> str:
    """`'<eos>' (2), ' word' (17) and 3 more`; row numbers alone where there is no vocabulary."""
    vocabulary = facts.model.tokenizer.vocabulary
    items = []
    for row in rows[:SHOWN]:
        text = token_text(vocabulary, row) if vocabulary else None
        items.append(f"row {row}" if text is None else f"{quoted(text)} ({row})")
    return listed(items, len(rows))


def _specials_first(facts: RowFacts, rows: Iterable[int]) -> list[int]:
    return sorted(rows, key=lambda row: (not facts.is_special(row), row))


def _why_nonfinite(rows: TableRows) -> str:
    if rows.strange:
        return "the other numbers are wrong as well (EMB503): one cause, so begin there"
    if rows.table.tensor.dtype.kind == "quantised":
        return "their scales are not finite: quantise the original again"
    return "training diverged or the file was damaged: go back to an earlier checkpoint"


def _in_table(facts: RowFacts, rows: TableRows) -> str:
    return f" of {rows.table.name}" if len(facts.tables) > 1 else ""


@rule("EMB501", Severity.ERROR, "rows")
def nonfinite_row(facts: RowFacts) -> Iterator[Problem]:
    """A row holds NaN or infinity.

    One such token in a batch makes every logit of its sequence NaN, and a single training step
    spreads it over the whole model. Training diverged, or the file was damaged.

    Fix: go back to a checkpoint from before, or give the row the mean of the others.

    Before:
        embed_tokens.weight[17] = [nan, nan, …]
    After:
        embed_tokens.weight[17] = [0.0021, -0.0134, …]
    """
    for rows in facts.tables:
        if rows.nonfinite:
            ordered = _specials_first(facts, rows.nonfinite)
            yield Problem(
                f"{count(len(ordered), 'row')}{_in_table(facts, rows)} with NaN or infinity: "
                f"{_named(facts, ordered)}",
                hint=_why_nonfinite(rows),
                file=rows.table.tensor.file,
                ids=id_list(rows.nonfinite),
            )


def _empty_table(rows: TableRows) -> bool:
    return len(rows.zero) == rows.table.rows > 0


@rule("EMB502", Severity.ERROR, "rows")
def table_of_zeros(facts: RowFacts) -> Iterator[Problem]:
    """Every number of a table is 0.

    All tokens look the same to the model. The table was never written: a partitioned save that
    did not gather, or a conversion that skipped it.

    Fix: save again from the process that holds the weights; convert again.

    Before:
        model.save_pretrained(...)      # under ZeRO-3, without gathering
    After:
        with deepspeed.zero.GatheredParameters(model.parameters()): model.save_pretrained(...)
    """
    for rows in facts.tables:
        if _empty_table(rows):
            yield Problem(
                f"all {count(rows.table.rows, 'row')} of {rows.table.name} are zero",
                hint="the table was never written: save or convert again, with gathered weights",
                file=rows.table.tensor.file,
            )


@rule("EMB503", Severity.ERROR, "rows")
def magnitudes_out_of_range(facts: RowFacts) -> Iterator[Problem]:
    """The numbers of a table are far larger or smaller than any training leaves them.

    Numbers up to 1e37 or down to 1e-19 are other numbers read wrongly: a big-endian file, bytes
    of a quantised tensor taken for floats, a wrong dtype in the header.

    Fix: find out how the file was written; convert it again from the original.

    Before:
        numpy.array(weights, dtype=">f4").tobytes()      # big-endian bytes in safetensors
    After:
        numpy.array(weights, dtype="<f4").tobytes()
    """
    for rows in facts.tables:
        if not rows.odd_size:
            continue
        typical = (rows.median_norm or 0) / max(1, rows.table.width) ** 0.5
        what = (
            f"{rows.table.name}: {rows.strange}"
            if rows.strange
            else f"numbers of {rows.table.name} are out of any usual range: typically "
            f"{typical:.2g}, longest row {rows.largest_norm:.2g}"
        )
        yield Problem(
            what,
            hint="big-endian bytes or a wrong dtype? convert again from the original",
            file=rows.table.tensor.file,
        )


@rule("EMB504", Severity.ERROR, "rows", "tokenizer")
def special_token_on_dead_row(facts: RowFacts) -> Iterator[Problem]:
    """A special token's row is zero or near zero: training never touched it.

    Near zero is a norm of at most 1/1000 of the median. Tokens that begin, end, separate or mask
    a sequence, or that the chat template writes, are an error: the model does not know what they
    mean, and a fine-tune that freezes the table never learns it. Other special tokens are a
    warning. The padding token and the unknown token may be empty.

    Fix: train the rows (LoRA: trainable_token_indices or modules_to_save), or begin with the mean
    of the other rows.

    Before:
        norm of row 128006 <|start_header_id|>: 3.1e-17      median of all rows: 0.65
    After:
        embed_tokens.weight[128006] = embed_tokens.weight.mean(0)
    """
    rows = facts.token
    if rows is None or _empty_table(rows):
        return
    dead = [row for row in _dead(facts, rows) if facts.is_special(row)]
    vital = tuple(row for row in dead if _is_vital(facts, row))
    others = tuple(row for row in dead if not _is_vital(facts, row))
    for chosen, severity in ((vital, Severity.ERROR), (others, Severity.WARNING)):
        if chosen:
            yield Problem(
                f"{count(len(chosen), 'special token')} on a row that is zero or near zero: "
                f"{_with_purposes(facts, chosen)}",
                hint="train these rows, or begin with the mean of the others",
                file=rows.table.tensor.file,
                ids=id_list(chosen),
                severity=severity,
            )


def _dead(facts: RowFacts, rows: TableRows) -> Rows:
    """Zero and near-zero rows of tokens that may not be empty, ascending."""
    dead = facts.real(sorted((*rows.zero, *rows.near_zero)))
    return tuple(row for row in dead if not _may_be_empty(facts, row))


def _may_be_empty(facts: RowFacts, row: int) -> bool:
    """Padding and unknown tokens, unless they have a further purpose."""
    purposes = facts.purposes.get(row, ())
    return bool(purposes) and _UNUSED_PURPOSES.issuperset(purposes)


def _is_vital(facts: RowFacts, row: int) -> bool:
    purposes = facts.purposes.get(row, ())
    return any(name in _VITAL or name == "chat template" for name in purposes)


def _with_purposes(facts: RowFacts, rows: Sequence[int]) -> str:
    text = _named(facts, rows)
    purposes = sorted({name for row in rows[:SHOWN] for name in facts.purposes.get(row, ())})
    return f"{text} ({', '.join(purposes)})" if purposes else text


@rule("EMB505", Severity.ERROR, "rows", "tokenizer")
def zero_row(facts: RowFacts) -> Iterator[Problem]:
    """An ordinary token's row is exactly zero.

    The model cannot tell these tokens apart, nor from padding. Rows past the tokenizer, named
    placeholders ([unused7]), the padding and the unknown token may be zero and are not reported.
    In GGUF and other quantised files it is a warning: conversion rounds near-zero rows to zero.

    Fix: take the rows from an earlier checkpoint, or begin with the mean of the others.

    Before:
        embed_tokens.weight[3821] = 0      # ' word'
    After:
        embed_tokens.weight[3821] = embed_tokens.weight.mean(0)
    """
    rows = facts.token
    if rows is None or _empty_table(rows):
        return
    zero = set(rows.zero)
    dead = [row for row in _dead(facts, rows) if row in zero]
    ordinary = tuple(row for row in dead if not facts.is_special(row))
    if ordinary:
        quantised = rows.table.tensor.dtype.name not in ("F64", "F32", "F16", "BF16")
        yield Problem(
            f"{count(len(ordinary), 'token')} on a row of zeros: {_named(facts, ordinary)}",
            hint="take the rows from an earlier checkpoint, or begin with the mean of the others",
            file=rows.table.tensor.file,
            ids=id_list(ordinary),
            severity=Severity.WARNING if quantised else None,
        )


@rule("EMB506", Severity.WARNING, "rows", "tokenizer")
def near_zero_row(facts: RowFacts) -> Iterator[Problem]:
    """An ordinary token's row is near zero: its norm is at most 1/1000 of the median.

    Training hardly ever saw these tokens, and weight decay shrank their rows. A prompt that holds
    one can derail the model; conversion to 16 or fewer bits makes such rows exactly zero.

    Fix: nothing for a released model; before a fine-tune that uses them, begin with the mean.

    Before:
        norm of row 89472: 6e-16      median of all rows: 0.777
    After:
        embed_tokens.weight[89472] = embed_tokens.weight.mean(0)
    """
    rows = facts.token
    if rows is None or rows.strange:
        return
    near = set(rows.near_zero)
    ordinary = tuple(row for row in _dead(facts, rows) if row in near and not facts.is_special(row))
    if ordinary:
        yield Problem(
            f"{count(len(ordinary), 'token')} on a row near zero (norm at most 1/1000 of the "
            f"median {rows.median_norm or 0:.4g}): {_named(facts, ordinary)}",
            hint="training hardly saw them; begin with the mean before a fine-tune that uses them",
            file=rows.table.tensor.file,
            ids=id_list(ordinary),
        )


@rule("EMB507", Severity.WARNING, "rows", "tokenizer")
def duplicate_rows(facts: RowFacts) -> Iterator[Problem]:
    """Several tokens have bit-identical rows: the model cannot tell them apart.

    Typical of a resize that gave every new token the mean of the old rows, and of training that
    never came to them. Rows past the tokenizer and named placeholders are not counted.

    Fix: train the new rows before release, or add a little noise when initialising.

    Before:
        resize_token_embeddings(n)      # mean_resizing, then saved without training
    After:
        embed_tokens.weight[new] += 1e-3 * torch.randn(...)      # then trained
    """
    rows = facts.token
    if rows is None:
        return
    groups = [real for group in rows.duplicates if len(real := facts.real(group)) > 1]
    if groups:
        affected = [row for group in groups for row in group]
        first = _named(facts, _specials_first(facts, groups[0]))
        more = f", and {count(len(groups) - 1, 'further group')}" if len(groups) > 1 else ""
        yield Problem(
            f"{count(len(affected), 'token')} in {count(len(groups), 'group')} of identical rows: "
            f"{first}{more}",
            hint="train the new rows before release, or initialise them with a little noise",
            file=rows.table.tensor.file,
            ids=id_list(affected),
        )


@rule("EMB508", Severity.WARNING, "rows", "both tables")
def head_of_other_scale(facts: RowFacts) -> Iterator[Problem]:
    """The output head's rows are over 30 times longer or shorter than the token table's.

    Table and head were swapped, or one of them is scaled twice or not at all.

    Fix: compare both with the model they come from.

    Before:
        median norm: embed_tokens 0.65, lm_head 110
    After:
        median norm: embed_tokens 0.65, lm_head 0.92
    """
    token, head = facts.token, facts.head
    if token is None or head is None or not token.median_norm or not head.median_norm:
        return
    ratio = head.median_norm / token.median_norm
    if not 1 / SWAPPED_SCALE < ratio < SWAPPED_SCALE:
        yield Problem(
            f"median row norms differ {max(ratio, 1 / ratio):,.0f} times: {token.table.name} "
            f"{token.median_norm:.4g}, {head.table.name} {head.median_norm:.4g}",
            hint="were they swapped, or one of them scaled? compare with the original model",
            file=head.table.tensor.file,
        )
