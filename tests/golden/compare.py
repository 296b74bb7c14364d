"""Golden outputs: stdout, stderr and exit code of one command line in one readable file.

`UPDATE_GOLDEN=1 pytest …` writes them anew; the difference is then read by a person.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import Run

HERE = Path(__file__).resolve().parent


def check(name: str, command: str, result: Run, hidden: Mapping[str, str] | None = None) -> None:
    """Compare a run with `tests/golden/NAME.txt`.

    Args:
        name: topic and case, `inspect/nan-rows`.
        command: how the file says what was run.
        result: what it did.
        hidden: texts that differ from run to run (a temporary folder), and what stands for them.
    """
    text = f"$ {command}\nexit code {result.code}\n--- stdout\n{result.out}--- stderr\n{result.err}"
    for changing, fixed in (hidden or {}).items():
        text = text.replace(changing, fixed)
    path = HERE / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")
