from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from embcalc.core.files import Folder
from embcalc.errors import SourceError
from embcalc.sources.local import LocalFolder


@dataclass(frozen=True, slots=True)
class Located:
    """Where a MODEL argument leads."""

    folder: Folder
    file: str | None
    """The one file that the address names, or None when it names a folder."""


def locate(address: str) -> Located:
    """Resolve an address.

    Raises:
        SourceError: nothing is there.
    """
    path = Path(address)
    if path.is_dir():
        return Located(LocalFolder(path, address), None)
    if path.exists():
        return Located(LocalFolder(path.parent, address), path.name)
    if path.is_symlink():
        raise SourceError(
            f"{address} is a link to {path.readlink()}, which does not exist",
            hint="a file of the hub's cache was deleted; download the model again",
        )
    raise SourceError(f"no such file or folder: {address}", hint="check the path")
