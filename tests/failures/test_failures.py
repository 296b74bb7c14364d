"""What users see of every failure that was reported of real checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embcalc.render.layout import cell_width
from tests.conftest import Run
from tests.failures.cases import FAILURES, Failure
from tests.golden.compare import HERE, check

EVERY = [(failure, command) for failure in FAILURES for command in failure.commands]
NAMES = [f"{failure.name}-{command.partition(' ')[0]}" for failure, command in EVERY]


@pytest.mark.parametrize(("failure", "command"), EVERY, ids=NAMES)
def test_golden(
    failure: Failure,
    command: str,
    run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if failure.extra:
        pytest.importorskip(failure.extra)
    monkeypatch.chdir(tmp_path)
    failure.build(Path(failure.name))
    line = command.format(failure.name)
    result = run(*line.split())
    kind = command.partition(" ")[0]
    check(f"failures/{failure.name}.{kind}", f"embcalc {line}", result)
    text = " ".join((result.out + result.err).split())
    for words in failure.says[command]:
        assert words in text
    if kind == "check":
        assert result.code == failure.code
    assert all(cell_width(row) <= 80 for row in result.out.splitlines())
    assert "Traceback" not in result.err
    if result.code == 2:
        error, *hint = result.err.splitlines()
        assert error.startswith("error: ")
        assert [row.partition(": ")[0] for row in hint] == ["hint"]


def test_every_golden_file_has_its_case() -> None:
    assert len(NAMES) == len(set(NAMES))
    files = {path.stem for path in (HERE / "failures").glob("*.txt")}
    assert {name.replace(".", "-") for name in files} == set(NAMES)
