"""What inspect writes beside its result: exports, pictures, the page."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embcalc.errors import MissingExtraError
from tests.conftest import Run
from tests.row_cases import CASES, HEAD, TOKEN, hostile_tokens, trained, write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return hostile_tokens(tmp_path / "model")


def exported(run: Callable[..., Run], model: Path, name: str) -> Path:
    target = model.parent / name
    result = run("inspect", model, "--export", target, "--output", model.parent / "text")
    assert (result.code, result.err) == (0, "")
    return target


def test_csv_has_every_row_and_no_formula(run: Callable[..., Run], hostile: Path) -> None:
    path = exported(run, hostile, "rows.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["id", "token", "norm", "flags", "tensor"]
    assert [int(row["id"]) for row in rows] == list(range(300))
    assert rows[6]["token"] == "'=cmd|' /C'!A"
    assert rows[1]["token"] == "\\x1b[31mred"
    assert rows[1]["flags"] == "zero"
    truth = np.linalg.norm(trained(300).astype(np.float64), axis=1)
    assert [float(row["norm"]) for row in rows[9:]] == pytest.approx(truth[9:])


def test_jsonl(run: Callable[..., Run], tmp_path: Path) -> None:
    path = exported(run, CASES["nan-rows"](tmp_path / "model"), "rows.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(rows) == 300
    assert rows[17] == {
        "id": 17,
        "token": "word17",
        "norm": None,
        "flags": ["nonfinite"],
        "tensor": TOKEN,
    }


def test_npy_needs_no_pickle(run: Callable[..., Run], hostile: Path) -> None:
    rows = np.load(exported(run, hostile, "rows.npy"), allow_pickle=False)
    assert rows.shape == (300,)
    assert rows["token"][7] == "你好" * 7
    assert rows["norm"][1] == 0
    assert rows["flags"][1] == "zero"
    assert rows["id"].tolist() == list(range(300))


def test_parquet(run: Callable[..., Run], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    tensors = {TOKEN: trained(300), HEAD: trained(300, seed=4)}
    path = exported(run, write(tmp_path / "model", tensors), "rows.parquet")
    table = parquet.read_table(path).to_pydict()
    assert table["id"] == [*range(300), *range(300)]
    assert set(table["tensor"]) == {TOKEN, HEAD}
    assert table["token"][0] is None
    assert table["flags"][0] == []


def test_an_absent_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from embcalc.render.export.inspect import require_format
    from embcalc.render.plots.inspect import require_picture

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="parquet"):
        require_format(tmp_path / "a.parquet")
    with pytest.raises(MissingExtraError, match="plot"):
        require_picture(tmp_path / "a.png")


def test_rows_as_csv_and_markdown_on_stdout(run: Callable[..., Run], hostile: Path) -> None:
    lines = run("inspect", hostile, "--format", "csv").out.splitlines()
    assert len(lines) == 301
    text = run("inspect", hostile, "--format", "markdown", "--top", "8").out
    assert "**warning** zero: 8 rows exactly zero" in text
    assert "\\<script\\>" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures(run: Callable[..., Run], tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    folder = hostile_tokens(tmp_path / "model")
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    for target in (first, second):
        result = run("inspect", folder, "--plot", target)
        assert (result.code, result.err) == (0, "")
    head = first.read_bytes()[:300]
    assert head.startswith(b"\x89PNG") if suffix == "png" else b"<?xml" in head
    if suffix == "svg":
        text = first.read_text("utf-8")
        assert "untrained" in text or "<path" in text
        assert "\x1b" not in text


def test_a_token_with_dollars_is_no_formula(run: Callable[..., Run], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from tests.row_cases import tokenizer, words

    base = words(300)
    base[4] = "$\\frac{$"
    table = trained(300)
    table[4] *= 1e-2
    folder = write(tmp_path / "model", {TOKEN: table}, tokens=tokenizer(base))
    assert run("inspect", folder, "--plot", tmp_path / "a.png").code == 0


def test_nothing_finite_is_no_picture(run: Callable[..., Run], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = write(tmp_path / "model", {TOKEN: np.full((20, 64), np.nan, np.float32)})
    result = run("inspect", folder, "--plot", tmp_path / "a.png")
    assert (result.code, (tmp_path / "a.png").exists()) == (2, False)
    assert run("inspect", folder, "--html", tmp_path / "a.html").code == 0


class _Page(HTMLParser):
    """Collects tags, addresses and the embedded data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.data = ""
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.addresses += [v for k in ("src", "href") if (v := given.get(k))]
        self._inside = given.get("id") == "data"

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data += data


