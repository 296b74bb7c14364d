"""Each command finds a renderer for every format that it offers."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from embcalc.cli.options import FindingsFormat, RowsFormat

ROWS = ("diff", "estimate", "inspect", "lookup", "neighbors", "presets", "trend")


@pytest.mark.parametrize("command", ROWS)
@pytest.mark.parametrize("output_format", RowsFormat)
def test_a_command_of_rows_has_a_renderer_in_every_format(
    command: str, output_format: RowsFormat
) -> None:
    renderer = import_module(f"embcalc.render.{output_format.value}.{command}")

    wanted, *others = inspect.signature(renderer.render).parameters.values()

    assert wanted.name == "report"
    assert all(other.default is not inspect.Parameter.empty for other in others)


@pytest.mark.parametrize("output_format", FindingsFormat)
def test_findings_have_a_renderer_in_every_format(output_format: FindingsFormat) -> None:
    renderer = import_module(f"embcalc.render.{output_format.value}.check_run")

    assert list(inspect.signature(renderer.render).parameters)
