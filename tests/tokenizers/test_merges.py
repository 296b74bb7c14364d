"""Merges that name tokens outside the vocabulary: the tokenizers library says which it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embcalc.core.tokenizer_facts import Merges
from embcalc.tokenizers.merges import BLOCK, unloadable_merges
from embcalc.usecases.check import check
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.tokenizers.folders import added_token, folder, tokenizer
from tokenizers import Tokenizer

VOCAB = {"a": 0, "b": 1, "ab": 2, "c": 3, "##b": 4, " ": 5, "#version:": 6}
ONLY_309 = CheckOptions(select=("EMB309",))


def document(merges: object, vocab: dict[str, int], prefix: str | None = None) -> dict[str, Any]:
    words = tokenizer(vocab, [added_token("ba", len(vocab))])
    words["model"] |= {"merges": merges, "continuing_subword_prefix": prefix}
    return words


def loads(words: dict[str, Any]) -> bool:
    try:
        Tokenizer.from_str(json.dumps(words))
    except BaseException as refusal:  # the library's panics are no Exception
        if isinstance(refusal, KeyboardInterrupt):
            raise
        return False
    return True


@pytest.mark.parametrize(
    "merges",
    [
        [],
        ["a b"],
        [["a", "b"]],
        ["x b"],
        ["a x"],
        ["b a"],
        [["b", "a"]],
        ["a b", ["a", "b"]],
        [["a", "b"], "a b"],
        ["a b c"],
        ["ab"],
        [""],
        [["a", "b", "c"]],
        [["a"]],
        [["a", " "]],
        ["#version: 0.2", "a b"],
        ["a b", "#version: 0.2"],
        [["#version:", "b"]],
        {"a b": 0},
        "a b",
        1,
        [1],
        [None],
    ],
)
def test_the_verdict_is_that_of_the_library(merges: Any, tmp_path: Path) -> None:
    words = document(merges, VOCAB)
    folder(tmp_path, {"tokenizer.json": words})
    assert (check_vocab(str(tmp_path), ONLY_309).findings == ()) is loads(words)


@pytest.mark.parametrize("prefix", [None, "", "##"])
@pytest.mark.parametrize("merges", [["a ##b"], [["a", "##b"]], ["c ##b"], ["##b ##b"]])
def test_the_second_token_loses_its_prefix(
    merges: list[Any], prefix: str | None, tmp_path: Path
) -> None:
    words = document(merges, VOCAB, prefix)
    folder(tmp_path, {"tokenizer.json": words})
    assert (check_vocab(str(tmp_path), ONLY_309).findings == ()) is loads(words)


TEXTS = st.text(alphabet='ab" ],\\\n#é', min_size=1, max_size=2)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(TEXTS, min_size=4, unique=True), st.data(), st.booleans(), st.sampled_from([0, 2]))
def test_any_merges(texts: list[str], data: st.DataObject, paired: bool, indent: int) -> None:
    one = st.sampled_from([*texts, "zz"] if data.draw(st.booleans()) else texts)
    pairs = data.draw(st.lists(st.tuples(one, one), max_size=4))
    joined = [left + right for left, right in pairs if data.draw(st.integers(0, 4))]
    vocab = {text: index for index, text in enumerate(dict.fromkeys([*texts, *joined]))}
    merges = [list(pair) if paired else " ".join(pair) for pair in pairs]
    raw = json.dumps(merges, indent=indent or None).encode()
    wrong = list(unloadable_merges(Merges(memoryview(raw)), vocab, "tokenizer.json", every=True))
    assert (wrong == []) is loads(document(merges, vocab))


def test_the_message_names_the_token_that_is_missing(tmp_path: Path) -> None:
    folder(tmp_path, {"tokenizer.json": document(["a b", "b a", "a q", "a b c"], VOCAB)})
    (finding,) = check_vocab(str(tmp_path), ONLY_309).findings
    assert finding.message == (
        "tokenizers refuses 3 of the merges of tokenizer.json: 'b' + 'a' (no 'ba'), "
        "'a' + 'q' (no 'q'), 'a b c' is not two tokens"
    )


def test_a_second_token_shorter_than_its_prefix(tmp_path: Path) -> None:
    folder(tmp_path, {"tokenizer.json": document(["a b"], VOCAB, "##")})
    (finding,) = check_vocab(str(tmp_path), ONLY_309).findings
    assert "'b' is too short" in finding.message


@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel"])
def test_other_models_have_no_merges(kind: str, tmp_path: Path) -> None:
    words = tokenizer(VOCAB, kind=kind)
    words["model"]["merges"] = ["b a"]
    folder(tmp_path, {"tokenizer.json": words})
    assert loads(words)
    assert check_vocab(str(tmp_path), ONLY_309).findings == ()


def many(paired: bool, **wrong: str) -> list[Any]:
    merges: list[Any] = ["a b"] * 140_000
    for place, merge in wrong.items():
        merges[{"first": 0, "middle": 80_000, "last": -1}[place]] = merge
    return [merge.split(" ") for merge in merges] if paired else merges


@pytest.mark.parametrize("paired", [True, False])
def test_a_long_list_is_read_in_full_by_check(paired: bool, tmp_path: Path) -> None:
    words = document(many(paired, middle="b a"), VOCAB)
    text = json.dumps(words, indent=2)
    assert len(text) > BLOCK
    folder(tmp_path, {"tokenizer.json": text})
    report = check_vocab(str(tmp_path), ONLY_309)
    assert report.findings == ()
    assert [skipped.rule for skipped in report.skipped] == ["EMB309"]
    (checked,) = check(str(tmp_path), ONLY_309).models
    assert [finding.rule for finding in checked.report.findings] == ["EMB309"]
    assert "1 of the merges" in checked.report.findings[0].message
    assert checked.report.skipped == ()


@pytest.mark.parametrize("indent", [None, 2])  # a list of one line has no ends to cut at
@pytest.mark.parametrize("place", ["first", "last"])
def test_both_ends_of_a_long_list(place: str, indent: int | None, tmp_path: Path) -> None:
    words = document(many(paired=False, **{place: "b a"}), VOCAB)
    folder(tmp_path, {"tokenizer.json": json.dumps(words, indent=indent)})
    report = check_vocab(str(tmp_path), ONLY_309)
    assert len(report.findings) == 1
    assert len(report.skipped) == (1 if indent else 0)
