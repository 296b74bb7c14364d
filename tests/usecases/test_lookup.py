from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from embcalc.errors import TokenizerError, UsageError
from embcalc.usecases.demo import ROWS
from embcalc.usecases.lookup import lookup

Build = Callable[..., Path]


def test_the_demo_gives_the_textbook_answers(demo_model: Path) -> None:
    report = lookup(str(demo_model), text=["我爱学习", "你爱"])
    assert report.ids == [[1, 2, 3], [4, 2, 0]]
    assert report.shape == (2, 3, 4)
    assert np.array_equal(report.vectors, np.array(ROWS, np.float32)[report.ids])
    assert report.vectors[0, 1, 0] == report.vectors[1, 1, 0] == np.float32(-0.3)
    assert [token.padding for token in report.sequences[1].tokens] == [False, False, True]
    assert [sequence.length for sequence in report.sequences] == [3, 2]
    assert np.allclose(report.norms, np.linalg.norm(report.vectors.astype(np.float64), axis=-1))
    assert (report.pad_id, report.pad_source) == (0, "tokenizer.json:padding.pad_id")


def test_one_text_may_be_given_bare(demo_model: Path) -> None:
    assert lookup(str(demo_model), text="我爱").ids == [[1, 2]]


def test_ids_come_after_texts(demo_model: Path) -> None:
    assert lookup(str(demo_model), text=["我"], ids=[[5, 4]]).ids == [[1, 0], [5, 4]]


def test_one_hot_times_table_is_the_lookup(tiny_checkpoint: Build) -> None:
    folder = tiny_checkpoint(rows=300, width=64)
    report = lookup(str(folder), ids=[[0, 299, 7], [7]], one_hot=True)
    assert report.one_hot is not None
    assert report.one_hot.max_difference == 0.0
    assert report.one_hot.one_hot_bytes == 4 * 6 * 300
    assert report.one_hot.flops == 2 * 6 * 300 * 64
    assert report.one_hot.lookup_bytes == 6 * 64 * 4


def test_one_hot_shows_that_infinity_spoils_the_product(tiny_checkpoint: Build) -> None:
    table = np.ones((4, 2), np.float32)
    table[3, 1] = np.inf
    folder = tiny_checkpoint({"wte.weight": table})
    report = lookup(str(folder), ids=[[0]], one_hot=True)
    assert report.one_hot is not None
    assert np.isnan(report.one_hot.max_difference)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_rows_are_the_stored_numbers(tiny_checkpoint: Build, dtype: str) -> None:
    folder = tiny_checkpoint(rows=2000, width=96, dtype=dtype)
    stored = load_file(folder / "model.safetensors")["model.embed_tokens.weight"]
    ids = np.random.default_rng(1).integers(0, 2000, (3, 50)).tolist()
    report = lookup(str(folder), ids=ids)
    assert np.array_equal(report.vectors, stored[np.array(ids)])


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([[1, 16]], ["id 16", "16 rows", "--ids, sequence 0, position 1"]),
        ([[1], [-1]], ["id -1", "16 rows", "--ids, sequence 1, position 0"]),
        ([[-100]], ["id -100"]),
        ([[10**30]], [str(10**30)]),
    ],
)
def test_an_id_without_a_row_is_named(
    tiny_checkpoint: Build, ids: list[list[int]], words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        lookup(str(tiny_checkpoint(rows=16)), ids=ids)
    assert all(word in caught.value.message for word in words)
    assert caught.value.hint


def test_a_pad_id_without_a_row_is_refused_only_where_it_is_needed(tiny_checkpoint: Build) -> None:
    folder = str(tiny_checkpoint(rows=16, config={"model_type": "llama", "pad_token_id": 16}))
    assert lookup(folder, ids=[[1, 2], [3, 4]]).pad_id == 16
    with pytest.raises(UsageError, match=r"id 16 .* pad id of config\.json:pad_token_id"):
        lookup(folder, ids=[[1, 2], [3]])
    assert lookup(folder, ids=[[1, 2], [3]], pad_id=5).ids == [[1, 2], [3, 5]]


def test_without_a_pad_id_zero_stands_in_and_it_is_said(tiny_checkpoint: Build) -> None:
    report = lookup(str(tiny_checkpoint(rows=16)), ids=[[1, 2], [3]])
    assert report.pad_id is None
    assert report.ids == [[1, 2], [3, 0]]
    assert any("neither" in note for note in report.notes)
    even = lookup(str(tiny_checkpoint(rows=16)), ids=[[1, 2], [3, 4]])
    assert even.notes == ("tokens have no names: no tokenizer file",)


def test_text_without_a_tokenizer_points_to_ids(tiny_checkpoint: Build) -> None:
    with pytest.raises(TokenizerError) as caught:
        lookup(str(tiny_checkpoint()), text=["hello"])
    assert "--ids" in (caught.value.hint or "")


def test_nothing_asked_for(demo_model: Path) -> None:
    with pytest.raises(UsageError, match="--text or --ids"):
        lookup(str(demo_model))


def test_text_that_becomes_nothing(demo_model: Path) -> None:
    report = lookup(str(demo_model), text=[""])
    assert report.shape == (1, 0, 4)
    assert any("no token" in note for note in report.notes)
    assert lookup(str(demo_model), text=["", "我"]).ids == [[0], [1]]


def test_unknown_text_is_said(demo_model: Path) -> None:
    report = lookup(str(demo_model), text=["我x"])
    assert any("unknown" in note for note in report.notes)


def test_a_broken_tokenizer_is_no_obstacle_to_ids(demo_model: Path) -> None:
    (demo_model / "tokenizer.json").write_text('{"model": {"vocab"')
    report = lookup(str(demo_model), ids=[[1, 2]])
    assert report.ids == [[1, 2]]
    assert any("cut short" in note for note in report.notes)
    with pytest.raises(TokenizerError, match="cut short"):
        lookup(str(demo_model), text=["hello"])
    with pytest.raises(TokenizerError, match="cut short"):
        lookup(str(demo_model), ids=[[1]], tokenizer=str(demo_model / "tokenizer.json"))
