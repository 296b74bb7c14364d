"""What a refusal of the hub means, and what to do about it."""

from __future__ import annotations

from huggingface_hub import constants

from embcalc.errors import SourceError
from embcalc.sources.http import RETRIED, Answer
from embcalc.sources.http_file import busy
from embcalc.sources.hub.address import HubAddress

LOGIN = "run 'hf auth login' or set HF_TOKEN"


class HubRefusal:
    """Reads the error statuses of requests about one repository.

    The hub answers 401 for a repository that is missing or private alike, and tells more in the
    headers X-Error-Code and X-Error-Message.
    """

    def __init__(self, address: HubAddress) -> None:
        self._address = address

    def __call__(self, answer: Answer, label: str) -> SourceError:
        """The error of an answer about `label`, the repository or a file of it."""
        if answer.status in RETRIED:
            return busy(answer, f"the hub ({constants.ENDPOINT})")
        message = answer.headers.get("x-error-message", "")
        code = answer.headers.get("x-error-code", "")
        return (
            self._by_message(message)
            or self._by_code(code, label)
            or self._by_status(answer.status, label)
        )

    def _by_message(self, message: str) -> SourceError | None:
        if "Invalid credentials" in message:
            return SourceError(
                "the hub does not accept your token",
                hint="run 'hf auth login' again, or correct or unset HF_TOKEN",
            )
        if "resource is disabled" in message:
            return SourceError(f"{self._address.repo} was disabled on the hub")
        return None

    def _by_code(self, code: str, label: str) -> SourceError | None:
        if code == "GatedRepo":
            return self._gated()
        if code == "RevisionNotFound":
            return self._no_revision()
        if code == "EntryNotFound":
            return self._no_file(label)
        return None

    def _no_file(self, label: str) -> SourceError:
        return SourceError(f"{label} does not exist on the hub", hint="check its name")

    def _gated(self) -> SourceError:
        repo = self._address.repo
        return SourceError(
            f"{repo} is gated: its owners have to give you access",
            hint=f"ask for it at {constants.ENDPOINT}/{repo}, then {LOGIN}",
        )

    def _no_revision(self) -> SourceError:
        repo, revision = self._address.repo, self._address.revision
        return SourceError(
            f"{repo} has no revision {revision or constants.DEFAULT_REVISION}",
            hint=f"its branches and tags are listed at {constants.ENDPOINT}/{repo}/tree/main",
        )

    def _by_status(self, status: int, label: str) -> SourceError:
        if status in (404, 410) and label != self._address.repo:
            return self._no_file(label)
        if status in (401, 404, 410):
            return SourceError(
                f"no local path and no model on the hub that you may read: {self._address.repo}",
                hint=f"check the name; for a private or gated model {LOGIN}",
            )
        if status == 403:
            return SourceError(
                f"{label}: the hub refuses access (HTTP 403)",
                hint="your token may lack the right to read this repository; check its permissions",
            )
        return SourceError(
            f"{label}: the hub answers HTTP {status}",
            hint=f"is {constants.ENDPOINT} a hub? HF_ENDPOINT sets it",
        )
