"""Each command in the README prints what the README shows, today."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scripts.readme_examples import README, Example, examples

from tests.conftest import Run, real_path

EXAMPLES = examples(README.read_text("utf-8"))


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
