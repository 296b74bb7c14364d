from __future__ import annotations

import sys

import pytest

from embcalc.render.layout import cell_width, clip, clip_middle, isolated, safe, table
from embcalc.render.text.notes import token_name

WORD = "שלום"
FIRST, END = "\u2068", "\u2069"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


CONTROLS = [
    *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0x200B, 0xFEFF, 0x1B,
]  # fmt: skip


@pytest.mark.parametrize("code", CONTROLS)
def test_controls_of_direction_never_pass(code: int) -> None:
    shown = safe(f"{WORD}{chr(code)}x")
    assert chr(code) not in shown
    assert f"{code:x}" in shown


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("text", [WORD, "سلام", "a" + WORD, "٣"])
def test_text_from_right_to_left_is_isolated(text: str) -> None:
    assert isolated(text) == f"{FIRST}{text}{END}"
    assert isolated(isolated(text)) == isolated(text)
    assert cell_width(isolated(text)) == cell_width(text)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("text", ["", "paris", "学习", "naïve", "🙂", "3.5"])
def test_other_text_is_left_alone(text: str) -> None:
    assert isolated(text) == text


@pytest.mark.usefixtures("terminal")
def test_a_token_is_isolated_with_its_quotes() -> None:
    assert token_name(f" {WORD}", 20) == f'{FIRST}" {WORD}"{END}'
    assert token_name(WORD, 3) == f"{FIRST}{WORD[:2]}…{END}"


@pytest.mark.usefixtures("terminal")
def test_cells_of_a_table_do_not_move_each_other() -> None:
    lines = table([("row", "token", "score"), ("7", WORD, "0.5")], "rlr")
    assert lines == ["  row  token  score", f"    7  {FIRST}{WORD}{END}     0.5"]


@pytest.mark.usefixtures("terminal")
def test_what_is_cut_ends_its_isolate() -> None:
    assert clip(isolated(WORD), 3) == f"{FIRST}של{END}…"
    assert clip(f"x {isolated(WORD)} y", 4) == f"x {FIRST}ש{END}…"
    cut = clip_middle(isolated(WORD * 5), 9)
    assert cell_width(cut) == 9
    assert cut.index(END) < cut.index("…")


@pytest.mark.usefixtures("terminal")
def test_a_token_may_not_close_an_isolate_of_ours() -> None:
    shown = token_name(f"{WORD}{END}x", 20)
    assert shown.count(END) == 1
    assert shown.endswith(END)


def test_programs_and_files_get_no_marks() -> None:
    assert table([("7", WORD, "0.5")], "rlr") == [f"  7  {WORD}  0.5"]
