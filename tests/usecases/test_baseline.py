from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from embcalc.core.reports.check_run import CheckRun
from embcalc.errors import UsageError
from embcalc.usecases.baseline import read_baseline, with_baseline
from tests.render.check_runs import ERROR, NOTE, WARNING, model

RUN = CheckRun(models=(model(ERROR, WARNING, NOTE),))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("baseline.json")
    compared = with_baseline(RUN, path, update=True)
    assert compared.content is not None
    path.write_text(compared.content)
    return path


def codes(run: CheckRun) -> list[str]:
    return [finding.rule for finding in run.findings]


def test_an_update_makes_everything_but_notes_known(written: Path) -> None:
    document = json.loads(written.read_text())
    assert document["schema"] == "embcalc/baseline/v1"
    assert [(f["model"], f["rule"]) for f in document["findings"]] == [
        ("models/a", "EMB101"),
        ("models/a", "EMB507"),
    ]
    compared = with_baseline(RUN, written)
    assert codes(compared.run) == ["EMB109"]
    assert (compared.run.ok, compared.run.known, compared.note) == (True, 2, None)


def test_a_new_finding_is_not_known(written: Path) -> None:
    new = replace(ERROR, ids=(32000, 32001))
    compared = with_baseline(CheckRun(models=(model(ERROR, new),)), written)
    assert compared.run.findings == (new,)
    assert not compared.run.ok


def test_the_same_finding_of_another_model_is_not_known(written: Path) -> None:
    run = CheckRun(models=(model(ERROR, model="models/b", folder="models/b"),))
    assert codes(with_baseline(run, written).run) == ["EMB101"]


def test_what_is_gone_is_said(written: Path) -> None:
    compared = with_baseline(CheckRun(models=(model(WARNING),)), written)
    assert compared.note == (
        "note: 1 finding of baseline.json no longer there; --update-baseline removes them"
    )


def test_models_that_were_not_checked_keep_their_entries(written: Path) -> None:
    other = CheckRun(models=(model(WARNING, model="models/b", folder="models/b"),))
    assert with_baseline(other, written).note is None
    compared = with_baseline(other, written, update=True)
    assert compared.content is not None
    entries = json.loads(compared.content)["findings"]
    assert [(e["model"], e["rule"]) for e in entries] == [
        ("models/a", "EMB101"),
        ("models/a", "EMB507"),
        ("models/b", "EMB507"),
    ]


def test_rules_that_were_not_run_keep_their_entries(written: Path) -> None:
    part = CheckRun(models=(model(ERROR, ran=("EMB101",)),))
    assert with_baseline(part, written).note is None
    compared = with_baseline(CheckRun(models=(model(ran=("EMB101",)),)), written, update=True)
    assert [e["rule"] for e in json.loads(compared.content or "")["findings"]] == ["EMB507"]


def test_an_update_removes_what_is_gone_and_keeps_what_is_known(written: Path) -> None:
    compared = with_baseline(CheckRun(models=(model(WARNING),)), written, update=True)
    assert compared.content is not None
    assert [e["rule"] for e in json.loads(compared.content)["findings"]] == ["EMB507"]
    written.write_text(compared.content)
    again = with_baseline(CheckRun(models=(model(WARNING),)), written, update=True)
    assert again.content == compared.content


def test_the_file_holds_from_any_folder(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "models" / "a")
    inside = CheckRun(models=(model(ERROR, WARNING, model=".", folder="."),))
    assert codes(with_baseline(inside, tmp_path / written).run) == []


def test_models_elsewhere_are_named_by_their_address(written: Path) -> None:
    run = CheckRun(models=(model(ERROR, model="org/b", folder=None),))
    compared = with_baseline(run, written, update=True)
    assert '"model": "org/b"' in (compared.content or "")


def test_without_a_file_nothing_is_known() -> None:
    assert with_baseline(RUN, None).run is RUN
    with pytest.raises(UsageError, match="names no file"):
        with_baseline(RUN, None, update=True)


def test_an_absent_file_is_refused_unless_it_is_to_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no baseline"):
        read_baseline(tmp_path / "b.json")
    assert read_baseline(tmp_path / "b.json", may_lack=True).entries == ()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema": "embcalc/baseline/v2", "findings": []}',
        '{"schema": "embcalc/baseline/v1"}',
        '{"schema": "embcalc/baseline/v1", "findings": {}}',
        '{"schema": "embcalc/baseline/v1", "findings": [1]}',
        '{"schema": "embcalc/baseline/v1", "findings": [{"model": "a", "rule": 1}]}',
        "\udc80",
        "[" * 100_000,
    ],
)
@pytest.mark.parametrize("update", [False, True])
def test_a_file_that_is_no_baseline(tmp_path: Path, content: str, update: bool) -> None:
    path = tmp_path / "b.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError) as raised:
        with_baseline(RUN, path, update=update)
    assert "--update-baseline" in str(raised.value.hint)
    assert path.read_bytes() == content.encode("utf-8", "surrogateescape")
