"""Tables shipped with the package, read when first asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load(name: str) -> Any:  # noqa: ANN401 - any JSON value
    """The content of one JSON file of this folder, by its name without `.json`."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text("utf-8"))