def page_of(run: Callable[..., Run], folder: Path) -> tuple[Path, _Page]:
    target = folder.parent / "page.html"
    assert run("inspect", folder, "--html", target).code == 0
    parsed = _Page()
    parsed.feed(target.read_text("utf-8"))
    return target, parsed


def test_the_page_is_one_file_and_hostile_tokens_are_text(
    run: Callable[..., Run], hostile: Path
) -> None:
    path, page = page_of(run, hostile)
    assert page.addresses == []
    assert page.tags.count("script") == 2
    text = path.read_text("utf-8")
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert "<script>x" not in text
    (data,) = json.loads(page.data)
    assert data["tokens"][5] == "<script>x</script>"
    assert data["flags"]["zero"] == list(range(1, 9))
    assert len(data["norms"]) == 300


def test_the_page_holds_several_tables(run: Callable[..., Run], tmp_path: Path) -> None:
    _, page = page_of(run, CASES["swapped-head"](tmp_path / "model"))
    assert len(json.loads(page.data)) == 2
    assert page.tags.count("option") == 2


PROBE = """
<script>
window.addEventListener("load", () => {
  const seen = {};
  const box = (id) => { const c = document.getElementById(id); return c.getBoundingClientRect(); };
  seen.rows = document.querySelectorAll("#rows tr").length;
  seen.first = document.querySelector("#rows tr").textContent;
  seen.wide = document.documentElement.scrollWidth <= window.innerWidth;
  const drawn = (id) => {
    const c = document.getElementById(id);
    return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v !== 0);
  };
  seen.drawn = ["histogram", "by-row", "in-order"].every(drawn);
  const canvas = document.getElementById("in-order"), place = box("in-order");
  canvas.dispatchEvent(new PointerEvent("pointermove", {
    clientX: place.left + place.width / 2, clientY: place.top + place.height / 2, bubbles: true }));
  seen.tip = document.getElementById("tip").textContent;
  const search = document.getElementById("search");
  search.value = "word29"; search.dispatchEvent(new Event("input"));
  seen.found = document.querySelectorAll("#rows tr").length;
  search.value = ""; search.dispatchEvent(new Event("input"));
  const flag = document.getElementById("flag");
  flag.value = "zero"; flag.dispatchEvent(new Event("change"));
  seen.zero = document.querySelectorAll("#rows tr").length;
  flag.value = ""; flag.dispatchEvent(new Event("change"));
  const norm = document.querySelector('[data-key="norm"]'); norm.click();
  seen.largest = document.querySelector("#rows tr").textContent;
  document.getElementById("next").click();
  seen.where = document.getElementById("where").textContent;
  const out = document.createElement("pre");
  out.id = "seen"; out.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
  document.body.append(out);
});
</script>
"""


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1280, False)])
def test_the_page_works_in_a_browser(
    run: Callable[..., Run], hostile: Path, width: int, *, dark: bool
) -> None:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    path, _ = page_of(run, hostile)
    path.write_text(path.read_text("utf-8").replace("</body>", PROBE + "</body>"), "utf-8")
    seen = _seen(path, width, dark=dark)
    assert seen["rows"] == 50
    assert seen["first"].startswith('1"\\x1b[31mred"0')
    assert seen["drawn"]
    assert seen["wide"]
    assert seen["tip"].startswith("row ")
    assert seen["found"] == 11
    assert seen["zero"] == 8
    assert "word232" in seen["largest"]
    assert "page 2 of 6" in seen["where"]


def _seen(path: Path, width: int, *, dark: bool) -> Any:
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={path.parent / 'profile'}",
        f"--window-size={width},1200",
        "--virtual-time-budget=3000",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    match = re.search(r"SEEN(\{.*?\})NEES</pre>", done.stdout, re.S)
    assert match, done.stderr[-2000:]
    from html import unescape

    return json.loads(unescape(match[1]))
