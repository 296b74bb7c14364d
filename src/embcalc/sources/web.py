"""Plain web addresses: a file and what lies beside it, or a folder.

A web server has no listing that one can rely on. A page of links is used where there is one;
otherwise the usual names of a model's files are tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from embcalc.core.files import File
from embcalc.errors import SourceError
from embcalc.sources.http import Answer, open_url, shown
from embcalc.sources.http_file import HttpOrigin, Target, refusal
from embcalc.sources.names import bounded, is_hidden, is_safe, names_a_file
from embcalc.sources.ranged import RangedFile, warm
from embcalc.sources.retry import Patience, persistently

MAX_PAGE = 4_000_000
"""Bytes of a page of links."""
USUAL_NAMES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "model.safetensors",
    "model.safetensors.index.json",
    "adapter_config.json",
    "adapter_model.safetensors",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def _timeout() -> float:
    from huggingface_hub import constants

    return float(constants.HF_HUB_DOWNLOAD_TIMEOUT)


def open_web(address: str) -> tuple[WebFolder, str | None]:
    """Open an address: its folder, and the file when it names one.

    Raises:
        SourceError: it is no address.
    """
    parts = urlsplit(address)
    if not parts.hostname:
        raise SourceError(f"{address} names no host", hint="write https://host/path/file")
    parent, _, name = parts.path.rpartition("/")
    name = unquote(name)
    if names_a_file(name) and is_safe(name):
        base = urlunsplit((parts.scheme, parts.netloc, parent + "/", "", ""))
        return WebFolder(base, address, only=name, query=parts.query), name
    base = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + "/", "", ""))
    return WebFolder(base, address), None


class WebFolder:
    """What lies under one web address."""

    def __init__(self, base: str, label: str, *, only: str | None = None, query: str = "") -> None:
        self.label = label
        self._opened: dict[str, File] = {}
        self._base = base
        self._only = only
        self._query = query
        self._names: tuple[str, ...] | None = None

    def names(self) -> tuple[str, ...]:
        """Names of the files that were found; of a signed address, its file alone."""
        if self._names is None:
            found = set() if self._query else self._find()
            if self._only is not None:
                found.add(self._only)
            self._names = tuple(sorted(found))
        return self._names

    def expect(self, names: Iterable[str]) -> None:
        """Begin to fetch the heads of these files."""
        warm(self.open(name) for name in names)

    def open(self, name: str) -> File:
        """Open one file; opened twice it is the same."""
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    def _open(self, name: str) -> File:
        url = urljoin(self._base, quote(name))
        if self._query and name == self._only:
            url += f"?{self._query}"
        target = Target(url=url, label=shown(url), timeout=_timeout())
        return RangedFile(HttpOrigin(target), name)

    def _find(self) -> set[str]:
        try:
            page = persistently(self._page, Patience(tries=3))
        except SourceError:
            if self._only is None:
                raise
            page = None
        return _linked(page, self._base) if page is not None else self._try_usual()

    def _page(self) -> str | None:
        """The page of links, or None where the server has none."""
        label = shown(self._base)
        with open_url(self._base, {"Accept": "text/html"}, label, _timeout()) as answer:
            if answer.status in (403, 404, 405):
                return None
            if answer.status != 200:
                raise refusal(answer, label)
            if not answer.headers.get("content-type", "").startswith("text/html"):
                return None
            return answer.whole(MAX_PAGE, label).decode("utf-8", "replace")

    def _try_usual(self) -> set[str]:
        with ThreadPoolExecutor(4) as pool:
            exists = pool.map(self._exists, USUAL_NAMES)
            return {name for name, there in zip(USUAL_NAMES, exists, strict=True) if there}

    def _exists(self, name: str) -> bool:
        url = urljoin(self._base, name)

        def ask() -> bool:
            with open_url(url, {}, shown(url), _timeout(), method="HEAD") as answer:
                return _is_file(answer)

        return persistently(ask, Patience(tries=3))


def _is_file(answer: Answer) -> bool:
    """Whether a HEAD request found a file: some servers answer any name with a page."""
    html = answer.headers.get("content-type", "").startswith("text/html")
    return answer.status == 200 and not html


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.targets += [value for key, value in attrs if key == "href" and value]


def _linked(page: str, base: str) -> set[str]:
    """Names of the files of this very folder that a page links to."""
    parser = _Links()
    parser.feed(page)
    names = set()
    for target in bounded(parser.targets, shown(base)):
        url = urlsplit(urljoin(base, target))
        path = urlunsplit((url.scheme, url.netloc, url.path, "", ""))
        name = unquote(path.removeprefix(base))
        if path.startswith(base) and is_safe(name) and "/" not in name and not is_hidden(name):
            names.add(name)
    return names
