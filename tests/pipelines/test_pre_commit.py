"""The hooks, run by the real pre-commit in a temporary repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PRE_COMMIT = shutil.which("pre-commit", path=str(Path(sys.executable).parent))
GIT = shutil.which("git")
needs_pre_commit = pytest.mark.skipif(
    PRE_COMMIT is None or GIT is None, reason="pre-commit or git is not installed"
)


class Repository:
    """A git repository in a temporary folder, cut off from the user's settings and the network."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PRE_COMMIT_HOME": str(home / "pre-commit"),
            **{
                f"GIT_{who}_{what}": f"test{'@example.org' * (what == 'EMAIL')}"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }
        folder.mkdir(exist_ok=True)
        self.run(str(GIT), "init", "--quiet")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit(self) -> str:
        self.run(str(GIT), "add", "--all")
        assert self.run(str(GIT), "commit", "--quiet", "-m", "x").returncode == 0
        return self.run(str(GIT), "rev-parse", "HEAD").stdout.strip()

    def hooks(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.run(str(GIT), "add", "--all")
        return self.run(str(PRE_COMMIT), "run", "--color", "never", *arguments)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A model repository whose configuration names the hooks of this project."""
    source = Repository(tmp_path / "embcalc", tmp_path)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", source.folder)
    revision = source.commit()
    # The program is installed already: nothing has to be downloaded.
    hook = {"id": "embcalc-check", "language": "system"}
    configuration = {"repos": [{"repo": str(source.folder), "rev": revision, "hooks": [hook]}]}
    shutil.copytree(ROOT / "examples" / "tiny-model", tmp_path / "model")
    model = Repository(tmp_path / "model", tmp_path)
    (model.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(configuration))
    return model


@needs_pre_commit
def test_the_hook_guards_a_model_repository(repository: Repository) -> None:
    healthy = repository.hooks("--all-files")
    assert healthy.returncode == 0, healthy.stdout + healthy.stderr
    assert "Passed" in healthy.stdout
    repository.commit()

    (repository.folder / "README.md").write_text("words\n")
    assert "no files to check" in repository.hooks().stdout
    repository.commit()

    config = repository.folder / "config.json"
    config.write_text(config.read_text().replace('"vocab_size": 64', '"vocab_size": 65'))
    broken = repository.hooks()
    assert broken.returncode == 1
    assert "exit code: 1" in broken.stdout
    assert "EMB102" in broken.stdout


@needs_pre_commit
def test_the_manifest_is_valid() -> None:
    done = subprocess.run(
        [str(PRE_COMMIT), "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_files_that_wake_the_hook(hook: dict[str, Any]) -> None:
    wakes = re.compile(hook["files"])
    for name in (
        "config.json",
        "models/a/config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "added_tokens.json",
        "special_tokens_map.json",
        "vocab.json",
        "vocab.txt",
        "merges.txt",
        "tokenizer.model",
        "spiece.model",
        "qwen.tiktoken",
        "tekken.json",
        "model.safetensors",
        "model-00001-of-00002.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "model.Q4_K_M.gguf",
        "embcalc.toml",
    ):
        assert wakes.search(name), name
    for name in ("README.md", "package.json", "myconfig.json", "config.json.bak", "data.bin"):
        assert not wakes.search(name), name


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_are_defined_for_any_machine(hook: dict[str, Any]) -> None:
    assert hook["language"] == "python"
    assert hook["entry"].split()[0] == "embcalc"
    assert hook["args"] == ["."]
    assert hook["pass_filenames"] is False
