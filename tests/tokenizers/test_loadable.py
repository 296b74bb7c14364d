"""Parts of a tokenizer.json that the tokenizers library refuses: it judges the tests as well."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embcalc.core.findings import Severity
from embcalc.tokenizers.loadable import unloadable_parts
from tests.tokenizers.folders import tokenizer
from tokenizers import Tokenizer

ERROR, WARNING = Severity.ERROR, Severity.WARNING
GOOD: dict[str, list[Any]] = {
    "normalizer": [
        None,
        {"type": "NFC"},
        {"type": "Sequence", "normalizers": [{"type": "Lowercase"}]},
        {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"},
    ],
    "pre_tokenizer": [{"type": "Whitespace"}, {"type": "Sequence", "pretokenizers": []}],
    "post_processor": [{"type": "BertProcessing", "sep": ["t1", 1], "cls": ["t0", 0]}],
    "decoder": [{"type": "Fuse"}],
    "truncation": [
        {"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    ],
    "version": ["1.0"],
}
BAD: list[tuple[str, Any, Severity]] = [
    ("normalizer", "lower", ERROR),
    ("normalizer", {"type": "Foo"}, ERROR),
    ("normalizer", {"type": "Sequence", "normalizers": [{"type": "Foo"}]}, ERROR),
    ("normalizer", {"type": "Replace", "pattern": {"Regex": "["}, "content": "b"}, ERROR),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": ""}, ERROR),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": None}, ERROR),
    ("normalizer", {}, WARNING),
    ("pre_tokenizer", [], ERROR),
    ("pre_tokenizer", {"type": "Split"}, WARNING),
    ("pre_tokenizer", {"type": "a\x1b[31m\u202e" * 100}, ERROR),
    ("post_processor", 3, ERROR),
    ("post_processor", {"special_tokens": {}}, WARNING),
    ("decoder", {"type": "Nope"}, ERROR),
    ("padding", "yes", ERROR),
    ("padding", {"strategy": "Foo"}, ERROR),
    ("padding", {"pad_id": 0, "pad_token": "t0"}, WARNING),
    ("truncation", 5, ERROR),
    ("version", "9.9", ERROR),
    ("version", None, ERROR),
]


def parts_of(document: dict[str, Any]) -> dict[str, bytes]:
    from embcalc.core.files import File, Folder
    from embcalc.tokenizers.tokenizer_json import read_tokenizer_json

    content = json.dumps(document).encode()

    class One:
        name, size, local_path = "tokenizer.json", len(content), None

        def read(self, start: int = 0, length: int | None = None) -> bytes:
            return content

        def stream(self, start: int, length: int, block: int) -> Any:
            raise AssertionError("not asked for")

    class Holder:
        label = "m"

        def names(self) -> tuple[str, ...]:
            return ("tokenizer.json",)

        def open(self, name: str) -> File:
            return One()

        def expect(self, names: object) -> None:
            return

    folder: Folder = Holder()
    return dict(read_tokenizer_json(folder, "tokenizer.json").parts)


def loads(document: dict[str, Any]) -> bool:
    try:
        Tokenizer.from_str(json.dumps(document))
    except BaseException as refusal:  # the library's panics are no Exception
        if isinstance(refusal, KeyboardInterrupt):
            raise
        return False
    return True


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_loads_is_left_alone(name: str) -> None:
    for part in GOOD[name]:
        document = tokenizer(10, **{name: part})
        assert loads(document), part
        assert list(unloadable_parts(parts_of(document), "t")) == []


@pytest.mark.parametrize(("name", "part", "severity"), BAD)
def test_what_does_not_load_is_named(name: str, part: Any, severity: Severity) -> None:
    document = tokenizer(10, **{name: part})
    assert not loads(document)
    (problem,) = unloadable_parts(parts_of(document), "t.json")
    assert f"refuses the {name} of t.json, " in problem.message
    assert problem.severity is severity
    assert len(problem.message) < 400
    assert "\n" not in problem.message


@pytest.mark.parametrize("kind", ["BPE", "WordLevel", "WordPiece", "Unigram"])
def test_models_of_every_type_load(kind: str) -> None:
    vocab: Any = [["t0", 0.0], ["t1", -1.0]] if kind == "Unigram" else {"t0": 0, "a": 1}
    assert list(unloadable_parts(parts_of(tokenizer(vocab, kind=kind)), "t")) == []


def test_a_model_of_no_known_type() -> None:
    document = tokenizer(10)
    document["model"]["type"] = "BPEE"
    assert not loads(document)
    (problem,) = unloadable_parts(parts_of(document), "t.json")
    assert 'the model of t.json (type "BPEE")' in problem.message
    assert problem.severity is ERROR


def test_several_at_once() -> None:
    document = tokenizer(10, decoder=1, normalizer=2)
    found = [problem.message for problem in unloadable_parts(parts_of(document), "t")]
    assert ["normalizer" in found[0], "decoder" in found[1]] == [True, True]


def test_other_formats_have_no_parts() -> None:
    assert list(unloadable_parts({}, "t")) == []


@pytest.mark.parametrize("unknown", [None, 0, 2, 3, 2**40, -1, "0", 1.5, True])
def test_the_unknown_piece_of_a_unigram_model(unknown: Any) -> None:
    document = tokenizer([["<unk>", 0.0], ["a", -1.0], ["b", -2.0]], kind="Unigram")
    document["model"]["unk_id"] = unknown
    found = list(unloadable_parts(parts_of(document), "tokenizer.json"))
    assert (found == []) is loads(document)
