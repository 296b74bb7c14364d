"""Which of a folder's files hold its model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from embcalc.checkpoints.messages import counted, listed
from embcalc.checkpoints.sniff import suffix_of
from embcalc.core.findings import Problem, Severity

_SHARD = re.compile(r"^(?P<stem>.*?)-?(?P<number>\d{5})-of-(?P<count>\d{5})(?P<suffix>\.\w+)$")
_NO_WEIGHTS = re.compile(r"(^|/)(optimizer|scheduler|training_args|rng_state|scaler|random_states)")
_UNFINISHED = (".incomplete", ".part", ".crdownload", ".download", ".tmp", ".aria2")
_FAMILIES = (
    (".safetensors",),
    (".bin", ".pt", ".pth", ".ckpt"),
    (".gguf",),
    (".npz",),
    (".npy",),
)
"""Kinds of files that hold weights, as a loader prefers them."""
_USUAL = ("model", "pytorch_model", "consolidated", "adapter_model", "weights")


@dataclass(frozen=True, slots=True)
class Choice:
    """The files to read together."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Shard:
    """What the name of a shard says."""

    stem: str
    number: int
    count: int
    suffix: str

    def name(self, number: int) -> str:
        """Name another shard of the same set."""
        dash = "-" if self.stem and not self.stem.endswith("/") else ""
        return f"{self.stem}{dash}{number:05}-of-{self.count:05}{self.suffix}"


def shard_of(name: str) -> Shard | None:
    """Take apart a name such as `model-00002-of-00005.safetensors`."""
    match = _SHARD.match(name)
    if match is None:
        return None
    return Shard(match["stem"], int(match["number"]), int(match["count"]), match["suffix"])


def weight_files(names: Iterable[str], folder: str = "") -> list[str]:
    """List the files that may hold weights, directly in a folder."""
    every = {suffix for family in _FAMILIES for suffix in family}
    return [
        name
        for name in names
        if name.rpartition("/")[0] == folder
        and suffix_of(name) in every
        and not _NO_WEIGHTS.search(name)
        and not name.rpartition("/")[2].startswith("mmproj")
    ]


def choose(files: Sequence[str], sizes: dict[str, int]) -> Choice:
    """Choose among files of one folder that no index orders.

    Args:
        files: as `weight_files` lists them; at least one.
        sizes: bytes of each.
    """
    family = next(
        family for family in _FAMILIES if any(suffix_of(name) in family for name in files)
    )
    fitting = [name for name in files if suffix_of(name) in family]
    best = max(fitting, key=lambda name: (*_likeliness(name), sizes.get(name, 0)))
    chosen, problems = _with_its_shards(best, fitting)
    left = [name for name in files if name not in chosen]
    if any(_likeliness(best)):
        why = "the name that loaders look for first"
    elif len(fitting) < len(files):
        why = f"as loaders prefer {suffix_of(best)}"
    else:
        why = "the largest"
    return Choice(tuple(chosen), (*problems, *leftover(chosen, left, why)))


def _likeliness(name: str) -> tuple[bool, ...]:
    leaf = name.rpartition("/")[2]
    stem = leaf.partition(".")[0]
    shard = shard_of(leaf)
    likely = (stem == usual or (shard is not None and shard.stem == usual) for usual in _USUAL)
    # transformers looks for the single file before it looks for shards.
    return (*likely, shard is None and stem in _USUAL)


def _with_its_shards(best: str, files: Sequence[str]) -> tuple[list[str], list[Problem]]:
    shard = shard_of(best)
    if shard is None or not 1 < shard.count <= len(files) + 10_000:
        return [best], []
    together = [name for name in files if _same_set(shard_of(name), shard)]
    absent = [number for number in range(1, shard.count + 1) if shard.name(number) not in together]
    if not absent:
        return together, []
    return together, [
        Problem(
            f"{len(absent):,} of {shard.count:,} shards are absent:"
            f" {listed(shard.name(number) for number in absent[:5])}",
            hint="download them; their tensors are not seen",
            file=together[0],
            severity=Severity.ERROR,
        )
    ]


def _same_set(one: Shard | None, other: Shard) -> bool:
    return one is not None and (one.stem, one.count, one.suffix) == (
        other.stem,
        other.count,
        other.suffix,
    )


def complete_set(files: Sequence[str], suffix: str) -> list[str] | None:
    """Find shards that are all there by their own numbers, the largest set of them."""
    found: list[str] | None = None
    for name in files:
        shard = shard_of(name)
        if shard is None or shard.number != 1 or shard.suffix != suffix:
            continue
        if shard.count > len(files):
            continue
        together = [shard.name(number) for number in range(1, shard.count + 1)]
        if set(together) <= set(files) and len(together) > len(found or ()):
            found = together
    return found


def leftover(chosen: Sequence[str], left: Sequence[str], why: str) -> list[Problem]:
    """Say which files were not read, and why."""
    copies = [name for name in left if name.rpartition("/")[2].startswith("consolidated")]
    others = [name for name in left if name not in copies]
    problems = []
    if copies:
        problems.append(
            Problem(
                f"{listed(copies)}: by the name the same weights in another layout; not read, not"
                " counted",
                file=copies[0],
                severity=Severity.NOTE,
            )
        )
    if others:
        files = counted(len(chosen), "file")
        what = chosen[0] if len(chosen) == 1 else f"{files} ({chosen[0]} and on)"
        problems.append(
            Problem(
                f"read {what}, {why}; left {listed(others)}",
                hint="name a file to read that one",
                file=others[0],
                severity=Severity.NOTE,
            )
        )
    return problems


def unfinished(names: Iterable[str]) -> list[Problem]:
    """Point at downloads that did not end."""
    found = [name for name in names if name.lower().endswith(_UNFINISHED)]
    if not found:
        return []
    return [
        Problem(
            f"{counted(len(found), 'download')} did not end: {listed(found)}",
            hint="download the model again",
            file=found[0],
            severity=Severity.WARNING,
        )
    ]
