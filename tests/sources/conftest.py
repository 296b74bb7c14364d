"""A hub on loopback, and huggingface_hub pointed at it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embcalc.sources import retry
from embcalc.sources.traffic import TRAFFIC
from tests.conftest import Run
from tests.sources.hub_server import HubServer, running_hub

PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """An empty hub that huggingface_hub talks to in this process."""
    from huggingface_hub import constants, file_download

    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,127.0.0.2")
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    with running_hub() as server:
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        for module in (constants, file_download):  # older versions keep a copy of the name
            monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
        TRAFFIC.reset()
        forget_connections()
        yield server
        forget_connections()


def forget_connections() -> None:
    """Close what huggingface_hub keeps open, under the name that this version has for it."""
    from huggingface_hub.utils import _http

    for name in ("close_session", "reset_sessions"):
        getattr(_http, name, lambda: None)()


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Run]:
    """Run a command line in a process of its own: `command(hub_url, "inspect", "org/name")`."""

    def invoke(endpoint: str, *arguments: object, **variables: str) -> Run:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("HF_") and key.lower() not in PROXIES
        }
        environment = {
            **kept,
            "HF_ENDPOINT": endpoint,
            "HF_HOME": str(tmp_path / "hf-home"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-m", "embcalc", *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=environment,
            timeout=120,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    return invoke
