"""A repository's own settings: embcalc.toml, or [tool.embcalc] in pyproject.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from embcalc.errors import UsageError
from embcalc.usecases.check_vocab import CheckOptions

OWN = "embcalc.toml"
SHARED = "pyproject.toml"
LISTS = ("select", "ignore", "allow-token")
SWITCHES = ("strict", "no-weights")
MODELS = "models"
"""Tables of settings for some models, by pattern."""
BASELINE = "baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """What a settings file says; empty where there is none."""

    file: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    allow_tokens: tuple[str, ...] = ()
    strict: bool | None = None
    no_weights: bool | None = None
    baseline: Path | None = None
    """A file of known findings, for `check`."""
    models: tuple[tuple[str, FileSettings], ...] = ()
    """Patterns with what differs for the models that they match, in the file's order."""

    def for_model(self, model: str) -> FileSettings:
        """The settings of one model: what is said for all, then what each matching pattern adds.

        A pattern is held against the address as typed and against the path relative to the
        settings file. Lists of `ignore` and `allow-token` grow; the other keys are replaced.
        """
        names = {model, os.path.normpath(model), self._relative(model)}
        merged = self
        for pattern, own in self.models:
            if any(fnmatchcase(name, pattern) for name in names):
                merged = merged.with_changes(own)
        return merged

    def _relative(self, model: str) -> str:
        if self.file is None or not Path(model).exists():
            return model
        return Path(os.path.relpath(model, Path(self.file).parent)).as_posix()

    def with_changes(self, own: FileSettings) -> FileSettings:
        """These settings with those of a more particular table laid over them."""
        return replace(
            self,
            select=own.select or self.select,
            ignore=(*self.ignore, *own.ignore),
            allow_tokens=(*self.allow_tokens, *own.allow_tokens),
            strict=self.strict if own.strict is None else own.strict,
            no_weights=self.no_weights if own.no_weights is None else own.no_weights,
        )


def merged(file: FileSettings, typed: CheckOptions, model: str) -> CheckOptions:
    """What the command line says, over what a settings file says of one model.

    Typed codes to select replace the file's; everything else adds to it.
    """
    own = file.for_model(model)
    return replace(
        typed,
        select=typed.select or own.select,
        ignore=(*own.ignore, *typed.ignore),
        allow_tokens=(*own.allow_tokens, *typed.allow_tokens),
        strict=typed.strict or bool(own.strict),
        weights=typed.weights and not own.no_weights,
    )


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
    _refuse_unknown(table, (*LISTS, *SWITCHES, BASELINE, MODELS), path)
    return replace(
        _of_models(table, path),
        file=str(path),
        baseline=_baseline(table, path),
        models=tuple(_patterns(table, path)),
    )


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], path: Path) -> None:
    for key in table:
        if key not in known:
            raise UsageError(
                f"{path} has the unknown key {key!r}", hint=f"known are: {', '.join(known)}"
            )


def _baseline(table: Mapping[str, Any], path: Path) -> Path | None:
    value = table.get(BASELINE)
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f"{BASELINE} in {path} is no path", hint=f'write {BASELINE} = "FILE"')
    return path.parent / value


def _patterns(table: Mapping[str, Any], path: Path) -> Iterator[tuple[str, FileSettings]]:
    patterns = table.get(MODELS, {})
    if not isinstance(patterns, Mapping):
        raise UsageError(f"{MODELS} in {path} is no table", hint='write [models."PATTERN"]')
    for pattern, own in patterns.items():
        if not isinstance(own, Mapping):
            raise UsageError(
                f"{MODELS}.{pattern} in {path} is no table", hint=f'write [models."{pattern}"]'
            )
        _refuse_unknown(own, (*LISTS, *SWITCHES), path)
        yield pattern, _of_models(own, path)


def _of_models(table: Mapping[str, Any], path: Path) -> FileSettings:
    select, ignore, allowed = (_texts(table, key, path) for key in LISTS)
    strict, no_weights = (_switch(table, key, path) for key in SWITCHES)
    return FileSettings(
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


def _switch(table: Mapping[str, Any], key: str, path: Path) -> bool | None:
    value = table.get(key)
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{key} in {path} is not true or false", hint=f"write {key} = true")
    return value
