"""Where findings go: one document on stdout or in a file, others beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.options import FindingsFormat
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered
from embcalc.cli.streams import say
from embcalc.errors import EmbcalcError, UsageError
from embcalc.render.files import require_place

if TYPE_CHECKING:
    from embcalc.core.reports.check import CheckReport
    from embcalc.core.reports.check_run import CheckRun, Unreadable

_OF_ONE_MODEL = (
    FindingsFormat.TEXT,
    FindingsFormat.JSON,
    FindingsFormat.CSV,
    FindingsFormat.MARKDOWN,
)
_SAYS_UNREADABLE = (
    FindingsFormat.GITHUB,
    FindingsFormat.SARIF,
    FindingsFormat.JUNIT,
    FindingsFormat.MARKDOWN,
)
"""Formats whose document for one model can say that it cannot be read."""


def rendered_report(report: CheckReport, output_format: FindingsFormat) -> str:
    """Render the report of one model; for pipelines as a run of one."""
    if output_format in _OF_ONE_MODEL:
        return rendered(report, "check", output_format)
    from embcalc.core.reports.check_run import CheckedModel, CheckRun
    from embcalc.usecases.check_model import local_folder

    model = CheckedModel(report=report, folder=local_folder(report.model))
    return rendered(CheckRun(models=(model,), single=True), "check_run", output_format)


def parse_reports(values: Sequence[str]) -> tuple[tuple[FindingsFormat, Path], ...]:
    """Take `--report FORMAT=FILE` apart.

    Raises:
        UsageError: a value is of another form.
    """
    reports = []
    for value in values:
        name, equals, file = value.partition("=")
        if name not in tuple(FindingsFormat) or not equals or not file:
            known = ", ".join(FindingsFormat)
            raise UsageError(
                f"--report {value} is not FORMAT=FILE", hint=f"FORMAT is one of {known}"
            )
        require_place(Path(file))
        reports.append((FindingsFormat(name), Path(file)))
    return tuple(reports)


def deliver_run(
    run: CheckRun,
    output_format: FindingsFormat,
    output: Path | None,
    reports: Sequence[tuple[FindingsFormat, Path]],
) -> None:
    """Write every document of a run, and say on stderr what could not be read.

    Raises:
        EmbcalcError: the one model of the run cannot be read, and the format cannot say so.
        UsageError: a file cannot be written.
    """
    for report_format, file in reports:
        deliver(rendered(run, "check_run", report_format), file)
    if run.single and run.unreadable and output_format not in _SAYS_UNREADABLE:
        raise EmbcalcError(run.unreadable[0].error, run.unreadable[0].hint)
    deliver(rendered(run, "check_run", output_format), output)
    _say_unreadable(run)


def exit_code(run: CheckRun) -> ExitCode:
    """What a run tells the shell: what could not be checked outweighs what was found."""
    if run.unreadable:
        return ExitCode.CANNOT_RUN
    return ExitCode.OK if run.ok else ExitCode.FINDINGS


def _say_unreadable(run: CheckRun) -> None:
    """Say one line a model, then each hint once: it is often the same one for many."""
    from embcalc.core.safe_text import safe

    for item in run.unreadable:
        where = "" if run.single or _names(item) else f"{safe(item.model)}: "
        say(f"error: {where}{safe(item.error)}")
    hints = dict.fromkeys(item.hint for item in run.unreadable if item.hint)
    if len(hints) == 1:
        say(f"hint: {safe(next(iter(hints)))}")
    elif hints:
        say("hint: see the result, or check one of them alone, for what to do")


def _names(item: Unreadable) -> bool:
    """Whether the error itself says which model it is about."""
    words = re.split(r"[\s:,]+", item.error)
    return any(word == item.model or word.startswith(f"{item.model}/") for word in words)
