"""From what was typed to the models that it names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path

from embcalc.usecases.gather import WEIGHTS

CONFIG = "config.json"


def expand(models: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Replace patterns (`models/*`) by the folders and weight files that they match.

    A path that exists is no pattern, whatever its name. A matched config.json stands for its
    folder; other files and hidden ones are passed over. Nothing is named twice.

    Returns:
        The models in the order named, matches sorted; and the patterns that match nothing.
    """
    found: list[str] = []
    empty = []
    for model in models:
        if not is_pattern(model):
            found.append(model)
            continue
        matches = list(_matches(model))
        found.extend(matches)
        if not matches:
            empty.append(model)
    return tuple(_distinct(found)), tuple(dict.fromkeys(empty))


def is_pattern(model: str) -> bool:
    """Whether a name stands for whatever it matches."""
    return has_magic(model) and "://" not in model and not Path(model).exists()


def _matches(pattern: str) -> Iterator[str]:
    for path in sorted(glob(pattern, recursive=True)):  # noqa: PTH207 - keeps what was typed
        if Path(path).is_dir():
            yield path.rstrip(os.sep) or path
        elif Path(path).name == CONFIG:
            yield str(Path(path).parent)
        elif path.endswith(WEIGHTS):
            yield path


def _distinct(models: Iterable[str]) -> Iterator[str]:
    """Each place once: `a`, `./a` and `a/` are one."""
    seen = set()
    for model in models:
        place = os.path.realpath(model) if Path(model).exists() else model
        if place not in seen:
            seen.add(place)
            yield model
