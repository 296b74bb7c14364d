"""Tables that hold nothing, too little or nonsense: what is said is true, whatever the format."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from embcalc.render.layout import cell_width
from tests.conftest import Run
from tests.failures.files import plain, safetensors
from tests.row_cases import TOKEN, tokenizer, trained, words, write

Table = NDArray[Any]
TABLES: dict[str, Table] = {
    "no-rows": np.zeros((0, 64), np.float32),
    "one-row": trained(1),
    "two-rows": trained(2),
    "width-1": trained(300, 1),
    "width-0": np.zeros((300, 0), np.float32),
    "nan": np.full((300, 64), np.nan, np.float32),
    "zero": np.zeros((300, 64), np.float32),
    "infinite": np.full((300, 64), np.inf, np.float32),
    "equal": np.repeat(trained(1), 300, axis=0),
    "bool": trained(300) > 0,
    "int": (trained(300) * 100).astype(np.int8),
}


@pytest.mark.parametrize("name", TABLES)
def test_text_json_and_export_agree(run: Callable[..., Run], tmp_path: Path, name: str) -> None:
    table = TABLES[name]
    tokens = tokenizer(words(max(1, len(table))))
    folder = write(tmp_path / "m", {TOKEN: table}, tokens=tokens, config={"vocab_size": 300})
    text = run("inspect", folder, "--export", tmp_path / "rows.csv")
    assert (text.code, text.err) == (0, "")
    assert all(cell_width(line) <= 80 for line in text.out.splitlines())
    document = run("inspect", folder, "--format", "json").json
    (report,) = document["tables"]
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = table.astype(np.float64)
    assert (report["rows"], report["width"], len(rows)) == (*table.shape, len(table))
    ill = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    zero = np.flatnonzero(~numbers.any(axis=1))
    for key, flag, known in (("nonfinite_rows", "nonfinite", ill), ("zero_rows", "zero", zero)):
        assert report[key] == {"count": len(known), "rows": known[:1000].tolist()}
        flagged = [int(row["id"]) for row in rows if flag in row["flags"].split()]
        assert flagged == known.tolist()
    if len(table) and not len(ill):
        norms = np.linalg.norm(numbers, axis=1)
        assert report["norms"]["min"] == pytest.approx(norms.min(), rel=1e-6)
        assert report["norms"]["max"] == pytest.approx(norms.max(), rel=1e-6)
        assert [float(row["norm"]) for row in rows] == pytest.approx(norms.tolist(), rel=1e-6)
    else:
        assert report["norms"] is None
        assert "no row has a finite norm" in text.out
    for finding in document["findings"]:
        assert finding["severity"] in text.out


def test_one_row_over_and_over_is_an_error(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {TOKEN: TABLES["equal"]}, tokens=tokenizer(words(300)))
    result = run("inspect", folder, "--format", "json", "--fail-on", "error")
    (finding,) = result.json["findings"]
    assert (result.code, finding["name"], finding["severity"]) == (1, "duplicate", "error")
    assert finding["message"] == "all 300 rows are equal: no token differs from another"


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_ill_rows_are_told_once(run: Callable[..., Run], tmp_path: Path, value: float) -> None:
    """They are no duplicates of each other, though their bits are equal."""
    table = trained(300)
    table[[3, 30, 290]] = value
    folder = write(tmp_path / "m", {TOKEN: table}, tokens=tokenizer(words(300)))
    document = run("inspect", folder, "--format", "json").json
    (finding,) = document["findings"]
    assert finding["rows"] == [3, 30, 290]
    assert document["tables"][0]["duplicate_rows"]["count"] == 0


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (299, ["padding"]),
        (300, []),
        (301, ["no-row"]),
        (310, ["no-row"]),
    ],
)
def test_more_and_fewer_tokens_than_rows(
    run: Callable[..., Run], tmp_path: Path, tokens: int, said: list[str]
) -> None:
    folder = write(tmp_path / "m", {TOKEN: trained(300)}, tokens=tokenizer(words(tokens)))
    findings = run("inspect", folder, "--format", "json").json["findings"]
    assert [finding["name"] for finding in findings] == said
    if tokens == 310:
        assert "10 tokens of the tokenizer without a row (ids 300 to 309" in findings[0]["message"]
    assert run("inspect", folder, "--fail-on", "no-row").code == (tokens > 300)


def test_the_placeholder_of_gemma_needs_no_row(run: Callable[..., Run], tmp_path: Path) -> None:
    tokens = tokenizer(words(300), ["<image_soft_token>"])
    folder = write(tmp_path / "m", {TOKEN: trained(300)}, tokens=tokens)
    assert run("inspect", folder, "--format", "json").json["findings"] == []


def test_a_broken_tokenizer_is_not_called_absent(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {TOKEN: trained(300)})
    (folder / "tokenizer.json").write_text('{"model":')
    result = run("inspect", folder)
    assert result.code == 0
    assert "tokens: the tokenizer cannot be read, see the end" in result.out
    assert "tokenizer.json is cut short" in result.out.splitlines()[-1]


def test_one_name_in_two_shards(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {TOKEN: trained(300)}, tokens=tokenizer(words(300)))
    (folder / "model.safetensors").unlink()
    for number in (1, 2):
        content = safetensors(plain({TOKEN: trained(300, seed=number)}))
        (folder / f"model-0000{number}-of-00002.safetensors").write_bytes(content)
    document = run("inspect", folder, "--format", "json").json
    assert [finding["name"] for finding in document["findings"]] == ["files"]
    assert "stored in two shards" in document["findings"][0]["message"]
    norms = np.linalg.norm(trained(300, seed=1).astype(np.float64), axis=1)
    assert document["tables"][0]["norms"]["max"] == pytest.approx(norms.max(), rel=1e-6)


def test_one_axis_is_no_table(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {"embedding.weight": trained(300)[:, 0].copy()})
    assert run("inspect", folder).code == 2
    named = run("inspect", folder, "--tensor", "embedding.weight")
    assert (named.code, named.out) == (2, "")
    assert "has shape [300]: no table of row vectors" in named.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--rows 300", "and the largest table has 300 rows"),
        ("--rows 0-999999", "--rows names over 10,000 rows"),
        ("--rows 9-5", "runs backwards"),
        ("--top -1", "--top -1 is below 0"),
        ("--fail-on bogus", "--fail-on does not know 'bogus'"),
        ("--export m", "cannot write m: Is a directory"),
        ("--html absent/page.html", "cannot write absent/page.html: No such file"),
    ],
)
def test_what_cannot_be_done_is_refused(
    run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "m", {TOKEN: trained(300)})
    result = run("inspect", "m", *options.split())
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert len(result.err.splitlines()) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("top", [0, 10**9])
def test_any_number_of_rows_can_be_listed(
    run: Callable[..., Run], tmp_path: Path, top: int
) -> None:
    folder = write(tmp_path / "m", {TOKEN: trained(30)})
    document = run("inspect", folder, "--top", top, "--format", "json").json
    assert len(document["tables"][0]["smallest"]) == min(top, 30)


def test_a_picture_of_nothing_leaves_no_other_file(run: Callable[..., Run], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = write(tmp_path / "m", {TOKEN: TABLES["nan"]})
    export, plot = tmp_path / "rows.jsonl", tmp_path / "norms.svg"
    result = run("inspect", folder, "--export", export, "--plot", plot)
    assert result.code == 2
    assert "there is nothing to plot" in result.err
    assert not export.exists()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_folder_that_may_not_be_written_to(run: Callable[..., Run], tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {TOKEN: trained(300)})
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o555)
    result = run("inspect", folder, "--export", shut / "rows.csv")
    assert result.code == 2
    assert "Permission denied" in result.err


def test_json_holds_no_nan(run: Callable[..., Run], tmp_path: Path) -> None:
    for name in ("nan", "infinite", "no-rows"):
        folder = write(tmp_path / name, {TOKEN: TABLES[name]}, config={"vocab_size": 300})
        result = run("inspect", folder, "--format", "json", "--export", tmp_path / "rows.jsonl")
        for text in (result.out, *(tmp_path / "rows.jsonl").read_text().splitlines()):
            json.loads(text, parse_constant=pytest.fail)
