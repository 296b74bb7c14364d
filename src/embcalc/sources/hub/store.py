"""Files put into the hub's cache, where huggingface_hub itself finds them.

The layout is the documented one ("Understand caching" in the guide of huggingface_hub): contents
in `blobs`, one folder of links for each commit in `snapshots`, names of commits in `refs`. Its own
`hf_hub_download` is not used because nothing bounds it: it takes whatever length it is sent, and
waits as often and as long as a server asks.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from huggingface_hub import constants

from embcalc.core.files import Buffer
from embcalc.sources.hub.repository import Repository
from embcalc.sources.names import is_safe


class UnwritableError(Exception):
    """The cache cannot be written to."""


class _Hash(Protocol):
    def update(self, data: Buffer, /) -> None: ...
    def hexdigest(self) -> str: ...


def cache_of(repo: str) -> Path:
    """The folder of the cache that holds a repository."""
    return Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"


def store(repository: Repository, path: str, size: int, pieces: Iterable[Buffer]) -> Path:
    """Write a file into the cache, whole or not at all, and return its place there.

    Args:
        repository: where it comes from; the cache knows it by the name that the user gave.
        path: inside the repository; safe.
        size: bytes of the file.
        pieces: its content.

    Raises:
        UnwritableError: the cache cannot be written to.
        SourceError: what `pieces` raises.
    """
    try:
        return _store(repository, path, size, pieces)
    except OSError as error:  # of the disk alone: those of a network are errors of embcalc by now
        raise UnwritableError(error.strerror or str(error)) from error


def _store(repository: Repository, path: str, size: int, pieces: Iterable[Buffer]) -> Path:
    base = cache_of(repository.asked.repo)
    place = base / "snapshots" / repository.commit / path
    part = base / "blobs" / f"{secrets.token_hex(8)}.incomplete"
    part.parent.mkdir(parents=True, exist_ok=True)
    content = _hash(size, large=path in repository.large)
    try:
        with part.open("xb") as stream:
            for piece in pieces:
                content.update(piece)
                stream.write(piece)
        _link(part, part.parent / content.hexdigest(), place)
        _name_commit(base, repository)
    finally:
        part.unlink(missing_ok=True)
    return place


def _hash(size: int, *, large: bool) -> _Hash:
    """What the hub names a content by: SHA-256 in large file storage, else the blob id of Git."""
    if large:
        return hashlib.sha256()
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


def _link(part: Path, blob: Path, place: Path) -> None:
    """Give a content its name and make the snapshot point to it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    link = place.with_name(part.name)
    try:
        link.symlink_to(os.path.relpath(blob, place.parent))
    except OSError:  # Windows, for most users: the snapshot holds the file itself
        part.replace(place)
        return
    try:
        part.replace(blob)
        link.replace(place)
    finally:
        link.unlink(missing_ok=True)


def _name_commit(base: Path, repository: Repository) -> None:
    """Remember which commit the revision is, so that the cache answers without network."""
    revision = repository.asked.revision or constants.DEFAULT_REVISION
    if revision == repository.commit or not is_safe(revision):
        return
    reference = base / "refs" / revision
    reference.parent.mkdir(parents=True, exist_ok=True)
    part = reference.with_name(f"{secrets.token_hex(8)}.incomplete")
    try:
        part.write_text(repository.commit, "utf-8")
        part.replace(reference)
    finally:
        part.unlink(missing_ok=True)
