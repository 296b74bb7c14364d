"""Adapter folders: what they store of the embedding layer, alone and against their base."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embcalc.usecases.check_vocab import CheckOptions, check_vocab
from embcalc.usecases.gather import gather
from tests.conftest import Run
from tests.tokenizers.folders import Content
from tests.usecases.made import EMBED, HEAD, LLAMA, Made, Rows, agree, behind, config, tokens

CONFIG = {"adapter_config.json": {"peft_type": "LORA", "r": 8, "base_model_name_or_path": "up/it"}}
LAYER = {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": 1}
TABLE = "base_model.model.model.embed_tokens.weight"
LM_HEAD = "base_model.model.lm_head"
NEW = behind(320, "<new0>", "<new1>", "<new2>", "<new3>")
BASE = Made("fine", config("llama", 320) | tokens(320, LLAMA), {EMBED: 320, HEAD: 320})

STORED: dict[str, tuple[Rows, int | None, int | None]] = {
    "layers alone": (LAYER, None, None),
    "whole tables": ({TABLE: 324, f"{LM_HEAD}.weight": 324}, 324, 324),
    "a saved module": ({f"{LM_HEAD}.modules_to_save.default.weight": 324}, None, 324),
    "a wrapped table": (
        {"base_model.model.model.embed_tokens.base_layer.weight": 324},
        324,
        None,
    ),
    "matrices of the table": (
        {
            "base_model.model.model.embed_tokens.lora_embedding_A": (8, 324),
            "base_model.model.model.embed_tokens.lora_embedding_B": (1, 8),
        },
        324,
        None,
    ),
    "matrices of the head": (
        {f"{LM_HEAD}.lora_A.weight": (8, 1), f"{LM_HEAD}.lora_B.weight": (324, 8)},
        None,
        324,
    ),
    "a table and its matrices": (
        {TABLE: 324, "base_model.model.model.embed_tokens.lora_embedding_A": (8, 999)},
        324,
        None,
    ),
    "vectors": ({f"{LM_HEAD}.lora_magnitude_vector": (324,)}, None, None),
}


def adapter(rows: Rows, files: dict[str, Content] | None = None, verdict: str = "fine") -> Made:
    return Made(verdict, CONFIG | (files or {}), rows, weights_file="adapter_model.safetensors")


@pytest.mark.parametrize(("rows", "embedding", "head"), STORED.values(), ids=list(STORED))
def test_what_an_adapter_stores(
    rows: Rows, embedding: int | None, head: int | None, tmp_path: Path
) -> None:
    facts = gather(str(adapter(rows).write(tmp_path / "adapter")))
    assert facts.adapter is not None
    assert (facts.adapter.embedding_rows, facts.adapter.head_rows) == (embedding, head)
    assert facts.adapter.base_name == "up/it"


@pytest.mark.parametrize(("rows", "embedding", "head"), STORED.values(), ids=list(STORED))
def test_rows_are_compared_with_the_base(
    rows: Rows, embedding: int | None, head: int | None, tmp_path: Path
) -> None:
    base = BASE.write(tmp_path / "base")
    report = adapter(rows).check(tmp_path / "adapter", base=str(base))
    found = [finding.message for finding in report.findings if finding.rule == "EMB120"]
    expected = [
        f"the adapter's {what} has 324 rows, its base {base} has 320"
        for what, own in (("embedding", embedding), ("head", head))
        if own
    ]
    assert found == expected


def test_an_adapter_alone_says_what_is_missing(tmp_path: Path) -> None:
    report = adapter(LAYER).check(tmp_path / "adapter")
    assert report.ok
    reasons = {skipped.rule: skipped.reason for skipped in report.skipped}
    assert "give --base" in reasons["EMB102"] or "config" in reasons["EMB102"]


def test_new_tokens_need_rows_of_the_base_or_of_the_adapter(tmp_path: Path) -> None:
    base = str(BASE.write(tmp_path / "base"))
    grown = tokens(320, LLAMA, NEW)
    agree(adapter(LAYER, grown, "error"), adapter(LAYER, grown).check(tmp_path / "bare", base=base))
    with_rows = adapter({TABLE: 324}, grown).check(tmp_path / "with")
    assert with_rows.ok, [finding.message for finding in with_rows.findings]
    short = adapter({TABLE: 322}, grown).check(tmp_path / "short")
    assert [f.ids for f in short.findings if f.rule == "EMB101"] == [(322, 323)]


def bring(path: Path, rows: dict[str, int]) -> None:
    Made("fine", {}, rows, weights_file="new_embeddings.safetensors").write(path)


def test_new_rows_beside_the_base_count(tmp_path: Path) -> None:
    base = str(BASE.write(tmp_path / "base"))
    path = adapter(LAYER, tokens(320, LLAMA, NEW)).write(tmp_path / "adapter")
    bring(path, {"input_embeddings": 4, "output_embeddings": 4})
    report = check_vocab(str(path), CheckOptions(base=base))
    assert report.ok, [finding.message for finding in report.findings]
    assert report.facts.embedding_rows == 324


def test_a_note_where_the_adapter_brings_the_rows_of_its_head(tmp_path: Path) -> None:
    base = str(BASE.write(tmp_path / "base"))
    path = adapter({f"{LM_HEAD}.weight": 324}, tokens(320, LLAMA, NEW)).write(tmp_path / "adapter")
    bring(path, {"input_embeddings": 4})
    report = check_vocab(str(path), CheckOptions(base=base))
    (found,) = [finding for finding in report.findings if finding.rule == "EMB120"]
    assert found.severity.value == "note"
    assert "brings the new 4 rows along" in found.message


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 40, b"version https://git-lfs.github.com/spec/v1\n"],
    ids=["empty", "noise", "pointer"],
)
def test_new_rows_that_cannot_be_read_are_an_error(content: bytes, tmp_path: Path) -> None:
    base = str(BASE.write(tmp_path / "base"))
    path = adapter(LAYER, tokens(320, LLAMA, NEW)).write(tmp_path / "adapter")
    (path / "new_embeddings.safetensors").write_bytes(content)
    report = check_vocab(str(path), CheckOptions(base=base))
    assert not report.ok
    assert any(f.file == "new_embeddings.safetensors" for f in report.findings)


@pytest.mark.parametrize("content", ["", "{", "[]", '"x"', '{"base_model_name_or_path": 7}'])
def test_an_adapter_config_that_says_nothing(content: str, tmp_path: Path) -> None:
    path = adapter({TABLE: 324}, tokens(320, LLAMA, NEW)).write(tmp_path / "adapter")
    (path / "adapter_config.json").write_text(content)
    facts = gather(str(path))
    assert facts.adapter is not None
    assert facts.adapter.base_name is None
    assert facts.embedding_rows == 324


def test_a_base_that_is_a_config_alone(tmp_path: Path) -> None:
    base = Made("fine", config("llama", 320)).write(tmp_path / "base")
    report = adapter({TABLE: 324}).check(tmp_path / "adapter", base=str(base))
    assert [finding.rule for finding in report.findings] == ["EMB120"]


def test_without_weights_an_adapter_has_no_rows(tmp_path: Path) -> None:
    base = str(BASE.write(tmp_path / "base"))
    report = adapter({TABLE: 324}).check(tmp_path / "adapter", base=base, weights=False)
    assert report.ok
    assert report.facts.embedding_rows is None


def test_the_command_line_says_it_all(tmp_path: Path, run: Callable[..., Run]) -> None:
    base = str(BASE.write(tmp_path / "base"))
    path = str(adapter({TABLE: 324}).write(tmp_path / "adapter"))
    result = run("check-vocab", path, "--base", base, "--format", "json")
    assert result.code == 1
    document: dict[str, Any] = result.json
    (finding,) = document["findings"]
    assert (finding["rule"], finding["severity"]) == ("EMB120", "error")
    assert "base.resize_token_embeddings(324)" in finding["hint"]
