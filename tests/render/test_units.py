from __future__ import annotations

import pytest

from embcalc.render.units import both_units, units_for


@pytest.mark.parametrize(
    ("size", "decimal", "binary"),
    [
        (46_880_000, "46.88", "44.71"),
        (3_072, "0.0031", "0.0029"),
        (5_000, "0.01", "0.0048"),
        (4_999, "0.0050", "0.0048"),
        (10, "0.000010", "<0.00001"),
        (9, "<0.00001", "<0.00001"),
        (0, "0.00", "0.00"),
    ],
)
def test_what_is_there_is_never_shown_as_nothing(size: int, decimal: str, binary: str) -> None:
    units = units_for([286_030_000, size])
    assert (units.in_decimal(size), units.in_binary(size)) == (decimal, binary)


def test_the_largest_size_chooses_the_unit() -> None:
    units = units_for([4_608_000_000, 1])
    assert (units.decimal, units.in_decimal(4_608_000_000)) == ("GB", "4.608")
    assert both_units(4_608_000_000) == "4.608 GB (4.292 GiB)"
    assert both_units(999) == "999 bytes"
