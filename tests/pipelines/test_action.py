"""The steps of action.yml, run as the shell that they are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.usecases.models import EMBED, healthy

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@dataclass
class Runner:
    """What a GitHub runner gives to a step."""

    workspace: Path
    path: str

    def run(self, step_id: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        step = next(step for step in ACTION["runs"]["steps"] if step.get("id") == step_id)
        given = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        values = {f"inputs.{name}": value for name, value in given.items()}
        values["github.action_path"] = str(ROOT)
        script = self.workspace.parent / "step.sh"
        script.write_text(step["run"], "utf-8")
        return subprocess.run(
            [str(BASH), "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={
                "PATH": self.path,
                "HOME": str(self.workspace.parent),
                "GITHUB_OUTPUT": str(self.workspace.parent / "output"),
                "GITHUB_STEP_SUMMARY": str(self.workspace.parent / "summary.md"),
                **{key: self._evaluated(value, values) for key, value in step["env"].items()},
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @staticmethod
    def _evaluated(text: str, values: dict[str, str]) -> str:
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda match: values[match[1]], text)

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.workspace.parent / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def summary(self) -> str:
        path = self.workspace.parent / "summary.md"
        return path.read_text("utf-8") if path.exists() else ""


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    programs = str(Path(sys.executable).parent)
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Runner(workspace, os.pathsep.join([programs, "/usr/bin", "/bin"]))


def test_a_healthy_model(runner: Runner) -> None:
    shutil.copytree(ROOT / "examples" / "tiny-model", runner.workspace, dirs_exist_ok=True)
    done = runner.run("check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 errors" in done.stdout
    assert runner.outputs == {"exit-code": "0"}
    assert "passed" in runner.summary


def test_a_broken_model_with_everything_on(runner: Runner) -> None:
    healthy(runner.workspace / "a model", lambda stored: stored[EMBED].__setitem__(3, float("nan")))
    healthy(runner.workspace / "good")
    (runner.workspace.parent / "summary.md").write_text("# before\n")
    done = runner.run("check", model="a model\n  \ngood\n", args="--ignore EMB2", sarif="true")
    assert done.returncode == 1
    assert "::error file=a model/model.safetensors,line=1,title=EMB501" in done.stdout
    assert runner.outputs == {"exit-code": "1", "sarif-file": "embcalc.sarif"}
    assert runner.summary.startswith("# before\n## embcalc check: failed")
    log = json.loads((runner.workspace / "embcalc.sarif").read_text())
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["EMB501"]


def test_a_model_that_cannot_be_read(runner: Runner) -> None:
    done = runner.run("check", model="nowhere", sarif="true")
    assert done.returncode == 2
    assert "::error title=nowhere cannot be checked" in done.stdout
    assert runner.outputs == {"exit-code": "2", "sarif-file": "embcalc.sarif"}
    assert "nowhere cannot be checked" in runner.summary


def test_wrong_arguments_leave_no_old_document(runner: Runner) -> None:
    (runner.workspace / "embcalc.sarif").write_text("{}")
    done = runner.run("check", args="--nope", sarif="true")
    assert done.returncode == 2
    assert runner.outputs == {"exit-code": "2"}
    assert runner.summary == ""


@pytest.mark.parametrize("hostile", ["$(touch pwned)", "`touch pwned`", "; touch pwned", '"'])
def test_inputs_are_data(runner: Runner, hostile: str) -> None:
    done = runner.run("check", model=hostile, args=hostile.replace(" ", "\t"))
    assert done.returncode == 2
    assert not (runner.workspace / "pwned").exists()


def test_no_step_interpolates_an_expression() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"


def test_the_installed_program_is_used_as_it_is(runner: Runner) -> None:
    done = runner.run("install", version="installed")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("embcalc ")


@pytest.mark.parametrize(("version", "installed"), [("", str(ROOT)), ("0.1.0", "embcalc==0.1.0")])
def test_what_is_installed(runner: Runner, tmp_path: Path, version: str, installed: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    stand_in = programs / "python3"
    stand_in.write_text('#!/bin/sh\nfor word; do echo "$word"; done >> "$HOME/asked"\n')
    stand_in.chmod(0o755)
    runner.path = f"{programs}{os.pathsep}{runner.path}"
    assert runner.run("install", version=version).returncode == 0
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["-m", "pip", "install", "--quiet", installed]


def test_every_input_is_used_and_every_output_exists() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text
    steps = {step.get("id") for step in ACTION["runs"]["steps"]}
    for output in ACTION["outputs"].values():
        assert output["value"].split(".")[1] in steps
