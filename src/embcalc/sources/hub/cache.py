"""The hub's cache on this machine: what lies there, and small files that are put there."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import constants

from embcalc.core.files import Buffer, File
from embcalc.errors import SourceError, UnreachableError
from embcalc.sources.http import Answer, one_line, translated
from embcalc.sources.hub.repository import Repository
from embcalc.sources.local import LocalFile
from embcalc.sources.names import is_safe
from embcalc.sources.retry import Patience, persistently
from embcalc.sources.traffic import TRAFFIC

COMMIT = re.compile(r"[0-9A-Za-z]{4,64}")
UNWRITABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}
)
"""Why a cache cannot be written to; the files are read without it then."""


def cached_snapshot(repo: str, revision: str | None) -> Path | None:
    """The folder of the cache that holds a revision of a repository, or None.

    Reads the documented layout ("Understand caching" in the guide of huggingface_hub), because
    the functions that do so take a second to import: too long for an answer without network.
    """
    revision = revision or constants.DEFAULT_REVISION
    if not is_safe(revision):
        return None
    base = Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"
    try:
        commit = (base / "refs" / revision).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        commit = revision
    snapshot = base / "snapshots" / commit
    return snapshot if COMMIT.fullmatch(commit) and snapshot.is_dir() else None


class CachedFile:
    """A file that is downloaded into the cache when it is first read.

    Where the cache cannot be written, its bytes are read over the network by `fallback`.
    """

    def __init__(self, fallback: File, repository: Repository, path: str) -> None:
        self.name = fallback.name
        self._fallback = fallback
        self._repository = repository
        self._path = path
        self._file: File | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return (self._file or self._fallback).size

    @property
    def local_path(self) -> str | None:
        """Where it lies once it was read."""
        return None if self._file is None else self._file.local_path

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Read a byte range."""
        return self._downloaded().read(start, length)

    def stream(self, start: int, length: int, block: int) -> Iterator[Buffer]:
        """Yield a byte range in pieces."""
        return self._downloaded().stream(start, length, block)

    def _downloaded(self) -> File:
        if self._file is None:
            self._file = persistently(self._download, Patience(tries=3))
        return self._file

    def _download(self) -> File:
        label = self._repository.label(self._path)
        try:
            with translated(label), _quiet_below(self._fallback.size):
                file = LocalFile(self._fetch(), self.name)
        except SourceError as error:
            if _unwritable(error.__cause__):
                return self._fallback
            raise self._told(error, label) from error.__cause__
        except ValueError as error:
            raise SourceError(f"{label} cannot be downloaded: {one_line(error)}") from error
        TRAFFIC.count(file.size)
        if file.size != self._fallback.size:
            raise SourceError(
                f"{label} has {file.size:,} bytes, not {self._fallback.size:,} as listed",
                hint="a proxy may be in the way, or the repository changes right now; try again",
            )
        return file

    def _told(self, error: SourceError, label: str) -> SourceError:
        """The error to raise: a broken connection may be tried again, other failures not.

        From version 1.0 on huggingface_hub waits and tries again by itself, and raises
        LocalEntryNotFoundError in the end; before, when it used requests, it raised that at once.
        """
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        before_1 = issubclass(HfHubHTTPError.__bases__[0], OSError)

        answer = _answer(error.__cause__, label)
        if answer is not None:
            error = self._repository.refuse(answer, label)
        elif before_1 or not isinstance(error.__cause__, LocalEntryNotFoundError):
            return error
        if isinstance(error, UnreachableError):
            return UnreachableError(error.message, error.hint)
        return error

    def _fetch(self) -> Path:
        """Download under the name and the revision that the user gave.

        Only then does the cache remember which commit that revision is, and answers for it
        without network. Should the revision have moved since the listing, the listed commit is
        what is read.
        """
        from huggingface_hub import hf_hub_download

        repository, asked = self._repository, self._repository.asked
        path = Path(hf_hub_download(asked.repo, self._path, revision=asked.revision))
        if repository.commit not in path.parts:
            path = Path(hf_hub_download(asked.repo, self._path, revision=repository.commit))
        return path


def _unwritable(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in UNWRITABLE


def _answer(error: BaseException | None, label: str) -> Answer | None:
    """The HTTP answer behind an error of huggingface_hub, or None."""
    while error is not None:
        response = getattr(error, "response", None)
        if response is not None:
            return Answer(response.status_code, response.headers, label, iter(()))
        error = error.__cause__
    return None


@contextmanager
def _quiet_below(nbytes: int, limit: int = 1 << 28) -> Iterator[None]:
    """Show the progress bar of huggingface_hub for large files only."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    decided = constants.HF_HUB_DISABLE_PROGRESS_BARS is not None
    if decided or nbytes >= limit or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
