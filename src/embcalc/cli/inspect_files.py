"""The files that `inspect` writes beside its result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from embcalc.errors import UsageError
from embcalc.render.files import require_place

if TYPE_CHECKING:
    from embcalc.core.reports.inspect import InspectReport


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectFiles:
    """What was asked for; None is not."""

    export: Path | None
    plot: Path | None
    html: Path | None

    def require(self, models: int) -> None:
        """Refuse what cannot be written before a large table is read.

        Raises:
            UsageError: a format is unknown, a folder missing, or there is more than one model.
            MissingExtraError: a package is missing.
        """
        if models > 1 and any((self.export, self.plot, self.html)):
            raise UsageError(
                "--export, --plot and --html take one checkpoint",
                hint="a trend over several is written by --format csv and --output FILE",
            )
        for path in (self.export, self.plot, self.html):
            if path is not None:
                require_place(path)
        if self.export is not None:
            from embcalc.render.export.inspect import require_format

            require_format(self.export)
        if self.plot is not None:
            from embcalc.render.plots.inspect import require_picture

            require_picture(self.plot)

    def write(self, report: InspectReport) -> None:
        """Write each file whole or not at all; none where there is nothing to plot.

        Raises:
            UsageError: a file cannot be written, or no row can be plotted.
        """
        if self.plot is not None:
            from embcalc.render.plots.inspect import drawable

            drawable(report)
        if self.export is not None:
            from embcalc.render.export.inspect import export

            export(report, self.export)
        if self.plot is not None:
            from embcalc.render.plots.inspect import draw

            draw(report, self.plot)
        if self.html is not None:
            from embcalc.render.files import whole_file
            from embcalc.render.html.inspect import render

            with whole_file(self.html) as stream:
                stream.write(render(report).encode("utf-8", "backslashreplace"))
