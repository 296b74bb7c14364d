from __future__ import annotations

import pytest

from embcalc.core.sizes import parse_size
from embcalc.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24GB", 24_000_000_000),
        ("24GiB", 25_769_803_776),
        ("24 gib", 25_769_803_776),
        ("1.5MB", 1_500_000),
        ("0.5KiB", 512),
        ("1,000", 1000),
        ("80_000 kB", 80_000_000),
        ("4096", 4096),
        ("7B", 7),
        ("1e9", 10**9),
        ("1EB", 10**18),
        (" 2TiB ", 2**41),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "24G", "1..2GB", "0", "0.1", "ten", "1" * 99])
def test_no_sizes(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    assert caught.value.hint
    assert len(caught.value.message) < 80
