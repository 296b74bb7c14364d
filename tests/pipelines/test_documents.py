"""Workflows, the action and the examples of docs/ci.md: valid, and doing what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CI = (ROOT / "docs" / "ci.md").read_text("utf-8")
WORKFLOWS = sorted(
    [
        *(ROOT / ".github" / "workflows").glob("*.yml"),
        *(ROOT / "examples" / "tiny-model" / ".github" / "workflows").glob("*.yml"),
    ]
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", CI, re.DOTALL)


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", CI, re.DOTALL)
    assert found is not None
    return found[1]


def validated(schema: str, file: Path) -> None:
    reason = "check-jsonschema, which holds the published schemas, is not installed"
    pytest.importorskip("check_jsonschema", reason=reason)
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_action_is_valid() -> None:
    validated("vendor.github-actions", ROOT / "action.yml")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: str(path.name))
def test_workflows_are_valid(workflow: Path) -> None:
    validated("vendor.github-workflows", workflow)


def test_the_documented_workflow_is_valid_and_names_inputs_that_exist(tmp_path: Path) -> None:
    text = next(block for block in blocks("yaml") if "runs-on" in block)
    (tmp_path / "w.yml").write_text(text)
    validated("vendor.github-workflows", tmp_path / "w.yml")
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    workflows = [yaml.safe_load(text), *(yaml.safe_load(w.read_text("utf-8")) for w in WORKFLOWS)]
    for workflow in workflows:
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                if "embcalc@" in step.get("uses", "") or step.get("uses") == "./":
                    assert set(step["with"]) <= set(inputs)


def test_the_gitlab_job_is_valid_and_runs(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text(example("gitlab"))
    validated("vendor.gitlab-ci", tmp_path / ".gitlab-ci.yml")
    job = yaml.safe_load(example("gitlab"))["check-model"]
    install, check = job["script"]
    assert install.startswith("pip install ")
    model = shutil.copytree(ROOT / "examples" / "tiny-model", tmp_path / "model")
    assert shell(check, model).returncode == 0
    artifacts = job["artifacts"]
    for name in (*artifacts["paths"], artifacts["reports"]["junit"]):
        assert (model / name).stat().st_size > 0


@pytest.mark.parametrize(("change", "code"), [("", 0), ("config.json", 1), ("everything", 2)])
def test_the_shell_script(tmp_path: Path, change: str, code: int) -> None:
    model = shutil.copytree(ROOT / "examples" / "tiny-model", tmp_path / "model")
    if change == "config.json":
        config = model / change
        config.write_text(config.read_text().replace('"eos_token_id": 2', '"eos_token_id": 99'))
    elif change:
        shutil.rmtree(model)
        model.mkdir()
    done = shell(example("shell"), model)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("ready to upload" in done.stdout) == (code == 0)


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
