"""One request at a time over the session of huggingface_hub.

That session is documented (`huggingface_hub.utils.get_session`) and brings proxies, certificates
and the offline switch. It belongs to httpx in newer versions and to requests before 1.0; the two
differ in how an answer is streamed, and only `open_url` knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from embcalc import __version__
from embcalc.errors import SourceError
from embcalc.sources.pace import PATIENT, StalledError, entered_within, paced
from embcalc.sources.retry import TransientError
from embcalc.sources.traffic import TRAFFIC

CHUNK = 1 << 16
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be different on another try."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an HTTP answer, and its body as it comes."""

    status: int
    headers: Mapping[str, str]
    url: str
    """Where it came from, after redirects."""
    body: Iterator[bytes]

    def number(self, name: str) -> int | None:
        """A header that is a whole number, or None."""
        value = self.headers.get(name, "").strip()
        return int(value) if value.isascii() and value.isdigit() else None

    @property
    def encoded(self) -> bool:
        """Whether the body is compressed, so that its bytes are not the file's."""
        return self.headers.get("content-encoding", "identity").lower() != "identity"

    def whole(self, limit: int, label: str) -> bytes:
        """The body, when it has at most `limit` bytes.

        Raises:
            TransientError: it ended early.
            SourceError: it is longer.
        """
        got = bytearray()
        for chunk in self.body:
            got += chunk
            if len(got) > limit:
                raise SourceError(
                    f"{label} is longer than {limit:,} bytes", hint="is the address right?"
                )
        if len(got) < (self.number("content-length") or 0):
            raise TransientError(f"the connection broke while reading {label}")
        return bytes(got)


@contextmanager
def open_url(
    url: str, headers: Mapping[str, str], label: str, timeout: float, method: str = "GET"
) -> Iterator[Answer]:
    """Ask for a URL, following redirects; the body is read only as far as it is iterated.

    A token in `headers` is not sent along to another host. `timeout` is for silence; an answer
    that comes in drops has three times as long to begin, redirects included, and a least speed.

    Raises:
        TransientError: no answer in time, one that stalls, or the connection broke.
        SourceError: offline mode, endless redirects, an address that is none.
    """
    sent = {"Accept-Encoding": "identity", "User-Agent": f"embcalc/{__version__}", **headers}
    with translated(label), _answer(method, url, sent, timeout) as answer:
        yield answer


@contextmanager
def _answer(method: str, url: str, headers: Mapping[str, str], timeout: float) -> Iterator[Answer]:
    # Taken here and not in the thread that asks: some versions keep one session a thread.
    asked = _request(_session(), method, url, headers, timeout)
    with entered_within(PATIENT * timeout, asked) as response:
        body = paced(_pieces(response), PATIENT * timeout)
        yield Answer(response.status_code, response.headers, str(response.url), _counted(body))


def _session() -> Any:  # noqa: ANN401 - of httpx or of requests
    with understood():
        from huggingface_hub.utils import get_session

        return get_session()


@contextmanager
def understood() -> Iterator[None]:
    """Turn what the libraries say about environment variables into an error of embcalc.

    They raise whatever they like for a proxy that is no URL, a port past 65535, a missing package
    for SOCKS: ValueError, ImportError, errors of their own.
    """
    try:
        yield
    except Exception as error:
        raise SourceError(
            f"the network cannot be set up: {one_line(error)}",
            hint="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY and HF_ENDPOINT",
        ) from error


@contextmanager
def _request(
    session: Any,  # noqa: ANN401 - of httpx or of requests
    method: str,
    url: str,
    headers: Mapping[str, str],
    timeout: float,
) -> Iterator[Any]:
    # In requests, `stream` is a flag of the session and no method.
    if callable(getattr(session, "stream", None)):
        opened: AbstractContextManager[Any] = session.stream(
            method, url, headers=headers, timeout=timeout, follow_redirects=True
        )
    else:
        try:
            opened = session.request(
                method, url, headers=headers, timeout=timeout, allow_redirects=True, stream=True
            )
        except UnicodeError:
            raise
        except ValueError as error:  # requests raises it bare for a redirect to no address
            raise SourceError(
                f"{shown(url)} leads to no address that can be read: {one_line(error)}",
                hint="check the address; HF_ENDPOINT sets that of the hub",
            ) from error
    with opened as response:
        yield response


def _pieces(response: Any) -> Iterator[bytes]:  # noqa: ANN401 - of httpx or of requests
    """The body as it comes: waiting until a piece is full would hide how slow it is."""
    if hasattr(response, "iter_raw"):
        yield from response.iter_raw()
    elif hasattr(response.raw, "read1"):
        from urllib3.exceptions import HTTPError

        try:
            while piece := response.raw.read1(CHUNK):
                yield piece
        except HTTPError as error:
            raise ConnectionError(str(error)) from error
    else:
        yield from response.iter_content(CHUNK)


def _counted(body: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in body:
        TRAFFIC.count(len(chunk))
        yield chunk


@contextmanager
def translated(label: str) -> Iterator[None]:
    """Turn what the HTTP library raises into errors of embcalc."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    # The parent of the hub's own error is the HTTPError of whichever library it uses: for httpx
    # the root of all that a request can raise, for requests an OSError like all others there.
    root: type[Exception] = HfHubHTTPError.__bases__[0]
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise SourceError(
            f"{label} cannot be read: offline mode is on",
            hint="unset HF_HUB_OFFLINE, or give a local path",
        ) from error
    except UnicodeError as error:
        raise SourceError(
            f"{label} cannot be asked: a header would hold letters that HTTP has not",
            hint="check HF_TOKEN: a token has ASCII letters and digits only",
        ) from error
    except (root, OSError) as error:
        raise _unreachable(label, error) from error


def _unreachable(label: str, error: Exception) -> SourceError:
    kind = type(error).__name__
    if "Redirects" in kind:
        return SourceError(f"{label} redirects in circles", hint="is the address right?")
    if isinstance(error, StalledError):
        return TransientError(f"{label} {error}", hint="try again, or over another network")
    if "Timeout" in kind:
        return TransientError(
            f"{label}: no answer in time",
            hint="try again; HF_HUB_DOWNLOAD_TIMEOUT sets the seconds to wait",
        )
    if kind in ("UnsupportedProtocol", "InvalidURL", "InvalidSchema", "MissingSchema"):
        return SourceError(
            f"{label} leads to no address that can be read: {one_line(error)}",
            hint="check the address; HF_ENDPOINT sets that of the hub",
        )
    return TransientError(
        f"{label} cannot be reached: {_innermost(error)}",
        hint="check the network, the address and any proxy",
    )


def _innermost(error: BaseException) -> str:
    """What the system said; the wrappers around it repeat URLs, with their secrets."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or one_line(error) or type(error).__name__


def one_line(error: BaseException) -> str:
    """What an error of another library says, cut to one short line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else f"{text[:159]}…"


def shown(url: str) -> str:
    """A URL without the secrets that its user part or query may hold."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, where it says so in seconds."""
    value = headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
