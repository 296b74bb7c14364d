"""What the hub's listing says about a repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from huggingface_hub import constants

from embcalc.sources.hub.address import HubAddress
from embcalc.sources.hub.errors import HubRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The files of a repository at one commit."""

    asked: HubAddress
    """As the user named it; the cache knows it by this name."""
    name: str
    """Its present name: it may have been renamed."""
    commit: str
    sizes: Mapping[str, int | None]
    """Bytes by path; None where the hub does not say."""
    large: frozenset[str]
    """Paths in large file storage, whose contents the hub names by another hash."""
    headers: Mapping[str, str]
    """Sent with each request to the hub: the token."""
    refuse: HubRefusal

    def label(self, path: str) -> str:
        """What messages call a file."""
        return f"{self.name}/{path}"

    def url(self, path: str) -> str:
        """Where the bytes of a file are asked for."""
        return constants.HUGGINGFACE_CO_URL_TEMPLATE.format(
            repo_id=self.name, revision=quote(self.commit, safe=""), filename=quote(path)
        )
