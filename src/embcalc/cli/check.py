from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embcalc.cli.numbers import number
from embcalc.cli.options import (
    CacheOption,
    FindingsFormat,
    FindingsFormatOption,
    OutputOption,
    TokenizerOption,
    several,
)
from embcalc.cli.output import deliver, require_distinct
from embcalc.cli.rule_options import (
    AgainstOption,
    AllowTokenOption,
    BaseOption,
    IgnoreOption,
    NoWeightsOption,
    SelectOption,
    StrictOption,
)
from embcalc.cli.streams import say


def check(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Local files or folders, patterns ('models/*'), hub ids or addresses.",
            show_default=False,
        ),
    ],
    tokenizer: TokenizerOption = None,
    base: BaseOption = None,
    against: AgainstOption = None,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    allow_token: AllowTokenOption = None,
    strict: StrictOption = False,
    no_weights: NoWeightsOption = False,
    jobs: Annotated[int, number("--jobs", help="Models to check at the same time.")] = 1,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known findings, which do not fail.")
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write what is found to the baseline.")
    ] = False,
    report: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT=FILE", help="Write a further document; repeatable."),
    ] = None,
    output_format: FindingsFormatOption = FindingsFormat.TEXT,
    _cache: CacheOption = False,
    output: OutputOption = None,
) -> None:
    """Run every rule over models: the gate before an upload.

    Rules look at sizes, tokens, tokenizer files, tying, rows and shards.

    Example: embcalc check MODEL
    """
    from embcalc.cli.check_output import deliver_run, exit_code, parse_reports
    from embcalc.cli.progress import progress_bar
    from embcalc.usecases.baseline import with_baseline
    from embcalc.usecases.check import check as run
    from embcalc.usecases.check_vocab import CheckOptions
    from embcalc.usecases.settings import merged, read_file_settings

    reports = parse_reports(report or ())
    require_distinct(output, *(file for _, file in reports))
    file = read_file_settings(Path.cwd())
    typed = CheckOptions(
        tokenizer=tokenizer,
        base=base,
        against=against,
        select=several(select),
        ignore=several(ignore),
        allow_tokens=tuple(allow_token or ()),
        strict=strict,
        weights=not no_weights,
    )
    with progress_bar(wanted=jobs == 1) as progress:
        found = run(models, lambda model: merged(file, typed, model), jobs=jobs, progress=progress)
    known = baseline or file.baseline
    compared = with_baseline(found, known, update=update_baseline)
    if compared.content is not None:
        deliver(compared.content, known)
    deliver_run(compared.run, output_format, output, reports)
    if compared.note:
        say(compared.note)
    raise typer.Exit(exit_code(compared.run))
