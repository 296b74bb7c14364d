"""A small hub on loopback: what huggingface_hub asks of one, and what goes wrong with one.

Two servers: the hub itself, and a second host that large files are redirected to. Both count the
bytes of the bodies that they sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = 1 << 20
"""Bytes from which a file is served by the second host."""


@dataclass
class Repo:
    """A repository: its files, in memory or on disk, and who may see it."""

    files: dict[str, bytes | Path] = field(default_factory=dict)
    sha: str = "a" * 40
    revisions: set[str] = field(default_factory=lambda: {"main"})
    token: str | None = None
    """Needed for everything: a private repository."""
    gated: bool = False
    """Listed for everybody, readable for nobody."""
    sizes: bool = True
    """Whether the listing tells sizes."""
    claims: dict[str, int] = field(default_factory=dict)
    """Sizes that the listing tells instead of the real ones."""
    tag: str = ""
    """Begins each ETag."""
    extra_names: tuple[str, ...] = ()
    """Names that are listed though no such file exists."""

    def add_folder(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.files[path.relative_to(folder).as_posix()] = path

    def size(self, name: str) -> int:
        held = self.files[name]
        return len(held) if isinstance(held, bytes) else held.stat().st_size

    def read(self, name: str, start: int, length: int) -> bytes:
        held = self.files[name]
        if isinstance(held, bytes):
            return held[start : start + length]
        with held.open("rb") as stream:
            stream.seek(start)
            return stream.read(length)

    def etag(self, name: str) -> str:
        return hashlib.sha256(f"{self.tag}{name}{self.size(name)}".encode()).hexdigest()


Fault = Callable[["Handler"], bool]
"""Called before a request is answered; True when it has answered, or broken the connection."""


class HubServer:
    """Repositories behind two ports of loopback."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.repos: dict[str, Repo] = {}
        self.renamed: dict[str, str] = {}
        self.faults: list[tuple[re.Pattern[str], Fault]] = []
        self.ranges = True
        self.prefix = ""
        """Path under which the hub is served."""
        self.cut_after: int | None = None
        """Break each body after so many bytes."""
        self.cuts = 0
        self.requests: list[str] = []
        self.authorized: list[tuple[str, str]] = []
        """(server, path) of each request that carried a token."""
        self.sent: dict[str, int] = {}
        """Body bytes by file name."""
        self._lock = Lock()
        self._servers = [_bound(host), _bound("127.0.0.2", "127.0.0.1")]
        for number, server in enumerate(self._servers):
            server.hub = self
            server.is_cdn = number == 1
            Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.url, self.cdn = (f"http://{s.host}:{s.server_port}" for s in self._servers)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def fault(self, pattern: str, *faults: Fault) -> None:
        """Meet the next requests whose line matches with one fault each."""
        self.faults += [(re.compile(pattern), fault) for fault in faults]

    def always(self, pattern: str, fault: Fault) -> None:
        self.fault(pattern, *[fault] * 200)

    def take_fault(self, line: str) -> Fault | None:
        with self._lock:
            for index, (pattern, fault) in enumerate(self.faults):
                if pattern.search(line):
                    del self.faults[index]
                    return fault
        return None

    def count(self, name: str, nbytes: int) -> None:
        with self._lock:
            self.sent[name] = self.sent.get(name, 0) + nbytes

    def note(self, line: str, server: str, token: str | None) -> None:
        with self._lock:
            self.requests.append(line)
            if token:
                self.authorized.append((server, line))

    def take_cut(self) -> int | None:
        with self._lock:
            if self.cut_after is None or self.cuts <= 0:
                return None
            self.cuts -= 1
            return self.cut_after

    @property
    def total(self) -> int:
        return sum(self.sent.values())

    def sent_of(self, ending: str) -> int:
        return sum(count for name, count in self.sent.items() if name.endswith(ending))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: HubServer
    is_cdn: bool

    def __init__(self, host: str) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), Handler)
        self.host = f"[{host}]" if ":" in host else host

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are part of the tests."""


def _bound(*hosts: str) -> _Server:
    """A server on the first host that this machine has.

    The second server needs a name of its own where it can have one: some versions of
    huggingface_hub take two ports of one name for one host.
    """
    for host in hosts[:-1]:
        with suppress(OSError):
            return _Server(host)
    return _Server(hosts[-1])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        line = f"{self.command} {self.path}"
        host = "cdn" if self.server.is_cdn else "hub"
        self.server.hub.note(line, host, self.headers.get("authorization"))
        fault = self.server.hub.take_fault(line)
        if fault is not None and fault(self):
            return
        url = urlsplit(self.path)
        path = unquote(url.path).removeprefix(self.server.hub.prefix)
        if self.server.is_cdn:
            repo, name = path.lstrip("/").split("::")
            self.file(self.server.hub.repos[repo], name)
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            self.info(match[1], match[2], parse_qs(url.query))
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self.resolve(match[1], match[2], match[3])
        else:
            self.refuse(404, "RepoNotFound")

    def repo(self, name: str) -> Repo | None:
        """The repository, or None when the request has been answered with why not."""
        hub = self.server.hub
        if name in hub.renamed:
            self.reply(307, b"", {"Location": self.path.replace(name, hub.renamed[name])})
            return None
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        if token == "wrong":
            headers = {"X-Error-Message": "Invalid credentials in Authorization header"}
            self.reply(401, b"{}", headers)
            return None
        repo = hub.repos.get(name)
        if repo is None or (repo.token is not None and token != repo.token):
            self.refuse(404 if token else 401, "RepoNotFound")
            return None
        return repo

    def info(self, name: str, revision: str | None, query: dict[str, list[str]]) -> None:
        repo = self.repo(name)
        if repo is None:
            return
        if revision is not None and revision not in repo.revisions | {repo.sha}:
            self.refuse(404, "RevisionNotFound")
            return
        blobs = repo.sizes and "blobs" in query
        siblings: list[dict[str, object]] = [
            self.sibling(repo, file) if blobs else {"rfilename": file} for file in repo.files
        ]
        siblings += [{"rfilename": file} for file in repo.extra_names]
        document = {"id": name, "sha": repo.sha, "private": False, "siblings": siblings}
        self.reply(200, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def sibling(self, repo: Repo, name: str) -> dict[str, object]:
        size = repo.claims.get(name, repo.size(name))
        lfs = {"lfs": {"size": size, "sha256": repo.etag(name), "pointerSize": 134}}
        return {"rfilename": name, "size": size, **(lfs if size >= LARGE else {})}

    def resolve(self, name: str, revision: str, file: str) -> None:
        repo = self.repo(name)
        if repo is None:
            return
        if revision not in repo.revisions | {repo.sha}:
            self.refuse(404, "RevisionNotFound")
        elif repo.gated:
            self.refuse(403, "GatedRepo")
        elif file not in repo.files:
            self.refuse(404, "EntryNotFound")
        elif repo.size(file) >= LARGE:
            self.reply(
                302,
                b"",
                {
                    "Location": f"{self.server.hub.cdn}/{name}::{file}?signature=secret",
                    "X-Repo-Commit": repo.sha,
                    "X-Linked-Size": str(repo.size(file)),
                    "X-Linked-ETag": f'"{repo.etag(file)}"',
                },
            )
        else:
            self.file(repo, file, revision if len(revision) == 40 else repo.sha)

    def file(self, repo: Repo, name: str, commit: str = "") -> None:
        """Send a file or the range of it that is asked for."""
        size = repo.size(name)
        headers = {
            "ETag": f'"{repo.etag(name)}"',
            **({"X-Repo-Commit": commit} if commit else {}),
            "Accept-Ranges": "bytes",
        }
        start, stop, status = 0, size, 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range") or "")
        if wanted and self.server.hub.ranges:
            start = int(wanted[1])
            stop = min(size, int(wanted[2]) + 1) if wanted[2] else size
            status = 206
            if start >= size:
                self.reply(416, b"", {"Content-Range": f"bytes */{size}"})
                return
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        self.send_response(status)
        headers["Content-Length"] = str(stop - start)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.body(repo, name, start, stop)

    def body(self, repo: Repo, name: str, start: int, stop: int) -> None:
        cut = self.server.hub.take_cut()
        end = stop if cut is None else min(stop, start + cut)
        at = start
        while at < end:
            piece = repo.read(name, at, min(1 << 20, end - at))
            self.wfile.write(piece)
            self.server.hub.count(name, len(piece))
            at += len(piece)
        if end < stop:
            self.wfile.flush()
            self.hang_up()

    def refuse(self, status: int, code: str) -> None:
        self.reply(status, b'{"error": "no"}', {"X-Error-Code": code})

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()


def status(code: int, **headers: str) -> Fault:
    """Answer with an error."""

    def fault(handler: Handler) -> bool:
        handler.reply(code, b"", {k.replace("_", "-"): v for k, v in headers.items()})
        return True

    return fault


def hang_up(handler: Handler) -> bool:
    """Break the connection before a word is said."""
    handler.hang_up()
    return True


def slow(seconds: float) -> Fault:
    """Wait, then answer."""

    def fault(_handler: Handler) -> bool:
        time.sleep(seconds)
        return False

    return fault


def page(body: bytes = b"<html>Please log in</html>", kind: str = "text/html") -> Fault:
    """Answer with a page of something else."""

    def fault(handler: Handler) -> bool:
        handler.reply(200, body, {"Content-Type": kind})
        return True

    return fault


def circle(handler: Handler) -> bool:
    """Redirect to the same place."""
    handler.reply(302, b"", {"Location": handler.path})
    return True


def redirect(target: str) -> Fault:
    """Send somewhere else."""

    def fault(handler: Handler) -> bool:
        handler.reply(302, b"", {"Location": target})
        return True

    return fault


def drops(size: int, pause: float) -> Fault:
    """Send what was asked for in so small pieces, with a pause after each."""

    def fault(handler: Handler) -> bool:
        handler.wfile = _Slowly(handler.wfile, size, pause)  # type: ignore[assignment]
        return False

    return fault


def slow_head(pause: float) -> Fault:
    """Send the head of an answer byte by byte."""

    def fault(handler: Handler) -> bool:
        for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(pause)
        return True

    return fault


class _Slowly:
    """A connection that bodies leave slowly; heads go at once."""

    def __init__(self, stream: Any, size: int, pause: float) -> None:
        self._stream = stream
        self._size = size
        self._pause = pause

    def write(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1"):
            self._stream.write(data)
            return
        for at in range(0, len(data), self._size):
            self._stream.write(data[at : at + self._size])
            self._stream.flush()
            time.sleep(self._pause)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def endless(handler: Handler) -> bool:
    """Send a body without an end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(20_000):
        handler.wfile.write(piece)
    return True


def lies(**headers: str) -> Fault:
    """Send 206 with ten bytes and headers that say otherwise."""

    def fault(handler: Handler) -> bool:
        handler.reply(206, b"0123456789", {k.replace("_", "-"): v for k, v in headers.items()})
        handler.close_connection = True
        return True

    return fault


@contextmanager
def running_hub(host: str = "127.0.0.1") -> Iterator[HubServer]:
    """Start a hub; stop it at the end."""
    server = HubServer(host)
    try:
        yield server
    finally:
        server.close()
