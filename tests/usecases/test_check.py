from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import embcalc
from embcalc import CheckOptions
from embcalc.core.reports.check_run import CheckRun
from embcalc.errors import UsageError
from embcalc.usecases.check import check
from embcalc.usecases.check_model import check_model, local_folder
from tests.usecases.models import EMBED, HEAD, Tables, healthy


def found(run: CheckRun) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(f.rule, f.severity.value, f.ids) for f in run.findings]


def set_rows(name: str, rows: list[int], value: float) -> Callable[[Tables], None]:
    def change(stored: Tables) -> None:
        stored[name][rows] = value

    return change


def test_a_healthy_model(tmp_path: Path) -> None:
    run = check(healthy(tmp_path / "m"))
    assert (run.ok, run.single, found(run)) == (True, True, [])
    (model,) = run.models
    assert {"EMB101", "EMB403", "EMB501", "EMB507", "EMB601"} <= set(model.report.ran)
    assert model.folder == str(tmp_path / "m")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", [EMBED, HEAD])
def test_nonfinite_rows(tmp_path: Path, name: str, value: float) -> None:
    run = check(healthy(tmp_path / "m", set_rows(name, [3, 9], value)))
    assert found(run) == [("EMB501", "error", (3, 9))]


def test_zero_rows(tmp_path: Path) -> None:
    run = check(healthy(tmp_path / "m", set_rows(EMBED, [0, 2, 5], 0)))
    assert found(run) == [("EMB504", "error", (2,)), ("EMB505", "error", (5,))]


def test_near_zero_rows(tmp_path: Path) -> None:
    run = check(healthy(tmp_path / "m", set_rows(EMBED, [5], 1e-9)))
    assert found(run) == [("EMB506", "warning", (5,))]
    assert run.ok
    assert not check(tmp_path / "m", CheckOptions(strict=True)).ok


def test_zero_rows_of_the_head_are_its_own_affair(tmp_path: Path) -> None:
    assert found(check(healthy(tmp_path / "m", set_rows(HEAD, [5], 0)))) == []


def test_a_zeroed_table(tmp_path: Path) -> None:
    run = check(healthy(tmp_path / "m", set_rows(EMBED, list(range(16)), 0)))
    assert found(run) == [("EMB502", "error", ())]


def test_duplicate_rows(tmp_path: Path) -> None:
    def change(stored: Tables) -> None:
        stored[EMBED][[7, 11]] = stored[EMBED][4]

    assert found(check(healthy(tmp_path / "m", change))) == [("EMB507", "warning", (4, 7, 11))]


def test_swapped_bytes(tmp_path: Path) -> None:
    def change(stored: Tables) -> None:
        stored[EMBED] = np.abs(stored[EMBED]).byteswap()

    codes = [code for code, _, _ in found(check(healthy(tmp_path / "m", change)))]
    assert "EMB503" in codes or "EMB501" in codes


def test_a_head_that_is_missing(tmp_path: Path) -> None:
    run = check(healthy(tmp_path / "m", lambda stored: stored.pop(HEAD)))
    assert found(run) == [("EMB402", "error", ())]


def test_a_model_without_logits_needs_no_head(tmp_path: Path) -> None:
    config = {"architectures": ["LlamaModel"]}
    assert found(check(healthy(tmp_path / "m", lambda s: s.pop(HEAD), config=config))) == []


def test_tied_by_config_and_different(tmp_path: Path) -> None:
    run = check(healthy(tmp_path / "m", config={"tie_word_embeddings": True}))
    assert found(run) == [("EMB403", "error", ())]


@pytest.mark.parametrize("tied", [True, False])
def test_tied_and_stored_twice(tmp_path: Path, tied: bool) -> None:
    def change(stored: Tables) -> None:
        stored[HEAD] = stored[EMBED].copy()

    run = check(healthy(tmp_path / "m", change, config={"tie_word_embeddings": tied}))
    assert found(run) == [("EMB404", "note", ())]


def test_one_changed_number_is_no_tie(tmp_path: Path) -> None:
    def change(stored: Tables) -> None:
        stored[HEAD] = stored[EMBED].copy()
        stored[HEAD][15, 7] += 1e-6

    run = check(healthy(tmp_path / "m", change, config={"tie_word_embeddings": True}))
    assert found(run) == [("EMB403", "error", ())]


def test_a_swapped_scale(tmp_path: Path) -> None:
    def change(stored: Tables) -> None:
        stored[HEAD] *= 200

    assert found(check(healthy(tmp_path / "m", change))) == [("EMB508", "warning", ())]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_tables(tmp_path: Path, dtype: Any) -> None:
    def change(stored: Tables) -> None:
        for name in (EMBED, HEAD):
            stored[name] = stored[name].astype(dtype)
        stored[EMBED][6] = np.nan

    assert found(check(healthy(tmp_path / "m", change))) == [("EMB501", "error", (6,))]


