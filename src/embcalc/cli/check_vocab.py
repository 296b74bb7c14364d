from __future__ import annotations

from pathlib import Path

import typer

from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.options import (
    FindingsFormat,
    FindingsFormatOption,
    ModelArgument,
    OutputOption,
    TokenizerOption,
    several,
)
from embcalc.cli.output import deliver
from embcalc.cli.rule_options import (
    AgainstOption,
    AllowTokenOption,
    BaseOption,
    IgnoreOption,
    NoWeightsOption,
    SelectOption,
    StrictOption,
)


def check_vocab(
    model: ModelArgument,
    tokenizer: TokenizerOption = None,
    base: BaseOption = None,
    against: AgainstOption = None,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    allow_token: AllowTokenOption = None,
    strict: StrictOption = False,
    no_weights: NoWeightsOption = False,
    output_format: FindingsFormatOption = FindingsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Check that a tokenizer and an embedding table fit together.

    Example: embcalc check-vocab MODEL
    """
    from embcalc.cli.check_output import rendered_report
    from embcalc.usecases.check_vocab import CheckOptions
    from embcalc.usecases.check_vocab import check_vocab as run
    from embcalc.usecases.settings import merged, read_file_settings

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
    report = run(model, merged(read_file_settings(Path.cwd()), typed, model))
    deliver(rendered_report(report, output_format), output)
    raise typer.Exit(ExitCode.OK if report.ok else ExitCode.FINDINGS)
