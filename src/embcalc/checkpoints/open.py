"""From a folder, or one file of it, to an opened checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embcalc.checkpoints.base import Checkpoint, empty_names
from embcalc.checkpoints.choose import choose, leftover, unfinished, weight_files
from embcalc.checkpoints.index import SUFFIX, read_index
from embcalc.checkpoints.indexed import open_partly
from embcalc.checkpoints.messages import counted, listed
from embcalc.checkpoints.noted import with_problems
from embcalc.checkpoints.quantised import unfolded
from embcalc.checkpoints.sharded import open_files, open_indexed
from embcalc.checkpoints.sniff import SUFFIXES, Kind, identify, refusal, suffix_of
from embcalc.core.diagnosis import empty_tables
from embcalc.core.files import File, Folder
from embcalc.core.findings import Problem, Severity
from embcalc.errors import CheckpointError, EmbcalcError, SourceError, UnreachableError

_WEIGHTS = "*.safetensors, *.bin, *.pt, *.gguf, *.npz or *.npy"
"""What files of weights are called."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a checkpoint will be asked for."""

    named: str | None = None
    """The one tensor; None for all embedding tables."""
    whole: bool = False
    """Whether all tensors are, for totals."""


WHOLE = Wanted(whole=True)


def open_checkpoint(folder: Folder, file: str | None = None, wanted: Wanted = WHOLE) -> Checkpoint:
    """Open the checkpoint of a folder, or the one file of it that is named.

    Args:
        folder: holds it.
        file: the one to open; an index stands for its shards.
        wanted: headers of remote shards without it are left unread until they are asked for.

    Raises:
        CheckpointError: there is none, or it is broken.
        SourceError: it cannot be read.
    """
    checkpoint = unfolded(_open_stored(folder, file, wanted), folder)
    tensors = checkpoint.tensors
    return with_problems(checkpoint, empty_tables(tensors, empty_names(tensors)))


def _open_stored(folder: Folder, file: str | None, wanted: Wanted) -> Checkpoint:
    if file is None:
        return _open_folder(folder, wanted)
    if file.endswith(SUFFIX):
        return _open_index(folder, file, wanted)
    return open_file(folder.open(file))


def open_file(file: File) -> Checkpoint:
    """Open one file by what it holds; a name that promises something else is refused.

    Raises:
        CheckpointError: it is no checkpoint, or a broken one.
        SourceError: it cannot be read.
    """
    kind = identify(file)
    promised = SUFFIXES.get(suffix_of(file.name))
    if promised == (Kind.SAFETENSORS,) and kind is Kind.OTHER:
        kind = Kind.SAFETENSORS  # a damaged header looks like anything; its reader has the words
    if promised is not None and kind not in promised:
        raise refusal(file, kind)
    return _open_kind(file, kind)


def _open_kind(file: File, kind: Kind) -> Checkpoint:
    if kind is Kind.SAFETENSORS:
        from embcalc.checkpoints.safetensors import SafetensorsCheckpoint

        return SafetensorsCheckpoint(file)
    if kind in (Kind.TORCH_ZIP, Kind.TORCH_LEGACY):
        from embcalc.checkpoints.pytorch import PytorchCheckpoint

        return PytorchCheckpoint(file, zipped=kind is Kind.TORCH_ZIP)
    if kind is Kind.GGUF:
        from embcalc.checkpoints.gguf import GgufCheckpoint

        return GgufCheckpoint(file)
    if kind in (Kind.NPY, Kind.NPZ):
        from embcalc.checkpoints.numpy_file import NumpyCheckpoint

        return NumpyCheckpoint(file, archive=kind is Kind.NPZ)
    raise refusal(file, kind)


def _open_folder(folder: Folder, wanted: Wanted) -> Checkpoint:
    names = folder.names()
    indexes = [name for name in names if name.endswith(SUFFIX) and "/" not in name]
    files = weight_files(names)
    alone = next((name for name in files if name == "model.safetensors"), None)
    indexes.sort(key=lambda name: (not name.endswith(f".safetensors{SUFFIX}"), name))
    if indexes and alone is None and not _only_other_family(indexes[0], files):
        return _noted(_open_index(folder, indexes[0], wanted), names, files)
    if files:
        return _beside_index(folder, indexes, names, _open_choice(folder, files, names))
    return _open_below(folder, names, wanted)


