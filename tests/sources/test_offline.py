"""HF_HUB_OFFLINE=1: no command so much as looks up a name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.test_commands import COMMANDS

PROGRAM = """
import json, sys

opened = []

# urllib3 binds a socket when it is imported, to see whether there is IPv6.
HARMLESS = ("socket.__new__", "socket.bind")

def watch(event, arguments):
    if event.startswith("socket.") and event not in HARMLESS:
        opened.append(event)

sys.addaudithook(watch)

from embcalc.cli.app import main

*several, last = json.loads(sys.argv[1])
codes = [int(main(arguments)) for arguments in several]
modules = sorted(sys.modules)
print(json.dumps([[*codes, int(main(last))], opened, modules]))
"""
HEAVY = {"httpx", "httpx2", "requests", "huggingface_hub.hf_api", "numkong", "fsspec"}
"""Their import takes longer than the answer may."""
NOT_ASKED = (
    "error: org/small is no local path and not in the hub's cache; offline mode is on",
    "hint: unset HF_HUB_OFFLINE, or run 'hf download org/small' while online",
)


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """Variables of a process without network and with an empty cache."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    return {**kept, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}


def test_no_command_asks_the_network(offline: dict[str, str], tmp_path: Path) -> None:
    lines = [[name, "org/small", *further] for name, further in COMMANDS.items()]
    lines += [
        ["lookup", address, "--ids", "1"]
        for address in (
            "hf://org/small",
            "org/small@v1",
            "https://huggingface.co/org/small",
            "https://example.org/model.safetensors",  # the last one needs the HTTP library
        )
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)],
        capture_output=True,
        text=True,
        check=True,
        env=offline,
        cwd=tmp_path,
        timeout=120,
    )
    codes, opened, modules = json.loads(done.stdout)
    assert (codes, opened) == ([2] * len(lines), [])
    assert HEAVY.isdisjoint(modules)
    told = done.stderr.splitlines()
    assert told[: 2 * len(COMMANDS)] == [*NOT_ASKED] * len(COMMANDS)
    assert all("offline mode is on" in line for line in told[::2])
    assert all(line.startswith("hint: unset HF_HUB_OFFLINE") for line in told[1::2])
