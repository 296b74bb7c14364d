from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def shortest(values: NDArray[Any]) -> Any:  # noqa: ANN401 - nested lists as deep as the array
    """Nested lists of the shortest decimals that give the array's own numbers back.

    A float32 of -0.3 is written -0.3, not the -0.30000001192092896 that float64 makes of it.
    """
    if values.ndim:
        return [shortest(part) for part in values]
    return float(str(values))
