"""A repository of the hub as a folder."""

from __future__ import annotations

from collections.abc import Iterable

from huggingface_hub import constants

from embcalc.core.files import File
from embcalc.errors import SourceError
from embcalc.sources.http_file import HttpOrigin, Target
from embcalc.sources.hub.cache import CachedFile, cached_snapshot
from embcalc.sources.hub.repository import Repository
from embcalc.sources.keeping import KEEP
from embcalc.sources.local import LocalFile
from embcalc.sources.names import TEXTS, WEIGHTS
from embcalc.sources.ranged import MAX_WHOLE, RangedFile, warm


class HubFolder:
    """A repository, or a folder of it.

    A file that the cache holds is read there. A config or tokenizer file is downloaded into the
    cache; weights are read by byte ranges and not stored, unless `KEEP` says so.
    """

    def __init__(self, repository: Repository, label: str, *, prefix: str = "") -> None:
        self.label = label
        self._repository = repository
        self._prefix = prefix
        self._opened: dict[str, File] = {}
        self._names = tuple(
            sorted(
                path.removeprefix(prefix) for path in repository.sizes if path.startswith(prefix)
            )
        )

    def names(self) -> tuple[str, ...]:
        """Names of all files, hidden ones left out."""
        return self._names

    def expect(self, names: Iterable[str]) -> None:
        """Begin to fetch the heads of these files."""
        warm(self.open(name) for name in names if name in self._names)

    def open(self, name: str) -> File:
        """Open one file; nothing is fetched yet."""
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    def _open(self, name: str) -> File:
        path = self._prefix + name
        repository = self._repository
        if path not in repository.sizes:
            raise SourceError(f"{self.label} has no file {name}")
        snapshot = cached_snapshot(repository.asked.repo, repository.commit)
        if snapshot is not None and (snapshot / path).is_file():
            return LocalFile(snapshot / path, name)
        size = repository.sizes[path]
        remote = RangedFile(self._origin(path, size), name, size)
        if KEEP.get() or _is_text(path, size):
            return CachedFile(remote, repository, path)
        return remote

    def _origin(self, path: str, size: int | None) -> HttpOrigin:
        repository = self._repository
        target = Target(
            url=repository.url(path),
            label=repository.label(path),
            headers=repository.headers,
            timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
            refuse=repository.refuse,
        )
        return HttpOrigin(target, size)


def _is_text(path: str, size: int | None) -> bool:
    if size is None:
        return path.endswith(TEXTS)
    return size <= MAX_WHOLE and not path.endswith(WEIGHTS)
