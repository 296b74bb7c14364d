from __future__ import annotations

import pytest

from embcalc.render.layout import cell_width, clip, clip_middle, isolated, quoted, safe, table

WORD = "שלום"
FIRST, END = "\u2068", "\u2069"
CONTROLS = [
    *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0x200B, 0xFEFF, 0x1B,
]  # fmt: skip


@pytest.mark.parametrize("code", CONTROLS)
def test_controls_of_direction_never_pass(code: int) -> None:
    shown = safe(f"{WORD}{chr(code)}x")
    assert chr(code) not in shown
    assert f"{code:x}" in shown


@pytest.mark.parametrize("text", [WORD, "سلام", "a" + WORD, "٣"])
def test_text_from_right_to_left_is_isolated(text: str) -> None:
    assert isolated(text) == f"{FIRST}{text}{END}"
    assert isolated(isolated(text)) == isolated(text)
    assert cell_width(isolated(text)) == cell_width(text)


@pytest.mark.parametrize("text", ["", "paris", "学习", "naïve", "🙂", "3.5"])
def test_other_text_is_left_alone(text: str) -> None:
    assert isolated(text) == text


def test_a_quoted_text_is_isolated_with_its_quotes() -> None:
    assert quoted(f" {WORD}") == f'{FIRST}" {WORD}"{END}'


def test_cells_of_a_table_do_not_move_each_other() -> None:
    lines = table([("row", "token", "score"), ("7", WORD, "0.5")], "rlr")
    assert lines == ["  row  token  score", f"    7  {FIRST}{WORD}{END}     0.5"]


def test_what_is_cut_ends_its_isolate() -> None:
    assert clip(isolated(WORD), 3) == f"{FIRST}של{END}…"
    assert clip(f"x {isolated(WORD)} y", 4) == f"x {FIRST}ש{END}…"
    cut = clip_middle(isolated(WORD * 5), 9)
    assert cell_width(cut) == 9
    assert cut.index(END) < cut.index("…")


def test_a_token_may_not_close_an_isolate_of_ours() -> None:
    shown = quoted(f"{WORD}{END}x")
    assert shown.count(END) == 1
    assert shown.endswith(END)
