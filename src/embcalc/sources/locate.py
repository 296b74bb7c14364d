from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from embcalc.core.files import Folder
from embcalc.errors import SourceError, UnreachableError
from embcalc.sources.keeping import KEEP
from embcalc.sources.local import MAX_DEPTH, LocalFolder
from embcalc.sources.missing import advice, what_is_missing
from embcalc.sources.names import names_a_file
from embcalc.sources.notes import note

if TYPE_CHECKING:
    from embcalc.sources.hub.address import HubAddress

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(?:://|::)")


@dataclass(frozen=True, slots=True)
class Located:
    """Where a MODEL argument leads."""

    folder: Folder
    file: str | None
    """The one file that the address names, or None when it names a folder."""


def locate(address: str) -> Located:
    """Resolve an address: an existing path, a web or fsspec address, a repository of the hub.

    Raises:
        SourceError: nothing is there, or it cannot be reached.
    """
    if not address:
        raise SourceError("the address of the model is empty", hint="check the path")
    local = _local(Path(address), address)
    if local is not None:
        return local
    scheme = _SCHEME.match(address)
    if scheme is not None:
        return _by_scheme(scheme[1].lower(), address)
    if not names_a_file(address):
        from embcalc.sources.hub.address import plain

        repository = plain(address)
        if repository is not None:
            return _open_hub(repository, address)
    raise SourceError(f"no such file or folder: {address}", hint=advice(address))


def _open_hub(repository: HubAddress, address: str) -> Located:
    """Open what may be a repository of the hub or a mistyped path; an error says both."""
    _check_settings()
    from embcalc.sources.hub.open import open_hub

    try:
        return Located(*open_hub(repository, address))
    except SourceError as error:
        raise _neither(address, error) from error


def _neither(address: str, error: SourceError) -> SourceError:
    """The error for an address that is no local path and cannot be opened on the hub."""
    missing = what_is_missing(address) if Path(address).parent.is_dir() else None
    if missing is not None:
        other = " Otherwise" if missing.endswith("?") else "; or"
        return SourceError(
            f"no such file or folder: {address}; and as a model of the hub: {error.message}",
            hint=f"{missing}{other} check the name on the hub",
        )
    if isinstance(error, UnreachableError):
        return UnreachableError(f"{address} is no local path, and {error.message}", error.hint)
    return error


def _local(path: Path, address: str) -> Located | None:
    try:
        if path.is_dir():
            return Located(LocalFolder(path, address), None)
        if path.exists():
            if not path.is_file():
                raise SourceError(
                    f"{address} is a device or a pipe, which cannot be read in parts",
                    hint="save what it gives to a file, and name that",
                )
            return Located(LocalFolder(path.parent, address, _depth(path)), path.name)
        broken = path.is_symlink()
    except (OSError, ValueError) as error:
        raise SourceError(
            f"cannot read {address}: {getattr(error, 'strerror', None) or error}",
            hint="check the path, and that you may read it",
        ) from error
    if broken:
        raise SourceError(
            f"{address} is a link to {path.readlink()}, which does not exist",
            hint="a file of the hub's cache was deleted; download the model again",
        )
    return None


def _depth(file: Path) -> int:
    """Folders to look into beside a file: an index may name files below, nothing else does."""
    return MAX_DEPTH if file.suffix == ".json" else 0


def _by_scheme(scheme: str, address: str) -> Located:
    if scheme == "file" and "::" not in address:
        path = url2pathname(urlsplit(address).path)
        local = _local(Path(path), address)
        if local is None:
            raise SourceError(f"no such file or folder: {path}", hint="check the path")
        return local
    if scheme in ("hf", "http", "https") and "::" not in address:
        return _over_http(scheme, address)
    from embcalc.sources.remote import open_remote

    _keeps_nothing(address)
    return Located(*open_remote(address))


def _over_http(scheme: str, address: str) -> Located:
    from embcalc.sources.hub.address import from_uri, from_web

    _check_settings()
    repository = from_uri(address) if scheme == "hf" else from_web(address)
    if repository is None:
        from embcalc.sources.web import open_web

        _keeps_nothing(address)
        return Located(*open_web(address))
    from embcalc.sources.hub.open import open_hub

    return Located(*open_hub(repository, address))


def _check_settings() -> None:
    """Import what reads the HF_ variables; it raises ValueError where one is no number."""
    try:
        importlib.import_module("huggingface_hub.constants")
    except ValueError as error:
        raise SourceError(
            f"a setting of huggingface_hub is wrong: {error}",
            hint="check the environment variables that begin with HF_",
        ) from error


def _keeps_nothing(address: str) -> None:
    if KEEP.get():
        note(f"only files of the hub can be kept; {address} is read and not stored")