def test_an_absent_shard_is_one_finding(tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    random = np.random.default_rng(0).normal(0, 0.02, (16, 8)).astype("f4")
    save_file({EMBED: random}, folder / "model-00001-of-00002.safetensors")
    names = {EMBED: "model-00001-of-00002.safetensors", HEAD: "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    run = check(folder)
    assert found(run) == [("EMB601", "error", ())]
    (report,) = run.reports
    skipped = {one.rule: one.reason for one in report.skipped}
    assert skipped["EMB402"] == "files of the checkpoint are missing or broken"


def test_broken_weights_beside_files_that_can_be_read(tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m")
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.truncate(400)
    run = check(folder)
    assert found(run) == [("EMB603", "error", ())]
    assert not run.unreadable
    (report,) = run.reports
    assert {"EMB501", "EMB102"} <= {one.rule for one in report.skipped}


def test_broken_weights_alone_cannot_be_checked(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    for address in (folder, folder / "model.safetensors"):
        run = check(address)
        assert [item.model for item in run.unreadable] == [str(address)]
        assert run.unreadable[0].hint


def test_row_rules_are_not_run_without_weights(tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m", set_rows(EMBED, [3], np.nan))
    run = check(folder, CheckOptions(weights=False))
    assert run.ok
    assert ("EMB501", "weights not asked for") in [
        (one.rule, one.reason) for one in run.reports[0].skipped
    ]


def test_rows_are_read_only_for_rules_that_need_them(tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m", set_rows(EMBED, [3], np.nan))
    told: list[str] = []

    def progress(label: str, done: int, total: int) -> None:
        told.append(label)

    model = check_model(str(folder), CheckOptions(select=("EMB1", "EMB6")), progress=progress)
    assert (told, model.report.findings) == ([], ())
    model = check_model(str(folder), CheckOptions(select=("EMB501",)), progress=progress)
    assert set(told) == {EMBED, HEAD}
    assert model.report.ran == ("EMB501",)


def test_transposed_tables_are_skipped_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    healthy(folder)
    odd = np.random.default_rng(0).normal(0, 0.02, (8, 16)).astype("f4")
    save_file({"unembed.W_U": odd, "blocks.0.w": odd}, folder / "model.safetensors")
    (report,) = check(folder).reports
    reasons = {one.reason for one in report.skipped if one.rule.startswith("EMB50")}
    assert reasons, report
    assert all(reason for reason in reasons)


def test_a_model_named_twice_is_checked_once_and_makes_a_run_of_several(tmp_path: Path) -> None:
    model = healthy(tmp_path / "m")
    run = check([model, f"{model}/"])
    assert (len(run.models), run.single) == (1, False)


def test_one_unreadable_model_hides_nothing(tmp_path: Path) -> None:
    good, bad = healthy(tmp_path / "good"), healthy(tmp_path / "bad", set_rows(EMBED, [3], np.nan))
    for jobs in (1, 2):
        run = check([good, tmp_path / "nowhere", bad], jobs=jobs)
        assert [report.model for report in run.reports] == [str(good), str(bad)]
        assert [report.ok for report in run.reports] == [True, False]
        assert [item.model for item in run.unreadable] == [str(tmp_path / "nowhere")]
        assert (run.ok, run.single) == (False, False)


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    for number in range(9):
        healthy(tmp_path / f"m{number}", set_rows(EMBED, [3 + number % 4], np.nan))
    pattern = str(tmp_path / "m*")
    assert check(pattern, jobs=3) == check(pattern)


def test_options_of_each_model(tmp_path: Path) -> None:
    names = [str(healthy(tmp_path / name, set_rows(EMBED, [5], 1e-9))) for name in "ab"]
    run = check(names, lambda model: CheckOptions(strict=model == names[0]))
    assert [report.ok for report in run.reports] == [False, True]


@pytest.mark.parametrize("jobs", [0, -3])
def test_jobs_below_one(jobs: int) -> None:
    with pytest.raises(UsageError, match="--jobs"):
        check(".", jobs=jobs)


def test_nothing_to_check() -> None:
    with pytest.raises(UsageError, match="no model"):
        check([])


def test_a_wrong_code_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match="EMB9"):
        check(["nowhere", "nor here"], CheckOptions(select=("EMB9",)))


def test_the_folder_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = healthy(tmp_path / "models" / "a")
    monkeypatch.chdir(tmp_path)
    assert local_folder("models/a/") == "models/a"
    assert local_folder("./models/../models/a") == "models/a"
    assert local_folder(str(folder / "model.safetensors")) == "models/a"
    assert local_folder("org/name") is None
    monkeypatch.chdir(folder)
    assert local_folder(".") == "."
    assert local_folder("../..") == tmp_path.as_posix()


def test_the_public_function(tmp_path: Path) -> None:
    healthy(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert embcalc.check(tmp_path / "a").ok
    assert len(embcalc.check(f"{tmp_path}/*").reports) == 2
    assert "check" in dir(embcalc)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        embcalc.nothing  # noqa: B018 - the access is what is tested
