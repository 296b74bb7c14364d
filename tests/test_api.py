"""The public names: what a program that imports embcalc gets."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import embcalc

OF_ONE_MODEL: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "estimate": (embcalc.estimate, {}),
    "inspect": (embcalc.inspect, {}),
    "check_vocab": (embcalc.check_vocab, {}),
    "check": (embcalc.check, {}),
    "lookup": (embcalc.lookup, {"text": "我"}),
    "neighbors": (embcalc.neighbors, {"tokens": "我"}),
}


@pytest.mark.parametrize("name", OF_ONE_MODEL)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_command_takes_text_and_paths_and_returns_a_frozen_report(
    demo_model: Path, name: str, kind: Callable[[Path], Any]
) -> None:
    function, settings = OF_ONE_MODEL[name]
    report = function(kind(demo_model), **settings)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(report, dataclasses.fields(report)[0].name, None)
    assert str(demo_model) in repr(report)
    assert "PosixPath" not in repr(report)


@pytest.mark.parametrize("name", [*OF_ONE_MODEL, "diff"])
def test_each_function_says_what_it_does_takes_and_raises(name: str) -> None:
    text = inspect.getdoc(getattr(embcalc, name)) or ""
    assert text.partition("\n")[0].endswith(".")
    assert {"Args:", "Raises:"} <= set(text.split())


def test_refusals_are_of_one_kind() -> None:
    with pytest.raises(embcalc.EmbcalcError) as caught:
        embcalc.estimate(vocab_size=0, hidden_size=4)
    assert "at least 1" in caught.value.message
    assert caught.value.hint


def test_an_import_is_cheap() -> None:
    code = "import sys, embcalc; print(sorted({'numpy', 'typer', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
