"""Kinds of broken folders that a gate must never pass: each through the real command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.conftest import Run
from tests.usecases.models import healthy

Damage = Callable[[Path], object]
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n"


def text(name: str, content: str) -> Damage:
    return lambda folder: (folder / name).write_text(content)


def raw(name: str, content: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(content)


def folder_named(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return damage


def keys(name: str, **changed: Any) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        document = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**document, **changed}))

    return damage


def tensors(stored: Mapping[str, Any]) -> Damage:
    return lambda folder: save_file(dict(stored), folder / "model.safetensors")


KINDS: dict[str, tuple[Damage, str, str]] = {
    "config: null": (text("config.json", "null"), "EMB302", "holds null, not a JSON object"),
    "config: a list": (text("config.json", "[]"), "EMB302", "holds a list, not a JSON object"),
    "config: a number": (text("config.json", "5"), "EMB302", "holds a number"),
    "config: empty": (text("config.json", " "), "EMB302", "config.json is empty"),
    "config: cut": (text("config.json", '{"a'), "EMB302", "config.json is not valid JSON"),
    "config: deep": (text("config.json", "[" * 100_000), "EMB302", "nested too deep"),
    "config: BOM": (raw("config.json", b"\xef\xbb\xbf{}"), "EMB302", "a byte order mark"),
    "config: UTF-16": (raw("config.json", "\ufeff{}".encode("utf-16-le")), "EMB302", "byte order"),
    "config: no mark": (raw("config.json", "{}".encode("utf-16-be")), "EMB302", "zero bytes"),
    "config: latin": (raw("config.json", b'{"a": "\xe9"}'), "EMB302", "is not UTF-8"),
    "config: a page": (text("config.json", "<html>"), "EMB302", "is an HTML page, not JSON"),
    "config: pointer": (text("config.json", POINTER), "EMB301", "is a Git LFS pointer"),
    "config: a folder": (folder_named("config.json"), "EMB302", "is a folder, not a file"),
    "config: vocab_size": (keys("config.json", vocab_size="16"), "EMB117", 'is "16"'),
    "config: hidden_size": (keys("config.json", hidden_size=None), "EMB117", "is null"),
    "config: tying": (keys("config.json", tie_word_embeddings="false"), "EMB117", "nor false"),
    "config: pad": (keys("config.json", pad_token_id="0"), "EMB117", "not a token id"),
    "generation: a list": (text("generation_config.json", "[]"), "EMB302", "holds a list"),
    "generation: null": (text("generation_config.json", "null"), "EMB302", "holds null"),
    "generation: a folder": (folder_named("generation_config.json"), "EMB302", "is a folder"),
    "generation: ids": (
        keys("generation_config.json", eos_token_id=["2"]),
        "EMB117",
        "generation_config.json:eos_token_id",
    ),
    "tokenizer: a folder": (folder_named("tokenizer.json"), "EMB302", "is a folder, not a file"),
    "settings: a folder": (folder_named("tokenizer_config.json"), "EMB302", "is a folder"),
    "settings: a list": (text("tokenizer_config.json", "[]"), "EMB302", "not as its format"),
    "tokenizer: normalizer": (keys("tokenizer.json", normalizer="x"), "EMB309", "normalizer"),
    "tokenizer: padding": (keys("tokenizer.json", padding="yes"), "EMB309", "padding"),
    "weights: no tensors": (tensors({}), "EMB606", "hold no tensors at all"),
    "weights: a folder": (folder_named("model.safetensors"), "EMB603", "is a folder"),
    "weights: an index": (
        folder_named("model.safetensors.index.json"),
        "EMB602",
        "is a folder, not a file",
    ),
}
WARNINGS = {
    "weights: no table": (tensors({"conv.weight": np.ones((2, 2))}), "EMB606", "no token table"),
    "index: garbage": (text("model.safetensors.index.json", "x"), "EMB602", "no index of shards"),
}


def found(run: Callable[..., Run], command: str, folder: Path) -> tuple[int, dict[str, str]]:
    result = run(command, folder, "--format", "json", "--strict")
    document = result.json
    return result.code, {one["rule"]: one["message"] for one in document["findings"]}


@pytest.mark.parametrize("command", ["check", "check-vocab"])
@pytest.mark.parametrize("kind", [*KINDS, *WARNINGS])
def test_the_gate_is_closed(
    kind: str, command: str, run: Callable[..., Run], tmp_path: Path
) -> None:
    damage, rule, words = (KINDS | WARNINGS)[kind]
    folder = healthy(tmp_path / "m")
    damage(folder)
    code, findings = found(run, command, folder)
    assert code == 1
    assert words in findings[rule]
    assert "\n" not in findings[rule]
    assert set(findings) - {rule, "EMB605"} == set()


@pytest.mark.parametrize("kind", [name for name in KINDS if name.startswith("config")])
def test_inspect_says_it_too_and_no_untrue_word(
    kind: str, run: Callable[..., Run], tmp_path: Path
) -> None:
    damage, _, words = KINDS[kind]
    folder = healthy(tmp_path / "m")
    damage(folder)
    result = run("inspect", folder, "--format", "json", "--fail-on", "files")
    assert result.code == 1
    (finding,) = [one for one in result.json["findings"] if one["name"] == "files"]
    assert finding["severity"] == "error"
    assert words in finding["message"]
    tied_said = kind in ("config: vocab_size", "config: hidden_size", "config: pad")
    assert result.json["tying"]["verdict"] == ("untied" if tied_said else "unknown")
    plain = run("inspect", folder).out
    assert "config.json: config.json" not in plain
    assert tied_said == ("head: untied" in plain)


def test_without_a_config_the_values_decide(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m")
    (folder / "config.json").unlink()
    assert run("inspect", folder, "--format", "json").json["tying"]["verdict"] == "untied"


def test_a_size_that_cannot_be_used_is_said_so(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m", config={"vocab_size": "16"})
    skipped = run("check-vocab", folder, "--format", "json").json["skipped"]
    assert {"rule": "EMB114", "reason": "no usable vocab_size in config.json"} in skipped


def test_vision_models_have_no_table_to_miss(run: Callable[..., Run], tmp_path: Path) -> None:
    save_file({"conv.weight": np.ones((2, 2), "f4")}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "vit", "hidden_size": 2}')
    result = run("check-vocab", tmp_path, "--strict", "--format", "json")
    assert result.code == 0
    assert [one["severity"] for one in result.json["findings"]] == ["note"]


def test_several_unreadable_models_take_a_line_each_and_one_hint(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"")
    result = run("check", "nowhere", "gone")
    assert (result.code, result.err) == (
        2,
        "error: no such file or folder: nowhere\n"
        "error: no such file or folder: gone\n"
        "hint: check the path; a model on the hub is written org/name\n",
    )
    result = run("check", "nowhere", "empty", "broken")
    assert (result.code, result.err) == (
        2,
        "error: no such file or folder: nowhere\n"
        "error: no config, tokenizer or weights in empty: the folder is empty\n"
        "error: broken/model.safetensors is empty (0 bytes)\n"
        "hint: see the result, or check one of them alone, for what to do\n",
    )
    assert "fix: download it again" in result.out


@pytest.mark.parametrize("name", ["chat_template.jinja", "tokenizer_config.json"])
def test_a_template_that_cannot_be_read_does_not_stop_inspect(
    name: str, run: Callable[..., Run], tmp_path: Path
) -> None:
    folder = healthy(tmp_path / "m")
    (folder / name).mkdir()
    result = run("inspect", folder, "--format", "json")
    assert result.code == 0
    assert len(result.json["tables"]) == 2
    assert run("check", folder).code == 1


def test_reasons_are_for_users_of_the_model(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m")
    (folder / "config.json").write_text('{"vocab_size": 1' + "0" * 5000 + "}")
    _, findings = found(run, "check-vocab", folder)
    assert findings["EMB302"].startswith("config.json is not valid JSON: Exceeds the limit")
    assert "sys." not in findings["EMB302"]
