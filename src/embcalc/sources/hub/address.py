"""The spellings of a model repository on the hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from embcalc.errors import SourceError

HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
PAGES = frozenset({"tree", "blob", "resolve", "raw", "commit"})
"""What stands before the revision in the hub's web addresses."""
OTHER_KINDS = frozenset({"datasets", "spaces", "buckets", "kernels"})

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
_PLAIN = re.compile(rf"({_PART}/{_PART})(?:@(.+))?")
_REPO = re.compile(rf"(?:{_PART}/)?{_PART}")
_REVISION = re.compile(r"refs/(?:pr|convert)/[^/]+|[^/]+")


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A model repository, or a file or folder in it."""

    repo: str
    revision: str | None = None
    path: str = ""
    """Inside the repository; empty for its root."""

    @property
    def valid(self) -> bool:
        """Whether the hub allows such a name (the rules of `validate_repo_id`)."""
        return (
            _REPO.fullmatch(self.repo) is not None
            and len(self.repo) <= 96
            and "--" not in self.repo
            and ".." not in self.repo
            and not self.repo.endswith(".git")
        )


def plain(address: str) -> HubAddress | None:
    """Read `org/name` or `org/name@revision`; None for anything else."""
    match = _PLAIN.fullmatch(address)
    if match is None:
        return None
    read = HubAddress(match[1], match[2])
    return read if read.valid else None


def from_uri(address: str) -> HubAddress:
    """Read `hf://[models/]org/name[@revision][/path]`.

    A revision that holds a slash is written with `%2F`, except `refs/pr/N` and `refs/convert/X`.

    Raises:
        SourceError: it names no model.
    """
    rest = address.split("://", 1)[1].removeprefix("models/").strip("/")
    repo, at, tail = rest.partition("@")
    if at and repo.count("/") <= 1:
        match = _REVISION.match(tail)
        revision, path = (match[0], tail[match.end() :]) if match else ("", tail)
        return _checked(address, repo, unquote(revision) or None, path)
    parts = rest.split("/")
    return _checked(address, "/".join(parts[:2]), None, "/".join(parts[2:]))


def from_web(address: str) -> HubAddress | None:
    """Read an address copied from the hub's web pages; None for another host."""
    url = urlsplit(address)
    if (url.hostname or "") not in HOSTS:
        return None
    parts = unquote(url.path).strip("/").split("/")
    revision, path = None, parts[2:]
    if len(parts) > 3 and parts[2] in PAGES:
        match = _REVISION.match("/".join(parts[3:]))
        revision = match[0] if match else None
        path = "/".join(parts[3:])[len(revision or "") :].strip("/").split("/")
    return _checked(address, "/".join(parts[:2]), revision, "/".join(path))


def _checked(address: str, repo: str, revision: str | None, path: str) -> HubAddress:
    if repo.split("/", maxsplit=1)[0] in OTHER_KINDS:
        raise SourceError(
            f"{address} is no model repository", hint="write hf://org/name of a model"
        )
    read = HubAddress(repo, revision, path.strip("/"))
    if not read.valid:
        raise SourceError(
            f"{address} names no repository of the hub", hint="write hf://org/name[@revision]"
        )
    return read
