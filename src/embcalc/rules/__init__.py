"""The rules: each a small function whose docstring is what users read."""

from __future__ import annotations

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Rule
from embcalc.rules import ids, pairs, positions, rows, sizes, specials, tokenizer_files

RULES: tuple[Rule[ModelFacts], ...] = (
    ids.token_without_row,
    sizes.vocab_size_differs_from_rows,
    sizes.head_rows_differ,
    ids.special_id_without_row,
    ids.emitted_id_without_row,
    ids.two_tokens_on_one_row,
    ids.holes_in_ids,
    ids.rows_without_tokens,
    ids.padding_rows,
    rows.odd_row_count,
    sizes.nested_vocab_size_differs,
    sizes.rows_by_design,
    ids.placeholder_without_row,
    sizes.vocabulary_shard,
    ids.tokens_beyond_the_base,
    positions.max_length_beyond_positions,
    rows.adapter_rows_differ_from_base,
    rows.fewer_rows_than_base,
    rows.more_rows_than_base,
    pairs.token_differs_from_base,
    pairs.different_token_at_id,
    pairs.token_moved,
    pairs.token_missing,
    pairs.padding_differs,
    specials.special_id_differs,
    specials.negative_special_id,
    specials.pad_is_eos,
    specials.no_pad_token,
    specials.media_token_id_differs,
    specials.chat_token_is_no_token,
    tokenizer_files.lfs_pointer,
    tokenizer_files.unreadable_file,
    tokenizer_files.declared_id_has_no_effect,
    tokenizer_files.stale_token_file,
    tokenizer_files.file_of_another_tokenizer,
    tokenizer_files.duplicate_entries,
    tokenizer_files.blank_lines,
    tokenizer_files.tokenizer_is_code,
    sizes.tied_tables_differ_in_rows,
)
"""All rules, by code."""
