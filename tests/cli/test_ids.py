"""Lists of numbers as people type and paste them."""

from __future__ import annotations

import pytest

from embcalc.cli.ids import id_list, row_ranges
from embcalc.errors import UsageError


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ("1", [1]),
        ("1,2,3", [1, 2, 3]),
        (" [1, 2,\t3] ", [1, 2, 3]),
        ("1 2 3", [1, 2, 3]),
        ("+1,-100", [1, -100]),
        ("0018", [18]),
    ],
)
def test_ids(given: str, ids: list[int]) -> None:
    assert id_list(given, "--ids") == ids


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "no id"),
        ("[]", "no id"),
        (" ", "no id"),
        ("1,,2", "a comma without an id beside it"),
        ("1, ,2", "a comma without an id beside it"),
        (",1", "a comma without an id beside it"),
        ("1,2,", "a comma without an id beside it"),
        ("1.5", "'1.5'"),
        ("1_000", "'1_000'"),
        ("١", "'١'"),
        ("1;2", "'1;2'"),
        ("0x1", "'0x1'"),
        ("9" * 5000, "'99999999999999999999…'"),
    ],
)
def test_no_ids(given: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        id_list(given, "--ids")
    assert words in caught.value.message
    assert caught.value.hint == "write whole numbers: 1,2,3"


@pytest.mark.parametrize("given", ["9" * 5000, "0-" + "9" * 5000, "١", "-1", "1-2-3", "1_0", "a"])
def test_no_rows(given: str) -> None:
    with pytest.raises(UsageError, match="no row or range"):
        row_ranges(given, "--rows")