def _beside_index(
    folder: Folder, indexes: Sequence[str], names: Sequence[str], checkpoint: Checkpoint
) -> Checkpoint:
    """Notice indexes that were passed over and that would mislead whoever follows them."""
    problems = []
    for name in indexes:
        try:
            shards = set(read_index(folder, name).weight_map.values())
        except UnreachableError:
            raise
        except (CheckpointError, SourceError) as error:
            problems.append(_passed_over(name, checkpoint, error.message))
            continue
        absent = sorted(shards.difference(names))
        if absent:
            verb = "is" if len(absent) == 1 else "are"
            what = f"{counted(len(absent), 'shard')} of {name} {verb} absent ({listed(absent)})"
            problems.append(_passed_over(name, checkpoint, what))
    return with_problems(checkpoint, problems)


def _passed_over(index: str, checkpoint: Checkpoint, what: str) -> Problem:
    return Problem(
        f"{what}; {checkpoint.files[0]} was read",
        hint=f"remove {index}: some loaders look for an index first",
        file=index,
        severity=Severity.WARNING,
    )


def _only_other_family(index: str, files: Sequence[str]) -> bool:
    """Tell whether a folder has an index of .bin shards but weights as safetensors only."""
    suffix = suffix_of(index.removesuffix(SUFFIX))
    return bool(files) and not any(suffix_of(name) == suffix for name in files)


def _open_index(folder: Folder, index: str, wanted: Wanted) -> Checkpoint:
    def opener(name: str) -> Checkpoint:
        return open_file(folder.open(name))

    read = read_index(folder, index)
    partly = None if wanted.whole else open_partly(folder, read, opener, wanted.named)
    if partly is not None:
        return partly
    names = folder.names()
    folder.expect(sorted(set(read.weight_map.values()).intersection(names)))
    return open_indexed(folder.label, read, names, opener)


def _open_choice(folder: Folder, files: Sequence[str], names: Sequence[str]) -> Checkpoint:
    choice = choose(files, {name: _size(folder, name) for name in files})
    folder.expect(choice.files)
    checkpoint = open_files(folder.label, choice.files, lambda name: open_file(folder.open(name)))
    return with_problems(checkpoint, (*choice.problems, *unfinished(names)))


def _size(folder: Folder, name: str) -> int:
    try:
        return folder.open(name).size
    except EmbcalcError:
        return 0


def _noted(checkpoint: Checkpoint, names: Sequence[str], files: Sequence[str]) -> Checkpoint:
    left = [name for name in files if name not in checkpoint.files]
    named = {problem.file for problem in checkpoint.problems}
    left = [name for name in left if name not in named]
    return with_problems(
        checkpoint, (*leftover(checkpoint.files, left, "which the index lists"), *unfinished(names))
    )


def _open_below(folder: Folder, names: Sequence[str], wanted: Wanted) -> Checkpoint:
    """Look into the folders below: the only one with weights is read, several are listed."""
    below = sorted({name.rpartition("/")[0] for name in names if "/" in name})
    holding = [place for place in below if weight_files(names, place)]
    if len(holding) == 1:
        return _open_place(folder, holding[0], names, wanted)
    if holding:
        raise CheckpointError(
            f"{folder.label} holds {len(holding)} checkpoints: {listed(holding)}",
            hint=f"name one of them: {folder.label.rstrip('/')}/{holding[-1]}",
        )
    if not names:
        raise CheckpointError(
            f"no checkpoint in {folder.label}: the folder is empty",
            hint=f"name the folder or the file that holds the weights: {_WEIGHTS}",
        )
    pending = unfinished(names)
    why = f"; {pending[0].message}" if pending else ""
    raise CheckpointError(
        f"no checkpoint in {folder.label}{why}",
        hint=f"it holds: {listed(names, 8)}; weights are {_WEIGHTS}",
    )


def _open_place(folder: Folder, place: str, names: Sequence[str], wanted: Wanted) -> Checkpoint:
    indexes = [n for n in names if n.endswith(SUFFIX) and n.rpartition("/")[0] == place]
    files = weight_files(names, place)
    if indexes and f"{place}/model.safetensors" not in files:
        return _noted(_open_index(folder, indexes[0], wanted), names, files)
    return _open_choice(folder, files, names)
