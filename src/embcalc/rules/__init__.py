"""The rules: each a small function whose docstring is what users read."""

from __future__ import annotations

from typing import Any

from embcalc.core.facts import ModelFacts
from embcalc.core.findings import Rule
from embcalc.core.row_facts import RowFacts
from embcalc.rules import (
    checkpoint_files,
    configs,
    ids,
    pairs,
    positions,
    row_health,
    rows,
    sizes,
    specials,
    tokenizer_files,
    tying,
)

HEADER_RULES: tuple[Rule[ModelFacts], ...] = (
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
    configs.config_value_of_wrong_type,
    sizes.width_differs_from_config,
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
    specials.emitted_id_differs,
    tokenizer_files.lfs_pointer,
    tokenizer_files.unreadable_file,
    tokenizer_files.declared_id_has_no_effect,
    tokenizer_files.stale_token_file,
    tokenizer_files.file_of_another_tokenizer,
    tokenizer_files.duplicate_entries,
    tokenizer_files.blank_lines,
    tokenizer_files.tokenizer_is_code,
    tokenizer_files.tokenizer_cannot_be_loaded,
    sizes.tied_tables_differ_in_rows,
    checkpoint_files.broken_checkpoint_files,
    checkpoint_files.untidy_checkpoint_files,
    checkpoint_files.unreadable_weights,
    checkpoint_files.no_token_table,
)
"""Rules that need headers and text files only, by code: `check-vocab` runs these."""
ROW_RULES: tuple[Rule[RowFacts], ...] = (
    tying.head_is_missing,
    tying.tying_conflicts_with_values,
    tying.head_stored_twice,
    row_health.nonfinite_row,
    row_health.table_of_zeros,
    row_health.magnitudes_out_of_range,
    row_health.special_token_on_dead_row,
    row_health.zero_row,
    row_health.near_zero_row,
    row_health.duplicate_rows,
    row_health.head_of_other_scale,
    checkpoint_files.rows_cannot_be_read,
    checkpoint_files.values_are_no_weights,
)
"""Rules that open the checkpoint, and mostly read its rows: `check` runs them after the others."""
RULES: tuple[Rule[Any], ...] = (*HEADER_RULES, *ROW_RULES)
"""All rules, by code."""
