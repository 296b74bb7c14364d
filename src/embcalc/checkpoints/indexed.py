"""Shards far away: the index says which of them hold the tables, and only their headers are read.

Each header costs a request or two; the largest models have 163 shards and more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView

from embcalc.checkpoints.base import Checkpoint, RowBlock, TensorHeaders, empty_names
from embcalc.checkpoints.index import Index
from embcalc.checkpoints.messages import shown
from embcalc.checkpoints.sharded import JoinedCheckpoint, Opener, disagreements, open_each
from embcalc.core.files import Folder
from embcalc.core.roles import may_be_table, part_of_table, role_of, strip_wrappers
from embcalc.core.tables import Role, TensorInfo
from embcalc.errors import CheckpointError


def open_partly(
    folder: Folder, index: Index, opener: Opener, named: str | None
) -> IndexedCheckpoint | None:
    """Open those shards of a folder that hold the tables, and those that lie on this machine.

    Args:
        folder: holds the shards.
        index: its index.
        opener: opens one file.
        named: the one tensor that is wanted; None for all tables.

    Returns:
        None where all have to be opened: names do not tell which shards matter, or one of those
        that do does not hold what the index says, or a shard is absent.

    Raises:
        CheckpointError: no shard can be opened.
        SourceError: one cannot be read.
    """
    shards = sorted(set(index.weight_map.values()))
    wanted = shards_of_tables(index.weight_map, named)
    if wanted is None or not set(shards) <= set(folder.names()):
        return None
    first = [name for name in shards if name in wanted or folder.open(name).local_path is not None]
    if len(first) == len(shards):
        return None
    folder.expect(first)
    parts, problems = open_each(first, opener)
    opened = JoinedCheckpoint(folder.label, parts, problems)
    if opened.problems or any(disagreements(index, opened, set(first), complete=False)):
        return None
    further = {name: shard for name, shard in index.weight_map.items() if shard not in first}
    return IndexedCheckpoint(opened, Tensors(opened, further, opener, folder.expect), shards)


def shards_of_tables(weight_map: Mapping[str, str], named: str | None) -> set[str] | None:
    """The shards that hold embedding tables and their parts, by the names of the tensors.

    Args:
        weight_map: tensor name to file name.
        named: the one tensor that is wanted; None for all tables.

    Returns:
        None where names do not tell: no token table and no output head among them.
    """
    if named is not None:
        stem = named.removesuffix(".weight")
        found = {
            shard
            for name, shard in weight_map.items()
            if name.startswith(stem) or strip_wrappers(name)[0].startswith(stem)
        }
        return found or None
    tables = {name: shard for name, shard in weight_map.items() if part_of_table(name)}
    if not any(role_of(name) in (Role.TOKEN, Role.OUTPUT) for name in tables if may_be_table(name)):
        return None
    wanted = set(tables.values())
    if any(name.endswith(".scales") for name in tables):
        # A norm tells the width where the config of an MLX model does not say the group size.
        wanted |= {next((shard for n, shard in weight_map.items() if "norm" in n), min(wanted))}
    return wanted


class IndexedCheckpoint:
    """Shards of which some were opened; the others are when one of their tensors is asked for."""

    def __init__(self, opened: JoinedCheckpoint, tensors: Tensors, files: Sequence[str]) -> None:
        self.label = opened.label
        self.format = opened.format
        self.files = tuple(files)
        self.metadata: Mapping[str, str] = opened.metadata
        self.problems = opened.problems
        self.tensors: Tensors = tensors

    @property
    def unread(self) -> str | None:
        """Say how many headers were not read, and why; None where all were."""
        left = len(self.files) - self.tensors.opened
        if not left:
            return None
        return f"headers of {left:,} of {len(self.files):,} shards were not read over the network"

    def blocks(self, name: str, rows: range | None = None) -> Iterator[RowBlock]:
        """Stream rows from the shard that holds the tensor."""
        return self.tensors.part(name).blocks(name, rows)


class Tensors(TensorHeaders):
    """All tensors of an index; those of shards that were opened come first."""

    def __init__(
        self,
        opened: JoinedCheckpoint,
        further: Mapping[str, str],
        opener: Opener,
        expect: Callable[[Iterable[str]], None],
    ) -> None:
        self.stored: Mapping[str, TensorInfo] = opened.tensors
        """Those of the shards that were opened at once."""
        self._first = opened
        self._further = further
        self._opener = opener
        self._expect = expect
        self._parts: dict[str, Checkpoint] = {}

    @property
    def opened(self) -> int:
        """Shards whose headers were read."""
        return len(self._first.files) + len(self._parts)

    def part(self, name: str) -> Checkpoint:
        """The shard that holds a tensor.

        Raises:
            KeyError: no such tensor is known.
            CheckpointError: the shard cannot be opened, or does not hold what the index says.
            SourceError: it cannot be read.
        """
        if name in self.stored:
            return self._first
        shard = self._further[name]
        if shard not in self._parts:
            self._parts[shard] = self._opener(shard)
        part = self._parts[shard]
        if name not in part.tensors:
            raise CheckpointError(
                f"{shown(name)} is not in {shard}, though the index says so",
                hint="write the index anew from the shards",
            )
        return part

    def values(self) -> ValuesView[TensorInfo]:
        """Every tensor, for which all headers have to be read."""
        self._expect(sorted(set(self._further.values()).difference(self._parts)))
        return super().values()

    def empty(self) -> list[str]:
        """Names of the tensors without scalars in the shards that were opened at once."""
        return empty_names(self.stored)

    def __getitem__(self, name: str) -> TensorInfo:
        return self.part(name).tensors[name]

    def __contains__(self, name: object) -> bool:
        return name in self.stored or name in self._further

    def __iter__(self) -> Iterator[str]:
        yield from self.stored
        yield from self._further

    def __len__(self) -> int:
        return len(self.stored) + len(self._further)
