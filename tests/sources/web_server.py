"""A plain web server for a folder: with or without byte ranges, with or without listings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: list[str]
    ranges: bool
    listing: bool
    chunked: bool

    def log_message(self, *args: object) -> None:
        pass

    def list_directory(self, path: Any) -> BytesIO | None:
        if self.listing:
            return super().list_directory(path)
        self.send_error(404)
        return None

    def do_HEAD(self) -> None:
        self.requests.append(f"HEAD {self.path}")
        super().do_HEAD()

    def do_GET(self) -> None:
        self.requests.append(f"GET {self.path} {self.headers.get('range', '')}".strip())
        path = Path(self.translate_path(self.path))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range") or "")
        if path.is_file() and self.chunked:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"4\r\nabcd\r\n0\r\n\r\n")
        elif wanted and self.ranges and path.is_file():
            self.part(path.read_bytes(), int(wanted[1]), int(wanted[2]) + 1)
        else:
            super().do_GET()

    def part(self, content: bytes, start: int, stop: int) -> None:
        piece = content[start:stop]
        self.send_response(206 if piece else 416)
        told = f"{start}-{start + len(piece) - 1}" if piece else "*"
        self.send_header("Content-Range", f"bytes {told}/{len(content)}")
        self.send_header("Content-Length", str(len(piece)))
        self.end_headers()
        self.wfile.write(piece)


@contextmanager
def serving(
    folder: Path, *, ranges: bool = True, listing: bool = True, chunked: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder; give its URL, with a slash at the end, and the requests as they come."""
    requests: list[str] = []
    kind = type(
        "Handler",
        (_Handler,),
        {"requests": requests, "ranges": ranges, "listing": listing, "chunked": chunked},
    )
    server = _Server(("127.0.0.1", 0), partial(kind, directory=str(folder)))
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", requests
    finally:
        server.shutdown()
        server.server_close()
