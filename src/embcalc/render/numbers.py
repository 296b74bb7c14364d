"""Numbers for people."""

from __future__ import annotations

from math import isfinite


def number(value: float) -> str:
    """Five significant digits; very small and very large numbers with an exponent."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:.5g}"
    return f"{value:.2e}"


def decimals(value: float) -> str:
    """Four decimals; an exponent where those would show nothing, or too many digits."""
    if not isfinite(value):
        return "not finite"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.2e}"
