"""Checkpoints whose weights are stored in parts, seen as the weights that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from embcalc.checkpoints.base import Checkpoint, RowBlock, TensorHeaders, empty_names
from embcalc.checkpoints.indexed import Tensors
from embcalc.checkpoints.messages import shown
from embcalc.checkpoints.packed import Floats
from embcalc.checkpoints.raw import check_rows
from embcalc.checkpoints.recipes import MARKERS, Recipe, Settings, find_recipes
from embcalc.core.blocks import BLOCK_BYTES
from embcalc.core.decode import to_float32
from embcalc.core.dtypes import BY_NAME
from embcalc.core.files import Folder
from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError, EmbcalcError

BLOCK_ROWS_BYTES = 4 * BLOCK_BYTES
"""Bytes of float32 made at once: the parts of a row lie apart, so each block costs some reads."""


class QuantisedCheckpoint:
    """Another checkpoint with the parts of each quantised weight put together."""

    def __init__(
        self, inner: Checkpoint, recipes: Mapping[str, Recipe], settings: Settings
    ) -> None:
        self._inner = inner
        self._recipes = recipes
        self.label = inner.label
        self.files = inner.files
        self.metadata: Mapping[str, str] = inner.metadata
        schemes = {recipe.scheme for recipe in recipes.values()}
        self.format = "mlx" if "MLX" in schemes else inner.format
        self.tensors: Mapping[str, TensorInfo] = _Logical(inner.tensors, recipes)
        self.problems = (*inner.problems, *_other_bits(recipes, settings))

    @property
    def unread(self) -> str | None:
        """Why the headers of some files were not read."""
        return self._inner.unread

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows; those of quantised weights come as F32."""
        recipe = self._recipes.get(name)
        if recipe is None:
            return self._inner.blocks(name, rows)
        tensor = self.tensors[name]
        return self._decoded(recipe, tensor, range(tensor.rows) if rows is None else rows)

    def _decoded(self, recipe: Recipe, tensor: TensorInfo, rows: range) -> Iterator[RowBlock]:
        check_rows(tensor, rows)
        if recipe.decode is None or len(tensor.shape) != 2:
            raise CheckpointError(
                f"values of {shown(tensor.name)} are packed by {recipe.scheme} and not read",
                hint="name another table with --tensor, or save the model dequantised",
            )
        per_block = max(1, BLOCK_ROWS_BYTES // max(1, 4 * tensor.width))
        for first in range(rows.start, rows.stop, per_block):
            some = range(first, min(first + per_block, rows.stop))
            with np.errstate(all="ignore"):
                values = recipe.decode(self._read, self._numbers, some)
            yield RowBlock(first, values.astype(np.float32, copy=False), BY_NAME["F32"])

    def _read(self, name: str, rows: range) -> NDArray[Any]:
        return np.concatenate([block.values for block in self._inner.blocks(name, rows)])

    def _numbers(self, name: str, rows: range) -> Floats:
        blocks = self._inner.blocks(name, rows)
        return np.concatenate([to_float32(block.values, block.dtype) for block in blocks])


class _Logical(TensorHeaders):
    """Stored tensors with the parts of each quantised weight as one."""

    def __init__(self, stored: Mapping[str, TensorInfo], recipes: Mapping[str, Recipe]) -> None:
        folded = {part for recipe in recipes.values() for part in recipe.parts}
        self._stored = stored
        self._recipes = recipes
        self._names = dict.fromkeys(n for n in stored if n in recipes or n not in folded)

    def __getitem__(self, name: str) -> TensorInfo:
        recipe = self._recipes.get(name)
        if recipe is None and name not in self._names:
            raise KeyError(name)
        tensor = self._stored[name]
        if recipe is None:
            return tensor
        nbytes = sum(self._stored[part].nbytes for part in recipe.parts)
        return replace(tensor, shape=recipe.shape, dtype=recipe.dtype, nbytes=nbytes)

    def empty(self) -> list[str]:
        """Names of the tensors without scalars."""
        return [name for name in empty_names(self._stored) if name in self._names]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _other_bits(recipes: Mapping[str, Recipe], settings: Settings) -> Iterator[Problem]:
    """Notice MLX weights of other bits than the config says for them."""
    said = settings.get("bits")
    other = [
        recipe
        for recipe in recipes.values()
        if recipe.scheme == "MLX"
        and isinstance(said, int)
        and recipe.dtype.name != f"MLX{said}"
        and not isinstance(settings.get(recipe.name.removesuffix(".weight")), dict)
    ]
    if other:
        yield Problem(
            f"config.json says {said} bits, and {other[0].name} has"
            f" {other[0].dtype.name.removeprefix('MLX')} by its shapes",
            hint="the shapes are right: they were used",
            file="config.json",
            severity=Severity.WARNING,
        )


def unfolded(checkpoint: Checkpoint, folder: Folder) -> Checkpoint:
    """Put the parts of quantised weights together; other checkpoints come back as they are."""
    if not _may_be_in_parts(checkpoint.tensors):
        return checkpoint
    settings = _settings(folder) | {"shape_of": partial(_stored_shape, checkpoint)}
    # Of shards that were not opened nothing is put together: that would read all their headers.
    stored = checkpoint.tensors
    known = stored.stored if isinstance(stored, Tensors) else stored
    recipes = {recipe.name: recipe for recipe in find_recipes(known, settings)}
    if not recipes:
        return checkpoint
    return QuantisedCheckpoint(checkpoint, recipes, settings)


def _may_be_in_parts(names: Iterable[str]) -> bool:
    """Look for the ends of names in all of them at once: 94,000 take 10 ms, one by one 50."""
    joined = "\n".join((*names, ""))
    return any(f"{marker}\n" in joined for marker in MARKERS)


def _settings(folder: Folder) -> dict[str, Any]:
    """Take what the config says about quantisation; an unreadable config says nothing here."""
    try:
        config = msgspec.json.decode(folder.open("config.json").read())
    except (EmbcalcError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(config, dict):
        return {}
    for key in ("quantization", "quantization_config"):
        if isinstance(config.get(key), dict):
            return dict(config[key])
    return {}


def _stored_shape(checkpoint: Checkpoint, name: str) -> tuple[int, ...] | None:
    """Read the values of a `weight_shape`."""
    tensor = checkpoint.tensors.get(name)
    if tensor is None or not 0 < tensor.scalars <= 8:
        return None
    return tuple(
        int(value) for block in checkpoint.blocks(name) for value in block.values.ravel().tolist()
    )
