"""A repository's own settings: embcalc.toml, or [tool.embcalc] in pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embcalc.errors import UsageError

OWN = "embcalc.toml"
SHARED = "pyproject.toml"
LISTS = ("select", "ignore", "allow-token")
SWITCHES = ("strict", "no-weights")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """What a settings file says; empty where there is none."""

    file: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    allow_tokens: tuple[str, ...] = ()
    strict: bool = False
    no_weights: bool = False


def read_file_settings(start: Path) -> FileSettings:
    """Find and read the settings that hold for a folder: its own, or the nearest above it.

    embcalc.toml comes before pyproject.toml, and a pyproject.toml without the table is passed
    over. Nothing is read from the model's folder.

    Raises:
        UsageError: a file is no TOML, or holds a key or value that is not known.
    """
    folder = start.absolute()
    for place in (folder, *folder.parents):
        for name in (OWN, SHARED):
            path = place / name
            table = _table(path, name) if path.is_file() else None
            if table is not None:
                return _settings(table, path)
    return FileSettings()


def _table(path: Path, name: str) -> Mapping[str, Any] | None:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        if name == SHARED:
            # Somebody else's file: a mistake in it is not ours to report.
            return None
        raise UsageError(f"cannot read {path}: {error}", hint="correct it, or remove it") from error
    if name == OWN:
        return document
    tool = document.get("tool")
    table = tool.get("embcalc") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _settings(table: Mapping[str, Any], path: Path) -> FileSettings:
    for key in table:
        if key not in (*LISTS, *SWITCHES):
            raise UsageError(
                f"{path} has the unknown key {key!r}",
                hint=f"known are: {', '.join((*LISTS, *SWITCHES))}",
            )
    select, ignore, allowed = (_texts(table, key, path) for key in LISTS)
    strict, no_weights = (_switch(table, key, path) for key in SWITCHES)
    return FileSettings(
        file=str(path),
        select=select,
        ignore=ignore,
        allow_tokens=allowed,
        strict=strict,
        no_weights=no_weights,
    )


def _texts(table: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{key} in {path} is no list of texts", hint=f'write {key} = ["…"]')
    return tuple(value)


def _switch(table: Mapping[str, Any], key: str, path: Path) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{key} in {path} is not true or false", hint=f"write {key} = true")
    return value
