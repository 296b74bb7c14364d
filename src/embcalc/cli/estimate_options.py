"""The options of `embcalc estimate`, in the groups in which they belong together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from embcalc.cli.numbers import number


def _presets(incomplete: str) -> list[str]:
    from embcalc.core.presets import names

    return _beginning(incomplete, names())


def _regimes(incomplete: str) -> list[str]:
    from embcalc.core.regimes import BY_NAME

    return _beginning(incomplete, BY_NAME)


def _optimizers(incomplete: str) -> list[str]:
    from embcalc.core.optimizers import BY_NAME

    return _beginning(incomplete, BY_NAME)


def _tables(incomplete: str) -> list[str]:
    from embcalc.core.request import FREEZABLE

    return _beginning(incomplete, (role.value for role in FREEZABLE))


def _losses(incomplete: str) -> list[str]:
    from embcalc.core.request import LOSSES

    return _beginning(incomplete, LOSSES)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


ModelOrPreset = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        autocompletion=_presets,
        help="A preset (see 'embcalc presets'), a config.json, a model folder, a checkpoint, "
        "a hub id (org/name[@revision]) or an address.",
        show_default=False,
    ),
]
VocabSize = Annotated[int | None, number("--vocab-size", help="Rows of the token table, V.")]
HiddenSize = Annotated[int | None, number("--hidden-size", help="Width of the token table, d.")]
Tied = Annotated[
    bool | None,
    typer.Option(
        "--tied/--untied",
        help="Whether the output head is the token table. [default: what the model says]",
        show_default=False,
    ),
]
TotalParams = Annotated[
    int | None, number("--total-params", help="Parameters of the whole model, for the share.")
]
Precisions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGIME",
        autocompletion=_regimes,
        help="fp32, bf16, fp16, amp, mixed, mixed-master, megatron or deepspeed; may be "
        "repeated. [default: all]",
        show_default=False,
    ),
]
OptimizerName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        autocompletion=_optimizers,
        help="adamw, adam, amsgrad, sgd, sgd-momentum, lion, muon, muon-all, adagrad, rmsprop, "
        "adafactor, adamw8bit, sparse-adam or none.",
    ),
]
Frozen = Annotated[bool, typer.Option("--frozen", help="Train none of the tables.")]
Freeze = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TABLE",
        autocompletion=_tables,
        help="Do not train this one: token, output, position, token_type or per_layer; may be "
        "repeated.",
        show_default=False,
    ),
]
TrainableRows = Annotated[
    int | None,
    number("--trainable-rows", help="Train only so many rows of the token table and the head."),
]
AddTokens = Annotated[int | None, number("--add-tokens", help="Tokens to add: what they cost.")]
PadTo = Annotated[int | None, number("--pad-to", help="Pad the rows to a multiple of this.")]
BatchSize = Annotated[int | None, number("--batch-size", help="Sequences in a batch, B.")]
SeqLen = Annotated[int | None, number("--seq-len", help="Tokens in a sequence, T.")]
LossName = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        autocompletion=_losses,
        help="trainer, manual, no-upcast or chunked: how the loss treats the logits. "
        "[default: trainer]",
        show_default=False,
    ),
]
ZeroStage = Annotated[int | None, number("--zero-stage", help="ZeRO stage 0 to 3; 3 is FSDP.")]
DataParallel = Annotated[int | None, number("--data-parallel", help="Ranks that ZeRO shards over.")]
TensorParallel = Annotated[
    int | None, number("--tensor-parallel", help="Ranks that share the rows.")
]
PipelineParallel = Annotated[int | None, number("--pipeline-parallel", help="Pipeline stages.")]
VocabDivisor = Annotated[
    int | None,
    number(
        "--vocab-divisor",
        help="Tensor parallel pads the rows to a multiple of this x ranks. [default: 128]",
        show_default=False,
    ),
]
BudgetSize = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="24GB (10^9), 24GiB (2^30): exit code 1 when nothing fits."),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Print each formula with its numbers and its source.")
]
