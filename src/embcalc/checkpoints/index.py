"""The index of a sharded checkpoint: which file holds which tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from embcalc.checkpoints.messages import shown, where
from embcalc.core.files import Folder
from embcalc.errors import CheckpointError

SUFFIX = ".index.json"
MAX_INDEX = 1 << 28
"""Bytes; the largest known index has 15 MB."""


@dataclass(frozen=True, slots=True)
class Index:
    """What an index says."""

    name: str
    weight_map: Mapping[str, str]
    """Tensor name to file name, relative to the model's folder."""
    total_size: int | None
    """Bytes of all tensors, as the index claims."""


class _Document(msgspec.Struct):
    weight_map: dict[str, str]
    metadata: Any = None


def read_index(folder: Folder, name: str) -> Index:
    """Read an index.

    Raises:
        CheckpointError: it is broken, or names a file outside of its folder.
        SourceError: it cannot be read.
    """
    file = folder.open(name)
    if file.size > MAX_INDEX:
        raise CheckpointError(
            f"{where(file)} is no index: it has {file.size:,} bytes",
            hint="an index lists names of shards; name the weights themselves",
        )
    try:
        document = msgspec.json.decode(file.read(), type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(
            f"{where(file)} is no index of shards: {error}", hint="download it again"
        ) from error
    parent = name.rpartition("/")[0]
    weight_map = {
        tensor: f"{parent}/{shard}" if parent else shard
        for tensor, shard in document.weight_map.items()
    }
    for shard in sorted(set(document.weight_map.values())):
        _refuse_outside(where(file), shard)
    return Index(name, weight_map, _total_size(document.metadata))


def _refuse_outside(index: str, shard: str) -> None:
    """Refuse every spelling of a path that may lead out of the folder."""
    windows, posix = PureWindowsPath(shard), PurePosixPath(shard)
    outside = (
        "://" in shard
        or windows.anchor
        or posix.is_absolute()
        or ".." in windows.parts
        or "\0" in shard
    )
    if outside or not posix.parts or "\\" in shard:
        raise CheckpointError(
            f"{index} names {shown(shard)}, which is not a file of its own folder: refused",
            hint="an index may only name files beside it",
        )


def _total_size(metadata: object) -> int | None:
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    return int(size) if isinstance(size, int | float) and 0 <= size < 1 << 62 else None
