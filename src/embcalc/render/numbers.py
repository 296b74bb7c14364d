"""Numbers for people."""

from __future__ import annotations


def number(value: float) -> str:
    """Five significant digits; very small and very large numbers with an exponent."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:.5g}"
    return f"{value:.2e}"
