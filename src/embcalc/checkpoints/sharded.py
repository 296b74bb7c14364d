"""Several files read as one checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from embcalc.checkpoints.base import Checkpoint, RowBlock
from embcalc.checkpoints.choose import complete_set
from embcalc.checkpoints.index import Index
from embcalc.checkpoints.messages import counted, cut, in_ranges, listed, several
from embcalc.core.findings import Problem, Severity
from embcalc.core.tables import TensorInfo
from embcalc.errors import CheckpointError, EmbcalcError, SourceError, UnreachableError

Opener = Callable[[str], Checkpoint]


class JoinedCheckpoint:
    """Shards under one name."""

    unread: str | None = None

    def __init__(
        self, label: str, parts: Sequence[Checkpoint], problems: Iterable[Problem] = ()
    ) -> None:
        self.label = label
        self.format = parts[0].format
        self.files = tuple(file for part in parts for file in part.files)
        self.metadata: Mapping[str, str] = parts[0].metadata
        self._part_of: dict[str, Checkpoint] = {}
        self.tensors: dict[str, TensorInfo] = {}
        repeated = [name for part in parts for name in self._add(part)]
        self.problems = (*problems, *(p for part in parts for p in part.problems))
        if repeated:
            problem = Problem(
                f"{counted(len(repeated), 'tensor')} stored in two shards: {listed(repeated)}",
                hint="the first of each is read",
                severity=Severity.WARNING,
            )
            self.problems = (*self.problems, problem)

    def _add(self, part: Checkpoint) -> list[str]:
        repeated = []
        for name, tensor in part.tensors.items():
            if name in self.tensors:
                repeated.append(name)
            else:
                self.tensors[name] = tensor
                self._part_of[name] = part
        return repeated

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows from the shard that holds the tensor."""
        return self._part_of[name].blocks(name, rows)


def open_files(label: str, files: Sequence[str], opener: Opener) -> Checkpoint:
    """Open files that belong together; one alone comes as itself.

    A shard that cannot be opened becomes a problem as long as another one can.

    Raises:
        CheckpointError: none can be opened.
        SourceError: none can be read.
    """
    if len(files) == 1:
        return opener(files[0])
    parts, problems = open_each(files, opener)
    return JoinedCheckpoint(label, parts, problems)


def open_each(files: Sequence[str], opener: Opener) -> tuple[list[Checkpoint], list[Problem]]:
    """Open files; one that cannot be opened becomes a problem as long as another one can.

    Raises:
        CheckpointError: none can be opened.
        SourceError: none can be read, or a place does not answer.
    """
    parts: list[Checkpoint] = []
    problems: list[Problem] = []
    first: EmbcalcError | None = None
    for file in files:
        try:
            parts.append(opener(file))
        except UnreachableError:
            raise  # says nothing about the checkpoint
        except (CheckpointError, SourceError) as error:
            first = first or error
            problems.append(Problem(error.message, error.hint, file, severity=Severity.ERROR))
    if not parts and first is not None:
        raise first
    return parts, problems


def open_indexed(
    label: str, index: Index, names: Sequence[str], opener: Opener
) -> JoinedCheckpoint:
    """Open the shards of an index.

    Args:
        label: the folder.
        index: its index.
        names: all files of the folder.
        opener: opens one file.

    Raises:
        CheckpointError: no shard can be opened.
        SourceError: none can be read.
    """
    shards = sorted(set(index.weight_map.values()))
    present = [shard for shard in shards if shard in set(names)]
    absent = [shard for shard in shards if shard not in set(names)]
    if absent:
        suffix = "." + shards[0].rpartition(".")[2]
        others = complete_set([name for name in names if name not in shards], suffix)
        if others:
            return _open_beside(label, index, others, opener, len(absent), len(shards))
    if not shards:
        raise CheckpointError(f"{index.name} of {label} lists no tensors", hint="write it anew")
    if not present:
        raise CheckpointError(
            f"{index.name} names {counted(len(shards), 'shard')}, and none is in {label}",
            hint=f"download {listed(shards)}",
        )
    parts, problems = open_each(present, opener)
    checkpoint = JoinedCheckpoint(label, parts, (*_absent(index, absent), *problems))
    readable = {file for part in parts for file in part.files}
    checkpoint.problems += tuple(
        disagreements(index, checkpoint, readable, complete=not absent and not problems)
    )
    return checkpoint


def _open_beside(  # noqa: PLR0913, PLR0917 - all of it is said in one message
    label: str, index: Index, others: Sequence[str], opener: Opener, absent: int, shards: int
) -> JoinedCheckpoint:
    parts, problems = open_each(others, opener)
    stale = Problem(
        f"{index.name} is stale: {absent:,} of its {counted(shards, 'shard')} are absent, and"
        f" {counted(len(others), 'shard')} ({others[0]} and on) are complete by themselves",
        hint="those were read; replace the index by theirs",
        file=index.name,
        severity=Severity.ERROR,
    )
    return JoinedCheckpoint(label, parts, (stale, *problems))


def _absent(index: Index, absent: Sequence[str]) -> Iterator[Problem]:
    for shard in absent:
        lost = [tensor for tensor, file in index.weight_map.items() if file == shard]
        yield Problem(
            f"{index.name} names {shard}, which is absent: {counted(len(lost), 'tensor')} lost"
            f" ({in_ranges(lost)})",
            hint=f"download {shard}",
            file=shard,
            severity=Severity.ERROR,
        )


def disagreements(
    index: Index, checkpoint: JoinedCheckpoint, readable: set[str], *, complete: bool
) -> Iterator[Problem]:
    """Compare an index with what its shards hold.

    Args:
        index: the index.
        checkpoint: the shards that were opened.
        readable: their names.
        complete: whether these are all shards.
    """
    misplaced = [
        f"{cut(tensor)} is {_place(checkpoint, tensor, file)}"
        for tensor, file in index.weight_map.items()
        if file in readable
        and (tensor not in checkpoint.tensors or checkpoint.tensors[tensor].file != file)
    ]
    if misplaced:
        yield Problem(
            f"{counted(len(misplaced), 'tensor')} not where {index.name} says:"
            f" {several(misplaced)}",
            hint="write the index anew from the shards",
            file=index.name,
            severity=Severity.ERROR,
        )
    unlisted = [tensor for tensor in checkpoint.tensors if tensor not in index.weight_map]
    if unlisted:
        yield Problem(
            f"{counted(len(unlisted), 'tensor')} stored but not listed in {index.name}:"
            f" {listed(unlisted)}",
            hint="write the index anew: loaders that follow it do not see them",
            file=index.name,
            severity=Severity.WARNING,
        )
    stored = sum(tensor.nbytes for tensor in checkpoint.tensors.values())
    if complete and index.total_size is not None and index.total_size != stored:
        yield Problem(
            f"{index.name} says {index.total_size:,} bytes in total; the tensors take {stored:,}",
            hint="the recount is right; write the index anew",
            file=index.name,
            severity=Severity.NOTE,
        )


def _place(checkpoint: JoinedCheckpoint, tensor: str, said: str) -> str:
    info = checkpoint.tensors.get(tensor)
    if info is None:
        return f"not in {cut(said)}, nor in another"
    return f"in {cut(info.file)}, not in {cut(said)}"
