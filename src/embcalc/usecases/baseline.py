"""Known findings, kept in a file beside the models, so that only new ones fail."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embcalc.core.findings import Finding
from embcalc.core.reports.check_run import CheckedModel, CheckRun, fingerprint
from embcalc.core.wording import count
from embcalc.errors import UsageError

SCHEMA = "embcalc/baseline/v1"


@dataclass(frozen=True, slots=True)
class Compared:
    """A run without what is known."""

    run: CheckRun
    note: str | None = None
    """What should be said about the file; one line."""
    content: str | None = None
    """What the file should hold from now on; None to leave it alone."""


def with_baseline(run: CheckRun, path: Path | None, *, update: bool = False) -> Compared:
    """Take known findings out of a run, and on request write the file anew.

    Args:
        run: what was found.
        path: the file; None for no baseline.
        update: whether everything found becomes known.

    Raises:
        UsageError: the file cannot be read, or an update names no file.
    """
    if path is None:
        if update:
            raise UsageError("--update-baseline names no file", hint="add --baseline FILE")
        return Compared(run)
    baseline = read_baseline(path, may_lack=update)
    if update:
        baseline = baseline.updated(run)
        known = baseline.apply(run)
        note = f"note: {count(known.known, 'known finding')} written to {path}"
        return Compared(known, note, baseline.text())
    known = baseline.apply(run)
    if not known.stale:
        return Compared(known)
    gone = f"{count(known.stale, 'finding')} of {path} no longer there"
    return Compared(known, f"note: {gone}; --update-baseline removes them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One finding that is known."""

    model: str
    """Folder relative to the baseline file, or the address of a model elsewhere."""
    rule: str
    message: str
    fingerprint: str

    @property
    def key(self) -> tuple[str, str]:
        """Model and rule."""
        return self.model, self.rule


@dataclass(frozen=True, slots=True)
class Baseline:
    """All known findings."""

    path: Path
    entries: tuple[Entry, ...] = ()

    def apply(self, run: CheckRun) -> CheckRun:
        """Take the known findings out of the reports; count the entries that no longer occur."""
        known = {entry.fingerprint for entry in self.entries}
        models = tuple(self._without(model, known) for model in run.models)
        seen = {self._entry(m, f).fingerprint for m in models for f in m.known}
        judged = self._judged(models)
        stale = [e for e in self.entries if e.key in judged and e.fingerprint not in seen]
        return replace(run, models=models, stale=len(stale))

    def _without(self, model: CheckedModel, known: set[str]) -> CheckedModel:
        findings = model.report.findings
        old = tuple(f for f in findings if self._entry(model, f).fingerprint in known)
        new = tuple(f for f in findings if f not in old)
        return replace(model, report=replace(model.report, findings=new), known=old)

    def updated(self, run: CheckRun) -> Baseline:
        """The findings of a run in place of what was known of its models.

        Models that were not part of the run, or could not be read, keep their entries, and so do
        rules that were not run. Notes are left out: they never fail.
        """
        judged = self._judged(run.models)
        kept = [entry for entry in self.entries if entry.key not in judged]
        found = [
            self._entry(model, finding)
            for model in run.models
            for finding in (*model.report.findings, *model.known)
            if finding.severity.value != "note"
        ]
        entries = {(e.model, e.rule, e.fingerprint): e for e in (*kept, *found)}
        return Baseline(self.path, tuple(entries[key] for key in sorted(entries)))

    def _judged(self, models: Iterable[CheckedModel]) -> set[tuple[str, str]]:
        """Every model with every rule that was run on it."""
        return {(self.place(model), code) for model in models for code in model.report.ran}

    def place(self, model: CheckedModel) -> str:
        """How the file names a model: the same from wherever the check is run."""
        if model.folder is None:
            return model.report.model
        whole = os.path.abspath(model.folder)  # noqa: PTH100 - resolving would follow links
        base = os.path.abspath(self.path.parent)  # noqa: PTH100
        folder = Path(os.path.relpath(whole, base)).as_posix()
        name = Path(model.report.model)
        return f"{folder}/{name.name}" if name.is_file() else folder

    def _entry(self, model: CheckedModel, finding: Finding) -> Entry:
        place = self.place(model)
        return Entry(
            model=place,
            rule=finding.rule,
            message=finding.message,
            fingerprint=fingerprint(place, finding),
        )

    def text(self) -> str:
        """The file's content."""
        findings = [
            {
                "model": entry.model,
                "rule": entry.rule,
                "message": entry.message,
                "fingerprint": entry.fingerprint,
            }
            for entry in self.entries
        ]
        document = {"schema": SCHEMA, "findings": findings}
        return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def read_baseline(path: Path, *, may_lack: bool = False) -> Baseline:
    """Read a baseline file.

    Args:
        path: the file.
        may_lack: whether an absent file is an empty baseline.

    Raises:
        UsageError: the file is absent, or is no baseline.
    """
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        if may_lack:
            return Baseline(path)
        raise UsageError(
            f"there is no baseline {path}", hint="write one with --update-baseline"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read the baseline {path}: {error}", hint=_ANEW) from error
    return Baseline(path, tuple(_entries(document, path)))


_ANEW = "remove it, and write it anew with --update-baseline"


def _entries(document: object, path: Path) -> Iterable[Entry]:
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no baseline of embcalc ({SCHEMA})", hint=_ANEW)
    findings = document.get("findings")
    if not isinstance(findings, list):
        raise UsageError(f"{path} lists no findings", hint=_ANEW)
    for number, finding in enumerate(findings, start=1):
        yield _entry_of(finding, number, path)


def _entry_of(finding: Any, number: int, path: Path) -> Entry:  # noqa: ANN401 - any JSON value
    keys = ("model", "rule", "message", "fingerprint")
    if not isinstance(finding, Mapping) or not all(isinstance(finding.get(k), str) for k in keys):
        raise UsageError(f"finding {number} of {path} lacks one of {', '.join(keys)}", hint=_ANEW)
    return Entry(**{key: finding[key] for key in keys})
