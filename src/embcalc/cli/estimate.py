from __future__ import annotations

from typing import Annotated

import typer

from embcalc.cli import estimate_options as given
from embcalc.cli.exit_codes import ExitCode
from embcalc.cli.options import OutputOption, RowsFormat, several
from embcalc.cli.output import deliver
from embcalc.cli.rendering import rendered


def estimate(
    model: given.ModelOrPreset = None,
    vocab_size: given.VocabSize = None,
    hidden_size: given.HiddenSize = None,
    tied: given.Tied = None,
    precision: given.Precisions = None,
    optimizer: given.OptimizerName = "adamw",
    frozen: given.Frozen = False,
    freeze: given.Freeze = None,
    trainable_rows: given.TrainableRows = None,
    add_tokens: given.AddTokens = None,
    pad_to: given.PadTo = None,
    total_params: given.TotalParams = None,
    batch_size: given.BatchSize = None,
    seq_len: given.SeqLen = None,
    loss: given.LossName = None,
    zero_stage: given.ZeroStage = None,
    data_parallel: given.DataParallel = None,
    tensor_parallel: given.TensorParallel = None,
    pipeline_parallel: given.PipelineParallel = None,
    vocab_divisor: given.VocabDivisor = None,
    budget: given.BudgetSize = None,
    explain: given.Explain = False,
    output_format: Annotated[
        RowsFormat, typer.Option("--format", help="Format of the result; json, csv: exact bytes.")
    ] = RowsFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Count parameters and training memory of table and head.

    The table is the embedding table, the head is the output head, tied or not.

    Example: embcalc estimate --vocab-size 150000 --hidden-size 2560
    """
    from embcalc.core.request import EstimateRequest
    from embcalc.usecases.estimate import estimate as run

    request = EstimateRequest(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        tied=tied,
        precision=several(precision),
        optimizer=optimizer,
        frozen=frozen,
        freeze=several(freeze),
        trainable_rows=trainable_rows,
        add_tokens=add_tokens,
        pad_to=pad_to,
        total_params=total_params,
        batch_size=batch_size,
        seq_len=seq_len,
        loss=loss,
        zero_stage=zero_stage,
        data_parallel=data_parallel,
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        vocab_divisor=vocab_divisor,
        budget=budget,
        explain=explain,
    )
    report = run(model, request)
    deliver(rendered(report, "estimate", output_format), output)
    raise typer.Exit(ExitCode.FINDINGS if report.over_budget else ExitCode.OK)
