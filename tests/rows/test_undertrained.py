from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from embcalc.core.vocabulary import TextForm, Token, Vocabulary
from embcalc.rows.references import (
    IMPOSSIBLE_BYTES,
    PAST_THE_END,
    categories,
    find_references,
    is_placeholder,
    single_byte,
)
from embcalc.rows.scan import scan
from embcalc.rows.undertrained import (
    Ranking,
    confidence,
    distances,
    mean_direction,
    rank,
    separation,
)
from embcalc.usecases.opened import open_model


@pytest.mark.parametrize(
    "text",
    [
        "[unused7]",
        "<unused7>",
        "<|reserved_special_token_7|>",
        "<extra_id_7>",
        "[PAD7]",
        "<reserved_7>",
        "[UNUSED_TOKEN_7]",
        "<|reserved_7|>",
        "<|extra_7|>",
        "<SPECIAL_7>",
        "<|placeholder7|>",
    ],
)
def test_placeholders(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize(
    "text",
    [
        "[PAD]",
        "<pad>",
        "<|im_start|>",
        "unused7",
        "[unused]",
        "<s>",
        "[unused7] ",
        "<|eot_id|>",
        "",
    ],
)
def test_no_placeholders(text: str) -> None:
    assert not is_placeholder(text)


BYTE_LEVEL = ("a", "Ġa", "À", "õ", "ä½", "[unused1]", "[unused2]", "ä½łå¥½")


def byte_level() -> Vocabulary:
    return Vocabulary(
        format="tokenizer.json",
        file="tokenizer.json",
        form=TextForm.BYTE_LEVEL,
        base={
            "a": 0,
            "Ġa": 1,
            "À": 2,
            "õ": 3,
            "ä½": 4,
            "[unused1]": 5,
            "[unused2]": 6,
            "ä½łå¥½": 7,
        },
        added=(Token(text="<|end|>", id=9, special=True),),
    )


def test_references_are_found_by_their_signs() -> None:
    found = find_references(byte_level(), 12)
    assert found.by_sign == {
        "names like [unused1]": (5, 6),
        IMPOSSIBLE_BYTES: (2, 3),
        PAST_THE_END: (8, 10, 11),
    }
    assert found.rows.tolist() == [2, 3, 5, 6, 8, 10, 11]
    assert found.signs()[0] == f"{PAST_THE_END} (3)"
    assert PAST_THE_END not in found.without(PAST_THE_END).by_sign
    assert find_references(byte_level(), 3).rows.tolist() == [2]


def test_categories() -> None:
    assert list(categories(byte_level(), 11)) == [
        "byte",
        "ordinary",
        "byte",
        "byte",
        "undecodable",
        "reserved",
        "reserved",
        "ordinary",
        "none",
        "special",
        "none",
    ]


def test_sentencepiece_bytes() -> None:
    vocabulary = Vocabulary(
        format="sentencepiece",
        file="tokenizer.model",
        form=TextForm.SENTENCEPIECE,
        base={"<0xC0>": 0, "<0x41>": 1, "▁a": 2, "�": 3},
    )
    assert [single_byte(text, vocabulary, i) for text, i in vocabulary.base.items()] == [
        0xC0,
        0x41,
        None,
        None,
    ]
    assert find_references(vocabulary, 4).by_sign == {IMPOSSIBLE_BYTES: (0,)}
    assert list(categories(vocabulary, 4)) == ["byte", "byte", "ordinary", "undecodable"]


def test_separation_is_the_area_under_the_curve() -> None:
    assert separation(np.array([1.0, 2]), np.array([3.0, 4])) == 1
    assert separation(np.array([3.0, 4]), np.array([1.0, 2])) == 0
    assert separation(np.array([1.0, 1]), np.array([1.0, 1])) == 0.5
    assert separation(np.array([]), np.array([1.0])) == 0.5
    random = np.random.default_rng(0)
    low, high = random.integers(0, 9, 50).astype(float), random.integers(2, 12, 70).astype(float)
    pairs = [(1.0 if a < b else 0.5 if a == b else 0.0) for a in low for b in high]
    assert separation(low, high) == pytest.approx(float(np.mean(pairs)))


def test_directions_of_extreme_rows() -> None:
    for scale in (1e-300, 1.0, 1e300):
        direction = mean_direction(np.array([[3.0, 4.0], [3.0, 4.0]]) * scale)
        assert direction == pytest.approx([0.6, 0.8])
    assert mean_direction(np.zeros((3, 2))) is None
    assert mean_direction(np.full((3, 2), np.nan)) is None
    assert mean_direction(np.array([[1.0, 0], [-1.0, 0]])) is None


def test_a_zero_row_is_as_untrained_as_can_be() -> None:
    found = distances(np.array([0.5, 0.0, np.nan]), np.array([1.0, 0.0, np.nan]))
    assert found[:2].tolist() == [0.5, 0.0]
    assert np.isnan(found[2])


def test_ranking_and_confidence() -> None:
    scores = np.concatenate([np.linspace(0, 0.1, 40), np.linspace(0.05, 1, 400)])
    ordinary = np.arange(440) >= 40
    ranking = rank(scores, ordinary, np.arange(40))
    assert ranking.ordinary[0] == 40
    assert len(ranking.lowest) == 8
    assert ranking.threshold == scores[47]
    assert 10 < ranking.suspects < 40
    assert confidence(ranking, 40) == "high"
    assert confidence(ranking, 10) == "medium"
    blind = rank(np.random.default_rng(0).normal(0, 1, 440), ordinary, np.arange(40))
    assert confidence(blind, 40) == "low"
    empty = rank(scores, np.zeros(440, dtype=np.bool_), np.arange(40))
    assert (empty.threshold, empty.suspects) == (None, 0)
    assert isinstance(empty, Ranking)


@pytest.mark.real
def test_half_of_the_unused_rows_of_minilm_tell_the_other_half(minilm: Path) -> None:
    model = open_model(str(minilm))
    table = model.token_table()
    assert model.vocabulary is not None
    texts = model.vocabulary.texts
    unused = find_references(model.vocabulary, table.rows).rows
    words = [row for row, text in texts.items() if re.fullmatch(r"[a-z]{3,}", text)]
    assert len(unused) == 994
    known, held_out = unused[::2], unused[1::2]
    from embcalc.rows.access import chosen_numbers

    direction = mean_direction(chosen_numbers(model.checkpoint, table.name, known.tolist()))
    assert direction is not None
    found = scan(model.checkpoint, table.name, directions=direction[None])
    by_distance = distances(found.projections[:, 0], found.norms)
    assert separation(by_distance[held_out], by_distance[words]) >= 0.9999
    assert separation(found.norms[held_out], found.norms[words]) >= 0.999
