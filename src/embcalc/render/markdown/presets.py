from __future__ import annotations

from embcalc.core.reports.presets import PresetsReport
from embcalc.render.markdown.document import escape, table


def render(report: PresetsReport) -> str:
    """Lay the presets out as a pipe table."""
    rows = [
        [
            escape(preset.name),
            escape(preset.model),
            f"{preset.vocab_size:,}",
            f"{preset.embedding_size:,}",
            "tied" if preset.tied else "untied",
            f"{preset.positions:,}",
            f"{preset.parameters:,}",
        ]
        for preset in report.presets
    ]
    heading = ["preset", "published as", "V", "d", "head", "positions", "parameters"]
    return "\n".join(table(heading, rows, "llrrlrr")) + "\n"
