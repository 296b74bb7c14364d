from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import embcalc
from tests.conftest import Run
from tests.usecases.models import EMBED, Tables, healthy

Runner = Callable[..., Run]


def with_nan(stored: Tables) -> None:
    stored[EMBED][3] = np.nan


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A healthy model, one with a row of NaN, and one whose table is nearly fine."""
    healthy(tmp_path / "good")
    healthy(tmp_path / "bad", with_nan)
    healthy(tmp_path / "odd", lambda stored: stored[EMBED].__setitem__(5, 1e-9))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_demo_passes(run: Runner, demo_model: Path) -> None:
    result = run("check", demo_model, "--strict")
    assert (result.code, result.err) == (0, "")
    assert "ok: nothing found" in result.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good"], 0),
        (["bad"], 1),
        (["odd"], 0),
        (["odd", "--strict"], 1),
        (["odd", "--strict", "--ignore", "EMB506"], 0),
        (["odd", "--strict", "--ignore", "EMB5"], 0),
        (["bad", "--select", "EMB1,EMB2", "--select", "EMB3"], 0),
        (["bad", "--no-weights"], 0),
        (["good", "odd"], 0),
        (["good", "bad"], 1),
        (["*"], 1),
        (["*", "--jobs", "2"], 1),
        (["nowhere"], 2),
        (["good", "nowhere"], 2),
        (["bad", "nowhere"], 2),
        (["none*"], 2),
        (["good", "--jobs", "0"], 2),
        (["good", "--select", "EMB9"], 2),
        (["good", "--report", "sarif"], 2),
        (["good", "--report", "pdf=x"], 2),
        (["good", "--report", "json=x", "--report", "sarif=./x"], 2),
        (["good", "--baseline", "none.json"], 2),
        (["good", "--update-baseline"], 2),
        (["good", "--format", "pdf"], 2),
        ([], 2),
    ],
)
def test_exit_codes(run: Runner, models: Path, arguments: list[str], code: int) -> None:
    result = run("check", *arguments)
    assert result.code == code, result
    assert (code == 2) == result.err.startswith("error: ")


@pytest.mark.parametrize("output_format", ["text", "json", "csv"])
def test_one_unreadable_model_prints_no_result(
    run: Runner, models: Path, output_format: str
) -> None:
    result = run("check", "nowhere", "--format", output_format, "--output", "out")
    assert (result.code, result.out) == (2, "")
    error, hint = result.err.splitlines()
    assert error == "error: no such file or folder: nowhere"
    assert hint.startswith("hint: ")
    assert not Path("out").exists()


@pytest.mark.parametrize("output_format", ["github", "sarif", "junit", "markdown"])
def test_pipelines_are_told_of_one_unreadable_model(
    run: Runner, models: Path, output_format: str
) -> None:
    result = run("check", "nowhere", "--format", output_format)
    assert result.code == 2
    assert "no such file or folder" in result.out
    assert result.err.startswith("error: no such file or folder")


def test_json_of_one_and_of_several(run: Runner, models: Path) -> None:
    one = run("check", "bad", "--format", "json")
    assert one.json["schema"] == "embcalc/check/v1"
    assert [f["rule"] for f in one.json["findings"]] == ["EMB501"]
    assert one.json["findings"][0]["ids"] == [3]
    several = run("check", "bad", "nowhere", "good", "--format", "json")
    assert several.code == 2
    document = several.json
    assert document["schema"] == "embcalc/check-run/v1"
    assert [(r["model"], r["ok"]) for r in document["reports"]] == [("bad", False), ("good", True)]
    assert [item["model"] for item in document["unreadable"]] == ["nowhere"]
    assert document["summary"]["errors"] == 1
    assert run("check", "goo*", "--format", "json").json["schema"] == "embcalc/check-run/v1"


def test_stderr_names_what_cannot_be_read(run: Runner, models: Path) -> None:
    (models / "broken").mkdir()
    (models / "broken" / "model.safetensors").write_bytes(b"<html>")
    result = run("check", "good", "broken")
    assert result.code == 2
    lines = result.err.splitlines()
    assert lines[0].startswith("error: broken")
    assert lines[1].startswith("hint: ")
    assert "ok      good" in result.out


def test_one_run_writes_several_documents(run: Runner, models: Path) -> None:
    result = run(
        "check",
        "bad",
        *("--format", "github", "--report", "sarif=a.sarif", "--report", "junit=b.xml"),
        *("--report", "markdown=c.md", "--output", "d.txt"),
    )
    assert (result.code, result.out) == (1, "")
    assert json.loads(Path("a.sarif").read_text())["version"] == "2.1.0"
    assert "<failure" in Path("b.xml").read_text()
    assert "EMB501" in Path("c.md").read_text()
    assert Path("d.txt").read_text().startswith("::error file=bad/model.safetensors")


def test_a_document_that_cannot_be_written(run: Runner, models: Path) -> None:
    result = run("check", "good", "--report", "sarif=missing/a.sarif")
    assert (result.code, result.out) == (2, "")
    assert "cannot write missing/a.sarif" in result.err


@pytest.mark.parametrize("option", ["-o", "--report"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_file_of_a_model_is_written_over(
    run: Runner, models: Path, jobs: str, option: str
) -> None:
    weights = models / "good" / "model.safetensors"
    before = weights.read_bytes()
    target = f"json={weights}" if option == "--report" else weights
    result = run("check", "good", "odd", "--jobs", jobs, option, target)
    assert (result.code, result.out) == (2, "")
    assert "not overwritten" in result.err
    assert weights.read_bytes() == before


def test_a_baseline_lets_known_findings_pass(run: Runner, models: Path) -> None:
    first = run("check", "bad", "odd", "--baseline", "known.json", "--update-baseline")
    assert first.code == 0
    assert first.err == "note: 2 known findings written to known.json\n"
    again = run("check", "*", "--baseline", "known.json", "--strict")
    assert (again.code, again.err) == (0, "")
    assert "2 findings of the baseline not shown" in again.out
    document = run("check", "bad", "--baseline", "known.json", "--format", "json").json
    assert (document["ok"], document["findings"]) == (True, [])
    assert [finding["rule"] for finding in document["known"]] == ["EMB501"]
    (models / "embcalc.toml").write_text('baseline = "known.json"\n')
    os.chdir("bad")
    assert run("check", ".").code == 0


def test_an_update_with_an_unreadable_model_keeps_its_entries(run: Runner, models: Path) -> None:
    assert run("check", "bad", "odd", "--baseline", "k.json", "--update-baseline").code == 0
    (models / "bad").rename(models / "gone")
    assert run("check", "bad", "odd", "--baseline", "k.json", "--update-baseline").code == 2
    entries = json.loads(Path("k.json").read_text())["findings"]
    assert [entry["model"] for entry in entries] == ["bad", "odd"]


def test_settings_of_the_repository(run: Runner, models: Path) -> None:
    (models / "embcalc.toml").write_text('strict = true\n[models."ba*"]\nignore = ["EMB501"]\n')
    assert run("check", "bad").code == 0
    assert run("check", "odd").code == 1
    (models / "embcalc.toml").write_text("strict = maybe\n")
    result = run("check", "good")
    assert (result.code, result.out) == (2, "")


def test_text_of_a_failing_model(run: Runner, models: Path) -> None:
    checked = len(embcalc.check("bad").reports[0].ran)
    assert run("check", "bad").out == (
        "bad\n"
        "  vocab_size      16  config.json:vocab_size\n"
        "  embedding rows  16  model.embed_tokens.weight\n"
        "  head rows       16  lm_head.weight\n"
        "  tokens          16  tokenizer.json\n"
        "  largest id      15\n"
        "\n"
        "error EMB501 nonfinite-row  model.safetensors\n"
        "  1 row of model.embed_tokens.weight with NaN or infinity: 't3' (3)\n"
        "  fix: training diverged or the file was damaged: go back to an earlier\n"
        "       checkpoint\n"
        "\n"
        f"failed: 1 error ({checked} rules checked)\n"
    )


@pytest.mark.parametrize("output_format", ["github", "sarif", "junit"])
def test_check_vocab_speaks_to_pipelines_too(run: Runner, models: Path, output_format: str) -> None:
    result = run("check-vocab", "bad", "--format", output_format)
    assert (result.code, result.err) == (0, "")
    assert result.out


NO_RULE = {
    "check good --select EMB101 --ignore EMB101": "--ignore takes away what --select names",
    "check good --ignore EMB": "--ignore takes away all of them",
    "check good --select EMB1 --ignore EMB": None,
    "check good --select EMB101 --ignore EMB1": None,
    "check good --select EMB5 --no-weights": "read weights, and --no-weights reads none",
    "check good --select EMB12,EMB13": "compare with another model",
    "check-vocab good --select EMB5": "EMB5 read rows, and this command reads none",
    "check-vocab good --select EMB5,EMB1": None,
}


@pytest.mark.parametrize("line", NO_RULE)
def test_options_that_leave_no_rule_are_wrong(run: Runner, models: Path, line: str) -> None:
    result = run(*line.split())
    why = NO_RULE[line]
    assert result.code == (0 if why is None else 2)
    if why is not None:
        assert result.out == ""
        assert f"no rule is left to run: {why}" in result.err.replace("those selected ", "")


def test_a_rule_that_does_not_apply_is_no_wrong_option(run: Runner, demo_model: Path) -> None:
    result = run("check", demo_model, "--select", "EMB401")
    assert result.code == 0
    assert "not checked (no output head" in result.out


@pytest.mark.parametrize(
    ("code", "hint"),
    [("token-without-row", "write its code, EMB101"), ("XYZ", "codes are EMB101 to EMB6")],
)
def test_a_code_that_is_none(run: Runner, models: Path, code: str, hint: str) -> None:
    result = run("check", "good", "--select", code)
    assert result.code == 2
    assert f"hint: {hint}" in result.err


def test_explain_knows_the_rules_about_rows(run: Runner) -> None:
    assert "NaN" in run("explain", "EMB501").out
    assert "EMB601" in run("explain").out


LISTENS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from embcalc.cli.app import entry_point
entry_point()
"""
"""The program, listening to Ctrl-C even where the tests run in the background."""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no groups of processes")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_leaves_no_half_written_report(tmp_path: Path, jobs: str) -> None:
    healthy(tmp_path / "good")
    (tmp_path / "out.json").write_text("old")
    # A server that accepts and says nothing keeps the second model waiting.
    silent = socket.create_server(("127.0.0.1", 0))
    slow = f"http://127.0.0.1:{silent.getsockname()[1]}/model.safetensors"
    documents = ("--format", "json", "--output", "out.json", "--report", "sarif=out.sarif")
    started = subprocess.Popen(
        [sys.executable, "-c", LISTENS, "check", "good", slow, "--jobs", jobs, *documents],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        started.wait(2.5)
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=20)
    silent.close()
    assert (started.returncode, out) == (130, "")
    assert err == "interrupted\n"
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good", "out.json"]
