"""Each command in the README prints what the README shows, today."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scripts.readme_examples import MODELS, README, Example, examples

from tests.conftest import Run, real_path

EXAMPLES = examples(README.read_text("utf-8"))


def marked_commands() -> dict[str, str]:
    """The commands that a reader pastes, by the name of the marker above each."""
    found = re.findall(
        r"^<!-- command: (\w+) -->\n```sh\n(.*?)\n```$",
        README.read_text("utf-8"),
        flags=re.M | re.S,
    )
    return dict(found)


def test_set_up_is_two_commands_of_one_line_each() -> None:
    commands = marked_commands()
    assert list(commands) == ["run", "test", "real"]
    assert not any("\n" in command for command in commands.values())
    assert commands["run"].startswith("python3 -m venv .venv && ")
    assert commands["test"].endswith(" -m pytest -q -n auto")
    assert f".cache/real/{MODELS['all-MiniLM-L6-v2']} all-MiniLM-L6-v2" in commands["real"]


@pytest.mark.skipif(shutil.which("sh") is None, reason="no sh to paste the command into")
def test_the_first_command_leaves_embcalc_on_the_path_and_runs_twice(tmp_path: Path) -> None:
    environment = Path(sys.prefix)
    if not (environment / "bin" / "activate").exists():
        pytest.skip("the tests do not run in a virtual environment")
    (tmp_path / ".venv").symlink_to(environment)
    after_installing = " && ".join(marked_commands()["run"].split(" && ")[2:])
    script = f"{after_installing} && {after_installing} && embcalc check-vocab tiny"
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("wrote config.json") == 2


def test_the_three_main_commands_are_shown() -> None:
    assert {"estimate", "inspect", "check-vocab"} <= {example.words[0] for example in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.command)
def test_the_output_shown_is_the_output(
    example: Example, run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, place in example.models.items():
        (tmp_path / name).symlink_to(real_path(place))
    if example.needs_demo:
        run("demo", "tiny")
    result = run(*example.words)
    assert (result.out or result.err) == example.output
