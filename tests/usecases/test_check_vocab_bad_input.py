"""Whatever is wrong with a folder: a report or two lines, never a traceback."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embcalc.core.findings import Severity
from embcalc.core.reports.check import CheckReport
from embcalc.errors import EmbcalcError
from embcalc.render.csv import check as as_csv
from embcalc.render.json import check as as_json
from embcalc.render.layout import cell_width
from embcalc.render.markdown import check as as_markdown
from embcalc.render.text import check as as_text
from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from tests.tokenizers.folders import Content, added_token, folder, tokenizer
from tests.usecases.cases import header_only

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n"
TEMPLATE = {"special_tokens": {"a": {"id": "a", "ids": [1], "tokens": ["t1"]}}}
FILES: dict[str, Content] = {
    "config.json": {
        "model_type": "llama",
        "vocab_size": 104,
        "eos_token_id": [1, 2],
        "text_config": {"vocab_size": 104, "hidden_size": 4},
    },
    "generation_config.json": {"eos_token_id": [1]},
    "tokenizer.json": tokenizer(
        100,
        [added_token("<x>", 100)],
        padding={"pad_id": 0, "pad_token": "t0"},
        post_processor=TEMPLATE,
    ),
    "tokenizer_config.json": {
        "eos_token": "t1",
        "added_tokens_decoder": {"100": {"content": "<x>"}},
        "chat_template": "<|a|>",
        "model_max_length": 5,
        "extra_special_tokens": {"a": "b"},
    },
    "special_tokens_map.json": {"eos_token": "t1", "additional_special_tokens": ["<y>"]},
    "added_tokens.json": {"<x>": 100},
    "vocab.json": {"t0": 0},
    "vocab.txt": "t0\nt1\n",
    "merges.txt": "#version\nt 0\n",
    "processor_config.json": {"image_token": "t3", "image_token_id": 3},
}
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    float("nan"),
    2**32,
    "x",
    "",
    "a\nb\x1b[31m\u202e",
    "-1",
    [],
    {},
    [1, "a", None],
    {"content": 5},
)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(document, dict | list):
        keys = list(document)[:30] if isinstance(document, dict) else range(len(document))
        for key in keys:
            yield (*path, key)
            yield from places(document[key], (*path, key))


def mutated(document: Content, chance: random.Random) -> Content:
    copy = json.loads(json.dumps(document))
    *way, last = chance.choice(list(places(copy)))
    inner = copy
    for key in way:
        inner = inner[key]
    inner[last] = chance.choice(VALUES)
    return copy  # type: ignore[no-any-return]


def damaged(content: Content, chance: random.Random) -> bytes:
    if not isinstance(content, str | bytes) and chance.random() < 0.4:
        content = mutated(content, chance)
    if isinstance(content, str):
        raw = content.encode()
    else:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    kind = chance.random()
    if kind < 0.1:
        return raw[: chance.randrange(len(raw) + 1)]
    if kind < 0.15:
        return POINTER.encode()
    if kind < 0.2:
        return raw.replace(b"t", b"\xff", 1)
    return raw


def outcome(address: str, options: CheckOptions) -> CheckReport | str:
    """The report, or the message of our own error; anything else is a bug and comes through."""
    try:
        return check_vocab(address, options)
    except EmbcalcError as error:
        return error.message


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_folder_gives_a_report_or_an_error_of_one_line(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    kept = {name: content for name, content in FILES.items() if chance.random() < 0.7}
    folder(tmp_path, {name: damaged(content, chance) for name, content in kept.items()})
    if chance.random() < 0.7:
        rows = chance.choice([0, 13, 100, 104])
        header_only(tmp_path / "model.safetensors", {"model.embed_tokens.weight": (rows, 1)})
    other = str(tmp_path) if chance.random() < 0.3 else None
    report = outcome(str(tmp_path), CheckOptions(base=other, against=other))
    if isinstance(report, str):
        assert "\n" not in report
        return
    text = as_text.render(report)
    assert all(cell_width(line) <= 80 for line in text.splitlines())
    for rendered in (text, as_csv.render(report), as_markdown.render(report)):
        assert "\x1b" not in rendered
        assert "\u202e" not in rendered
    assert json.loads(as_json.render(report))["schema"] == "embcalc/check/v1"


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_pointer_in_place_of_any_file_is_named(name: str, tmp_path: Path) -> None:
    folder(tmp_path, {**FILES, name: POINTER})
    report = check_vocab(str(tmp_path))
    found = [finding for finding in report.findings if finding.rule == "EMB301"]
    assert [finding.file for finding in found] == [name]
    assert found[0].severity is Severity.ERROR
    assert "git lfs pull" in (found[0].hint or "")


def test_what_can_be_said_is_said_and_the_rest_is_listed(tmp_path: Path) -> None:
    folder(tmp_path, {"tokenizer.json": "{", "config.json": {"vocab_size": 8, "pad_token_id": 9}})
    report = check_vocab(str(tmp_path))
    assert {finding.rule for finding in report.findings} == {"EMB104", "EMB302"}
    reasons = {one.rule: one.reason for one in report.skipped}
    assert reasons["EMB101"] == "tokenizer.json cannot be read"
    assert reasons["EMB102"] == "no weights"


def test_a_tokenizer_alone_is_checked_for_itself(tmp_path: Path) -> None:
    folder(tmp_path, {"tokenizer.json": tokenizer({"a": 0, "b": 2})})
    report = check_vocab(str(tmp_path))
    assert [finding.rule for finding in report.findings] == ["EMB107"]


def test_a_huge_number_of_tokens_past_the_rows_stays_readable(tmp_path: Path) -> None:
    folder(tmp_path, {"tokenizer.json": tokenizer(50_000), "config.json": {"vocab_size": 10}})
    finding = check_vocab(str(tmp_path)).findings[0]
    assert "49,990 tokens" in finding.message
    assert "and 49,982 more" in finding.message
    assert finding.ids == tuple(range(10, 1010))
