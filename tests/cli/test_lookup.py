from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embcalc.render.layout import cell_width
from tests.conftest import Run

TEXTS = ("--text", "我爱学习", "--text", "你爱")


def test_json_is_the_contract(run: Callable[..., Run], demo_model: Path) -> None:
    result = run("lookup", demo_model, *TEXTS, "--vectors", "--format", "json")
    assert (result.code, result.err) == (0, "")
    document = result.json
    assert document["schema"] == "embcalc/lookup/v1"
    assert document["shape"] == [2, 3, 4]
    assert [sequence["ids"] for sequence in document["sequences"]] == [[1, 2, 3], [4, 2, 0]]
    assert document["sequences"][1]["tokens"] == ["你", "爱", "PAD"]
    assert document["sequences"][1]["padding"] == [False, False, True]
    assert document["vectors"][0][1][0] == document["vectors"][1][1][0] == -0.3


def test_vectors_are_null_unless_asked_for(run: Callable[..., Run], demo_model: Path) -> None:
    assert run("lookup", demo_model, *TEXTS, "--format", "json").json["vectors"] is None


def test_text_shows_each_step(run: Callable[..., Run], demo_model: Path) -> None:
    out = run("lookup", demo_model, *TEXTS, "--one-hot").out
    for words in ("我 | 爱 | 学习", "[B, T] = [2, 3]", "[4  2  0*]", "[2, 3, 4]", "-0.3"):
        assert words in out
    assert "H[0,1] = H[1,1]" in out
    assert "largest difference is 0" in out


def test_csv_has_a_line_a_position(run: Callable[..., Run], demo_model: Path) -> None:
    result = run("lookup", demo_model, *TEXTS, "--format", "csv", "--vectors")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert len(rows) == 6
    assert (rows[1]["token"], rows[1]["v0"], rows[5]["padding"]) == ("爱", "-0.3", "true")


@pytest.mark.parametrize("given", ["1,2,3", "[1, 2, 3]", "1 2 3"])
def test_ids_as_people_paste_them(run: Callable[..., Run], demo_model: Path, given: str) -> None:
    result = run("lookup", demo_model, "--ids", given, "--format", "json")
    assert result.json["sequences"][0]["ids"] == [1, 2, 3]


@pytest.mark.parametrize("given", ["", "1,x", "[]", "1.5", "--"])
def test_ids_that_are_none(run: Callable[..., Run], demo_model: Path, given: str) -> None:
    result = run("lookup", demo_model, f"--ids={given}")
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: --ids")


def test_an_id_past_the_rows_is_code_two(run: Callable[..., Run], demo_model: Path) -> None:
    result = run("lookup", demo_model, "--ids", "1,6")
    assert result.code == 2
    assert result.out == ""
    assert "id 6" in result.err
    assert "6 rows" in result.err
    assert "--ids, sequence 0, position 1" in result.err


def test_markdown(run: Callable[..., Run], demo_model: Path) -> None:
    assert "| 1 | 2 | 0 | PAD |" in run("lookup", demo_model, *TEXTS, "--format", "markdown").out


@pytest.mark.parametrize("pad", ["6", "-1"])
@pytest.mark.parametrize("ids", [["1,2"], ["1,2", "3"]])
def test_a_pad_id_past_the_rows_is_refused_also_where_nothing_is_filled(
    run: Callable[..., Run], demo_model: Path, pad: str, ids: list[str]
) -> None:
    options = [word for given in ids for word in ("--ids", given)]
    result = run("lookup", demo_model, *options, f"--pad-id={pad}")
    assert (result.code, result.out) == (2, "")
    first, second = result.err.splitlines()
    assert first == f"error: id {pad} has no row: the table has 6 rows (from --pad-id)"
    assert second.startswith("hint: ")


def test_wide_rows_lose_columns_rather_than_the_line(
    run: Callable[..., Run], tiny_checkpoint: Callable[..., Path]
) -> None:
    table = np.full((200_000, 4), -1.2345e-5, np.float32)
    table[0] = 1e30
    vocabulary = {"长" * 30 + str(number): 199_000 + number for number in range(500)}
    words = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": vocabulary}}
    folder = tiny_checkpoint({"wte.weight": table}, tokenizer=words)
    ids = ",".join(map(str, range(199_000, 199_120)))
    out = run("lookup", folder, "--ids", ids, *["--ids", "0"] * 10, "--pad-id", "199000").out
    assert all(cell_width(line) <= 80 for line in out.splitlines())
    assert "2.00e+30" in out
    assert "… " in out


def test_a_wide_text_is_clipped(run: Callable[..., Run], demo_model: Path) -> None:
    out = run("lookup", demo_model, "--text", "我爱学习" * 40).out
    assert all(cell_width(line) <= 80 for line in out.splitlines())
