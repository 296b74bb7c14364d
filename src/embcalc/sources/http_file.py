"""A file behind a URL, read by HTTP range requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import urlsplit

from embcalc.errors import SourceError
from embcalc.sources.http import RETRIED, Answer, open_url, retry_after
from embcalc.sources.notes import note
from embcalc.sources.retry import TransientError, persistently

WHOLE_LIMIT = 64_000_000
"""Bytes up to which a file is read whole from a server that ignores ranges."""
EXPIRED = frozenset({400, 401, 403, 404, 410})
"""What a signed address answers when its time is over."""

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_NO_RANGE = re.compile(r"bytes \*/(\d{1,18})")

Refusal = Callable[[Answer, str], SourceError]


def refusal(answer: Answer, label: str) -> SourceError:
    """What an HTTP error status means, and what to do about it."""
    status = answer.status
    if status in RETRIED:
        return busy(answer, f"the server of {label}")
    if status in (401, 403):
        return SourceError(
            f"{label}: access refused (HTTP {status})", hint="it needs a login, or its link expired"
        )
    if status in (404, 410):
        return SourceError(f"{label} does not exist (HTTP {status})", hint="check the address")
    return SourceError(f"{label}: the server answers HTTP {status}", hint="check the address")


def busy(answer: Answer, server: str) -> TransientError:
    """A rate limit or a fault of the server, with the wait that it asks for."""
    wait = retry_after(answer.headers)
    again = f"in {wait:,.0f} seconds" if wait else "in a few minutes"
    what = "too many requests" if answer.status == 429 else f"HTTP {answer.status}"
    return TransientError(f"{server} answers: {what}", hint=f"try again {again}", wait=wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is asked for, and how."""

    url: str
    label: str
    """What messages call it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to the host of `url` alone."""
    timeout: float = 10
    """Seconds without a byte."""
    refuse: Refusal = refusal


class HttpOrigin:
    """The bytes of one URL.

    After the first answer its final address is asked directly, so that redirects to a content
    server are followed once; when that address expires, the first one is asked again.
    """

    parallel = True

    def __init__(self, target: Target, size: int | None = None) -> None:
        self.label = target.label
        self._target = target
        self._final = target.url
        self._size = size
        self._whole: bytes | None = None
        self._etags: dict[tuple[str, str], str] = {}
        self._lock = Lock()

    def size(self) -> int:
        """Bytes of the file, from a range request of one byte."""
        if self._size is None:
            self._size = persistently(self._measure)
        return self._size

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        """Yield a range, in one request."""
        if self._whole is not None:
            yield self._whole[start : start + length]
            return
        with self._ask(f"bytes={start}-{start + length - 1}") as answer:
            if answer.status == 200:
                yield from self._without_ranges(answer, start, length)
            else:
                self._check_range(answer, start, length)
                yield from self._exactly(answer.body, length)

    @contextmanager
    def _ask(self, wanted: str) -> Iterator[Answer]:
        """Send a range request; the answer has status 200, 206 or 416."""
        asked = self._final
        first = self._target.url
        own = self._target.headers if _host(asked) == _host(first) else {}
        sent = {**own, "Range": wanted}
        with open_url(asked, sent, self.label, self._target.timeout) as answer:
            if answer.status in (200, 206, 416):
                self._final = answer.url
                self._check_body(answer)
                yield answer
            elif asked != first and answer.status in EXPIRED:
                self._final = first
                raise TransientError(f"the link to {self.label} expired while it was read")
            else:
                raise self._target.refuse(answer, self.label)

    def _check_body(self, answer: Answer) -> None:
        """Refuse compressed bytes, and those of another version than the ones before.

        Hosts are compared with themselves alone: each content server has tags of its own.
        """
        if answer.encoded:
            raise SourceError(
                f"the server of {self.label} sends it compressed though it was asked not to",
                hint="a proxy may be in the way; download the file and give its path",
            )
        etag = answer.headers.get("etag")
        if etag and self._etags.setdefault(_host(answer.url), etag) != etag:
            raise SourceError(
                f"{self.label} changed while it was read: its ETag is another one now",
                hint="try again once nothing writes to it",
            )

    def _measure(self) -> int:
        with self._ask("bytes=0-0") as answer:
            if answer.status == 200:
                return len(self._keep(answer))
            told = answer.headers.get("content-range", "")
            match = _RANGE.fullmatch(told) or _NO_RANGE.fullmatch(told)
            if match is None or match.groups()[-1] == "*":
                raise SourceError(
                    f"the server of {self.label} does not tell its size",
                    hint="download the file and give its path",
                )
            return int(match.groups()[-1])

    def _check_range(self, answer: Answer, start: int, length: int) -> None:
        match = _RANGE.fullmatch(answer.headers.get("content-range", ""))
        first, last, total = match.groups() if match else ("-1", "-1", "*")
        if total != "*" and self._size is not None and int(total) != self._size:
            raise SourceError(
                f"{self.label} has {int(total):,} bytes now, and had {self._size:,}",
                hint="it changed while it was read; try again",
            )
        if (int(first), int(last)) != (start, start + length - 1):
            raise self._other_bytes()

    def _exactly(self, body: Iterator[bytes], length: int) -> Iterator[bytes]:
        """Pass a body on; one that is too short is the caller's to notice."""
        left = length
        for chunk in body:
            left -= len(chunk)
            if left < 0:
                raise self._other_bytes()
            yield chunk

    def _other_bytes(self) -> SourceError:
        return SourceError(
            f"the server of {self.label} sends other bytes than it was asked for",
            hint="a proxy may be in the way; download the file and give its path",
        )

    def _without_ranges(self, answer: Answer, start: int, length: int) -> Iterator[bytes]:
        """Use an answer that holds the whole file though a part was asked for."""
        total = answer.number("content-length")
        if start == 0 and length == (self._size if total is None else total):
            yield from self._exactly(answer.body, length)
        else:
            yield self._keep(answer)[start : start + length]

    def _keep(self, answer: Answer) -> bytes:
        """Read a small file whole, saying so; refuse a large one."""
        with self._lock:
            if self._whole is None:
                self._expect(answer.number("content-length"))
                self._whole = self._read_whole(answer)
                self._expect(len(self._whole))
            return self._whole

    def _expect(self, size: int | None) -> None:
        if None not in (size, self._size) and size != self._size:
            raise SourceError(
                f"{self.label} has {size:,} bytes, not {self._size:,} as listed",
                hint="a proxy or a login page may be in the way",
            )

    def _read_whole(self, answer: Answer) -> bytes:
        total = answer.number("content-length")
        if (total or 0) > WHOLE_LIMIT:
            raise SourceError(
                f"the server of {self.label} cannot send parts of a file",
                hint="download the file and give its path",
            )
        many = "" if total is None else f", {total:,} bytes"
        note(f"the server cannot send parts of {self.label}; reading all of it{many}")
        return answer.whole(WHOLE_LIMIT if total is None else total, self.label)


def _host(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
