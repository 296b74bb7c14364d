"""Every reported failure of files, shards, tying, rows and GGUF or MLX, and what must be said.

One line a failure, in the order of the list that they were collected in, so that one sees that
none is missing. The whole output is under tests/golden/failures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import row_cases as rows
from tests.failures import builders as b

CHECK, INSPECT = "check {}", "inspect {} --top 0"


@dataclass(frozen=True)
class Failure:
    """One failure: who builds it, and words that each command has to say about it."""

    build: Callable[[Path], Path]
    says: dict[str, tuple[str, ...]]
    """Command → words of its output, line ends taken for spaces."""
    code: int = 0
    """Exit code of `check`."""
    extra: str | None = None
    """The optional package without which the values are not read."""

    @property
    def name(self) -> str:
        """Of the case and of its golden files."""
        return self.build.__name__.replace("_", "-")

    @property
    def commands(self) -> tuple[str, ...]:
        """Command lines, in which {} stands for the folder."""
        return tuple(self.says)


def both(build: Callable[[Path], Path], *words: str, code: int = 0) -> Failure:
    """Check and inspect say the same words."""
    return Failure(build, {CHECK: words, INSPECT: words}, code)


FILES = (
    Failure(b.bf16, {CHECK: ("ok: nothing found",), INSPECT: ("300 × 64 BF16", "healthy")}),
    Failure(b.f8, {CHECK: ("ok",), INSPECT: ("300 × 64 F8_E4M3", "healthy")}),
    Failure(b.f4, {CHECK: ("ok",), INSPECT: ("300 × 64 F4",)}),
    both(b.f6, "is F6_E2M3: read as four numbers in three bytes", "no specification fixes"),
    both(b.lfs_pointer, "is a Git LFS pointer", "has 4,976,698,672 bytes", "git lfs pull", code=1),
    both(b.pickle_named_safetensors, "is a PyTorch pickle, not safetensors", "rename it", code=1),
    both(b.archive_of_pytorch_0_1, "PyTorch wrote before 0.1.10", "torch.save", code=1),
    both(b.html_page, "is an HTML page, not a checkpoint", "a login or error page", code=1),
    both(b.truncated, "is cut short: ", "%), 3 of 5 tensors are whole", code=1),
    both(b.zeros_in_27_of_339, "27 of 339 matrices", "layers.[100–126].mlp.up_proj", code=1),
    both(b.dangling_link, "is a link to ../../blobs/6c1d0f, which does not exist", code=1),
    both(b.folder_of_checkpoints, "holds 2 checkpoints: checkpoint-1000, checkpoint-500", code=2),
    both(b.garbage_values, "the values run from", "no weights look like that", code=1),
    both(b.byte_swapped, "bytes swapped: is the file big-endian?", code=1),
)
SHARDS = (
    both(b.absent_shard, "00002-of-00003.safetensors, which is absent: 2 tensors lost", code=1),
    both(
        b.tensor_in_another_shard,
        "is in model-00002-of-00003.safetensors, not in model-00003-of-00003",
        code=1,
    ),
    both(b.tensor_in_no_index, "1 tensor stored but not listed in model.safetensors.index.json"),
    both(b.stale_index, "is stale: 30 of its 30 shards are absent, and 15 shards", code=1),
    both(b.stray_quantised_file, "read 3 files", "left model-q8.safetensors"),
    both(b.consolidated_beside_shards, "the same weights in another layout; not read, not counted"),
    both(b.wrong_total, "says 12,345 bytes in total; the tensors take 78,848"),
    both(b.zero3_save, "a ZeRO-3 save of partitioned weights", "zero_to_fp32.py", code=1),
    both(b.one_of_eight, "304 of 2,432 rows: one of 8 tensor-parallel shards"),
)
TYING = (
    Failure(b.head_absent_and_tied, {CHECK: ("ok",), INSPECT: ("head: tied (config says tied",)}),
    both(b.head_absent_and_untied, "config says untied, but no output head is stored", code=1),
    Failure(
        b.both_equal,
        {CHECK: ("are bit-equal: 76.8 kB are redundant",), INSPECT: ("tied-stored-twice",)},
    ),
    both(b.both_different_and_tied, "config says tied, but", "loading keeps one", code=1),
    Failure(b.both_different_and_untied, {CHECK: ("ok",), INSPECT: ("head: untied",)}),
    Failure(b.only_the_head, {CHECK: ("ok",), INSPECT: ("it is the input table too",)}),
    both(b.peft_merge, "config says tied, but", "loading keeps one of them", code=1),
    Failure(
        b.redundant_head_in_awq,
        {CHECK: ("are bit-equal: 38.4 kB are redundant",), INSPECT: ("tied-stored-twice",)},
    ),
    both(b.head_of_100_times, " times", "swapped"),
)
ROWS = (
    Failure(rows.zeros_and_near_zeros, {CHECK: ("73 ", "6 ")}, 1),
    Failure(rows.dead_chat_tokens, {CHECK: ("<|im_start|>", "<|im_end|>")}, 1),
    Failure(rows.reserved_rows, {CHECK: ("ok",), INSPECT: ("<|reserved_special_token_0|>",)}),
    Failure(rows.dead_tokens, {CHECK: ("ok",), INSPECT: ("95%",)}),
    Failure(rows.padding_rows, {CHECK: ("29 rows",), INSPECT: ("29 rows",)}),
    Failure(rows.added_inside_padding, {CHECK: ("ok",), INSPECT: ("never initialised",)}),
    Failure(rows.nan_rows, {CHECK: ("17", "40", "41")}, 1),
    Failure(rows.mean_initialised, {CHECK: ("<a>", "<b>", "<c>", "<d>")}),
    Failure(rows.moved_padding_row, {CHECK: ("ok",), INSPECT: ("padding row is not zero",)}),
    Failure(rows.zeroed_table, {CHECK: ("zero",)}, 1),
    Failure(rows.collapsed_on_unk, {CHECK: ("ok",), INSPECT: ("[UNK]", "cosine")}),
)
GGUF_AND_MLX = (
    Failure(
        b.off_by_one_vocabulary,
        {CHECK: ("vocab_size 301", "embedding rows 300", "tokens 301")},
        1,
    ),
    both(b.offset_past_the_end, "blk.1.ffn_up.weight", "past its end", code=1),
    both(b.missing_tensors, "127 of 129 tensors are present", "40, 41", code=1),
    Failure(
        b.nan_scales, {CHECK: ("3 ",), INSPECT: ("3 rows with NaN", "scales")}, 1, extra="gguf"
    ),
    Failure(b.packed_table, {CHECK: ("ok",), INSPECT: ("300 × 64 MLX4", "healthy")}),
    both(b.mlx_8_bit_under_4, "config.json says 4 bits", "has 8 by its shapes"),
)
FAILURES = (*FILES, *SHARDS, *TYING, *ROWS, *GGUF_AND_MLX)
