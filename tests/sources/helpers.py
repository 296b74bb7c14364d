"""What several tests of sources do in the same way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from embcalc.checkpoints import open_checkpoint
from embcalc.sources import locate
from tests.conftest import Run
from tests.sources.hub_server import HubServer

needs_signals = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def table_bytes(address: str) -> bytes:
    """All bytes of the first table, as the readers see them."""
    found = locate(address)
    checkpoint = open_checkpoint(found.folder, found.file)
    name = next(iter(checkpoint.tensors))
    return b"".join(block.values.tobytes() for block in checkpoint.blocks(name))


def interrupted(
    hub: HubServer, home: Path, *arguments: str, begun: Callable[[], bool] | None = None
) -> Run:
    """Send Ctrl-C to a command as soon as it has `begun`: to ask for weights, if not said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "embcalc", *arguments],
        env={**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begun = begun or (lambda: any("model.safetensors" in line for line in hub.requests))
    while not begun() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    return Run(process.returncode, out, err)
