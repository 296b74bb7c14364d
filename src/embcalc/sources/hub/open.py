"""From the address of a repository to its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import quote

import msgspec
from huggingface_hub import constants

from embcalc.core.files import Folder
from embcalc.errors import SourceError
from embcalc.sources.http import open_url, understood
from embcalc.sources.hub.address import HubAddress
from embcalc.sources.hub.cache import COMMIT, cached_snapshot
from embcalc.sources.hub.errors import HubRefusal
from embcalc.sources.hub.folder import HubFolder
from embcalc.sources.hub.repository import Repository
from embcalc.sources.local import MAX_DEPTH, LocalFolder
from embcalc.sources.names import bounded, is_hidden, is_safe
from embcalc.sources.notes import note
from embcalc.sources.retry import Patience, TransientError, persistently
from embcalc.sources.traffic import TRAFFIC

MAX_LISTING = 64_000_000
"""Bytes of a listing: far above any model's."""


_NO_REVISION = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^[/.@]$|^[/.]|[/.]$|//|/\.")

Size = Annotated[int, msgspec.Meta(ge=0)]


class _Lfs(msgspec.Struct):
    size: Size | None = None


class _Sibling(msgspec.Struct):
    rfilename: str
    size: Size | None = None
    lfs: _Lfs | None = None

    @property
    def nbytes(self) -> int | None:
        """Bytes of the file itself: of one in large file storage, not of its pointer."""
        return self.size if self.lfs is None or self.lfs.size is None else self.lfs.size


class _Info(msgspec.Struct):
    sha: str
    id: str | None = None
    siblings: list[_Sibling] = []


def open_hub(address: HubAddress, label: str) -> tuple[Folder, str | None]:
    """Open a repository: its folder, and the one file that the address names, if it does.

    Args:
        address: what to open.
        label: the address as the user gave it.

    Raises:
        SourceError: it cannot be listed, and nothing of it is cached.
    """
    _check_revision(address)
    if constants.HF_HUB_OFFLINE:
        opened = _open_cached(address, label)
        note(f"offline mode is on; reading what the cache holds of {address.repo}")
        return opened
    try:
        repository = persistently(lambda: list_repository(address), Patience(tries=3))
    except TransientError as error:
        if cached_snapshot(address.repo, address.revision) is None:
            raise
        note(f"{error}; reading what the cache holds of {address.repo}")
        return _open_cached(address, label)
    if repository.name != address.repo:
        note(f"{address.repo} is now {repository.name}")
    return _place(repository, address.path, label)


def _check_revision(address: HubAddress) -> None:
    """Refuse what Git allows no revision to be named, and what would lead out of the address."""
    revision = address.revision
    if revision is not None and (len(revision) > 250 or _NO_REVISION.search(revision)):
        shown = revision if len(revision) <= 60 else f"{revision[:59]}…"
        raise SourceError(
            f"{address.repo} can have no revision {shown}",
            hint="write a branch, a tag, a commit or refs/pr/N",
        )


def list_repository(address: HubAddress) -> Repository:
    """Ask the hub for the commit and the files of a revision, in one request.

    `HfApi.model_info` does the same, but takes more than a second to import and reads whatever
    length it is sent; the session and the headers are the ones that it uses.

    Raises:
        TransientError: the hub does not answer, or asks to wait.
        SourceError: there is no such repository or revision, or no access to it.
    """
    headers = _authorization()
    url = f"{constants.ENDPOINT}/api/models/{address.repo}"
    if address.revision is not None:
        url += f"/revision/{quote(address.revision, safe='')}"
    refuse = HubRefusal(address)
    hub = f"the hub ({constants.ENDPOINT})"
    with open_url(f"{url}?blobs=true", headers, hub, constants.HF_HUB_ETAG_TIMEOUT) as answer:
        if answer.status != 200:
            raise refuse(answer, address.repo)
        info = _parse(answer.whole(MAX_LISTING, hub))
    return Repository(
        asked=address,
        name=info.id or address.repo,
        commit=info.sha,
        sizes=_sizes(info.siblings, address.repo),
        large=frozenset(each.rfilename for each in info.siblings if each.lfs is not None),
        headers=headers,
        refuse=refuse,
    )


def _authorization() -> dict[str, str]:
    """The token of huggingface_hub, where there is one.

    `build_hf_headers` would add it too, but asks the hub for a list of agents first, in a request
    that nothing here bounds.
    """
    with understood():
        from huggingface_hub import get_token

        token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _parse(document: bytes) -> _Info:
    try:
        info = msgspec.json.decode(document, type=_Info)
    except msgspec.MsgspecError as error:
        raise _no_hub() from error
    named = info.id is None or HubAddress(info.id).valid
    if not named or not COMMIT.fullmatch(info.sha):
        raise _no_hub()
    return info


def _no_hub() -> SourceError:
    return SourceError(
        f"{constants.ENDPOINT} does not answer like a hub",
        hint="check HF_ENDPOINT; a proxy or a login page may be in the way",
    )


def _sizes(siblings: Iterable[_Sibling], repo: str) -> dict[str, int | None]:
    """Sizes by path; names that lead out of the repository are left out."""
    sizes = {
        sibling.rfilename: sibling.nbytes
        for sibling in bounded(siblings, repo)
        if is_safe(sibling.rfilename)
        and not is_hidden(sibling.rfilename)
        and sibling.rfilename.count("/") <= MAX_DEPTH
    }
    TRAFFIC.offer(sum(size or 0 for size in sizes.values()))
    return sizes


def _place(repository: Repository, path: str, label: str) -> tuple[Folder, str | None]:
    """The folder that a path of the repository leads to, and the file when it is one."""
    if path in repository.sizes:
        parent, slash, name = path.rpartition("/")
        return HubFolder(repository, label, prefix=parent + slash), name
    prefix = f"{path}/" if path else ""
    folder = HubFolder(repository, label, prefix=prefix)
    if path and not folder.names():
        known = ", ".join(list(repository.sizes)[:6])
        raise SourceError(
            f"{repository.name} has no file or folder {path}", hint=f"it holds: {known}"
        )
    return folder, None


def _open_cached(address: HubAddress, label: str) -> tuple[Folder, str | None]:
    snapshot = cached_snapshot(address.repo, address.revision)
    if snapshot is None:
        at = f" at {address.revision}" if address.revision else ""
        raise SourceError(
            f"{address.repo}{at} is no local path and not in the hub's cache; offline mode is on",
            hint=f"unset HF_HUB_OFFLINE, or run 'hf download {address.repo}' while online",
        )
    target = snapshot / address.path if is_safe(address.path) else snapshot
    if target.is_dir():
        return LocalFolder(target, label), None
    if not target.exists():
        raise SourceError(f"the cache holds no {address.path} of {address.repo}")
    return LocalFolder(target.parent, label), target.name
