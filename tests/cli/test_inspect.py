"""The command as users run it: golden outputs of every illness of rows, and its options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.render.layout import cell_width
from tests.conftest import Run
from tests.failures.files import safetensors
from tests.golden.compare import check
from tests.row_cases import CASES, TOKEN, healthy, nan_rows, trained, write


@pytest.mark.parametrize("case", CASES)
def test_golden(
    case: str, run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    CASES[case](Path(case))
    result = run("inspect", case, "--top", "3")
    assert all(cell_width(line) <= 80 for line in result.out.splitlines())
    check(f"inspect/{case}", f"embcalc inspect {case} --top 3", result)


FINDINGS: dict[str, dict[str, int | None]] = {
    "healthy": {},
    "zeros-and-near-zeros": {"zero": 73, "near-zero": 6},
    "dead-chat-tokens": {"special-token": 2, "near-zero": 20, "uninitialised": 2, "reserved": 18},
    "reserved-rows": {"reserved": 40},
    "dead-tokens": {"undertrained": None, "reserved": 40, "cluster": 100},
    "padding-rows": {"padding": 29},
    "added-inside-padding": {"padding": 27, "uninitialised": 2},
    "added-fresh": {"special-token": 4, "uninitialised": 4},
    "nan-rows": {"nonfinite": 3},
    "mean-initialised": {"duplicate": 4, "special-token": 4, "uninitialised": 4},
    "moved-padding-row": {"padding-row": 1},
    "still-padding-row": {"zero": 1},
    "zeroed-table": {"zero": 300},
    "collapsed-on-unk": {"cluster": 31},
    "swapped-head": {"scale": 0},
    "tied-but-apart": {"tying": 0},
    "stored-twice": {},
    "byte-swapped": {"magnitude": 0, "nonfinite": None},
    "untrained-table": {"fresh": 0},
    "dead-dimensions": {"dead-dimension": 0, "outlier-dimension": 0},
    "hostile-tokens": {"zero": 8},
}
"""What is found in each case, with how many rows; None where only the finding matters."""


@pytest.mark.parametrize("case", CASES)
def test_what_is_found(case: str, run: Callable[..., Run], tmp_path: Path) -> None:
    folder = CASES[case](tmp_path / case)
    found = run("inspect", folder, "--format", "json").json["findings"]
    expected = FINDINGS[case]
    relevant = [finding for finding in found if finding["name"] != "outlier"]
    assert {finding["name"] for finding in relevant} == set(expected)
    for finding in relevant:
        rows = expected[finding["name"]]
        assert rows is None or len(finding["rows"]) == rows, finding


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ("nonfinite", 1),
        ("zero,duplicate", 0),
        ("zero nonfinite", 1),
        ("error", 1),
        ("warning", 1),
        ("note", 0),
        ("any", 1),
        ("near_zero", 0),
    ],
)
def test_fail_on(run: Callable[..., Run], tmp_path: Path, kinds: str, code: int) -> None:
    folder = nan_rows(tmp_path / "model")
    result = run("inspect", folder, "--fail-on", kinds)
    assert result.code == code
    assert result.out.startswith(str(folder))


def test_repeated_options_add_up(run: Callable[..., Run], demo_model: Path) -> None:
    kinds = ("--fail-on", "zero", "--fail-on", "nonfinite")
    result = run("inspect", demo_model, *kinds, "--rows", "1", "--rows", "3-4", "--format", "json")
    assert result.code == 1
    assert [row["row"] for row in result.json["selected_rows"]] == [1, 3, 4]


def test_fail_on_zero_counts_the_padding_row_too(run: Callable[..., Run], demo_model: Path) -> None:
    assert run("inspect", demo_model, "--fail-on", "zero").code == 1
    assert run("inspect", demo_model, "--fail-on", "duplicate,nonfinite").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fail-on", "zeroes"], "zeroes"),
        (["--rows", "0,300"], "300"),
        (["--rows", "5-2"], "5-2"),
        (["--rows", "a"], "'a'"),
        (["--rows", ""], "no row"),
        (["--rows", "0-99999999"], "names over"),
        (["--bins", "0"], "--bins"),
        (["--top", "-1"], "--top"),
        (["--tensor", "nothing"], "nothing"),
        (["--export", "rows.xlsx"], "rows.xlsx"),
        (["--plot", "rows.pdf"], "rows.pdf"),
        (["--export", "/nowhere/at/all.csv"], "/nowhere/at/all.csv"),
        (["--html", "/nowhere/at/all.html"], "/nowhere/at/all.html"),
        (["--tokenizer", "/nowhere"], "/nowhere"),
    ],
)
def test_wrong_options_are_two_lines(
    run: Callable[..., Run], tmp_path: Path, options: list[str], words: str
) -> None:
    result = run("inspect", healthy(tmp_path / "model"), *options)
    assert result.code == 2
    assert result.out == ""
    lines = result.err.splitlines()
    assert lines[0].startswith("error: ")
    assert words in lines[0]
    assert len(lines) <= 2


def test_rows_and_top_and_bins(run: Callable[..., Run], tmp_path: Path) -> None:
    table = trained(300)
    folder = write(tmp_path / "model", {TOKEN: table})
    document = run(
        "inspect", folder, "--rows", "7,0,298-299", "--top", "2", "--bins", "7", "--format", "json"
    ).json
    selected = document["selected_rows"]
    assert [row["row"] for row in selected] == [7, 0, 298, 299]
    assert selected[0]["values"] == [float(value) for value in table[7, :8]]
    (report,) = document["tables"]
    assert len(report["histogram"]["counts"]) == 7
    assert sum(report["histogram"]["counts"]) == 300
    assert len(report["smallest"]) == len(report["largest"]) == 2
    norms = np.linalg.norm(table.astype(np.float64), axis=1)
    assert [row["row"] for row in report["smallest"]] == np.argsort(norms)[:2].tolist()


def test_top_zero_lists_nothing(run: Callable[..., Run], tmp_path: Path) -> None:
    document = run("inspect", healthy(tmp_path / "m"), "--top", "0", "--format", "json").json
    assert document["tables"][0]["smallest"] == []


def test_one_named_table(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = CASES["swapped-head"](tmp_path / "m")
    document = run("inspect", folder, "--tensor", "lm_head.weight", "--format", "json").json
    assert document["coverage"]["checked"] == ["lm_head.weight"]


def test_tokenizer_from_elsewhere(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = healthy(tmp_path / "words")
    bare = write(tmp_path / "bare", {TOKEN: trained(300)})
    assert "no tokenizer found" in run("inspect", bare).out
    document = run("inspect", bare, "--tokenizer", folder, "--format", "json").json
    assert document["tables"][0]["smallest"][0]["token"].startswith("word")
    assert document["tokenizer"] == "tokenizer.json"


def test_several_checkpoints_are_a_trend(run: Callable[..., Run], tmp_path: Path) -> None:
    for step, size in ((1500, 0.9), (100, 0.3), (500, 0.6)):
        table = trained(300, size=size)
        table[:2] = 0 if step == 1500 else table[:2]
        write(tmp_path / f"ckpt-{step}", {TOKEN: table})
    folders = sorted(tmp_path.iterdir())
    document = run("inspect", *folders, "--format", "json").json
    assert document["schema"] == "embcalc/inspect-trend/v1"
    points = document["checkpoints"]
    assert [point["step"] for point in points] == [100, 500, 1500]
    medians = [p["report"]["tables"][0]["norms"]["percentiles"]["50"] for p in points]
    assert medians == sorted(medians)
    assert run("inspect", *folders, "--fail-on", "zero").code == 1
    lines = run("inspect", *folders, "--format", "csv").out.splitlines()
    assert lines[0].startswith("tensor,step,path,rows,min")
    assert len(lines) == 4
    assert "| 1,500 |" in run("inspect", *folders, "--format", "markdown").out
    result = run("inspect", *folders, "--export", tmp_path / "rows.csv")
    assert (result.code, (tmp_path / "rows.csv").exists()) == (2, False)


def test_a_trend_in_text(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for step in (100, 500):
        write(Path(f"run/checkpoint-{step}"), {TOKEN: trained(300, size=step / 500)})
    write(Path("run/last"), {TOKEN: np.full((300, 64), np.nan, np.float32)})
    result = run("inspect", "run/checkpoint-500", "run/checkpoint-100", "run/last")
    check("inspect/trend", "embcalc inspect run/*", result)


def test_output_goes_to_a_file(run: Callable[..., Run], tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    folder = healthy(tmp_path / "m")
    result = run("inspect", folder, "--format", "json", "--output", target)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert json.loads(target.read_text("utf-8"))["schema"] == "embcalc/inspect/v1"


TABLE_KEYS = {
    "tensor", "role", "dtype", "rows", "width", "bytes", "parameters", "share_of_parameters",
    "norms", "histogram", "smallest", "largest", "zero_rows", "near_zero_rows", "nonfinite_rows",
    "duplicate_rows", "outlier_rows", "beyond_tokenizer", "undertrained",
}  # fmt: skip


def test_the_document_has_the_keys_that_others_build_on(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    folder = CASES["reserved-rows"](tmp_path / "m")
    document = run("inspect", folder, "--format", "json", "--rows", "0").json
    assert set(document) >= {
        "schema", "checkpoint", "tying", "tables", "selected_rows", "coverage", "findings",
    }  # fmt: skip
    assert document["checkpoint"] == {
        "path": str(folder),
        "format": "safetensors",
        "files": 1,
        "tensors": 1,
        "parameters": 340 * 64,
        "bytes": 340 * 64 * 4,
    }
    assert document["tying"]["verdict"] == "tied"
    (table,) = document["tables"]
    assert set(table) >= TABLE_KEYS
    assert set(table["norms"]["percentiles"]) == {"1", "5", "25", "50", "75", "95", "99"}
    assert table["beyond_tokenizer"]["reserved"]["count"] == 40
    found = table["undertrained"]
    assert found["indicator"] == "cosine"
    assert found["reference"]["count"] == 40
    assert set(found["candidates"][0]) >= {"row", "token", "score"}
    assert set(document["coverage"]) == {"checked", "skipped"}


def test_numbers_that_are_not_finite_are_null(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = nan_rows(tmp_path / "m")
    document = run("inspect", folder, "--format", "json", "--rows", "17,41").json
    assert [row["norm"] for row in document["selected_rows"]] == [None, None]
    table = document["tables"][0]
    assert table["nonfinite_rows"] == {"count": 3, "rows": [17, 40, 41]}
    assert table["norms"]["max"] < 10


def test_tables_without_numbers(run: Callable[..., Run], tmp_path: Path) -> None:
    for name, shape in (("rows", (0, 8)), ("width", (8, 0))):
        folder = write(tmp_path / name, {TOKEN: np.zeros(shape, np.float32)})
        result = run("inspect", folder, "--format", "json")
        assert result.code == 0, result.err
        assert run("inspect", folder).code == 0


def test_an_untied_model_by_norm_with_the_head_as_second_opinion(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    from tests.row_cases import HEAD, fresh, tokenizer, words

    table, head = trained(340), trained(340, seed=3)
    table[290:] = fresh(50, sigma=0.01)
    head[290:] = trained(1, seed=8) * 0.3 + fresh(50, sigma=0.002, seed=4)
    reserved = [f"<unused{index}>" for index in range(40)]
    folder = write(
        tmp_path / "m", {TOKEN: table, HEAD: head}, tokens=tokenizer(words(300), reserved)
    )
    document = run("inspect", folder, "--format", "json").json
    assert document["tying"]["verdict"] == "untied"
    found = document["tables"][0]["undertrained"]
    assert (found["indicator"], found["confidence"]) == ("norm", "high")
    assert {candidate["row"] for candidate in found["candidates"]} <= set(range(290, 300))
    assert all(candidate["second_opinion"] < 0.1 for candidate in found["candidates"])
    assert document["tables"][1]["undertrained"] is None


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_broken_files_beside_the_weights_do_not_stop_it(
    run: Callable[..., Run], tmp_path: Path, name: str
) -> None:
    folder = healthy(tmp_path / "m")
    (folder / name).write_text("{ broken", "utf-8")
    document = run("inspect", folder, "--format", "json").json
    assert document["tables"][0]["rows"] == 300
    (skipped,) = document["coverage"]["skipped"]
    assert name in skipped["reason"]
    assert "not checked" in run("inspect", folder).out


def test_from_python(tmp_path: Path) -> None:
    import embcalc

    report = embcalc.inspect(str(nan_rows(tmp_path / "m")), embcalc.InspectOptions(top=2))
    assert report.findings[0].rows == (17, 40, 41)
    assert report.tables[0].data.norms.shape == (300,)
    assert len(report.tables[0].smallest) == 2


def test_a_broken_file_is_two_lines(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = healthy(tmp_path / "m")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    for target in (folder, path, tmp_path / "absent"):
        result = run("inspect", target)
        assert result.code == 2
        assert result.out == ""
        assert result.err.startswith("error: ")


def test_a_complex_table(run: Callable[..., Run], tmp_path: Path) -> None:
    table = trained(300) + 1j * trained(300, seed=2)
    folder = write(tmp_path / "complex", {TOKEN: table.astype(np.complex64)})
    report = run("inspect", folder, "--format", "json").json["tables"][0]
    norms = np.linalg.norm(table, axis=1)
    assert report["norms"]["max"] == pytest.approx(norms.max(), rel=1e-6)


def test_a_table_that_is_stored_as_columns(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row has the same norm and the same flags as in the table that is stored as rows."""
    monkeypatch.setattr("embcalc.rows.transposed.TILE_BYTES", 10_000)
    table = trained(300)
    table[5], table[9], table[11] = table[7], 0, np.nan
    table[20] = 2 * table[21]
    tensors = {TOKEN: table, "unembed.W_U": np.ascontiguousarray(table.T)}
    config = {"vocab_size": 300, "tie_word_embeddings": True}
    folder = write(tmp_path / "m", tensors, config=config)
    document = run("inspect", folder, "--format", "json", "--rows", "5,299").json
    assert document["tying"]["verdict"] == "tied-stored-twice"
    rows, columns = document["tables"]
    assert (columns["tensor"], columns["role"]) == ("unembed.W_U", "output")
    assert len(rows) > 20
    for key in rows.keys() - {"tensor", "role", "undertrained", "padding_rows", "note"}:
        assert rows[key] == columns[key], key
    for shown in document["selected_rows"]:
        assert shown["values"] == pytest.approx(table[shown["row"], :8].tolist())


