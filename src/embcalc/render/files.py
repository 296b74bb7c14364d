"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from embcalc.core.inputs import is_input
from embcalc.errors import UsageError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a stream whose content becomes `path` when the block ends well.

    On any error or interrupt the target stays as it was and nothing is left behind. A link is
    followed; a device or a pipe (`/dev/stdout`) is written as it comes, for it holds nothing.

    Raises:
        UsageError: the place cannot be written, or is a file that this run has read.
    """
    if is_input(str(path.resolve())):
        raise UsageError(
            f"{path} belongs to the model that was read; it was not overwritten",
            hint="name another file",
        )
    try:
        if path.exists() and not path.is_file():
            opened: AbstractContextManager[BinaryIO] = path.open("wb")
        else:
            opened = _replacing(path.resolve())
        with opened as stream:
            yield stream
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", hint=_advice(path, error)
        ) from error


def require_place(path: Path) -> None:
    """Refuse a place where no file can be, before a long run is made for it.

    Raises:
        UsageError: it is a folder, or its folder does not exist or may not be written to.
    """
    number = 0
    if path.is_dir():
        number = errno.EISDIR
    elif not path.parent.exists():
        number = errno.ENOENT
    elif not path.exists() and not os.access(path.parent, os.W_OK):
        number = errno.EACCES
    if number:
        reason = os.strerror(number)
        raise UsageError(
            f"cannot write {path}: {reason}", hint=_advice(path, OSError(number, reason))
        )


def _advice(path: Path, error: OSError) -> str:
    if path.is_dir():
        return f"that is a folder: name a file, as in {path / 'result.txt'}"
    if error.errno == errno.ENOSPC:
        return "the disk is full: free some space, or choose another folder"
    if not path.parent.exists():
        return f"make the folder {path.parent} first"
    return "choose a folder that you may write to"


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # The name is known before the file is there: an interrupt in between leaves nothing either.
    temporary = path.with_name(f".{path.name[:32]}.{os.urandom(6).hex()}")
    try:
        with open(temporary, "xb", opener=_private) as stream:
            yield stream
        _adopt_mode(temporary, path)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _adopt_mode(temporary: Path, path: Path) -> None:
    """Give the new file the mode of the one it replaces, or the one that the umask leaves."""
    if path.exists():
        temporary.chmod(path.stat().st_mode & 0o777)
    else:
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
