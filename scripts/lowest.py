"""Print the oldest versions that pyproject.toml allows, as pip requirements.

The tests run against them too, so a lower bound is a promise that was kept once.

Usage: python scripts/lowest.py [EXTRA…]
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(extras: list[str]) -> list[str]:
    """Requirements pinned to their lower bounds, those of the extras after the package's own."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return [line.replace(">=", "==") for line in wanted if ">=" in line]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
