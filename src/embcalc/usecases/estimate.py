"""What the embedding layer costs, of a model that is named, stored or only thought of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embcalc.core.estimate import estimate_layer
from embcalc.core.layer import Layer, layer_of_flags
from embcalc.core.request import EstimateRequest
from embcalc.errors import SourceError, UsageError

if TYPE_CHECKING:
    from embcalc.checkpoints import Checkpoint
    from embcalc.core.config import ModelConfig
    from embcalc.core.files import Folder
    from embcalc.core.reports.estimate import EstimateReport
    from embcalc.core.tables import EmbeddingTable

_WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz", ".npy"),
    ".safetensors.index.json",
    ".bin.index.json",
)
COMPARED_ROWS = 64
"""Rows at the beginning, the middle and the end that tell a stored head from a tied one."""


def estimate(model: str | None, request: EstimateRequest) -> EstimateReport:
    """Estimate parameters and memory of an embedding layer.

    Args:
        model: a preset's name, or an address of a config.json, a folder or a checkpoint; None
            takes the sizes of the request alone.
        request: options; sizes in it override the model's own.

    Raises:
        UsageError: options are missing, contradict each other or do not fit the model.
        SourceError: there is no such model.
        ConfigError, CheckpointError: a file of it is broken or says too little.
    """
    if model is None:
        layer, replaced = _of_flags(request), (request.tied, request.total_params) != (None, None)
    else:
        layer, replaced = _of_model(model, request), request.overrides
    if replaced:
        from embcalc.core.overrides import overridden

        layer = overridden(layer, request)
    return estimate_layer(layer, request)


def _of_flags(request: EstimateRequest) -> Layer:
    if request.vocab_size is None or request.hidden_size is None:
        raise UsageError(
            "estimate needs a MODEL, or --vocab-size and --hidden-size",
            hint="for example: embcalc estimate --vocab-size 150000 --hidden-size 2560",
        )
    return layer_of_flags(request.vocab_size, request.hidden_size)


def _of_model(model: str, request: EstimateRequest) -> Layer:
    if "/" not in model and not _is_local(model):
        preset = _preset(model)
        if preset is not None:
            return preset
        if not model.endswith((".json", *_WEIGHTS)):
            raise SourceError(
                f"no preset and no local path is named {model[:100]!r}", hint=_preset_hint(model)
            )
    return _of_files(model, request)


def _is_local(model: str) -> bool:
    import os

    return os.path.lexists(model)


def _preset(model: str) -> Layer | None:
    from embcalc.core.presets import find_preset, layer_of_preset

    preset = find_preset(model)
    return None if preset is None else layer_of_preset(preset)


def _close_presets(model: str) -> list[str]:
    import difflib

    from embcalc.core.presets import names

    return difflib.get_close_matches(model.lower(), names(), n=4, cutoff=0.6)


def _preset_hint(model: str) -> str:
    close = _close_presets(model)
    if close:
        return f"did you mean {', '.join(close)}? 'embcalc presets' lists all"
    return "'embcalc presets' lists all presets; a hub id is written org/name"


def _of_files(model: str, request: EstimateRequest) -> Layer:
    from embcalc.core.layer_sources import layer_of_config
    from embcalc.sources import locate

    place = locate(model)
    if (
        place.file is not None
        and place.file.endswith(".json")
        and not place.file.endswith(_WEIGHTS)
    ):
        alone = _read_config(place.folder, place.file)
        return layer_of_config(alone, model, request.vocab_size, request.hidden_size)
    names = place.folder.names()
    config = _read_config(place.folder, "config.json") if "config.json" in names else None
    if config is not None and place.file is None and _config_is_enough(place.folder, names):
        return layer_of_config(config, model, request.vocab_size, request.hidden_size)
    return _of_checkpoint(place.folder, place.file, config, model)


def _config_is_enough(folder: Folder, names: tuple[str, ...]) -> bool:
    """Without weights; and where the files are far away, one small file instead of all headers."""
    return not any(name.endswith(_WEIGHTS) for name in names) or _is_remote(folder)


def _is_remote(folder: Folder) -> bool:
    import os

    return not os.path.lexists(folder.label)


def _read_config(folder: Folder, name: str) -> ModelConfig:
    from embcalc.core.config import parse_config
    from embcalc.usecases.documents import read_object

    return parse_config(read_object(folder, name) or {}, name)


def _of_checkpoint(
    folder: Folder, file: str | None, config: ModelConfig | None, model: str
) -> Layer:
    from embcalc.checkpoints import open_checkpoint
    from embcalc.core.layer_sources import layer_of_checkpoint
    from embcalc.core.roles import embedding_tables
    from embcalc.core.tying import expects_head, said_of_tying, verdict

    checkpoint = open_checkpoint(folder, file)
    tables = embedding_tables(
        checkpoint.tensors,
        vocab_size=config.vocab_size if config else None,
        model_type=config.model_type if config else None,
    )
    tying = verdict(
        said_of_tying(config, tables, checkpoint.format),
        tables,
        lambda: _equal(checkpoint, tables),
        has_head=expects_head(
            config.architectures if config else (),
            len(tables),
            len(checkpoint.tensors),
            config,
        ),
    )
    return layer_of_checkpoint(tables, checkpoint.tensors, tying, config, model)


def _equal(checkpoint: Checkpoint, tables: tuple[EmbeddingTable, ...]) -> bool | None:
    """Compare a few rows of the token table and the head; None where they cannot be read."""
    from embcalc.core.tables import Role
    from embcalc.errors import EmbcalcError

    token = next(table for table in tables if table.role is Role.TOKEN)
    head = next(table for table in tables if table.role is Role.OUTPUT)
    if token.tensor.dtype != head.tensor.dtype or token.transposed or head.transposed:
        return None
    starts = sorted({0, token.rows // 2, max(0, token.rows - COMPARED_ROWS)})
    try:
        return all(
            _bytes(checkpoint, token.name, rows) == _bytes(checkpoint, head.name, rows)
            for rows in (range(at, min(at + COMPARED_ROWS, token.rows)) for at in starts)
        )
    except EmbcalcError:
        return None


def _bytes(checkpoint: Checkpoint, name: str, rows: range) -> bytes:
    return b"".join(block.values.tobytes() for block in checkpoint.blocks(name, rows))