def test_columns_of_half_bytes_are_skipped(run: Callable[..., Run], tmp_path: Path) -> None:
    codes = np.zeros((64, 150), np.uint8)
    stored = {"unembed.W_U": ("F4", (64, 300), codes.tobytes())}
    folder = write(tmp_path / "m", {TOKEN: trained(300)}, config={"vocab_size": 300})
    (folder / "model.safetensors").write_bytes(safetensors(stored))
    document = run("inspect", folder, "--format", "json").json
    assert document["coverage"]["checked"] == []
    assert "columns" in document["coverage"]["skipped"][0]["reason"]


def test_a_numpy_file_of_one_array_needs_no_name(run: Callable[..., Run], tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", trained(100, 16))
    result = run("inspect", tmp_path / "vectors.npy", "--format", "json")
    (table,) = result.json["tables"]
    assert (result.code, table["tensor"], table["role"], table["rows"]) == (
        0, "vectors", "token", 100,
    )  # fmt: skip


def test_a_table_without_rows_is_not_called_healthy(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 16), np.float32))
    assert "nothing to check: no table has a row" in run("inspect", tmp_path / "none.npy").out


@pytest.mark.parametrize(
    "options",
    [
        ("inspect", "m", "--export", "x.csv", "--output", "x.csv"),
        ("inspect", "m", "--html", "x.svg", "--plot", "./x.svg"),
        ("check", "m", "--report", "json=x", "--output", "x"),
        ("check", "m", "--report", "json=x", "--report", "sarif=./x"),
    ],
)
def test_two_outputs_never_write_one_file(
    options: tuple[str, ...],
    run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    CASES["healthy"](Path("m"))
    result = run(*options)
    assert (result.code, result.out) == (2, "")
    assert "two outputs write x" in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


@pytest.mark.parametrize("command", ["inspect", "check", "check-vocab"])
def test_a_place_named_for_its_tokenizer_has_one(
    command: str, run: Callable[..., Run], tmp_path: Path
) -> None:
    CASES["healthy"](tmp_path / "m")
    (tmp_path / "empty").mkdir()
    result = run(command, tmp_path / "m", "--tokenizer", tmp_path / "empty")
    assert (result.code, result.out) == (2, "")
    assert "no tokenizer file in " in result.err
    assert "hint: --tokenizer takes" in result.err
