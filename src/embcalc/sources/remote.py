"""Any other address, through fsspec: s3://, gs://, zip://, memory:// and their chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from embcalc.core.files import File
from embcalc.errors import SourceError
from embcalc.sources.http import one_line
from embcalc.sources.local import MAX_DEPTH
from embcalc.sources.names import bounded, is_hidden, is_safe
from embcalc.sources.ranged import RangedFile, warm
from embcalc.sources.traffic import TRAFFIC

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

CHUNK = 1 << 20


def open_remote(address: str) -> tuple[RemoteFolder, str | None]:
    """Open an address: its folder, and the file when it names one.

    Raises:
        SourceError: nothing is there, or the protocol needs a package that is not installed.
    """
    system, path = _connect(address)
    with _translated(address):
        info = system.info(path)
    if info.get("type") == "directory":
        return RemoteFolder(system, path, address, MAX_DEPTH + 1), None
    parent, _, name = path.rpartition("/")
    return RemoteFolder(system, parent, address, 1, (name, info.get("size"))), name


def _connect(address: str) -> tuple[AbstractFileSystem, str]:
    import fsspec

    protocol = address.split("://", 1)[0]
    with _translated(address):
        try:
            system, path = fsspec.core.url_to_fs(address)
        except ImportError as error:
            raise SourceError(
                f"{address}: one more package is needed ({one_line(error)})",
                hint=f"pip install {_package(protocol)}",
            ) from error
        except ValueError as error:
            raise SourceError(
                f"{address} is no address that can be read: {one_line(error)}",
                hint="write it like s3://bucket/folder or https://host/path",
            ) from error
    return system, str(path).rstrip("/")


def _package(protocol: str) -> str:
    """The package that brings a protocol to fsspec."""
    from fsspec.registry import known_implementations

    module = str(known_implementations.get(protocol, {}).get("class", "")).split(".")[0]
    return f"'fsspec[{protocol}]'" if module in ("", "fsspec") else module


class RemoteFolder:
    """A folder of an fsspec file system."""

    def __init__(
        self,
        system: AbstractFileSystem,
        path: str,
        label: str,
        depth: int,
        only: tuple[str, int | None] | None = None,
    ) -> None:
        self.label = label
        self._opened: dict[str, File] = {}
        self._system = system
        self._path = path
        self._depth = depth
        self._only = only
        self._sizes: dict[str, int | None] | None = None

    def names(self) -> tuple[str, ...]:
        """Names of all files, hidden ones left out."""
        return tuple(sorted(self._listed()))

    def expect(self, names: Iterable[str]) -> None:
        """Begin to fetch the heads of these files, where the plug-in can do several at once."""
        if getattr(self._system, "async_impl", False):
            warm(self.open(name) for name in names)

    def open(self, name: str) -> File:
        """Open one file; opened twice it is the same."""
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    def _open(self, name: str) -> File:
        if self._only is not None and name == self._only[0]:
            size = self._only[1]
        elif name in self._listed():
            size = self._listed()[name]
        else:
            raise SourceError(
                f"{self.label} has no file {name}", hint="check the name, upper and lower case too"
            )
        path = f"{self._path}/{name}" if self._path else name
        return RangedFile(RemoteOrigin(self._system, path), name, size)

    def _listed(self) -> dict[str, int | None]:
        if self._sizes is None:
            with _translated(self.label):
                self._sizes = dict(bounded(self._walk(), self.label))
            if self._only is not None:
                self._sizes.setdefault(*self._only)
            TRAFFIC.offer(sum(size or 0 for size in self._sizes.values()))
        return self._sizes

    def _walk(self) -> Iterator[tuple[str, int | None]]:
        walk = self._system.walk(self._path, maxdepth=self._depth, detail=True)
        for root, _, files in walk:
            below = str(root).removeprefix(self._path).strip("/")
            for leaf, info in files.items():
                name = f"{below}/{leaf}" if below else str(leaf)
                if is_safe(name) and not is_hidden(name):
                    yield name, info.get("size")


class RemoteOrigin:
    """The bytes of one file of an fsspec file system."""

    def __init__(self, system: AbstractFileSystem, path: str) -> None:
        self.label = str(system.unstrip_protocol(path))
        self.parallel = bool(getattr(system, "async_impl", False))
        self._system = system
        self._path = path
        self._handle: Any = None

    def size(self) -> int:
        """Bytes of the file."""
        with _translated(self.label):
            size = self._system.info(self._path).get("size")
        if not isinstance(size, int):
            raise SourceError(
                f"{self.label} does not tell its size", hint="download it and give its path"
            )
        return size

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        """Yield a range: one request where they may be parallel, else from one open handle."""
        with _translated(self.label):
            if self.parallel:
                data = bytes(self._system.cat_file(self._path, start=start, end=start + length))
            else:
                data = self._read(start, length)
        if len(data) > length:
            raise SourceError(
                f"{self.label} cannot be read in parts", hint="download it and give its path"
            )
        TRAFFIC.count(len(data))
        yield data

    def _read(self, start: int, length: int) -> bytes:
        # A handle that stays open reads on; archives would otherwise unpack from their begin
        # again for each piece.
        if self._handle is None:
            self._handle = self._system.open(self._path, "rb", block_size=CHUNK)
        self._handle.seek(start)
        return bytes(self._handle.read(length))


@contextmanager
def _translated(label: str) -> Iterator[None]:
    """Turn what a plug-in raises into an error of embcalc.

    Plug-ins raise errors of their own libraries (botocore, aiohttp, zipfile …) that share no
    parent but Exception.
    """
    try:
        yield
    except SourceError:
        raise
    except FileNotFoundError as error:
        raise SourceError(f"{label} does not exist", hint="check the address") from error
    except PermissionError as error:
        raise SourceError(
            f"{label}: access refused: {one_line(error)}",
            hint="check the credentials of this service on this machine",
        ) from error
    except Exception as error:
        raise SourceError(
            f"{label} cannot be read: {type(error).__name__}: {one_line(error)}",
            hint="check the address, the network and the credentials of this service",
        ) from error
