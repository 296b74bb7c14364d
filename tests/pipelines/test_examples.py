"""The example model: healthy, and red in every format once it is broken."""

from __future__ import annotations

import filecmp
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tests.conftest import Run
from tokenizers import Tokenizer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODEL = EXAMPLES / "tiny-model"
FORMATS = ("text", "json", "csv", "markdown", "github", "sarif", "junit")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


BREAKAGES = script("break_it").BREAKAGES


@pytest.mark.parametrize("output_format", FORMATS)
def test_the_model_is_healthy_in_every_format(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, output_format: str
) -> None:
    monkeypatch.chdir(MODEL)
    result = run("check", ".", "--format", output_format)
    assert (result.code, result.err) == (0, "")
    if output_format == "sarif":
        assert result.json["runs"][0]["results"] == []
    elif output_format != "junit":
        assert "EMB" not in result.out.split("not checked")[0].split('"skipped"')[0]


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.what)
def test_every_breakage_turns_the_gate_red(
    run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    breakage: object,
    output_format: str,
) -> None:
    folder = shutil.copytree(MODEL, tmp_path / "model")
    breakage.breaks(folder)  # type: ignore[attr-defined]
    code, rule = breakage.code, breakage.rule  # type: ignore[attr-defined]
    monkeypatch.chdir(folder)
    result = run("check", ".", "--format", output_format)
    assert result.code == code
    if rule is None:
        assert result.err.startswith("error: ")
        return
    assert result.err == ""
    assert rule in codes_of(result.out, output_format)


def codes_of(out: str, output_format: str) -> set[str]:
    """The rules that a document says were broken."""
    if output_format == "json":
        return {finding["rule"] for finding in json.loads(out)["findings"]}
    if output_format == "sarif":
        (run,) = json.loads(out)["runs"]
        return {result["ruleId"] for result in run["results"]}
    if output_format == "junit":
        cases = ElementTree.fromstring(out).iter("testcase")
        failed = (case.get("name") or "" for case in cases if case.find("failure") is not None)
        return {name.split()[0] for name in failed}
    return {word for word in out.replace(",", " ").replace("=", " ").split() if word[:3] == "EMB"}


def test_ten_kinds_of_breakage() -> None:
    assert len(BREAKAGES) == 10
    assert len({breakage.rule for breakage in BREAKAGES}) == 10


def test_the_script_shows_them_all() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "break_it.py"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert len(done.stdout.splitlines()) == 12


def test_the_committed_model_is_what_its_script_writes(tmp_path: Path) -> None:
    script("make_tiny_model").main(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 7
    assert filecmp.cmpfiles(tmp_path, MODEL, names, shallow=False)[0] == names


def test_the_tokenizer_is_one() -> None:
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    encoded = tokenizer.encode("you and the <|user|> word")
    assert encoded.tokens == ["<s>", "you", "and", "the", "<|user|>", "word"]
    assert max(encoded.ids) < tokenizer.get_vocab_size() == 64
