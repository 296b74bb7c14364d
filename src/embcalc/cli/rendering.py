"""A report in the format that was asked for, by the one renderer that is needed."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module


def rendered(report: object, command: str, output_format: StrEnum, **settings: bool) -> str:
    """Render a report.

    Only the renderer that runs is imported: start-up is paid by every call.

    Args:
        report: of the type that `embcalc.render.<format>.<command>.render` takes.
        command: module of the renderers under each format.
        output_format: its value names the package of the renderers.
        **settings: what the renderers of this command take beside the report.
    """
    renderer = import_module(f"embcalc.render.{output_format.value}.{command}")
    return str(renderer.render(report, **settings))
