from __future__ import annotations

from embcalc.core.reports.presets import PresetsReport
from embcalc.render.layout import table


def render(report: PresetsReport) -> str:
    """List presets, a line each."""
    rows = [["preset", "V", "d", "head", "positions", "parameters"]]
    rows.extend(
        [
            preset.name,
            f"{preset.vocab_size:,}",
            f"{preset.embedding_size:,}",
            "tied" if preset.tied else "untied",
            f"{preset.positions:,}" if preset.positions else "-",
            f"{preset.parameters:,}",
        ]
        for preset in report.presets
    )
    return "\n".join(table(rows, "lrrlrr", indent=0, gap=1)) + "\n"
